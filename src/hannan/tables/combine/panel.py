"""Forecasts of many series: each series combined separately, one combiner for all, and what series learn from it.

A pool takes all series of a long table in the order of time. A series may start from the weights of the pool, and the
pool may be a further member of the upper layer of the rule with two layers. Both use targets that were known before the
row is answered.
"""

from __future__ import annotations

import itertools
import os
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.games.driver import Progress
from hannan.learners import names
from hannan.learners.adahedge import Rule
from hannan.tables.combine.calibration import Calibration, Quantiled
from hannan.tables.combine.clip import Clipped, Clipping
from hannan.tables.combine.combiner import Combiner, shares
from hannan.tables.combine.coverage import end_columns
from hannan.tables.combine.coverage_report import PanelCoverage
from hannan.tables.combine.long_table import LongTable, Whole
from hannan.tables.combine.losses import ASLEEP, PointLoss, refusal
from hannan.tables.combine.quantiles import Grid, QuantileLoss
from hannan.tables.combine.rules import WITH_PRIOR, grid_levels, mix_rule, no_prior
from hannan.tables.combine.timing import Block, Events
from hannan.tables.read.table import BadTable
from hannan.validation import Array

#: Number of totals per series: settled rows, losses of the combination and of the mean, bounds of the upper layer over
#: B, B with forgetting, AdaHedge and the mean, Delta, P.
TOTALS = 9
#: Smallest number of parts of a table, and seconds between updates of the progress bar.
PARTS, REFRESH = 64, 0.2


@dataclass(frozen=True)
class Played:
    """Answers in the order of `LongTable`, and per series the last weights, sums and bounds."""

    mixed: Array = field(hash=False)
    weights: Array = field(hash=False)
    settled: Whole = field(hash=False)
    mixture: Array = field(hash=False)
    mean: Array = field(hash=False)
    losses: Array = field(hash=False)
    beside: Array = field(hash=False)
    bounds: Array | None = field(hash=False)
    to_mean: Array | None = field(hash=False)
    withheld: str = ""
    #: Weights per level, (series, levels, models), if they are separate.
    by_level: Array | None = field(default=None, hash=False)


@dataclass(frozen=True)
class Member:
    """A further member of the upper layer: forecasts (rows, levels) of earlier data, and last weights of the columns.

    Weights have shape (1, columns), or (levels, columns) if the levels have separate weights.
    """

    forecasts: Array = field(hash=False)
    weights: Array = field(hash=False)

    def at(self, q: int) -> Member:
        """Return the member of one level."""
        return Member(np.ascontiguousarray(self.forecasts[:, q : q + 1]), self.weights[q : q + 1])


