"""A block of rows of a table, and what becomes of each: answered, or the target of a row that waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array


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
