"""Sampling audit of any learner: a proved lower bound on its one-step stability level.

For a history h and a next loss l, the audit draws many actions after h and many after (h, l). For a set B of actions,
let p be a lower confidence limit of P(B) after h, and q an upper one after (h, l) (Clopper and Pearson 1934, exact):

    D_inf^delta(before, after) >= log((p - delta)/q)        with probability at least `confidence`.

Half of the draws choose h, l and B. The other half are fresh draws that give the limits, which therefore need no
correction for the choice. The verdict is "not stable at the level claimed" only if this bound exceeds the claim.
Otherwise it is "not refuted in N trials": a search over finitely many histories and losses cannot confirm a claim.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import random
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from hannan import _engine, validation
from hannan.mathematics.intervals import clopper_pearson
from hannan.saving.formatting import clipped, figure, sure
from hannan.saving.result import Result, Shown
from hannan.validation import Array, brief

#: Run of a learner against given losses, which yields its moves.
Run = Callable[[Array, np.random.Generator], Iterator[int]]

#: Number of runs that must not all be the same. The probability of a false alarm is at most q^59, where q is the
#: probability of the most likely run: below 1e-9 if q <= 0.7.
RUNS = 60
MOVES = 64

_RANDOM = (np.random.Generator, np.random.RandomState, random.Random)
#: Types that contain no generator, or do not belong to the learner.
_PLAIN = (int, float, complex, str, bytes, type(None), np.ndarray, np.generic, type, types.ModuleType,
          types.FunctionType)  # fmt: skip


def renewed(learner: Any, rng: np.random.Generator) -> Any:
    """Return the learner with fresh random generators, wherever its attributes, lists, tuples and dicts hold them.

    A generator that occurs in two places is replaced by the same new one. Objects, lists and dicts are changed in
    place.
    """
    fresh: dict[int, tuple[Any, Any]] = {}
    # The objects are kept, so that no id is reused.
    seen: dict[int, Any] = {}
    waiting: list[Any] = [learner]

    def instead(value: Any) -> Any:
        """Return the value, or its replacement if it is a generator, a method of one, or a tuple with one."""
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, _RANDOM):
            if id(value) not in fresh:
                fresh[id(value)] = value, _another(value, rng)
            return fresh[id(value)][1]
        if isinstance(value, (types.BuiltinMethodType, types.MethodType)) and isinstance(value.__self__, _RANDOM):
            return getattr(instead(value.__self__), value.__name__)
        if isinstance(value, tuple):
            inside = [instead(one) for one in value]
            if all(new is old for new, old in zip(inside, value, strict=True)):
                return value
            return value._make(inside) if hasattr(value, "_make") else tuple(inside)
        waiting.append(value)
        return value

    while waiting:
        holder = waiting.pop()
        if id(holder) in seen:
            continue
        seen[id(holder)] = holder
        if isinstance(holder, (dict, list, deque)):
            for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
                if (new := instead(value)) is not value:
                    holder[key] = new
            continue
        if isinstance(getattr(holder, "__dict__", None), dict):
            waiting.append(holder.__dict__)
        kind: Any = type(holder)
        for slot in _slots(kind):
            try:
                value = slot.__get__(holder)
                if (new := instead(value)) is not value:
                    slot.__set__(holder, new)
            except AttributeError:
                continue  # An empty slot, or a slot of a compiled class that cannot be set.
    return learner


@lru_cache(maxsize=256)
def _slots(kind: type) -> tuple[types.MemberDescriptorType, ...]:
    return tuple(one for k in kind.__mro__ for one in vars(k).values() if isinstance(one, types.MemberDescriptorType))


def _another(generator: Any, rng: np.random.Generator) -> Any:
    """Return a generator of the same class, seeded from `rng`."""
    if isinstance(generator, np.random.Generator):
        return type(generator)(np.random.PCG64(int(rng.integers(2**63))))
    return type(generator)(int(rng.integers(2**31 if isinstance(generator, np.random.RandomState) else 2**63)))


def refuse_repeats(run: Run, n: int, rounds: int, rng: np.random.Generator) -> None:
    """Raise ValueError if all runs of a learner make the same moves although it seems to draw at random.

    The losses are 0 in every round. A learner whose moves are constant or periodic is taken to be deterministic, and
    its runs may be the same.
    """
    first = _moves(run, n, rounds, rng)
    if _regular(first) or any(_moves(run, n, rounds, rng) != first for _ in range(RUNS - 1)):
        return
    raise ValueError(
        f"runs of the learner must be independent; got the same moves {brief(first, 40)} in each of {RUNS} runs. "
        "Pass a function play(losses, rng) that draws with rng, or a factory that takes a seed"
    )


def _moves(run: Run, n: int, rounds: int, rng: np.random.Generator) -> list[int]:
    found: list[int] = []
    try:
        for move in run(np.zeros((max(rounds + 1, MOVES), n)), rng):
            found.append(move)
    except Exception:
        # A learner may stop after the number of rounds that the audit needs.
        if len(found) <= rounds + 1:
            raise
    return found


def _regular(moves: list[int]) -> bool:
    """Return whether the second half of the moves is periodic; 64 fair coin flips are so with probability 1/60,000."""
    late = moves[len(moves) // 2 :]
    return len(set(moves)) == 1 or any(late[k:] == late[:-k] for k in range(1, len(late) // 2 + 1))


#: Function play(losses, rng) -> action, with losses of shape (rounds so far, n).
Play = Callable[[Array, np.random.Generator], int]
#: Pair (history, next loss).
Trial = tuple[Array, Array]
#: Smallest number of draws before, and after, the loss of one trial.
LEAST_DRAWS = 8


@dataclass(frozen=True)
class SampledFinding(Result):
    """Result of a sampling audit: the stability level is at least `lower`, with probability `confidence`.

    Attributes
    ----------
    claimed : float or None
        Claimed level.
    lower : float
        Proved lower bound on the level.
    estimate : float
        Estimate of the level at the witness.
    confidence : float
        Probability with which `lower` is correct.
    samples : int
        Number of actions drawn.
    delta : float
        Slack of the divergence D_inf^delta.
    witness : tuple of (numpy.ndarray, numpy.ndarray, tuple of int)
        History, next loss and set of actions with the largest bound.
    verdict : str
        "not stable at the level claimed" (proved), "not refuted in N trials" (the claim may still be false), or
        "measured" if no level was claimed.
    trials : int
        Number of pairs of a history and a loss that were tried.
    tried : str
        Description of the trials.

    Examples
    --------
    >>> import numpy as np
    >>> import hannan as hn
    >>> finding = hn.audit(lambda losses, rng: int(rng.integers(3)), 3, level=0.5, samples=2000, rounds=2)
    >>> finding.broken, finding.claimed
    (False, 0.5)
    """

    claimed: float | None
    lower: float
    estimate: float
    confidence: float
    samples: int
    delta: float
    witness: tuple[Array, Array, tuple[int, ...]]
    verdict: str
    trials: int
    tried: str

    @property
    def broken(self) -> bool:
        """True if the claim is disproved at the stated confidence."""
        return self.claimed is not None and self.lower > self.claimed

    def shown(self) -> Shown:
        """The verdict, the level that is proved, and the witness."""
        history, loss, actions = self.witness
        # Subtract in decimal: 1.0 - 0.99999999 is 1.000000005e-8 in floating point.
        miss = float(1 - Decimal(str(float(self.confidence))))
        rows = [
            ("level", f"at least {figure(self.lower)}, with probability {sure(miss)}"),
            ("estimate", figure(self.estimate)),
            ("claimed", "none" if self.claimed is None else figure(self.claimed)),
            ("witness", f"after {len(history)} rounds, loss {listed(loss)}, actions {list(actions)}"),
            ("tried", self.tried),
            ("samples", f"{self.samples}, half to choose the witness, half to measure it"),
        ]
        return Shown(self.verdict, rows)


def audit_by_sampling(
    subject: Any,
    n: int,
    *,
    level: float | None = None,
    delta: float = 0.0,
    samples: int = 40_000,
    confidence: float = 0.999,
    rounds: int = 32,
    seed: int = 0,
) -> SampledFinding:
    """Prove a lower bound on the one-step level of any learner for losses in [0, 1]^n.

    Parameters
    ----------
    subject : callable, class, learner or object
        One of: a function play(losses, rng) -> action, where `losses` has shape (rounds so far, n); a class or factory
        of objects with act() and observe(losses) or observe(move, losses), which is called with a seed if it takes an
        argument; such an object, which is copied for each run; a learner with start(seed).
    n : int
        Number of arms, at least 2.
    level : float, optional
        Claimed level.
    delta : float, default 0.0
        Slack of the divergence D_inf^delta, in [0, 1).
    samples : int, default 40_000
        Number of actions to draw, at least 100.
    confidence : float, default 0.999
        Probability with which the lower bound is correct.
    rounds : int, default 32
        Largest length of a history.
    seed : int, default 0
        Random seed.

    Returns
    -------
    SampledFinding
        The lower bound, the witness and the verdict.

    Raises
    ------
    ValueError
        If an argument is out of range, if an action is not in 0..n-1, or if the runs of a learner that seems to draw at
        random are all the same.

    Notes
    -----
    Each arm is charged after histories of several lengths in which the arm did badly, did well, or lost at random. If
    there are too few samples for all of these trials, some are omitted; `tried` describes the others. Random generators
    that a learner holds are replaced for each run if the learner takes no seed.

    References
    ----------
    Clopper, C. and Pearson, E. (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. *Biometrika* 26(4). https://doi.org/10.1093/biomet/26.4.404

    Examples
    --------
    >>> import numpy as np
    >>> def hedge(losses, rng, scale=1.0):
    ...     w = np.exp(-losses.sum(axis=0) / scale)
    ...     return rng.choice(len(w), p=w / w.sum())
    >>> finding = audit_by_sampling(hedge, 3, level=0.3, samples=8000, rounds=4)
    >>> finding.verdict, 0.3 < finding.lower < 1.0
    ('not stable at the level claimed', True)
    """
    n, samples = validation.count(n, "n", least=2), validation.count(samples, "samples", least=100)
    delta = validation.between(delta, 0.0, 1.0, "delta", "[)")
    confidence = validation.between(confidence, 0.0, 1.0, "confidence", "()")
    level = None if level is None else validation.between(level, 0.0, math.inf, "level", "[)")
    rounds = validation.count(rounds, "rounds", least=0)
    streams = np.random.default_rng([validation.count(seed, "seed", least=0), 77]).spawn(3)
    if (make := _maker_of(subject)) is None:
        play: Play = subject
    else:
        run = _stepped(make)
        refuse_repeats(run, n, rounds, streams[2])
        play = _last(run)

    trials, tried = _chosen(n, rounds, max(24, samples // 12 // LEAST_DRAWS), np.random.default_rng([seed, 78]))
    fresh = samples // 4
    # Two confidence limits, each with half of the error probability.
    sure = 0.5 + 0.5 * confidence

    def proved(hit: int, kept: int) -> float:
        low, high = clopper_pearson(hit, fresh, sure)[0], clopper_pearson(kept, fresh, sure)[1]
        return math.log((low - delta) / high) if low > delta else -math.inf

    def expected(before: Any, after: Any, actions: tuple[int, ...]) -> float:
        """Return the bound that fresh draws would prove with the observed frequencies of the actions."""
        hit, kept, draws = int(before[list(actions)].sum()), int(after[list(actions)].sum()), int(before.sum())
        return proved(hit * fresh // draws, math.ceil((kept + 0.5) / (draws + 1) * fresh))

    # Three passes of equal cost over all trials, the best quarter and the best sixteenth, with accumulated counts.
    left = [(trial, np.zeros((2, n), dtype=np.int64)) for trial in trials]
    for _ in range(3):
        each, ranked = max(LEAST_DRAWS, samples // 12 // len(left)), list[tuple[float, int, tuple[int, ...]]]()
        for k, ((history, loss), (before, after)) in enumerate(left):
            before += _counts(play, history, n, each, streams[0])
            after += _counts(play, np.vstack([history, loss]), n, each, streams[0])
            ranked.append(
                max((expected(before, after, actions), k, actions) for actions in _sets(before, after, delta))
            )
        ranked.sort(reverse=True)
        (history, loss), actions = left[ranked[0][1]][0], ranked[0][2]
        left = [left[k] for _, k, _ in ranked[: math.ceil(len(left) / 4)]]
    before = _counts(play, history, n, fresh, streams[1])
    after = _counts(play, np.vstack([history, loss]), n, fresh, streams[1])
    hit, kept = int(before[list(actions)].sum()), int(after[list(actions)].sum())
    lower = max(0.0, proved(hit, kept))
    share, rest = hit / fresh - delta, kept / fresh
    estimate = math.inf if rest == 0.0 < share else math.log(share / rest) if share > 0.0 < rest else 0.0
    if level is None:
        verdict = "measured"
    else:
        verdict = "not stable at the level claimed" if lower > level else f"not refuted in {len(trials)} trials"
    witness = (history, loss, actions)
    return SampledFinding(
        claimed=level,
        lower=lower,
        estimate=estimate,
        confidence=confidence,
        samples=samples,
        delta=delta,
        witness=witness,
        verdict=verdict,
        trials=len(trials),
        tried=tried,
    )


def _chosen(n: int, rounds: int, most: int, rng: np.random.Generator) -> tuple[list[Trial], str]:
    """Return at most `most` trials, the first of a fixed order, and a phrase that describes them."""
    powers = [1 << k for k in range(rounds.bit_length()) if 1 << k < rounds]
    lengths = list(dict.fromkeys([0, *powers[:1], rounds, *powers[1:]]))
    arms = range(n) if n <= most else rng.permutation(n)[:most].tolist()
    trials = list(itertools.islice(_trials(n, lengths, arms, rng), most))
    seen = sorted({len(history) for history, _ in trials})
    after = str(seen[0]) if len(seen) == 1 else f"{', '.join(map(str, seen[:-1]))} or {seen[-1]}"
    lost = len({int(np.argmax(loss)) for _, loss in trials})
    return (
        trials,
        f"{len(trials)} trials: a loss of one of {lost} arms (of {n}) after {after} rounds with losses 0 or 1",
    )


def _trials(n: int, lengths: list[int], arms: Sequence[int], rng: np.random.Generator) -> Iterator[Trial]:
    """Yield histories of each length in which an arm won, lost, or lost at random, followed by a loss of this arm."""
    for length in lengths:
        if length == 0:
            yield from ((np.zeros((0, n)), np.eye(n)[arm]) for arm in arms)
            continue
        for arm in arms:
            unit = np.eye(n)[arm]
            for step in (1.0 - unit, unit):
                yield np.tile(step, (length, 1)), unit
            yield rng.integers(0, 2, (length, n)).astype(np.float64), unit


def _sets(before: Any, after: Any, delta: float) -> list[tuple[int, ...]]:
    """Return sets of one action, and for delta > 0 also likelihood-ratio sets, by decreasing ratio."""
    order = np.argsort(-(before + 0.5) / (after + 0.5))
    sets: list[tuple[int, ...]] = [(int(i),) for i in order]
    if delta > 0.0:
        sets += [tuple(int(i) for i in order[:k]) for k in range(2, len(order))]
    return sets


def _counts(play: Play, history: Array, n: int, times: int, rng: np.random.Generator) -> Any:
    counts = np.zeros(n, dtype=np.int64)
    for _ in range(times):
        # Copy the history, because a user-defined learner may modify its argument.
        action = play(history.copy(), rng)
        if not 0 <= int(action) < n:
            raise ValueError(f"action of the learner must be an integer in 0..{n - 1}; got {action!r}")
        counts[int(action)] += 1
    return counts


def _maker_of(subject: Any) -> Callable[[np.random.Generator], Any] | None:
    """Return a function that makes the learner of a run, or None for a function play(losses, rng)."""
    if hasattr(subject, "start"):
        return lambda rng: subject.start(int(rng.integers(2**63)))
    if inspect.isclass(subject):
        return _maker(subject)
    if hasattr(subject, "act") and hasattr(subject, "observe"):
        return lambda rng: renewed(copy.deepcopy(subject), rng)
    if not callable(subject):
        raise ValueError(
            "learner must be a function play(losses, rng), a factory of objects with act and observe, or such an "
            f"object; got {subject!r}"
        )
    return None if _needed(subject) >= 2 else _maker(subject)


def _needed(function: Any) -> int:
    """Return the number of positional arguments that a call must have."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)


def _maker(factory: Any) -> Callable[[np.random.Generator], Any]:
    """Return a function that makes a fresh learner; the factory gets a seed if it takes an argument."""
    takes = any(p.kind is not inspect.Parameter.KEYWORD_ONLY for p in inspect.signature(factory).parameters.values())
    return lambda rng: factory(int(rng.integers(2**31))) if takes else renewed(factory(), rng)


def _stepped(make: Callable[[np.random.Generator], Any]) -> Run:
    def run(losses: Array, rng: np.random.Generator) -> Iterator[int]:
        learner = make(rng)
        if not (hasattr(learner, "act") and hasattr(learner, "observe")):
            raise ValueError(f"learner must have methods act and observe; got {learner!r}")
        # Players of this library are recognized by class, because compiled methods have no signature.
        with_move = isinstance(learner, _engine.Book) or _needed(learner.observe) >= 2
        for loss in losses:
            move = learner.act()
            yield int(getattr(move, "action", move))
            learner.observe(move, loss) if with_move else learner.observe(loss)
        move = learner.act()
        yield int(getattr(move, "action", move))

    return run


def _last(run: Run) -> Play:
    return lambda losses, rng: deque(run(losses, rng), maxlen=1)[0]


def listed(numbers: Array) -> str:
    """Return the first numbers of an array as text that fits on a line."""
    return clipped(f"[{', '.join(figure(float(x)) for x in numbers[:40].reshape(-1))}]", 100)
