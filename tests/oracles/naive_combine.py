"""Rule B, AdaHedge and the two layers in plain NumPy, by their definitions: the oracle of the engine's combination.

Nothing is shared with the package. `answer` answers a row and returns the state to be remembered for it; `settle`
settles the row, in any order, when its target arrives. NaN: the column is not available.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

#: Columns that are equal up to this relative size, or slopes this small in total, cause no update.
COINCIDE, SMALLEST = 1e-12, 1e-140


class RuleB:
    """Weights ~ min(prior_i eta_i, c_i) exp(eta_i S_i) over the available columns that were updated before.

    `without` names parts of the rule or of its bound that are omitted, for negative controls: "caps" (c_i is always
    infinite), "settled" (the prior covers all available columns while none is old), "distance" (h has no factor
    d_i/tau), "second" (W has no second argument), "refill" (P ignores that the capped prior grows), "births"
    (P ignores first updates). With "fade" a newcomer starts with a share of 1/(n rows) of the weight, and its prior
    mass is not refilled.
    """

    def __init__(
        self, n: int, forget: float = 1.0, prior: Any = None, still: bool = True, start: float = 0.1,
        without: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.n, self.forget, self.still, self.start, self.without = n, forget, still, start, without
        self.prior = np.full(n, 1.0 / n) if prior is None else np.asarray(prior, dtype=float)
        self.S, self.V, self.M, self.eta, self.sizes, self.C, self.drift, self.rest, self.G = np.zeros((9, n))
        self.c, self.fixed = np.full(n, np.inf), np.full(n, np.inf)
        self.old, self.told = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self.P = self.Q = 0.0
        self.spread_rows = self.moved = 0

    @property
    def mass(self) -> Any:
        """pi_i, the capped prior, with the current rates; the prior before the first update."""
        limit = np.minimum(self.c / np.where(self.old, self.eta, 1.0), self.fixed)
        return np.where(self.old, np.minimum(self.prior, limit), self.prior)

    @property
    def factors(self) -> Any:
        """Logarithms of min(prior_i eta_i, c_i) of the old columns."""
        with np.errstate(divide="ignore"):
            return np.log(np.minimum(self.prior, self.fixed) * self.eta).clip(max=np.log(self.c))

    def potential(self) -> float:
        """Sum of pi_i exp(eta_i S_i) over the updated columns, bounded by P."""
        return float(self.mass[self.old] @ np.exp(self.eta * self.S)[self.old])

    def weights(self, available: Any) -> Any:
        among = available & self.old
        if not among.any():
            known = available & self.told if "settled" not in self.without else available
            p = np.where(known if known.any() else available, self.prior, 0.0)
            return p / p.sum()
        logs = np.where(among, self.factors + self.eta * self.S, -np.inf)
        p = np.exp(logs - logs.max())
        return p / p.sum()

    def forecast(self, f: Any) -> float:
        available = ~np.isnan(f)
        return float(self.weights(available)[available] @ f[available])

    def answer(self, f: Any) -> dict[str, Any]:
        return {"f": f.copy(), "x": self.forecast(f), "sizes": self.sizes.copy()}

    def settle(self, row: dict[str, Any], slope: Callable[[float], float]) -> None:
        f, x = row["f"], row["x"]
        g, z = slope(x), self.forecast(f)
        available = ~np.isnan(f)
        distance = np.where(available, abs(z - np.where(available, f, z)), 0.0)
        r = np.where(available, g * (z - np.where(available, f, z)), 0.0)
        self.G[available] += g * (x - f[available])
        self.drift[available] += g * (x - z)
        alike = distance.max() <= COINCIDE * abs(f[available]).max()
        distance /= (unit := abs(f[available]).max() or 1.0)
        self.learn(r, available, g == 0.0, alike, self.sizes - row["sizes"], distance, unit)

    def learn(self, r: Any, available: Any, flat: bool, alike: bool, between: Any, distance: Any, unit: float) -> None:
        """Learn from r_i of a row; `between` are the sums of |r_i| settled since the row was answered.

        The distances of the columns from z are in units of the largest forecast.
        """
        weights, old, largest = self.weights(available), self.old.copy(), abs(r).max()
        self.told |= available
        if flat or (self.still and (alike or largest < SMALLEST)):
            self.rest += r
            return
        among = available & old
        self.moved += 1
        for i in np.flatnonzero(available):
            self._update(i, float(r[i]), float(largest), float(between[i]), bool(old[i]))
        if among.any() or not old.any():
            spread = math.sqrt(float(weights[among] @ distance[among] ** 2))
            self.Q += (unit * spread) ** 2 if spread > COINCIDE else 0.0
            self.spread_rows += 1
        newcomers = np.flatnonzero(available & ~old)
        self._first_updates(newcomers, among if among.any() else old, unit * distance, bool(among.any()))

    def _update(self, i: Any, r: float, largest: float, between: float, old: bool) -> None:
        """V, M, eta, S and C of one column, and its contribution to P."""
        mass = self.mass[i]
        V, M = self.start * largest**2, math.sqrt(self.start) * largest
        if old:
            V, M = self.V[i] * self.forget, self.M[i]
        V += r**2 + 2.0 * abs(r) * between
        M = max(M, abs(r))
        eta = min(1.0 / (2.0 * M), 1.0 / math.sqrt(V)) if M > 0.0 else 1e300
        before, E = self.eta[i], math.exp(min(self.eta[i] * self.S[i], 700.0))
        self.V[i], self.M[i], self.eta[i], self.old[i] = V, M, eta, True
        self.S[i] = self.S[i] * self.forget + r - eta * r**2
        self.C[i] += eta * r**2
        self.sizes[i] += abs(r)
        if old:
            a, rho = eta / before, 1.0 if "refill" in self.without else self.mass[i] / mass
            more = rho * (1.0 - a) * (1.0 + eta * r)
            self.P += mass * (more + E * max((rho * a - 1.0) - (1.0 - rho * a * a) * before * r, 0.0))

    def _first_updates(self, newcomers: Any, reference: Any, distance: Any, among: bool) -> None:
        """The caps of columns at their first update, and their contribution to P; `reference` is the set D."""
        tau = math.sqrt(self.Q / self.spread_rows) if self.spread_rows else 0.0
        caps = {i: self._cap(i, reference, float(distance[i]), tau if among else 0.0) for i in newcomers}
        for i, cap in caps.items():
            if "fade" in self.without:
                self.fixed[i] = cap / (self.eta[i] * self.moved)
            elif "caps" not in self.without:
                self.c[i] = cap
            if "births" not in self.without:
                self.P += self.mass[i] * math.exp(self.eta[i] * self.S[i])

    def _cap(self, i: Any, reference: Any, distance: float, tau: float) -> float:
        if not reference.any():
            return math.inf
        factors = self.factors[reference]
        logs = factors + (self.eta * self.S)[reference]
        log_w = logs.max() + math.log(np.exp(logs - logs.max()).sum())
        if "second" not in self.without:
            second = factors.max() + math.log(np.exp(factors - factors.max()).sum()) - math.log(self.n)
            log_w = max(log_w, second)
        log_h = max(self.eta[i] * self.S[i], 0.0)
        if tau > 0.0 and distance > tau and "distance" not in self.without:
            log_h += math.log(distance) - math.log(tau)
        log_c = math.log(self.prior[i]) - math.log(self.prior[reference].sum()) + log_w - log_h
        full = math.log(self.prior[i]) + math.log(self.eta[i])
        log_c = max(log_c, full - 200.0 * math.log(10.0))
        return math.inf if log_c >= full else math.exp(log_c)

    def bounds(self) -> Any:
        """b_i: upper bound on the sum of g (x - f_i) over the rows in which i is available."""
        lead = np.zeros(self.n)
        lead[self.old] = np.log(self.P / self.mass[self.old]) / self.eta[self.old]
        return lead + self.C + self.drift + self.rest


def potential(layer: dict[str, Any]) -> float:
    """Sum of pi_i e^(eta_i S_i) over the updated columns of a layer of the engine, bounded by P."""
    old = layer["rate"] > 0.0
    rate, gain = layer["rate"][old], layer["gain"][old]
    return float(np.minimum(layer["prior"][old], layer["cap"][old] / rate) @ np.exp(rate * gain))


class OwnLosses:
    """AdaHedge on the columns' own losses: p ~ e^(-L/s), s = Delta/ln n.

    An unavailable column is charged the mean loss of the available columns under their weights.
    """

    def __init__(self, n: int) -> None:
        self.n, self.L, self.gaps = n, np.zeros(n), 0.0

    def weights(self, awake: Any) -> Any:
        low = self.L[awake].min()
        away = self.L - low
        if self.gaps > 1e-300 and self.n > 1:
            p = np.where(awake, np.exp(np.minimum(-away / (self.gaps / math.log(self.n)), 0.0)), 0.0)
        else:
            # No scale yet: uniform over the leaders, or over the available columns with the smallest loss.
            p = np.where(awake & (away == 0.0), 1.0, 0.0)
        return p / p.sum()

    def answer(self, f: Any) -> dict[str, Any]:
        awake = ~np.isnan(f)
        p = self.weights(awake)
        return {"f": f.copy(), "x": float(p[awake] @ f[awake]), "p": p}

    def settle(self, row: dict[str, Any], losses: Any) -> None:
        """Add the loss of the answer minus the increase of the soft minimum; NaN losses: column not available."""
        awake, p = ~np.isnan(row["f"]), row["p"]
        own = float(p[awake] @ losses[awake])
        charged = np.where(awake, losses, min(max(own, losses[awake].min()), losses[awake].max()))
        scale = self.gaps / math.log(self.n) if self.n > 1 and self.gaps > 1e-300 else 0.0
        mixed = _soft_least(self.L + charged, scale) - _soft_least(self.L, scale)
        self.gaps += max(own - mixed, 0.0)
        self.L = self.L + charged

    def bound(self) -> float:
        """2 Delta, for any delays: the gaps are the cost, and the potential never exceeds L* + s ln n."""
        return 2.0 * self.gaps


def _soft_least(L: Any, scale: float) -> float:
    low = L.min()
    return float(low if scale == 0.0 else low - scale * math.log(np.exp(-(L - low) / scale).sum()))


class TwoLayers:
    """B over {B, B .99, AdaHedge on own losses, the mean}, and the forecasts of a further member (`outside`)."""

    def __init__(
        self, n: int, prior: Any = None, still: bool = True, start: float = 0.1, outside: bool = False
    ) -> None:
        self.n = n
        self.top = RuleB(4 + outside, still=still, start=start)
        self.b, self.quick = RuleB(n, 1.0, prior, still, start), RuleB(n, 0.99, prior, still, start)
        self.own = OwnLosses(n)

    def weights(self, awake: Any, *outside: Any) -> Any:
        """Weights of the columns; `outside`: those of the further member."""
        shares = self.top.weights(np.ones(4 + len(outside), dtype=bool))
        members = [self.b.weights(awake), self.quick.weights(awake), self.own.weights(awake), awake / awake.sum()]
        return shares @ np.array([*members, *outside])

    def answer(self, f: Any, *outside: float) -> dict[str, Any]:
        row: dict[str, Any] = {"b": self.b.answer(f), "quick": self.quick.answer(f), "own": self.own.answer(f)}
        told = np.array([row["b"]["x"], row["quick"]["x"], row["own"]["x"], np.nanmean(f), *outside])
        row["top"] = self.top.answer(told)
        return row | {"x": row["top"]["x"], "f": row["b"]["f"]}

    def settle(self, row: dict[str, Any], slope: Callable[[float], float], losses: Any) -> None:
        self.top.settle(row["top"], slope)
        self.b.settle(row["b"], slope)
        self.quick.settle(row["quick"], slope)
        self.own.settle(row["own"], losses)
