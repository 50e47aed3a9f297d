"""Whole games of AdaHedge: the runner of experts, losses in the user's own units, and a bound in the span observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan.games.adaptive import VectorTable
from hannan.games.experts import ExpertsRunner
from hannan.learners.adahedge import AdaHedge
from hannan.mathematics.bounds import Bound
from hannan.refusals import Array


@dataclass(frozen=True)
class Played:
    """A learner with the largest span that a game showed: what its bound needs to know."""

    learner: AdaHedge
    spread: float

    @property
    def gains(self) -> bool:
        return self.learner.gains

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """The learner's bound for the rounds, in the span observed."""
        return self.learner.bound(rounds, best_loss, spread=self.spread, against=against)


def played(learner: AdaHedge, span: float) -> Played | AdaHedge:
    """What a record asks for its bound, after losses that span so much."""
    return Played(learner, span) if span > 0.0 else learner


class AdaHedgeRunner(ExpertsRunner):
    """Experts whose losses are played as they are."""

    def source(self) -> Any:
        return played(self.learner, self.states.largest_span())


class AdaHedgeTable(VectorTable):
    """Losses in whatever units; the bound is in the largest span that was seen."""

    _span = 0.0

    def admit(self, loss: Any) -> Array:
        row = super().admit(loss)
        self._span = max(self._span, float(np.ptp(row)))
        return row

    def source(self, players: Any, losses: Any) -> Any:
        return played(self.learner, self._span)
