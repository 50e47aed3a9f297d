"""AdaHedge's steps and whole games, in the state of `kernels.state`; the round itself is `kernels.adahedge_round`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hannan.kernels.adahedge_round import (
    PER_LOG_N,
    VARIANCE,
    begin,
    draw_row,
    finish,
    losses_at,
    meet_row,
    move_on,
    padded,
    weights_at,
)
from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import kernel
from hannan.kernels.drawing import draw
from hannan.kernels.experting import first_outside
from hannan.kernels.lanes import span, squares
from hannan.kernels.state import ARMS, HEADER, HIGH, LOW, ORIGIN, PROBABILITY, ROUND, SLOPE, STREAM, TOTAL
from hannan.kernels.streams import uniform, words


def new_state(n: int, low: float, high: float, gains: bool, seed: int) -> NDArray[np.float64]:
    """The state before the first move: nothing seen, all alike."""
    state = np.zeros(HEADER + 2 * n + 3 * (n + (-n & 3)))  # the last three rows are scratch
    state[ARMS], state[LOW], state[HIGH] = n, low, high
    state[ORIGIN], state[SLOPE] = 0.0, -1.0 if gains else 1.0
    state[HEADER + n : HEADER + 2 * n] = 1.0
    state[TOTAL], state[PER_LOG_N] = n, 1.0 / np.log(n) if n > 1 else 0.0
    state.view(np.uint64)[STREAM : STREAM + 4] = words(seed, 0)
    return state


@kernel
def make_ready(state, pointer, diagnose):
    """Nothing to do: the scale moves with the losses only."""
    return 0


@kernel
def experts_act(state, pointer, diagnose):
    """Draw an expert; its probability is PROBABILITY."""
    n = np.int64(state[ARMS])
    i = draw(data_of(state), HEADER + n, n, np.int64(0), uniform(data_of(state), np.int64(STREAM)))
    state[PROBABILITY] = state[HEADER + n + i] / state[TOTAL]
    state[ROUND] += 1.0
    return np.int64(i)


@kernel
def experts_observe(state, pointer, losses, ticket, diagnose):
    """Add a row of losses. `ticket` is the distribution of a late move, or empty for the one in place.

    Returns -1, or the index of the first bad loss (nothing moved).
    """
    bad = first_outside(data_of(losses), np.int64(state[ARMS]), state[LOW], state[HIGH])
    if bad >= 0:
        return np.int64(bad)
    settle(state, losses, ticket)
    return np.int64(-1)


@kernel
def settle(state, losses, ticket):
    """Add a row of losses that is known to be good."""
    s, n = data_of(state), np.int64(state[ARMS])
    carry = begin(s, n)
    x = losses_at(s, n)
    for i in range(n):
        x[i] = losses[i] * state[SLOPE]
    least, most = span(x, n)
    mass, kept, above = meet_row(s, n, carry, least)
    share = 1.0 / mass
    if ticket.size == n:
        # A late move: what met the losses is not in place.
        share, above = 1.0, 0.0
        for i in range(n):
            above += ticket[i] * (x[i] - least)
        for i in range(n):
            state[VARIANCE] += ticket[i] * (x[i] - (least + above)) ** 2
    else:
        state[VARIANCE] += share * squares(weights_at(s, n), x, least + share * above, padded(n))
    finish(s, n, move_on(s, n, carry, least, most, mass, kept, above, share))


@kernel
def game(state, n, pointer, losses, first, streams, totals, rounds, ends, columns, own, mean, best, counts, moves,
         fictitious):  # fmt: skip
    """Whole games: as `experts_game`, runs on the same losses share p_t and only draw. Losses as they are."""
    s, words = data_of(state), data_of(streams)
    runs = streams.size >> 2
    k = 0
    carry = begin(s, n)
    x, w, m, slope = losses_at(s, n), weights_at(s, n), padded(n), state[SLOPE]
    for t in range(rounds):
        row = at(data_of(losses), first + t * n)
        bad = first_outside(row, n, state[LOW], state[HIGH])
        if bad >= 0:
            finish(s, n, carry)
            return np.int64(t * n + bad)
        for i in range(n):
            x[i] = row[i] * slope
        least, most = span(x, n)
        mass, kept, above = meet_row(s, n, carry, least)
        share, before = 1.0 / mass, carry[4]
        carry = move_on(s, n, carry, least, most, mass, kept, above, share)
        state[VARIANCE] += share * squares(w, x, least + share * above, m)
        state[ROUND] += 1.0
        for r in range(runs):
            i = draw_row(s, n, mass, uniform(words, 4 * r))
            totals[r] += x[i]
            counts[r, i] += 1
            if moves.shape[1] > 0:
                moves[r, t] = i
        totals[runs] += carry[4] - before
        if k < ends.size and t + 1 == ends[k]:
            for r in range(runs):
                own[r, columns[k]] = totals[r]
            mean[columns[k]] = totals[runs]
            best[columns[k]] = carry[2]
            k += 1
    finish(s, n, carry)
    return np.int64(-1)
