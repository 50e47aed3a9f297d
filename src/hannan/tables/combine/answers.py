"""What rows of forecasts were answered with, and the sums over those that have a target."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array


@dataclass(frozen=True)
class Answers:
    """Rows in order: their numbers and times as read, the mixture, the expert drawn, the weights."""

    rows: NDArray[np.int64] = field(hash=False)
    times: list[str] = field(hash=False)
    forecast: Array = field(hash=False)
    played: NDArray[np.int64] = field(hash=False)
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
    played: NDArray[np.int64]

    @classmethod
    def room(cls, rows: int, n: int) -> Work:
        """Nothing written yet."""
        whole: NDArray[np.int64] = np.empty(rows, dtype=np.int64)
        return cls(np.empty((rows, n)), np.empty(rows), whole)


class Tally:
    """Sums over the settled rows: of the mixture, of <p, l>, and of each expert over its waking rows."""

    def __init__(self, n: int) -> None:
        from hannan import _engine

        #: What the engine adds to.
        self.sums = _engine.Tally(n)

    @property
    def mix(self) -> float:
        """The loss of the mixture."""
        return float(self.sums.mixture)

    @property
    def own(self) -> float:
        """The sum of <p, l>."""
        return float(self.sums.expected)

    @property
    def settled(self) -> int:
        """Rows with a target."""
        return int(self.sums.settled)

    @property
    def experts(self) -> Array:
        """The loss of each expert."""
        losses: Array = self.sums.losses
        return losses

    @property
    def mix_beside(self) -> Array:
        """The mixture's loss in the waking rows of each expert."""
        beside: Array = self.sums.beside
        return beside

    @property
    def awake(self) -> NDArray[np.int64]:
        """The waking rows of each expert."""
        rows: NDArray[np.int64] = self.sums.awake
        return rows

    def add(self, losses: Array, mix: float, own: float) -> None:
        """A row: the losses (NaN asleep), the mixture's, and <p, l>."""
        self.sums.add(losses, mix, own)

    @property
    def regret(self) -> float:
        """The most that any expert was better than the mixture over its waking rows."""
        awake = self.awake > 0
        return float((self.mix_beside - self.experts)[awake].max()) if awake.any() else 0.0


def joined(parts: list[Answers], n: int) -> Answers:
    """Answers one after the other."""
    if len(parts) == 1:
        return parts[0]
    whole: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    none: Array = np.empty(0)
    parts = [Answers(whole, [], none, whole, np.empty((0, n))), *parts]
    arrays = (np.concatenate([getattr(p, name) for p in parts]) for name in ("forecast", "played", "weights"))
    return Answers(np.concatenate([p.rows for p in parts]), [text for p in parts for text in p.times], *arrays)
