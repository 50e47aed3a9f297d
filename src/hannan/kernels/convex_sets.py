"""What the solver needs of a convex set: its linear argmin, its optimality residual, its quadratic argmin.

BALL uses center and radius; BOX and SIMPLEX use low and high (on the simplex, whose points sum to 1, low is 0
and high infinite).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hannan.kernels.calling import data_of
from hannan.kernels.compile import kernel, step

BALL, BOX, SIMPLEX = 0, 1, 2


class Region(NamedTuple):
    """A convex set as the kernels see it."""

    code: int
    center: Any
    radius: float
    low: Any
    high: Any


class Frame(NamedTuple):
    """A region by its addresses: what the closed forms take, since arrays passed in a loop are counted."""

    code: int
    center: Any
    radius: float
    low: Any
    high: Any


@step
def frame(region):
    """The addresses of a region's vectors; the region must stay alive."""
    return Frame(region.code, data_of(region.center), region.radius, data_of(region.low), data_of(region.high))


@step
def inner(a, b, d):
    """<a, b> of vectors at two addresses, in four partial sums, since a round waits for it; `fold` adds them so too."""
    s0 = s1 = s2 = s3 = 0.0
    whole = d - (d & 3)
    for k in range(0, whole, 4):
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
    if d - whole > 0:
        s0 += a[whole] * b[whole]
    if d - whole > 1:
        s1 += a[whole + 1] * b[whole + 1]
    if d - whole > 2:
        s2 += a[whole + 2] * b[whole + 2]
    return (s0 + s2) + (s1 + s3)


@step
def linear_argmin(frame, v, d, x):
    """x = argmin <v, x> over the set: O(d)."""
    if frame.code == BALL:
        square = inner(v, v, d)
        shrink = frame.radius / math.sqrt(square) if square > 0.0 else 0.0
        for j in range(d):
            x[j] = frame.center[j] - shrink * v[j]
    elif frame.code == BOX:
        for j in range(d):
            x[j] = frame.low[j] if v[j] > 0.0 else (frame.high[j] if v[j] < 0.0 else frame.center[j])
    else:
        best = 0
        for j in range(d):
            x[j] = 0.0
            if v[j] < v[best]:
                best = j
        x[best] = 1.0


@kernel
def residual(region, x, g):
    """||g + nu|| for the nu of the normal cone of the set at x that makes it least: 0 iff x is optimal.

    On the simplex the multiplier of the sum is the mean of g over the support, which is least up to signs.
    """
    code, center, radius, low, high = region
    d = x.size
    total = 0.0
    if code == BALL:
        inner, size = 0.0, 0.0
        for j in range(d):
            inner += g[j] * (x[j] - center[j])
            size += (x[j] - center[j]) ** 2
        push = max(0.0, -inner / size) if size >= (radius * (1.0 - 1e-13)) ** 2 else 0.0
        for j in range(d):
            total += (g[j] + push * (x[j] - center[j])) ** 2
        return math.sqrt(total)
    level, support = 0.0, 0
    if code == SIMPLEX:
        for j in range(d):
            if x[j] > 0.0:
                level += g[j]
                support += 1
        level /= support
    for j in range(d):
        slope = g[j] - level
        if x[j] <= low[j]:
            slope = min(slope, 0.0)
        if code == BOX and x[j] >= high[j]:
            slope = max(slope, 0.0)
        total += slope * slope
    return math.sqrt(total)


