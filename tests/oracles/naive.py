"""Slow transcriptions of the definitions, in mpmath at 32 digits or as loops over all sets: the reference values.

No formula is shared with the package beyond the definition of each law. The one-arm integrals are those of the
definition, one by one: p_i = int f(w + d_i) prod_(j != i) F(w + d_j) dw.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

import hannan as hn

DIGITS = 32


def precisely(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run with DIGITS digits, whatever the setting of the caller."""

    def wrapped(*args: Any, **keywords: Any) -> Any:
        with mp.workdps(DIGITS):
            return function(*args, **keywords)

    return wrapped


@dataclass(frozen=True)
class Naive:
    """A law by its density, cdf and survival function, each at full precision, and the range of integration.

    low is the end of the support. On a half-line the variable is t with w = low + e^(t/root), where root is the power
    of F at its end, or 1; tail is the power of S at infinity, or inf; a lighter tail ends at w = e^end; bulk is
    (center, width).
    """

    pdf: Callable[[Any], Any]
    cdf: Callable[[Any], Any]
    sf: Callable[[Any], Any]
    low: float
    root: float = 1.0
    tail: float = math.inf
    end: float = math.log(1000.0)
    bulk: tuple[float, float] = (0.0, 1.0)


@precisely
def naive(law: hn.Law) -> Naive:
    """The definition of a law of the package."""
    if isinstance(law, hn.Exponential):
        return Naive(lambda z: mp.exp(-z), lambda z: -mp.expm1(-z), lambda z: mp.exp(-z), 0.0)
    if isinstance(law, hn.Gumbel):
        return Naive(
            lambda z: mp.exp(-z - mp.exp(-z)),
            lambda z: mp.exp(-mp.exp(-z)),
            lambda z: -mp.expm1(-mp.exp(-z)),
            -math.inf,
        )
    if isinstance(law, hn.Gamma):
        a = mp.mpf(law.shape)
        return Naive(
            lambda z: mp.exp((a - 1) * mp.log(z) - z - mp.loggamma(a)),
            lambda z: mp.gammainc(a, 0, z, regularized=True),
            lambda z: mp.gammainc(a, z, mp.inf, regularized=True),
            0.0,
            root=min(1.0, law.shape),
            bulk=(law.shape, math.sqrt(law.shape)),
        )
    if isinstance(law, hn.Weibull):
        k, extra = mp.mpf(law.k), mp.mpf(1 if law.conditioned else 0)

        def exponent(z: Any) -> Any:
            return mp.expm1(k * mp.log1p(z)) if law.conditioned else z**k

        return Naive(
            lambda z: k * (z + extra) ** (k - 1) * mp.exp(-exponent(z)),
            lambda z: -mp.expm1(-exponent(z)),
            lambda z: mp.exp(-exponent(z)),
            0.0,
            root=1.0 if law.conditioned else min(1.0, law.k),
            end=math.log(1000.0) / min(1.0, law.k),
            bulk=(1.0, min(1.0, 1.0 / law.k)),
        )
    if isinstance(law, hn.Frechet):
        a = mp.mpf(law.alpha)
        return Naive(
            lambda z: a * z ** (-a - 1) * mp.exp(-(z**-a)),
            lambda z: mp.exp(-(z**-a)),
            lambda z: -mp.expm1(-(z**-a)),
            0.0,
            tail=law.alpha,
            bulk=(1.0, min(1.0, 1.0 / law.alpha)),
        )
    if isinstance(law, hn.Pareto):
        a = mp.mpf(law.alpha)
        return Naive(lambda z: a * z ** (-a - 1), lambda z: 1 - z**-a, lambda z: z**-a, 1.0, tail=law.alpha)
    if isinstance(law, hn.Laplace):
        return Naive(
            lambda z: mp.exp(-abs(z)) / 2,
            lambda z: mp.exp(z) / 2 if z < 0 else 1 - mp.exp(-z) / 2,
            lambda z: mp.exp(-z) / 2 if z > 0 else 1 - mp.exp(z) / 2,
            -math.inf,
        )
    if isinstance(law, hn.Gaussian):
        return Naive(mp.npdf, mp.ncdf, lambda z: mp.ncdf(-z), -math.inf)
    raise TypeError(f"no transcription of {law!r}")


