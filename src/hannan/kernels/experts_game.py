"""Whole games with expert advice. The losses are seen, so runs on the same losses share p_t and only draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.kernels import state as slots
from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.drawing import draw
from hannan.kernels.experting import expected_loss, first_outside, settle_row
from hannan.kernels.state import FINE, HEADER, HIGH, LOW, ORIGIN, ROUND, SLOPE, TREE
from hannan.kernels.streams import uniform


@step
def _play(path, tree, state, n, pointer, losses, first, streams, totals, rounds, ends, columns, own, mean, best,
          counts, moves, fictitious):  # fmt: skip
    """Play `rounds` rounds of one learner state and of every run whose stream is in `streams` (4 words each).

    losses[first + t n + i] is the loss of expert i. totals[run] is a run's own loss, totals[runs] that of p_t
    (of p_{t+1} for the fictitious player, who plays at t what the learner plays at t + 1). After round
    ends[k], column columns[k] of own, mean, best gets a run's own loss, <p, l> summed, and min L.
    Returns -1; t n + i at a bad loss; -2 - t when a smoothing failed.
    """
    s = data_of(state)
    size = state.size
    row, words, tally, seen = data_of(losses), data_of(streams), data_of(counts), data_of(moves)
    runs = streams.size >> 2
    length = moves.shape[1]
    low, high, origin, slope = s[LOW], s[HIGH], s[ORIGIN], s[SLOPE]
    k = 0
    for t in range(rounds):
        a = first + t * n
        bad = first_outside(at(row, a), n, low, high)
        if bad >= 0:
            return np.int64(t * n + bad)
        now = expected_loss(s, row, a, n)
        s[ROUND] += 1.0
        if fictitious:
            if settle_row(s, size, n, path, tree, pointer, row, a, now) != FINE:
                return np.int64(-2 - t)
            now = expected_loss(s, row, a, n)
        for r in range(runs):
            i = draw(s, np.int64(HEADER) + n, n, tree, uniform(words, 4 * r))
            totals[r] += (row[a + i] - origin) * slope
            tally[r * n + i] += 1
            if length > 0:
                seen[r * length + t] = i
        totals[runs] += now
        if not fictitious and settle_row(s, size, n, path, tree, pointer, row, a, now) != FINE:
            return np.int64(-2 - t)
        if k < ends.size and t + 1 == ends[k]:
            for r in range(runs):
                own[r, columns[k]] = totals[r]
            mean[columns[k]] = totals[runs]
            least = s[HEADER]
            for i in range(1, n):
                least = min(least, s[HEADER + i])
            best[columns[k]] = least
            k += 1
    return np.int64(-1)


@kernel
def entropy(state, n, pointer, losses, first, streams, totals, rounds, ends, columns, own, mean, best, counts,
            moves, fictitious):  # fmt: skip
    """Hedge at a constant scale."""
    return _play(
        np.int64(slots.ENTROPY_TIMES), np.int64(state[TREE]), state, n, pointer, losses, first, streams, totals,
        rounds, ends, columns, own, mean, best, counts, moves, fictitious,
    )  # fmt: skip


@kernel
def general(state, n, pointer, losses, first, streams, totals, rounds, ends, columns, own, mean, best, counts,
            moves, fictitious):  # fmt: skip
    """Any smoothing, any scale."""
    return _play(
        np.int64(state[slots.PATH]), np.int64(state[TREE]), state, n, pointer, losses, first, streams, totals,
        rounds, ends, columns, own, mean, best, counts, moves, fictitious,
    )  # fmt: skip


def loop(path: int) -> Any:
    """The kernel for a path."""
    return entropy if path == slots.ENTROPY_TIMES else general
