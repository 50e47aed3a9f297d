"""Sums over the settled rows of a table, kept while it is read: of the mixture, of <p, l>, and of each expert.

One array: the slots below, then of each expert its loss, the mixture's loss in the same rows, and how many they are.
A row in which nobody slept is counted once for all, under EVERY_MIX and EVERY_ROWS.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.adahedge_round import GAP, LEAST, MOST, SPAN, VARIANCE
from hannan.kernels.compile import kernel, step
from hannan.kernels.state import ARMS, HEADER, OWN

MIX, EXPECTED, SETTLED, EVERY_MIX, EVERY_ROWS = 0, 1, 2, 3, 4
EXPERTS = 5
#: Of a point: the settled rows, the mixture's loss and regret, and seven numbers of the player's.
POINT = 10


@step
def tally_row(tally, losses, cost, own):
    """Count a row: losses (NaN asleep), the mixture's, and <p, l>."""
    n = losses.size
    tally[MIX] += cost
    tally[EXPECTED] += own
    tally[SETTLED] += 1.0
    for i in range(n):
        if losses[i] == losses[i]:
            tally[EXPERTS + i] += losses[i]
            tally[EXPERTS + n + i] += cost
            tally[EXPERTS + 2 * n + i] += 1.0


@kernel
def count_row(tally, losses, cost, own):
    """As `tally_row`, from Python."""
    tally_row(tally, losses, cost, own)


@kernel
def note(state, tally, weights, point):
    """A point of the curves: how the sums stand, what the player has seen, and where there is room the weights, the
    losses of the experts, and the mixture's in their rows."""
    n = np.int64(state[ARMS])
    regret = -np.inf
    for i in range(n):
        if tally[EXPERTS + 2 * n + i] + tally[EVERY_ROWS] > 0.0:
            regret = max(regret, tally[EXPERTS + n + i] + tally[EVERY_MIX] - tally[EXPERTS + i])
    point[0], point[1] = tally[SETTLED], tally[MIX]
    point[2] = regret if regret > -np.inf else 0.0
    best = state[HEADER]
    for i in range(1, n):
        best = min(best, state[HEADER + i])
    point[3], point[4] = state[OWN] - best, best
    # The sums of AdaHedge; of no meaning for others.
    point[5], point[6] = state[LEAST], state[MOST]
    point[7], point[8], point[9] = state[SPAN], state[VARIANCE], state[GAP]
    if point.size > POINT:
        for i in range(n):
            point[POINT + i] = weights[i]
            point[POINT + n + i] = tally[EXPERTS + i]
            point[POINT + 2 * n + i] = tally[EXPERTS + n + i] + tally[EVERY_MIX]