@kernel
def tridiagonal(H, diagonal, beside, mirrors):
    """H = P T P', T tridiagonal (diagonal, beside), P a product of reflections I - 2 m m', the rows of `mirrors`.

    Every H + push I is then solved in O(d), and P applied in O(d^2). `mirrors` has two rows of room more than d.
    """
    d = diagonal.size
    work = mirrors[d + 1]
    for j in range(d):
        for k in range(d):
            mirrors[j, k] = 0.0
    for k in range(d - 2):
        # The column below the diagonal, reflected onto its first coordinate.
        m, size = mirrors[k], 0.0
        for i in range(k + 1, d):
            m[i] = H[i, k]
            size += m[i] * m[i]
        size = math.sqrt(size)
        target = -size if m[k + 1] > 0.0 else size
        m[k + 1] -= target
        norm = 0.0
        for i in range(k + 1, d):
            norm += m[i] * m[i]
        norm = math.sqrt(norm)
        if norm == 0.0:
            continue
        for i in range(k + 1, d):
            m[i] /= norm
        # H <- (I - 2mm') H (I - 2mm') = H - m w' - w m', w = 2(Hm - (m'Hm) m), on what is left.
        inner = 0.0
        for i in range(k, d):
            total = 0.0
            for j in range(k + 1, d):
                total += H[i, j] * m[j]
            work[i] = 2.0 * total
            inner += m[i] * work[i]
        for i in range(k, d):
            work[i] -= inner * m[i]
        for i in range(k, d):
            for j in range(k, d):
                H[i, j] -= m[i] * work[j] + work[i] * m[j]
    for k in range(d):
        diagonal[k] = H[k, k]
        beside[k] = H[k + 1, k] if k + 1 < d else 0.0


@step
def _reflect(mirrors, v, d, backwards):
    """v <- P'v, or P v when backwards."""
    for i in range(d - 2):
        m = mirrors[d - 3 - i] if backwards else mirrors[i]
        total = 0.0
        for j in range(d):
            total += m[j] * v[j]
        for j in range(d):
            v[j] -= 2.0 * total * m[j]


@step
def _thomas(diagonal, beside, push, ridge, v, pivots, d):
    """v <- (T + push)^-1 v; the pivots are at least the ridge, which is what H is at least."""
    pivots[0] = max(diagonal[0] + push, ridge)
    for k in range(1, d):
        ratio = beside[k - 1] / pivots[k - 1]
        pivots[k] = max(diagonal[k] + push - ratio * beside[k - 1], ridge)
        v[k] -= ratio * v[k - 1]
    v[d - 1] /= pivots[d - 1]
    for k in range(d - 2, -1, -1):
        v[k] = (v[k] - beside[k] * v[k + 1]) / pivots[k]


@kernel
def ball_argmin(region, diagonal, beside, mirrors, ridge, x, g, y):
    """argmin over the ball of <g, y - x> + (y - x)'H(y - x)/2, H = P T P' by `tridiagonal`.

    With s = y - center: s = -(H + push)^-1 a, a = g - H(x - center), where push is 0 or the root of
    ||s|| = radius. 1/||s|| is concave in push, so Newton from the left never passes the root.
    """
    center, radius, d = region.center, region.radius, x.size
    a, pivots, second = mirrors[d], mirrors[d + 1], np.empty(d)
    for j in range(d):
        second[j] = x[j] - center[j]
    _reflect(mirrors, second, d, False)
    top, size = 0.0, 0.0
    for j in range(d):
        a[j] = diagonal[j] * second[j] + beside[j] * (second[j + 1] if j + 1 < d else 0.0)
        around = abs(diagonal[j]) + abs(beside[j])
        if j > 0:
            a[j] += beside[j - 1] * second[j - 1]
            around += abs(beside[j - 1])
        top = max(top, around)
        y[j] = g[j]
    _reflect(mirrors, y, d, False)
    for j in range(d):
        a[j] = y[j] - a[j]
        size += a[j] * a[j]
    push = max(0.0, math.sqrt(size) / radius - top)
    norm = 0.0
    for _ in range(200):
        square, slope = 0.0, 0.0
        for j in range(d):
            y[j] = -a[j]
        _thomas(diagonal, beside, push, ridge, y, pivots, d)
        for j in range(d):
            square += y[j] * y[j]
            second[j] = y[j]
        norm = math.sqrt(square)
        if norm <= radius * (1.0 + 1e-15):
            break
        _thomas(diagonal, beside, push, ridge, second, pivots, d)
        for j in range(d):
            slope += second[j] * y[j]
        before = push
        push += square / slope * (norm - radius) / radius
        if not push > before:
            break
    shrink = radius / norm if norm > radius or (push > 0.0 and norm > 0.0) else 1.0
    _reflect(mirrors, y, d, True)
    for j in range(d):
        y[j] = center[j] + shrink * y[j]


