"""What learners over decisions share: a set of decisions, JSON, and a player."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hannan import saving
from hannan.learners.decisions.sets import Decisions
from hannan.mathematics.bounds import Bound
from hannan.players.decisions import DecisionsPlayer
from hannan.refusals import Array


@dataclass(frozen=True)
class Combinatorial(saving.Described):
    """A learner over decisions, losses of the components in [0, 1]."""

    decisions: Decisions

    setting: ClassVar[str] = "decisions"
    #: Whether the losses of all components are seen, or of the chosen ones only.
    sees_all: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.decisions, Decisions):
            raise ValueError(f"decisions must be MSets, ShortestPaths or Assignments; got {self.decisions!r}")

    @property
    def n(self) -> int:
        """How many components there are."""
        return self.decisions.d

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """A bound on the expected regret against the best decision."""
        raise NotImplementedError

    def drawn(self, losses: Array, rng: np.random.Generator) -> tuple[Array, tuple[float, ...]]:
        """A decision after these losses, and what settling it needs."""
        raise NotImplementedError

    def met(self, losses: Array, picked: list[int], row: Array, kept: tuple[float, ...]) -> Array:
        """The losses after a decision was settled: here each is seen."""
        return np.asarray(losses + row)

    def start(self, seed: int | None = None, name: str | None = None) -> DecisionsPlayer:
        """A live player; the same seed makes the same moves, and without one nobody can foresee them."""
        return DecisionsPlayer(self, seed, name)


def harmonic_like(d: int) -> float:
    """1 + ln d, above E max of d exponentials.

    >>> harmonic_like(1)
    1.0
    """
    return 1.0 + math.log(d)
