"""Those who advise an action: their weight, and L_i += estimate, w_i *= factor for them alone.

Two ways. With few actions many advise the one that is played: one pass over all experts, in sixteens, under a mask.
From FEW_FOLLOW actions on few do: they are listed once a round (at SCRATCH, as whole numbers), and only they are
touched.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import at, words_at
from hannan.kernels.compile import step
from hannan.kernels.drawing import grow_on, total
from hannan.kernels.state import FAN, HEADER, SCRATCH, TOTAL
from hannan.kernels.vectors import first_one, hits64, masked_sum16, masked_update16, ones

#: Measured with 1,000 experts: below, a pass over all is faster.
FEW_FOLLOW = 6
_ONE = np.uint64(1)


@step
def mass_of_all(s, n, advice, j):
    """The weight of the experts who advise action j."""
    w = at(s, HEADER + n)
    sum_ = 0.0
    whole = n - (n & (FAN - 1))
    for i in range(0, whole, FAN):
        sum_ += masked_sum16(at(w, i), at(advice, i), j)
    for i in range(whole, n):
        sum_ += w[i] if advice[i] == j else 0.0
    return sum_


@step
def add_to_all(s, n, tree, advice, j, estimate, factor):
    """L_i += estimate and w_i *= factor where expert i advises j; TOTAL and the partial sums, in one pass."""
    low, w = at(s, np.int64(HEADER)), at(s, HEADER + n)
    whole = n - (n & (FAN - 1))
    for i in range(0, whole, FAN):
        sum_ = masked_update16(at(w, i), at(low, i), at(advice, i), j, estimate, factor)
        if tree > 0:
            s[tree + (i >> 4)] = sum_
    for i in range(whole, n):
        if advice[i] == j:
            low[i] += estimate
            w[i] *= factor
    if tree > 0:
        if n > whole:
            s[tree + (whole >> 4)] = total(w, whole, n - whole)
        s[TOTAL] = grow_on(s, HEADER + n, n, tree)
    else:
        s[TOTAL] = total(s, HEADER + n, n)


@step
def followers(s, n, actions, advice, a, j):
    """List who advises action j; returns how many they are."""
    who = words_at(at(s, np.int64(s[SCRATCH])))
    count = 0
    whole = n - (n & 63)
    burst = 4 + 60 // actions
    for c in range(0, whole, 64):
        bits = hits64(at(advice, a + c), j)
        more = count + ones(bits)
        # So many without a branch: most often that is all of them, and what is too much is written over.
        for k in range(count, count + burst):
            who[k] = c + first_one(bits)
            bits &= bits - _ONE
        for k in range(count + burst, more):
            who[k] = c + first_one(bits)
            bits &= bits - _ONE
        count = more
    if n < 64:
        for i in range(n):
            who[count] = i
            count += advice[a + i] == j
    elif n > whole:
        # The last 64 again, without those seen; no burst, for it could pass the end of the list.
        seen = np.uint64(64 - (n - whole))
        bits = (hits64(at(advice, a + n - 64), j) >> seen) << seen
        more = count + ones(bits)
        for k in range(count, more):
            who[k] = n - 64 + first_one(bits)
            bits &= bits - _ONE
        count = more
    return count


@step
def mass_of_list(s, n, count):
    """The weight of those listed, in four sums."""
    w, who = at(s, HEADER + n), words_at(at(s, np.int64(s[SCRATCH])))
    t0 = t1 = t2 = t3 = 0.0
    whole = count - (count & 3)
    for k in range(0, whole, 4):
        t0 += w[who[k]]
        t1 += w[who[k + 1]]
        t2 += w[who[k + 2]]
        t3 += w[who[k + 3]]
    for k in range(whole, count):
        t0 += w[who[k]]
    return (t0 + t1) + (t2 + t3)


@step
def add_to_list(s, n, count, estimate, factor):
    """L_i += estimate and w_i *= factor for those listed; TOTAL is left behind."""
    low, w, who = at(s, np.int64(HEADER)), at(s, HEADER + n), words_at(at(s, np.int64(s[SCRATCH])))
    for k in range(count):
        i = who[k]
        low[i] += estimate
        w[i] *= factor
