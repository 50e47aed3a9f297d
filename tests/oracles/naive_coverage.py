"""Slow reference implementations of the intervals: trackers, and proposals from residuals."""

from __future__ import annotations

import math

import numpy as np


class NaiveTracker:
    """One end with prompt or late rows; states are sums, not counts. `link`: shift of an end in units."""

    def __init__(self, rate=0.05, step=0.03, start=0.1, group_step=0.1, upper=True):
        self.rate, self.step, self.group_step, self.upper = rate, step, group_step, upper
        self.theta = {"all": start}
        self.open = {}

    def answer(self, row, base, unit, groups=()):
        q = sum(self.theta.setdefault(g, 0.0) for g in ("all", *groups))
        end = base + unit * math.sinh(q) if self.upper else base - unit * math.sinh(q)
        self.open[row] = end, tuple(groups)
        return end

    def settle(self, row, y):
        end, groups = self.open.pop(row)
        miss = float(y > end if self.upper else y < end)
        self.theta["all"] += self.step * (miss - self.rate)
        for g in groups:
            self.theta[g] += self.group_step * (miss - self.rate)


class NaiveProposals:
    """Fourteen intervals around a point, from lists of all residuals."""

    def __init__(self, low=0.05, high=0.95):
        self.low, self.high = low, high
        self.errors, self.ratios, self.spreads, self.sizes = [], {0.9: [], 0.97: [], 0.99: []}, [], []
        self.seen = []

    def scales(self):
        if not self.sizes:
            return None
        weights = {d: d ** np.arange(len(self.sizes))[::-1] for d in self.ratios}
        floor = 0.1 * np.mean(self.sizes)
        return {d: max(float(w @ self.sizes / w.sum()), floor) for d, w in weights.items()}

    def answer(self, center, forecasts):
        spread = float(np.nanstd(forecasts))
        self.seen.append(spread)
        spread, scales = max(spread, 0.1 * float(np.mean(self.seen))), self.scales()
        ticket = center, spread, scales
        if len(self.errors) < 20:
            return ticket, None, None

        def ends(values, most, scale, symmetric):
            if len(values) < 20 or not scale > 0.0:
                return math.nan, math.nan
            last = np.sort(np.abs(values[-most:]) if symmetric else values[-most:])
            k = len(last)

            def rank(x):
                return last[min(max(x, 1), k) - 1]

            if symmetric:
                reach = scale * rank(math.ceil(round((self.high - self.low) * (k + 1), 9)))
                return center - reach, center + reach
            low, high = (
                math.floor(round(self.low * (k + 1), 9)),
                math.ceil(round(self.high * (k + 1), 9)),
            )
            return center + scale * rank(low), center + scale * rank(high)

        told = [ends(self.errors, w, 1.0, False) for w in (50, 150, 500, 2000)]
        told += [ends(self.ratios[d], 500, scales[d], False) for d in (0.9, 0.97, 0.99)]
        told.append(ends(self.spreads, 500, spread, False))
        told += [ends(self.errors, w, 1.0, True) for w in (100, 500, 2000)]
        told += [ends(self.ratios[d], 500, scales[d], True) for d in (0.9, 0.97)]
        told.append(ends(self.spreads, 500, spread, True))
        return ticket, np.array(told).T, scales[0.97]

    def settle(self, ticket, y):
        center, spread, scales = ticket
        e = y - center
        self.errors.append(e)
        if scales is not None:
            for d, values in self.ratios.items():
                values.append(e / scales[d])
        if spread > 0.0:
            self.spreads.append(e / spread)
        self.sizes.append(abs(e))
