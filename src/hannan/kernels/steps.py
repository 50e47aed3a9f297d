"""One round at a time: what a live player calls. The same steps, inlined, are the loops of whole games.

`program(...)` turns a learner into numbers, `new_state` into an array with the weights of round 1 in place.
Act and observe functions move that array; a bad loss is reported before anything moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.kernels import state as slots
from hannan.kernels.advising import draw_action, settle_action
from hannan.kernels.banditing import draw_arm, prepare, settle_arm
from hannan.kernels.calling import data_of
from hannan.kernels.compile import aside, kernel
from hannan.kernels.diagnosing import LEAST_SPAN, change_scale, diagnose_step, log_gap
from hannan.kernels.drawing import draw, tree_size
from hannan.kernels.experting import expected_loss, first_outside, mean_under, settle_row
from hannan.kernels.programs import Program, memory_size, pointer, program, remember
from hannan.kernels.state import (
    ACTIONS,
    ARMS,
    BAD_LOSS,
    DRIFT,
    FINE,
    GAMMA,
    HEADER,
    HIGH,
    LEVEL,
    LOW,
    ORIGIN,
    PATH,
    PROBABILITY,
    ROUND,
    SCALE,
    SLOPE,
    START,
    STREAM,
    TOTAL,
    TREE,
    VALUE,
)
from hannan.kernels.streams import uniform, words
from hannan.kernels.weighing import entropy_value, valued

Array = NDArray[np.float64]
__all__ = [
    "Program",
    "bandit_act",
    "bandit_observe",
    "begin",
    "expert_bandit_act",
    "expert_bandit_observe",
    "experts_act",
    "experts_observe",
    "make_ready",
    "new_state",
    "pointer",
    "program",
    "words",
]


def new_state(program: Program, seed: Any, run: int = 0) -> Array:
    """The state of a run before its first move: header, L = 0, the weights of round 1, VALUE = Phi_1(0)."""
    n, path = program.n, program.path
    size = HEADER + n + -(-n // 4) * 4  # the weights in fours
    offsets = dict.fromkeys((slots.PRIOR, slots.TREE, slots.SCRATCH), 0)
    if program.log_prior is not None:
        offsets[slots.PRIOR], size = size, size + n
    if n >= slots.TREE_FROM and path in (slots.ENTROPY, slots.ENTROPY_ONE, slots.ENTROPY_TIMES):
        offsets[slots.TREE], size = size, size + tree_size(n)
    if program.setting == "expert_bandit":
        offsets[slots.SCRATCH], size = size, size + n + program.actions
    if program.estimator == slots.REDUCED_VARIANCE:
        offsets[slots.SCRATCH], size = size, size + n
    if program.code >= 20:
        offsets[slots.MEMORY], size = size, size + memory_size(program.code, n)
    state = np.zeros(size)
    for slot, offset in offsets.items():
        state[slot] = offset
    if program.log_prior is not None:
        state[offsets[slots.PRIOR] : offsets[slots.PRIOR] + n] = program.log_prior
    if program.kappa > 0.0:
        a = min(0.5, program.kappa)
        scale = program.rate * max(1.0, program.actions - 1.0) / (2.0 * a * a)
    else:
        scale = program.c * np.sqrt(program.a + program.b)
    if not (np.isfinite(scale) and scale > 0.0):
        raise ValueError(f"the scale of round 1 must be finite and > 0; got {scale!r}")
    origin, sign = (program.high, -1.0) if program.gains else (program.low, 1.0)
    numbers = {
        slots.SCALE: scale,
        slots.INVERSE: 1.0 / scale,
        slots.TUNE_C: program.c,
        slots.TUNE_A: program.a,
        slots.TUNE_B: program.b,
        slots.TUNE_D: program.d,
        LOW: program.low,
        HIGH: program.high,
        slots.GAINS: program.gains,
        ORIGIN: origin,
        SLOPE: sign / (program.high - program.low),
        slots.ESTIMATOR: program.estimator,
        slots.ESTIMATOR_PARAM: program.estimator_parameter,
        slots.GAMMA: program.gamma,
        slots.CLIP: program.clip,
        slots.KAPPA: program.kappa,
        slots.RATE: program.rate,
        PATH: path,
        ARMS: n,
        ACTIONS: program.actions,
    }
    for slot, number in numbers.items():
        state[slot] = number
    state[slots.PARAM0 : slots.PARAM0 + len(program.parameters)] = program.parameters
    state.view(np.uint64)[STREAM : STREAM + 4] = words(seed, run)
    if program.code >= 20:
        remember(state, program.code, n, seed, run)
    if begin(state, pointer(program)) != FINE:
        raise ArithmeticError(f"the smoothing {program.code} {program.parameters} failed at scale {scale!r}")
    return state


@kernel
def begin(state, pointer):
    """Weights and VALUE for L = 0."""
    n, path, tree = np.int64(state[ARMS]), np.int64(state[PATH]), np.int64(state[TREE])
    status = valued(data_of(state), state.size, n, path, tree, pointer, state[SCALE])
    state[START] = state[VALUE]
    return status


@kernel
def make_ready(state, pointer, diagnose):
    """Bring the weights to the round to be played (after an open move they may be a scale behind)."""
    n, path, tree = np.int64(state[ARMS]), np.int64(state[PATH]), np.int64(state[TREE])
    scale, value = state[SCALE], state[VALUE]
    status = prepare(data_of(state), state.size, n, path, tree, pointer)
    if diagnose and status == FINE:
        status = change_scale(state, n, path, tree, pointer, scale, value)
    return status


@kernel
def experts_act(state, pointer, diagnose):
    """Draw an expert; its probability is PROBABILITY. -1 when the smoothing failed."""
    n, tree = np.int64(state[ARMS]), np.int64(state[TREE])
    if make_ready(state, pointer, diagnose) != FINE:
        return np.int64(-1)
    i = draw(data_of(state), HEADER + n, n, tree, uniform(data_of(state), np.int64(STREAM)))
    state[PROBABILITY] = state[HEADER + n + i] / state[TOTAL]
    state[ROUND] += 1.0
    return np.int64(i)


@kernel
def experts_observe(state, pointer, losses, ticket, diagnose):
    """Add a row of losses. `ticket` is the distribution of a late move, or empty for the one in place.

    Returns -1, or the index of the first bad loss (nothing moved), or -2 when the smoothing failed.
    """
    n, path, tree = np.int64(state[ARMS]), np.int64(state[PATH]), np.int64(state[TREE])
    bad = first_outside(data_of(losses), n, state[LOW], state[HIGH])
    if bad >= 0:
        return np.int64(bad)
    if ticket.size == n:
        own = (mean_under(data_of(ticket), data_of(losses), n) - state[ORIGIN]) * state[SLOPE]
    else:
        own = expected_loss(data_of(state), data_of(losses), np.int64(0), n)
    if not diagnose:
        status = settle_row(data_of(state), state.size, n, path, tree, pointer, data_of(losses), np.int64(0), own)
        return np.int64(-1 if status == FINE else -2)
    before = state.copy()
    status = settle_row(data_of(state), state.size, n, path, tree, pointer, data_of(losses), np.int64(0), own)
    if status == FINE:
        least = most = losses[0]
        for i in range(1, n):
            least = min(least, losses[i])
            most = max(most, losses[i])
        span = (most - least) * abs(state[SLOPE])
        status = diagnose_step(state, before, n, path, tree, pointer, np.int64(-1), own, span)
    return np.int64(-1 if status == FINE else -2)


@kernel
def bandit_act(state, pointer, diagnose):
    """Draw an arm; PROBABILITY and WEIGHT (what stands for 1/p) are those of the move. -1 on failure."""
    n, path, tree = np.int64(state[ARMS]), np.int64(state[PATH]), np.int64(state[TREE])
    if make_ready(state, pointer, diagnose) != FINE:
        return np.int64(-1)
    i = draw_arm(data_of(state), n, path, tree)
    state[PROBABILITY] = state[HEADER + n + i] / state[TOTAL]
    return np.int64(i)


@kernel
def bandit_observe(state, pointer, action, probability, weight, loss, diagnose):
    """Add the loss of a move, in the user's units. Returns FINE, BAD_LOSS (nothing moved) or FAILED."""
    if not (state[LOW] <= loss <= state[HIGH]):
        return BAD_LOSS
    n, path, tree = np.int64(state[ARMS]), np.int64(state[PATH]), np.int64(state[TREE])
    x = (loss - state[ORIGIN]) * state[SLOPE]
    if not diagnose:
        return _settle_arm(state, n, path, tree, pointer, action, weight, x)
    return _diagnosed_arm(state, n, path, tree, pointer, action, probability, weight, x)


