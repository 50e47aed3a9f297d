"""Adaptive adversaries: the losses of a round may depend on the moves before it.

An adversary is a function of (t, past), or an object with a method `loss(t, past)`. It is called before each round
t = 1, 2, ... and returns the losses of that round in the units of the learner; `past` is a `Past`. An adversary with a
state is an object with a method `start(n, rounds)`, which returns a fresh adversary for each run, or a class, which is
instantiated for each run. A function, or an object without `start`, is shared by all runs and must not keep a state.

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
    """Information that an adaptive adversary has before round t.

    All arrays are read-only.

    Attributes
    ----------
    moves : numpy.ndarray
        The t - 1 moves so far, one entry per round: an arm, or a row (a point of a convex set, or a decision as zeros
        and ones).
    losses : numpy.ndarray of shape (t - 1, n)
        The losses so far. In convex games, a sequence of loss functions.
    distribution : numpy.ndarray of shape (n,) or None
        Probabilities of the next move; inclusion probabilities for slates. None if past moves do not determine them:
        the learner keeps noise, resamples, or plays points of a continuum.

    Examples
    --------
    >>> import hannan as hn
    >>> record = hn.play(hn.Experts(2), lambda t, past: 1.0 - past.distribution, rounds=5)
    >>> record.adaptive
    True
    """

    moves: NDArray[Any]
    losses: Any
    distribution: Array | None


Answer = Callable[[int, Past], Any]


def name_of(adversary: Any) -> str:
    """Return the name of a function or class, or the repr of another object."""
    return str(getattr(adversary, "__qualname__", None) or repr(adversary))


def fresh(adversary: Any, n: int, rounds: int) -> Answer:
    """Return the adversary of one run as a function of (t, past)."""
    if isinstance(adversary, type):
        adversary = adversary()
    if hasattr(adversary, "start"):
        adversary = adversary.start(n, rounds)
    answer = getattr(adversary, "loss", adversary)
    if not callable(answer):
        raise ValueError(f"adversary must be a function of (t, past) or have a method loss(t, past); got {adversary!r}")
    return answer  # type: ignore[no-any-return]


if TYPE_CHECKING:
    from hannan.mathematics.convex.losses import Linear


@frozen
class _OfArms:
    """Losses `charge` for some arms, experts or components, and `spare` for the others."""

    charge: float = 1.0
    spare: float = 0.0

    def __post_init__(self) -> None:
        for name in ("charge", "spare"):
            object.__setattr__(self, name, validation.real(getattr(self, name), name))

    def _charged(self, who: Any) -> Array:
        """Return `charge` where `who` is true, and `spare` elsewhere."""
        return np.where(who, self.charge, self.spare)


@frozen
class SpareTheUnlikely(_OfArms):
    """Charge every arm at first, and then all arms except the one that was least likely.

    Parameters
    ----------
    charge : float, default 1.0
        Loss of the charged arms. With a learner of rewards, use charge < spare.
    spare : float, default 0.0
        Loss of the other arms.
    share : float, default 0.78
        Fraction of the rounds in which every arm is charged, in (0, 1).

    Notes
    -----
    A bandit has poor estimates of the losses of arms that it hardly plays, and it overestimates the loss of the least
    likely arm most. It therefore takes long to find this arm. Bounds proved for losses fixed in advance do not hold
    against this adversary. If the distribution of the next move is unknown, the arm that was played least is spared.

    Examples
    --------
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
        """Return the adversary of one run.

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int
            Number of rounds.

        Returns
        -------
        object
            An object with `loss(t, past)`.
        """
        return _Sparing(self, n, int(self.share * rounds))


class _Sparing:
    """`SpareTheUnlikely` in one run."""

    def __init__(self, rule: SpareTheUnlikely, n: int, until: int) -> None:
        self._rule, self._n, self._until, self._spared = rule, n, until, -1

    def loss(self, t: int, past: Past) -> Array:
        """Return the losses of round t."""
        if t <= self._until:
            return self._rule._charged(np.ones(self._n, dtype=bool))
        if self._spared < 0:
            p = _frequencies(past, self._n) if past.distribution is None else past.distribution
            self._spared = int(np.argmin(p))
        return self._rule._charged(np.arange(self._n) != self._spared)


@frozen
class ChargeTheLast(_OfArms):
    """Charge the arm, expert or components of the last move; charge every arm in the first round.

    Parameters
    ----------
    charge : float, default 1.0
        Loss of the charged arms. With a learner of rewards, use charge < spare.
    spare : float, default 0.0
        Loss of the other arms.

    Notes
    -----
    A learner that draws each move independently loses little. A learner that keeps its noise reveals it through its
    moves: `RandomWalk` and `Dropout` tend to repeat the last move.

    Examples
    --------
    >>> import hannan as hn
    >>> record = hn.play(hn.Dropout(4), ChargeTheLast(), rounds=100)
    >>> record.adaptive
    True
    """

    def loss(self, t: int, past: Past) -> Array:
        """Return the losses of round t.

        Parameters
        ----------
        t : int
            Round, starting at 1.
        past : Past
            Moves and losses of the rounds before, and the distribution of the next move if known.

        Returns
        -------
        numpy.ndarray of shape (n,)
            Losses of the round.
        """
        n = past.losses.shape[1]
        if t == 1:
            return self._charged(np.ones(n, dtype=bool))
        last = past.moves[-1]
        return self._charged(np.arange(n) == last if last.ndim == 0 else last > 0)


