"""The weight that stands for 1/p_i in the estimate lhat_i = weight * loss of a bandit.

- importance weighting: 1/p_i exactly.
- geometric resampling, capped at M: min(M, G), G geometric with success probability p_i. Redrawing the action
  until i comes up again has just this law, so G is drawn by inversion from one uniform.
- conditional resampling: sigma * min(M, G'), sigma = #{j : L_j <= L_i}. Arm i can only win when its draw is
  the largest of those sigma exchangeable draws, so G' is geometric with success probability sigma p_i.
- implicit exploration: 1/(p_i + gamma).
- reduced variance: 1/p_i, on the loss less a baseline B_i = 1/2 where p_i >= 4/scale^2, which every arm is then
  charged: lhat_j = B_j + 1{j = i} (loss - B_i)/p_i. The baselines of the round are left at SCRATCH.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.compile import step
from hannan.kernels.state import (
    CONDITIONAL,
    ESTIMATOR,
    ESTIMATOR_PARAM,
    GEOMETRIC,
    HEADER,
    IMPLICIT,
    REDUCED_VARIANCE,
    SCALE,
    SCRATCH,
    STREAM,
)
from hannan.kernels.streams import uniform


@step
def capped_geometric(u, p, cap):
    """min(cap, G) with P(G > k) = (1 - p)^k, from one uniform u."""
    if p >= 1.0:
        return 1.0
    return min(cap, 1.0 + np.floor(np.log1p(-u) / np.log1p(-p)))


@step
def rank(s, n, i):
    """sigma = #{j : L_j <= L_i}."""
    sigma = 0
    for j in range(n):
        sigma += s[HEADER + j] <= s[HEADER + i]
    return np.float64(sigma)


@step
def weight_of(s, n, i, mass, total):
    """The weight of action i, drawn with probability mass/total; may move the stream."""
    if s[ESTIMATOR] == 0.0:
        # Not total / mass: a whole game has 1 / mass long before it has the total.
        return total * (1.0 / mass)
    code = np.int64(s[ESTIMATOR])
    p = mass / total
    if code == GEOMETRIC:
        return capped_geometric(uniform(s, np.int64(STREAM)), p, s[ESTIMATOR_PARAM])
    if code == CONDITIONAL:
        sigma = rank(s, n, i)
        return sigma * capped_geometric(uniform(s, np.int64(STREAM)), sigma * p, s[ESTIMATOR_PARAM])
    if code == IMPLICIT:
        return 1.0 / (p + s[ESTIMATOR_PARAM])
    if code == REDUCED_VARIANCE:
        least = 4.0 * total / (s[SCALE] * s[SCALE])
        first = np.int64(s[SCRATCH])
        for j in range(n):
            s[first + j] = 0.5 * (s[HEADER + n + j] >= least)
        return total / mass
    return np.nan


@step
def baselines(s, n, i, weight, loss):
    """L_j += B_j for j != i, B at SCRATCH; returns (the largest B_j, which the likely arms have, the new L_i)."""
    first = np.int64(s[SCRATCH])
    value = s[HEADER + i] + s[first + i] + (loss - s[first + i]) * weight
    most = 0.0
    for j in range(n):
        s[HEADER + j] += s[first + j]
        most = max(most, s[first + j])
    return most, value
