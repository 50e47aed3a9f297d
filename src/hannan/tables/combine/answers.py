"""What rows of forecasts were answered with, and the sums over those that have a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array
from hannan.saving.words import figure


@dataclass(frozen=True)
class Answers:
    """Rows in order: their numbers and times as read, the mixture (of quantiles (rows, levels)), the expert drawn
    (None: none is), the weights."""

    rows: NDArray[np.int64] = field(hash=False)
    times: list[str] = field(hash=False)
    forecast: Array = field(hash=False)
    played: NDArray[np.int64] | None = field(hash=False)
    weights: Array = field(hash=False)

    def __len__(self) -> int:
        return len(self.forecast)


@dataclass(frozen=True)
class Forecast:
    """A row that waits for its target: its number, counted from 1, its time as read, and its forecast.

    Of quantiles the forecast is the middle one, and `quantiles` has all, (level, value).
    """

    row: int
    time: str | None
    forecast: float
    quantiles: tuple[tuple[float, float], ...] = ()

    @property
    def text(self) -> str:
        """The forecast, for people."""
        if len(self.quantiles) < 2:
            return figure(self.forecast)
        (low, least), (high, most) = self.quantiles[0], self.quantiles[-1]
        return f"{figure(self.forecast)} ({figure(least)} to {figure(most)}, quantiles {low:g} to {high:g})"

    @property
    def name(self) -> str:
        """Which row it is."""
        return f"row {self.row}" if self.time is None else f"{self.time} (row {self.row})"


def forecast_of(row: int, time: str | None, mixed: Any, levels: Sequence[float] = ()) -> Forecast:
    """A row that waits, from what it was answered with."""
    if not levels:
        return Forecast(row, time, float(mixed))
    values = [float(x) for x in mixed]
    return Forecast(row, time, values[(len(values) - 1) // 2], tuple(zip(levels, values, strict=True)))


@dataclass
class Work:
    """Room for the answers to some rows."""

    weights: Array
    mixed: Array
    played: NDArray[np.int64] | None

    @classmethod
    def room(cls, rows: int, n: int, draws: bool, levels: int = 0) -> Work:
        """Nothing written yet."""
        mixed = np.empty((rows, levels) if levels else rows)
        return cls(np.empty((rows, n)), mixed, np.empty(rows, dtype=np.int64) if draws else None)

    def part(self, rows: slice) -> Work:
        """The same room, some rows of it."""
        return Work(self.weights[rows], self.mixed[rows], None if self.played is None else self.played[rows])


def joined(parts: list[Answers], n: int, levels: int = 0) -> Answers:
    """Answers one after the other."""
    if len(parts) == 1:
        return parts[0]
    whole: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    rows = np.concatenate([whole, *(p.rows for p in parts)])
    forecast = np.concatenate([Work.room(0, n, False, levels).mixed, *(p.forecast for p in parts)])
    weights = np.concatenate([np.empty((0, n)), *(p.weights for p in parts)])
    drawn = [p.played for p in parts if p.played is not None]
    played = np.concatenate(drawn) if drawn else None
    return Answers(rows, [text for p in parts for text in p.times], forecast, played, weights)
