"""A round of prediction with expert advice: every loss is seen, L_t = L_{t-1} + l_t.

The row of losses is read in short vectorised passes: check, own loss <p, l>, update, partial sums.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import at
from hannan.kernels.compile import aside, step
from hannan.kernels.exponential import multiply
from hannan.kernels.state import (
    ENTROPY_TIMES,
    FAN,
    FINE,
    FRESH,
    HEADER,
    INVERSE,
    ORIGIN,
    OWN,
    PAID,
    POINTER,
    REFRESH,
    SETTLED,
    SLOPE,
    TOTAL,
)
from hannan.kernels.vectors import dot16
from hannan.kernels.weighing import entropy_anew, in_range, next_scale, sum_up, weigh_apart

#: ENTROPY_TIMES is for 1/scale up to this: there e^(-x), x = l / scale, is a polynomial of degree 7.
SMALL_STEP = 0.1


@aside
def first_outside(row, n, low, high):
    """The first i with row[i] outside [low, high] or NaN; -1 when there is none."""
    bad = 0
    for i in range(n):
        bad += not (low <= row[i] <= high)
    if bad == 0:
        return -1
    for i in range(n):
        if not (low <= row[i] <= high):
            return i
    return -1


@step
def mean_under(w, row, n):
    """sum_i w_i row_i."""
    t = 0.0
    whole = n - (n & (FAN - 1))
    for i in range(0, whole, FAN):
        t += dot16(at(w, i), at(row, i))
    for i in range(whole, n):
        t += w[i] * row[i]
    return t


@step
def expected_loss(s, row, a, n):
    """<p, l> of the weights in place, normalised."""
    mean = mean_under(at(s, HEADER + n), at(row, a), n) / s[TOTAL]
    return (mean - s[ORIGIN]) * s[SLOPE]


@aside
def _add(low, row, n, origin, slope):
    """L += l, normalised."""
    for i in range(n):
        low[i] += (row[i] - origin) * slope


@step
def settle_row(s, size, n, path, tree, pointer, row, a, own):
    """After the losses are seen: own loss, L, and the weights of the next round. Returns a status."""
    s[OWN] += own
    low, losses = at(s, np.int64(HEADER)), at(row, a)
    if path == ENTROPY_TIMES and s[INVERSE] <= SMALL_STEP:
        if s[FRESH] < REFRESH:
            multiply(at(s, HEADER + n), low, losses, n, s[ORIGIN], s[SLOPE], -s[INVERSE])
            s[FRESH] += 1.0
            sum_up(s, n, tree)
            if in_range(s, n):
                return FINE
        else:
            _add(low, losses, n, s[ORIGIN], s[SLOPE])
        entropy_anew(s, n, tree)
        return FINE
    _add(low, losses, n, s[ORIGIN], s[SLOPE])
    if path == POINTER:
        s[SETTLED] += 1.0
        s[PAID] = own
    return weigh_apart(s, size, n, path, tree, pointer, next_scale(s), np.int64(-1))
