"""Fixed share: Bayes, then a little of everything, w_i <- (1 - a) w_i e^(-l_i/s)/sum + a/n.

The memory: steps taken in, the mix losses summed (the potential of the master identity), L as last seen.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from hannan.kernels.state import HEADER, MEMORY, PARAM0, SETTLED, TOTAL, VALUE


def fixed_share(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    first = np.int64(state[MEMORY])
    seen, w = first + 2, HEADER + n
    if state[first] < 0.0:
        state[first] = 0.0
        for i in range(n):
            state[w + i] = 1.0 / n
        state[TOTAL] = 1.0
    if state[SETTLED] != state[first]:
        state[first] = state[SETTLED]
        share = state[PARAM0]
        least = np.inf
        for i in range(n):
            least = min(least, state[HEADER + i] - state[seen + i])
        after = 0.0
        for i in range(n):
            state[w + i] *= math.exp((least - (state[HEADER + i] - state[seen + i])) / scale)
            after += state[w + i]
        state[first + 1] += least - scale * math.log(after / state[TOTAL])
        total = 0.0
        for i in range(n):
            state[seen + i] = state[HEADER + i]
            state[w + i] = (1.0 - share) * (state[w + i] / after) + share / n
            total += state[w + i]
        state[TOTAL] = total
    state[VALUE] = state[first + 1]
    return 0.0
