"""Tsallis and Shannon together, for late feedback (Zimmert, Seldin 2020): argmin <L, x> + F_t(x),

    F_t(x) = -2 sqrt(t) sum sqrt(x_i) + theta sum x_i log x_i,  theta = sqrt(2 D_t/log n),

D_t the observations missing at each move, summed over the moves up to t. With y = sqrt(x_i) stationarity is
sqrt(t)/y - 2 theta log y = c_i = d_i + c, d_i = L_i - min L: one c for sum x = 1, from the left, where nothing
overshoots (x_i is convex and decreasing in c). The memory: -, moves at the last call, D before the next
move, and D with it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from hannan.kernels.compile import aside
from hannan.kernels.state import HEADER, MEMORY, ROUND, SETTLED, TOTAL, VALUE, WARM


@aside
def _missing(state, first):
    """D_t of the move to be drawn."""
    if state[first] < 0.0:
        state[first] = 0.0
    if state[ROUND] != state[first + 1]:
        # The move whose D was last foreseen has been drawn since.
        state[first + 1] = state[ROUND]
        state[first + 2] = state[first + 3]
    state[first + 3] = state[first + 2] + (state[ROUND] - state[SETTLED])
    return state[first + 3]


@aside
def _root(c, s, theta):
    """y in (0, 1] with s/y - 2 theta log y = c >= s: Newton on log y, concave, from the left."""
    if theta == 0.0:
        return s / c
    u = math.log(s / c)
    for _ in range(60):
        lead = s * math.exp(-u)
        move = (lead - 2.0 * theta * u - c) / (lead + 2.0 * theta)
        u += move
        if abs(move) <= 1e-15 * (1.0 + abs(u)):
            break
    return math.exp(min(u, 0.0))


def tsallis_shannon(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    waiting = _missing(state, np.int64(state[MEMORY]))
    theta = math.sqrt(2.0 * waiting / math.log(n)) if n > 1 else 0.0
    w = HEADER + n
    least = state[HEADER]
    for i in range(1, n):
        least = min(least, state[HEADER + i])
    # From the last c, which was measured from the least loss then. It may be on the right: one step, then the left.
    c = max(scale, state[WARM] + least)
    state[VALUE] = np.nan
    for _ in range(200):
        total = slope = 0.0
        for i in range(n):
            y = _root(state[HEADER + i] - least + c, scale, theta)
            x = y * y
            state[w + i] = x
            total += x
            # dx/dc = -1/(s/(2 x^(3/2)) + theta/x)
            slope += x * y / (0.5 * scale + theta * y)
        state[TOTAL] = total
        move = (total - 1.0) / slope
        if abs(total - 1.0) <= 1e-14 * n or abs(move) <= 1e-15 * c:
            state[WARM] = c - least
            return 0.0
        c = max(scale, c + move)
    return np.nan
