"""From L to weights: w_i with p_i = w_i / TOTAL, for the smoothing, the scale and the path of a state.

Entropy keeps w_i = exp((BASE - L_i) / scale + log prior_i - TOP): a function of L_i alone, so one changed arm
costs one exp, and BASE moves (to min L) only when TOTAL leaves [1e-6, 1e6 n]. Everything else is a C pointer.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import at, call_smoothing
from hannan.kernels.compile import aside, step
from hannan.kernels.drawing import grow, regrow, total, total_around
from hannan.kernels.exponential import exp, softmax
from hannan.kernels.halving import after_one, from_anywhere, half_value
from hannan.kernels.state import (
    ACTIONS,
    ARM,
    BASE,
    CLIP,
    ENTROPY_ONE,
    FAILED,
    FINE,
    FRESH,
    HEADER,
    INVERSE,
    KAPPA,
    OWN,
    POINTER,
    PRIOR,
    RATE,
    ROUND,
    SCALE,
    TOP,
    TOTAL,
    TSALLIS_HALF,
    TUNE_A,
    TUNE_B,
    TUNE_C,
    TUNE_D,
    VALUE,
)

SMALLEST = 1e-6
LARGEST = 1e6


@step
def clip_level(s):
    """a = min(1/2, kappa (1 + own)^(-1/3)) of the tuned clipping."""
    return min(0.5, s[KAPPA] * (1.0 + s[OWN]) ** (-1.0 / 3.0))


@step
def next_scale(s):
    """The scale of the next round: c sqrt(a + b t + d own); h (K - 1) / (2 a^2) when clipping is tuned."""
    if s[KAPPA] > 0.0:
        a = clip_level(s)
        return s[RATE] * max(1.0, s[ACTIONS] - 1.0) / (2.0 * a * a)
    b, d = s[TUNE_B], s[TUNE_D]
    if d == 0.0:
        # A branch, so that nothing waits for the own loss where it does not count.
        return s[SCALE] if b == 0.0 else s[TUNE_C] * np.sqrt(s[TUNE_A] + b * (s[ROUND] + 1.0))
    return s[TUNE_C] * np.sqrt(s[TUNE_A] + b * (s[ROUND] + 1.0) + d * s[OWN])


@step
def next_clip(s):
    """rho of the round to be played: fixed, or a / (K - 1)."""
    if s[KAPPA] > 0.0:
        return clip_level(s) / max(1.0, s[ACTIONS] - 1.0)
    return s[CLIP]


@step
def sum_up(s, n, tree):
    """TOTAL, and the partial sums where they are kept."""
    if tree > 0:
        s[TOTAL] = grow(s, HEADER + n, n, tree)
    else:
        s[TOTAL] = total(s, HEADER + n, n)


@step
def in_range(s, n):
    """Whether TOTAL is such that no probability above 1e-300 is lost; false for NaN."""
    return SMALLEST < s[TOTAL] < LARGEST * n


@aside
def _softmax_prior(w, low, prior, n, base, inverse, top):
    """w_i = exp((base - L_i) / scale + log prior_i - top)."""
    for i in range(n):
        w[i] = exp((base - low[i]) * inverse + (prior[i] - top))


@step
def _entropy_fill(s, n, tree):
    low, w = at(s, np.int64(HEADER)), at(s, HEADER + n)
    if s[PRIOR] > 0.0:
        _softmax_prior(w, low, at(s, np.int64(s[PRIOR])), n, s[BASE], s[INVERSE], s[TOP])
    else:
        softmax(w, low, n, s[BASE], s[INVERSE])
    s[FRESH] = 0.0
    sum_up(s, n, tree)


@aside
def _entropy_rebase(s, n):
    """BASE = min L and, with a prior, TOP so that the largest weight is 1."""
    low = HEADER
    base = s[low]
    for i in range(1, n):
        base = min(base, s[low + i])
    s[BASE] = base
    prior = np.int64(s[PRIOR])
    if prior > 0:
        top = -np.inf
        for i in range(n):
            top = max(top, (base - s[low + i]) * s[INVERSE] + s[prior + i])
        s[TOP] = top


@step
def entropy_all(s, n, tree):
    """All weights from L, at the scale in place."""
    _entropy_fill(s, n, tree)
    if not in_range(s, n):
        entropy_anew(s, n, tree)


@aside
def entropy_anew(s, n, tree):
    """BASE moved to min L, then all weights: the rare path of a constant scale."""
    _entropy_rebase(s, n)
    _entropy_fill(s, n, tree)


@step
def entropy_one(s, n, tree, i):
    """The weight of arm i from L_i, at the scale in place; without a tree, ARM says whose weight TOTAL ends with."""
    low = HEADER
    x = (s[BASE] - s[low + i]) * s[INVERSE]
    if s[PRIOR] > 0.0:
        x += s[np.int64(s[PRIOR]) + i] - s[TOP]
    s[low + n + i] = exp(x)
    if tree > 0:
        s[TOTAL] = regrow(s, low + n, n, tree, i)
    else:
        s[ARM] = i
        s[TOTAL] = total_around(s, low + n, n, i)
    if not in_range(s, n):
        entropy_anew(s, n, tree)
        if tree == 0:
            s[TOTAL] = total_around(s, low + n, n, i)


@step
def weigh(s, size, n, path, tree, pointer, scale, changed):
    """Weights for L at `scale`; `changed` is the one arm whose L changed since, or -1. Returns a status."""
    same = scale == s[SCALE]
    if not same:
        s[SCALE] = scale
        s[INVERSE] = 1.0 / scale
    if path == POINTER:
        status = call_smoothing(pointer, s, size, n, scale, changed if same else np.int64(-1))
        return FAILED if np.isnan(status) else FINE
    if path == TSALLIS_HALF:
        return FINE if from_anywhere(s, n) else FAILED
    if path == ENTROPY_ONE and same and changed >= 0:
        entropy_one(s, n, tree, changed)
    else:
        entropy_all(s, n, tree)
        if path == ENTROPY_ONE and tree == 0:
            s[TOTAL] = total_around(s, HEADER + n, n, np.int64(s[ARM]))
    return FINE if s[TOTAL] > 0.0 else FAILED


@step
def weigh_half(s, n, i, value, scale):
    """L_i = value, then the weights of Tsallis 1/2 at `scale`. Returns a status."""
    before = s[SCALE]
    if scale != before:
        s[SCALE] = scale
        s[INVERSE] = 1.0 / scale
    return FINE if after_one(s, n, i, value, before) else FAILED


@aside
def weigh_apart(s, size, n, path, tree, pointer, scale, changed):
    """`weigh`, called and not inlined: where the call costs little beside the round."""
    return weigh(s, size, n, path, tree, pointer, scale, changed)


@aside
def valued(s, size, n, path, tree, pointer, scale):
    """As `weigh`, and VALUE = Phi(L): BASE - scale (log TOTAL + TOP) for Entropy."""
    if path == POINTER:
        s[SCALE] = scale
        s[INVERSE] = 1.0 / scale
        return FAILED if np.isnan(call_smoothing(pointer, s, size, n, scale, np.int64(-2))) else FINE
    status = weigh_apart(s, size, n, path, tree, pointer, scale, np.int64(-1))
    if path == TSALLIS_HALF:
        s[VALUE] = half_value(s, n)
    else:
        s[VALUE] = entropy_value(s)
    return status


@step
def entropy_value(s):
    """Phi(L) = -scale log sum_i prior_i e^(-L_i / scale) from what is in place."""
    return s[BASE] - s[SCALE] * (np.log(s[TOTAL]) + s[TOP])
