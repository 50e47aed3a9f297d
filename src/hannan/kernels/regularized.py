"""FTRL computed: p(L) = argmin <L, p> + F(p) on the simplex, by its one multiplier.

With d_i = L_i - min L >= 0, stationarity gives p_i as a decreasing function of d_i + m for one m > 0:

    Tsallis      p_i = ((d_i + m)/m0)^(-s),  s = 1/(1-alpha), m0 = scale alpha/(1-alpha)
    log-barrier  p_i = ((d_i + m)/m0)^(-1),  m0 = scale (the same with s = 1)

sum p = 1 is solved as h(m) = (sum_i (d_i + m)^-s)^(-1/s) = m0: h is a power mean of order -s, so it is concave
and increasing, and Newton's steps from the left never overshoot; at m = m0 the leader alone has p = 1, so the
root is to the right. For tied arms h is linear and one step is exact. Entropy: softmax.
"""

from __future__ import annotations

import math
from typing import Any

from numba import carray

from hannan.kernels.compile import kernel, smoothing_pointer
from hannan.kernels.state import HEADER, PARAM0, TOTAL, VALUE, WARM

ENTROPY, TSALLIS, LOG_BARRIER = 0, 1, 2


@kernel
def lowest(L):
    """min_i L_i."""
    least = L[0]
    for i in range(L.shape[0]):
        least = min(least, L[i])
    return least


@kernel
def softmax(L, scale, w):
    """w_i = exp(-(L_i - min L)/scale); return their sum, at least 1."""
    least = lowest(L)
    total = 0.0
    lost = 0.0
    for i in range(L.shape[0]):
        w[i] = math.exp((least - L[i]) / scale)
        term = w[i] - lost
        grown = total + term
        lost = (grown - total) - term
        total = grown
    return total


@kernel
def power_leaders(L, scale, alpha, beyond, w):
    """Tsallis (0 < alpha < 1) and log-barrier (alpha = 0): fill w with p; return (sum of w, beyond, status).

    beyond = (m - m0)/m0 >= 0; the one given is a warm start: from the right of the root one step of Newton on
    a concave function lands to the left of it, and from there on every step is to the right.
    """
    n = L.shape[0]
    least = lowest(L)
    s = 1.0 / (1.0 - alpha)
    m0 = scale * alpha * s if alpha > 0.0 else scale
    total = 0.0
    if not beyond >= 0.0:
        beyond = 0.0
    for step in range(200):
        total = 0.0
        slope = 0.0
        lost = 0.0
        for i in range(n):
            # x = (d_i + m)/m0 - 1: log1p keeps the digits where alpha is near 1 and s is huge.
            x = (L[i] - least) / m0 + beyond
            if alpha == 0.5:
                inverse = 1.0 / (1.0 + x)
                p = inverse * inverse
            elif alpha == 0.0:
                inverse = 1.0 / (1.0 + x)
                p = inverse
            else:
                inverse = 1.0 / (1.0 + x)
                p = math.exp(-s * math.log1p(x))
            w[i] = p
            slope += p * inverse
            term = p - lost
            grown = total + term
            lost = (grown - total) - term
            total = grown
        # Newton on h(m)/m0 = total^(-1/s): its derivative in beyond is total^(-1/s - 1) slope.
        over = total - 1.0
        if abs(over) <= 4e-16 * (n + 1.0):
            return total, beyond, 0.0
        # (1 - total^(-1/s))/(total^(-1/s) slope/total) = (total^(1/s) - 1) total/slope
        move = math.expm1(math.log(total) / s) * total / slope
        if not (abs(move) < math.inf):
            return total, beyond, math.nan
        moved = beyond + move
        if moved == beyond or abs(move) <= 1e-16 * (1.0 + beyond) or (move < 0.0 and step > 0):
            return total, beyond, 0.0
        beyond = max(moved, 0.0)
    return total, beyond, math.nan


@kernel
def regularizer_value(L, w, total, scale, alpha):
    """<L, p> + F(p) for Tsallis (0 < alpha < 1) and log-barrier (alpha = 0), p = w/total."""
    n = L.shape[0]
    least = lowest(L)
    inner = 0.0
    shape = 0.0
    for i in range(n):
        p = w[i] / total
        inner += (L[i] - least) * p
        if alpha == 0.0:
            shape -= math.log(p)
        elif p > 0.0:
            shape -= p * math.expm1((alpha - 1.0) * math.log(p)) / (1.0 - alpha)
    return least + inner + scale * shape


def _entropy(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    L = state[HEADER : HEADER + n]
    total = softmax(L, scale, state[HEADER + n : HEADER + 2 * n])
    state[TOTAL] = total
    if changed == -2:
        state[VALUE] = lowest(L) - scale * math.log(total)
    return 0.0


def _tsallis(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    L = state[HEADER : HEADER + n]
    w = state[HEADER + n : HEADER + 2 * n]
    total, state[WARM], status = power_leaders(L, scale, state[PARAM0], state[WARM], w)
    state[TOTAL] = total
    if changed == -2:
        state[VALUE] = regularizer_value(L, w, total, scale, state[PARAM0])
    return status


def _log_barrier(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    L = state[HEADER : HEADER + n]
    w = state[HEADER + n : HEADER + 2 * n]
    total, state[WARM], status = power_leaders(L, scale, 0.0, state[WARM], w)
    state[TOTAL] = total
    if changed == -2:
        state[VALUE] = regularizer_value(L, w, total, scale, 0.0)
    return status


_FUNCTIONS = {ENTROPY: _entropy, TSALLIS: _tsallis, LOG_BARRIER: _log_barrier}
_COMPILED: dict[int, Any] = {}  # kept alive: an address is only good as long as its function


def pointer(code: int) -> int:
    """The address of the smoothing `code`, compiled on first use."""
    if code not in _COMPILED:
        _COMPILED[code] = smoothing_pointer(_FUNCTIONS[code])
    return int(_COMPILED[code].address)
