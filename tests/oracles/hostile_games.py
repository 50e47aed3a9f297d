"""Games of forecasts against an adversary: columns that appear late and disappear, and late targets in any order."""

from __future__ import annotations

import numpy as np

from hannan.tables.combine.losses import point_loss

LOSSES = ["absolute", "squared"]


class Hostile:
    """A game with columns that appear late and disappear, late targets in any order, and a greedy adversary or not."""

    def __init__(self, seed):
        rng, rows = np.random.default_rng([seed, 5]), 60
        self.n, self.loss = int(rng.integers(3, 8)), LOSSES[seed % 2]
        self.kind, delay = ("greedy", "cauchy", "plain")[seed % 3], (0, 3, 9)[seed // 3 % 3]
        draw = rng.standard_cauchy if self.kind == "cauchy" else rng.normal
        self.targets = draw(size=rows)
        self.forecasts = self.targets[:, None] + draw(size=(rows, self.n)) * 10.0 ** rng.uniform(-2, 1, self.n)
        born = np.where(rng.random(self.n) < 0.6, rng.integers(0, 50, self.n), 0)
        born[:2] = 0
        missing = rng.random((rows, self.n)) < rng.choice([0.0, 0.3])
        missing[np.arange(rows), rng.integers(0, self.n, rows)] = False
        self.forecasts[missing | (np.arange(rows)[:, None] < born)] = np.nan
        empty = np.isnan(self.forecasts).all(axis=1)
        self.forecasts[empty, 0] = self.targets[empty]
        known = np.arange(rows) + (rng.integers(0, delay + 1, rows) if delay else 0)
        order = sorted([(t, 0, t) for t in range(rows)] + [(known[t], 1, t) for t in range(rows)])
        self.events = [~t if settles else t for _, settles, t in order]
        self.cost = point_loss(self.loss)

    def target(self, row, x, lead):
        """The greedy adversary chooses the target on the side that gives a column the largest regret."""
        if self.kind != "greedy":
            return self.targets[row]
        f = self.forecasts[row]
        low, high = np.nanmin(f), np.nanmax(f)
        ends = (low - 0.1 * (high - low), high + 0.1 * (high - low))
        return max(ends, key=lambda y: np.nanmax(lead + self.cost.slope(x, y) * (x - f)))
