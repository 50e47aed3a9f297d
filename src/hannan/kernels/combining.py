"""Forecasts combined row by row: p of the awake, the mixture, the losses, and the step of the learner.

A row is answered before its target is looked at for anything but whether the row can be settled at all; the
steps are those of a live player, so a table and a player make the same weights, bit for bit.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels import adahedge, steps
from hannan.kernels.adahedge_rows import whole_rows
from hannan.kernels.compile import aside, kernel
from hannan.kernels.point_losses import point_loss
from hannan.kernels.sleeping import charge, draw_among, restrict
from hannan.kernels.state import ARMS, FINE, HEADER, HIGH, LOW, ROUND, TOTAL
from hannan.kernels.tallying import note, tally_row

#: What can be wrong with a row: nobody awake, a loss outside the range, an infinite loss, a smoothing that failed.
ASLEEP, OUTSIDE, INFINITE, BROKEN = 1, 2, 3, 4


@aside
def _blame(loss, awake, low, high, trouble):
    """The first expert whose loss is outside the range, and whether it is infinite (or has no value)."""
    for i in range(loss.size):
        if awake[i] and not (low <= loss[i] <= high):
            trouble[0], trouble[1] = OUTSIDE if np.isfinite(loss[i]) else INFINITE, i
            return


@kernel
def combine_rows(state, pointer, adaptive, forecasts, targets, code, parameter, cap, weights, mixed, played, losses,
                 tally, ends, points, trouble):  # fmt: skip
    """Answer every row, and settle those with a target (NaN: none).

    NaN forecasts sleep. weights (T, n) is what the row was answered with, mixed (T,) the mixture, played (T,)
    the expert drawn; `tally` grows. After row ends[k] (counted from 1) points[k] is noted. Stops at the first
    row that cannot be settled, before anything moves: trouble = (kind, expert), losses (n,) are the row's.
    Returns the number of rows done.
    """
    n, rows = np.int64(state[ARMS]), forecasts.shape[0]
    awake = np.empty(n, dtype=np.int64)
    row = np.empty(n)
    t = k = 0
    while t < rows:
        stop = ends[k] if k < ends.size else rows
        if adaptive:
            t = whole_rows(state, forecasts, targets, t, stop, code, parameter, cap, weights, mixed, played, tally)
        if t < stop:
            trouble[0], trouble[1] = 0, -1
            one = _one_row(state, pointer, adaptive, forecasts[t], targets[t], code, parameter, cap, weights[t], losses,
                           row, awake, tally, trouble)  # fmt: skip
            if trouble[0]:
                return t
            played[t], mixed[t] = one
            t += 1
        if t == stop and k < ends.size:
            note(state, tally, weights[t - 1], points[k])
            k += 1
    return rows


@aside
def _one_row(state, pointer, adaptive, f, y, code, parameter, cap, p, losses, row, awake, tally, trouble):
    """(expert drawn, mixture) of a row in which somebody may sleep, and whose target may be missing."""
    n, low, high = np.int64(state[ARMS]), state[LOW], state[HIGH]
    up = bad = 0
    known = y == y
    for i in range(n):
        awake[i] = f[i] == f[i]
        up += awake[i]
        x = point_loss(code, parameter, cap, f[i], y)
        losses[i] = x if known and awake[i] else np.nan
        # NaN and infinity are outside of every range.
        bad += known and awake[i] and not (low <= x <= high)
    if up == 0:
        trouble[0] = ASLEEP
        return np.int64(-1), np.nan
    if bad > 0:
        _blame(losses, awake, low, high, trouble)
        return np.int64(-1), np.nan
    if up == n:
        drawn = adahedge.experts_act(state, pointer, True) if adaptive else steps.experts_act(state, pointer, True)
        for i in range(n):
            p[i] = state[HEADER + n + i] / state[TOTAL]
    else:
        drawn = np.int64(-1)
        if adaptive or steps.make_ready(state, pointer, True) == FINE:
            restrict(state, n, awake, p)
            drawn = draw_among(state, n, p)
    if drawn < 0:
        trouble[0] = BROKEN
        return drawn, np.nan
    mixed = expected = 0.0
    for i in range(n):
        row[i] = losses[i]
        mixed += p[i] * (f[i] if awake[i] else 0.0)
        expected += p[i] * (losses[i] if awake[i] else 0.0)
    if not known:
        # No loss will come before the next row: the round is not counted until one does.
        state[ROUND] -= 1.0
        return drawn, mixed
    if up < n:
        charge(p, awake, row)
    nothing = np.empty(0)
    if adaptive:
        adahedge.settle(state, row, nothing)
    elif steps.experts_observe(state, pointer, row, nothing, True) != -1:
        trouble[0] = BROKEN
        return drawn, mixed
    tally_row(tally, losses, point_loss(code, parameter, cap, mixed, y), expected)
    return drawn, mixed


@kernel
def oracle_pass(code, parameter, forecasts, targets, q, slope):
    """(sum_t loss(<q, f_t>, y_t), its gradient in `slope`) over rows with a target; columns of q = 0 count too."""
    n = q.size
    slope[:] = 0.0
    total = 0.0
    for t in range(forecasts.shape[0]):
        y = targets[t]
        if np.isnan(y):
            continue
        f = 0.0
        for i in range(n):
            f += q[i] * forecasts[t, i]
        # Which side the target falls on cannot be predicted: no branch.
        over, under = 1.0 * (f > y), 1.0 * (f < y)
        if code == 0:
            g = over - under
        elif code == 1:
            g = 2.0 * (f - y)
        elif code == 2:
            g = over * (1.0 - parameter) - under * parameter
        else:
            g = -1.0 / max(f, 1e-300) if y == 1.0 else 1.0 / max(1.0 - f, 1e-300)
        total += point_loss(code, parameter, np.inf, f, y)
        for i in range(n):
            slope[i] += g * forecasts[t, i]
    return total
