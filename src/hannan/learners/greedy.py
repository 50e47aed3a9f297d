"""The arm of least mean so far, and some exploring: epsilon-greedy, and explore then commit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from hannan import refusals
from hannan.frozen import frozen
from hannan.learners.memory import Weigher
from hannan.learners.stochastic import Stochastic
from hannan.mathematics.against import Proved
from hannan.mathematics.bounds import Terms, Withheld

if TYPE_CHECKING:
    from hannan.learners.arms import Arms


@frozen(repr=False)
class EpsilonGreedy(Stochastic):
    """A bandit that plays the arm of least mean and, now and then, any arm; for losses drawn from one law.

    p = e_t/n, and 1 - e_t more among the arms of least mean so far; an arm that was never played leads.

    e_t = min(1, (n ln t/t)^(1/3)) where no `epsilon` is given. Then, if losses are i.i.d., with x_t the rounds in which
    an arm was explored in expectation, e_1 + ... + e_(t-1) over n,

        R <= sum_t min(1, e_t + 2 sqrt(3 ln t/x_t) + n e^(-x_t/8) + 2 n/t^2) + sqrt(T ln n/2),

    of order T^(2/3) (n ln T)^(1/3). A constant epsilon explores for ever, so that its regret grows with T and no bound
    is printed. Against losses that are not i.i.d. nothing is promised.

    `n`: how many arms there are, or their names, which `arms` then has. `epsilon`: how often any arm is played; left
    out, less and less often. `loss_range` and `gains` say the units: losses (or gains) outside the range are refused.

    >>> EpsilonGreedy(4, 0.1).start(seed=0).distribution()
    array([0.25, 0.25, 0.25, 0.25])
    >>> round(EpsilonGreedy(2).bound(rounds=10**6).value)
    170092
    >>> EpsilonGreedy(2, 0.1).bound(rounds=10**6)
    Traceback (most recent call last):
    ...
    hannan.Withheld: a constant epsilon, 0.1, explores in its share of all rounds: its regret ...
    """

    n: Arms
    epsilon: float | None = None

    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", refusals.between(self.epsilon, 0.0, 1.0, "epsilon"))

    def _weigher(self) -> Weigher:
        return Weigher("epsilon_greedy", (-1.0 if self.epsilon is None else self.epsilon,))

    def explored(self, t: float) -> float:
        """e_t."""
        if self.epsilon is not None:
            return self.epsilon
        return min(1.0, (self.n * math.log(t) / t) ** (1.0 / 3.0)) if t > 1.0 else 0.0

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        if self.epsilon is not None:
            raise Withheld(
                f"a constant epsilon, {self.epsilon:g}, explores in its share of all rounds: its regret grows with them"
            )
        terms = {"exploring and misled": self.misled(rounds)}
        return terms | self._in_hindsight(rounds), "epsilon-greedy, proved in docs/mathematics.md"

    def misled(self, rounds: int) -> float:
        """The sum above, from above: rounds are taken in stretches, each as its first, where the terms are largest."""
        paid, x, t = 0.0, 0.0, 1
        while t <= rounds:
            many = min(max(1, t // 256), rounds + 1 - t)
            share = self.explored(t)
            if x > 0.0:
                misled = 2.0 * math.sqrt(3.0 * math.log(t) / x)
                mean = share + misled + self.n * math.exp(-x / 8.0) + 2.0 * self.n / t**2
            else:
                mean = 1.0
            # e_t falls from round 3 on, and a stretch is one round up to 511: its last value is its least.
            paid += many * min(1.0, mean)
            x += many * min(share, self.explored(t + many - 1)) / self.n
            t += many
        return paid


@frozen(repr=False)
class ExploreThenCommit(Stochastic):
    """A bandit that tries every arm equally often and then stays with the best; for losses drawn from one law.

    Every arm m = `explore` times, in any order; from then on, for ever, the arm of least mean of those n m losses.

    If losses are i.i.d., R <= m (n-1) + (T - n m) sqrt(ln n/m) + sqrt(T ln n/2): the arm that leads has a gap of at
    most the largest of n differences of two means, which are sub-Gaussian of variance 1/(2m). Without `explore`, m is
    the one with which that is least at T = `rounds`. Once it has committed, nothing that happens can move it.

    `n`: how many arms there are, or their names, which `arms` then has. `rounds`: how many will be played. `explore`:
    how often each arm is tried. `loss_range` and `gains` say the units: losses (or gains) outside the range are
    refused.

    >>> learner = ExploreThenCommit(4, rounds=10_000)
    >>> learner.explore, round(learner.bound(10_000).value, 1)
    (164, 1434.3)
    """

    n: Arms
    rounds: int
    explore: int | None = None

    _proved: ClassVar[Proved] = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounds", refusals.count(self.rounds, "rounds"))
        most = max(1, self.rounds // self.n)
        explore = self._least_cost(most) if self.explore is None else refusals.count(self.explore, "explore")
        if explore > most:
            raise ValueError(f"explore must be at most rounds/n = {most}, or no round is left; got {explore}")
        object.__setattr__(self, "explore", explore)

    def cost(self, m: int) -> float:
        """m (n-1) + (T - n m) sqrt(ln n/m): what m plays of each arm cost at most, against the least mean."""
        return m * (self.n - 1.0) + (self.rounds - self.n * m) * math.sqrt(math.log(self.n) / m)

    def _least_cost(self, most: int) -> int:
        """Among 1..most; the cost is convex in m."""
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.cost(middle) <= self.cost(middle + 1) else (middle + 1, high)
        return low

    def _weigher(self) -> Weigher:
        assert self.explore is not None
        return Weigher("explore_then_commit", (float(self.explore),))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        self._past(self.rounds, rounds)
        assert self.explore is not None
        terms = {
            "exploring": float(min(rounds, self.explore * (self.n - 1))),
            "misled": max(0, rounds - self.n * self.explore) * math.sqrt(math.log(self.n) / self.explore),
        }
        return terms | self._in_hindsight(rounds), "explore then commit, proved in docs/mathematics.md"
