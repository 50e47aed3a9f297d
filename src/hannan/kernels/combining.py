"""Forecasts combined row by row: p of the awake, the mixture, the losses, and the step of the learner.

A row is answered before its target is looked at for anything but whether the row can be settled at all; the
steps are those of a live player, so a table and a player make the same weights, bit for bit.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels import adahedge, steps
from hannan.kernels.compile import aside, kernel, step
from hannan.kernels.sleeping import charge, draw_among, restrict
from hannan.kernels.state import ARMS, FINE, HEADER, HIGH, LOW, OWN, ROUND, TOTAL

#: What can be wrong with a row: nobody awake, a loss outside the range, an infinite loss, a smoothing that failed.
ASLEEP, OUTSIDE, INFINITE, BROKEN = 1, 2, 3, 4


@step
def point_loss(code, parameter, cap, f, y):
    """loss(f, y) by code: 0 absolute, 1 squared, 2 pinball, 3 log; at most cap. NaN where it has no value."""
    if code == 0:
        x = abs(f - y)
    elif code == 1:
        x = (f - y) * (f - y)
    elif code == 2:
        x = parameter * (y - f) if y > f else (1.0 - parameter) * (f - y)
    elif 0.0 <= f <= 1.0:
        x = -np.log(f) if y == 1.0 else -np.log(1.0 - f)
    else:
        x = np.nan
    return cap if x > cap else x


@kernel
def point_losses(code, parameter, cap, forecasts, targets, out):
    """out_ti = loss(f_ti, y_t)."""
    for t in range(forecasts.shape[0]):
        for i in range(forecasts.shape[1]):
            out[t, i] = point_loss(code, parameter, cap, forecasts[t, i], targets[t])


@kernel
def mark_state(state, mark):
    """Regret of <p, l>, the best loss, and the five sums of AdaHedge (of no meaning for others)."""
    n = np.int64(state[ARMS])
    best = state[HEADER]
    for i in range(1, n):
        best = min(best, state[HEADER + i])
    mark[0], mark[1] = state[OWN] - best, best
    mark[2], mark[3] = state[adahedge.LEAST], state[adahedge.MOST]
    mark[4], mark[5], mark[6] = state[adahedge.SPAN], state[adahedge.VARIANCE], state[adahedge.GAP]


@aside
def _blame(loss, awake, low, high, trouble):
    """The first expert whose loss is outside the range, and whether it is infinite (or has no value)."""
    for i in range(loss.size):
        if awake[i] and not (low <= loss[i] <= high):
            trouble[0], trouble[1] = OUTSIDE if np.isfinite(loss[i]) else INFINITE, i
            return


@kernel
def combine_rows(state, pointer, adaptive, forecasts, targets, code, parameter, cap, weights, mixed, played, losses,
                 own, ends, marks, trouble):  # fmt: skip
    """Answer every row, and settle those with a target (NaN: none).

    NaN forecasts sleep. weights (T, n) is what the row was answered with, mixed (T,) the mixture, played (T,)
    the expert drawn, losses (T, n) NaN for sleepers, own (T,) = <p, l>. After row ends[k] (counted from 1)
    marks[k] is own loss less the best's, the best's, and what AdaHedge has seen. Stops at the first row that
    cannot be settled, before anything moves: trouble = (kind, expert). Returns the number of rows done.
    """
    n = np.int64(state[ARMS])
    low, high = state[LOW], state[HIGH]
    nothing = np.empty(0)
    row = np.empty(n)
    awake = np.empty(n, dtype=np.int64)
    k = 0
    for t in range(forecasts.shape[0]):
        if k < ends.size and t == ends[k]:
            mark_state(state, marks[k])
            k += 1
        f, loss, p, y = forecasts[t], losses[t], weights[t], targets[t]
        up = 0
        for i in range(n):
            awake[i] = f[i] == f[i]
            up += awake[i]
        if up == 0:
            trouble[0], trouble[1] = ASLEEP, -1
            return t
        known = y == y
        bad = 0
        for i in range(n):
            x = point_loss(code, parameter, cap, f[i], y)
            loss[i] = x if known and awake[i] else np.nan
            # NaN and infinity are outside of every range.
            bad += known and awake[i] and not (low <= x <= high)
        if bad > 0:
            _blame(loss, awake, low, high, trouble)
            return t
        if up == n:
            drawn = adahedge.experts_act(state, pointer, True) if adaptive else steps.experts_act(state, pointer, True)
            mass = state[TOTAL]
            for i in range(n):
                p[i] = state[HEADER + n + i] / mass
        else:
            drawn = np.int64(-1)
            if adaptive or steps.make_ready(state, pointer, True) == FINE:
                restrict(state, n, awake, p)
                drawn = draw_among(state, n, p)
        if drawn < 0:
            trouble[0], trouble[1] = BROKEN, -1
            return t
        played[t] = drawn
        total = expected = 0.0
        for i in range(n):
            row[i] = loss[i]
            total += p[i] * (f[i] if awake[i] else 0.0)
            expected += p[i] * (loss[i] if awake[i] else 0.0)
        mixed[t] = total
        own[t] = expected if known else np.nan
        if not known:
            # No loss will come before the next row: the round is not counted until one does.
            state[ROUND] -= 1.0
            continue
        if up < n:
            charge(p, awake, row)
        if adaptive:
            adahedge.settle(state, row, nothing)
        elif steps.experts_observe(state, pointer, row, nothing, True) != -1:
            trouble[0], trouble[1] = BROKEN, -1
            return t
    while k < ends.size:
        mark_state(state, marks[k])
        k += 1
    return forecasts.shape[0]


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
        if code == 0:
            g = 1.0 if f > y else (-1.0 if f < y else 0.0)
        elif code == 1:
            g = 2.0 * (f - y)
        elif code == 2:
            g = 1.0 - parameter if f > y else (-parameter if f < y else 0.0)
        else:
            g = -1.0 / max(f, 1e-300) if y == 1.0 else 1.0 / max(1.0 - f, 1e-300)
        total += point_loss(code, parameter, np.inf, f, y)
        for i in range(n):
            slope[i] += g * forecasts[t, i]
    return total
