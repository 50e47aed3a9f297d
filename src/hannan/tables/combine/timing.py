"""Times of a table: which rows are answered, which targets settle earlier rows, and which rows wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.saving.formatting import figure
from hannan.tables.read.table import UNNAMED, BadTable, Clock, Instants, clipped
from hannan.validation import Array

#: Largest number of pending rows (rows that wait for their targets).
WAITING = 100_000
#: Largest number of forecasts without a target in a summary.
TOLD = 100


@dataclass(frozen=True)
class Timing:
    """When targets become known: columns of target times and issue times, or a horizon in rows."""

    time: str | None = None
    issued: str | None = None
    horizon: int = 1

    @classmethod
    def of(
        cls, time: str | None, target_time: str | None, issued: str | None, horizon: int, series: bool = False
    ) -> Timing:
        """Return the timing that the options describe; `series` if the table has many series."""
        if target_time is not None and time not in (None, target_time):
            raise ValueError(f"time and target_time must name the same column; got {time!r} and {target_time!r}")
        time = target_time if time is None else time
        if not series and ((issued is not None and time is None) or (target_time is not None and issued is None)):
            raise ValueError(
                "issued and target_time are required together: issue times and target times; got "
                f"issued={issued!r} and target_time={target_time!r}"
            )
        return cls(time, issued, horizon)

    @property
    def ahead(self) -> int:
        """Number of rows after which a target becomes known."""
        if self.issued is not None and self.horizon != 1:
            raise BadTable(
                f"horizon is for tables without issue times; got horizon={self.horizon} and issue times "
                f"in {self.issued!r}"
            )
        return validation.count(self.horizon, "horizon")


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a table; `first` is the number of the first row, counted from 1."""

    forecasts: Array = field(hash=False)
    targets: Array = field(hash=False)
    times: Sequence[str] = ()
    issued: Sequence[str] = ()
    first: int = 1
    #: Columns of groups, one text per row.
    groups: Sequence[Sequence[str]] = ()
    #: Point forecasts of models with quantiles, if the table has them.
    points: Array | None = field(default=None, hash=False)


@dataclass(frozen=True)
class Answers:
    """Answered rows in order: numbers, times, combined forecasts, experts drawn (or None) and weights."""

    rows: NDArray[np.int64] = field(hash=False)
    times: list[str] = field(hash=False)
    forecast: Array = field(hash=False)
    played: NDArray[np.int64] | None = field(hash=False)
    weights: Array = field(hash=False)
    #: Intervals, (rows, coverages, 2), if they were requested.
    intervals: Array | None = field(default=None, hash=False)
    #: Combined point forecasts, if quantiles are combined and the table has point forecasts of the same models.
    points: Array | None = field(default=None, hash=False)

    def __len__(self) -> int:
        return len(self.forecast)

    def last(self, most: int) -> Answers:
        """Return a copy of the last rows."""
        part = slice(max(0, len(self) - most), None)
        return Answers(
            self.rows[part].copy(),
            list(self.times[part]),
            self.forecast[part].copy(),
            None if self.played is None else self.played[part].copy(),
            self.weights[part].copy(),
            None if self.intervals is None else self.intervals[part].copy(),
            points=None if self.points is None else self.points[part].copy(),
        )

    def in_order(self, order: NDArray[np.int64]) -> Answers:
        """Return the answers to sorted rows in the order of the table; row k of the sorted table is row order[k]."""
        rows = order[self.rows - 1] + 1
        place = np.argsort(rows, kind="stable")
        return Answers(
            rows[place],
            [self.times[k] for k in place.tolist()] if self.times else [],
            self.forecast[place],
            None if self.played is None else self.played[place],
            self.weights[place],
            intervals=None if self.intervals is None else self.intervals[place],
            points=None if self.points is None else self.points[place],
        )

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """Return consecutive answers as one."""
        if len(parts) == 1:
            return parts[0]
        drawn = [part.played for part in parts if part.played is not None]
        intervals = [part.intervals for part in parts if part.intervals is not None]
        points = [part.points for part in parts if part.points is not None]
        return cls(
            np.concatenate([part.rows for part in parts]),
            [text for part in parts for text in part.times],
            np.concatenate([part.forecast for part in parts]),
            np.concatenate(drawn) if drawn else None,
            np.concatenate([part.weights for part in parts]),
            np.concatenate(intervals) if intervals else None,
            points=np.concatenate(points) if points else None,
        )


