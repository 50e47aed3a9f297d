"""All series in one pool: one rule over all rows in the order of time; and what it knew when each series began."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.learners.forecasts import Rule
from hannan.refusals import Array
from hannan.tables.combine.long_table import LongTable, Whole
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.mixers import mixer_of
from hannan.tables.combine.panel_series import Played, Work, by_series, costs_of, refused

#: Events between two looks at a bar.
STRETCH = 1 << 14
#: The share of the pool's weights in where a new series starts; the rest is even, so that nothing is lost for good.
SHARE = 0.9


@dataclass(frozen=True)
class Order:
    """Rows in the order in which they were issued, and what happens: e >= 0 answers the e-th of them, e < 0 settles the
    ~e-th. What is known at a time comes before the rows that are issued at it, which do not see each other."""

    rows: Whole = field(hash=False)
    events: Whole = field(hash=False)
    told: Array = field(hash=False)
    #: When each thing happens, and whether it answers.
    when: Array = field(hash=False)
    answers: NDArray[np.bool_] = field(hash=False)

    @classmethod
    def of(cls, table: LongTable) -> Order:
        """Of a long table."""
        rows = len(table.order)
        issued, due = _times(table)
        every: Whole = np.arange(rows, dtype=np.int64)
        settles = np.flatnonzero(~np.isnan(table.targets))
        when, kind = np.concatenate([issued, due[settles]]), np.concatenate([np.ones(rows), np.zeros(len(settles))])
        place = np.lexsort((np.concatenate([table.order, table.order[settles]]), kind, when))
        row, answers = np.concatenate([every, settles])[place], kind[place] > 0.0
        rank: Whole = np.empty(rows, dtype=np.int64)
        rank[row[answers]] = every
        events = np.where(answers, rank[row], ~rank[row])
        told = np.where(answers, np.nan, table.targets[row])
        return cls(row[answers], events, told, when[place], answers)

    def before(self, when: Array) -> Whole:
        """How many things have happened before rows that are issued at these times are answered."""
        keys = np.unique(when)
        first = {}
        for key in keys.tolist():
            low, high = np.searchsorted(self.when, [key, np.nextafter(key, np.inf)], side="left")
            first[key] = int(low + np.argmax(self.answers[low:high])) if self.answers[low:high].any() else int(high)
        return np.array([first[key] for key in when.tolist()], dtype=np.int64)


def _times(table: LongTable) -> tuple[Array, Array]:
    """When each row is issued and its target known, as ranks of time: with a horizon h, h times later."""
    apart = table.known - np.arange(len(table.known))
    if np.array_equal(table.issued, table.due):
        ranks = np.unique(table.issued, return_inverse=True)[1].astype(np.float64)
        return ranks, ranks + apart
    return table.issued, table.due


class _Play:
    """A rule over the rows of a pool, a stretch at a time."""

    def __init__(self, table: LongTable, loss: PointLoss, rule: Rule, prior: Array | None) -> None:
        self.table, self.loss, self.rule, self.order = table, loss, rule, Order.of(table)
        self.mixer: Any = mixer_of(rule, len(table.experts), loss, prior)
        self._sorted = np.ascontiguousarray(table.forecasts[self.order.rows])
        levels = getattr(loss, "levels", ())
        rows = len(table.order)
        self.mixed: Array = np.empty((rows, len(levels)) if levels else rows)
        self._done = self.answered = 0

    def run(self, until: int) -> None:
        """Everything that happens before event `until`."""
        part = slice(self._done, until)
        events = self.order.events[part]
        first = self.answered
        last = first + int((events >= 0).sum())
        local = np.where(events >= 0, events - first, events)
        done, trouble, column = self.mixer.events(
            self._sorted[first:last], local, self.order.told[part], first, self.mixed[first:last], None
        )
        if done < len(events):
            event = int(events[done])
            row = int(self.order.rows[event if event >= 0 else ~event])
            raise refused(self.table, self.loss, self.rule, row, trouble, column)
        self._done, self.answered = until, last

    def finish(self, work: Work) -> None:
        """Everything that happens, in stretches that a bar can show."""
        rows, events = len(self.table.order), len(self.order.events)
        for until in [*range(STRETCH, events, STRETCH), events]:
            before = self.answered
            self.run(until)
            work.add(self.answered - before)
        work.add(rows - self.answered)

    def weights(self) -> Array:
        """Of a row in which all are awake."""
        told: Array = self.mixer.weights(np.full(len(self.table.experts) * self.loss.depth, 0.5))
        return told


def pooled(table: LongTable, loss: PointLoss, rule: Rule, prior: Array | None, work: Work) -> Played:
    """One rule over all rows; what is promised is promised of the whole pool."""
    play = _Play(table, loss, rule, prior)
    play.finish(work)
    mixed: Array = np.empty_like(play.mixed)
    mixed[play.order.rows] = play.mixed
    cost, awake = costs_of(table, loss, mixed)
    n, known = len(table.experts), ~np.isnan(table.targets)
    columns, goals = loss.columns(table.forecasts), np.where(known, table.targets, 0.5)
    there = ~np.isnan(columns)
    filled = np.where(there, columns, 0.5)
    with np.errstate(over="ignore", invalid="ignore"):  # a row without a target may be as large as it likes
        losses = np.where(awake, loss.value(filled, goals[:, None]), 0.0)
        means = np.where(there, columns, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        mean = np.where(known, loss.value(means, goals), 0.0)
    told = play.mixer.promises()
    bounds, to_mean = None, None
    # One promise for the whole pool: it stands in the first series, so that sums over the series are right.
    if told.columns is not None:
        bounds = np.zeros((table.series, n))
        bounds[0] = told.columns
    if told.mean is not None:
        to_mean = np.zeros(table.series)
        to_mean[0] = told.mean
    by_level = None
    if getattr(loss, "apart", False):
        by_level = np.tile(play.mixer.by_level(), (table.series, 1, 1))
    return Played(
        mixed, np.tile(play.weights(), (table.series, 1)), by_series(table, known.astype(np.float64)).astype(np.int64),
        by_series(table, cost), by_series(table, mean), by_series(table, losses),
        by_series(table, np.where(awake, cost[:, None], 0.0)), bounds, to_mean, told.withheld or told.mean_withheld,
        by_level,
    )  # fmt: skip


def beginnings(table: LongTable, loss: PointLoss, rule: Rule, work: Work) -> Array:
    """(series, models): the weights that the pool of all series had when the first row of each was answered, from
    targets known by then, with 1 - SHARE of it even."""
    play = _Play(table, loss, rule, None)
    first = table.starts[:-1]
    stops = play.order.before(_times(table)[0][first])
    n, told = len(table.experts), np.empty((table.series, len(table.experts)))
    for stop in np.unique(stops).tolist():
        before = play.answered
        play.run(stop)
        work.add(play.answered - before)
        told[stops == stop] = play.weights()
    prior: Array = SHARE * told + (1.0 - SHARE) / n
    prior /= prior.sum(axis=1, keepdims=True)
    return prior
