"""FTPL for any law that has a density and a cdf: adaptive quadrature of the one integral for all arms.

    p_i = int G(w) r(w + d_i) dw,  G(w) = prod_j F(w + d_j),  r = f/F

Slower than the compiled rules, and accurate to 1e-8 rather than to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan.law import Law
from hannan.refusals import Array

#: Where to cut: the law's own quantiles find its length scales, whatever they are.
_LEVELS = (*(1.0 - 10.0**-k for k in (15, 12, 9, 6, 4, 3, 2, 1)), 0.5, *(10.0**-k for k in range(1, 17)))


@dataclass(frozen=True)
class GeneralRule:
    """The play of FTPL(law, 1) at gaps d >= 0, one of them 0."""

    law: Law
    gaps: Array

    def play(self) -> Array:
        """p, summing to one."""

        def integrand(w: float) -> Array:
            G, r = self._parts(w)
            return G * r

        p = np.maximum(self._integrate(integrand), 0.0)
        return np.asarray(p / p.sum())

    def mean_of_leader(self) -> float:
        """E max_j (Z_j - d_j) = int w G(w) sum_j r(w + d_j) dw; a heavy tail is followed by its density."""

        def integrand(w: float) -> float:
            G, r = self._parts(w)
            return w * G * float(r.sum())

        points = self._points()
        high, mass = points[-1], integrand(points[-1]) * points[-1]
        while mass > 1e-13 and high < 1e300 and math.isinf(self.law.support[1]):
            high *= 4.0
            points = np.append(points, high)
            mass = integrand(high) * high
        return float(self._integrate(integrand, points))

    def off_diagonal(self) -> Array:
        """int G r_i r_j dw for every pair."""

        def integrand(w: float) -> Array:
            G, r = self._parts(w)
            return G * np.outer(r, r)

        return np.asarray(self._integrate(integrand))

    def _parts(self, w: float) -> tuple[float, Array]:
        z = w + self.gaps
        with np.errstate(divide="ignore", invalid="ignore"):
            F = np.asarray(self.law.cdf(z), dtype=np.float64)
            r = np.asarray(self.law.density(z), dtype=np.float64) / F
        return float(np.prod(F)), np.where(np.isfinite(r), r, 0.0)

    def _points(self) -> Array:
        quantiles = np.asarray(self.law.survival_quantile(np.array(_LEVELS)), dtype=np.float64)
        quantiles = np.unique(quantiles[np.isfinite(quantiles)])
        # Every arm's copy of the law is moved by its gap; the best arms' copies are where G bends.
        moves = np.unique(np.sort(self.gaps)[:32])
        edges = np.array([e for e in (*self.law.support, *self.law.kinks) if math.isfinite(e)])
        low, high = quantiles[0] - moves[-1], quantiles[-1]
        points = np.concatenate([quantiles, *(edges - move for move in moves), [low]])
        return np.unique(points[(points >= low) & (points <= high)])

    def _integrate(self, integrand: Callable[[float], Any], points: Array | None = None) -> Any:
        from scipy.integrate import quad_vec

        points = self._points() if points is None else points
        found, _ = quad_vec(
            integrand,
            points[0],
            points[-1],
            epsabs=1e-12,
            epsrel=1e-10,
            norm="max",
            points=points[1:-1],
            limit=5000,
        )
        return found
