"""Learners for i.i.d. losses: index rules (UCB1, MOSS, KL-UCB), epsilon-greedy and explore-then-commit."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import NamedArms, RememberedBanditPlayer
from hannan.mathematics.bounds import Against, Bound, Proved, Terms, Withheld
from hannan.players.certificate import no_run_bound
from hannan.players.tickets import Move
from hannan.saving import frozen

if TYPE_CHECKING:
    from hannan.learners.learner import Arms


@frozen(repr=False)
class Stochastic(NamedArms):
    """A bandit for i.i.d. losses: units, names of arms, and bounds against i.i.d. losses alone.

    Published bounds are on E[own loss] - T min_i mu_i. Regret here is against the arm that is best in hindsight, which
    has lost less than T min_i mu_i: E[T min_i mu_i - min_i L_i] <= sqrt(T ln n/2), since each T mu_i - L_i is
    sub-Gaussian of variance T/4. That is a term of every bound.
    """

    n: Arms
    loss_range: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)
    gains: bool = field(default=False, kw_only=True)

    _against: ClassVar[Against] = "iid"

    def start(self, seed: int | None = None, name: str | None = None, evidence: bool = False) -> StochasticPlayer:
        return StochasticPlayer(self, seed, name, evidence)

    def _past(self, horizon: int, rounds: int) -> None:
        """Refuse what is past the rounds that it was made for."""
        if rounds > horizon:
            raise Withheld(f"{self!r} was made for {horizon} rounds and {rounds} are played: no bound past them")

    def _in_hindsight(self, rounds: int) -> Terms:
        """What the best arm in hindsight gains over the arm of least mean."""
        return {"best in hindsight": math.sqrt(0.5 * rounds * math.log(self.n))}

    def _by_gaps(self, rounds: int, log_term: float, constant: float) -> Terms:
        """Of plays E N_i <= log_term/D_i^2 + constant, D_i the gaps, whatever they are.

        Arms of gaps below d cost T d at most, the n - 1 others log_term/d + constant each; d = sqrt((n-1) log_term/T).
        """
        others = self.n - 1
        return {"gaps": 2.0 * math.sqrt(others * log_term * rounds), "first plays": others * constant}


class StochasticPlayer(RememberedBanditPlayer):
    """Plays a learner for i.i.d. losses. Its moves carry the probability they had: 1 where the rule leaves one arm.

    It estimates no regret: of an arm that the rule does not play nothing is known.
    """

    learner: Stochastic

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        return None, no_run_bound(type(self.learner).__name__)

    def _act_awake(self, awake: Any) -> Move:
        raise ValueError(
            f"{type(self.learner).__name__} has no arms that sleep: no proof covers it; "
            f"Bandit({self._n}, Tsallis(0.5)) has; got awake={awake!r}"
        )

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        return super()._bound(None)


if TYPE_CHECKING:
    from hannan.learners.learner import Arms


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
            object.__setattr__(self, "epsilon", validation.between(self.epsilon, 0.0, 1.0, "epsilon"))

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
        object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))
        most = max(1, self.rounds // self.n)
        explore = self._least_cost(most) if self.explore is None else validation.count(self.explore, "explore")
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


if TYPE_CHECKING:
    from hannan.learners.learner import Arms


@frozen(repr=False)
class UCB1(Stochastic):
    """A bandit for losses drawn from one law: play the arm that might be best, as far as its losses have shown.

    argmin_i m_i - sqrt(2 ln t/N_i), m_i the mean of the N_i losses of arm i (Auer, Cesa-Bianchi, Fischer 2002).

    If losses are i.i.d., E N_i <= 8 ln T/D_i^2 + 1 + pi^2/3 for an arm whose mean is D_i above the least, so that

        R <= 2 sqrt(8 (n-1) T ln T) + (n-1)(1 + pi^2/3) + sqrt(T ln n/2),

    the last term for a best arm in hindsight. Whoever knows the rule foresees its moves: against losses that are not
    i.i.d. it may lose all of T, and nothing is promised.

    `n`: how many arms there are, or their names, which `arms` then has. `loss_range` and `gains` say the units: losses
    (or gains) outside the range are refused.

    >>> print(UCB1(8).bound(rounds=100_000))
    expected regret <= 16420 for i.i.d. losses only
      valid      if losses are drawn independently from one distribution, for a horizon fixed in advance
      otherwise  nothing is proved
      theorem    UCB1, Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, over all gaps
      terms      gaps               16060
                 first plays        30.03
                 best in hindsight  322.5
    >>> player = UCB1(["red", "blue"]).start(seed=1)
    >>> for _ in range(2):
    ...     player.observe(player.act(), 0.5)
    >>> player.distribution()
    array([0.5, 0.5])
    """

    n: Arms

    def _weigher(self) -> Weigher:
        return Weigher("ucb1")

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        terms = self._by_gaps(rounds, 8.0 * math.log(rounds), 1.0 + math.pi**2 / 3.0)
        source = "UCB1, Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, over all gaps"
        return terms | self._in_hindsight(rounds), source


@frozen(repr=False)
class MOSS(Stochastic):
    """UCB1 for a known number of rounds, without the logarithm in its regret; for losses drawn from one law.

    argmin_i m_i - sqrt(max(0, ln(T/(n N_i)))/N_i), made for T = `rounds` (Audibert, Bubeck 2009).

    If losses are i.i.d., R <= 19.5 sqrt(n T) + n - 1 + sqrt(T ln n/2): 39 sqrt(n T) + sum_i D_i for losses that are
    1-sub-Gaussian (Lattimore, Szepesvari 2020, Theorem 9.1), and losses in [0, 1] are so at half the size. Audibert and
    Bubeck's own constant is 49. Against other losses nothing is promised.

    `n`: how many arms there are, or their names, which `arms` then has. `rounds`: how many will be played. `loss_range`
    and `gains` say the units: losses (or gains) outside the range are refused.

    >>> round(MOSS(8, rounds=100_000).bound(100_000).value, 1)
    17770.8
    """

    n: Arms
    rounds: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounds", validation.count(self.rounds, "rounds"))

    def _weigher(self) -> Weigher:
        return Weigher("moss", (float(self.rounds),))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        self._past(self.rounds, rounds)
        # Regret never falls in expectation: that of fewer rounds is at most that of all.
        terms = {"19.5 sqrt(n T)": 19.5 * math.sqrt(self.n * self.rounds), "first plays": self.n - 1.0}
        return terms | self._in_hindsight(rounds), "MOSS, Lattimore and Szepesvari 2020, Theorem 9.1, at half the range"


@frozen(repr=False)
class KLUCB(Stochastic):
    """UCB1 with confidence bounds made for coins: explores far less on rare clicks; for losses drawn from one law.

    argmin_i min{q : N_i kl(m_i, q) <= ln t + c ln ln t}, kl between coins (Garivier, Cappe 2011).

    If losses are i.i.d. and c >= 3, with f = ln T + c ln ln T,

        R <= 2 sqrt(2 (n-1) (f + 1) T) + (n-1)(2 + 7 ln ln T) + sqrt(T ln n/2).

    Losses that are all but always 0 or all but always 1 make kl large: on rare clicks it explores far less than UCB1.
    c = 0 is what plays best, and nothing is proved of it. Against losses that are not i.i.d. nothing is promised.

    `n`: how many arms there are, or their names, which `arms` then has. `c`: of the term c ln ln t. `loss_range` and
    `gains` say the units: losses (or gains) outside the range are refused.

    >>> round(KLUCB(8).bound(rounds=100_000).value, 1)
    10997.7
    >>> KLUCB(8, c=0.0).bound(rounds=100_000)
    Traceback (most recent call last):
    ...
    hannan.Withheld: KL-UCB has a bound for c >= 3 (Garivier, Cappe 2011); c = 0 is played ...
    """

    n: Arms
    c: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", validation.between(self.c, 0.0, 1e6, "c"))

    def _weigher(self) -> Weigher:
        return Weigher("kl_ucb", (self.c,))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        if self.c < 3.0:
            raise Withheld(
                f"KL-UCB has a bound for c >= 3 (Garivier, Cappe 2011); c = {self.c:g} is played without one"
            )
        # ln ln T of fewer than 16 rounds is below 1.02; the bound of so few is that of the rounds.
        twice = math.log(math.log(max(rounds, 16)))
        explored = math.log(rounds) + self.c * twice
        terms = self._by_gaps(rounds, 2.0 * (explored + 1.0), 2.0 + 7.0 * twice)
        return terms | self._in_hindsight(rounds), "KL-UCB, after Garivier and Cappe 2011, over all gaps"
