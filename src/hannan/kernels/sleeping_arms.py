"""Sleeping arms: a bandit plays p restricted to the awake, and charges sleepers the loss that it saw.

lhat_j = 1{j = i} l/q_i for the awake, q the restricted p, and l for sleepers: its mean is the loss vector in which
sleepers have the learner's own expected loss, and sum_j p_j lhat_j^2 is in the mean at most n, as without sleep.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import data_of
from hannan.kernels.compile import kernel
from hannan.kernels.diagnosing import diagnose_step
from hannan.kernels.state import ARMS, FINE, HEADER, ORIGIN, OWN, PATH, SLOPE, TOTAL, TREE
from hannan.kernels.weighing import next_scale, weigh_apart


@kernel
def settle_awake(state, pointer, awake, action, weight, loss):
    """After the loss (in range) of a move drawn among the awake. Returns a status."""
    n, path, tree = np.int64(state[ARMS]), np.int64(state[PATH]), np.int64(state[TREE])
    x = (loss - state[ORIGIN]) * state[SLOPE]
    before = state.copy()
    paid = 0.0
    least, most = np.inf, -np.inf
    for j in range(n):
        estimate = x
        if awake[j]:
            estimate = x * weight if j == action else 0.0
        state[HEADER + j] += estimate
        paid += before[HEADER + n + j] / before[TOTAL] * estimate
        least, most = min(least, estimate), max(most, estimate)
    state[OWN] += x
    status = weigh_apart(data_of(state), state.size, n, path, tree, pointer, next_scale(data_of(state)), np.int64(-1))
    if status != FINE:
        return status
    return diagnose_step(state, before, n, path, tree, pointer, np.int64(-1), paid, most - least)