@dataclass(frozen=True)
class Forecast:
    """A pending row: number (counted from 1), time and combined forecast.

    With quantiles, `forecast` is the combined point forecast if there is one, otherwise the middle quantile or the
    midpoint of the middle two, and `quantiles` contains all pairs (level, value).
    """

    row: int
    time: str | None
    forecast: float
    quantiles: tuple[tuple[float, float], ...] = ()
    #: (requested coverage, low, high) of each interval.
    intervals: tuple[tuple[float, float, float], ...] = ()

    def within(self, coverages: Sequence[float], ends: Any) -> Forecast:
        """Return the forecast with its intervals, (coverages, 2); those without a finite end are omitted."""
        if ends is None:
            return self
        told = [(level, float(low), float(high)) for level, (low, high) in zip(coverages, ends, strict=True)]
        return replace(self, intervals=tuple(one for one in told if np.isfinite(one[1:]).any()))

    @property
    def text(self) -> str:
        """Return the forecast as text."""
        if self.intervals:
            each = [f"{_ends(low, high)} with coverage {100.0 * level:g}%" for level, low, high in self.intervals]
            return f"{figure(self.forecast)} ({'; '.join(each)})"
        if len(self.quantiles) < 2:
            return figure(self.forecast)
        (low, least), (high, most) = self.quantiles[0], self.quantiles[-1]
        return f"{figure(self.forecast)} ({figure(least)} to {figure(most)}, quantiles {low:g} to {high:g})"

    @property
    def name(self) -> str:
        """Return the row as text."""
        return f"row {self.row}" if self.time is None else f"{self.time} (row {self.row})"


def _ends(low: float, high: float) -> str:
    """Return an interval as text.

    >>> _ends(1.5, 2.5), _ends(1.5, float("inf")), _ends(-float("inf"), 2.5)
    ('1.5 to 2.5', 'at least 1.5', 'at most 2.5')
    """
    if np.isfinite(low) and np.isfinite(high):
        return f"{figure(low)} to {figure(high)}"
    return f"at least {figure(low)}" if np.isfinite(low) else f"at most {figure(high)}"