@frozen
class ChargeTheLikely(_OfArms):
    """Charge the most likely arm of the next round.

    Parameters
    ----------
    charge : float, default 1.0
        Loss of the charged arms. With a learner of rewards, use charge < spare.
    spare : float, default 0.0
        Loss of the other arms.

    Notes
    -----
    If the distribution of the next move is unknown, the arm that was played most is charged.

    Examples
    --------
    >>> import hannan as hn
    >>> record = hn.play(hn.Bandit(4), ChargeTheLikely(), rounds=100)
    >>> record.adaptive
    True
    """

    def loss(self, t: int, past: Past) -> Array:
        """Return the losses of round t.

        Parameters
        ----------
        t : int
            Round, starting at 1.
        past : Past
            Moves and losses of the rounds before, and the distribution of the next move if known.

        Returns
        -------
        numpy.ndarray of shape (n,)
            Losses of the round.
        """
        n = past.losses.shape[1]
        p = _frequencies(past, n) if past.distribution is None else past.distribution
        return self._charged(np.arange(n) == int(np.argmax(p)))


@frozen
class ChargeTheLastPoint:
    """Charge the last point of a convex game with a linear loss.

    Parameters
    ----------
    lipschitz : float, default 1.0
        Lipschitz constant beta of the losses.

    Notes
    -----
    The loss of round t is ``l_t(x) = beta <x_{t-1}, x>/|x_{t-1}|``, which is largest in the direction of the last
    move; l_1 = 0. Like `ChargeTheLast`, it causes little regret if the noise is fresh in each round, but more if one
    draw is kept (`fresh=False`).

    Examples
    --------
    >>> import hannan as hn
    >>> past = Past(np.array([[0.0, 2.0]]), (), None)
    >>> ChargeTheLastPoint().loss(2, past).z.tolist()
    [0.0, 1.0]
    """

    lipschitz: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lipschitz", validation.positive(self.lipschitz, "lipschitz"))

    def loss(self, t: int, past: Past) -> Linear:
        """Return the losses of round t.

        Parameters
        ----------
        t : int
            Round, starting at 1.
        past : Past
            Moves and losses of the rounds before, and the distribution of the next move if known.

        Returns
        -------
        Linear
            Loss function of the round.
        """
        from hannan.mathematics.convex.losses import Linear  # Not needed for games with arms.

        if t == 1:
            return Linear(np.zeros(past.moves.shape[1]))
        last = past.moves[-1]
        length = float(np.linalg.norm(last))
        return Linear(last * (self.lipschitz / length) if length > 0.0 else np.zeros(len(last)))


@frozen
class Twin(_OfArms):
    """Charge the next move, which a copy of the learner with the same seed predicts.

    Parameters
    ----------
    charge : float, default 1.0
        Loss of the charged arms. With a learner of rewards, use charge < spare.
    spare : float, default 0.0
        Loss of the other arms.
    learner : Experts or Bandit
        The learner to copy.
    seed : int, default 0
        Seed of the game.

    Notes
    -----
    No bound on sampled moves holds if the adversary knows the seed. The prediction is correct in run 0 of a game with
    this seed; the other runs have other seeds.

    Examples
    --------
    >>> import hannan as hn
    >>> learner = hn.Bandit(4, hn.Exponential(), hn.Horizon(400))
    >>> record = hn.play(learner, Twin(learner=learner, seed=7), seed=7, rounds=400)
    >>> bool(record.regret[0, -1] >= 300.0)
    True
    """

    learner: Any = None
    seed: int = 0

    def start(self, n: int, rounds: int) -> _Shadow:
        """Return the adversary of one run.

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int
            Number of rounds.

        Returns
        -------
        object
            An object with `loss(t, past)`.
        """
        return _Shadow(self, n)


class _Shadow:
    """`Twin` in one run."""

    def __init__(self, rule: Twin, n: int) -> None:
        self._rule, self._n = rule, n
        self._player = rule.learner.start(rule.seed)
        self._move: Any = None

    def loss(self, t: int, past: Past) -> Array:
        """Return the losses of round t."""
        if self._move is not None:
            row = past.losses[-1].copy()
            seen = row if getattr(self._player, "sees_all", False) else float(row[self._move.action])
            self._player.observe(self._move, seen)
        self._move = self._player.act()
        return self._rule._charged(np.arange(self._n) == self._move.action)


def adaptive_adversaries() -> dict[str, Any]:
    """Return the adaptive adversaries that need no arguments.

    Returns
    -------
    dict of str to object
        Adversaries by name. `charge_the_last_point` is for convex games, the others for games with arms.

    Examples
    --------
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
    """Return how often each arm or component was played."""
    if past.moves.ndim == 1:
        return np.bincount(past.moves, minlength=n).astype(np.float64)
    return np.asarray(past.moves.sum(axis=0), dtype=np.float64)
