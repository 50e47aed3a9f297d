"""What a row of quantiles costs: the mean of the pinball losses of its levels, convex in all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hannan.refusals import Array
from hannan.tables.combine.levels import STANDARD, Grid, are_points, grid_of, point_columns
from hannan.tables.combine.losses import Pinball, PointLoss, canonical, point_loss
from hannan.tables.read.table import shown


@dataclass(frozen=True)
class QuantileLoss(PointLoss):
    """L(f, y) = mean over the levels q of pinball_q(f_q, y), f on the last axis; twice it is near the CRPS.

    `apart`: weights for each level on its own, answers sorted; else weights common to all levels.

    >>> round(float(QuantileLoss((0.1, 0.9)).value(np.array([0.0, 2.0]), 1.0)), 6)
    0.1
    """

    levels: tuple[float, ...]
    apart: bool = False
    kernel: ClassVar[str] = "pinball"

    @property
    def parameter(self) -> float:
        return 0.5

    @property
    def depth(self) -> int:
        return len(self.levels)

    @property
    def name(self) -> str:
        few = ", ".join(f"{q:g}" for q in self.levels)
        return f"pinball at {few}" if self.depth <= 3 else f"pinball, the mean over {self.depth} levels"

    def value(self, f: Any, y: Any) -> Any:
        return self.by_level(f, y).mean(axis=-1)

    def by_level(self, f: Any, y: Any) -> Array:
        """The pinball loss of each level."""
        q, over = np.array(self.levels), np.asarray(f) - np.asarray(y)[..., None]
        told: Array = np.maximum(-q * over, (1.0 - q) * over)
        return told

    def slope(self, f: Any, y: Any) -> Any:
        q, f, y = np.array(self.levels), np.asarray(f), np.asarray(y)[..., None]
        return np.where(f > y, 1.0 - q, np.where(f < y, -q, 0.0)) / self.depth

    def columns(self, table: Array) -> Array:
        rows, width = table.shape
        return table.reshape(rows, self.depth, width // self.depth).transpose(0, 2, 1)

    def parts(self) -> tuple[Pinball, ...]:
        return tuple(Pinball(q) for q in self.levels)


def columns_for(
    names: Sequence[str], named: bool, loss: str | PointLoss, cap: float | None = None, quantiles: Any = None
) -> tuple[list[str], tuple[str, ...]]:
    """Return (columns to combine, columns left out).

    If point forecasts are combined, columns named as quantiles are left out, unless the user `named` the columns.

    >>> columns_for(["a", "a-lo-90"], False, "squared"), columns_for(["a", "a-lo-90"], True, "squared")
    ((['a'], ('a-lo-90',)), (['a', 'a-lo-90'], ()))
    """
    if named or not are_points(quantiles, _plain(loss, cap)):
        return list(names), ()
    return point_columns(names)


def _plain(loss: str | PointLoss, cap: float | None) -> bool:
    return isinstance(loss, str) and canonical(loss) == "absolute" and cap is None


def loss_of(
    names: Sequence[str], loss: str | PointLoss, cap: float | None = None, quantiles: Any = None,
    per_quantile: bool = False, crossing: str = "refuse",
) -> tuple[PointLoss, Grid | None]:  # fmt: skip
    """The loss of columns of these names, and how their quantiles stand, where they are quantiles.

    >>> loss_of(["a-q-0.5", "b-q-0.5"], "absolute")[0], loss_of(["a-q-0.5"], "pinball:0.5")[1]
    (QuantileLoss(levels=(0.5,), apart=False), None)
    """
    plain = _plain(loss, cap)
    grid = grid_of(names, quantiles, plain, crossing)
    if grid is None:
        if per_quantile:
            raise ValueError(f"weights per quantile are for columns of quantiles, {STANDARD}; got {shown(names)}")
        return point_loss(loss, cap), None
    if not plain:
        what = f"loss {loss!r}" if cap is None else f"cap {cap!r}"
        raise ValueError(f"quantiles have the pinball losses of their levels, uncapped; got {what}")
    return QuantileLoss(grid.levels, per_quantile), grid
