"""Slow transcriptions of the games and their components: the reference values for the compiled games."""

from __future__ import annotations

import math

import numpy as np

MASK = (1 << 64) - 1


class Xoshiro:
    """xoshiro256++ as published by its authors, with Python integers."""

    def __init__(self, words):
        self.s = [int(w) for w in words]

    @staticmethod
    def rotate(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    def word(self):
        s = self.s
        result = (self.rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = self.rotate(s[3], 45)
        return result

    def uniform(self):
        return (self.word() >> 11) * 2.0**-53


def stream(seed, *key):
    return Xoshiro(np.random.SeedSequence(seed, spawn_key=key).generate_state(4, np.uint64))


def softmax(L, scale, prior=None):
    w = np.exp(-(L - L.min()) / scale)
    if prior is not None:
        w = w * prior
    return w / w.sum()


def tsallis_half(L, scale):
    """p_i = (scale / (L_i - x))^2 by bisection on x."""
    L = L - L.min()
    low, high = -scale * math.sqrt(len(L)), -scale
    for _ in range(200):
        middle = (low + high) / 2
        if ((scale / (L - middle)) ** 2).sum() > 1.0:
            high = middle
        else:
            low = middle
    p = (scale / (L - high)) ** 2
    return p / p.sum()


def inverse_cdf(p, u):
    total = 0.0
    for i, x in enumerate(p):
        total += x
        if u < total:
            return i
    return int(np.flatnonzero(p)[-1])


def bandit(distribution, scale_of, losses, seed, run=0, weight=None):
    """(actions, own loss after each round) of Algorithm 4."""
    rng = stream(seed, run)
    T, n = losses.shape
    L, own, actions, curve = np.zeros(n), 0.0, [], []
    for t in range(T):
        p = distribution(L, scale_of(t + 1, own))
        i = inverse_cdf(p, rng.uniform())
        w = 1.0 / p[i] if weight is None else weight(p[i], L, i, rng)
        L[i] += losses[t, i] * w
        own += losses[t, i]
        actions.append(i)
        curve.append(own)
    return np.array(actions), np.array(curve)


def experts(distribution, scale_of, losses, seed, run=0, fictitious=False):
    """(actions, own loss, sum of <p, l>) of Algorithm 2; with `fictitious`, p_{t+1} meets l_t."""
    rng = stream(seed, run)
    T, n = losses.shape
    L, learner, mean, own, actions, curve, means = np.zeros(n), 0.0, 0.0, 0.0, [], [], []
    for t in range(T):
        p = distribution(L, scale_of(t + 1, learner))
        learner += p @ losses[t]
        L = L + losses[t]
        if fictitious:
            p = distribution(L, scale_of(t + 2, learner))
        i = inverse_cdf(p, rng.uniform())
        own += losses[t, i]
        mean += p @ losses[t]
        actions.append(i)
        curve.append(own)
        means.append(mean)
    return np.array(actions), np.array(curve), np.array(means)


def expert_bandit(distribution, scale_of, losses, advice, seed, run=0, rho=lambda own: 0.0):
    """(actions, own loss) of Algorithm 3; advice (T, experts) or (T, experts, actions)."""
    rng = stream(seed, run)
    T, K = losses.shape
    mixed = advice.ndim == 3
    N = advice.shape[1]
    L, own, actions, curve = np.zeros(N), 0.0, [], []
    for t in range(T):
        p = distribution(L, scale_of(t + 1, own))
        E = advice[t] if mixed else np.eye(K)[advice[t]]
        q = p @ E
        level = rho(own)
        u = rng.uniform()
        if level == 0.0 and not mixed:
            j = int(advice[t][inverse_cdf(p, u)])
        else:
            keep = q >= level
            keep[np.argmax(q)] = True
            q = np.where(keep, q, 0.0)
            q = q / q.sum()
            j = inverse_cdf(q, u)
        L = L + E[:, j] * losses[t, j] / q[j]
        own += losses[t, j]
        actions.append(j)
        curve.append(own)
    return np.array(actions), np.array(curve)


def losses_of(rounds, n, seed=0):
    """Return a table of losses in [0, 1] whose first column has the smallest mean."""
    rng = np.random.default_rng(seed)
    return (rng.random((rounds, n)) < np.linspace(0.3, 0.7, n)).astype(float) * rng.uniform(0.5, 1.0, (rounds, n))
