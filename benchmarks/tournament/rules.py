"""Settings, sizes, contestants, arenas and outcomes of a tournament."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hannan.games.compare.environments import Environment
from hannan.games.compare.numbers import interval
from hannan.learners.fpl import Combinatorial, Decisions
from hannan.validation import Array

Setting = Literal["experts", "bandit", "expert_bandit", "combinatorial"]
SETTINGS: tuple[Setting, ...] = ("experts", "bandit", "expert_bandit", "combinatorial")


@dataclass(frozen=True)
class Size:
    """Number of arms, rounds and runs of a tournament."""

    n: int
    rounds: int
    runs: int
    #: Number of rows used of a table.
    most_rows: int
    #: Number of rounds against the greedy adversary, which is slow.
    greedy: int

    @classmethod
    def of(cls, quick: bool) -> Size:
        """Return the small size if `quick`, else the full size."""
        return cls(8, 1000, 8, 1500, 100) if quick else cls(8, 10_000, 48, 20_000, 300)


@dataclass(frozen=True)
class Contestant:
    """Learner with a name and its guarantee in words.

    The signature of `build` is (n, rounds), (actions, experts, rounds) or (decisions, rounds), depending on the
    setting.
    """

    setting: Setting
    name: str
    build: Callable[..., Any]
    promise: str
    #: Largest number of runs, for learners that take milliseconds per round.
    most_runs: int = 1_000_000


@dataclass(frozen=True, eq=False)
class Arena:
    """Losses (T, n) with optional advice or decisions; `answers` computes losses that depend on the learner."""

    setting: Setting
    name: str
    losses: Array
    advice: Any = None
    real: bool = False
    answers: Callable[[Any], Array] | None = None
    decisions: Decisions | None = None

    def environment(self) -> Environment:
        """Return the arena as an environment of `hannan.compare`."""
        rounds, n = (int(k) for k in self.losses.shape)
        own = self.answers is not None or self.decisions is not None
        return Environment(
            self.name,
            "oblivious",
            n,
            rounds,
            lambda asked: self.losses,
            advice=self.advice,
            answers=self.losses_of if own else None,
            about=self,
        )

    def losses_of(self, learner: Any) -> Array:
        """Return the losses for a learner: answers to this learner, or the cost of each decision of a list."""
        if self.answers is not None:
            return self.answers(learner)
        if self.decisions is not None and not isinstance(learner, Combinatorial):
            return np.asarray(self.losses @ self.decisions.every().T)
        return self.losses


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of one game: regret of each run (or the exact expected regret), bound, and time per round."""

    setting: Setting
    learner: str
    adversary: str
    real: bool
    rounds: int
    regrets: Array
    bound: float | None
    source: str
    withheld: str
    microseconds: float
    #: True if the losses depend on the learner, so that other learners had other losses.
    answered: bool = False
    #: Adversaries against which the bound holds.
    against: str = ""

    @property
    def regret(self) -> float:
        """Mean regret."""
        return float(self.regrets.mean())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of the mean regret, which is a point if the expectation is exact."""
        return interval(self.regrets, level)

    @property
    def kept(self) -> bool | None:
        """True if the interval of the regret is not above the bound; None if no bound is proved."""
        return None if self.bound is None else self.interval()[0] <= self.bound * (1.0 + 1e-12)
