"""The trapezoidal rule of FTPL for Gamma, Weibull, Frechet, Pareto and Gaussian perturbations.

All are smooth on a half-line or on the line. After a double-exponential change of variable w(t) the error of
the trapezoidal rule is squared each time its step is halved, so the difference of two steps certifies the
finer one. See kernels/perturbed for the integral itself.
"""

from __future__ import annotations

import math

import numpy as np

from hannan.kernels.compile import kernel
from hannan.kernels.gammas import gamma_cdf_and_ratio

GAMMA, WEIBULL, FRECHET, PARETO, GAUSSIAN = 11, 12, 13, 14, 16

#: An arm whose probability is surely below e^-FAR is given probability zero.
FAR = 707.0
#: Relative change under halving that ends the refinement: the error of the finer rule is its square.
AGREE = 1e-6
#: A term is negligible below this part of its arm's sum.
NEGLIGIBLE = 1e-17

_SQRT_HALF = math.sqrt(0.5)
_DENSITY_0 = 1.0 / math.sqrt(2.0 * math.pi)


@kernel
def reach(code, a, conditioned):
    """The gap d beyond which an arm's probability is surely below e^-FAR, P(Z > d) or, Gaussian, its square root."""
    if code == GAMMA:
        # S(d) <= e^(-d/2) 2^a for every d.
        return 2.0 * (FAR + a) if a > 1.0 else FAR
    if code == WEIBULL:
        if conditioned > 0.0:
            return (1.0 + FAR) ** (1.0 / a) - 1.0
        return FAR ** (1.0 / a)
    if code == GAUSSIAN:
        return 2.0 * math.sqrt(FAR)
    return math.inf


@kernel
def place(code, a, conditioned, t):
    """The node w(t) and dw/dt; w is measured from the lower end of the leader's support."""
    if code == GAUSSIAN:
        return t, 1.0
    if code == FRECHET:
        e = math.exp(t)
        w = math.exp((t + e) / a)
        return w, w * (1.0 + e) / a
    e = math.exp(-t)
    u = math.exp(t - e)
    du = u * (1.0 + e)
    if code == PARETO:
        return math.expm1(u / a), math.exp(u / a) / a * du
    if code == WEIBULL:
        if conditioned > 0.0:
            w = math.expm1(math.log1p(u) / a)
            return w, (1.0 + w) / (a * (1.0 + u)) * du
        w = math.exp((t - e) / a)
        return w, w / a * (1.0 + e)
    return u, du


@kernel
def product_and_ratios(code, a, conditioned, constant, w, d, r):
    """G(w), with r[i] = r(w + d_i) written for every arm."""
    n = d.shape[0]
    if code == FRECHET:
        total = 0.0
        if a == 2.0:
            for i in range(n):
                inverse = 1.0 / (w + d[i])
                x = inverse * inverse
                total += x
                r[i] = 2.0 * x * inverse
        else:
            for i in range(n):
                z = w + d[i]
                x = z**-a
                total += x
                r[i] = a * x / z
        return math.exp(-total)
    product = 1.0
    if code == PARETO:
        for i in range(n):
            y = w + d[i]
            if y < 0.01:
                x = math.exp(-a * math.log1p(y))
                cdf = -math.expm1(-a * math.log1p(y))
            else:
                x = 1.0 / ((1.0 + y) * (1.0 + y)) if a == 2.0 else (1.0 + y) ** -a
                cdf = 1.0 - x
            product *= cdf
            r[i] = a * x / ((1.0 + y) * cdf)
    elif code == WEIBULL:
        for i in range(n):
            z = w + d[i]
            if conditioned > 0.0:
                u = math.expm1(a * math.log1p(z))
                slope = a * (1.0 + u) / (1.0 + z)
            else:
                u = z**a
                slope = a * u / z
            grown = math.expm1(u)
            product *= grown / (grown + 1.0) if u < 700.0 else 1.0
            r[i] = slope / grown
    elif code == GAMMA:
        for i in range(n):
            cdf, ratio = gamma_cdf_and_ratio(a, w + d[i], constant)
            product *= cdf
            r[i] = ratio
    else:
        for i in range(n):
            z = w + d[i]
            cdf = 0.5 * math.erfc(-z * _SQRT_HALF)
            product *= cdf
            r[i] = _DENSITY_0 * math.exp(-0.5 * z * z) / cdf
    return product


@kernel
def first_step(code, a, n):
    """A step that is fine enough for n tied arms; the refinement checks it."""
    spread = math.log(n) + 1.0
    if code == GAUSSIAN:
        return 0.45 / math.sqrt(spread)
    if code == FRECHET:
        return 0.35 / math.sqrt(spread)
    if code == GAMMA and a > 1.0:
        return 0.36 / max(2.6, spread + math.sqrt(a))
    return 0.36 / max(2.6, spread)


