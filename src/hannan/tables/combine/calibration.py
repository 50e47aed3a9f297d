"""How quantiles fared: CRPS on their levels, and of each pair of levels how often it covered and how wide it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.refusals import Array
from hannan.saving.words import counted, figure
from hannan.tables.combine.quantile_loss import QuantileLoss
from hannan.tables.write import release

BLOCK = 1 << 12
#: Who is told of, before the models.
COMBINATION, MEAN = "combination", "mean of the experts"
#: Intervals on a terminal; of more, those nearest to these.
SHOWN, USUAL = 10, (0.95, 0.8, 0.5, 0.2)


@dataclass(frozen=True)
class Interval:
    """A central interval: of the rows, the share it should cover, the share it did, and its mean width."""

    low: float
    high: float
    coverage: float
    width: float

    @property
    def nominal(self) -> float:
        """The share of targets that it should cover."""
        return self.high - self.low


@dataclass
class Calibration:
    """Sums over settled rows: of the combination, the mean and each model (in its waking rows), level by level.

    With quantiles in order, low <= y <= high in as many rows as y <= high, less those with y < low.
    """

    levels: tuple[float, ...]
    names: tuple[str, ...]
    rows: Array = field(default_factory=lambda: np.empty(0))
    #: (who, levels): rows with y < f, rows with y <= f, the sum of f, the sum of the pinball losses.
    sums: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if not self.rows.size:
            self.rows, self.sums = np.zeros(len(self.names)), np.zeros((4, len(self.names), len(self.levels)))

    @classmethod
    def of(cls, loss: QuantileLoss, models: Sequence[str]) -> Calibration:
        """Nothing seen yet."""
        return cls(loss.levels, (COMBINATION, MEAN, *models))

    def add(self, loss: QuantileLoss, answers: Array, forecasts: Array, targets: Array) -> None:
        """Rows with a target: answers (rows, levels), forecasts (rows, levels x models), level by level."""
        for first in range(0, len(targets), BLOCK):
            part = slice(first, first + BLOCK)
            y, models = targets[part], loss.columns(np.asarray(forecasts[part]))
            awake = ~np.isnan(models[:, :, 0])
            filled = np.where(awake[:, :, None], models, 0.0)
            mean = filled.sum(axis=1) / np.maximum(awake.sum(axis=1), 1)[:, None]
            who = np.concatenate([answers[part][:, None], mean[:, None], filled], axis=1)
            counted = np.concatenate([np.ones((len(y), 2), dtype=bool), awake], axis=1)
            self.rows += counted.sum(axis=0)
            at = y[:, None, None]
            for k, told in enumerate((at < who, at <= who, who, loss.by_level(who, y[:, None]))):
                self.sums[k] += np.where(counted[:, :, None], told, 0.0).sum(axis=0)
            release(forecasts)

    def crps(self, who: int = 0) -> float:
        """Twice the mean pinball loss over the levels, a row: an approximation of the CRPS on those levels."""
        return float(2.0 * self.sums[3, who].mean() / self.rows[who]) if self.rows[who] else float("nan")

    def pairs(self) -> list[tuple[int, int]]:
        """Levels q and 1 - q, the widest first."""
        found = []
        for low, q in enumerate(self.levels):
            high = next((k for k, p in enumerate(self.levels) if abs(p + q - 1.0) < 1e-9), None)
            if high is not None and low < high:
                found.append((low, high))
        return found

    def intervals(self, who: int = 0) -> list[Interval]:
        """The pairs of levels, the widest first."""
        rows, (below, most, total, _) = max(float(self.rows[who]), 1.0), self.sums[:, who]
        return [
            Interval(
                self.levels[a], self.levels[b], float(most[b] - below[a]) / rows, float(total[b] - total[a]) / rows
            )
            for a, b in self.pairs()
        ]

    def best(self) -> int:
        """The model with the least CRPS over its waking rows; 1, the mean, where there is none."""
        told = [self.crps(k) for k in range(2, len(self.names))]
        return int(np.nanargmin(told)) + 2 if np.isfinite(told).any() else 1

    def lines(self, shown: int = SHOWN) -> list[tuple[str, str]]:
        """(name, value) for a terminal."""
        if not self.rows[0]:
            return []
        who = [0, 1, self.best()]
        each = ", ".join(f"{figure(self.crps(k))} {self._called(k)}" for k in who)
        many = counted(len(self.levels), "level")
        rows = [("CRPS", f"{each}; twice the mean pinball loss a row, an approximation on {many}")]
        told = [self.intervals(k) for k in who]
        kept = self.picked(shown)
        for place in kept:
            cells = ", ".join(
                f"{100.0 * told[j][place].coverage:.1f}% of width {figure(told[j][place].width)} {self._called(k)}"
                for j, k in enumerate(who)
            )
            rows.append((f"{figure(100.0 * told[0][place].nominal)}% interval", f"covers {cells}"))
        if len(kept) < len(told[0]):
            rows.append(("intervals", f"{len(told[0]) - len(kept)} more pairs of levels, in the JSON and on the page"))
        return rows

    def picked(self, most: int) -> list[int]:
        """All pairs, or some of very many: those nearest to usual intervals; the widest first."""
        pairs = self.pairs()
        if len(pairs) <= most:
            return list(range(len(pairs)))
        widths = np.array([self.levels[b] - self.levels[a] for a, b in pairs])
        return sorted({int(np.argmin(abs(widths - usual))) for usual in USUAL[:most]})

    def _called(self, who: int) -> str:
        return f"({self.names[who]})"

    def as_dict(self) -> dict[str, Any]:
        """For JSON: who by who."""
        return {
            "levels": list(self.levels),
            "crps_is": "twice the mean pinball loss over these levels, an approximation of the CRPS",
            "who": [self._one(k) for k in range(len(self.names)) if self.rows[k]],
        }

    def _one(self, who: int) -> dict[str, Any]:
        rows, (_, most, _, pinball) = float(self.rows[who]), self.sums[:, who]
        return {
            "name": self.names[who], "rows": int(rows), "crps": self.crps(who),
            "intervals": [{"low": one.low, "high": one.high, "nominal": one.nominal, "coverage": one.coverage,
                           "mean_width": one.width} for one in self.intervals(who)],
            "levels": [{"level": q, "targets_at_or_below": float(most[k]) / rows,
                        "mean_pinball": float(pinball[k]) / rows} for k, q in enumerate(self.levels)],
        }  # fmt: skip