@aside
def _settle_arm(state, n, path, tree, pointer, action, weight, x):
    return settle_arm(data_of(state), state.size, n, path, tree, pointer, action, weight, x)


@aside
def _diagnosed_arm(state, n, path, tree, pointer, action, probability, weight, x):
    """As `settle_arm`; Entropy at a constant scale needs four numbers from before, not the whole state."""
    estimate = x * weight
    if path == slots.ENTROPY_ONE and state[slots.ESTIMATOR] != slots.REDUCED_VARIANCE:
        w = HEADER + n + action
        p, value = state[w] / state[TOTAL], state[VALUE]
        status = _settle_arm(state, n, path, tree, pointer, action, weight, x)
        state[VALUE] = entropy_value(data_of(state))
        state[DRIFT] += probability * estimate - (state[VALUE] - value)
        if estimate >= LEAST_SPAN:
            q = state[w] / state[TOTAL]
            if q > 0.0:
                state[LEVEL] = max(state[LEVEL], log_gap(p, q, state[GAMMA]) / estimate)
            elif state[GAMMA] == 1.0:
                state[LEVEL] = max(state[LEVEL], (estimate - (state[VALUE] - value)) / (state[SCALE] * estimate))
        return status
    before = state.copy()
    status = _settle_arm(state, n, path, tree, pointer, action, weight, x)
    if status != FINE:
        return status
    if state[slots.ESTIMATOR] == slots.REDUCED_VARIANCE:
        paid, span = _with_baselines(state, before, n, action, probability, weight, x)
        return diagnose_step(state, before, n, path, tree, pointer, np.int64(-1), paid, span)
    return diagnose_step(state, before, n, path, tree, pointer, action, probability * estimate, estimate)


