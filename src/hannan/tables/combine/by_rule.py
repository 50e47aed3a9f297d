"""Weights that a rule of the engine makes: of point forecasts, or of quantiles with weights common to their levels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.learners import names
from hannan.learners.forecasts import Rule
from hannan.players.certificate import Certificate
from hannan.refusals import Array
from hannan.tables.combine import promises
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.moments import Moment, RuleSums
from hannan.tables.combine.promises import Promises
from hannan.tables.combine.quantile_loss import QuantileLoss


def grid_levels(loss: PointLoss) -> Array | None:
    """The quantile levels as the engine takes them; None of point forecasts."""
    return np.array(loss.levels) if isinstance(loss, QuantileLoss) else None


class ByRule(_engine.Mixer):
    """A rule, compiled."""

    #: Whether an expert is drawn too.
    draws = False
    largest_delay = 0

    def __init__(self, rule: Rule, n: int, loss: PointLoss, prior: Array | None = None) -> None:
        kind = getattr(_engine.Mixing, names.FORECASTS[rule.name])
        super().__init__(kind, n, loss.price(), *rule.loss_range, prior, grid_levels(loss))
        self.rule, self.n, self.loss = rule, n, loss

    def rows(self, forecasts: Array, targets: Array, mixed: Array, weights: Array | None) -> tuple[int, Any, int]:
        """Prompt rows: (rows done, trouble, column); of quantiles `mixed` is (rows, levels)."""
        done, trouble, column = super().rows(forecasts, targets, mixed.reshape(-1), weights)
        return int(done), trouble, int(column)

    def events(
        self, forecasts: Array, order: NDArray[np.int64], told: Array, first: int, mixed: Array, weights: Array | None
    ) -> tuple[int, Any, int]:
        """e >= 0 answers row e of the table, number first + e from then on; e < 0 settles number ~e."""
        done, trouble, column = super().events(forecasts, order, told, first, mixed.reshape(-1), weights)
        return int(done), trouble, int(column)

    def promises(self) -> Promises:
        """What may be said now."""
        return promises.of_rule(self.rule.name, RuleSums(self.numbers()), self.loss.convex)

    def moment(self, weights: Array) -> Moment:
        """What may be said of now later, with the weights of the last row."""
        sums = RuleSums(self.numbers())
        return Moment(sums, partial(promises.of_rule, self.rule.name, sums, self.loss.convex), None, weights)

    def certificate(self) -> Certificate | None:
        """A rule has promises, and no certificate of a player."""
        return None
