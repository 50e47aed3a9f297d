"""LB-INF (Ito 2021): the log-barrier bandit that fits its scale to each arm and needs no bound on the best loss."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

from hannan import refusals
from hannan.learners.memory import Remembered, Weigher
from hannan.mathematics.against import Sense
from hannan.mathematics.bounds import Terms, Withheld


@dataclass(frozen=True, repr=False)
class LBInf(Remembered):
    """p = argmin <S + m, p> - sum_i g_i log p_i: optimistic, each arm's g_i grown by what it mispredicted.

    S sums m + (l - m_I)/p_I e_I, m_I follows the losses of arm I (a quarter of the way each time), and g_i grows
    by (l - m_I)^2 ((1-p_i)^2 if i = I else p_i^2)/(2 g_i log T). Its regret is
    O(sqrt(n log T min(L*, Q, V)) + n log T), L* the best loss, Q and V the squared deviations and the path length
    of the losses: an order without constants, so no number is printed.

    >>> LBInf(8, rounds=10_000).bound(10_000)
    Traceback (most recent call last):
    ...
    hannan.Withheld: LB-INF has a bound of an order only, sqrt(n log T min(L*, Q, V)) + n log T (Ito 2021)
    """

    rounds: int
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    setting: ClassVar[str] = "bandit"
    _sense: ClassVar[Sense | None] = "arm"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounds", refusals.count(self.rounds, "rounds", least=2))

    def _weigher(self) -> Weigher:
        return Weigher("lb_inf", (log(self.rounds),))

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        raise Withheld("LB-INF has a bound of an order only, sqrt(n log T min(L*, Q, V)) + n log T (Ito 2021)")