class Work:
    """Rows combined so far, over all passes through a table, and the bar that shows them."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress, self._done = progress, 0

    def add(self, rows: int) -> None:
        """Count rows that have been combined; 0 only refreshes the bar."""
        self._done += rows
        if self._progress is not None:
            self._progress.update(self._done)


def each_series(
    table: LongTable, loss: PointLoss, rule: Rule, prior: Array | None, work: Work, member: Member | None = None
) -> Played:
    """Combine every series separately; `prior` has shape (1 or series, models)."""
    if isinstance(loss, QuantileLoss) and loss.apart:
        return _per_level(table, loss, rule, prior, work, member)
    n, series, rows = len(table.experts), table.series, len(table.order)
    out: dict[str, Array] = {name: np.zeros((series, n)) for name in ("weights", "losses", "beside", "awake", "bounds")}
    totals, levels = np.zeros((series, TOTALS)), grid_levels(loss)
    mixed = np.empty(rows if levels is None else (rows, len(levels)))
    outside, shares = (None, None) if member is None else (member.forecasts, member.weights[0])
    given = _engine.PanelTable(
        table.forecasts, table.targets, table.known, table.starts, prior, outside=outside, outside_weights=shares
    )
    results = _engine.PanelResults(mixed=mixed.reshape(-1), totals=totals, **out)
    cores = os.cpu_count() or 1
    cuts = np.unique(np.linspace(0, series, min(series, max(4 * cores, PARTS)) + 1).astype(int)).tolist()

    def part(first: int, last: int) -> tuple[int, Any, int]:
        told = _engine.panel(mix_rule(rule, loss), given, results, first, last)
        return int(told[0]), told[1], int(told[2])

    sizes = np.diff(table.starts[cuts]).tolist()
    with ThreadPoolExecutor(cores) as pool:
        parts = [pool.submit(part, *ends) for ends in itertools.pairwise(cuts)]
        rows_of, waiting = dict(zip(parts, sizes, strict=True)), set(parts)
        try:
            while waiting:
                done, waiting = wait(waiting, REFRESH, FIRST_COMPLETED)
                work.add(sum(rows_of[one] for one in done))
        finally:  # interrupted: parts that have not begun are not computed
            pool.shutdown(wait=False, cancel_futures=True)
    found = [one.result() for one in parts]
    for row, trouble, column in found:
        if row >= 0:
            raise refused(table, loss, rule, row, trouble, column)
    bounds, to_mean, withheld = _promised(out["bounds"], totals, rule.name, loss.convex)
    return Played(
        mixed=mixed, weights=out["weights"], settled=totals[:, 0].astype(np.int64), mixture=totals[:, 1],
        mean=totals[:, 2], losses=out["losses"], beside=out["beside"], bounds=bounds, to_mean=to_mean,
        withheld=withheld,
    )  # fmt: skip


def _promised(parts: Array, totals: Array, name: str, convex: bool) -> tuple[Array | None, Array | None, str]:
    if not convex:
        return None, None, "a capped loss is not convex"
    if name == "two-layers":
        own = totals[:, 5] + 2.0 * totals[:, 7]
        return np.minimum(totals[:, 3:4] + parts, own[:, None]), totals[:, 6], ""
    if name == "b":
        return parts, None, "rule B has bounds over columns and fixed weights only"
    return None, None, f"no bound is proved for the rule {name}"


def _per_level(
    table: LongTable, loss: QuantileLoss, rule: Rule, prior: Array | None, work: Work, member: Member | None
) -> Played:
    """Combine each level separately and sort the answers; sums and bounds are means over the levels."""
    n, parts = len(table.experts), []
    for q, part in enumerate(loss.parts()):
        columns = np.ascontiguousarray(table.forecasts[:, q * n : (q + 1) * n])
        own = None if member is None else member.at(q)
        parts.append(each_series(replace(table, forecasts=columns), part, rule, prior, work, own))
    mixed: Array = np.sort(np.column_stack([part.mixed for part in parts]), axis=1)
    cost, awake = costs_of(table, loss, mixed)

    def mean(name: str) -> Any:
        each = [getattr(part, name) for part in parts]
        return None if each[0] is None else np.mean(each, axis=0)

    by_level: Array = np.stack([part.weights for part in parts], axis=1)
    return Played(
        mixed=mixed, weights=mean("weights"), settled=parts[0].settled, mixture=by_series(table, cost),
        mean=mean("mean"), losses=mean("losses"), beside=by_series(table, np.where(awake, cost[:, None], 0.0)),
        bounds=mean("bounds"), to_mean=mean("to_mean"), withheld=parts[0].withheld, by_level=by_level,
    )  # fmt: skip


def costs_of(table: LongTable, loss: PointLoss, mixed: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return (loss of each answer, 0 without a target; forecasts available in rows with a target)."""
    known = ~np.isnan(table.targets)
    with np.errstate(over="ignore", invalid="ignore"):  # rows without a target are not checked
        cost = np.where(known, loss.value(mixed, np.where(known, table.targets, 0.5)), 0.0)
    return cost, ~np.isnan(table.forecasts[:, : len(table.experts)]) & known[:, None]


def by_series(table: LongTable, values: Array) -> Array:
    """Return sums over the rows of each series."""
    told: Array = np.add.reduceat(values, table.starts[:-1], axis=0)
    return told


def refused(table: LongTable, loss: PointLoss, rule: Rule, row: int, trouble: Any, column: int) -> BadTable:
    """Return the error of a row."""
    place, f = table.place(row), table.forecasts[row]
    if trouble == _engine.Trouble.asleep:
        return BadTable(f"the table, {place}: {ASLEEP}")
    why = refusal(trouble, column, table.experts, loss, rule.loss_range, row=f, target=float(table.targets[row]))
    return BadTable(f"the table, {place}{why}")


