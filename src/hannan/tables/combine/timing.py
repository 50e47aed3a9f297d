"""A block of rows of a table, and what becomes of each: answered, or the target of a row that waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan.tables.read.table import BadTable, clipped
from hannan.tables.read.times import Instants
from hannan.validation import Array


@dataclass(slots=True)
class Waiting:
    """A row that was answered and not settled: its number, its time as read, and its forecast, once it is made."""

    row: int
    time: str
    forecast: Any = float("nan")


class Events(NamedTuple):
    """What happens in order, the targets told, and how many events there are up to the end of each row."""

    order: NDArray[np.int64]
    told: Array
    ends: NDArray[np.int64]


@dataclass
class Block:
    """Some rows; the first of them has the number `first`."""

    forecasts: Array
    targets: Array
    times: Sequence[str]
    first: int
    #: With issue times: when each row was issued, and when its target is known.
    stamps: Sequence[tuple[Any, Any]] = ()
    #: Rows that are not answered: of each, the number of the row whose target it brings.
    brings: dict[int, int] = field(default_factory=dict)
    #: Numbers of rows that wait no more, because too many do.
    gone: list[int] = field(default_factory=list)
    #: Why a row is refused; those before it are in the block, and no other.
    refused: Exception | None = None

    @cached_property
    def target(self) -> list[float]:
        """The targets, to look at one by one."""
        told: list[float] = self.targets.tolist()
        return told

    @cached_property
    def fresh(self) -> NDArray[np.int64]:
        """The rows that are answered, when all is known of them."""
        every: NDArray[np.int64] = np.arange(len(self.targets))
        return np.delete(every, list(self.brings)) if self.brings else every

    def events(self, rows: slice) -> Events:
        """Some rows in order: e >= 0 answers the e-th of them, and ~number settles that row at once
        where its target is known; a row that only brings a target settles the one that waits for it."""
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

    @cached_property
    def _brought(self) -> NDArray[np.int64]:
        """Of each row the number of the one whose target it brings, or -1."""
        numbers: NDArray[np.int64] = np.full(len(self.targets), -1)
        numbers[list(self.brings)] = list(self.brings.values())
        return numbers

    def brings_in(self, rows: slice) -> bool:
        """Whether some of these rows are not answered."""
        low, high = np.searchsorted(self.fresh, (rows.start, rows.stop))
        return bool(high - low < rows.stop - rows.start)

    def refuse(self, row: int, why: Exception) -> None:
        """The block ends before a row."""
        self.forecasts, self.targets, self.times = self.forecasts[:row], self.targets[:row], self.times[:row]
        self.brings = {t: number for t, number in self.brings.items() if t < row}
        self.refused = why

    def others(self, mixer: Any) -> tuple[int, int] | None:
        """The first row that brings a target with other forecasts than were answered, and the number of that one."""
        if not self.brings:
            return None
        late, rows = np.array(list(self.brings)), np.array(list(self.brings.values()))
        now, before = self.forecasts[late], self.forecasts[np.clip(rows - self.first, 0, None)]
        for k in np.flatnonzero(rows < self.first).tolist():
            before[k] = mixer.waiting(int(rows[k]))
        differ = ((now != before) & ~(np.isnan(now) & np.isnan(before))).any(axis=1) & ~np.isnan(now).all(axis=1)
        if not differ.any():
            return None
        k = int(np.argmax(differ))
        return int(late[k]), int(rows[k])


#: Targets that are kept to be compared, about.
KEPT = 10_000


class Calendar:
    """Two columns of times: issue times must not go back, and within one of them target times ascend.

    >>> calendar = Calendar("made", "day", "the text")
    >>> calendar.rows(["1", "1", "2"], ["2", "3", "3"], [7.0, 8.0, 8.0], 1)
    [(1, 2), (1, 3), (2, 3)]
    """

    def __init__(self, issued: str, target_time: str, source: str) -> None:
        self._names, self._source = (issued, target_time), source
        self._issued, self._targets = Instants(issued, source), Instants(target_time, source)
        self._latest: tuple[Any, Any] | None = None
        #: Time -> (target, row) of those that later rows may ask for again.
        self._told: dict[Any, tuple[float, int]] = {}

    def rows(self, issued: Sequence[str], times: Sequence[str], targets: Any, first: int) -> list[tuple[Any, Any]]:
        """(when a row was issued, when its target is known), row by row."""
        told = []
        for t in range(len(issued)):
            pair = self._issued.read(issued[t], first + t), self._targets.read(times[t], first + t)
            self._check(pair, issued[t], times[t], first + t)
            if targets[t] == targets[t]:
                self._once(pair, float(targets[t]), first + t)
            told.append(pair)
        return told

    def _once(self, pair: tuple[Any, Any], target: float, row: int) -> None:
        """A time has one target, however many rows ask for it; of those that are past no row can ask again."""
        if len(self._told) > 2 * KEPT:
            self._told = {when: told for when, told in self._told.items() if when > pair[0]}
        before = self._told.setdefault(pair[1], (target, row))
        if before[0] != target:
            raise self._refuse(
                row, f"a target must be the same in all rows of its time ({self._names[1]!r}); got {target:g}, and "
                f"{before[0]:g} in row {before[1]}",
            )  # fmt: skip

    def _check(self, pair: tuple[Any, Any], issued: str, time: str, row: int) -> None:
        if self._issued.kind != self._targets.kind:
            raise self._refuse(
                row, f"times must be of one kind in {self._names[0]!r} and {self._names[1]!r}; got "
                f"{clipped(issued)} and {clipped(time)}",
            )  # fmt: skip
        if pair[1] <= pair[0]:
            raise self._refuse(
                row, f"the time of a target ({self._names[1]!r}) must be after its row was issued ({self._names[0]!r}"
                f"); got {clipped(time)} and {clipped(issued)}",
            )  # fmt: skip
        if self._latest is not None and pair <= self._latest:
            again = pair == self._latest
            rule = (
                "a target must be asked for once at an issue time"
                if again
                else "rows must be in the order of issue times"
            )
            raise self._refuse(
                row, f"{rule}, and then of target times; got {clipped(issued)} for {clipped(time)} after "
                f"{self._latest[0]} for {self._latest[1]}",
            )  # fmt: skip
        self._latest = pair

    def _refuse(self, row: int, reason: str) -> BadTable:
        return BadTable(f"{self._source}, row {row}: {reason}")


class Due:
    """Rows that were answered and whose target is known later: a heap of (when, row, target)."""

    def __init__(self, horizon: int) -> None:
        self._horizon = horizon
        self._heap: list[tuple[Any, int, float]] = []

    def events(self, block: Block, rows: slice) -> Events:
        """As `Block.events`; before row t is answered, what was known by then."""
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
        """(row, target) of the rows that are due, in their order."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            found.append(heappop(self._heap)[1:])
        return sorted(found)

    def rest(self) -> list[tuple[int, float]]:
        """(row, target) of all that are left, in their order; they wait no more."""
        left = sorted(due[1:] for due in self._heap)
        self._heap.clear()
        return left
