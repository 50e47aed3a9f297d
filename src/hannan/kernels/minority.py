"""MYGA (Allen-Zhu, Bubeck, Li 2018): advice of the real experts, and of thresholds that mistrust rare arms.

w_e ~ e^(-eta L_e) over N experts and |S| thresholds s, gamma < s <= 1/2, 1/(2T) apart. zeta is the mean advice of the
experts; the likelier arms that hold half of it are the majority. T_s q moves the mass of the minority arms with
q_j <= s to the majority, in proportion. The mixture is its own fixed point, q = (sum_e w_e E_e + sum_s w_s T_s q)/W:

    minority  q_j (W_N + sum_{s >= q_j} w_s) = sum_e w_e E_ej, the least such q_j
    majority  in proportion to sum_e w_e E_ej

and the play is T_gamma q. O(K T) a round, as published.
"""

from __future__ import annotations

import math

import numpy as np

from hannan.kernels.compile import kernel
from hannan.kernels.state import HEADER


@kernel
def mix(state, n, actions, thresholds, eta, gamma, step, advice, q, majority, p):
    """Fill q, majority (0 or 1) and p for a row of advice, (experts, actions) flat; weights are made anew from L."""
    base = state[HEADER]
    first = HEADER + 2 * n
    for i in range(n):
        base = min(base, state[HEADER + i])
    for k in range(thresholds):
        base = min(base, state[first + k])
    real = 0.0
    for i in range(n):
        state[HEADER + n + i] = math.exp(eta * (base - state[HEADER + i]))
        real += state[HEADER + n + i]
    # tails[k] = the weight of the thresholds k, k+1, ...
    tails = np.zeros(thresholds + 1)
    for k in range(thresholds - 1, -1, -1):
        tails[k] = tails[k + 1] + math.exp(eta * (base - state[first + k]))
    heard = np.zeros(actions)
    if real > 0.0:
        for i in range(n):
            for j in range(actions):
                heard[j] += state[HEADER + n + i] / real * advice[i * actions + j]
    else:
        # Thresholds have all the weight: the best expert speaks for the real ones.
        best = 0
        for i in range(1, n):
            if state[HEADER + i] < state[HEADER + best]:
                best = i
        for j in range(actions):
            heard[j] = advice[best * actions + j]
    order = np.argsort(-heard)
    held = 0.0
    lead = 0.0
    for r in range(actions):
        j = order[r]
        majority[j] = 1.0 if held < 0.5 else 0.0
        if held < 0.5:
            lead += heard[j]
        held += heard[j]
    minor = 0.0
    for j in range(actions):
        if majority[j] == 0.0:
            q[j] = _least_root(heard[j], real, tails, thresholds, gamma, step)
            minor += q[j]
    for j in range(actions):
        if majority[j] == 1.0:
            q[j] = (1.0 - minor) * heard[j] / lead
    moved = 0.0
    for j in range(actions):
        if majority[j] == 0.0 and q[j] <= gamma:
            moved += q[j]
    for j in range(actions):
        if majority[j] == 1.0:
            p[j] = q[j] * (1.0 + moved / (1.0 - minor))
        else:
            p[j] = q[j] if q[j] > gamma else 0.0
    return real


@kernel
def _least_root(heard, real, tails, thresholds, gamma, step):
    """The least q with q (W_N + weight of the thresholds >= q) = heard W_N."""
    if heard <= 0.0:
        return 0.0
    if not real > 0.0:
        return 0.0
    for k in range(thresholds):
        # q in (s_{k-1}, s_k], s_k = gamma + (k+1) step: the thresholds from k on would move it.
        q = heard * real / (real + tails[k])
        if q <= gamma + (k + 1) * step:
            return q
    return heard


@kernel
def charge(state, n, actions, thresholds, gamma, step, advice, q, majority, arm, estimate):
    """L of every expert and threshold, += its share of the arm times l/p; q and majority are the ticket's."""
    for i in range(n):
        state[HEADER + i] += advice[i * actions + arm] * estimate
    first = HEADER + 2 * n
    lead = 0.0
    for j in range(actions):
        lead += q[j] * majority[j]
    for k in range(thresholds):
        s = gamma + (k + 1) * step
        if majority[arm] == 1.0:
            moved = 0.0
            for j in range(actions):
                if majority[j] == 0.0 and q[j] <= s:
                    moved += q[j]
            share = q[arm] * (1.0 + moved / lead)
        else:
            share = q[arm] if q[arm] > s else 0.0
        state[first + k] += share * estimate
