"""Whole bandit games: rounds outside, a handful of runs inside, so that their latencies overlap.

One loop; each kernel below fixes how the weights are kept, and LLVM drops the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.kernels import state as slots
from hannan.kernels.banditing import draw_arm, settle_arm
from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.few_arms import TOGETHER, few_arms
from hannan.kernels.state import ESTIMATOR, FINE, ORIGIN, OWN, PATH, PRIOR, SLOPE, TREE, WEIGHT
from hannan.kernels.streams import uniform


@step
def _play(
    path,
    tree,
    states,
    size,
    runs,
    n,
    pointer,
    losses,
    strides,
    env,
    rounds,
    ends,
    columns,
    own,
    counts,
    moves,
):
    """Play `rounds` rounds of the runs of `states`; returns -1, or the round at which a smoothing failed.

    losses[strides[0] * run + strides[1] * t + i] is the loss of arm i or, when env is not empty, its mean,
    the loss being drawn from the stream env[4 run ..]. own[run, columns[k]] is the own loss after round
    ends[k]; moves[run, t] the arm drawn, when it is not empty.
    """
    per_run, per_round = strides[0], strides[1]
    drawn = env.size > 0
    kept = moves.shape[1] > 0
    row, column, tally, seen, coins = (
        data_of(losses),
        data_of(own),
        data_of(counts),
        data_of(moves),
        data_of(env),
    )
    width, length = own.shape[1], moves.shape[1]
    marks = ends.size
    for first in range(0, runs, TOGETHER):
        last = min(runs, first + TOGETHER)
        k = 0
        for t in range(rounds):
            for r in range(first, last):
                s = at(data_of(states), r * size)
                i = draw_arm(s, n, path, tree)
                x = row[r * per_run + t * per_round + i]
                if drawn:
                    x = 1.0 if uniform(coins, 4 * r) < x else 0.0
                loss = (x - s[ORIGIN]) * s[SLOPE]
                if settle_arm(s, size, n, path, tree, pointer, i, s[WEIGHT], loss) != FINE:
                    return t
                tally[r * n + i] += 1
                if kept:
                    seen[r * length + t] = i
            if k < marks and t + 1 == ends[k]:
                for r in range(first, last):
                    column[r * width + columns[k]] = states[r * size + OWN]
                k += 1
    return np.int64(-1)


@kernel
def one_weight(s, size, runs, n, pointer, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Entropy at a constant scale: one exp and, from TREE_FROM arms on, log n sums a round."""
    return _play(
        np.int64(slots.ENTROPY_ONE), np.int64(s[TREE]), s, size, runs, n, pointer, losses, strides, env, rounds,
        ends, columns, own, counts, moves,
    )  # fmt: skip


@kernel
def entropy(s, size, runs, n, pointer, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Entropy at a scale that changes: all weights each round."""
    return _play(
        np.int64(slots.ENTROPY), np.int64(s[TREE]), s, size, runs, n, pointer, losses, strides, env, rounds,
        ends, columns, own, counts, moves,
    )  # fmt: skip


@kernel
def half(s, size, runs, n, pointer, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Tsallis 1/2."""
    return _play(
        np.int64(slots.TSALLIS_HALF), np.int64(0), s, size, runs, n, pointer, losses, strides, env, rounds, ends,
        columns, own, counts, moves,
    )  # fmt: skip


@kernel
def pointed(s, size, runs, n, pointer, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Any smoothing that is a C pointer."""
    return _play(
        np.int64(slots.POINTER), np.int64(0), s, size, runs, n, pointer, losses, strides, env, rounds, ends,
        columns, own, counts, moves,
    )  # fmt: skip


def loop(state: NDArray[np.float64]) -> Any:
    """The kernel that plays a state."""
    path = int(state[PATH])
    if path == slots.ENTROPY_ONE:
        plain = state[TREE] == state[ESTIMATOR] == state[PRIOR] == 0.0
        return few_arms if plain else one_weight
    return {slots.ENTROPY: entropy, slots.TSALLIS_HALF: half, slots.POINTER: pointed}[path]
