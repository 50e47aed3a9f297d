"""LB-INF (Ito 2021): a log-barrier whose scale is fitted arm by arm, around a running prediction m of each loss.

    p = argmin <S + m, p> - sum_i g_i log p_i,    S += m + (l - m_I)/p_I e_I
    g_i += v_i/(2 g_i log T),  v_i = (l - m_I)^2 ((1 - p_i)^2 if i = I else p_i^2),  m_I += (l - m_I)/4

p_i = g_i/(d_i + x), d_i = S_i + m_i - min: sum p = 1 is solved for x by Newton on 1/sum, which is concave in x,
so that steps from the left never overshoot. The memory: steps taken in, g, m, S.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from hannan.kernels.compile import aside
from hannan.kernels.state import ARM, HEADER, MEMORY, PAID, PARAM0, SETTLED, TOTAL, VALUE, WARM, WEIGHT


@aside
def _fit(state, n, g, m, S):
    """Take in the step just settled; PARAM0 is log T."""
    arm, loss, weight = np.int64(state[ARM]), state[PAID], state[WEIGHT]
    off = loss - state[m + arm]
    for i in range(n):
        p = state[HEADER + n + i] / state[TOTAL]
        away = 1.0 - 1.0 / weight if i == arm else p
        state[g + i] += off * off * away * away / (2.0 * state[g + i] * state[PARAM0])
        state[S + i] += state[m + i]
    state[S + arm] += off * weight
    state[m + arm] += 0.25 * off


@aside
def _solve(state, n, g, m, S):
    """Write w and TOTAL; WARM keeps x. NaN if it failed."""
    w = HEADER + n
    least = np.inf
    for i in range(n):
        least = min(least, state[S + i] + state[m + i])
    start = 0.0
    for i in range(n):
        start = max(start, state[g + i] - (state[S + i] + state[m + i] - least))
    x = max(start, state[WARM])
    for _ in range(200):
        total = slope = 0.0
        for i in range(n):
            inverse = 1.0 / (state[S + i] + state[m + i] - least + x)
            p = state[g + i] * inverse
            state[w + i] = p
            total += p
            slope += p * inverse
        state[TOTAL] = total
        move = (total - 1.0) * total / slope
        if abs(total - 1.0) <= 1e-14 * n or abs(move) <= 1e-15 * x:
            state[WARM] = x
            return 0.0
        x = max(start, x + move)
    return np.nan


def fitted_barrier(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    first = np.int64(state[MEMORY])
    g, m, S = first + 1, first + 1 + n, first + 1 + 2 * n
    if state[first] < 0.0:
        state[first] = 0.0
        for i in range(n):
            state[g + i], state[m + i] = 2.0, 0.5
    if state[SETTLED] != state[first]:
        state[first] = state[SETTLED]
        _fit(state, n, g, m, S)
    state[VALUE] = np.nan
    return _solve(state, n, g, m, S)
