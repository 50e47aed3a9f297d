"""A bandit replayed on a log: row t has the action a_t that was logged, its loss, and its propensity p_t.

The learner draws its own action; the row is accepted if that is a_t and a coin of floor / p_t agrees. Given that
a row is accepted its action has the learner's own distribution q, whatever the log's policy was, as long as
floor is at most every p_t: the accepted rows are a game of the learner's own. What is not accepted leaves no trace
but the randomness used up.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels import steps
from hannan.kernels.advising import action_masses, clip_masses
from hannan.kernels.calling import data_of
from hannan.kernels.compile import kernel
from hannan.kernels.state import ACTIONS, ARMS, FINE, HEADER, PROBABILITY, ROUND, SCRATCH, TOTAL, WEIGHT
from hannan.kernels.streams import uniform
from hannan.kernels.weighing import next_clip

#: Sums kept: rows, w, w^2, w l, (w l)^2, w^2 l, w^2 l^2, doubly robust and its square, accepted, their loss and square.
SUMS = 12


@kernel
def replay_rows(state, pointer, advised, actions, losses, propensities, advice, floor, coins, model, sums):
    """Walk some rows; model (3, K) keeps, per action, sums of losses and counts, and q of the row.

    Returns -1, or the row at which a loss is bad (1000000000 + row: at which the smoothing failed).
    """
    n, width = np.int64(state[ARMS]), np.int64(state[ACTIONS])
    coin = data_of(coins)
    for t in range(actions.size):
        a = actions[t]
        if steps.make_ready(state, pointer, False) != FINE:
            return np.int64(1000000000 + t)
        if advised:
            row = advice[t]
            s = data_of(state)
            whole = action_masses(s, n, width, data_of(row), np.int64(0), False)
            at = np.int64(state[SCRATCH]) + n
            rho = next_clip(s)
            if rho > 0.0:
                whole = clip_masses(s, at, width, rho * whole)
            for j in range(width):
                model[2, j] = state[at + j] / whole
            drawn = steps.expert_bandit_act(state, pointer, row, False, False)
        else:
            row = advice[0]
            for j in range(width):
                model[2, j] = state[HEADER + n + j] / state[TOTAL]
            drawn = steps.bandit_act(state, pointer, False)
        if drawn < 0:
            return np.int64(1000000000 + t)
        # What the rows before say of each action's loss; the mean of all where an action is new.
        seen = total = 0.0
        for j in range(width):
            total += model[0, j]
            seen += model[1, j]
        mean = total / seen if seen > 0.0 else 0.0
        direct = 0.0
        for j in range(width):
            direct += model[2, j] * (model[0, j] / model[1, j] if model[1, j] > 0.0 else mean)
        here = model[0, a] / model[1, a] if model[1, a] > 0.0 else mean
        w, loss = model[2, a] / propensities[t], losses[t]
        robust = direct + w * (loss - here)
        accepted = drawn == a and uniform(coin, np.int64(0)) * propensities[t] < floor
        if accepted:
            probability, weight = state[PROBABILITY], state[WEIGHT]
            if advised:
                status = steps.expert_bandit_observe(state, pointer, row, False, a, probability, weight, loss, False)
            else:
                status = steps.bandit_observe(state, pointer, a, probability, weight, loss, False)
            if status != FINE:
                return np.int64(t)
            sums[9] += 1.0
            sums[10] += loss
            sums[11] += loss * loss
        else:
            state[ROUND] -= 1.0
        sums[0] += 1.0
        sums[1] += w
        sums[2] += w * w
        sums[3] += w * loss
        sums[4] += (w * loss) ** 2
        sums[5] += w * w * loss
        sums[6] += w * w * loss * loss
        sums[7] += robust
        sums[8] += robust * robust
        model[0, a] += loss
        model[1, a] += 1.0
    return np.int64(-1)
