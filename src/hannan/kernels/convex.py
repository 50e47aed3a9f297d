"""Algorithm 1 (alg:oco) compiled: x_t = argmin_X G(x) + <b, x>, G the sum of the losses seen.

For linear losses the argmin is a closed form. Otherwise the solver steps to the minimum over X of a quadratic
model of G, whose Hessian is kept from round to round and made anew when that pays: chord steps, else Newton.
A move comes with the residual of its optimality conditions; G's ridge is its strong convexity, so the move
is within residual/ridge of the exact argmin.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.convex_noise import draw
from hannan.kernels.convex_sets import BALL, ball_argmin, box_argmin, frame, inner, linear_argmin, residual, tridiagonal
from hannan.kernels.convex_sums import BLOCK, LINEAR, OWN, gradient, hessian, include, phi

#: Slots of a run's state; then the last move x[d], the normals in use, and d numbers of room.
ROUND, OWN_LOSS, STREAM, DISTANCE, FARTHEST, SCALE, RIDGE = 0, 1, 2, 6, 7, 8, 9
MODELLED = 10  #: how many losses the model's Hessian was made from; 0 is none
REFRESHES, PASSES = 11, 12
SPREAD = 13  #: what the normals of the state are multiplied by to make a standard draw of the noise
LAST = 14  #: the last move's largest distance from the exact argmin
HEADER = 16

#: Status of a move: fine, the solver did not converge, a user's own phi failed.
FINE, STUCK, FAILED = 0, 1, 2
__all__ = ["LINEAR", "curved_game", "leader", "linear_games", "observe_once"]
PASS_LIMIT = 400


class Rules(NamedTuple):
    """How a learner plays: noise, schedule scale = c sqrt(a + b t + d own), and how small its ridge is."""

    noise: int
    fresh: bool
    c: float
    a: float
    b: float
    d: float
    ridge: float  # the ridge of a privacy statement, always there; 0 is none
    loss_ridge: float  # what each curved loss adds to the ridge
    scale_ridge: float  # what the ridge has for each unit of scale, once a curved loss was seen
    accuracy: float  # the largest distance from the exact argmin


class Model(NamedTuple):
    """The quadratic model: its Hessian H, on a ball in tridiagonal form; and room to work in."""

    H: Any
    diagonal: Any
    beside: Any
    mirrors: Any
    g: Any
    trial: Any
    old: Any
    work: Any


def new_model(d: int) -> Model:
    """An empty model."""
    diagonal, beside, g, trial, old = (np.zeros(d) for _ in range(5))
    return Model(np.zeros((d, d)), diagonal, beside, np.zeros((d + 2, d)), g, trial, old, np.zeros(3 * BLOCK))


@kernel
def _renew(region, losses, ridge, x, state, model):
    """Make the model's Hessian that of x."""
    if not hessian(losses, ridge, x, model.H, model.work):
        return False
    if region.code == BALL:
        tridiagonal(model.H, model.diagonal, model.beside, model.mirrors)
    state[MODELLED] = 1.0 + losses.count[0] + losses.count[1]
    state[REFRESHES] += 1.0
    return True


@step
def _grow(losses, state, model):
    """The sum has grown since the model was made: to first order, in proportion."""
    size, d = 1.0 + losses.count[0] + losses.count[1], model.g.size
    ratio = size / state[MODELLED]
    if ratio > 1.0:
        for j in range(d):
            model.diagonal[j] *= ratio
            model.beside[j] *= ratio
            for k in range(d):
                model.H[j, k] *= ratio
        state[MODELLED] = size


@kernel
def leader(region, losses, ridge, tolerance, noise, x, state, model):
    """Move x, a point of X, to where the residual is at most `tolerance`: (status, residual)."""
    g, trial, old, d = model.g, model.trial, model.old, x.size
    renew, current, stepped = state[MODELLED] == 0.0, False, False
    left, slope, share = np.inf, 0.0, 1.0
    if not renew:
        _grow(losses, state, model)
    for _ in range(PASS_LIMIT):
        if not gradient(losses, region.center, ridge, noise, x, g, model.work):
            return FAILED, np.inf
        state[PASSES] += 1.0
        right = residual(region, x, g)
        if right <= tolerance:
            return FINE, right
        if stepped:
            along = 0.0
            for j in range(d):
                along += g[j] * (trial[j] - old[j])
            if not current and right > left:
                # A stale model led away: go back and look again.
                for j in range(d):
                    x[j] = old[j]
                renew, stepped = True, False
                continue
            if current and right > 0.5 * left and along > 1e-3 * abs(slope) and share > 1e-12:
                # Too far: G is convex, and while its slope along the step is not positive it has only fallen.
                share *= 0.5
                for j in range(d):
                    x[j] = old[j] + share * (trial[j] - old[j])
                continue
            # Chord steps gain a factor each; a new Hessian costs about d/4 of them.
            gain = left / right
            renew = gain < 2.0 or math.log(right / tolerance) > (2.0 + 0.25 * d) * math.log(gain)
        left, current, stepped, share = right, renew, True, 1.0
        if renew and not _renew(region, losses, ridge, x, state, model):
            return FAILED, np.inf
        if region.code == BALL:
            ball_argmin(region, model.diagonal, model.beside, model.mirrors, ridge, x, g, trial)
        elif not box_argmin(region, model.H, x, g, trial):
            return STUCK, left
        slope = 0.0
        for j in range(d):
            slope += g[j] * (trial[j] - x[j])
            old[j], x[j] = x[j], trial[j]
    return STUCK, left


