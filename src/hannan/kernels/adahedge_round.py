"""A round of AdaHedge in registers: w_i ~ e^(-L_i / s), s = Delta / ln n, Delta the sum of the mixability gaps so far.

The gap is delta = <p, l> - m, m = -s log sum_i p_i e^(-l_i / s) = Phi_s(L + l) - Phi_s(L): the D_t of the master
identity. At Delta = 0 the scale is 0 and the play is even among the leaders. Losses are taken less their least
of the round, so a large offset costs no digits. The state is that of `kernels.state`; the slots below are spare
for this learner, and behind L and w there is room for L, w and the losses of a round once more, padded for
`kernels.lanes`. Rounds are played there, by `begin`, any number of `meet_row` and `move_on`, and `finish`: what a
round waits for stays in registers, and a table, a game and a live player make the same weights, bit for bit.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import at
from hannan.kernels.compile import aside, step
from hannan.kernels.drawing import last_positive, pick
from hannan.kernels.exponential import exp
from hannan.kernels.lanes import add, meet, weigh
from hannan.kernels.lanes import span as extremes
from hannan.kernels.state import (
    DRIFT,
    HEADER,
    LEVEL,
    OWN,
    PARAM0,
    PARAM1,
    PARAM2,
    SCALE,
    TOTAL,
    TUNE_A,
    TUNE_B,
    TUNE_C,
)

GAP = TUNE_A  #: Delta, the sum of the gaps; never falls, also where late feedback makes DRIFT do so
VARIANCE = PARAM0  #: V, the sum of the variances of the losses under p
SPAN = PARAM1  #: the largest span of one round
LEAST = PARAM2  #: the sum of the least losses of the rounds
MOST = TUNE_B  #: the sum of the greatest
PER_LOG_N = TUNE_C  #: 1 / ln n

#: Below this the scale is taken as 0: its inverse could overflow.
SMALLEST = 1e-300


@step
def padded(n):
    """n, up to a multiple of four."""
    return n + (-n & 3)


@step
def sums_at(s, n):
    """L, padded."""
    return at(s, HEADER + 2 * n)


@step
def weights_at(s, n):
    """w, padded; their sum is what `meet_row` returned."""
    return at(sums_at(s, n), padded(n))


@step
def losses_at(s, n):
    """The losses of the round, signed, padded."""
    return at(sums_at(s, n), 2 * padded(n))


@step
def begin(s, n):
    """Copy L; (1/s, s, min L, Delta, own, span, the sums of the least and of the greatest, drift, level)."""
    low, x = sums_at(s, n), losses_at(s, n)
    for i in range(n):
        low[i] = s[HEADER + i]
    for i in range(n, padded(n)):
        low[i] = np.inf
        x[i] = 0.0
    scale = s[SCALE]
    inverse = 1.0 / scale if scale > 0.0 else 0.0
    base = extremes(at(s, np.int64(HEADER)), n)[0]
    return inverse, scale, base, s[GAP], s[OWN], s[SPAN], s[LEAST], s[MOST], s[DRIFT], s[LEVEL]


@step
def meet_row(s, n, carry, least):
    """Make the weights and face them with the losses: (sum w, sum w e^(-(l - least)/s), sum w (l - least))."""
    inverse, scale, base = carry[0], carry[1], carry[2]
    if scale > 0.0:
        return meet(weights_at(s, n), sums_at(s, n), padded(n), base, losses_at(s, n), least, inverse)
    return _meet_even(s, n, base, least)


@step
def move_on(s, n, carry, least, most, mass, kept, above, share):
    """The losses are in: the gap, the sums (but for the variance) and the next scale. <p, l> = least + share above."""
    _, scale, _, delta, own, span, sum_least, sum_most, drift, level = carry
    mean = share * above
    if kept > 0.5 * mass:
        # Rounding here is some 1e-16 of the scale a round: nothing beside the gaps that made the scale.
        mixed = -scale * _log_ratio(kept, mass)
    else:
        mixed = _far(s, n, least, scale, mass)
    gap = mean - mixed
    delta += max(gap, 0.0)
    # log p_i / p_i' = (l_i - m) / s at one scale, at most 1/s; a leader that changes at scale 0 has no bound.
    if most > least:
        if scale > 0.0:
            if level * scale < 1.0:
                level = max(level, (most - least - mixed) / scale / (most - least))
        elif gap > 0.0:
            level = np.inf
    scale = delta * s[PER_LOG_N] if delta > SMALLEST else 0.0
    inverse = 1.0 / scale if scale > 0.0 else 0.0
    base = add(sums_at(s, n), losses_at(s, n), padded(n))
    span = max(span, most - least)
    return (
        inverse,
        scale,
        base,
        delta,
        own + (least + mean),
        span,
        sum_least + least,
        sum_most + most,
        drift + gap,
        level,
    )


@step
def finish(s, n, carry):
    """Everything back to its place, and the weights of the next round."""
    inverse, scale, base, delta, own, span, sum_least, sum_most, drift, level = carry
    s[SCALE], s[GAP], s[OWN], s[SPAN] = scale, delta, own, span
    s[LEAST], s[MOST], s[DRIFT], s[LEVEL] = sum_least, sum_most, drift, level
    low, w = sums_at(s, n), weights_at(s, n)
    if scale > 0.0:
        s[TOTAL] = weigh(w, low, padded(n), base, inverse)
    else:
        s[TOTAL] = _even(s, n, base)
    for i in range(n):
        s[HEADER + i], s[HEADER + n + i] = low[i], w[i]


@step
def draw_row(s, n, mass, u):
    """The expert that a uniform draws from the weights of `meet_row`."""
    w = weights_at(s, n)
    i = pick(w, np.int64(0), n, u * mass)
    return i if i < n else last_positive(w, np.int64(0), n)


@step
def _log_ratio(part, whole):
    """log(part / whole), part in (whole / 2, whole]: 2 atanh(z), z = (part - whole)/(part + whole), a short series
    near 1, where small steps lead."""
    if part < 0.9 * whole:
        return np.log(part / whole)
    z = (part - whole) / (part + whole)
    y = z * z
    # z^2 <= 0.0028: the first term left out is below 1e-19 of the sum. In pairs: the next weights wait for it.
    y2 = y * y
    low = (1.0 / 3.0 + 0.2 * y) + y2 * (1.0 / 7.0 + (1.0 / 9.0) * y)
    series = low + (y2 * y2) * ((1.0 / 11.0 + (1.0 / 13.0) * y) + (1.0 / 15.0) * y2)
    return 2.0 * (z + z * y * series)


@aside
def _far(s, n, least, scale, mass):
    """m less the least for a step that moves most of the mass, or scale 0: from L itself, nothing underflows."""
    low, x = sums_at(s, n), losses_at(s, n)
    base = extremes(low, n)[0]
    lead = np.inf
    for i in range(n):
        lead = min(lead, (low[i] - base) + (x[i] - least))
    if not scale > 0.0:
        return lead
    after = 0.0
    for i in range(n):
        after += exp((lead - ((low[i] - base) + (x[i] - least))) / scale)
    return lead - scale * np.log(after / mass)


@aside
def _even(s, n, base):
    """Even weights among the leaders; how many they are."""
    low, w = sums_at(s, n), weights_at(s, n)
    leaders = 0.0
    for i in range(padded(n)):
        w[i] = 1.0 * (low[i] == base)
        leaders += w[i]
    return leaders


@aside
def _meet_even(s, n, base, least):
    """`meet_row` at scale 0; no share of the mass is kept for sure."""
    leaders = _even(s, n, base)
    w, x = weights_at(s, n), losses_at(s, n)
    above = 0.0
    for i in range(n):
        above += w[i] * (x[i] - least)
    return leaders, 0.0, above