#: Events between updates of the progress bar.
STRETCH = 1 << 14
#: Share of the weights of the pool in the initial weights of a series; the rest is distributed uniformly, so no weight
#: is 0.
SHARE = 0.9


@dataclass(frozen=True)
class Order:
    """Rows in the order of issue times, and events: e >= 0 answers the e-th row, e < 0 settles the ~e-th.

    Targets known at a time come before the rows issued at that time, so that these rows do not use each other's
    targets.
    """

    rows: Whole = field(hash=False)
    events: Whole = field(hash=False)
    told: Array = field(hash=False)
    #: Time of each event, and True if it answers a row.
    when: Array = field(hash=False)
    answers: NDArray[np.bool_] = field(hash=False)

    @classmethod
    def of(cls, table: LongTable) -> Order:
        """Return the order of a long table."""
        rows = len(table.order)
        issued, due = _times(table)
        every: Whole = np.arange(rows, dtype=np.int64)
        settles = np.flatnonzero(~np.isnan(table.targets))
        when, kind = np.concatenate([issued, due[settles]]), np.concatenate([np.ones(rows), np.zeros(len(settles))])
        # Events of one time are in the order of the names of their series, whatever the order of the input is.
        tie = table.by_name()
        place = np.lexsort((np.concatenate([tie, tie[settles]]), kind, when))
        row, answers = np.concatenate([every, settles])[place], kind[place] > 0.0
        rank: Whole = np.empty(rows, dtype=np.int64)
        rank[row[answers]] = every
        events = np.where(answers, rank[row], ~rank[row])
        told = np.where(answers, np.nan, table.targets[row])
        return cls(row[answers], events, told, when[place], answers)

    def before(self, when: Array) -> Whole:
        """Return the number of events before rows issued at these times are answered."""
        keys = np.unique(when)
        first = {}
        for key in keys.tolist():
            low, high = np.searchsorted(self.when, [key, np.nextafter(key, np.inf)], side="left")
            first[key] = int(low + np.argmax(self.answers[low:high])) if self.answers[low:high].any() else int(high)
        return np.array([first[key] for key in when.tolist()], dtype=np.int64)


def _times(table: LongTable) -> tuple[Array, Array]:
    """Return (issue times, times of targets), comparable between series.

    Without issue times both are ranks of the times. With a horizon h, the target of a row is known h ranks later, and a
    row is issued at most h ranks after the row of its series that is h rows earlier: in a series with gaps, or with
    longer steps than another series, a row is issued before its own rank.
    """
    if not np.array_equal(table.issued, table.due):
        return table.issued, table.due
    ranks = np.unique(table.due, return_inverse=True)[1].astype(np.float64)
    h = int((table.known - np.arange(len(table.known)))[0])
    issued, gaps = ranks.copy(), np.zeros(table.series)
    if h > 1:
        inside = [ranks[first:last] for first, last in itertools.pairwise(table.starts)]
        # Rows without an earlier row are issued as early as the first row that has one.
        gaps[:] = [part[h] - part[0] - h if len(part) > h else -1.0 for part in inside]
        gaps[gaps < 0.0] = gaps.max(initial=0.0)
        for first, part, gap in zip(table.starts, inside, gaps, strict=False):
            issued[first : first + len(part)] = np.concatenate([part[:h] - gap, part[:-h] + h])[: len(part)]
    return issued, ranks + h


@dataclass
class Stretch(Block):
    """Some rows of a pool, with the events before the next part."""

    happened: Events | None = None

    def in_order(self, rows: slice) -> bool:
        """Return True, because targets become known between the rows."""
        return True

    def events(self, rows: slice) -> Events:
        """Return the events of the part."""
        assert self.happened is not None
        return self.happened


