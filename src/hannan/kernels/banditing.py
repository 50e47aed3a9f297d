"""A round of a bandit: draw an arm, see its loss only, L_arm += weight * loss."""

from __future__ import annotations

import numpy as np

from hannan.kernels.compile import step
from hannan.kernels.drawing import draw, pick_around
from hannan.kernels.estimating import baselines, weight_of
from hannan.kernels.exponential import fused
from hannan.kernels.state import (
    ARM,
    BASE,
    ENTROPY_ONE,
    ESTIMATOR,
    FINE,
    HEADER,
    OWN,
    PAID,
    POINTER,
    REDUCED_VARIANCE,
    ROUND,
    SCALE,
    SETTLED,
    STREAM,
    TOTAL,
    TSALLIS_HALF,
    WEIGHT,
)
from hannan.kernels.streams import uniform
from hannan.kernels.weighing import entropy_one, next_scale, weigh, weigh_apart, weigh_half


@step
def prepare(s, size, n, path, tree, pointer):
    """Bring the weights to the scale of the round to be played: late feedback leaves them a round behind."""
    scale = next_scale(s)
    if scale == s[SCALE]:
        return FINE
    return weigh_apart(s, size, n, path, tree, pointer, scale, np.int64(-1))


@step
def draw_arm(s, n, path, tree):
    """Draw an arm; WEIGHT is what stands for 1/p of it."""
    w = HEADER + n
    u = uniform(s, np.int64(STREAM))
    if path == ENTROPY_ONE and tree == 0:
        i = pick_around(s, w, n, np.int64(s[ARM]), u * s[TOTAL])
    else:
        i = draw(s, w, n, tree, u)
    s[WEIGHT] = weight_of(s, n, i, s[w + i], s[TOTAL])
    s[ROUND] += 1.0
    return i


@step
def settle_arm(s, size, n, path, tree, pointer, i, weight, loss):
    """After the (normalised) loss is seen: own loss, L, the weights of the next round. Returns a status."""
    s[OWN] += loss
    if path == POINTER:
        s[SETTLED] += 1.0
        s[ARM], s[PAID], s[WEIGHT] = np.float64(i), loss, weight
    if s[ESTIMATOR] == REDUCED_VARIANCE:
        shift, value = baselines(s, n, i, weight, loss)
        if path == TSALLIS_HALF:
            # All likely arms have moved alike: measured from there, only arm i has changed much.
            s[BASE] += shift
            return weigh_half(s, n, i, value, next_scale(s))
        s[HEADER + i] = value
        return weigh_apart(s, size, n, path, tree, pointer, next_scale(s), np.int64(-1))
    value = fused(loss, weight, s[HEADER + i])
    if path == TSALLIS_HALF:
        return weigh_half(s, n, i, value, next_scale(s))
    s[HEADER + i] = value
    if path == ENTROPY_ONE:
        entropy_one(s, n, tree, i)
        return FINE
    return weigh(s, size, n, path, tree, pointer, next_scale(s), i)
