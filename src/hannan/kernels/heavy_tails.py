"""The mean of the perturbed leader under Frechet and Pareto perturbations, whose tails are too heavy to integrate."""

from __future__ import annotations

import math

from hannan.kernels.compile import kernel
from hannan.kernels.integrands import FRECHET, place
from hannan.kernels.trapezoid import CLOSE, NEGLIGIBLE, centre, first_step


@kernel
def excess(code, a, d):
    """E max_j Z_j - E max_j (Z_j - d_j) = int (G_d(w) - G_0(w)) dw for Frechet and Pareto; (value, status).

    Their own tails are too heavy to integrate when alpha is near 1; this difference falls by a power faster.
    """
    n = d.shape[0]
    h = first_step(code, a, n)
    middle = centre(code, a, 0.0, n)
    even = 0.0
    odd = 0.0
    first = 0
    last = 0
    for direction in range(2):
        index = 0 if direction == 0 else -1
        while abs(index) < 200000:
            w, dw = place(code, a, 0.0, middle + h * index)
            term = _difference(code, a, w, d) * dw if dw > 0.0 and w < 1e300 else 0.0
            if index % 2 == 0:
                even += term
            else:
                odd += term
            # The first negligible node is kept as the end: see kernels/trapezoid.
            first = min(first, index)
            last = max(last, index)
            if term <= NEGLIGIBLE * (even + odd) and (direction == 1 or w > 1.0 or even + odd > 0.0):
                break
            index += 1 if direction == 0 else -1
    for _ in range(14):
        whole = even + odd
        if whole == 0.0 or abs(even - odd) < CLOSE * whole:
            return h * whole, 0.0
        even += odd
        odd = 0.0
        for index in range(first, last):
            w, dw = place(code, a, 0.0, middle + h * (index + 0.5))
            if dw > 0.0 and w < 1e300:
                odd += _difference(code, a, w, d) * dw
        h *= 0.5
        first *= 2
        last *= 2
    return 0.0, math.nan


@kernel
def _difference(code, a, w, d):
    """prod_j F(w + d_j) - F(w)^n = F(w)^n expm1(sum_j log F(w + d_j) - log F(w)), without cancellation."""
    n = d.shape[0]
    z = w if code == FRECHET else 1.0 + w
    x = z**-a if code == FRECHET else math.exp(-a * math.log1p(w))
    cdf = 1.0 if code == FRECHET else -math.expm1(-a * math.log1p(w))
    if cdf <= 0.0:
        return 0.0
    total = 0.0
    for j in range(n):
        drop = -x * math.expm1(-a * math.log1p(d[j] / z))
        total += drop if code == FRECHET else math.log1p(drop / cdf)
    start = -n * x if code == FRECHET else n * math.log(cdf)
    if total > 1.0:
        return math.exp(start + total) - math.exp(start)
    return math.exp(start) * math.expm1(total)
