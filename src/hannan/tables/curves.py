"""Curves of a stream whose length is not known: a few hundred points, evenly spread, whatever comes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array

POINTS = 250


class Trace:
    """Points at multiples of a stride; when there are too many, every other is dropped and the stride doubles.

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
        """So many rows come at once after row `first`: the stride they will need anyway."""
        while (first + rows) // self._stride > self._most:
            self._widen()

    def due(self, first: int, rows: int) -> NDArray[np.int64]:
        """The rows, counted from 1, of first+1 .. first+rows at which a point is due."""
        start = first - first % self._stride + self._stride
        return np.arange(start, first + rows + 1, self._stride)

    def add(self, row: int, point: Any) -> None:
        """A point, numbers or whatever they are made of; due or not, for the last one."""
        if self._at and self._at[-1] == row:
            self._at.pop()
            self._points.pop()
        self._at.append(row)
        self._points.append(point)
        while len(self._at) > self._most:
            self._widen()

    def extend(self, rows: list[int], points: list[Any]) -> None:
        """Points that were due, in order."""
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
        """Where the points are."""
        return np.array(self._at, dtype=np.float64)

    def kept(self) -> list[Any]:
        """The points as they were added."""
        return list(self._points)

    def points(self) -> Array:
        """(points, values)."""
        return np.array(self._points)
