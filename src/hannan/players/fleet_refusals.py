"""What a fleet says no to, in words: the rule, then the value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, refusals
from hannan.players.settings import BanditPlayer
from hannan.refusals import Array


def one_number(learner: Any) -> type[BanditPlayer]:
    """The class of the learner's players, if a round of theirs sees one number."""
    program: Any = learner.program() if hasattr(learner, "program") else None
    if getattr(program, "setting", None) != "bandit" or program.stepped:
        raise ValueError(
            f"a fleet must be of learners whose round sees one number, such as Bandit(9); got {refusals.brief(learner)}"
        )
    if program.own_noise:
        raise ValueError(
            f"a fleet must be of learners that draw moves and nothing else; got {refusals.brief(learner)}, "
            "which tosses coins too"
        )
    found = type(learner.start(0))
    if not issubclass(found, BanditPlayer):
        raise ValueError(f"a fleet must be of learners that a bandit's player plays; got {refusals.brief(learner)}")
    return found


def losses(learner: Any, values: Any, named: Any, reward: Any) -> Array:
    """The losses (or rewards) of a batch, as numbers; their range is the engine's to check."""
    if sum(one is not None for one in (values, named, reward)) > 1:
        raise ValueError("decisions must be settled with losses or with reward=, not with both; got both")
    if reward is not None and not learner.gains:
        raise ValueError("reward= is for learners of gains (gains=True), and this one takes losses; got reward=")
    if named is not None and learner.gains:
        raise ValueError(
            f"losses= is for learners of losses, and this one plays gains (gains=True); got "
            f"losses={refusals.brief(named)}. Pass reward="
        )
    given = next((one for one in (values, named, reward) if one is not None), None)
    if given is None:
        raise ValueError("decisions must be settled with their losses; got none")
    array = np.asarray(refusals.unmasked(given, "losses"))
    if array.dtype.kind == "b":  # a click that came or did not
        array = array.astype(np.float64)
    if array.ndim != 1:
        raise ValueError(f"losses must be a list or an array, one for each decision; got shape {array.shape}")
    if array.dtype.kind == "O" and all(isinstance(x, (bool, int, float, np.number, np.bool_)) for x in array):
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiu" and array.size:
        raise ValueError(f"losses must be real numbers; got {array.dtype.name} values such as {array[0]!r}")
    return np.ascontiguousarray(array, dtype=np.float64)


def bad_loss(learner: Any, values: Array, place: int) -> ValueError:
    """A loss out of its range."""
    low, high = learner.loss_range
    return ValueError(
        f"losses must be finite and in [{low:g}, {high:g}]; got {float(values[place])!r} at index {place}"
    )


def tickets(given: Any) -> NDArray[np.int64]:
    """Tickets without their moves."""
    rule = "moves must be those of act(), or their tickets, whole numbers of 63 bits"
    array = np.asarray(refusals.unmasked(given, "tickets"))
    if array.ndim != 1:
        raise ValueError(f"{rule}; got {refusals.brief(given)}")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{rule}; got {array.dtype.name} values such as {refusals.brief(array[0])}")
    bad = (array < 0) | (array > np.iinfo(np.int64).max)
    if bad.any():
        raise ValueError(f"{rule}; got {array[np.argmax(bad)]} at index {np.argmax(bad)}")
    return np.ascontiguousarray(array, dtype=np.int64)


def masks(learner: Any, sleeps: bool, awake: Any, count: int) -> NDArray[np.bool_]:
    """Who is awake: n booleans for all, or n for each decision."""
    if not sleeps:
        raise ValueError(
            f"arms may sleep where a proof covers it, as of Bandit({learner.n}, Tsallis(0.5)), which is to be played "
            f"instead; got awake= for {learner!r}"
        )
    mask = np.asarray(refusals.unmasked(awake, "awake"))
    if mask.dtype.kind != "b" or mask.shape not in ((learner.n,), (count, learner.n)):
        raise ValueError(
            f"awake must be {learner.n} booleans, one for each arm, or {count} rows of them; "
            f"got {mask.dtype.name} values of shape {mask.shape}"
        )
    if mask.size and not mask.any(axis=-1).all():
        place = "" if mask.ndim == 1 else f" at index {int(np.argmin(mask.any(axis=-1)))}"
        raise ValueError(f"at least one arm must be awake; got none{place}")
    return np.ascontiguousarray(mask)


def refused(why: _engine.Refusal, place: int, whose: str, fleet: str) -> ValueError:
    """A decision that cannot be settled."""
    at = f"at index {place}, {whose}"
    kinds = _engine.Refusal
    if why == kinds.twice:
        return ValueError(f"a decision must come once in a batch; that {at}, comes again")
    if why == kinds.closed:
        return ValueError(f"a decision must be open; that {at}, is settled or forgotten already")
    if why == kinds.other_move:
        return ValueError(f"moves must be as act() returned them; that {at}, has another action or probability")
    return ValueError(f"a decision must be one that this fleet, {fleet!r}, drew; that {at}, is not")


def prior(learner: Any, parent: Any, trust: float) -> Array:
    """trust (L - min L) of the parent's losses, estimated: what new learners begin with."""
    trust = refusals.between(trust, 0.0, 1.0, "trust", "(]")
    if not isinstance(parent, BanditPlayer):
        raise ValueError(f"parent must be a player of a bandit; got {parent!r}")
    if not hasattr(learner, "smoothing") or not hasattr(parent.learner, "smoothing"):
        raise ValueError(f"a parent must play, and bring up, learners without a memory; got {parent.learner!r}")
    described: tuple[Any, ...] = (learner, parent.learner)
    mine, theirs = ((x.n, x.loss_range, x.gains) for x in described)
    if mine != theirs:
        raise ValueError(f"a parent must have the arms, the range and the gains of the learner, {mine}; got {theirs}")
    losses: Array = parent._losses
    begun: Array = trust * (losses - losses.min())
    return begun