def _spread(points: Sequence[Any], widest: float) -> list[Any]:
    """The points, sorted, with further points where two are more than `widest` apart."""
    points = sorted(set(points))
    spread = [points[0]]
    for a, b in itertools.pairwise(points):
        parts = int(mp.ceil((b - a) / widest))
        spread += [a + (b - a) * mp.mpf(k) / parts for k in range(1, parts)] + [b]
    return spread


class Leader:
    """E and P of the best perturbed arm at losses L, by one integral for each value."""

    def __init__(self, law: hn.Law, L: Sequence[float], scale: float) -> None:
        with mp.workdps(DIGITS):
            self.law, self.scale = naive(law), mp.mpf(scale)
            self.least = mp.mpf(min(L))
            self.gaps = [(mp.mpf(x) - self.least) / self.scale for x in L]
            if math.isinf(self.law.low):
                # Every arm has its own bulk, and its kink if it has one; beyond 750 its probability underflows.
                near = [-g for g in self.gaps if g < 750]
                self.points = _spread([min(near) - 60, 0, *near, 100], 4.0)
                return
            self.points = self._half_line(self.law.tail)

    def _half_line(self, power: float) -> list[Any]:
        """Panels in t; a tail that decreases like w^-power is integrated for 80 e-folds beyond the largest gap."""
        with mp.workdps(DIGITS):
            root, (centre, width) = mp.mpf(self.law.root), self.law.bulk
            end = mp.mpf(self.law.end)
            if math.isfinite(power):
                end = 80 / mp.mpf(power) + mp.log(1 + max(self.gaps))
            marks = [mp.mpf(centre) + mp.mpf(width) * k for k in range(-100, 60, 2)]
            marks += [g * mp.mpf(10) ** k for g in self.gaps for k in (-1, 0, 1)]
            logs = [root * mp.log(x) for x in marks if x > 0]
            fine = [mp.mpf(k) / 4 for k in range(28)] if math.isinf(power) else []  # 1 - F^n changes fast far out
            points = [mp.mpf(-80), *fine, *(root * mp.mpf(k) / 2 for k in range(-6, 14)), root * end, *logs]
            return _spread([x for x in points if -80 <= x <= root * end], 4.0)

    def _integral(self, integrand: Callable[[Any], Any], points: Sequence[Any] | None = None) -> Any:
        points = self.points if points is None else points
        inner = integrand
        if math.isfinite(self.law.low):
            low, root = mp.mpf(self.law.low), mp.mpf(self.law.root)

            def inner(t: Any) -> Any:
                w = mp.exp(t / root)
                return integrand(low + w) * w / root

        # mpmath stops at an absolute error, so the integrand is first scaled to a size of about 1.
        size = max(abs(inner((a + b) / 2)) * (b - a) for a, b in itertools.pairwise(points))
        total, error = mp.quad(lambda t: inner(t) / size, points, error=True, method="gauss-legendre")
        if error > mp.mpf(10) ** -14 * abs(total):
            raise ArithmeticError(f"the oracle itself is not accurate: {total * size} +- {error * size}")
        return total * size

    def _product(self, w: Any, without: Sequence[int]) -> Any:
        return mp.fprod(self.law.cdf(w + g) for j, g in enumerate(self.gaps) if j not in without)

    def _shortfall(self, w: Any) -> Any:
        """1 - G(w), without cancellation."""
        return -mp.expm1(mp.fsum(mp.log1p(-self.law.sf(w + g)) for g in self.gaps))

    def probability(self, i: int) -> Any:
        """p_i."""
        with mp.workdps(DIGITS):
            return self._integral(lambda w: self.law.pdf(w + self.gaps[i]) * self._product(w, (i,)))

    def slope(self, i: int, j: int) -> Any:
        """d p_i / d L_j for i != j."""
        with mp.workdps(DIGITS):
            pdf, gaps = self.law.pdf, self.gaps
            found = self._integral(lambda w: pdf(w + gaps[i]) * pdf(w + gaps[j]) * self._product(w, (i, j)))
            return found / self.scale

    def curvature(self, i: int) -> Any:
        """-d p_i / d L_i."""
        return mp.fsum(self.slope(i, j) for j in range(len(self.gaps)) if j != i)

    def value(self) -> Any:
        """E min_i (L_i - scale Z_i) = min L - scale (low + int_low^inf (1 - G))."""
        with mp.workdps(DIGITS):
            if math.isfinite(self.law.low):
                mean = self.law.low + self._integral(self._shortfall, self._half_line(self.law.tail - 1.0))
            else:
                above, below = [x for x in self.points if x >= 0], [x for x in self.points if x <= 0]
                mean = self._integral(self._shortfall, above)
                mean -= self._integral(lambda w: self._product(w, ()), below)
            return self.least - self.scale * mean