@kernel
def _solve(H, rows, m, right):
    """Solve H[rows, rows] p = right[:m] in place by Cholesky; the first m of `rows`."""
    factor = np.empty((m, m))
    for i in range(m):
        for j in range(i + 1):
            total = H[rows[i], rows[j]]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = math.sqrt(max(total, 1e-300)) if i == j else total / factor[j, j]
    for i in range(m):
        for k in range(i):
            right[i] -= factor[i, k] * right[k]
        right[i] /= factor[i, i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            right[i] -= factor[k, i] * right[k]
        right[i] /= factor[i, i]


@kernel
def box_argmin(region, H, x, g, y):
    """argmin over the box or simplex of <g, y - x> + (y - x)'H(y - x)/2, by a primal active-set method.

    From the feasible x: minimise over the free coordinates (keeping their sum on the simplex), stop at the
    first bound met and fix it; at a minimum free the coordinate whose multiplier is the most wrong.
    """
    code, low, high, d = region.code, region.low, region.high, x.size
    fixed = np.zeros(d, np.bool_)
    for j in range(d):
        y[j] = x[j]
        fixed[j] = x[j] <= low[j] or x[j] >= high[j]
    slope = np.empty(d)
    rows = np.empty(d, np.int64)
    step_, ones = np.empty(d), np.empty(d)
    for _ in range(50 * d + 50):
        m = 0
        for j in range(d):
            total = g[j]
            for k in range(d):
                total += H[j, k] * (y[k] - x[k])
            slope[j] = total
            if not fixed[j]:
                rows[m] = j
                m += 1
        level = 0.0
        if m > 0:
            if code == SIMPLEX:
                # The multiplier of the sum, nearly: without it the two solves would cancel all their digits.
                for i in range(m):
                    level += slope[rows[i]] / m
            for i in range(m):
                step_[i], ones[i] = level - slope[rows[i]], 1.0
            _solve(H, rows, m, step_)
            if code == SIMPLEX:
                _solve(H, rows, m, ones)
                total, more = 0.0, 0.0
                for i in range(m):
                    total += ones[i]
                    more -= step_[i]
                more /= total
                level += more
                for i in range(m):
                    step_[i] += more * ones[i]
            room, wall = 1.0, -1
            for i in range(m):
                j = rows[i]
                if step_[i] < 0.0 and y[j] + room * step_[i] < low[j]:
                    room, wall = (low[j] - y[j]) / step_[i], j
                elif step_[i] > 0.0 and y[j] + room * step_[i] > high[j]:
                    room, wall = (high[j] - y[j]) / step_[i], j
            for i in range(m):
                y[rows[i]] = min(max(y[rows[i]] + room * step_[i], low[rows[i]]), high[rows[i]])
            if wall >= 0:
                y[wall] = low[wall] if y[wall] - low[wall] < high[wall] - y[wall] else high[wall]
                fixed[wall] = True
                continue
            for j in range(d):
                total = g[j]
                for k in range(d):
                    total += H[j, k] * (y[k] - x[k])
                slope[j] = total
        worst, free = 0.0, -1
        for j in range(d):
            if fixed[j] and low[j] < high[j]:
                multiplier = slope[j] - level
                wrong = -multiplier if y[j] <= low[j] else multiplier
                if wrong > worst + 1e-13 * (abs(slope[j]) + abs(level)):
                    worst, free = wrong, j
        if free < 0:
            return True
        fixed[free] = False
    return False