@kernel
def centre(code, a, conditioned, n):
    """A t at which G is not small: the upper 1/n quantile of the law, or beyond."""
    spread = math.log(n) + 1.0
    if code == GAUSSIAN:
        return 0.0
    if code == FRECHET:
        return math.log(max(spread, 1.0))
    if code == GAMMA:
        return math.log(2.0 * spread + 2.0 * a)
    return math.log(spread)


@kernel
def _pair_up(r):
    """r_i -> r_i sum_(j != i) r_j, by sums from both ends: subtracting r_i from the whole would cancel."""
    n = r.shape[0]
    if n == 1:
        return
    others = np.empty(n)
    running = 0.0
    for i in range(n):
        others[i] = running
        running += r[i]
    running = 0.0
    for i in range(n - 1, -1, -1):
        others[i] += running
        running += r[i]
    for i in range(n):
        r[i] *= others[i]


@kernel
def quadrature(code, a, conditioned, d, second, p, nodes, weights):
    """Fill p (unnormalised) for gaps d >= 0, one of them 0; return (number of nodes, E max(Z - d), status).

    second: refine until the row sums of the Hessian agree too. nodes and weights, when not empty, receive
    w_q and A_q = G(w_q) dw_q; a number of nodes beyond their length means that they did not fit.
    """
    n = d.shape[0]
    constant = math.lgamma(a) if code == GAMMA else 0.0
    r = np.empty(n)
    even = np.zeros(n)
    odd = np.zeros(n)
    h = first_step(code, a, n)
    middle = centre(code, a, conditioned, n)
    first = 0
    last = 0
    mean_even = 0.0
    mean_odd = 0.0
    if code == GAUSSIAN:
        # phi(w + g) Phi(w) peaks at -g/2; the leaders' mass ends before 11.
        gap = 0.0
        for i in range(n):
            gap = max(gap, d[i])
        first = math.floor((-0.5 * gap - 9.5) / h)
        last = math.ceil(11.0 / h)
    used = 0
    for direction in range(2):
        k = 0 if direction == 0 else -1
        while True:
            if code == GAUSSIAN:
                if direction == 1 or k + first > last:
                    break
                index = k + first
            else:
                index = k
            w, dw = place(code, a, conditioned, middle + h * index)
            busy = False
            if dw > 0.0 and w < 1e300:
                weight = product_and_ratios(code, a, conditioned, constant, w, d, r) * dw
                if weight > 0.0:
                    sums = even if index % 2 == 0 else odd
                    total = 0.0
                    for i in range(n):
                        total += r[i]
                    if second:
                        _pair_up(r)
                    for i in range(n):
                        term = weight * r[i]
                        sums[i] += term
                        if term > NEGLIGIBLE * (even[i] + odd[i]):
                            busy = True
                    if index % 2 == 0:
                        mean_even += weight * total * w
                    else:
                        mean_odd += weight * total * w
                    if used < nodes.shape[0]:
                        nodes[used] = w
                        weights[used] = weight
                    used += 1
            if code != GAUSSIAN:
                if not busy:
                    break
                first = min(first, index)
                last = max(last, index)
            if abs(k) > 200000:
                return used, 0.0, math.nan
            k += 1 if direction == 0 else -1
    for _ in range(14):
        worst = 0.0
        for i in range(n):
            whole = even[i] + odd[i]
            if whole * h > 1e-290:
                worst = max(worst, abs(even[i] - odd[i]) / whole)
        if worst < AGREE:
            break
        # Halve: all nodes so far become the even ones, the midpoints the odd ones.
        for i in range(n):
            even[i] += odd[i]
            odd[i] = 0.0
        mean_even += mean_odd
        mean_odd = 0.0
        for index in range(first, last):
            w, dw = place(code, a, conditioned, middle + h * (index + 0.5))
            if not (dw > 0.0 and w < 1e300):
                continue
            weight = product_and_ratios(code, a, conditioned, constant, w, d, r) * dw
            if weight <= 0.0:
                continue
            total = 0.0
            for i in range(n):
                total += r[i]
            if second:
                _pair_up(r)
            for i in range(n):
                odd[i] += weight * r[i]
            mean_odd += weight * total * w
            if used < nodes.shape[0]:
                nodes[used] = w
                weights[used] = weight
            used += 1
        h *= 0.5
        first *= 2
        last *= 2
    else:
        return used, 0.0, math.nan
    for i in range(n):
        p[i] = h * (even[i] + odd[i])
    for q in range(min(used, nodes.shape[0])):
        weights[q] *= h
    return used, h * (mean_even + mean_odd), 0.0


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
            if term <= NEGLIGIBLE * (even + odd) and (direction == 1 or w > 1.0 or even + odd > 0.0):
                break
            first = min(first, index)
            last = max(last, index)
            index += 1 if direction == 0 else -1
    for _ in range(14):
        whole = even + odd
        if whole == 0.0 or abs(even - odd) < AGREE * whole:
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
