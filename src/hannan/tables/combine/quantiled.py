"""What is told of a combination of quantiles besides its losses: calibration, its fan, and how its table was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.refusals import Array
from hannan.tables.combine.calibration import Calibration
from hannan.tables.combine.fan import FAN, Fan
from hannan.tables.combine.levels import Grid
from hannan.tables.combine.quantile_loss import QuantileLoss


@dataclass(frozen=True)
class Quantiled:
    """`by_level` are the weights at the end of each level, where levels have weights of their own."""

    calibration: Calibration = field(hash=False)
    fan: Fan | None
    timed: bool
    by_level: Array | None = field(hash=False)
    grid: Grid
    #: In how many places quantiles of a model were sorted.
    crossed: int = 0

    def lines(self) -> list[tuple[str, str]]:
        """(name, value) for a terminal."""
        rows = self.calibration.lines()
        rows.append(("weights", "common to all levels" if self.by_level is None else "per quantile, answers sorted"))
        if self.crossed:
            rows.append(("crossing", f"quantiles of a model were sorted in {self.crossed} places"))
        if self.grid.left:
            rows.append(("left out", f"{', '.join(self.grid.left)}: point forecasts of the same models"))
        return rows

    def as_dict(self, models: Sequence[str]) -> dict[str, Any]:
        """For JSON."""
        by_level = None
        if self.by_level is not None:
            shares = [dict(zip(models, one.tolist(), strict=True)) for one in self.by_level]
            by_level = [{"level": q, "weights": one} for q, one in zip(self.calibration.levels, shares, strict=True)]
        return {
            **self.calibration.as_dict(), "weights": "common" if by_level is None else "per quantile",
            "weights_by_level": by_level, "sorted_where_crossed": self.crossed, "left_out": list(self.grid.left),
        }  # fmt: skip


def quantiled(
    loss: QuantileLoss, grid: Grid, crossed: int, by_level: Array | None, answers: tuple[Any, Array], table: Array,
    targets: Array, recent: Sequence[tuple[int, str]],
) -> Quantiled:  # fmt: skip
    """From all rows of a table, level by level, their targets, and the answers: (numbers of rows from 1, quantiles)."""
    calibration = Calibration.of(loss, grid.models)
    at, told = answers[0].astype(np.int64) - 1, answers[1]
    known = ~np.isnan(targets[at])
    step = 1 << 14
    for first in range(0, len(at), step):
        part = slice(first, first + step)
        some = at[part][known[part]]
        calibration.add(loss, told[part][known[part]], np.asarray(table[some]), np.asarray(targets[some]))
    fan, timed = None, bool(recent) and all(text for _, text in recent)
    if len(at):
        times, last = dict(recent), slice(-min(FAN, len(recent)), None)
        names = tuple(times.get(int(row) + 1, "") if timed else str(int(row) + 1) for row in at[last])
        fan = Fan(names, np.array(told[last]), np.array(targets[at[last]]))
    return Quantiled(calibration, fan, timed, by_level, grid, crossed)
