"""Rule B, AdaHedge and the two layers in plain NumPy, as their definitions say: the oracle of the engine's combination.

Nothing is shared with the package. A row is answered with `answer`, which gives what it remembers of the row, and
settled with `settle`, whenever and in whatever order its target comes. NaN sleeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

#: Columns that agree to this share of their size, or slopes this small in all, move nothing.
COINCIDE, SMALLEST = 1e-12, 1e-140


class RuleB:
    """Weights ~ pi_i eta_i exp(eta_i S_i) over the awake columns that were seen before."""

    def __init__(self, n: int, forget: float = 1.0, prior: Any = None, still: bool = True, start: float = 0.1) -> None:
        self.n, self.forget, self.still, self.start = n, forget, still, start
        self.prior = np.full(n, 1.0 / n) if prior is None else np.asarray(prior, dtype=float)
        self.S, self.V, self.M, self.eta, self.sizes, self.C, self.drift, self.rest, self.G = np.zeros((9, n))
        self.seen = np.zeros(n, dtype=bool)
        self.P = 1.0

    def weights(self, awake: Any) -> Any:
        among = awake & self.seen
        if not among.any():
            p = np.where(awake, self.prior, 0.0)
            return p / p.sum()
        logs = np.full(self.n, -np.inf)
        logs[among] = np.log(self.prior[among]) + np.log(self.eta[among]) + self.eta[among] * self.S[among]
        p = np.exp(logs - logs.max())
        return p / p.sum()

    def forecast(self, f: Any) -> float:
        awake = ~np.isnan(f)
        return float(self.weights(awake)[awake] @ f[awake])

    def answer(self, f: Any) -> dict[str, Any]:
        return {"f": f.copy(), "x": self.forecast(f), "sizes": self.sizes.copy()}

    def settle(self, row: dict[str, Any], slope: Callable[[float], float]) -> None:
        f, x = row["f"], row["x"]
        g, z = slope(x), self.forecast(f)
        awake = ~np.isnan(f)
        r = np.where(awake, g * (z - np.where(awake, f, z)), 0.0)
        self.G[awake] += g * (x - f[awake])
        self.drift[awake] += g * (x - z)
        alike = abs(np.where(awake, f - z, 0.0)).max() <= COINCIDE * abs(f[awake]).max()
        self.learn(r, awake, g == 0.0, alike, self.sizes - row["sizes"])

    def learn(self, r: Any, awake: Any, flat: bool, alike: bool, between: Any) -> None:
        """From r_i of a row, with the sums of |r_i| that were settled since it was answered."""
        largest = abs(r).max()
        if flat or (self.still and (alike or largest < SMALLEST)):
            self.rest += r
            return
        for i in np.flatnonzero(awake):
            if self.seen[i]:
                V, M = self.V[i] * self.forget, self.M[i]
            else:
                V, M = self.start * largest**2, math.sqrt(self.start) * largest
            V += r[i] ** 2 + 2.0 * abs(r[i]) * between[i]
            M = max(M, abs(r[i]))
            eta = min(1.0 / (2.0 * M), 1.0 / math.sqrt(V)) if M > 0.0 else 1e300
            if self.seen[i]:
                a, E = eta / self.eta[i], math.exp(min(self.eta[i] * self.S[i], 700.0))
                more = (1.0 - a) * (1.0 + eta * r[i])
                if r[i] < 0.0:
                    more += E * max((1.0 - a * a) * self.eta[i] * abs(r[i]) - (1.0 - a), 0.0)
            else:
                u = eta * r[i]
                more = max(math.exp(u - u * u) - 1.0, 0.0)
            self.P += self.prior[i] * more
            self.V[i], self.M[i], self.eta[i], self.seen[i] = V, M, eta, True
            self.S[i] = self.S[i] * self.forget + r[i] - eta * r[i] ** 2
            self.C[i] += eta * r[i] ** 2
            self.sizes[i] += abs(r[i])

    def bounds(self) -> Any:
        """b_i: sum over the rows with i awake of g (x - f_i) is at most this."""
        lead = np.zeros(self.n)
        lead[self.seen] = np.log(self.P / self.prior[self.seen]) / self.eta[self.seen]
        return lead + self.C + self.drift + self.rest


class OwnLosses:
    """AdaHedge on the columns' own losses: p ~ e^(-L/s), s = Delta/ln n; a sleeper is charged what the awake cost."""

    def __init__(self, n: int) -> None:
        self.n, self.L, self.gaps = n, np.zeros(n), 0.0

    def weights(self, awake: Any) -> Any:
        low = self.L[awake].min()
        away = self.L - low
        if self.gaps > 1e-300 and self.n > 1:
            p = np.where(awake, np.exp(np.minimum(-away / (self.gaps / math.log(self.n)), 0.0)), 0.0)
        else:
            # No scale yet: even among the leaders, or among the awake who lead the others.
            p = np.where(awake & (away == 0.0), 1.0, 0.0)
        return p / p.sum()

    def answer(self, f: Any) -> dict[str, Any]:
        awake = ~np.isnan(f)
        p = self.weights(awake)
        return {"f": f.copy(), "x": float(p[awake] @ f[awake]), "p": p}

    def settle(self, row: dict[str, Any], losses: Any) -> None:
        """The losses of the columns, NaN asleep: the gap is what the answer cost less the fall of the potential."""
        awake, p = ~np.isnan(row["f"]), row["p"]
        own = float(p[awake] @ losses[awake])
        charged = np.where(awake, losses, min(max(own, losses[awake].min()), losses[awake].max()))
        scale = self.gaps / math.log(self.n) if self.n > 1 and self.gaps > 1e-300 else 0.0
        mixed = _soft_least(self.L + charged, scale) - _soft_least(self.L, scale)
        self.gaps += max(own - mixed, 0.0)
        self.L = self.L + charged

    def bound(self) -> float:
        """2 Delta, whatever the delays: the costs are the gaps and a potential that never rises above L* + s ln n."""
        return 2.0 * self.gaps


def _soft_least(L: Any, scale: float) -> float:
    low = L.min()
    return float(low if scale == 0.0 else low - scale * math.log(np.exp(-(L - low) / scale).sum()))


class TwoLayers:
    """B over {B, B .99, AdaHedge on own losses, the mean}."""

    def __init__(self, n: int, prior: Any = None, still: bool = True, start: float = 0.1) -> None:
        self.n = n
        self.top = RuleB(4, still=still, start=start)
        self.b, self.quick = RuleB(n, 1.0, prior, still, start), RuleB(n, 0.99, prior, still, start)
        self.own = OwnLosses(n)

    def weights(self, awake: Any) -> Any:
        """Of the columns."""
        shares = self.top.weights(np.ones(4, dtype=bool))
        members = [self.b.weights(awake), self.quick.weights(awake), self.own.weights(awake), awake / awake.sum()]
        return shares @ np.array(members)

    def answer(self, f: Any) -> dict[str, Any]:
        row: dict[str, Any] = {"b": self.b.answer(f), "quick": self.quick.answer(f), "own": self.own.answer(f)}
        told = np.array([row["b"]["x"], row["quick"]["x"], row["own"]["x"], np.nanmean(f)])
        row["top"] = self.top.answer(told)
        return row | {"x": row["top"]["x"], "f": row["b"]["f"]}

    def settle(self, row: dict[str, Any], slope: Callable[[float], float], losses: Any) -> None:
        self.top.settle(row["top"], slope)
        self.b.settle(row["b"], slope)
        self.quick.settle(row["quick"], slope)
        self.own.settle(row["own"], losses)