class Dense:
    """The same integrals in floating point, by Gauss's rule on some hundred panels: a fast second reference.

    It uses the law's log forms from the package (which have their own reference) and nothing else. Arm i may represent
    counts[i] equal arms, so that 100,000 arms in three groups cost no more than three arms.
    """

    def __init__(self, law: hn.Law, L: Sequence[float], scale: float, counts: Sequence[int] | None = None) -> None:
        leader = Leader(law, L, scale)
        points = np.array([float(x) for x in leader.points])
        x, weight = np.polynomial.legendre.leggauss(20)
        edges = np.unique(np.concatenate([points[:-1] + k / 4 * np.diff(points) for k in range(5)]))
        half = 0.5 * np.diff(edges)[:, None]
        t = (edges[:-1, None] + half + half * x).ravel()
        w, self.log_dw = t, np.log((half * weight).ravel())
        if math.isfinite(leader.law.low):
            w = leader.law.low + np.exp(t / leader.law.root)
            self.log_dw = self.log_dw + t / leader.law.root - math.log(leader.law.root)
        self.scale = scale
        self.gaps = (np.asarray(L, dtype=float) - min(L)) / scale
        self.counts = np.ones(self.gaps.size) if counts is None else np.asarray(counts, dtype=float)
        z = w[:, None] + self.gaps
        self.log_f, self.log_F = np.asarray(law.log_density(z)), np.asarray(law.log_cdf(z))

    def _sum(self, *arms: int) -> float:
        """The integral of the densities of some arms and the cdfs of all others."""
        left = self.counts.copy()
        for i in arms:
            left[i] -= 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.exp(
                self.log_dw + sum(self.log_f[:, i] for i in arms) + np.where(left, left * self.log_F, 0.0).sum(axis=1)
            )
        return float(terms.sum())

    def play(self) -> Any:
        """p of one arm of each group."""
        return np.array([self._sum(i) for i in range(self.gaps.size)])

    def curvature(self) -> Any:
        """-Hess_ii of one arm of each group; inf or nan where tied densities are unbounded."""
        n = self.gaps.size
        others = self.counts - np.eye(n)
        rows = [[others[i, j] * self._sum(i, j) if others[i, j] else 0.0 for j in range(n)] for i in range(n)]
        return np.array(rows).sum(axis=1) / self.scale


def expected_max(law: hn.Law, n: int, digits: int = 20) -> Any:
    """E max(Z_1..Z_n) = low + int_low^inf (1 - F^n), less int F^n below 0 on the line."""
    leader = Leader(law, [0.0], 1.0)
    sf, low = leader.law.sf, leader.law.low

    def shortfall(w: Any) -> Any:
        return -mp.expm1(n * mp.log1p(-sf(w)))

    with mp.workdps(digits):
        if math.isfinite(low):
            return low + leader._integral(shortfall, leader._half_line(leader.law.tail - 1.0))
        above, below = [x for x in leader.points if x >= 0], [x for x in leader.points if x <= 0]
        return leader._integral(shortfall, above) - leader._integral(lambda w: leader.law.cdf(w) ** n, below)


# --- FTRL -----------------------------------------------------------------------------------------------


@precisely
def regularized_play(
    regularizer: hn.Regularizer, L: Sequence[float], scale: float, counts: Sequence[int] | None = None
) -> list[Any]:
    """argmin <L, p> + scale F(p), with the multiplier found by bisection; arm i may represent counts[i] equal arms."""
    eta = mp.mpf(scale)
    d = [mp.mpf(x) - mp.mpf(min(L)) for x in L]
    counts = [1] * len(d) if counts is None else counts
    n = sum(counts)

    def total(p: list[Any]) -> Any:
        return mp.fsum(int(k) * x for k, x in zip(counts, p, strict=True))

    if isinstance(regularizer, hn.Entropy):
        w = [mp.exp(-x / eta) for x in d]
        return [x / total(w) for x in w]
    if isinstance(regularizer, hn.LogBarrier):
        play = lambda m: [eta / (x + m) for x in d]  # noqa: E731
        low, high = eta / 2, eta * n * 2
    else:
        a = mp.mpf(regularizer.alpha)
        unit = eta * a / (1 - a)
        play = lambda m: [((x + m) / unit) ** (-1 / (1 - a)) for x in d]  # noqa: E731
        low, high = unit / 2, unit * mp.mpf(n) ** (1 - a) * 2
    for _ in range(DIGITS * 4):
        middle = (low + high) / 2
        low, high = (middle, high) if total(play(middle)) > 1 else (low, middle)
    p = play((low + high) / 2)
    return [x / total(p) for x in p]