def forecast_of(row: int, time: str | None, mixed: Any, levels: Sequence[float] = ()) -> Forecast:
    """Return the forecast of a row from its answer."""
    if not levels:
        return Forecast(row, time, float(mixed))
    values = [float(x) for x in mixed]
    middle = 0.5 * (values[(len(values) - 1) // 2] + values[len(values) // 2])
    return Forecast(row, time, middle, tuple(zip(levels, values, strict=True)))


@dataclass
class Work:
    """Output arrays of a block, one row per row of the block; `weights` is None if they are not needed."""

    weights: Array | None
    mixed: Array
    played: NDArray[np.int64] | None

    @classmethod
    def room(cls, rows: int, n: int | None, draws: bool, levels: int = 0) -> Work:
        """Return uninitialized arrays."""
        mixed = np.empty((rows, levels) if levels else rows)
        weights = None if n is None else np.empty((rows, n))
        return cls(weights, mixed, np.empty(rows, dtype=np.int64) if draws else None)

    def part(self, rows: Any) -> Work:
        """Return some of the rows."""
        weights, played = self.weights, self.played
        return Work(
            None if weights is None else weights[rows], self.mixed[rows], None if played is None else played[rows]
        )


@dataclass(slots=True)
class Waiting:
    """A row that was answered and is not settled: its number, its time as text and its combined forecast."""

    row: int
    time: str
    forecast: Any = float("nan")


class Events(NamedTuple):
    """Events in order (see `Block.events`), their targets, and the number of events up to the end of each row."""

    order: NDArray[np.int64]
    told: Array
    ends: NDArray[np.int64]


@dataclass
class Block:
    """A chunk together with the events of each row."""

    forecasts: Array
    targets: Array
    times: Sequence[str]
    first: int
    #: Place of a row in error messages, by its number.
    place: Callable[[int], str]
    #: Issue time and target time of each row, if there are issue times.
    stamps: Sequence[tuple[Any, Any]] = ()
    #: Rows that are not answered, with the number of the row whose target each of them supplies.
    brings: dict[int, int] = field(default_factory=dict)
    #: Numbers of rows that no longer wait: no target of theirs can be used.
    dropped: list[int] = field(default_factory=list)
    #: Error of the first row that does not belong to the block.
    refused: Exception | None = None
    #: Targets that are used later than their rows; None if targets are used immediately.
    due: Due | None = None
    #: True if a later row may supply a missing target.
    timed: bool = False
    #: Added to the error of a row without forecasts.
    hint: str = ""
    #: Events that were returned for targets that are used later, with the first row of each part.
    past: list[tuple[int, Events]] = field(default_factory=list)

    @cached_property
    def target(self) -> list[float]:
        """The targets as Python floats."""
        told: list[float] = self.targets.tolist()
        return told

    @cached_property
    def fresh(self) -> NDArray[np.int64]:
        """The rows that are answered."""
        every: NDArray[np.int64] = np.arange(len(self.targets))
        return np.delete(every, list(self.brings)) if self.brings else every

    @property
    def answered(self) -> int:
        """Number of rows that are answered."""
        return len(self.targets) - len(self.brings)

    def in_order(self, rows: slice) -> bool:
        """Return True if not every one of these rows is answered and then settled, or never settled."""
        waits = self.timed and bool(np.isnan(self.targets[rows]).any())
        return self.due is not None or waits or self.brings_in(rows)

    def events(self, rows: slice) -> Events:
        """Return what happens in some rows: e >= 0 answers the e-th of them, and ~number settles that row.

        A row that only supplies a target settles the row that waits for it. Targets that are due settle their rows
        before the next row is answered.
        """
        if self.due is not None:
            self.past.append((rows.start, self.due.events(self, rows)))
            return self.past[-1][1]
        count, targets = rows.stop - rows.start, self.targets[rows]
        settles = np.arange(count) + (self.first + rows.start)
        kept = np.ones((count, 2), dtype=bool)
        kept[:, 1] = ~np.isnan(targets)
        if self.brings:
            number = self._brought[rows]
            kept[:, 0] = number < 0
            settles = np.where(kept[:, 0], settles, number)
        order = np.stack([np.arange(count), ~settles], axis=1)
        told = np.stack([np.full(count, np.nan), targets], axis=1)
        return Events(order[kept], told[kept], np.cumsum(kept.sum(axis=1)))

    def history(self) -> Events:
        """Return everything that happened in the block, as `events` of all its rows, after they were taken.

        A row whose target can never be used is settled with NaN immediately.
        """
        nothing: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        if self.due is None:
            order, told, _ = self.events(slice(0, len(self.targets)))
        else:
            parts = [np.where(part.order >= 0, part.order + start, part.order) for start, part in self.past]
            order = np.concatenate([nothing, *parts])
            told = np.concatenate([np.empty(0), *(part.told for _, part in self.past)])
        if not self.timed:
            lost = np.flatnonzero(order >= 0)
            lost = lost[np.isnan(self.targets[order[lost]])]
            rows = order[lost]
            order, told = np.insert(order, lost + 1, ~(rows + self.first)), np.insert(told, lost + 1, np.nan)
        return Events(order, told, nothing)

    @cached_property
    def _brought(self) -> NDArray[np.int64]:
        """For each row, the number of the row whose target it supplies, or -1."""
        numbers: NDArray[np.int64] = np.full(len(self.targets), -1)
        numbers[list(self.brings)] = list(self.brings.values())
        return numbers

    def brings_in(self, rows: slice) -> bool:
        """Return True if some of these rows are not answered."""
        low, high = np.searchsorted(self.fresh, (rows.start, rows.stop))
        return bool(high - low < rows.stop - rows.start)

    def refuse(self, row: int, why: Exception) -> None:
        """End the block before a row."""
        self.forecasts, self.targets, self.times = self.forecasts[:row], self.targets[:row], self.times[:row]
        self.brings = {t: number for t, number in self.brings.items() if t < row}
        self.refused = why

    def others(self, waiting: Callable[[int], Array | None]) -> tuple[int, int] | None:
        """Return (row, number) of the first target that comes with other forecasts than its row `number` had."""
        if not self.brings:
            return None
        late, rows = np.array(list(self.brings)), np.array(list(self.brings.values()))
        now, before = self.forecasts[late], self.forecasts[np.clip(rows - self.first, 0, None)]
        for k in np.flatnonzero(rows < self.first).tolist():
            before[k] = waiting(int(rows[k]))
        differ = ((now != before) & ~(np.isnan(now) & np.isnan(before))).any(axis=1) & ~np.isnan(now).all(axis=1)
        if not differ.any():
            return None
        k = int(np.argmax(differ))
        return int(late[k]), int(rows[k])

    def answers(self, work: Work, intervals: Array | None = None) -> Answers:
        """Return the answers of the rows that are answered; `intervals` has one row per row of the block."""
        fresh, times = self.fresh, list(self.times)
        if self.brings:
            work, times = work.part(fresh), [self.times[t] for t in fresh]
            intervals = None if intervals is None else intervals[fresh]
        assert work.weights is not None
        return Answers(fresh + self.first, times, work.mixed, work.played, work.weights, intervals)

    def happens(self, event: int) -> int:
        """Return the number of the row in which an earlier row is settled."""
        return next((self.first + t for t, waiting in self.brings.items() if waiting == event), event)


#: Approximate number of targets that are kept for comparison.
KEPT = 10_000


class Calendar:
    """Issue times and target times: issue times must not decrease, and target times ascend within an issue time.

    >>> calendar = Calendar("made", "day", "the text")
    >>> calendar.rows(["1", "1", "2"], ["2", "3", "3"], [7.0, 8.0, 8.0], 1)
    [(1, 2), (1, 3), (2, 3)]
    """

    def __init__(self, issued: str, target_time: str, source: str) -> None:
        self._names, self._source = (issued, target_time), source
        self._issued, self._targets = Instants(issued, source), Instants(target_time, source)
        self._latest: tuple[Any, Any] | None = None
        # Time -> (target, row); later rows may have the same target time.
        self._told: dict[Any, tuple[float, int]] = {}

    def rows(self, issued: Sequence[str], times: Sequence[str], targets: Any, first: int) -> list[tuple[Any, Any]]:
        """Return (issue time, target time) of each row."""
        told = []
        for t in range(len(issued)):
            pair = self._issued.read(issued[t], first + t), self._targets.read(times[t], first + t)
            self._check(pair, issued[t], times[t], first + t)
            if targets[t] == targets[t]:
                self._once(pair, float(targets[t]), first + t)
            told.append(pair)
        return told

    def _once(self, pair: tuple[Any, Any], target: float, row: int) -> None:
        """Check that all rows with the same target time have the same target; forget past times."""
        if len(self._told) > 2 * KEPT:
            self._told = {when: told for when, told in self._told.items() if when > pair[0]}
        before = self._told.setdefault(pair[1], (target, row))
        if before[0] != target:
            raise self._refuse(
                row, f"all rows with the same {self._names[1]!r} must have the same target; got {target:g}, and "
                f"{before[0]:g} in row {before[1]}",
            )  # fmt: skip

    def _check(self, pair: tuple[Any, Any], issued: str, time: str, row: int) -> None:
        if self._issued.kind != self._targets.kind:
            raise self._refuse(
                row, f"{self._names[0]!r} and {self._names[1]!r} must have times of the same kind; got "
                f"{clipped(issued)} and {clipped(time)}",
            )  # fmt: skip
        if pair[1] <= pair[0]:
            raise self._refuse(
                row, f"the target time ({self._names[1]!r}) must be later than the issue time ({self._names[0]!r}"
                f"); got {clipped(time)} and {clipped(issued)}",
            )  # fmt: skip
        if self._latest is not None and pair <= self._latest:
            again = pair == self._latest
            rule = (
                "target times must be unique within an issue time"
                if again
                else "rows must be sorted by issue time, then by target time"
            )
            raise self._refuse(
                row, f"{rule}; got {clipped(issued)} for {clipped(time)} after "
                f"{self._latest[0]} for {self._latest[1]}",
            )  # fmt: skip
        self._latest = pair

    def _refuse(self, row: int, reason: str) -> BadTable:
        return BadTable(f"{self._source}, row {row}: {reason}")


class Due:
    """Targets that become known later: a heap of (time, row, target)."""

    def __init__(self, horizon: int) -> None:
        self._horizon = horizon
        self._heap: list[tuple[Any, int, float]] = []

    def events(self, block: Block, rows: slice) -> Events:
        """Return the events of some rows, as `Block.events`; targets known by then come before row t is answered."""
        order: list[int] = []
        told: list[float] = []
        ends: list[int] = []
        for t in range(rows.start, rows.stop):
            number, y = block.first + t, block.target[t]
            if t in block.brings:
                order.append(~block.brings[t])
                told.append(y)
                ends.append(len(order))
                continue
            now, known = block.stamps[t] if block.stamps else (number, number + self._horizon)
            for row, target in self._known_by(now):
                order.append(~row)
                told.append(target)
            order.append(t - rows.start)
            told.append(np.nan)
            if y == y:
                heappush(self._heap, (known, number, y))
            ends.append(len(order))
        return Events(np.array(order, dtype=np.int64), np.array(told), np.array(ends, dtype=np.int64))

    def _known_by(self, now: Any) -> list[tuple[int, float]]:
        """Return (row, target) of the rows that are due, by row."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            found.append(heappop(self._heap)[1:])
        return sorted(found)

    def rest(self) -> list[tuple[int, float]]:
        """Return (row, target) of all remaining targets, by row, and remove them."""
        left = sorted(due[1:] for due in self._heap)
        self._heap.clear()
        return left


class Pending:
    """Rows that were answered and wait for their targets."""

    def __init__(self, timing: Timing, source: str = UNNAMED, levels: Sequence[float] = ()) -> None:
        ahead, time, issued = timing.ahead, timing.time, timing.issued
        self.source, self._levels = source, levels
        self._calendar = None if issued is None or time is None else Calendar(issued, time, source)
        self._clock = None if time is None or issued is not None else Clock(time, source)
        self._due = Due(ahead) if ahead > 1 or self._calendar is not None else None
        self._waiting: dict[Any, Waiting] = {}
        # Without times no later row can supply a target: of such rows only the forecasts are kept.
        self._untimed: deque[Forecast] = deque(maxlen=TOLD)
        self.given_up = self.late = 0
        #: (row answered, row that supplied its target, target), rows counted from 1.
        self.brought: list[tuple[int, int, float]] = []

    def arrange(self, chunk: Chunk, waiting: Callable[[int], Array | None]) -> Block:
        """Return the block of a chunk; `waiting` returns the forecasts of a pending row."""
        forecasts, targets = (np.ascontiguousarray(x, dtype=np.float64) for x in (chunk.forecasts, chunk.targets))
        block = Block(forecasts, targets, chunk.times, chunk.first, self.place, due=self._due)
        if self._clock is not None:
            block.timed = True
            self._arrive(block, waiting)
        elif self._calendar is not None:
            block.stamps = self._calendar.rows(chunk.issued, chunk.times, block.target, chunk.first)
        else:  # without times, a row that only supplies a target looks like a row without forecasts
            block.hint = ", or pass a column of times (--time) if it only supplies an earlier target"
        if self._due is not None:
            block.dropped += [block.first + t for t in self._unknown(block)]
        return block

    def remember(self, block: Block, mixed: Array) -> None:
        """Keep the combined forecasts of rows that are pending or never get a target."""
        for row in reversed(self._waiting.values()):
            if row.row < block.first:
                break
            if row.row - block.first < len(mixed):
                row.forecast = mixed[row.row - block.first].copy()
        for t in self._unknown(block)[-TOLD:]:
            time = block.times[t] if self._calendar is not None else None
            self._untimed.append(forecast_of(block.first + t, time, mixed[t], self._levels))

    def forecasts(self) -> tuple[Forecast, ...]:
        """Return the forecasts of the last pending rows, in order."""
        if self._clock is None:
            return tuple(self._untimed)
        last = islice(reversed(self._waiting.values()), TOLD)
        return tuple(forecast_of(one.row, one.time, one.forecast, self._levels) for one in last)[::-1]

    def rest(self) -> list[tuple[int, float]]:
        """Return (row, target) of all targets that are due after the last row."""
        return [] if self._due is None else self._due.rest()

    def rejoin(self, targets: Array) -> Array:
        """Move each late target to the row that it belongs to, in place."""
        for row, by, target in self.brought:
            targets[row - 1], targets[by - 1] = target, np.nan
        return targets

    def place(self, number: int) -> str:
        """Return the place of a row in error messages."""
        return f"{self.source}, row {number}"

    def _unknown(self, block: Block) -> list[int]:
        unknown: list[int] = np.flatnonzero(np.isnan(block.targets)).tolist() if self._clock is None else []
        return unknown

    def _arrive(self, block: Block, waiting: Callable[[int], Array | None]) -> None:
        """Find the rows that are answered and those that supply a target, up to the first invalid row."""
        assert self._clock is not None
        tick, row = self._clock.tick, block.first
        try:
            for text, target in zip(block.times, block.target, strict=True):
                stamp, later = tick(text, row)
                if not later:
                    block.brings[row - block.first] = self._brought(stamp, text, row, target)
                elif target != target:
                    self._waiting[stamp] = Waiting(row, text)
                    if len(self._waiting) > WAITING:
                        block.dropped.append(self._waiting.pop(next(iter(self._waiting))).row)
                        self.given_up += 1
                row += 1
        except BadTable as refused:
            block.refuse(row - block.first, refused)
        if other := block.others(waiting):
            t, row = other
            why = f"{clipped(block.times[t])} has other forecasts than in row {row}; leave them empty or repeat them"
            block.refuse(t, self._clock.refuse(block.first + t, why))

    def _brought(self, stamp: Any, text: str, row: int, target: float) -> int:
        """Return the number of the pending row of this target, which is no longer pending."""
        assert self._clock is not None
        open_ = self._waiting.get(stamp)
        if open_ is None:
            raise self._clock.out_of_order(text, stamp, row)
        if target != target:
            raise self._clock.refuse(row, f"{clipped(text)} was answered in row {open_.row} and needs a target here")
        del self._waiting[stamp]
        self.brought.append((open_.row, row, target))
        self.late += 1
        return open_.row
