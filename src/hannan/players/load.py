"""A player from its file."""

from __future__ import annotations

import importlib
import os
from typing import Any

from hannan import refusals, saving
from hannan.players import incarnations
from hannan.saving import fields


def load(path: str | os.PathLike[str], resume: str | None = None) -> Any:
    """Read a player or a fleet from the file that `save` wrote, and go on with it.

    The player that `save` wrote, open moves and warm starts as they were, in a new incarnation.

    It draws with randomness of its own, made from the saved stream and fresh entropy, and its moves carry an id of its
    own: two players from one file draw different moves and refuse each other's. Moves that were open are honoured once
    by each copy. `resume="exact"` goes on bit for bit, with the id and the stream of the file: two such players are
    twins, and of the one that was saved and goes on; whoever plays one foresees the moves of the other. Their
    certificates say so. A plain load has a stream of its own again; of the rounds that a twin drew before it was saved
    the file says nothing.

    The file of a combiner gives the combiner (`hn.Combiner`), which draws nothing and goes on bit for bit.

    Nothing of the file is run. A torn, edited or foreign file is refused by name. A learner with a law of
    your own needs `hannan.register(TheLaw)` first.

    `path`: the file.

    >>> import hannan as hn, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "player.json")
    ...     hn.Bandit(3).start(seed=0).save(path)
    ...     hn.load(path).round
    0
    """
    if resume not in (None, "exact"):
        raise ValueError(f'resume must be "exact" or None; got {resume!r}')
    content = saving.read(path)
    if content.get("kind") == "combiner":
        # Rooms above this one are reached by their public names.
        return importlib.import_module("hannan").Combiner.load(path)
    try:
        player = resumed(content)
        if resume is None:
            player._reincarnate()
    # RuntimeError: what the engine cannot read as a number, an array or a list.
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        raise ValueError(f"{path} cannot be resumed: {error}") from error
    return player


def resumed(content: dict[str, Any]) -> Any:
    """The player of a file's content, exactly as it was, stream and all; every field is checked."""
    if content.get("kind") != "player":
        raise ValueError(f"it must hold a player; got {content.get('kind')!r}")
    learner = saving.build(content["learner"])
    seed, name, _ = incarnations.told(content)
    _fits(learner, content)
    player = learner.start(seed, name)
    player._is(content)
    player._resume(content)
    player.resumed = True
    return player


def _fits(learner: Any, content: dict[str, Any]) -> None:
    """Refuse a small file of a large learner before anything is made for it: every expert takes 16 digits at least."""
    if not hasattr(learner, "start"):
        raise ValueError(f"it must describe a learner; got {refusals.brief(learner)}")
    state = content["state"]
    leader = state.get("leader")
    kept = fields.text(state["losses"]["hex"] if leader is None else leader["move"], "state")
    domain = getattr(learner, "domain", None)
    sizes = [getattr(learner, name, 0) for name in ("n", "experts", "thresholds")]
    largest = max([*sizes, domain.d if domain is not None else 0])
    if len(kept) < 16 * largest:
        raise ValueError(f"its state must have a number for each of {largest}; got {len(kept) // 16}")
