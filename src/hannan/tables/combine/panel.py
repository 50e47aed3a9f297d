"""Sums and forecasts of many series, and the choice of what the series learn from each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.games.driver import Progress
from hannan.learners import names
from hannan.learners.adahedge import Rule
from hannan.tables.combine.calibration import Calibration, Quantiled
from hannan.tables.combine.certified_panel import PanelCoverage
from hannan.tables.combine.combiner import shares
from hannan.tables.combine.long_table import LongTable, Whole
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.pool import pooled, shared
from hannan.tables.combine.quantiles import Grid, QuantileLoss
from hannan.tables.combine.rules import WITH_PRIOR, no_prior
from hannan.tables.combine.series import Work, each_series
from hannan.tables.read.table import BadTable
from hannan.validation import Array

#: Name of the prior that starts each series from the pool of all series.
POOL = "pool"


@dataclass(frozen=True)
class PanelSums:
    """Combination of a long table: a forecast per row in the order of the table, and weights and sums per series.

    `bounds`, (series, experts), bound the excess loss over each column, `to_mean` over the mean; None: no bound.
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
    #: Columns with the series and times of the rows.
    labels: dict[str, Any] = field(default_factory=dict, hash=False, repr=False)
    #: Initial weights, (series, experts); None: equal weights.
    started: Array | None = field(default=None, hash=False, repr=False)
    #: True if each series started from the pool of all series.
    from_pool: bool = False
    #: True if the pool of all series is a further member of the upper layer.
    with_pool: bool = False
    #: Reason why the series learn nothing from each other, if that is not what the user asked for.
    alone: str = ""
    #: CRPS, coverage and sharpness over all series, if the forecasts are quantiles.
    quantiles: Quantiled | None = field(default=None, hash=False, repr=False)
    #: Weights per level, (series, levels, models), if they are separate.
    by_level: Array | None = field(default=None, hash=False, repr=False)
    #: Columns of quantiles that point forecasts were combined without.
    left_out: tuple[str, ...] = ()
    #: Library of the table that was combined: "pandas", "polars", "pyarrow" or "".
    library: str = ""
    #: Intervals in the order of the table, (rows, coverages, 2), if a coverage was requested.
    intervals: Array | None = field(default=None, hash=False, repr=False)
    #: Coverage of the intervals, in total and per series, and the names of the columns of their ends.
    coverage: PanelCoverage | None = field(default=None, hash=False, repr=False)
    ends: tuple[str, ...] = ()

    @property
    def experts(self) -> tuple[str, ...]:
        """Columns of forecasts, or models of quantiles."""
        return self.table.experts

    def answers(self) -> dict[str, Array]:
        """Return the columns of the combined forecast and of the intervals by name."""
        told = {"forecast": self.forecast}
        if self.quantiles is not None:
            told = dict(zip(self.quantiles.grid.written, np.ascontiguousarray(self.forecast.T), strict=True))
        if self.intervals is None:
            return told
        ends = np.ascontiguousarray(self.intervals.reshape(len(self.intervals), -1).T)
        return {**told, **dict(zip(self.ends, ends, strict=True))}


#: Reason why series without times are combined on their own.
UNTIMED = "no column of times, so it is not known which targets of other series were known"


def combine_long(
    table: LongTable, loss: PointLoss, rule: Any, prior: Any = None, pool: bool | None = None, *, progress: bool = False
) -> PanelSums:
    """Combine every series of a long table.

    `prior`: shares of the models, "pool", or None for the default. `pool`: True for one set of weights, False for
    series on their own, None for series that learn from the pool of all series. `progress`: show a bar.
    """
    if not isinstance(rule, Rule):
        raise ValueError(f"many series need a named rule ({', '.join(names.FORECASTS)}), not a learner; got {rule!r}")
    given = None if prior is None or isinstance(prior, str) else shares(prior, table.experts)[None, :]
    no_prior(rule, prior)
    if pool and isinstance(prior, str):
        raise ValueError("prior='pool' and pooled exclude each other: pooled series share one set of weights")
    if loss.refuse_target(0.5):
        for t in np.flatnonzero(~np.isnan(table.targets)).tolist():
            reason = loss.refuse_target(float(table.targets[t]))
            if reason:
                raise BadTable(f"the table, {table.place(t)}: {reason}; got {table.targets[t]:g}")
    learns = pool is None and rule.name in WITH_PRIOR and table.series > 1
    alone = UNTIMED if learns and not table.timed else ""
    learns = learns and table.timed
    from_pool = isinstance(prior, str) or (learns and prior is None)
    with_pool = learns and rule.name == "two-layers"
    apart = isinstance(loss, QuantileLoss) and loss.apart and not pool
    passes = 1 + (loss.depth if apart else 1) + (from_pool or with_pool)
    with Progress(passes * len(table.order), "combining", progress) as bar:
        work = Work(bar)
        start, member = shared(table, loss, rule, work) if from_pool or with_pool else (None, None)
        start, member = start if from_pool else given, member if with_pool else None
        if pool:
            played = pooled(table, loss, rule, prior, work)
        else:
            played = each_series(table, loss, rule, start, work, member)
        medians = each_series(table, _common(loss), Rule("median", rule.loss_range), None, work)
    forecast = np.empty_like(played.mixed)
    forecast[table.order] = played.mixed
    return PanelSums(
        table=table, loss=loss, learner=repr(rule), forecast=forecast, weights=played.weights, settled=played.settled,
        mixture=played.mixture, mean=played.mean, median=medians.mixture, losses=played.losses, beside=played.beside,
        bounds=played.bounds, to_mean=played.to_mean, withheld=played.withheld, pooled=bool(pool),
        started=None if start is None or pool else np.broadcast_to(start, played.weights.shape),
        from_pool=from_pool, with_pool=with_pool, alone=alone, by_level=played.by_level,
    )  # fmt: skip


def _common(loss: PointLoss) -> PointLoss:
    """Return the same loss with weights common to the levels: the median is the same, and found faster."""
    return QuantileLoss(loss.levels) if isinstance(loss, QuantileLoss) else loss


def quantiled_long(sums: PanelSums, grid: Grid, crossed: int) -> Quantiled:
    """Return CRPS, coverage and sharpness over all series."""
    loss, table = sums.loss, sums.table
    assert isinstance(loss, QuantileLoss)
    known, calibration = ~np.isnan(table.targets), Calibration.of(loss, grid.models)
    every = slice(None) if known.all() else known
    calibration.add(loss, sums.forecast[table.order][every], table.forecasts[every], table.targets[every])
    by_level = None if sums.by_level is None else sums.by_level.mean(axis=0)
    return Quantiled(calibration, None, False, by_level, grid, crossed)
