"""A round of a bandit with experts: q = psi(p) over actions, clipped by C_rho; L_i += E_ij * weight * loss.

Advice is a row of actions E_i (integers), or of distributions E_ij over actions. Unclipped and with integers
the move is drawn as: expert i ~ p, action E_i; this is q, and needs q_j of the one action only.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import at
from hannan.kernels.compile import aside, step
from hannan.kernels.drawing import draw, grow_on, last_positive, pick, total
from hannan.kernels.estimating import weight_of
from hannan.kernels.exponential import exp
from hannan.kernels.state import (
    ENTROPY_TIMES,
    FAN,
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
from hannan.kernels.vectors import masked_sum16, masked_update16
from hannan.kernels.weighing import entropy_anew, in_range, next_clip, next_scale, weigh_apart


@step
def _masked_update(s, n, tree, advice, j, estimate, factor):
    """L_i += estimate and w_i *= factor where expert i advises j; TOTAL and the partial sums, in one pass."""
    low, w = at(s, np.int64(HEADER)), at(s, HEADER + n)
    whole = n - (n & (FAN - 1))
    for i in range(0, whole, FAN):
        sum_ = masked_update16(at(w, i), at(low, i), at(advice, i), j, estimate, factor)
        if tree > 0:
            s[tree + (i >> 4)] = sum_
    for i in range(whole, n):
        if advice[i] == j:
            low[i] += estimate
            w[i] *= factor
    if tree > 0:
        if n > whole:
            s[tree + (whole >> 4)] = total(w, whole, n - whole)
        s[TOTAL] = grow_on(s, HEADER + n, n, tree)
    else:
        s[TOTAL] = total(s, HEADER + n, n)


@aside
def _masked_add(low, advice, n, j, estimate):
    """L_i += estimate where expert i advises j."""
    for i in range(n):
        low[i] += estimate if advice[i] == j else 0.0


@step
def mass_of(s, n, advice, a, j):
    """The weight of the experts who advise action j."""
    w, heard = at(s, HEADER + n), at(advice, a)
    sum_ = 0.0
    whole = n - (n & (FAN - 1))
    for i in range(0, whole, FAN):
        sum_ += masked_sum16(at(w, i), at(heard, i), j)
    for i in range(whole, n):
        sum_ += w[i] if heard[i] == j else 0.0
    return sum_


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
    """Draw an action; PROBABILITY is that of the action, WEIGHT what stands for its inverse."""
    rho = next_clip(s)
    u = uniform(s, np.int64(STREAM))
    if rho == 0.0 and not mixed:
        i = draw(s, HEADER + n, n, tree, u)
        j = np.int64(advice[a + i])
        mass, whole = mass_of(s, n, advice, a, j), s[TOTAL]
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
    return j


@step
def settle_action(s, size, n, actions, path, tree, pointer, advice, a, mixed, j, weight, loss):
    """After the (normalised) loss is seen: own loss, L, the weights of the next round. Returns a status."""
    s[OWN] += loss
    estimate = loss * weight
    if mixed:
        for i in range(n):
            s[HEADER + i] += advice[a + i * actions + j] * estimate
    elif path == ENTROPY_TIMES and s[FRESH] < REFRESH:
        factor = exp(-estimate * s[INVERSE])
        _masked_update(s, n, tree, at(advice, a), j, estimate, factor)
        s[FRESH] += 1.0
        if not in_range(s, n):
            entropy_anew(s, n, tree)
        return FINE
    else:
        _masked_add(at(s, np.int64(HEADER)), at(advice, a), n, j, estimate)
    return weigh_apart(s, size, n, path, tree, pointer, next_scale(s), np.int64(-1))
