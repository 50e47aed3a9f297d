"""A look at a block of losses before it is played: every entry in range, and the cumulative loss of every arm.

Each arm's sum is made in the order of the rounds, so a record does not depend on how a game was cut into blocks;
eight arms are summed side by side.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import aside, kernel
from hannan.kernels.streams import uniform


@aside
def _outside(x, count, low, high):
    """How many of x[0..count) are outside [low, high] or NaN."""
    bad = 0
    for i in range(count):
        bad += not (low <= x[i] <= high)
    return bad


@aside
def _sum_rows(x, rounds, n, total):
    """total_i += x[t n + i] for t = 0, 1, ..."""
    whole = n - (n & 7)
    for j in range(0, whole, 8):
        a0, a1, a2, a3 = total[j], total[j + 1], total[j + 2], total[j + 3]
        a4, a5, a6, a7 = total[j + 4], total[j + 5], total[j + 6], total[j + 7]
        k = j
        for _ in range(rounds):
            a0 += x[k]
            a1 += x[k + 1]
            a2 += x[k + 2]
            a3 += x[k + 3]
            a4 += x[k + 4]
            a5 += x[k + 5]
            a6 += x[k + 6]
            a7 += x[k + 7]
            k += n
        total[j], total[j + 1], total[j + 2], total[j + 3] = a0, a1, a2, a3
        total[j + 4], total[j + 5], total[j + 6], total[j + 7] = a4, a5, a6, a7
    # The rest in fours, twos, one: each sum waits for its last addition, so they wait together.
    j = whole
    if n - j >= 4:
        a0, a1, a2, a3 = total[j], total[j + 1], total[j + 2], total[j + 3]
        k = j
        for _ in range(rounds):
            a0 += x[k]
            a1 += x[k + 1]
            a2 += x[k + 2]
            a3 += x[k + 3]
            k += n
        total[j], total[j + 1], total[j + 2], total[j + 3] = a0, a1, a2, a3
        j += 4
    if n - j >= 2:
        a0, a1 = total[j], total[j + 1]
        k = j
        for _ in range(rounds):
            a0 += x[k]
            a1 += x[k + 1]
            k += n
        total[j], total[j + 1] = a0, a1
        j += 2
    if n > j:
        a0 = total[j]
        for t in range(rounds):
            a0 += x[t * n + j]
        total[j] = a0


@kernel
def survey(losses, first, rounds, n, low, high, sums, ends, columns, least, most):
    """Check losses[first .. first + rounds n) and add its rows to `sums` (n,).

    After row ends[k] (counted from 1, ascending), least[columns[k]] and most[columns[k]] are the least and
    the most of `sums`. Returns -1, or the flat position of the first bad entry.
    """
    x, total = data_of(losses), data_of(sums)
    t = 0
    for k in range(ends.size + 1):
        end = ends[k] if k < ends.size else rounds
        here = at(x, first + t * n)
        if _outside(here, (end - t) * n, low, high) > 0:
            for a in range(first + t * n, first + end * n):
                if not (low <= x[a] <= high):
                    return np.int64(a)
        _sum_rows(here, end - t, n, total)
        t = end
        if k < ends.size:
            small = large = total[0]
            for i in range(1, n):
                small = min(small, total[i])
                large = max(large, total[i])
            least[columns[k]] = small
            most[columns[k]] = large
    return np.int64(-1)


@kernel
def toss(coins, means, stride, rounds, n, out):
    """out[t n + i] = 1 with probability means[stride t + i], else 0."""
    s, m, x = data_of(coins), data_of(means), data_of(out)
    for t in range(rounds):
        for i in range(n):
            x[t * n + i] = 1.0 if uniform(s, np.int64(0)) < m[stride * t + i] else 0.0
