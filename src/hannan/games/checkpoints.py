"""Checkpoints: the rounds at which a game stores its curves, about 500 for any number of rounds."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.validation import Array

KEPT = 500
Positions = NDArray[np.int64]


@functools.lru_cache(maxsize=8)
def spread(rounds: int, everything: bool = False) -> Positions:
    """Return rounds, counted from 1: 400 evenly spaced, 100 evenly spaced on a log axis, and the last one.

    >>> spread(5).tolist(), len(spread(10**6)), int(spread(10**6)[-1])
    ([1, 2, 3, 4, 5], 490, 1000000)
    """
    if everything or rounds <= KEPT:
        at = np.arange(1, rounds + 1)
    else:
        even = np.ceil(np.arange(1, 401) * (rounds / 400)).astype(np.int64)
        early = np.rint(np.geomspace(1, rounds, 100)).astype(np.int64)
        # Not np.unique, which loads masked arrays.
        at = np.array(sorted({*even.clip(1, rounds).tolist(), *early.tolist()}), dtype=np.int64)
    at.flags.writeable = False  # shared by games of the same length
    return at


def multiples(stride: int, first: int, rounds: int) -> Positions:
    """Return the multiples of a stride in first+1 .. first+rounds.

    >>> multiples(4, 4, 8).tolist()
    [8, 12]
    """
    return np.arange(first - first % stride + stride, first + rounds + 1, stride)


class Checkpoints:
    """Checkpoints of a game, and the columns of the curves that they are stored in.

    If the number of rounds is unknown, multiples of a stride are stored. When the columns are full, every other
    checkpoint is dropped and the stride doubles.
    """

    def __init__(self, rounds: int | None, everything: bool) -> None:
        self.known = rounds is not None
        self.everything = everything
        self.at: Positions = spread(rounds, everything) if rounds is not None else np.empty(0, dtype=np.int64)
        self.stride = 1
        self.columns = len(self.at) if rounds is not None else 2 * KEPT

    def room(self, first: int, rounds: int) -> NDArray[np.intp] | None:
        """Make room for rounds first+1 .. first+rounds. Return the columns to move to the front, or None."""
        if self.known:
            return None
        if self.everything:
            self.columns = max(self.columns, 2 * (first + rounds))
            return None
        kept = np.arange(len(self.at))
        while len(self.at) + rounds // self.stride + 1 > self.columns and self.stride <= first + rounds:
            self.stride *= 2
            mask = self.at % self.stride == 0
            self.at, kept = self.at[mask], kept[mask]
        return kept

    def within(self, first: int, rounds: int) -> tuple[Positions, Positions]:
        """Return (ends, columns) of checkpoints in rounds first+1 .. first+rounds; ends count from `first`."""
        if self.known:
            if first == 0 and rounds >= self.at[-1]:  # the whole game at once
                return self.at, np.arange(len(self.at))
            low, high = (int(self.at.searchsorted(last, side="right")) for last in (first, first + rounds))
            return self.at[low:high] - first, np.arange(low, high)
        new = multiples(self.stride, first, rounds)
        columns = np.arange(len(self.at), len(self.at) + len(new))
        self.at = np.concatenate([self.at, new])
        return new - first, columns

    def upto(self, rounds: int) -> Positions:
        """Return the checkpoints up to a round."""
        if self.known and rounds >= self.at[-1]:
            return self.at
        return self.at[self.at <= rounds]


POINTS = 250


class Trace:
    """Points at multiples of a stride. When there are too many, every other point is dropped and the stride doubles.

    >>> trace = Trace(4)
    >>> for row in range(1, 11):
    ...     if len(trace.due(row - 1, 1)):
    ...         trace.add(row, np.array([10.0 * row]))
    >>> trace.rows().tolist()
    [4.0, 8.0]
    """

    def __init__(self, most: int = POINTS) -> None:
        self._most, self._stride = most, 1
        self._at: list[int] = []
        self._points: list[Any] = []

    def expect(self, first: int, rows: int) -> None:
        """Widen the stride for rows first+1 .. first+rows."""
        while (first + rows) // self._stride > self._most:
            self._widen()

    def due(self, first: int, rows: int) -> NDArray[np.int64]:
        """Return the rows of first+1 .. first+rows, counted from 1, at which a point is due."""
        return multiples(self._stride, first, rows)

    def add(self, row: int, point: Any) -> None:
        """Add a point. The last point replaces an earlier one at the same row."""
        if self._at and self._at[-1] == row:
            self._at.pop()
            self._points.pop()
        self._at.append(row)
        self._points.append(point)
        while len(self._at) > self._most:
            self._widen()

    def extend(self, rows: list[int], points: list[Any]) -> None:
        """Add points that were due, in order."""
        self._at += rows
        self._points += points
        while len(self._at) > self._most:
            self._widen()

    def _widen(self) -> None:
        self._stride *= 2
        kept = [k for k, at in enumerate(self._at) if at % self._stride == 0]
        self._at = [self._at[k] for k in kept]
        self._points = [self._points[k] for k in kept]

    def rows(self) -> Array:
        """Return the rows of the points."""
        return np.array(self._at, dtype=np.float64)

    def kept(self) -> list[Any]:
        """Return the points as a list."""
        return list(self._points)

    def points(self) -> Array:
        """Return the points as an array (points, values)."""
        return np.array(self._points)
