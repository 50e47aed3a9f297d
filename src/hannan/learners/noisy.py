"""Leaders of noisy sums: binarised dropout and the random walk. No tuning at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hannan import validation
from hannan.learners.learner import Weigher
from hannan.learners.memory import Remembered
from hannan.mathematics.bounds import Sense, Terms, Withheld


@dataclass(frozen=True, repr=False)
class Dropout(Remembered):
    """Experts by follow-the-leader on losses of which some are dropped: no scale, and little regret where L* is small.

    argmin_i sum_t X_{t,i}, X_{t,i} ~ Bernoulli((1 - a) l_{t,i}), ties even (van Erven, Kotlowski, Warmuth 2014).

    R <= (4 sqrt(2 L* ln 3n) + 3 ln(1 + L*))/(a^2 (1-a)) + ln(3n)/(a (1-a)^2) + 3/a. `distribution()` and the
    probability of a move are given the losses that were dropped; the bound is on the mean over them. It pays log n
    where L* = 0, and n where losses are dropped without being made binary (docs/mathematics.md, section 7).

    `n`: how many experts. `drop`: a, the share of losses that is dropped, in (0, 1). `loss_range` and `gains` say the
    units: losses (or gains) outside the range are refused.

    >>> round(Dropout(10).bound(rounds=10**6, best_loss=100).value, 1)
    978.6
    """

    drop: float = 0.5
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    own_noise: ClassVar[bool] = True
    _sense: ClassVar[Sense | None] = "kept"  # the noise of before shows in past moves

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
    """Experts by follow-the-leader on losses plus a random walk: the leader changes seldom.

    argmin_i L_i + Z_i, each Z_i a walk of steps +-1/2 (Devroye, Lugosi, Neu 2013): few switches of leader.

    R <= 8 sqrt(2 T ln n) + 16 ln T + 16. Never first order: on some sequences with L* = 0 it loses sqrt T, for its
    noise grows whatever the losses do. `distribution()` and the probability of a move are given the walks.

    `n`: how many experts. `loss_range` and `gains` say the units: losses (or gains) outside the range are refused.

    >>> round(RandomWalk(10).bound(rounds=10**6).value, 1)
    17404.8
    """

    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    own_noise: ClassVar[bool] = True
    _sense: ClassVar[Sense | None] = "kept"  # the noise of before shows in past moves

    def _weigher(self) -> Weigher:
        return Weigher("random_walk")

    def _published(self, rounds: int, best: float) -> tuple[Terms, str]:
        if rounds < 2:
            raise Withheld(f"the published bound of the random walk is for 2 rounds and more; got {rounds}")
        terms = {
            "8 sqrt(2 T ln n)": 8.0 * math.sqrt(2.0 * rounds * math.log(self.n)),
            "16 ln T + 16": 16.0 * math.log(rounds) + 16.0,
        }
        return terms, "random-walk perturbation, Devroye, Lugosi and Neu 2013"
