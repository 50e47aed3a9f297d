"""Algorithms 3 and 4 over every path of actions, each with its chance: expectations without a draw.

A bandit is the case where expert i always advises action i. Paths whose chance falls below 1e-12 a step add nothing
and are left out, so that no estimate overflows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array


class Sides(NamedTuple):
    """The terms of Lemmas C.1 to C.7 in expectation."""

    #: E sum of own losses - L*
    regret: float
    #: E sum <p_t - p_{t+1}, phi_t(lhat_t)>
    moved: float
    #: E sum <p_t - p_{t+1}, running sum>
    moved_sum: float
    #: E sum lhat^2 q^gamma
    second: float
    #: E sum D_t
    drift: float


def walked(phi: Any, losses: Array, advice: NDArray[Any] | None = None, gamma: float = 1.0) -> Sides:
    """Play the potential without clipping, exact weights, over every path."""
    T, K = losses.shape
    advice = np.tile(np.arange(K), (T, 1)) if advice is None else advice
    n = advice.shape[1]
    total, chance = np.zeros((1, n)), np.ones(1)
    own = moved = moved_sum = second = drift = 0.0
    for t in range(T):
        mark, p = np.eye(K)[advice[t]], phi.gradient(total)
        q = np.where(p @ mark > 1e-12, p @ mark, 0.0)
        # Each path goes on with each action j, whose experts are charged l_j/q_j.
        estimate = np.where(q > 0.0, losses[t] / np.where(q > 0.0, q, 1.0), 0.0)
        lift = (mark.T[None] * estimate[:, :, None]).reshape(-1, n)
        before, odds = np.repeat(total, K, axis=0), (chance[:, None] * q).ravel()
        after = before + lift
        keep = odds > 0.0
        before, after, lift, odds = before[keep], after[keep], lift[keep], odds[keep]
        p_before = np.repeat(p, K, axis=0)[keep]
        step = p_before - phi.gradient(after)
        own += float(chance @ (q @ losses[t]))
        moved += float(odds @ (step * lift).sum(axis=1))
        moved_sum += float(odds @ (step * after).sum(axis=1))
        second += float((chance[:, None] * q * estimate**2 * q**gamma).sum())
        kept = (p_before * lift).sum(axis=1) - (np.asarray(phi.value(after)) - np.asarray(phi.value(before)))
        drift += float(odds @ kept)
        total, chance = after, odds
    best = float(losses[np.arange(T)[:, None], advice].sum(axis=0).min())
    return Sides(own - best, moved, moved_sum, second, drift)


def spared(rounds: int, n: int, share: float = 0.5) -> Array:
    """Every arm loses 1 until `share` of the rounds, and from then on all but the first: by then estimates have drifted
    apart, and the arm that is spared may be the one that the bandit gave up. Near the worst for every bandit."""
    losses = np.ones((rounds, n))
    losses[int(share * rounds) :, 0] = 0.0
    return losses
