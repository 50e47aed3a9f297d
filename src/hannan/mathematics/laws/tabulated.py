"""Tables of user-defined laws for the engine: log F and log f/F on a grid, with error control.

The integral p_i = int G(w) r(w + d_i) dw is approximated by a sum over fixed nodes in w; between grid points, F and r
are cubic polynomials. Both are refined until they agree with the law, and the accuracy is reported. A law that cannot
be tabulated (kinks, a bounded support, a density with poles) is integrated by quadrature instead, which is slow.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from hannan.validation import Array

#: Largest error of a distribution for which a table is used.
ENOUGH = 1e-8
_LOW, _HIGH = 1e-15, 1e-22
_POINTS = (1024, 2048, 4096, 8192)
_NODES = (64, 96, 128, 192, 256, 384)


class Tabulated(NamedTuple):
    """Table of the engine, and the largest error of its distributions that was found in a comparison with the law."""

    table: Any
    reached: float


def tabulated(law: Any) -> Tabulated | None:
    """Return the table of a law, from a cache if possible; None if the law cannot be tabulated."""
    try:
        return _tabulated(law)
    except TypeError:  # The law is not hashable.
        return _made(law)


@functools.lru_cache(maxsize=64)
def _tabulated(law: Any) -> Tabulated | None:
    return _made(law)


def _made(law: Any) -> Tabulated | None:
    try:
        with np.errstate(all="ignore"):
            return _tried(law)
    except (ArithmeticError, ValueError, TypeError, IndexError):
        return None


def _tried(law: Any) -> Tabulated | None:
    from hannan import _engine

    low, high = law.support
    if law.kinks or math.isfinite(high):
        return None
    median, quartile = (float(law.survival_quantile(s)) for s in (0.5, 0.25))
    one_sided = math.isfinite(low)
    centre = low if one_sided else median
    spread = (median - low) if one_sided else (quartile - median)
    if not (spread > 0.0 and math.isfinite(spread)):
        return None
    ends = _ends(law, one_sided, centre, spread)
    if ends is None:
        return None
    to_z = (lambda s: centre + spread * np.exp(s)) if one_sided else (lambda s: centre + spread * np.sinh(s))
    nodes = _nodes(law, one_sided, centre, spread, ends)
    points = _points(law, to_z, ends)
    if nodes is None or points is None:
        return None
    w, dw = nodes
    grid, step = points
    made = _engine.LawTable(
        one_sided=one_sided, has_mean=math.isfinite(float(law.mean)), centre=centre, spread=spread, first=ends[0],
        step=step, points=grid, w=w, dw=dw,
    )  # fmt: skip
    reached = _error(law, made, nodes)
    return Tabulated(made, reached) if reached <= ENOUGH else None


def _logs(law: Any, z: Array) -> tuple[Array, Array]:
    """Return (log F, log f/F) at z."""
    # The cdf of a user-defined law may round to 0 in the lower tail.
    log_cdf = np.maximum(np.asarray(law.log_cdf(z), dtype=np.float64), -60.0)
    return log_cdf, np.asarray(law.log_density(z), dtype=np.float64) - log_cdf


def _ends(law: Any, one_sided: bool, centre: float, spread: float) -> tuple[float, float] | None:
    """Return the range of s outside of which the law has negligible mass; None if there is no such range."""
    s = np.linspace(-45.0 if one_sided else -25.0, 60.0 if one_sided else 25.0, 4001)
    z = centre + spread * (np.exp(s) if one_sided else np.sinh(s))
    log_cdf, _ = _logs(law, z)
    log_survival = np.asarray(law.log_survival(z), dtype=np.float64)
    inside = (log_cdf > math.log(_LOW)) & (log_survival > math.log(_HIGH)) & np.isfinite(log_cdf)
    where = np.flatnonzero(inside)
    if where.size < 20 or where[-1] == s.size - 1:
        return None
    return float(s[where[0]]), float(s[where[-1] + 1])


def _points(law: Any, to_z: Any, ends: tuple[float, float]) -> tuple[Array, float] | None:
    """Return values and slopes on a grid that is fine enough for cubic interpolation, and its step."""
    for size in _POINTS:
        s = np.linspace(*ends, size)
        step = float(s[1] - s[0])
        half = _logs(law, to_z(np.linspace(ends[0] - step, ends[1] + step, 2 * size + 3)))
        pieces = []
        worst = 0.0
        for values in half:
            # Slopes by central differences of the half steps, to fourth order; half[2] is the first point.
            at = values[2:-2:2]
            slope = (8.0 * (values[3:-1:2] - values[1:-3:2]) - (values[4::2] - values[:-4:2])) / 12.0 * 2.0
            middle = 0.5 * (at[:-1] + at[1:]) + (slope[:-1] - slope[1:]) / 8.0
            worst = max(worst, float(np.abs(middle - values[3:-3:2]).max()))
            pieces += [at, slope]
        if not math.isfinite(worst):
            return None
        if worst < 1e-10 or size == _POINTS[-1]:
            return np.ascontiguousarray(np.stack(pieces, axis=1)), step
    return None


def _nodes(law: Any, one_sided: bool, centre: float, spread: float, ends: tuple[float, float]) -> Any:
    """Return nodes w and lengths dw, refined until doubling their number does not change the result."""
    first, last = ends
    if one_sided:
        # w - centre = spread e^(t - e^-t): both ends decrease double exponentially.
        first, last = -math.log(max(-first, 1.0)) - 1.0, max(last, 1.0) + 0.05
    before = None
    for count in _NODES:
        t = np.linspace(first, last, count)
        h = float(t[1] - t[0])
        if one_sided:
            e = np.exp(-t)
            up = spread * np.exp(t - e)
            w, dw = centre + up, h * up * (1.0 + e)
        else:
            w, dw = centre + spread * np.sinh(t), h * spread * np.cosh(t)
        plays = [_play(law, w, dw, gaps) for gaps in _trials()]
        if before is not None and max(float(np.abs(a - b).max()) for a, b in zip(plays, before, strict=True)) < 1e-10:
            return np.ascontiguousarray(w), np.ascontiguousarray(dw)
        before = plays
    return None


def _trials() -> list[Array]:
    rng = np.random.default_rng(0)
    return [np.zeros(2), np.zeros(10), np.array([0.0, 3.0]), *(np.sort(rng.exponential(k, 8)) for k in (0.5, 4.0))]


def _play(law: Any, w: Array, dw: Array, gaps: Array) -> Array:
    """Return the distribution computed from the law itself with these nodes."""
    gaps = gaps - gaps.min()
    log_cdf, log_ratio = _logs(law, w[:, None] + gaps)
    terms = np.exp(log_cdf.sum(axis=1)[:, None] + log_ratio) * dw[:, None]
    return np.asarray(np.nan_to_num(terms).sum(axis=0))


def _error(law: Any, table: Any, nodes: tuple[Array, Array]) -> float:
    """Return the largest error of the distribution from the table, compared with the law at the same nodes, and of its
    sum.
    """
    worst = 0.0
    for gaps in _trials():
        d = np.ascontiguousarray(gaps - gaps.min())
        p, total, _, fine = table.leaders(d, 1.0)
        if not fine:
            return math.inf
        worst = max(worst, float(np.abs(p - _play(law, *nodes, d)).max()), abs(total - 1.0))
    return worst
