"""A round of a bandit: draw an arm, see its loss only, L_arm += weight * loss."""

from __future__ import annotations

import numpy as np

from hannan.kernels.compile import step
from hannan.kernels.drawing import draw
from hannan.kernels.estimating import add_with_baselines, weight_of
from hannan.kernels.state import (
    ARM,
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
    WEIGHT,
)
from hannan.kernels.streams import uniform
from hannan.kernels.weighing import entropy_one, next_scale, weigh, weigh_apart


@step
def prepare(s, size, n, path, tree, pointer):
    """Bring the weights to the scale of the round to be played: late feedback leaves them a round behind."""
    scale = next_scale(s)
    if scale == s[SCALE]:
        return FINE
    return weigh_apart(s, size, n, path, tree, pointer, scale, np.int64(-1))


@step
def draw_arm(s, n, tree):
    """Draw an arm; WEIGHT is what stands for 1/p of it."""
    w = HEADER + n
    i = draw(s, w, n, tree, uniform(s, np.int64(STREAM)))
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
        add_with_baselines(s, n, i, weight, loss)
        return weigh_apart(s, size, n, path, tree, pointer, next_scale(s), np.int64(-1))
    s[HEADER + i] += loss * weight
    if path == ENTROPY_ONE:
        entropy_one(s, n, tree, i)
        return FINE
    return weigh(s, size, n, path, tree, pointer, next_scale(s), i)
