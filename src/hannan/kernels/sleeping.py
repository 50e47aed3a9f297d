"""Sleeping experts: play p restricted to the awake and renormalised; sleepers are charged the learner's own loss.

With o = <p_awake, l> in the place of every sleeper's loss, <p, l> = o as well: one vector of losses, to which
every bound applies as it stands, and a sleeper's regret does not move while it sleeps.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.exponential import exp
from hannan.kernels.state import ARMS, HEADER, PROBABILITY, ROUND, SCALE, STREAM, TOTAL
from hannan.kernels.streams import uniform

#: Where the awake hold less of p than this, floats have lost their shares. Any play among them keeps the
#: guarantee up to this much a round: <p, l> moves by at most the mass of the awake.
LEAST_MASS = 1e-250


@step
def restrict(state, n, awake, p):
    """p = the weights in place, restricted to the awake (at least one) and renormalised."""
    w = HEADER + n
    mass = 0.0
    for i in range(n):
        p[i] = state[w + i] if awake[i] else 0.0
        mass += p[i]
    if not mass > LEAST_MASS * state[TOTAL]:
        base = np.inf
        for i in range(n):
            if awake[i]:
                base = min(base, state[HEADER + i])
        scale = state[SCALE]
        mass = 0.0
        for i in range(n):
            gap = base - state[HEADER + i]
            p[i] = 0.0
            if awake[i]:
                p[i] = exp(gap / scale) if scale > 0.0 else 1.0 * (gap == 0.0)
            mass += p[i]
    for i in range(n):
        p[i] /= mass


@step
def draw_among(state, n, p):
    """Draw from p by one uniform; PROBABILITY and ROUND as for any move."""
    u = uniform(data_of(state), np.int64(STREAM))
    last = 0
    prefix = 0.0
    for i in range(n):
        if p[i] > 0.0:
            last = i
            prefix += p[i]
            if prefix > u:
                break
    state[PROBABILITY] = p[last]
    state[ROUND] += 1.0
    return np.int64(last)


@kernel
def act_awake(state, awake, p):
    """Draw an awake expert from the weights in place; p is what it was drawn from."""
    n = np.int64(state[ARMS])
    restrict(state, n, awake, p)
    return draw_among(state, n, p)


@kernel
def share_awake(state, awake, p):
    """p of the next draw among the awake; changes nothing else."""
    restrict(state, np.int64(state[ARMS]), awake, p)


@kernel
def charge(p, awake, losses):
    """Give every sleeper the loss <p, l> of the awake, kept between their least and greatest."""
    n = p.size
    own = 0.0
    least, most = np.inf, -np.inf
    for i in range(n):
        if awake[i]:
            own += p[i] * losses[i]
            least, most = min(least, losses[i]), max(most, losses[i])
    own = min(max(own, least), most)
    for i in range(n):
        if not awake[i]:
            losses[i] = own
