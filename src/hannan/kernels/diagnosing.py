"""What a live player says of its own stability: the terms of the master identity, and the realised level.

sum <p_t, l_t> = Phi(L_T) - Phi(0) + sum D_t + sum [Phi_t(L_t) - Phi_{t+1}(L_t)], exactly. DRIFT and CHANGE
keep the two sums, LEVEL the largest divergence of one step at one scale over the span of its loss. The play
itself is never touched: what it does not already know is evaluated on a copy, warm starts included.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import data_of
from hannan.kernels.compile import aside, step
from hannan.kernels.state import (
    ARM,
    CHANGE,
    DRIFT,
    FAILED,
    FINE,
    GAMMA,
    HEADER,
    LEVEL,
    MEMORY,
    OWN,
    PAID,
    POINTER,
    SCALE,
    SETTLED,
    TOTAL,
    TSALLIS_HALF,
    VALUE,
    WEIGHT,
)
from hannan.kernels.weighing import entropy_value, valued

#: Below this span rounding would drown the divergence, and LEVEL is left as it is.
LEAST_SPAN = 1e-3


@step
def log_gap(p, q, gamma):
    """log_gamma p - log_gamma q, the paper's Tsallis logarithm; 0 where p is below what weights can hold."""
    if not p > 1e-290:
        return 0.0
    if gamma == 1.0:
        return np.log(p / q)
    if gamma == 2.0:
        return 1.0 / q - 1.0 / p
    return (p ** (1.0 - gamma) - q ** (1.0 - gamma)) / (1.0 - gamma)


@aside
def at_old_scale(state, before, n, path, tree, pointer):
    """The state after a step, at the scale from before it, with VALUE; `state` itself when it knows."""
    if path != POINTER and path != TSALLIS_HALF and state[SCALE] == before[SCALE]:
        twin = state
        twin[VALUE] = entropy_value(data_of(state))
        return FINE, twin
    twin = before.copy()
    for i in range(HEADER, HEADER + n):
        twin[i] = state[i]
    # What a learner with a memory reads besides L: the step that was just settled.
    twin[OWN], twin[WEIGHT] = state[OWN], state[WEIGHT]
    twin[SETTLED], twin[ARM], twin[PAID] = state[SETTLED], state[ARM], state[PAID]
    return valued(data_of(twin), twin.size, n, path, tree, pointer, before[SCALE]), twin


@aside
def change_scale(state, n, path, tree, pointer, old_scale, old_value):
    """After the scale moved: CHANGE += Phi_old(L) - Phi_new(L), and VALUE is the new one."""
    if state[SCALE] == old_scale:
        state[VALUE] = old_value
        return FINE
    status = FINE
    if path in (POINTER, TSALLIS_HALF):
        twin = state.copy()
        status = valued(data_of(twin), twin.size, n, path, tree, pointer, state[SCALE])
        state[VALUE] = twin[VALUE]
    else:
        state[VALUE] = entropy_value(data_of(state))
    state[CHANGE] += old_value - state[VALUE]
    return status


@aside
def diagnose_step(state, before, n, path, tree, pointer, arm, paid, span):
    """After a step from `before` to `state`: `paid` is <p_ticket, l>, `span` that of l, `arm` the one hit.

    The divergence is taken over single arms, which is enough for gamma >= 1."""
    entropic = path != POINTER and path != TSALLIS_HALF
    status, twin = at_old_scale(state, before, n, path, tree, pointer)
    if status != FINE:
        return FAILED
    value = twin[VALUE]
    state[DRIFT] += paid - (value - before[VALUE])
    if span >= LEAST_SPAN:
        w, gamma = HEADER + n, state[GAMMA]
        worst = 0.0
        first, last = (arm, arm + 1) if arm >= 0 else (0, n)
        for i in range(first, last):
            p, q = before[w + i] / before[TOTAL], twin[w + i] / twin[TOTAL]
            if q > 0.0:
                worst = max(worst, log_gap(p, q, gamma))
            elif entropic and gamma == 1.0:
                # log p_i = (Phi - L_i) / scale, also where p_i is too small for a float.
                step_i = state[HEADER + i] - before[HEADER + i]
                worst = max(worst, (step_i - (value - before[VALUE])) / before[SCALE])
            elif state[MEMORY] > 0.0 and p > 1e-290:
                # A learner with a memory may drop an arm altogether.
                worst = np.inf
        state[LEVEL] = max(state[LEVEL], worst / span)
    return change_scale(state, n, path, tree, pointer, before[SCALE], value)
