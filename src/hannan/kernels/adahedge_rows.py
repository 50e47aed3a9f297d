"""Rows of a table by AdaHedge, as long as nobody sleeps and every target is known: nothing but the round itself."""

from __future__ import annotations

import numpy as np

from hannan.kernels.adahedge_round import (
    VARIANCE,
    begin,
    draw_row,
    finish,
    losses_at,
    meet_row,
    move_on,
    padded,
    weights_at,
)
from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import aside
from hannan.kernels.lanes import share, squares
from hannan.kernels.point_losses import point_loss, row_losses
from hannan.kernels.state import ARMS, HIGH, LOW, PROBABILITY, ROUND, STREAM
from hannan.kernels.streams import uniform
from hannan.kernels.tallying import EVERY_MIX, EVERY_ROWS, EXPECTED, EXPERTS, MIX, SETTLED


@aside
def whole_rows(state, forecasts, targets, first, stop, code, parameter, cap, weights, mixed, played, tally):
    """Answer and settle rows first..stop-1; returns the first that is not whole (a sleeper, no target, a bad loss)."""
    s, n = data_of(state), np.int64(state[ARMS])
    m, low, high = padded(n), s[LOW], s[HIGH]
    w, x, experts = weights_at(s, n), losses_at(s, n), at(data_of(tally), np.int64(EXPERTS))
    carry = begin(s, n)
    variance, mix, every, own, t = s[VARIANCE], tally[MIX], tally[EVERY_MIX], carry[4], first
    while t < stop:
        f, y = at(data_of(forecasts), t * n), targets[t]
        least, most = row_losses(code, parameter, cap, f, y, x, n)
        mass, kept, above = meet_row(s, n, carry, least)
        # What is not a number makes `above` one of its kind.
        if not (low <= least and most <= high and above == above and y == y):
            break
        part = 1.0 / mass
        carry = move_on(s, n, carry, least, most, mass, kept, above, part)
        # From here on nothing waits for anything: it is done while the next row's weights are on their way.
        i = draw_row(s, n, mass, uniform(s, np.int64(STREAM)))
        played[t] = i
        told = share(at(data_of(weights), t * n), w, n, mass, f)
        mixed[t] = told
        cost = point_loss(code, parameter, cap, told, y)
        mix += cost
        every += cost
        variance += part * squares(w, x, least + part * above, m)
        for j in range(n):
            experts[j] += x[j]
        t += 1
    if t > first:
        s[PROBABILITY] = weights[t - 1, played[t - 1]]
    s[VARIANCE] = variance
    s[ROUND] += t - first
    finish(s, n, carry)
    tally[MIX], tally[EVERY_MIX] = mix, every
    tally[EXPECTED] += carry[4] - own
    tally[SETTLED] += t - first
    tally[EVERY_ROWS] += t - first
    return t
