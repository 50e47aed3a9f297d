"""A round of AdaHedge: w_i ~ e^(-L_i / s), s = Delta / ln n, Delta the sum of the mixability gaps so far.

The gap is delta = <p, l> - m, m = -s log sum_i p_i e^(-l_i / s) = Phi_s(L + l) - Phi_s(L): the D_t of the master
identity. At Delta = 0 the scale is 0 and the play is even among the leaders. Losses are taken less their least
of the round, so a large offset costs no digits. The state is that of `kernels.state`; the slots below are spare
for this learner.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import aside, kernel, step
from hannan.kernels.drawing import draw, total
from hannan.kernels.experting import first_outside
from hannan.kernels.exponential import exp, softmax
from hannan.kernels.state import (
    ARMS,
    DRIFT,
    HEADER,
    HIGH,
    LEVEL,
    LOW,
    ORIGIN,
    OWN,
    PARAM0,
    PARAM1,
    PARAM2,
    PROBABILITY,
    ROUND,
    SCALE,
    SLOPE,
    STREAM,
    TOTAL,
    TUNE_A,
    TUNE_B,
    TUNE_C,
)
from hannan.kernels.streams import uniform, words

GAP = TUNE_A  #: Delta, the sum of the gaps; never falls, also where late feedback makes DRIFT do so
VARIANCE = PARAM0  #: V, the sum of the variances of the losses under p
SPAN = PARAM1  #: the largest span of one round
LEAST = PARAM2  #: the sum of the least losses of the rounds
MOST = TUNE_B  #: the sum of the greatest
PER_LOG_N = TUNE_C  #: 1 / ln n

#: Below this the scale is taken as 0: its inverse could overflow.
SMALLEST = 1e-300


def new_state(n: int, low: float, high: float, gains: bool, seed: int) -> NDArray[np.float64]:
    """The state before the first move: nothing seen, all alike."""
    state = np.zeros(HEADER + 4 * n)  # the last 2 n are scratch
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
    n = np.int64(state[ARMS])
    slope, scale = state[SLOPE], state[SCALE]
    x = at(data_of(state), HEADER + 2 * n)
    least, most = _signed(data_of(losses), slope, x, n)
    late = ticket.size == n
    p = data_of(ticket) if late else at(data_of(state), HEADER + n)
    share = 1.0 if late else 1.0 / state[TOTAL]
    # The loss of p above the least of the round, and its variance.
    mean = share * _above(p, x, least, n)
    variance = share * _squares(p, x, least + mean, n)
    mixed = _mix_loss(state, x, n, least, scale)
    gap = mean - mixed
    state[OWN] += least + mean
    state[VARIANCE] += variance
    state[SPAN] = max(state[SPAN], most - least)
    state[LEAST] += least
    state[MOST] += most
    state[DRIFT] += gap
    state[GAP] += max(gap, 0.0)
    # log p_i / p_i' = (l_i - m) / s at one scale, at most 1/s; a leader that changes at scale 0 has no bound.
    if most > least:
        if scale > 0.0:
            if state[LEVEL] * scale < 1.0:
                state[LEVEL] = max(state[LEVEL], (most - least - mixed) / scale / (most - least))
        elif gap > 0.0:
            state[LEVEL] = np.inf
    for i in range(n):
        state[HEADER + i] += x[i]
    _weigh(state, n, state[GAP] * state[PER_LOG_N] if state[GAP] > SMALLEST else 0.0)


@kernel
def game(state, n, pointer, losses, first, streams, totals, rounds, ends, columns, own, mean, best, counts, moves,
         fictitious):  # fmt: skip
    """Whole games: as `experts_game`, runs on the same losses share p_t and only draw. Losses as they are."""
    s, words = data_of(state), data_of(streams)
    runs = streams.size >> 2
    late = np.empty(0)
    k = 0
    for t in range(rounds):
        row = losses[first + t * n : first + (t + 1) * n]
        bad = first_outside(data_of(row), n, state[LOW], state[HIGH])
        if bad >= 0:
            return np.int64(t * n + bad)
        before = state[OWN]
        for r in range(runs):
            i = draw(s, HEADER + n, n, np.int64(0), uniform(words, 4 * r))
            totals[r] += row[i] * state[SLOPE]
            counts[r, i] += 1
            if moves.shape[1] > 0:
                moves[r, t] = i
        state[ROUND] += 1.0
        settle(state, row, late)
        totals[runs] += state[OWN] - before
        if k < ends.size and t + 1 == ends[k]:
            least = state[HEADER]
            for i in range(1, n):
                least = min(least, state[HEADER + i])
            for r in range(runs):
                own[r, columns[k]] = totals[r]
            mean[columns[k]] = totals[runs]
            best[columns[k]] = least
            k += 1
    return np.int64(-1)


@step
def _signed(losses, slope, x, n):
    """x = slope l; its least and greatest."""
    for i in range(n):
        x[i] = losses[i] * slope
    return _least(x, n), _greatest(x, n)


@step
def _least(x, n):
    """min_i x_i, four at a time: short chains."""
    a = b = c = d = x[0]
    whole = n - (n & 3)
    for i in range(0, whole, 4):
        a = x[i] if x[i] < a else a
        b = x[i + 1] if x[i + 1] < b else b
        c = x[i + 2] if x[i + 2] < c else c
        d = x[i + 3] if x[i + 3] < d else d
    for i in range(whole, n):
        a = x[i] if x[i] < a else a
    a, c = b if b < a else a, d if d < c else c
    return c if c < a else a


@step
def _greatest(x, n):
    """max_i x_i."""
    a = b = c = d = x[0]
    whole = n - (n & 3)
    for i in range(0, whole, 4):
        a = x[i] if x[i] > a else a
        b = x[i + 1] if x[i + 1] > b else b
        c = x[i + 2] if x[i + 2] > c else c
        d = x[i + 3] if x[i + 3] > d else d
    for i in range(whole, n):
        a = x[i] if x[i] > a else a
    a, c = b if b > a else a, d if d > c else c
    return c if c > a else a


@step
def _above(p, x, base, n):
    """sum_i p_i (x_i - base), four sums at a time: short chains."""
    a = b = c = d = 0.0
    whole = n - (n & 3)
    for i in range(0, whole, 4):
        a += p[i] * (x[i] - base)
        b += p[i + 1] * (x[i + 1] - base)
        c += p[i + 2] * (x[i + 2] - base)
        d += p[i + 3] * (x[i + 3] - base)
    for i in range(whole, n):
        a += p[i] * (x[i] - base)
    return (a + b) + (c + d)


@step
def _squares(p, x, base, n):
    """sum_i p_i (x_i - base)^2."""
    a = b = c = d = 0.0
    whole = n - (n & 3)
    for i in range(0, whole, 4):
        a += p[i] * (x[i] - base) ** 2
        b += p[i + 1] * (x[i + 1] - base) ** 2
        c += p[i + 2] * (x[i + 2] - base) ** 2
        d += p[i + 3] * (x[i + 3] - base) ** 2
    for i in range(whole, n):
        a += p[i] * (x[i] - base) ** 2
    return (a + b) + (c + d)


@step
def _log_near_one(k):
    """log k for k in (1/2, 1]: 2 atanh(z), z = (k - 1)/(k + 1), a short series near 1, where small steps lead."""
    if k < 0.9:
        return np.log(k)
    z = (k - 1.0) / (k + 1.0)
    y = z * z
    # z^2 <= 0.0028: the first term left out is below 1e-19 of the sum.
    series = 1.0 / 3.0 + y * (0.2 + y * (1.0 / 7.0 + y * (1.0 / 9.0 + y * (1.0 / 11.0 + y * (1.0 / 13.0 + y / 15.0)))))
    return 2.0 * (z + z * y * series)


@aside
def _mix_loss(state, x, n, least, scale):
    """m less the least loss of the round: Phi_s(L + x) - Phi_s(L) for the weights in place."""
    s = data_of(state)
    if scale > 0.0:
        shares = at(s, HEADER + 3 * n)
        softmax(shares, x, n, least, 1.0 / scale)
        kept = _above(at(s, HEADER + n), shares, 0.0, n) / state[TOTAL]
        if kept > 0.5:
            # Rounding here is some 1e-16 of the scale a round: nothing beside the gaps that made the scale.
            return -scale * _log_near_one(kept)
    # A step that moves most of the mass, or scale 0: from L itself, nothing underflows.
    base = _least(at(s, np.int64(HEADER)), n)
    lead = np.inf
    for i in range(n):
        lead = min(lead, (state[HEADER + i] - base) + (x[i] - least))
    if not scale > 0.0:
        return lead
    after = 0.0
    for i in range(n):
        after += exp((lead - ((state[HEADER + i] - base) + (x[i] - least))) / scale)
    return lead - scale * np.log(after / state[TOTAL])


@aside
def _weigh(state, n, scale):
    """w_i = e^((min L - L_i) / s), even among the leaders at s = 0."""
    s = data_of(state)
    base = _least(at(s, np.int64(HEADER)), n)
    state[SCALE] = scale
    if scale > 0.0:
        softmax(at(s, HEADER + n), at(s, np.int64(HEADER)), n, base, 1.0 / scale)
        state[TOTAL] = total(s, HEADER + n, n)
        return
    leaders = 0.0
    for i in range(n):
        leads = 1.0 * (state[HEADER + i] == base)
        state[HEADER + n + i] = leads
        leaders += leads
    state[TOTAL] = leaders
