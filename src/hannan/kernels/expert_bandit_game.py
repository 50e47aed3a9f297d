"""Whole games of bandits with experts."""

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
            j, listed = draw_action(s, n, actions, tree, heard, a, mixed)
            x = row[r * strides[0] + t * strides[1] + j]
            if env.size > 0:
                x = 1.0 if uniform(coins, 4 * r) < x else 0.0
            loss = (x - s[ORIGIN]) * s[SLOPE]
            status = settle_action(
                s, size, n, actions, path, tree, pointer, heard, a, mixed, j, listed, s[WEIGHT], loss
            )
            if status != FINE:
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