@step
def _perturb(rules, s, d):
    """Draw the round's noise: what its normals are to be multiplied by."""
    s[ROUND] += 1.0
    s[SCALE] = rules.c * math.sqrt(rules.a + rules.b * s[ROUND] + rules.d * s[OWN_LOSS])
    if rules.fresh or s[ROUND] == 1.0:
        s[SPREAD] = draw(rules.noise, at(s, STREAM), at(s, HEADER + d), d)
    return s[SCALE] * s[SPREAD]


@step
def act_linear(rules, frame, q, s, d):
    """One move, when only linear losses were seen: O(d). q and s are addresses."""
    size = _perturb(rules, s, d)
    normals, total = at(s, HEADER + d), at(s, HEADER + 2 * d)
    for j in range(d):
        total[j] = q[j] + size * normals[j]
    linear_argmin(frame, total, d, at(s, HEADER))


@kernel
def ridge_of(rules, curved, scale):
    """The ridge: that of a privacy statement, or just enough to vouch for the distance from the argmin."""
    return max(rules.ridge, rules.loss_ridge * curved + rules.scale_ridge * scale if curved > 0 else 0.0)


@step
def act(rules, region, losses, state, model):
    """One move; its status. The state holds the move and its largest distance from the exact argmin."""
    d, curved = losses.q.size, losses.count[0] + losses.count[1]
    state[LAST] = 0.0
    if curved == 0 and rules.ridge == 0.0:
        act_linear(rules, frame(region), data_of(losses.q), data_of(state), d)
        return FINE
    size = _perturb(rules, data_of(state), d)
    x, noise = state[HEADER : HEADER + d], state[HEADER + 2 * d : HEADER + 3 * d]
    for j in range(d):
        noise[j] = size * state[HEADER + d + j]
        if state[RIDGE] == 0.0:
            x[j] = region.center[j]
    ridge = ridge_of(rules, curved, state[SCALE])
    state[RIDGE] = ridge
    status, left = leader(region, losses, ridge, rules.accuracy * ridge, noise, x, state, model)
    state[LAST] = left / ridge
    state[DISTANCE] += state[LAST]
    state[FARTHEST] = max(state[FARTHEST], state[LAST])
    return status


@kernel
def perturb_once(rules, state, d):
    """The round's noise into the last d numbers of the state, for a set without a compiled argmin."""
    size = _perturb(rules, data_of(state), d)
    for j in range(d):
        state[HEADER + 2 * d + j] = size * state[HEADER + d + j]


@step
def settle(state, x, family, parameter, z, y):
    """The loss of a move, added to the player's own."""
    loss = phi(family, parameter, inner(data_of(x), data_of(z), z.size), y)
    state[OWN_LOSS] += loss
    return loss


@kernel
def observe_once(losses, state, x, family, z, y):
    """A move's loss is known: settle it and include it. For a user's own phi `y` is its value."""
    loss = y if family == OWN else settle(state, x, family, losses.parameter, z, y)
    if family == OWN:
        state[OWN_LOSS] += loss
    include(losses, family, z, y)
    return loss


@kernel
def include_once(losses, family, z, y):
    """Include a loss that nobody played against."""
    include(losses, family, z, y)


@kernel
def linear_games(rules, region, sums, states, rows, marks, out, moves):
    """Runs through linear losses `rows` (T, d): own losses after the rounds of `marks` to `out` (runs, marks).

    `sums` (runs, d) and `states` (runs, size) are those of the runs; `moves` (runs, T or 0, d) gets the moves.
    """
    d, where = rows.shape[1], frame(region)
    for run in range(states.shape[0]):
        s = at(data_of(states), run * states.shape[1])
        q, x = at(data_of(sums), run * d), at(s, HEADER)
        mark = 0
        for t in range(rows.shape[0]):
            act_linear(rules, where, q, s, d)
            row = at(data_of(rows), t * d)
            s[OWN_LOSS] += inner(x, row, d)
            for j in range(d):
                q[j] += row[j]
            if moves.shape[1] > 0:
                for j in range(d):
                    moves[run, t, j] = x[j]
            if mark < marks.size and marks[mark] == t + 1:
                out[run, mark] = s[OWN_LOSS]
                mark += 1


@kernel
def curved_game(rules, region, losses, state, model, family, rows, targets, marks, out, moves, settled):
    """A run through losses `rows` (T, d), `targets` (T,), of one family: the status.

    A live player plays games of one round that are not `settled`: it moves, and the loss comes later.
    """
    mark, d = 0, region.center.size
    x = state[HEADER : HEADER + d]
    for t in range(rows.shape[0]):
        status = act(rules, region, losses, state, model)
        if status != FINE or not settled:
            return status
        for j in range(d if moves.shape[0] > 0 else 0):
            moves[t, j] = x[j]
        settle(state, x, family, losses.parameter, rows[t], targets[t])
        include(losses, family, rows[t], targets[t])
        if mark < marks.size and marks[mark] == t + 1:
            out[mark] = state[OWN_LOSS]
            mark += 1
    return FINE
