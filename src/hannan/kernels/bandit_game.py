"""Whole bandit games: rounds outside, a handful of runs inside, so that their latencies overlap.

One loop; each kernel below fixes how the weights are kept, and LLVM drops the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.kernels import state as slots
from hannan.kernels.banditing import draw_arm, settle_arm
from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.drawing import draw, last_positive, pick, total
from hannan.kernels.exponential import bits_of, exp, float_of, softmax
from hannan.kernels.state import (
    BASE,
    ESTIMATOR,
    FINE,
    HEADER,
    INVERSE,
    ORIGIN,
    OWN,
    PRIOR,
    ROUND,
    SLOPE,
    STREAM,
    TOTAL,
    TREE,
    WEIGHT,
)
from hannan.kernels.streams import advance, uniform
from hannan.kernels.weighing import LARGEST, SMALLEST, entropy_anew, in_range

#: Runs that are interleaved.
TOGETHER = 8


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
                i = draw_arm(s, n, tree)
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


@step
def _side_by_side(first, states, size, n, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Eight runs of `few_arms`, each step for all eight before the next: their latencies overlap, and the eight
    divisions and exps are vectors. The same arithmetic as `draw_arm` and `settle_arm`."""
    per_run, per_round = strides[0], strides[1]
    drawn, length = env.size > 0, moves.shape[1]
    scratch = np.ones(4 * TOGETHER)
    arms = np.zeros(TOGETHER, dtype=np.int64)
    arm, mass, total_ = data_of(arms), data_of(scratch), at(data_of(scratch), np.int64(TOGETHER))
    x, y = at(total_, np.int64(TOGETHER)), at(total_, np.int64(2 * TOGETHER))
    row, tally, seen, coins = data_of(losses), data_of(counts), data_of(moves), data_of(env)
    k = 0
    for t in range(rounds):
        for g in range(TOGETHER):
            s = at(data_of(states), (first + g) * size)
            i = draw(s, HEADER + n, n, np.int64(0), uniform(s, np.int64(STREAM)))
            arm[g], mass[g], total_[g] = i, s[HEADER + n + i], s[TOTAL]
            s[ROUND] += 1.0
        for g in range(TOGETHER):
            y[g] = total_[g] / mass[g]
        for g in range(TOGETHER):
            r, i = first + g, arm[g]
            s = at(data_of(states), r * size)
            loss = row[r * per_run + t * per_round + i]
            if drawn:
                loss = 1.0 if uniform(coins, 4 * r) < loss else 0.0
            loss = (loss - s[ORIGIN]) * s[SLOPE]
            s[OWN] += loss
            estimated = s[HEADER + i] + loss * y[g]
            s[HEADER + i] = estimated
            x[g] = (s[BASE] - estimated) * s[INVERSE]
            tally[r * n + i] += 1
            if length > 0:
                seen[r * length + t] = i
        softmax(y, x, np.int64(TOGETHER), 0.0, -1.0)
        for g in range(TOGETHER):
            s = at(data_of(states), (first + g) * size)
            s[HEADER + n + arm[g]] = y[g]
            s[TOTAL] = total(s, np.int64(HEADER) + n, n)
            if not in_range(s, n):
                entropy_anew(s, n, np.int64(0))
        if k < ends.size and t + 1 == ends[k]:
            for g in range(TOGETHER):
                own[first + g, columns[k]] = states[(first + g) * size + OWN]
            k += 1


@step
def _alone(r, s, n, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """One run of `few_arms`, what it carries from round to round in registers: the same arithmetic again."""
    length, drawn = moves.shape[1], env.size > 0
    row, tally, seen, coins = data_of(losses), data_of(counts), data_of(moves), data_of(env)
    here = r * strides[0]
    base, inverse, origin, slope = s[BASE], s[INVERSE], s[ORIGIN], s[SLOPE]
    mass, paid = s[TOTAL], s[OWN]
    s0, s1, s2, s3 = bits_of(s[STREAM]), bits_of(s[STREAM + 1]), bits_of(s[STREAM + 2]), bits_of(s[STREAM + 3])
    w = np.int64(HEADER) + n
    k = 0
    end = ends[0] if ends.size > 0 else -1
    for t in range(rounds):
        u, s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        i = pick(s, w, n, u * mass)
        if i >= n:
            i = last_positive(s, w, n)
        weight = mass / s[w + i]
        x = row[here + i]
        here += strides[1]
        if drawn:
            x = 1.0 if uniform(coins, 4 * r) < x else 0.0
        loss = (x - origin) * slope
        paid += loss
        estimated = s[HEADER + i] + loss * weight
        s[HEADER + i] = estimated
        s[w + i] = exp((base - estimated) * inverse)
        mass = total(s, w, n)
        if not (SMALLEST < mass < LARGEST * n):
            entropy_anew(s, n, np.int64(0))
            base, mass = s[BASE], s[TOTAL]
        tally[r * n + i] += 1
        if length > 0:
            seen[r * length + t] = i
        if t + 1 == end:
            own[r, columns[k]] = paid
            k += 1
            end = ends[k] if k < ends.size else -1
    s[TOTAL], s[OWN] = mass, paid
    s[ROUND] += rounds
    s[STREAM], s[STREAM + 1], s[STREAM + 2], s[STREAM + 3] = float_of(s0), float_of(s1), float_of(s2), float_of(s3)


@kernel
def few_arms(s, size, runs, n, pointer, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Entropy at a constant scale, up to 64 arms: one exp a round."""
    if s[ESTIMATOR] != 0.0 or s[PRIOR] != 0.0:
        return _play(
            np.int64(slots.ENTROPY_ONE), np.int64(0), s, size, runs, n, pointer, losses, strides, env, rounds, ends,
            columns, own, counts, moves,
        )  # fmt: skip
    whole = runs - runs % TOGETHER
    for first in range(0, whole, TOGETHER):
        _side_by_side(first, s, size, n, losses, strides, env, rounds, ends, columns, own, counts, moves)
    for r in range(whole, runs):
        _alone(r, at(data_of(s), r * size), n, losses, strides, env, rounds, ends, columns, own, counts, moves)
    return np.int64(-1)


@kernel
def many_arms(s, size, runs, n, pointer, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Entropy at a constant scale, more arms: one exp and log n sums a round."""
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


def loop(path: int, has_tree: bool) -> Any:
    """The kernel for a path."""
    if path == slots.ENTROPY_ONE:
        return many_arms if has_tree else few_arms
    return {slots.ENTROPY: entropy, slots.TSALLIS_HALF: half, slots.POINTER: pointed}[path]
