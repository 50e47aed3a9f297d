"""The cumulative loss of every expert: L_i += x_{t, E_ti}, or <E_ti, x_t>, for all experts and every round.

Rounds are added in pairs, (x_t + x_{t+1}) first, so that the sixteen or fewer actions of a pair make one table of 256
sums, and an expert costs one look a pair. A block starts at an even round, so how a game is cut into blocks does not
change a bit; the best after an odd round is taken without adding that round.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import alive, at, data_of
from hannan.kernels.compile import aside, kernel, step

#: Actions of a pair of rounds that fit into a byte.
SMALL = 16


@aside
def _pair_table(table, x, actions, here, there):
    """table[16 i + j] = x[here + i] + x[there + j]."""
    for i in range(actions):
        for j in range(actions):
            table[SMALL * i + j] = x[here + i] + x[there + j]


@aside
def _pair_codes(codes, e, n):
    """16 E_i + E'_i, of the advice of two rounds that follow each other."""
    for i in range(n):
        codes[i] = SMALL * np.int64(e[i]) + np.int64(e[n + i])


@aside
def _two_pairs(total, n, first_table, first_codes, second_table, second_codes):
    """Two pairs of rounds at a time: the sums are read and written once."""
    for i in range(n):
        total[i] = (total[i] + first_table[np.int64(first_codes[i])]) + second_table[np.int64(second_codes[i])]


@aside
def _one_pair(total, n, table, codes):
    for i in range(n):
        total[i] += table[np.int64(codes[i])]


@step
def _loss(x, a, e, b, i, actions, mixed):
    """What expert i loses in the round whose losses are at x[a], its advice at e[b]."""
    if not mixed:
        return x[a + np.int64(e[b + i])]
    loss = 0.0
    for j in range(actions):
        loss += e[b + i * actions + j] * x[a + j]
    return loss


@aside
def _extremes(x, n):
    """(min x, max x), by four chains that do not wait for each other."""
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = x[0]
    for i in range(0, n - 3, 4):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        a0 = x0 if x0 < a0 else a0
        a1 = x1 if x1 < a1 else a1
        a2 = x2 if x2 < a2 else a2
        a3 = x3 if x3 < a3 else a3
        b0 = x0 if x0 > b0 else b0
        b1 = x1 if x1 > b1 else b1
        b2 = x2 if x2 > b2 else b2
        b3 = x3 if x3 > b3 else b3
    least, most = min(min(a0, a1), min(a2, a3)), max(max(b0, b1), max(b2, b3))
    for i in range(n - (n & 3), n):
        least, most = min(least, x[i]), max(most, x[i])
    return least, most


@kernel
def expert_losses(losses, first, stride, advice, n, actions, mixed, rounds, sums, ends, columns, least, most):
    """Add each expert's loss (its expected loss when mixed) to `sums`; least and most of them after ends[k].

    losses[first + stride t + j]: stride is 0 for means that do not change.
    """
    x, e, total = data_of(losses), data_of(advice), data_of(sums)
    span = n * actions if mixed else n
    tables, both = np.empty(2 * SMALL * SMALL), np.empty(2 * n, dtype=np.uint8)
    table, codes, after = data_of(tables), data_of(both), np.empty(n)
    quick = actions <= SMALL and not mixed
    t = 0
    for k in range(ends.size + 1):
        end = ends[k] if k < ends.size else rounds
        while quick and t + 4 <= end:
            for pair in range(2):
                a = first + stride * (t + 2 * pair)
                _pair_table(at(table, SMALL * SMALL * pair), x, actions, a, a + stride)
                _pair_codes(at(codes, n * pair), at(e, (t + 2 * pair) * n), n)
            _two_pairs(total, n, table, codes, at(table, np.int64(SMALL * SMALL)), at(codes, n))
            t += 4
        while quick and t + 2 <= end:
            a = first + stride * t
            _pair_table(table, x, actions, a, a + stride)
            _pair_codes(codes, at(e, t * n), n)
            _one_pair(total, n, table, codes)
            t += 2
        while t + 2 <= end:
            a, b = first + stride * t, t * span
            for i in range(n):
                pair_loss = _loss(x, a, e, b, i, actions, mixed) + _loss(x, a + stride, e, b + span, i, actions, mixed)
                total[i] += pair_loss
            t += 2
        if k < ends.size:
            now = total
            if t < end:
                now = data_of(after)
                for i in range(n):
                    now[i] = total[i] + _loss(x, first + stride * t, e, t * span, i, actions, mixed)
            least[columns[k]], most[columns[k]] = _extremes(now, n)
    if t < rounds:
        for i in range(n):
            total[i] += _loss(x, first + stride * t, e, t * span, i, actions, mixed)
    alive(tables)
    alive(both)
    alive(after)
