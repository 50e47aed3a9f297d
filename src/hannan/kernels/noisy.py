"""Leaders of noisy sums: the noise is drawn as the game goes, and stays.

    dropout      leader of sum_t Bernoulli((1 - a) l_{t,i}): a loss is heard, whole, or dropped
    random walk  leader of L_i + Z_i, each Z_i a walk of steps +-1/2, one more before every round

Given its noise such a learner plays a leader, even among several (for the walk, among those that led before if
any still does): that is the distribution in place. What a bound speaks of is its mean over the noise. The
memory: steps taken in, the four words of the noise, then L as last seen and the sums heard, or Z.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from hannan.kernels.calling import data_of
from hannan.kernels.compile import aside
from hannan.kernels.state import HEADER, MEMORY, PARAM0, SETTLED, TOTAL, VALUE
from hannan.kernels.streams import uniform


@aside
def _lead(state, n, scores, loyal):
    """w = 1 for those of least score; with `loyal`, only for those that led before, if any of them is left."""
    w = HEADER + n
    least = scores[0]
    for i in range(1, n):
        least = min(least, scores[i])
    left = 0.0
    for i in range(n):
        left += scores[i] == least and state[w + i] > 0.0
    faithful = loyal and left > 0.0
    total = 0.0
    for i in range(n):
        leads = scores[i] == least and (state[w + i] > 0.0 or not faithful)
        state[w + i] = 1.0 * leads
        total += state[w + i]
    state[TOTAL] = total
    state[VALUE] = np.nan


def dropout(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    first = np.int64(state[MEMORY])
    seen, heard = first + 5, first + 5 + n
    if state[first] < 0.0:
        state[first] = 0.0
    if state[SETTLED] != state[first]:
        state[first] = state[SETTLED]
        kept = 1.0 - state[PARAM0]
        for i in range(n):
            u = uniform(data_of(state), first + 1)
            state[heard + i] += u < kept * (state[HEADER + i] - state[seen + i])
            state[seen + i] = state[HEADER + i]
    _lead(state, n, state[heard : heard + n], False)
    return 0.0


def random_walk(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    first = np.int64(state[MEMORY])
    walk = first + 5
    if state[SETTLED] != state[first]:
        state[first] = state[SETTLED]
        for i in range(n):
            state[walk + i] += 0.5 if uniform(data_of(state), first + 1) < 0.5 else -0.5
    _lead(state, n, state[walk : walk + n] + state[HEADER : HEADER + n], True)
    return 0.0
