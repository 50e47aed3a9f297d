"""What rows of forecasts were answered with, and the sums over those that have a target."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array


@dataclass(frozen=True)
class Answers:
    """Rows in order: their numbers and times as read, the mixture, the expert drawn (None: none is), the weights."""

    rows: NDArray[np.int64] = field(hash=False)
    times: list[str] = field(hash=False)
    forecast: Array = field(hash=False)
    played: NDArray[np.int64] | None = field(hash=False)
    weights: Array = field(hash=False)

    def __len__(self) -> int:
        return len(self.forecast)


@dataclass(frozen=True)
class Forecast:
    """A row that waits for its target: its number, counted from 1, its time as read, and its forecast."""

    row: int
    time: str | None
    forecast: float

    @property
    def name(self) -> str:
        """Which row it is."""
        return f"row {self.row}" if self.time is None else f"{self.time} (row {self.row})"


@dataclass
class Work:
    """Room for the answers to some rows."""

    weights: Array
    mixed: Array
    played: NDArray[np.int64] | None

    @classmethod
    def room(cls, rows: int, n: int, draws: bool) -> Work:
        """Nothing written yet."""
        return cls(np.empty((rows, n)), np.empty(rows), np.empty(rows, dtype=np.int64) if draws else None)

    def part(self, rows: slice) -> Work:
        """The same room, some rows of it."""
        return Work(self.weights[rows], self.mixed[rows], None if self.played is None else self.played[rows])


def joined(parts: list[Answers], n: int) -> Answers:
    """Answers one after the other."""
    if len(parts) == 1:
        return parts[0]
    whole: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    rows = np.concatenate([whole, *(p.rows for p in parts)])
    forecast = np.concatenate([np.empty(0), *(p.forecast for p in parts)])
    weights = np.concatenate([np.empty((0, n)), *(p.weights for p in parts)])
    drawn = [p.played for p in parts if p.played is not None]
    played = np.concatenate(drawn) if drawn else None
    return Answers(rows, [text for p in parts for text in p.times], forecast, played, weights)
