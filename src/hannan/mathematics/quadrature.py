"""FTPL for any law that has a density and a cdf, by adaptive quadrature of one integral for all arms.

    p_i = int G(w) r(w + d_i) dw,  G(w) = prod_j F(w + d_j),  r = f/F

This is slower than the compiled rules, and accurate to 1e-8 instead of to rounding. If f is the derivative of F and the
quadrature misses no mass, then int G' = 1 and int 2 G G' = 1, where G' = G sum_i r_i. A larger deviation is an error.
(The first integral alone is 1 for two arms whenever f is even and F - 1/2 is odd.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hannan.saving import frozen
from hannan.validation import Array

#: Levels of the quantiles at which the interval is split, which adapts to every length scale of a law.
_LEVELS = (*(1.0 - 10.0**-k for k in (15, 12, 9, 6, 4, 3, 2, 1)), 0.5, *(10.0**-k for k in range(1, 17)))


class Perturbation(Protocol):
    """Members of a law that the rule uses."""

    @property
    def support(self) -> tuple[float, float]: ...

    @property
    def kinks(self) -> tuple[float, ...]: ...

    def density(self, z: Any) -> Any: ...

    def cdf(self, z: Any) -> Any: ...

    def survival(self, z: Any) -> Any: ...

    def survival_quantile(self, s: Any) -> Array: ...


#: Tolerance for the sum of the probabilities; a larger deviation is an error.
ACCURACY = 1e-8
#: Maximum number of bisections. More do not help for a law far from 0, whose last digits are noise; the accuracy that
#: was reached is checked in any case.
_HALVINGS = 400


@frozen
class GeneralRule:
    """Distribution of FTPL(law, 1) at gaps d >= 0, one of which is 0. A single arm can represent `copies` equal
    arms.
    """

    law: Perturbation
    gaps: Array
    copies: int = 1

    def play(self) -> Array:
        """Return the probabilities p, which sum to one."""

        def integrand(w: float) -> Array:
            G, r = self._parts(w)
            return np.append(G * r, 2.0 * G * G * r.sum())

        found = self._integrate(integrand)
        p = np.maximum(found[:-1], 0.0)
        self._whole(float(p.sum()), float(found[-1]))
        return np.asarray(p / p.sum())

    def mean_of_leader(self) -> float:
        """Return E max_j (Z_j - d_j) = int w G(w) sum_j r(w + d_j) dw; inf if the tail is too heavy for a mean."""
        if self._has_no_mean():
            return math.inf

        def density(w: float) -> float:
            G, r = self._parts(w)
            return self.copies * G * float(r.sum())

        points = self._points()
        # Extend the interval in a power tail until the rest of the mean, about w times the density, is negligible.
        for end in (points[-1], points[0]):
            while abs(density(end) * end) * abs(end) > 1e-13 and 1.0 < abs(end) < 1e300:
                end *= 4.0
                points = np.append(points, end)
        points = np.sort(points)

        def integrand(w: float) -> Array:
            here = density(w)
            return np.array([w * here, here, 2.0 * self._all_below(w) * here])

        mean, once, twice = self._integrate(integrand, points)
        # Mass next to a pole or far out contributes nothing to the mean.
        low, high = (self._all_below(w) for w in points[[0, -1]])
        self._whole(float(once) + low + (1.0 - high), float(twice) + low * low + (1.0 - high * high))
        return float(mean)

    def _all_below(self, w: float) -> float:
        """Return G(w), with all copies."""
        return float(np.prod(np.asarray(self.law.cdf(w + self.gaps), dtype=np.float64) ** self.copies))

    def _whole(self, *sums: float) -> None:
        """Raise ValueError unless the sums of all probabilities are one."""
        for total in sums:
            if not abs(total - 1.0) <= ACCURACY:
                raise ValueError(
                    f"density of {self.law!r} must be the derivative of its cdf, with all jumps in kinks, and both "
                    f"must be smooth enough to integrate: probabilities must sum to 1 within {ACCURACY:g}; "
                    f"got {total!r}"
                )

    def off_diagonal(self) -> Array:
        """Return int G r_i r_j dw for all pairs i != j, with 0 on the diagonal, where the integral may diverge."""
        off = 1.0 - np.eye(self.gaps.size)

        def integrand(w: float) -> Array:
            G, r = self._parts(w)
            with np.errstate(over="ignore"):
                return np.where(off, G * r[:, None] * r, 0.0)

        return np.asarray(self._integrate(integrand))

    @np.errstate(all="ignore")  # A user-defined law may overflow far out, where 0/0 has no mass.
    def _parts(self, w: float) -> tuple[float, Array]:
        """Return G(w) and r(w + d_i); for one arm f(w) F(w)^(copies-1) and 1, in case the cdf rounds to 0."""
        z = w + self.gaps
        F = np.asarray(self.law.cdf(z), dtype=np.float64)
        f = np.asarray(self.law.density(z), dtype=np.float64)
        if self.gaps.size == 1:
            # n log F needs the digits of 1 - F, which the survival function has.
            log_F = np.log(F[0]) if F[0] < 0.5 else np.log1p(-np.asarray(self.law.survival(z))[0])
            return float(f[0] * (np.exp((self.copies - 1) * log_F) if self.copies > 1 else 1.0)), np.ones(1)
        r = f / F
        return float(np.prod(F)), np.where(np.isfinite(r), r, 0.0)

    @np.errstate(all="ignore")
    def _points(self) -> Array:
        quantiles = np.asarray(self.law.survival_quantile(np.array(_LEVELS)), dtype=np.float64)
        quantiles = np.unique(quantiles[np.isfinite(quantiles)])
        # The distribution of each arm is shifted by its gap; G changes most near the best arms.
        moves = np.unique(np.sort(self.gaps)[:32])
        ends = self._ends()
        edges = np.array([e for e in (*ends, *self.law.kinks) if math.isfinite(e)])
        # Below the end of the support the leader cannot win: G = 0.
        low, high = max(quantiles[0] - moves[-1], ends[0]), quantiles[-1]
        points = np.concatenate([quantiles, *(edges - move for move in moves), [low], self._approach(ends[0])])
        return np.unique(points[(points >= low) & (points <= high)])

    def _approach(self, end: float) -> Array:
        """Return points that approach the end of the support if the density is unbounded there."""
        if math.isinf(end):
            return np.empty(0)
        width = float(self.law.survival_quantile(0.5)) - end
        steps = width * 10.0 ** -np.arange(1.0, 300.0, 3.0)
        steps = steps[end + steps > end]
        near = np.asarray(self.law.density(end + steps), dtype=np.float64)
        return end + steps if near.size and near[-1] > 10.0 * near[0] else np.empty(0)

    def _ends(self) -> tuple[float, float]:
        """Return the ends of {0 < F < 1}, where the density may jump, even if the law states no support."""
        low, high = self.law.support
        median = float(self.law.survival_quantile(0.5))
        if math.isinf(low):
            low = _last(lambda z: bool(self.law.cdf(z) > 0.0), median, -1e300)
        if math.isinf(high):
            high = _last(lambda z: bool(self.law.cdf(z) < 1.0), median, 1e300)
        return low, high

    def _has_no_mean(self) -> bool:
        """Return True if the density decreases like z^-(a+1) with a <= 1."""
        if math.isfinite(self.law.support[1]):
            return False
        with np.errstate(all="ignore"):
            near, far = float(self.law.density(1e60)), float(self.law.density(1e120))
        return far * 1e240 > 1e-12 and math.log(near / far) / math.log(1e60) <= 2.0 + 1e-6

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
            limit=points.size + _HALVINGS,
        )
        return found


def _last(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return the last z from `inside` towards `outside` at which `holds` is true; +-inf if it is always true."""
    if holds(outside):
        return math.copysign(math.inf, outside)
    if inside * outside < 0.0 and not holds(0.0):
        if holds(math.copysign(1e-300, inside)):
            return 0.0
        outside = 0.0
    inside, outside = math.asinh(inside), math.asinh(outside)
    for _ in range(80):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if holds(math.sinh(middle)) else (inside, middle)
    return math.sinh(inside)
