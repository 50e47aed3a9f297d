"""Who makes the weights of columns: a rule of the engine, a learner at play, or an object of your own.

All take the same calls: `answer(row, forecasts)` opens a row, `settle(row, target)` closes it, whenever and in whatever
order; `rows` and `events` do many at once. Rows are numbers here; NaN sleeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.learners.adahedge import ANY
from hannan.learners.forecasts import Rule
from hannan.learners.names import FORECASTS
from hannan.refusals import Array
from hannan.tables.combine.by_rule import ByRule
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.per_level import PerLevel
from hannan.tables.combine.played_by import PlayedBy
from hannan.tables.combine.quantile_loss import QuantileLoss
from hannan.tables.combine.stepped import OpenRow, Stepped


class OwnRule(Stepped):
    """An object of yours: `weights(awake)` gives shares of the awake columns, `settle(forecasts, weights, target)`
    hears of a row."""

    def _weights(self, awake: NDArray[np.bool_]) -> Array:
        p = np.asarray(self.rule.weights(awake.copy()), dtype=np.float64)
        fine = p.shape == (self.n,) and np.isfinite(p).all() and (p >= 0.0).all() and not p[~awake].any()
        if not fine or abs(p.sum() - 1.0) > 1e-9:
            raise ValueError(f"weights(awake) must be shares of the awake columns that sum to 1; got {p!r}")
        return p

    def _learn(self, row: OpenRow, awake: NDArray[np.bool_], losses: Array, target: float, delay: int) -> None:
        self.rule.settle(row.forecasts.copy(), row.weights.copy(), target)


def no_prior(rule: Any, prior: Any) -> None:
    """Refuse a prior for whom it would mean nothing."""
    if prior is not None and getattr(rule, "name", "") not in ("two-layers", "b"):
        raise ValueError(f"a prior is for two-layers and b; got {rule!r}")


def mixer_of(rule: Any, n: int, loss: PointLoss, prior: Array | None = None, seed: int = 0) -> Any:
    """The mixer of a rule, a learner or an object of your own."""
    if isinstance(loss, QuantileLoss) and not isinstance(rule, Rule):
        raise ValueError(f"quantiles are combined by a rule, by its name ({', '.join(FORECASTS)}); got {rule!r}")
    no_prior(rule, prior)
    if isinstance(rule, Rule):
        if isinstance(loss, QuantileLoss) and loss.apart:
            return PerLevel(rule, n, loss, prior)
        return ByRule(rule, n, loss, prior)
    if hasattr(rule, "start"):
        if rule.n != n:
            raise ValueError(f"the learner must have {n} experts, one for each column; got {rule!r}")
        if rule.gains:
            raise ValueError(f"the learner must take losses, which forecasts have; got {rule!r}")
        return PlayedBy(rule, n, loss, seed)
    return OwnRule(rule, n, loss, ANY)
