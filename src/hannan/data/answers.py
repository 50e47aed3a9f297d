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


@dataclass
class Work:
    """Room for the answers to some rows and what they cost: losses (rows, experts), NaN for sleepers, and <p, l>."""

    weights: Array
    losses: Array
    mixed: Array
    own: Array
    played: NDArray[np.int64]

    @classmethod
    def room(cls, rows: int, n: int) -> Work:
        """Nothing written yet."""
        whole: NDArray[np.int64] = np.empty(rows, dtype=np.int64)
        return cls(np.empty((rows, n)), np.empty((rows, n)), np.empty(rows), np.empty(rows), whole)


@dataclass(frozen=True)
class Progress:
    """Sums at some rows: rows settled since, the mixture's loss, its regret; of each expert its loss, and the
    mixture's in the same rows."""

    settled: NDArray[np.int64] = field(hash=False)
    mix: Array = field(hash=False)
    regret: Array = field(hash=False)
    experts: Array = field(hash=False)
    beside: Array = field(hash=False)


@dataclass
class Tally:
    """Sums over the settled rows: of the mixture, of <p, l>, and of each expert over its waking rows."""

    mix: float
    own: float
    experts: Array
    #: The mixture's loss in the waking rows of each expert.
    mix_beside: Array
    awake: NDArray[np.int64]

    @classmethod
    def empty(cls, n: int) -> Tally:
        """Nothing settled yet."""
        return cls(0.0, 0.0, np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64))

    def add(self, losses: Array, mix: Array, own: Array, ends: NDArray[np.int64]) -> Progress:
        """Rows of losses (NaN asleep), of the mixture's and of <p, l> (NaN unsettled): the sums after each of `ends`.

        `ends` ascend, and the last one is the number of rows.
        """
        starts = np.concatenate([[0], ends[:-1]])
        known = ~np.isnan(mix)
        whole = bool(known.all()) and not np.isnan(losses.sum())
        mix, own = np.where(known, mix, 0.0), np.where(known, own, 0.0)

        def sums(rows: Array) -> Array:
            out: Array = np.cumsum(np.add.reduceat(rows, starts, axis=0), axis=0)
            return out

        total, settled = self.mix + sums(mix), sums(known.astype(np.int64))
        if whole:
            experts = self.experts + sums(losses)
            beside = self.mix_beside + (total - self.mix)[:, None]
            awake = self.awake + settled[:, None]
        else:
            up = ~np.isnan(losses)
            experts = self.experts + sums(np.where(up, losses, 0.0))
            beside = self.mix_beside + sums(np.where(up, mix[:, None], 0.0))
            awake = self.awake + sums(up.astype(np.int64))
        regret = np.where(awake > 0, beside - experts, -np.inf).max(axis=1)
        regret[awake.max(axis=1) == 0] = 0.0
        self.mix, self.own = float(total[-1]), self.own + float(own.sum())
        self.experts, self.mix_beside, self.awake = experts[-1], beside[-1], awake[-1].astype(np.int64)
        return Progress(settled.astype(np.int64), total, regret, experts, beside)

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
