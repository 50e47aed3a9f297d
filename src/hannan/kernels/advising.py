"""A round of a bandit with experts: q = psi(p) over actions, clipped by C_rho; L_i += E_ij * weight * loss.

Advice is a row of actions E_i (integers), or of distributions E_ij over actions. Unclipped and with integers
the move is drawn as: expert i ~ p, action E_i; this is q, and needs q_j of the one action only.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import at
from hannan.kernels.compile import step
from hannan.kernels.drawing import draw, last_positive, pick, total
from hannan.kernels.estimating import weight_of
from hannan.kernels.exponential import exp
from hannan.kernels.following import FEW_FOLLOW, add_to_all, add_to_list, followers, mass_of_all, mass_of_list
from hannan.kernels.state import (
    ENTROPY_TIMES,
    FINE,
    FRESH,
    HEADER,
    INVERSE,
    OWN,
    PROBABILITY,
    REFRESH,
    ROUND,
    SCRATCH,
    STREAM,
    TOTAL,
    WEIGHT,
)
from hannan.kernels.streams import uniform
from hannan.kernels.weighing import entropy_anew, in_range, next_clip, next_scale, sum_up, weigh_apart


@step
def action_masses(s, n, actions, advice, a, mixed):
    """q_j, not normalised, into the scratch after the experts'; returns their sum."""
    w = HEADER + n
    q = np.int64(s[SCRATCH]) + n
    for j in range(actions):
        s[q + j] = 0.0
    if mixed:
        for i in range(n):
            for j in range(actions):
                s[q + j] += s[w + i] * advice[a + i * actions + j]
    else:
        for i in range(n):
            s[q + np.int64(advice[a + i])] += s[w + i]
    return total(s, q, actions)


@step
def clip_masses(s, q, actions, floor):
    """C_rho: zero below the floor, the largest always kept; returns the sum of what is left."""
    largest = 0
    for j in range(1, actions):
        if s[q + j] > s[q + largest]:
            largest = j
    for j in range(actions):
        if s[q + j] < floor and j != largest:
            s[q + j] = 0.0
    return total(s, q, actions)


@step
def draw_action(s, n, actions, tree, advice, a, mixed):
    """Draw an action; PROBABILITY is that of the action, WEIGHT what stands for its inverse.

    Returns it and how many of those who advise it are in the scratch, or -1."""
    rho = next_clip(s)
    listed = -1
    u = uniform(s, np.int64(STREAM))
    if rho == 0.0 and not mixed:
        i = draw(s, HEADER + n, n, tree, u)
        j = np.int64(advice[a + i])
        whole = s[TOTAL]
        if actions >= FEW_FOLLOW:
            listed = followers(s, n, actions, advice, a, j)
            mass = mass_of_list(s, n, listed)
        else:
            mass = mass_of_all(s, n, at(advice, a), j)
    else:
        whole = action_masses(s, n, actions, advice, a, mixed)
        q = np.int64(s[SCRATCH]) + n
        if rho > 0.0:
            whole = clip_masses(s, q, actions, rho * whole)
        j = pick(s, q, actions, u * whole)
        if j >= actions:
            j = last_positive(s, q, actions)
        mass = s[q + j]
    # The two sums are made in different orders: a lone action has probability 1, not 1 + 1e-16.
    mass = min(mass, whole)
    s[PROBABILITY] = mass / whole
    s[WEIGHT] = weight_of(s, n, j, mass, whole)
    s[ROUND] += 1.0
    return j, listed


@step
def settle_action(s, size, n, actions, path, tree, pointer, advice, a, mixed, j, listed, weight, loss):
    """After the (normalised) loss is seen: own loss, L, the weights of the next round. Returns a status.

    `listed` is how many of those who advise j are in the scratch, where the draw left them there, else -1."""
    s[OWN] += loss
    estimate = loss * weight
    if mixed:
        for i in range(n):
            s[HEADER + i] += advice[a + i * actions + j] * estimate
    else:
        multiply = path == ENTROPY_TIMES and s[FRESH] < REFRESH
        factor = exp(-estimate * s[INVERSE]) if multiply else 1.0
        if actions >= FEW_FOLLOW:
            if listed < 0:
                listed = followers(s, n, actions, advice, a, j)
            add_to_list(s, n, listed, estimate, factor)
            if multiply:
                sum_up(s, n, tree)
        else:
            add_to_all(s, n, tree, at(advice, a), j, estimate, factor)
        if multiply:
            s[FRESH] += 1.0
            if not in_range(s, n):
                entropy_anew(s, n, tree)
            return FINE
    return weigh_apart(s, size, n, path, tree, pointer, next_scale(s), np.int64(-1))
