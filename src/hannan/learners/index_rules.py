"""The arm whose mean may be the best: UCB1, MOSS and KL-UCB. No draws: a move has probability 1, a tie is even."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hannan import refusals
from hannan.frozen import frozen
from hannan.learners.memory import Weigher
from hannan.learners.stochastic import Stochastic
from hannan.mathematics.bounds import Terms, Withheld

if TYPE_CHECKING:
    from hannan.learners.arms import Arms


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
    expected regret <= 16420
      gaps               16060
      first plays        30.03
      best in hindsight  322.5
      source             UCB1, Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, over all gaps
      against            i.i.d. losses: if they are drawn independently from one law, at a time fixed in advance; if
                         not, nothing is promised
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
        object.__setattr__(self, "rounds", refusals.count(self.rounds, "rounds"))

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
        object.__setattr__(self, "c", refusals.between(self.c, 0.0, 1e6, "c"))

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
