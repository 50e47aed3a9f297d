"""Many series at once: each combined on its own, on all cores, or all rows pooled in the order of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.games.progress import Progress
from hannan.learners import names
from hannan.learners.forecasts import Rule
from hannan.refusals import Array
from hannan.tables.combine.calibration import Calibration
from hannan.tables.combine.levels import Grid
from hannan.tables.combine.long_table import LongTable, Whole
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.mixers import no_prior
from hannan.tables.combine.panel_pool import beginnings, pooled
from hannan.tables.combine.panel_series import Played, Work, each_series
from hannan.tables.combine.quantile_loss import QuantileLoss
from hannan.tables.combine.quantiled import Quantiled
from hannan.tables.read.table import BadTable

#: The prior that each series takes from the pool of all, as it was when the series began.
POOL = "pool"


@dataclass(frozen=True)
class PanelSums:
    """What became of a long table: a forecast for each row, in its order, and of each series weights and sums.

    `bounds` (series, experts) bound loss - loss of a column, `to_mean` loss - loss of the mean; None: withheld.
    """

    table: LongTable = field(repr=False)
    loss: PointLoss
    learner: str
    forecast: Array = field(hash=False, repr=False)
    weights: Array = field(hash=False, repr=False)
    settled: Whole = field(hash=False, repr=False)
    mixture: Array = field(hash=False, repr=False)
    mean: Array = field(hash=False, repr=False)
    median: Array = field(hash=False, repr=False)
    losses: Array = field(hash=False, repr=False)
    beside: Array = field(hash=False, repr=False)
    bounds: Array | None = field(hash=False, repr=False)
    to_mean: Array | None = field(hash=False, repr=False)
    withheld: str = ""
    pooled: bool = False
    #: The columns of the table that tell a row: series and times.
    labels: dict[str, Any] = field(default_factory=dict, hash=False, repr=False)
    #: Where each series started, (series, experts); None: evenly.
    started: Array | None = field(default=None, hash=False, repr=False)
    #: Whether each series started from the pool of all.
    from_pool: bool = False
    #: Of quantiles: CRPS, coverage and sharpness over all series.
    quantiles: Quantiled | None = field(default=None, hash=False, repr=False)
    #: (series, levels, models): the weights of each level, where levels have their own.
    by_level: Array | None = field(default=None, hash=False, repr=False)
    #: Columns of quantiles that point forecasts were combined without.
    left_out: tuple[str, ...] = ()
    #: Library of the table that was combined: "pandas", "polars", "pyarrow" or "".
    library: str = ""

    @property
    def experts(self) -> tuple[str, ...]:
        """The columns of forecasts, or the models whose quantiles they are."""
        return self.table.experts

    def answers(self) -> dict[str, Array]:
        """The columns of the combination by name: one, or of quantiles one a level."""
        if self.quantiles is None:
            return {"forecast": self.forecast}
        return dict(zip(self.quantiles.grid.written, np.ascontiguousarray(self.forecast.T), strict=True))


def combine_long(
    table: LongTable, loss: PointLoss, rule: Any, prior: Any = None, pool: bool = False,
    labels: dict[str, Any] | None = None, threads: int | None = None, grid: Grid | None = None, crossed: int = 0,
    progress: bool = False,
) -> PanelSums:  # fmt: skip
    """Combine every series of a long table; `prior`: shares of the models, or "pool"; `progress`: show a bar."""
    if not isinstance(rule, Rule):
        raise ValueError(
            f"many series are combined by a rule, by its name ({', '.join(names.FORECASTS)}), not by a learner; "
            f"got {rule!r}"
        )
    no_prior(rule, prior)
    if pool and isinstance(prior, str):
        raise ValueError("series that are pooled have one beginning: leave out prior 'pool', or pooled")
    if loss.refuse_target(0.5):
        for t in np.flatnonzero(~np.isnan(table.targets)).tolist():
            reason = loss.refuse_target(float(table.targets[t]))
            if reason:
                raise BadTable(f"the table, {table.place(t)}: {reason}; got {table.targets[t]:g}")
    start: Array | None = None
    apart = isinstance(loss, QuantileLoss) and loss.apart and not pool
    passes = 1 + (loss.depth if apart else 1) + isinstance(prior, str)
    with Progress(passes * len(table.order), "combining", progress) as bar:
        work = Work(bar)
        if prior is not None:
            start = beginnings(table, loss, rule, work) if isinstance(prior, str) else np.asarray(prior)[None, :]
        played = (
            pooled(table, loss, rule, None if start is None else start[0], work)
            if pool
            else each_series(table, loss, rule, start, threads, work)
        )
        medians = each_series(table, _common(loss), Rule("median", rule.loss_range), None, threads, work)
    forecast = np.empty_like(played.mixed)
    forecast[table.order] = played.mixed
    told = None if grid is None else _quantiled(table, loss, played, grid, crossed)
    return PanelSums(
        table, loss, repr(rule), forecast, played.weights, played.settled, played.mixture, played.mean, medians.mixture,
        played.losses, played.beside, played.bounds, played.to_mean, played.withheld, pool, labels or {},
        None if start is None else np.broadcast_to(start, played.weights.shape),
        isinstance(prior, str), told,
        played.by_level,
    )  # fmt: skip


def _common(loss: PointLoss) -> PointLoss:
    """The same loss with weights common to the levels: of the median the same, and quicker."""
    return QuantileLoss(loss.levels) if isinstance(loss, QuantileLoss) else loss


def _quantiled(table: LongTable, loss: PointLoss, played: Played, grid: Grid, crossed: int) -> Quantiled:
    assert isinstance(loss, QuantileLoss)
    known, calibration = ~np.isnan(table.targets), Calibration.of(loss, grid.models)
    every = slice(None) if known.all() else known
    calibration.add(loss, played.mixed[every], table.forecasts[every], table.targets[every])
    by_level = None if played.by_level is None else played.by_level.mean(axis=0)
    return Quantiled(calibration, None, False, by_level, grid, crossed)