class Pool:
    """One combiner over the rows of all series, which are processed in parts."""

    def __init__(self, table: LongTable, loss: PointLoss, rule: Rule, prior: Any) -> None:
        self.table, self.order = table, Order.of(table)
        self.combiner = Combiner(table.experts, loss, rule, prior=prior)
        self._sorted = np.ascontiguousarray(table.forecasts[self.order.rows])
        levels = getattr(loss, "levels", ())
        rows = len(table.order)
        self.mixed: Array = np.empty((rows, len(levels)) if levels else rows)
        self._done = self.answered = 0

    def run(self, until: int, work: Work) -> None:
        """Process all events before event `until`, in parts after which the progress bar is updated."""
        for stop in [*range(self._done + STRETCH, until, STRETCH), until]:
            before = self.answered
            self._run(stop)
            work.add(self.answered - before)

    def _run(self, until: int) -> None:
        part, first = slice(self._done, until), self.answered
        events = self.order.events[part]
        last = first + int((events >= 0).sum())
        happened = Events(np.where(events >= 0, events - first, events), self.order.told[part], np.empty(0, np.int64))
        unknown: Array = np.full(last - first, np.nan)
        block = Stretch(self._sorted[first:last], unknown, (), first, self._place, happened=happened)
        self.mixed[first:last] = self.combiner.take(block).mixed
        self._done, self.answered = until, last

    def finish(self, work: Work) -> None:
        """Process all events."""
        self.run(len(self.order.events), work)

    def _place(self, number: int) -> str:
        return f"the table, {self.table.place(int(self.order.rows[number]))}"


