"""Adversaries that look at past moves: a function of (t, past), or a description with `loss(t, past)`.

Before round t = 1, 2, ... of a game the adversary sees `past`, a `Past`, and answers with the losses of the round.

    past.moves         the t - 1 moves so far: arms, or rows (decisions in 0s and 1s, points of a convex set)
    past.losses        the t - 1 rows of losses that it set, (t - 1, n); loss functions in a convex game
    past.distribution  p of the coming move where past moves determine it, else None

An adversary that keeps something between rounds is a description with `start(n, rounds)`, which makes a fresh one
for every run; or a class, which is built anew for every run. A function, and an object without `start`, serve all
runs and keep nothing. Losses are in the learner's own units.

>>> import hannan as hn
>>> record = hn.play(hn.Bandit(3), lambda t, past: [1.0, float(t % 2), 0.5], rounds=100, runs=2)
>>> record.adaptive, record.regret.shape
(True, (2, 100))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.saving import frozen
from hannan.validation import Array


class Past(NamedTuple):
    """What an adversary may see before round t = 1, 2, ...: t - 1 moves, t - 1 losses, and p of the coming move.

    `moves` has an entry a round: the arm, or a row: the point, or the decision in 0s and 1s. `losses` has shape
    (t - 1, n) (for convex games it is a sequence of loss functions). `distribution` is None where past moves do not
    determine it: where a learner keeps noise, resamples, or moves in a continuum. All are read-only.
    """

    moves: NDArray[Any]
    losses: Any
    distribution: Array | None


Answer = Callable[[int, Past], Any]


def name_of(adversary: Any) -> str:
    """A function or class by its name, anything else by its description."""
    return str(getattr(adversary, "__qualname__", None) or repr(adversary))


def fresh(adversary: Any, n: int, rounds: int) -> Answer:
    """The adversary of one run: a class is built, a description with `start(n, rounds)` is started."""
    if isinstance(adversary, type):
        adversary = adversary()
    if hasattr(adversary, "start"):
        adversary = adversary.start(n, rounds)
    answer = getattr(adversary, "loss", adversary)
    if not callable(answer):
        raise ValueError(f"an adversary must have loss(t, past), or be a function of them; got {adversary!r}")
    return answer  # type: ignore[no-any-return]


if TYPE_CHECKING:
    from hannan.mathematics.convex.losses import Linear


@frozen
class _OfArms:
    """Charges arms, experts or components `charge`, and spares them at `spare` (for gains, charge < spare)."""

    charge: float = 1.0
    spare: float = 0.0

    def __post_init__(self) -> None:
        for name in ("charge", "spare"):
            object.__setattr__(self, name, validation.real(getattr(self, name), name))

    def _charged(self, who: Any) -> Array:
        """`charge` where `who` is true, `spare` elsewhere."""
        return np.where(who, self.charge, self.spare)


@frozen
class SpareTheUnlikely(_OfArms):
    """Every arm is charged up to round share T; then the arm that is least likely there is spared, to the end.

    A bandit's estimates of the arms it hardly plays are far from their losses by then, and the least likely one is
    the one most overestimated: it takes long to be found, and the regret that this costs is not paid for by the other
    runs, in which another arm is spared. Bounds proved for losses fixed in advance do not hold here. Where past moves
    do not determine p, the arm played least is spared.

    >>> import hannan as hn
    >>> record = hn.play(hn.Bandit(2, hn.Entropy(), hn.Horizon(100)), SpareTheUnlikely(), rounds=100)
    >>> record.best_loss.tolist()
    [78.0]
    """

    share: float = 0.78

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "share", validation.between(self.share, 0.0, 1.0, "share", "()"))

    def start(self, n: int, rounds: int) -> _Sparing:
        """The adversary of one run."""
        return _Sparing(self, n, int(self.share * rounds))


class _Sparing:
    """`SpareTheUnlikely` at play."""

    def __init__(self, rule: SpareTheUnlikely, n: int, until: int) -> None:
        self._rule, self._n, self._until, self._spared = rule, n, until, -1

    def loss(self, t: int, past: Past) -> Array:
        """All charged, or all but one."""
        if t <= self._until:
            return self._rule._charged(np.ones(self._n, dtype=bool))
        if self._spared < 0:
            p = _frequencies(past, self._n) if past.distribution is None else past.distribution
            self._spared = int(np.argmin(p))
        return self._rule._charged(np.arange(self._n) != self._spared)


@frozen
class ChargeTheLast(_OfArms):
    """The arm (expert, or every component of the decision) played last is charged; in the first round, everyone.

    Harmless where each move is drawn afresh. A learner that keeps its noise shows it in its moves: `RandomWalk` and
    `Dropout` stay where they were, and are charged for it.
    """

    def loss(self, t: int, past: Past) -> Array:
        """1 where the last move was."""
        n = past.losses.shape[1]
        if t == 1:
            return self._charged(np.ones(n, dtype=bool))
        last = past.moves[-1]
        return self._charged(np.arange(n) == last if last.ndim == 0 else last > 0)


@frozen
class ChargeTheLikely(_OfArms):
    """The likeliest arm of the coming round is charged; where past moves do not determine p, the one played most."""

    def loss(self, t: int, past: Past) -> Array:
        """1 at the likeliest."""
        n = past.losses.shape[1]
        p = _frequencies(past, n) if past.distribution is None else past.distribution
        return self._charged(np.arange(n) == int(np.argmax(p)))


@frozen
class ChargeTheLastPoint:
    """In a convex set: l_t(x) = beta <x_{t-1}, x>/|x_{t-1}|, which is largest where the last move was; l_1 = 0.

    What `ChargeTheLast` is among arms: harmless where noise is fresh, and not where one draw is kept (`fresh=False`).
    """

    lipschitz: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lipschitz", validation.positive(self.lipschitz, "lipschitz"))

    def loss(self, t: int, past: Past) -> Linear:
        """A linear loss along the last move."""
        from hannan.mathematics.convex.losses import Linear  # not for a game of arms

        if t == 1:
            return Linear(np.zeros(past.moves.shape[1]))
        last = past.moves[-1]
        length = float(np.linalg.norm(last))
        return Linear(last * (self.lipschitz / length) if length > 0.0 else np.zeros(len(last)))


@frozen
class Twin(_OfArms):
    """Charges the coming move, which it knows: it plays the same learner with the same seed beside it.

    No bound on moves drawn survives a known seed; this shows it, in run 0 of a game with that seed (other runs have
    seeds of their own). For experts and bandits.

    >>> import hannan as hn
    >>> learner = hn.Bandit(4, hn.Exponential(), hn.Horizon(400))
    >>> record = hn.play(learner, Twin(learner=learner, seed=7), seed=7, rounds=400)
    >>> bool(record.regret[0, -1] >= 300.0)
    True
    """

    learner: Any = None
    seed: int = 0

    def start(self, n: int, rounds: int) -> _Shadow:
        """The adversary of one run."""
        return _Shadow(self, n)


class _Shadow:
    """`Twin` at play."""

    def __init__(self, rule: Twin, n: int) -> None:
        self._rule, self._n = rule, n
        self._player = rule.learner.start(rule.seed)
        self._move: Any = None

    def loss(self, t: int, past: Past) -> Array:
        """1 at the coming move."""
        if self._move is not None:
            row = past.losses[-1].copy()
            seen = row if getattr(self._player, "sees_all", False) else float(row[self._move.action])
            self._player.observe(self._move, seen)
        self._move = self._player.act()
        return self._rule._charged(np.arange(self._n) == self._move.action)


def adaptive_adversaries() -> dict[str, Any]:
    """The named adversaries that need nothing else said, by name; `ChargeTheLastPoint` is for convex games.

    >>> sorted(adaptive_adversaries())
    ['charge_the_last', 'charge_the_last_point', 'charge_the_likely', 'spare_the_unlikely']
    """
    return {
        "charge_the_last": ChargeTheLast(),
        "charge_the_last_point": ChargeTheLastPoint(),
        "charge_the_likely": ChargeTheLikely(),
        "spare_the_unlikely": SpareTheUnlikely(),
    }


def _frequencies(past: Past, n: int) -> Array:
    """How often each arm, or component, was played."""
    if past.moves.ndim == 1:
        return np.bincount(past.moves, minlength=n).astype(np.float64)
    return np.asarray(past.moves.sum(axis=0), dtype=np.float64)
