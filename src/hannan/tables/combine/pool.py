"""All series of a long table in the order of time: one combiner for all, and what single series learn from it.

A series may start from the weights of the pool, and the pool may be a further member of the upper layer of the rule
with two layers. Both use targets that were known before the row is answered.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.learners.adahedge import Rule
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.long_table import LongTable, Whole
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.series import Member, Played, Work, by_series, costs_of, each_series
from hannan.tables.combine.timing import Block, Events
from hannan.tables.read.table import BadTable
from hannan.validation import Array

#: Events between updates of the progress bar.
STRETCH = 1 << 14
#: Share of the weights of the pool in the initial weights of a series; the rest is even, so no weight is 0.
SHARE = 0.9


@dataclass(frozen=True)
class Order:
    """Rows in the order of issue times, and events: e >= 0 answers the e-th row, e < 0 settles the ~e-th.

    Targets known at a time come before the rows issued at that time, which do not see each other's targets.
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
    longer steps than another one, it is issued before its own rank.
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
    """Some rows of a pool, with everything that happens before the next stretch."""

    happened: Events | None = None

    def in_order(self, rows: slice) -> bool:
        """Return True: targets become known between the rows."""
        return True

    def events(self, rows: slice) -> Events:
        """Return what happens."""
        assert self.happened is not None
        return self.happened


class Pool:
    """One combiner over the rows of all series, a stretch at a time."""

    def __init__(self, table: LongTable, loss: PointLoss, rule: Rule, prior: Any) -> None:
        self.table, self.order = table, Order.of(table)
        self.combiner = Combiner(table.experts, loss, rule, prior=prior)
        self._sorted = np.ascontiguousarray(table.forecasts[self.order.rows])
        levels = getattr(loss, "levels", ())
        rows = len(table.order)
        self.mixed: Array = np.empty((rows, len(levels)) if levels else rows)
        self._done = self.answered = 0

    def run(self, until: int, work: Work) -> None:
        """Take everything that happens before event `until`, in stretches that a bar can show."""
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
        """Take everything that happens."""
        self.run(len(self.order.events), work)

    def _place(self, number: int) -> str:
        return f"the table, {self.table.place(int(self.order.rows[number]))}"


def pooled(table: LongTable, loss: PointLoss, rule: Rule, prior: Any, work: Work) -> Played:
    """Combine all rows with one rule; its guarantees are about the whole pool."""
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


#: Spreads below this fraction of the forecasts are rounding.
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
        # Series by series: a sum over all rows would carry rounding errors from one series to the next.
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