def pooled(table: LongTable, loss: PointLoss, rule: Rule, prior: Any, work: Work) -> Played:
    """Combine all rows with one rule; the guarantees cover the whole pool."""
    pool = Pool(table, loss, rule, prior)
    pool.finish(work)
    mixed: Array = np.empty_like(pool.mixed)
    mixed[pool.order.rows] = pool.mixed
    cost, awake = costs_of(table, loss, mixed)
    n, known = len(table.experts), ~np.isnan(table.targets)
    columns, goals = loss.columns(table.forecasts), np.where(known, table.targets, 0.5)
    there = ~np.isnan(columns)
    filled = np.where(there, columns, 0.5)
    with np.errstate(over="ignore", invalid="ignore"):  # rows without a target are not checked
        losses = np.where(awake, loss.value(filled, goals[:, None]), 0.0)
        means = np.where(there, columns, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        mean = np.where(known, loss.value(means, goals), 0.0)
    told = pool.combiner.mixer.promises()
    bounds, to_mean = None, None
    # The bound is about the whole pool; it is stored in the first series, so sums over series are correct.
    if told.columns is not None:
        bounds = np.zeros((table.series, n))
        bounds[0] = told.columns
    if told.mean is not None:
        to_mean = np.zeros(table.series)
        to_mean[0] = told.mean
    by_level = None
    if getattr(loss, "apart", False):
        by_level = np.tile(pool.combiner.mixer.by_level(), (table.series, 1, 1))
    return Played(
        mixed=mixed, weights=np.tile(pool.combiner.weights(), (table.series, 1)),
        settled=by_series(table, known.astype(np.float64)).astype(np.int64), mixture=by_series(table, cost),
        mean=by_series(table, mean), losses=by_series(table, losses),
        beside=by_series(table, np.where(awake, cost[:, None], 0.0)), bounds=bounds, to_mean=to_mean,
        withheld=told.withheld or told.mean_withheld, by_level=by_level,
    )  # fmt: skip


#: Smaller spreads, relative to the forecasts, are rounding errors.
ROUNDING = 1e-12


def spreads(table: LongTable, loss: PointLoss) -> Array:
    """Return the scale of each row: the mean spread of the forecasts of its series in the rows so far.

    The spread of a row is the mean distance of the available forecasts from their mean. Rows whose forecasts agree do
    not count; before the first other row, the scale is 1. Forecasts of a row are known when it is answered.
    """
    columns = loss.columns(table.forecasts)
    there = ~np.isnan(columns)
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    filled = np.where(there, columns, 0.0)
    mean = filled.sum(axis=1, keepdims=True) / count
    spread = (np.where(there, np.abs(columns - mean), 0.0) / count).reshape(len(columns), -1).sum(axis=1)
    size = (np.abs(filled) / count).reshape(len(columns), -1).sum(axis=1)
    spread = np.where(spread > ROUNDING * size, spread / loss.depth, 0.0)
    told: Array = np.ones(len(spread))
    for first, last in itertools.pairwise(table.starts):
        # Computed per series, because a sum over all rows would carry rounding errors from one series to the next.
        sums, rows = np.cumsum(spread[first:last]), np.cumsum(spread[first:last] > 0.0)
        known = rows > 0
        told[first:last][known] = sums[known] / rows[known]
    return told


def shared(table: LongTable, loss: PointLoss, rule: Rule, work: Work) -> tuple[Array, Member]:
    """Return (initial weights of each series, the pool as a further member), computed from one pass over all rows.

    The pool combines forecasts and targets in units of the spreads of their series (`spreads`), if the loss is
    scale-free. Initial weights are those of the pool before the first row of the series; a share of 1 - SHARE is even.
    """
    scale: Array = spreads(table, loss) if loss.scale_free else np.ones(len(table.order))
    scaled = replace(table, forecasts=table.forecasts / scale[:, None], targets=table.targets / scale)
    pool = Pool(scaled, loss, Rule(rule.name), None)
    stops = pool.order.before(_times(table)[0][table.starts[:-1]])
    n, start = len(table.experts), np.empty((table.series, len(table.experts)))
    try:
        for stop in np.unique(stops).tolist():
            pool.run(stop, work)
            start[stops == stop] = pool.combiner.weights()
        pool.finish(work)
    except BadTable:
        # The error in the units of the table, if there is one.
        each_series(table, loss, rule, None, Work())
        raise
    answers: Array = np.empty_like(pool.mixed)
    answers[pool.order.rows] = pool.mixed
    answers = (answers.T * scale).T
    weights = pool.combiner.mixer.by_level() if getattr(loss, "apart", False) else pool.combiner.weights()[None, :]
    start = SHARE * start + (1.0 - SHARE) / n
    start /= start.sum(axis=1, keepdims=True)
    return start, Member(answers.reshape(len(answers), -1), np.ascontiguousarray(weights))


#: Name of the prior that starts each series from the pool of all series.
POOL = "pool"


@dataclass(frozen=True)
class PanelSums:
    """Combination of a long table: a forecast per row in the order of the table, and weights and sums per series.

    `bounds`, (series, experts), contains bounds on the excess loss over each column, and `to_mean` bounds over the
    mean; None: no bound.
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
    #: Reason why series do not learn from each other, if the user did not request this.
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
    #: Effect of clipping, if forecasts were clipped.
    clipped: Clipped | None = field(default=None, hash=False, repr=False)
    #: Combined point forecasts, in the order of the table, of models whose quantiles are combined.
    points: PanelSums | None = field(default=None, hash=False, repr=False)
    ends: tuple[str, ...] = ()

    @property
    def experts(self) -> tuple[str, ...]:
        """Columns of forecasts, or models of quantiles."""
        return self.table.experts

    def answers(self) -> dict[str, Array]:
        """Return the columns of the combined forecast and of the intervals by name."""
        told = {"forecast": self.forecast}
        if self.quantiles is not None:
            told = {} if self.points is None else {"forecast": self.points.forecast}
            told |= dict(zip(self.quantiles.grid.written, np.ascontiguousarray(self.forecast.T), strict=True))
        if self.intervals is None or self.coverage is None:
            return told
        ends = end_columns(self.intervals, self.coverage.report.certificate.side)
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


def clip_long(table: LongTable, loss: PointLoss, factor: float) -> tuple[LongTable, Clipped]:
    """Return the table after clipping, series by series, and the effect of clipping."""
    forecasts = np.array(table.forecasts, dtype=np.float64, order="C")
    counts, changes = np.zeros(len(table.experts)), np.zeros(len(table.experts))
    for first, last in itertools.pairwise(table.starts.tolist()):
        clipping = Clipping(factor, loss, table.experts)
        rows: Whole = np.arange(first, last, dtype=np.int64)
        clipping.rows(forecasts, rows, 0)
        clipping.settle_all(~rows, table.targets[first:last])
        counts, changes = counts + clipping.counts, changes + clipping.changes
    return replace(table, forecasts=forecasts), Clipped(factor, table.experts, counts, changes)


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
    return Quantiled(calibration, by_level, grid, crossed)
