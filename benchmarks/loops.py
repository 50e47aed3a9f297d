"""The same games without a package: plain Python lists and NumPy loops.

Each is written as fast as its kind allows (the lists keep weights, of which a bandit changes one a round), so the
comparison is fair; both draw from their own seeded generators and return the learner's own loss.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def bandit_lists(rows: Sequence[Sequence[float]], scale: float, seed: int = 0) -> float:
    """Softmax bandit, importance weighted, on lists of floats: one exp per round."""
    n = len(rows[0])
    uniform, exp = random.Random(seed).random, math.exp
    weights, total, own = [1.0] * n, float(n), 0.0
    arms = range(n)
    for t, row in enumerate(rows):
        left = uniform() * total
        for arm in arms:
            weight = weights[arm]
            left -= weight
            if left < 0.0:
                break
        loss = row[arm]
        own += loss
        fresh = weight * exp(-loss * total / (weight * scale))
        weights[arm] = fresh
        total += fresh - weight
        if not t & 1023:
            # Weights only shrink: rescale before they vanish, and drop the rounding of the running total.
            top = max(weights)
            weights = [w / top for w in weights]
            total = sum(weights)
    return own


def bandit_numpy(losses: Array, scale: float, seed: int = 0) -> float:
    """Softmax bandit, importance weighted, as a NumPy loop over estimated losses."""
    rounds, n = losses.shape
    rng = np.random.default_rng(seed)
    uniforms = rng.random(rounds)
    L = np.zeros(n)
    own = 0.0
    for t in range(rounds):
        w = np.exp((L.min() - L) / scale)
        c = w.cumsum()
        arm = int(c.searchsorted(uniforms[t] * c[-1], side="right"))
        loss = losses[t, arm]
        own += loss
        L[arm] += loss * c[-1] / w[arm]
    return float(own)


def hedge_numpy(losses: Array, scale: float, seed: int = 0) -> float:
    """Hedge on full information, as a NumPy loop; one action per round is drawn, and the expected loss is stored."""
    rounds, n = losses.shape
    uniforms = np.random.default_rng(seed).random(rounds)
    L = np.zeros(n)
    own = 0.0
    for t in range(rounds):
        w = np.exp((L.min() - L) / scale)
        c = w.cumsum()
        c.searchsorted(uniforms[t] * c[-1], side="right")
        own += w @ losses[t] / c[-1]
        L += losses[t]
    return float(own)


def expert_bandit_numpy(losses: Array, advice: NDArray[np.uint8], scale: float, seed: int = 0) -> float:
    """Bandit with experts (EXP4), advice as actions, as a NumPy loop."""
    rounds, actions = losses.shape
    experts = advice.shape[1]
    uniforms = np.random.default_rng(seed).random(rounds)
    L = np.zeros(experts)
    own = 0.0
    for t in range(rounds):
        w = np.exp((L.min() - L) / scale)
        q = np.bincount(advice[t], weights=w, minlength=actions)
        c = q.cumsum()
        action = min(int(c.searchsorted(uniforms[t] * c[-1], side="right")), actions - 1)
        loss = losses[t, action]
        own += loss
        L[advice[t] == action] += loss * c[-1] / q[action]
    return float(own)
