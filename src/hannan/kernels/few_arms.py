"""w_i = e^((BASE - L_i)/scale): whole softmax bandit games at a constant scale, where one weight changes a round.

A round waits for the round before it, so what counts is the longest chain from one weight to the next. The partial
sums leave out the arm just drawn and are made while its exp is; the new weight is then added once, everywhere at a
time. The same arithmetic as `draw_arm` and `settle_arm`, bit for bit: weights are kept in fours, zeros at the end.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import aligned, alive, at, data_of
from hannan.kernels.compile import aside, kernel, step
from hannan.kernels.drawing import last_positive
from hannan.kernels.exponential import bits_of, exp, float_of, fused, softmax
from hannan.kernels.state import ARM, BASE, HEADER, INVERSE, ORIGIN, OWN, ROUND, SLOPE, STREAM, TOTAL, TREE_FROM
from hannan.kernels.streams import advance, uniform
from hannan.kernels.vectors import count4, prefetch, scan4
from hannan.kernels.weighing import LARGEST, SMALLEST, entropy_anew

#: Runs that are interleaved.
TOGETHER = 8
#: Room for the weights of a run, in fours.
ROOM = TREE_FROM + 3


@step
def _scan(sums, w, n, skip):
    """Partial sums of all weights but one; returns their sum."""
    rest = 0.0
    for j in range(0, n, 4):
        rest = scan4(at(sums, j), at(w, j), rest, j, skip)
    return rest


@step
def _pick(sums, n, skipped, weight, u):
    """How many partial sums are at most u, once the weight left out is added from its place on."""
    k = 0
    for j in range(0, n, 4):
        k += count4(at(sums, j), j, skipped, weight, u)
    return k


@step
def _begin(s, w, sums, n):
    """Copy the weights of a state; returns (the arm left out, its weight, the sum of all)."""
    for j in range(n):
        w[j] = s[HEADER + n + j]
    last = np.int64(s[ARM])
    return last, w[last], _scan(sums, w, n, last) + w[last]


@step
def _end(s, w, n, last, mass, rounds):
    """Copy the weights back."""
    for j in range(n):
        s[HEADER + n + j] = w[j]
    s[ARM], s[TOTAL] = np.float64(last), mass
    s[ROUND] += rounds


@aside
def _anew(s, w, sums, n, last):
    """BASE moved to min L, all weights made again; returns their sum."""
    entropy_anew(s, n, np.int64(0))
    for j in range(n):
        w[j] = s[HEADER + n + j]
    return _scan(sums, w, n, last) + w[last]


@step
def _alone(r, s, n, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """One run, what it carries from round to round in registers."""
    length, drawn = moves.shape[1], env.size > 0
    row, tally, seen, coins = data_of(losses), at(data_of(counts), r * n), data_of(moves), data_of(env)
    room = np.zeros(3 * ROOM + 8)
    w = aligned(data_of(room))
    sums, inverses = at(w, np.int64(ROOM)), at(w, np.int64(2 * ROOM))
    last, fresh, mass = _begin(s, w, sums, n)
    for j in range(n):
        inverses[j] = 1.0 / w[j]
    here = r * strides[0]
    base, inverse, origin, slope, paid = s[BASE], s[INVERSE], s[ORIGIN], s[SLOPE], s[OWN]
    s0, s1, s2, s3 = bits_of(s[STREAM]), bits_of(s[STREAM + 1]), bits_of(s[STREAM + 2]), bits_of(s[STREAM + 3])
    k = 0
    end = ends[0] if ends.size > 0 else -1
    for t in range(rounds):
        u, s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        i = _pick(sums, n, last, fresh, u * mass)
        if i >= n:
            i = last_positive(w, np.int64(0), n)
        x = row[here + i]
        here += strides[1]
        prefetch(at(row, here + 16 * strides[1]))
        if drawn:
            x = 1.0 if uniform(coins, 4 * r) < x else 0.0
        loss = (x - origin) * slope
        paid += loss
        estimated = fused(loss, mass * inverses[i], s[HEADER + i])
        s[HEADER + i] = estimated
        rest = _scan(sums, w, n, i)
        last, fresh = i, exp((base - estimated) * inverse)
        w[i] = fresh
        inverses[i] = 1.0 / fresh
        mass = rest + fresh
        if not (SMALLEST < mass < LARGEST * n):
            mass = _anew(s, w, sums, n, i)
            base, fresh = s[BASE], w[i]
            for j in range(n):
                inverses[j] = 1.0 / w[j]
        tally[i] += 1
        if length > 0:
            seen[r * length + t] = i
        if t + 1 == end:
            own[r, columns[k]] = paid
            k += 1
            end = ends[k] if k < ends.size else -1
    _end(s, w, n, last, mass, rounds)
    s[OWN] = paid
    s[STREAM], s[STREAM + 1], s[STREAM + 2], s[STREAM + 3] = float_of(s0), float_of(s1), float_of(s2), float_of(s3)
    alive(room)


@step
def _side_by_side(first, states, size, n, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Eight runs, each step for all eight before the next: their latencies overlap, and the eight divisions and
    exps are vectors."""
    per_run, per_round = strides[0], strides[1]
    drawn, length = env.size > 0, moves.shape[1]
    room = np.zeros(2 * ROOM * TOGETHER + 8)
    weights = aligned(data_of(room))
    scratch = np.ones(4 * TOGETHER)
    drawn_arms = np.zeros(TOGETHER, dtype=np.int64)
    arm, fresh, mass = data_of(drawn_arms), data_of(scratch), at(data_of(scratch), np.int64(TOGETHER))
    x, y = at(mass, np.int64(TOGETHER)), at(mass, np.int64(2 * TOGETHER))
    row, tally, seen, coins = data_of(losses), data_of(counts), data_of(moves), data_of(env)
    for g in range(TOGETHER):
        w = at(weights, 2 * ROOM * g)
        s = at(data_of(states), (first + g) * size)
        arm[g], fresh[g], mass[g] = _begin(s, w, at(w, np.int64(ROOM)), n)
    k = 0
    for t in range(rounds):
        for g in range(TOGETHER):
            s = at(data_of(states), (first + g) * size)
            w = at(weights, 2 * ROOM * g)
            sums = at(w, np.int64(ROOM))
            i = _pick(sums, n, arm[g], fresh[g], uniform(s, np.int64(STREAM)) * mass[g])
            if i >= n:
                i = last_positive(w, np.int64(0), n)
            arm[g], y[g] = i, w[i]
        for g in range(TOGETHER):
            y[g] = mass[g] * (1.0 / y[g])
        for g in range(TOGETHER):
            r, i = first + g, arm[g]
            s = at(data_of(states), r * size)
            loss = row[r * per_run + t * per_round + i]
            if drawn:
                loss = 1.0 if uniform(coins, 4 * r) < loss else 0.0
            loss = (loss - s[ORIGIN]) * s[SLOPE]
            s[OWN] += loss
            estimated = fused(loss, y[g], s[HEADER + i])
            s[HEADER + i] = estimated
            x[g] = (s[BASE] - estimated) * s[INVERSE]
            tally[r * n + i] += 1
            if length > 0:
                seen[r * length + t] = i
        for g in range(TOGETHER):
            # Before the new weight is known: the others.
            w = at(weights, 2 * ROOM * g)
            fresh[g] = _scan(at(w, np.int64(ROOM)), w, n, arm[g])
        softmax(y, x, np.int64(TOGETHER), 0.0, -1.0)
        for g in range(TOGETHER):
            mass[g] = fresh[g] + y[g]
            fresh[g] = y[g]
        for g in range(TOGETHER):
            w = at(weights, 2 * ROOM * g)
            w[arm[g]] = y[g]
            if not (SMALLEST < mass[g] < LARGEST * n):
                mass[g] = _anew(at(data_of(states), (first + g) * size), w, at(w, np.int64(ROOM)), n, arm[g])
                fresh[g] = w[arm[g]]
        if k < ends.size and t + 1 == ends[k]:
            for g in range(TOGETHER):
                own[first + g, columns[k]] = states[(first + g) * size + OWN]
            k += 1
    for g in range(TOGETHER):
        _end(at(data_of(states), (first + g) * size), at(weights, 2 * ROOM * g), n, arm[g], mass[g], rounds)
    alive(room)
    alive(scratch)
    alive(drawn_arms)


@kernel
def few_arms(s, size, runs, n, pointer, losses, strides, env, rounds, ends, columns, own, counts, moves):
    """Entropy at a constant scale, exact weights, no prior: one exp a round."""
    whole = runs - runs % TOGETHER
    for first in range(0, whole, TOGETHER):
        _side_by_side(first, s, size, n, losses, strides, env, rounds, ends, columns, own, counts, moves)
    for r in range(whole, runs):
        _alone(r, at(data_of(s), r * size), n, losses, strides, env, rounds, ends, columns, own, counts, moves)
    return np.int64(-1)
