"""Whole games of bandits with experts, and the cumulative loss of every expert."""

from __future__ import annotations

import numpy as np

from hannan.kernels import state as slots
from hannan.kernels.advising import draw_action, settle_action
from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.state import FINE, ORIGIN, OWN, SLOPE, TREE, WEIGHT
from hannan.kernels.streams import uniform


@step
def _play(path, mixed, states, size, runs, n, actions, pointer, losses, strides, env, advice, rounds, ends, columns,
          own, counts, moves):  # fmt: skip
    """As in a bandit's game; advice[t n + i], or advice[(t n + i) actions + j] when mixed, is for all runs."""
    row, coins, heard = data_of(losses), data_of(env), data_of(advice)
    tally, seen = data_of(counts), data_of(moves)
    length = moves.shape[1]
    tree = np.int64(states[TREE])
    span = n * actions if mixed else n
    for r in range(runs):
        s = at(data_of(states), r * size)
        k = 0
        for t in range(rounds):
            a = t * span
            j = draw_action(s, n, actions, tree, heard, a, mixed)
            x = row[r * strides[0] + t * strides[1] + j]
            if env.size > 0:
                x = 1.0 if uniform(coins, 4 * r) < x else 0.0
            loss = (x - s[ORIGIN]) * s[SLOPE]
            if settle_action(s, size, n, actions, path, tree, pointer, heard, a, mixed, j, s[WEIGHT], loss) != FINE:
                return t
            tally[r * actions + j] += 1
            if length > 0:
                seen[r * length + t] = j
            if k < ends.size and t + 1 == ends[k]:
                own[r, columns[k]] = s[OWN]
                k += 1
    return np.int64(-1)


@kernel
def play(states, size, runs, n, actions, pointer, losses, strides, env, advice, mixed, rounds, ends, columns, own,
         counts, moves):  # fmt: skip
    """Advice as actions or, `mixed`, as distributions over actions."""
    return _play(
        np.int64(states[slots.PATH]), mixed, states, size, runs, n, actions, pointer, losses, strides, env, advice,
        rounds, ends, columns, own, counts, moves,
    )  # fmt: skip


@kernel
def expert_losses(losses, first, stride, advice, n, actions, mixed, rounds, sums, ends, columns, least, most):
    """Add each expert's loss (its expected loss when mixed) to `sums`; least and most of them after ends[k].

    losses[first + stride t + j]: stride is 0 for means that do not change.
    """
    x, e, total = data_of(losses), data_of(advice), data_of(sums)
    t = 0
    for k in range(ends.size + 1):
        end = ends[k] if k < ends.size else rounds
        if mixed:
            for u in range(t, end):
                a = first + stride * u
                for i in range(n):
                    b = (u * n + i) * actions
                    for j in range(actions):
                        total[i] += e[b + j] * x[a + j]
        else:
            while t + 4 <= end:
                # Four rounds at a time, added in their order: the sums are read and written once.
                a0, b0 = first + stride * t, t * n
                a1, a2, a3 = a0 + stride, a0 + 2 * stride, a0 + 3 * stride
                b1, b2, b3 = b0 + n, b0 + 2 * n, b0 + 3 * n
                for i in range(n):
                    sum_ = total[i] + x[a0 + np.int64(e[b0 + i])]
                    sum_ += x[a1 + np.int64(e[b1 + i])]
                    sum_ += x[a2 + np.int64(e[b2 + i])]
                    total[i] = sum_ + x[a3 + np.int64(e[b3 + i])]
                t += 4
            while t < end:
                a, b = first + stride * t, t * n
                for i in range(n):
                    total[i] += x[a + np.int64(e[b + i])]
                t += 1
        t = end
        if k < ends.size:
            small = large = total[0]
            for i in range(1, n):
                small = min(small, total[i])
                large = max(large, total[i])
            least[columns[k]] = small
            most[columns[k]] = large
