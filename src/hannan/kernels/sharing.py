"""Fixed share: Bayes, then a little of everything, w_i <- (1 - a) w_i e^(-l_i/s)/sum + a/n.

The memory: steps taken in, the mix losses summed (the potential of the master identity), L as last seen.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from hannan.kernels.calling import at
from hannan.kernels.exponential import softmax
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
        share, inverse = state[PARAM0], 1.0 / scale
        least = np.inf
        for i in range(n):
            # For a moment the memory holds the step instead of L, then the factors.
            state[seen + i] = state[HEADER + i] - state[seen + i]
            least = min(least, state[seen + i])
        softmax(at(pointer, seen), at(pointer, seen), n, least, inverse)
        after = 0.0
        for i in range(n):
            state[w + i] *= state[seen + i]
            state[seen + i] = state[HEADER + i]
            after += state[w + i]
        state[first + 1] += least - scale * math.log(after / state[TOTAL])
        kept, even, total = (1.0 - share) / after, share / n, 0.0
        for i in range(n):
            state[w + i] = kept * state[w + i] + even
            total += state[w + i]
        state[TOTAL] = total
    state[VALUE] = state[first + 1]
    return 0.0
