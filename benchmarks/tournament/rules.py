"""What a tournament is made of: its settings and its size, who plays, where, and what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hannan.games.compare.environments import Environment
from hannan.games.compare.numbers import interval
from hannan.learners.decisions.fpl import Combinatorial
from hannan.learners.decisions.sets import Decisions
from hannan.validation import Array

Setting = Literal["experts", "bandit", "expert_bandit", "combinatorial"]
SETTINGS: tuple[Setting, ...] = ("experts", "bandit", "expert_bandit", "combinatorial")


@dataclass(frozen=True)
class Size:
    """How much is played."""

    n: int
    rounds: int
    runs: int
    #: Real data are cut here.
    most_rows: int
    #: The greedy adversary answers a learner round by round, by hand.
    greedy: int

    @classmethod
    def of(cls, quick: bool) -> Size:
        """The small one, or the full one."""
        return cls(8, 1000, 8, 1500, 100) if quick else cls(8, 10_000, 48, 20_000, 300)


@dataclass(frozen=True)
class Contestant:
    """A learner by name and its promise, in words: `build(n, rounds)`, `build(actions, experts, rounds)`, or
    `build(decisions, rounds)`."""

    setting: Setting
    name: str
    build: Callable[..., Any]
    promise: str
    #: Those that take milliseconds a round play fewer runs.
    most_runs: int = 1_000_000


@dataclass(frozen=True, eq=False)
class Arena:
    """Losses (T, n), advice or None, decisions or None; `answers` stands for losses that depend on the learner."""

    setting: Setting
    name: str
    losses: Array
    advice: Any = None
    real: bool = False
    answers: Callable[[Any], Array] | None = None
    decisions: Decisions | None = None

    def environment(self) -> Environment:
        """The arena as a comparison knows it."""
        rounds, n = (int(k) for k in self.losses.shape)
        own = self.answers is not None or self.decisions is not None
        return Environment(
            self.name, "oblivious", n, rounds, lambda asked: self.losses, advice=self.advice,
            answers=self.losses_of if own else None, about=self,
        )  # fmt: skip

    def losses_of(self, learner: Any) -> Array:
        """What this learner meets: answers to it; or, where it chooses from a list of decisions, what each costs."""
        if self.answers is not None:
            return self.answers(learner)
        if self.decisions is not None and not isinstance(learner, Combinatorial):
            return np.asarray(self.losses @ self.decisions.every().T)
        return self.losses


@dataclass(frozen=True, eq=False)
class Outcome:
    """One game: the regret of every run (one number where the expectation is exact), the bound, the time."""

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
    #: Whether the losses were an answer to this very learner, so that others met other losses.
    answered: bool = False
    #: Against whom the bound holds.
    against: str = ""

    @property
    def regret(self) -> float:
        """The mean regret."""
        return float(self.regrets.mean())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Of the mean regret; a point where the expectation is exact."""
        return interval(self.regrets, level)

    @property
    def kept(self) -> bool | None:
        """Whether the bound was kept, as far as the runs can tell; None where none is proved."""
        return None if self.bound is None else self.interval()[0] <= self.bound * (1.0 + 1e-12)