@precisely
def regularized_value(regularizer: hn.Regularizer, L: Sequence[float], scale: float) -> Any:
    """min_p <L, p> + scale F(p)."""
    p = regularized_play(regularizer, L, scale)
    linear = mp.fsum(mp.mpf(x) * q for x, q in zip(L, p, strict=True))
    return linear + mp.mpf(scale) * regularizer_at(regularizer, p)


@precisely
def regularizer_at(regularizer: hn.Regularizer, p: Sequence[Any]) -> Any:
    """F(p) at scale 1; Tsallis as -sum p log_a(1/p), which does not assume that floats sum to 1."""
    p = [mp.mpf(x) for x in p]
    if isinstance(regularizer, hn.Entropy):
        return mp.fsum(x * mp.log(x) for x in p if x > 0)
    if isinstance(regularizer, hn.LogBarrier):
        return -mp.fsum(mp.log(x) for x in p)
    a = mp.mpf(regularizer.alpha)
    return mp.fsum(x - x**a for x in p) / (1 - a)


@precisely
def regularized_curvature(regularizer: hn.Regularizer, L: Sequence[float], scale: float) -> list[Any]:
    """-Hess_ii = w_i (1 - w_i/sum w)/scale with w = 1/f''(p)."""
    p = regularized_play(regularizer, L, scale)
    power = mp.mpf(regularizer.gamma)
    a = mp.mpf(getattr(regularizer, "alpha", 1))
    w = [x**power / a for x in p]
    return [x * (mp.fsum(w) - x) / mp.fsum(w) / mp.mpf(scale) for x in w]


# --- Divergences over all subsets -----------------------------------------------------------------------


def subsets(n: int) -> Any:
    """Every non-empty set of outcomes."""
    return itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(1, n + 1))


@precisely
def tsallis_log(x: Any, gamma: float) -> Any:
    """(x^(1-gamma) - 1)/(1-gamma)."""
    x, g = mp.mpf(x), mp.mpf(gamma)
    if g == 1:
        return mp.log(x) if x > 0 else -mp.inf
    if x == 0:
        return -1 / (1 - g) if g < 1 else -mp.inf
    return mp.expm1((1 - g) * mp.log(x)) / (1 - g)


@precisely
def tsallis_divergence(p: Sequence[float], q: Sequence[float], gamma: float) -> Any:
    """sup_B log_gamma P(B) - log_gamma Q(B), without sets of measure zero under both."""
    best = -mp.inf
    for B in subsets(len(p)):
        P, Q = mp.fsum(mp.mpf(p[i]) for i in B), mp.fsum(mp.mpf(q[i]) for i in B)
        if P > 0 and (Q > 0 or gamma < 1):
            best = max(best, tsallis_log(P, gamma) - tsallis_log(Q, gamma))
        elif P > 0:
            best = mp.inf
    return best


@precisely
def max_divergence(p: Sequence[float], q: Sequence[float], delta: float) -> Any:
    """sup over P(B) > delta of log((P(B) - delta)/Q(B))."""
    best = -mp.inf
    for B in subsets(len(p)):
        P, Q = mp.fsum(mp.mpf(p[i]) for i in B), mp.fsum(mp.mpf(q[i]) for i in B)
        if delta < P:
            best = max(best, mp.log((P - mp.mpf(delta)) / Q) if Q > 0 else mp.inf)
    return best


def hockey_stick(p: Sequence[float], q: Sequence[float], epsilon: float) -> float:
    """sup_B P(B) - e^epsilon Q(B), including the empty set."""
    return max(
        0.0,
        *(math.fsum(p[i] for i in B) - math.exp(epsilon) * math.fsum(q[i] for i in B) for B in subsets(len(p))),
    )
