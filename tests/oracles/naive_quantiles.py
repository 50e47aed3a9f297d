"""Quantiles with weights common to their levels, in plain NumPy: the rules of naive_combine on vectors.

A row of forecasts is (levels, columns), its answer (levels,); the loss is the mean of the pinball losses of the levels.
A rule learns from r_i = <g, z - f_i>, where g is the slope at the answer given and z the answer of the present weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from naive_combine import COINCIDE, OwnLosses, RuleB


def pinball(levels: Any, f: Any, y: float) -> Any:
    """Losses per level; f has the levels first."""
    q = np.asarray(levels).reshape(-1, *[1] * (np.ndim(f) - 1))
    return np.where(y > f, q * (y - f), (1.0 - q) * (f - y))


def slope(levels: Any, x: Any, y: float) -> Any:
    """Slope of the mean of the pinball losses."""
    q = np.asarray(levels)
    return np.where(x > y, 1.0 - q, np.where(x < y, -q, 0.0)) / len(q)


class VectorB(RuleB):
    """Rule B on vectors."""

    def forecast(self, f: Any) -> Any:
        awake = ~np.isnan(f[0])
        return f[:, awake] @ self.weights(awake)[awake]

    def settle(self, row: dict[str, Any], g: Any) -> None:
        f, x = row["f"], row["x"]
        z, awake = self.forecast(f), ~np.isnan(f[0])
        r = np.where(awake, g @ (z[:, None] - np.where(awake, f, z[:, None])), 0.0)
        self.G[awake] += g @ (x[:, None] - f[:, awake])
        self.drift[awake] += g @ (x - z)
        alike = abs(r).max() <= COINCIDE * (abs(g)[:, None] * abs(f[:, awake])).sum(axis=0).max()
        distance = np.where(awake, abs(z[:, None] - np.where(awake, f, z[:, None])).mean(axis=0), 0.0)
        unit = abs(f[:, awake]).max() or 1.0
        self.learn(r, awake, not g.any(), alike, self.sizes - row["sizes"], distance / unit, unit)


class VectorTwoLayers:
    """B over {B, B .99, AdaHedge on own losses, the mean}, on vectors."""

    def __init__(self, n: int, levels: Any, prior: Any = None) -> None:
        self.n, self.levels = n, np.asarray(levels)
        self.top, self.b, self.quick = VectorB(4), VectorB(n, 1.0, prior), VectorB(n, 0.99, prior)
        self.own = OwnLosses(n)

    def answer(self, f: Any) -> dict[str, Any]:
        awake = ~np.isnan(f[0])
        row: dict[str, Any] = {"b": self.b.answer(f), "quick": self.quick.answer(f)}
        p = self.own.weights(awake)
        row["own"] = {"f": f[0].copy(), "p": p}
        told = [row["b"]["x"], row["quick"]["x"], f[:, awake] @ p[awake], f[:, awake].mean(axis=1)]
        row["top"] = self.top.answer(np.array(told).T)
        return row | {"x": row["top"]["x"], "f": f.copy()}

    def settle(self, row: dict[str, Any], y: float) -> None:
        for name, layer in (("top", self.top), ("b", self.b), ("quick", self.quick)):
            layer.settle(row[name], slope(self.levels, row[name]["x"], y))
        self.own.settle(row["own"], pinball(self.levels, row["f"], y).mean(axis=0))
