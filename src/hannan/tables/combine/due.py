"""Targets of the table that are used later than their rows: with a horizon, or with issue times."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from hannan.tables.combine.blocks import Block, Events


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
