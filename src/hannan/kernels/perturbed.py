"""FTPL computed, not sampled: one integral serves all arms.

With d_i = (L_i - min L)/scale, the best perturbed arm is at M = max_j (Z_j - d_j), whose cdf is
G(w) = prod_j F(w + d_j). With r = f/F,

    p_i = int G(w) r(w + d_i) dw,    d p_i/d d_j = int G(w) r(w + d_i) r(w + d_j) dw  (i != j).

Exponential and Laplace: piecewise polynomials in e^-w (kernels/polynomial). Gumbel: softmax
(kernels/regularized). All others: kernels/trapezoid.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import carray

from hannan.kernels.compile import kernel, smoothing_pointer
from hannan.kernels.heavy_tails import excess
from hannan.kernels.integrands import FAR, FRECHET, GAMMA, GAUSSIAN, PARETO, WEIBULL, product_and_ratios, reach
from hannan.kernels.polynomial import exponential, laplace
from hannan.kernels.state import HEADER, PARAM0, PARAM1, TOTAL, VALUE
from hannan.kernels.trapezoid import quadrature

EXPONENTIAL, LAPLACE = 10, 15


@kernel
def careful_sum(values):
    """Kahan's sum: 100,000 equal terms would otherwise lose four digits."""
    total = 0.0
    lost = 0.0
    for k in range(values.shape[0]):
        term = values[k] - lost
        grown = total + term
        lost = (grown - total) - term
        total = grown
    return total


@kernel
def leaders(code, a, b, L, scale, second, p, nodes, weights):
    """Fill p with the play at L; return (nodes used, E max_j (Z_j - d_j), status).

    a, b are the law's parameters. second, nodes, weights: for the Hessian, see kernels/trapezoid.
    """
    n = L.shape[0]
    least = L[0]
    for i in range(n):
        least = min(least, L[i])
    far = FAR if code in (EXPONENTIAL, LAPLACE) else reach(code, a, b)
    d = np.empty(n)
    near = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        gap = (L[i] - least) / scale
        if gap <= far:
            d[count] = gap
            near[count] = i
            count += 1
    d = d[:count]
    q = np.empty(count)
    if code == EXPONENTIAL:
        used, mean, status = exponential(d, q, nodes, weights)
    elif code == LAPLACE:
        used, mean, status = laplace(d, q, nodes, weights)
    else:
        used, mean, status = quadrature(code, a, b, d, second, q, nodes, weights)
        if second:
            return used, mean, status
    total = careful_sum(q)
    p[:] = 0.0
    if not (0.0 < total < math.inf):
        return used, mean, math.nan
    for k in range(count):
        p[near[k]] = q[k] / total
    return used, mean, status


@kernel
def mean_of_leader(code, a, L, scale, mean):
    """E max_j (Z_j - d_j): `mean` where the quadrature gave it, the closed form less the excess for heavy tails."""
    if code != FRECHET and code != PARETO:
        return mean
    n = L.shape[0]
    least = L[0]
    for i in range(n):
        least = min(least, L[i])
    d = np.empty(n)
    for i in range(n):
        d[i] = (L[i] - least) / scale
    if a <= 1.0:
        return math.inf
    most = math.gamma(1.0 - 1.0 / a)
    if code == FRECHET:
        most *= n ** (1.0 / a)
    else:
        logs = 0.0
        for k in range(1, n + 1):
            logs += math.log1p(1.0 / (a * k - 1.0))
        most = math.exp(logs)
    less, status = excess(code, a, d)
    return most - less + status


@kernel
def ratio_matrix(code, a, b, gaps, nodes, out):
    """out[q, i] = r(w_q + d_i)."""
    constant = math.lgamma(a) if code == GAMMA else 0.0
    scratch = np.empty(gaps.shape[0])
    for q in range(nodes.shape[0]):
        w = nodes[q]
        if code == EXPONENTIAL:
            for i in range(gaps.shape[0]):
                out[q, i] = 1.0 / math.expm1(w + gaps[i])
        elif code == LAPLACE:
            for i in range(gaps.shape[0]):
                z = w + gaps[i]
                out[q, i] = 1.0 if z < 0.0 else 1.0 / (2.0 * math.exp(z) - 1.0)
        else:
            product_and_ratios(code, a, b, constant, w, gaps, out[q], scratch)


@kernel
def smooth(code, state, n, scale, changed):
    """The smoothing's contract with the loops: L -> w, TOTAL, and VALUE when changed is -2."""
    L = state[HEADER : HEADER + n]
    w = state[HEADER + n : HEADER + 2 * n]
    empty = np.empty(0)
    _, mean, status = leaders(code, state[PARAM0], state[PARAM1], L, scale, False, w, empty, empty)
    state[TOTAL] = careful_sum(w)
    if changed == -2:
        least = L[0]
        for i in range(n):
            least = min(least, L[i])
        state[VALUE] = least - scale * mean_of_leader(code, state[PARAM0], L, scale, mean)
    return status


def _exponential(pointer, size, n, scale, changed):
    return smooth(EXPONENTIAL, carray(pointer, (size,)), n, scale, changed)


def _gamma(pointer, size, n, scale, changed):
    return smooth(GAMMA, carray(pointer, (size,)), n, scale, changed)


def _weibull(pointer, size, n, scale, changed):
    return smooth(WEIBULL, carray(pointer, (size,)), n, scale, changed)


def _frechet(pointer, size, n, scale, changed):
    return smooth(FRECHET, carray(pointer, (size,)), n, scale, changed)


def _pareto(pointer, size, n, scale, changed):
    return smooth(PARETO, carray(pointer, (size,)), n, scale, changed)


def _laplace(pointer, size, n, scale, changed):
    return smooth(LAPLACE, carray(pointer, (size,)), n, scale, changed)


def _gaussian(pointer, size, n, scale, changed):
    return smooth(GAUSSIAN, carray(pointer, (size,)), n, scale, changed)


_FUNCTIONS = {
    EXPONENTIAL: _exponential,
    GAMMA: _gamma,
    WEIBULL: _weibull,
    FRECHET: _frechet,
    PARETO: _pareto,
    LAPLACE: _laplace,
    GAUSSIAN: _gaussian,
}
_COMPILED: dict[int, Any] = {}  # kept alive: an address is only good as long as its function


def pointer(code: int) -> int:
    """The address of the smoothing `code`, compiled on first use."""
    if code not in _COMPILED:
        _COMPILED[code] = smoothing_pointer(_FUNCTIONS[code])
    return int(_COMPILED[code].address)
