"""Leaders of noisy sums: binarized dropout, the random walk, and the random playout."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import Remembered
from hannan.mathematics.bounds import Against, Proved, Sense, Terms, Withheld
from hannan.mathematics.laws.light import Gaussian


@dataclass(frozen=True, repr=False)
class Dropout(Remembered):
    """Follow the leader on binarized losses of which a share is dropped: no scale, and a first-order bound.

    Parameters
    ----------
    n : int
        Number of experts.
    drop : float, default 0.5
        Share a of the losses that is dropped, in (0, 1).
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    argmin_i sum_t X_(t,i), X_(t,i) ~ Bernoulli((1 - a) l_(t,i)), ties broken uniformly at random.

    R <= (4 sqrt(2 L* ln 3n) + 3 ln(1 + L*))/(a^2 (1-a)) + ln(3n)/(a (1-a)^2) + 3/a, in the mean over the dropped
    losses. `distribution()` and the probability of a move are conditional on the dropped losses. For L* = 0 the regret
    is of order log n; it would be of order n if losses were dropped without being binarized (docs/mathematics.md,
    section 7).

    References
    ----------
    Van Erven, Kotlowski and Warmuth, Follow the leader with dropout perturbations, COLT 2014.

    Examples
    --------
    >>> round(Dropout(10).bound(rounds=10**6, best_loss=100).value, 1)
    978.6
    """

    drop: float = 0.5
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    own_noise: ClassVar[bool] = True
    _sense: ClassVar[Sense | None] = "kept"  # past moves reveal the noise

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "drop", validation.between(self.drop, 0.0, 1.0, "drop", "()"))

    def _weigher(self) -> Weigher:
        return Weigher("dropout", (self.drop,))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        a, many = self.drop, math.log(3.0 * self.n)
        lead = 1.0 / (a * a * (1.0 - a))
        terms = {
            "4 sqrt(2 L* ln 3n)/(a^2 (1-a))": lead * 4.0 * math.sqrt(2.0 * best * many),
            "3 ln(1 + L*)/(a^2 (1-a))": lead * 3.0 * math.log1p(best),
            "ln(3n)/(a (1-a)^2) + 3/a": many / (a * (1.0 - a) ** 2) + 3.0 / a,
        }
        return terms, "binarised dropout, van Erven, Kotlowski and Warmuth 2014"


@dataclass(frozen=True, repr=False)
class RandomWalk(Remembered):
    """Follow the leader on losses plus a random walk: the leader changes rarely.

    Parameters
    ----------
    n : int
        Number of experts.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    argmin_i L_i + Z_i, where each Z_i is a random walk with steps +-1/2.

    R <= 8 sqrt(2 T ln n) + 16 ln T + 16. The bound is never first-order: the noise grows on every sequence, so the
    regret is of order sqrt(T) on some sequences with L* = 0. `distribution()` and the probability of a move are
    conditional on the walks.

    References
    ----------
    Devroye, Lugosi and Neu, Prediction by random-walk perturbation, COLT 2013.

    Examples
    --------
    >>> round(RandomWalk(10).bound(rounds=10**6).value, 1)
    17404.8
    """

    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    own_noise: ClassVar[bool] = True
    _sense: ClassVar[Sense | None] = "kept"  # past moves reveal the noise

    def _weigher(self) -> Weigher:
        return Weigher("random_walk")

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        if rounds < 2:
            raise Withheld(f"the published bound of the random walk is for at least 2 rounds; got {rounds}")
        terms = {
            "8 sqrt(2 T ln n)": 8.0 * math.sqrt(2.0 * rounds * math.log(self.n)),
            "16 ln T + 16": 16.0 * math.log(rounds) + 16.0,
        }
        return terms, "random-walk perturbation, Devroye, Lugosi and Neu 2013"


@dataclass(frozen=True, repr=False)
class RandomPlayout(Remembered):
    """Follow the leader after a random draw of all remaining rounds: the noise is fresh, and shrinks to nothing.

    Parameters
    ----------
    n : int
        Number of experts.
    rounds : int
        Number of rounds, T. After these rounds the bound is withheld.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    argmin_i L_i + Z_i, where Z_i is the sum of T - t + 1 normal numbers of variance 1/2, drawn afresh in every round t.
    The reference allows every symmetric distribution of a round, and also an exact minimax step after the playout; here
    the distribution is normal, because the sum is then one normal number, and the leader is followed. With m_n the mean
    of the largest of n standard normal numbers, for every t <= T,

        R_t <= m_n (sqrt(T/2) + sqrt(T/2) - sqrt((T - t)/2)) <= m_n sqrt(2 T),

    even against an adaptive adversary (docs/proofs/experts.md). For n = 2 and large T the regret of the worst sequences
    found is m_n sqrt(T/2), which is minimax. `distribution()` and the probability of a move are conditional on the
    playout.

    References
    ----------
    Rakhlin, Shamir and Sridharan, Relax and randomize: from value to algorithms, NIPS 2012.

    Examples
    --------
    >>> round(RandomPlayout(2, rounds=1000).bound().value, 2)
    25.23
    """

    rounds: int
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    own_noise: ClassVar[bool] = True
    _against: ClassVar[Against] = "any"
    _sense: ClassVar[Sense | None] = "draws"
    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))

    def _weigher(self) -> Weigher:
        return Weigher("random_playout", (float(self.rounds), math.sqrt(0.5)))

    def _asked(self, rounds: int | None, best_loss: float | None) -> tuple[int, float]:
        return super()._asked(self.rounds if rounds is None else rounds, best_loss)

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        if rounds > self.rounds:
            raise Withheld(f"{self!r} covers {self.rounds} rounds; no bound is proved for {rounds}")
        most, whole = Gaussian().expected_max(self.n), math.sqrt(0.5 * self.rounds)
        drift = most * (whole - math.sqrt(0.5 * (self.rounds - rounds)))
        return {"range": most * whole, "drift": drift}, "random playout, after Rakhlin, Shamir and Sridharan 2012"