@aside
def _with_baselines(state, before, n, action, probability, weight, x):
    """<p, lhat> and the span of lhat = B + (x - B_i)/p_i e_i, p in place before the step."""
    first = np.int64(state[slots.SCRATCH])
    lead = (x - state[first + action]) * weight
    paid = probability * lead
    least, most = np.inf, -np.inf
    for j in range(n):
        estimate = state[first + j] + (lead if j == action else 0.0)
        paid += before[HEADER + n + j] / before[TOTAL] * state[first + j]
        least, most = min(least, estimate), max(most, estimate)
    return paid, most - least


@kernel
def expert_bandit_act(state, pointer, advice, mixed, diagnose):
    """Draw an action given a row of advice: integers, or with `mixed` experts x actions numbers, flat."""
    n, tree = np.int64(state[ARMS]), np.int64(state[TREE])
    if make_ready(state, pointer, diagnose) != FINE:
        return np.int64(-1)
    s, actions = data_of(state), np.int64(state[ACTIONS])
    return np.int64(draw_action(s, n, actions, tree, data_of(advice), np.int64(0), mixed)[0])


@kernel
def expert_bandit_observe(state, pointer, advice, mixed, action, probability, weight, loss, diagnose):
    """Add the loss of a move given the advice it was drawn with. Returns FINE, BAD_LOSS or FAILED."""
    if not (state[LOW] <= loss <= state[HIGH]):
        return BAD_LOSS
    n, path, tree = np.int64(state[ARMS]), np.int64(state[PATH]), np.int64(state[TREE])
    actions = np.int64(state[ACTIONS])
    x = (loss - state[ORIGIN]) * state[SLOPE]
    before = state.copy() if diagnose else state
    status = settle_action(
        data_of(state),
        state.size,
        n,
        actions,
        path,
        tree,
        pointer,
        data_of(advice),
        np.int64(0),
        mixed,
        action,
        np.int64(-1),
        weight,
        x,
    )
    if not diagnose or status != FINE:
        return status
    # <p, phi(lhat)> under the weights before, and the span of phi(lhat).
    paid = 0.0
    least, most = np.inf, -np.inf
    for i in range(n):
        share = advice[i * actions + action] if mixed else 1.0 * (advice[i] == action)
        paid += before[HEADER + n + i] * share
        least, most = min(least, share), max(most, share)
    paid *= x * weight / before[TOTAL]
    span = (most - least) * x * weight
    return diagnose_step(state, before, n, path, tree, pointer, np.int64(-1), paid, span)
