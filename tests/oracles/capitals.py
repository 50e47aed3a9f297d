"""Capitals of evidence in NumPy, for many games at once: a second implementation of docs/proofs/evidence.md.

Axes are (game, arm, side, bet). A miss is found without bisection: the capital decreases in theta, so a lower bound is
above theta if and only if the capital at theta exceeds its threshold.
"""

from __future__ import annotations

import numpy as np

BETS = 2.0 ** -np.arange(16)
LOG_WEIGHTS = np.log((1.0 / (np.arange(16) + 3)) / (1.0 / (np.arange(16) + 3)).sum())


class Capitals:
    """Tables of evidence of several games that are played simultaneously."""

    def __init__(self, games, arms):
        shape = (games, arms, 2, 16)
        self.games, self.arms, self.t = np.arange(games), arms, 0
        self.W, self.C, self.fixed_W, self.fixed_C = (np.zeros(shape) for _ in range(4))
        self.regret_W, self.regret_C = np.zeros((games, arms, 16)), np.zeros((games, arms, 16))
        self.sum, self.count, self.drawn = (np.zeros((games, arms)) for _ in range(3))
        self.own, self.pending = np.zeros(games), np.zeros(games)
        self.center = np.full((games, arms), 0.5)
        self.versions = [self.center]

    def act(self, p, arm):
        """Count a draw per game with these probabilities (games, arms); its feedback is pending."""
        self.t += 1
        center = self.versions[(self.t - 1).bit_length()]
        sides = np.stack([center, 1.0 - center], axis=-1)[..., None]
        self.C += np.minimum(sides, 0.5 * p[..., None, None] / BETS)
        with np.errstate(divide="ignore"):
            reach = np.log((1.0 - 0.5 * p) / (1.0 - p))[..., None] / (16.0 * BETS)
        self.regret_C += np.minimum(center[..., None], reach)
        g = self.games
        self._bet(g, arm, p[g, arm], center[g, arm], None)
        self.fixed_C[g, arm] += np.minimum(sides[g, arm], 0.5 / BETS)
        self.drawn[g, arm] += 1
        self.pending += 1
        if self.t & (self.t - 1) == 0:
            self.versions.append((0.5 + self.sum) / (1.0 + self.count))

    def settle(self, g, t, arm, p, loss):
        """Count the feedback of draw t of the games g."""
        self._bet(g, arm, p, self.versions[(t - 1).bit_length()][g, arm], loss)
        self.sum[g, arm] += loss
        self.count[g, arm] += 1
        self.own[g] += loss
        self.pending[g] -= 1

    def _bet(self, g, arm, p, center, loss):
        """Add the logarithms of the factors at loss 0 of both sides, or those at `loss` relative to them."""
        c = np.stack([center, 1.0 - center], axis=-1)[:, None, :, None]
        main, fixed = np.minimum(c[:, 0], 0.5 * p[:, None, None] / BETS), np.minimum(c[:, 0], 0.5 / BETS)
        mu = 16.0 * BETS
        with np.errstate(divide="ignore"):
            low = np.minimum(center[:, None], np.log((1.0 - 0.5 * p) / (1.0 - p))[:, None] / mu)
        q = p[:, None, None]
        factors = [1.0 - BETS * main / q, 1.0 - BETS * fixed, 1.0 + np.expm1(-mu * low) / p[:, None]]
        if loss is not None:
            x = np.stack([loss, 1.0 - loss], axis=-1)[..., None]
            after = [
                1.0 + BETS * (x - main) / q,
                1.0 + BETS * (x - fixed),
                1.0 + np.expm1(mu * (loss[:, None] - low)) / p[:, None],
            ]
            factors = [a / b for a, b in zip(after, factors, strict=True)]
        self.W[g, arm] += np.log(factors[0])
        self.fixed_W[g, arm] += np.log(factors[1])
        self.regret_W[g, arm] += np.log(factors[2])

    # Logarithms of capitals at theta

    def arm(self, arm, side, theta):
        return total(self.W[:, arm, side] + BETS * (self.C[:, arm, side] - theta[:, None]))

    def pair(self, larger, smaller, theta):
        rows = self.W[:, larger, 0] + self.W[:, smaller, 1], self.C[:, larger, 0] + self.C[:, smaller, 1]
        return total(rows[0] + BETS * (rows[1] - theta[:, None]))

    def regret(self, arm, theta):
        return total(self.regret_W[:, arm] + 16.0 * BETS * (self.regret_C[:, arm] - theta[:, None]))

    def fixed(self, arm, side, mean):
        theta = self.drawn[:, arm] * mean
        return total(self.fixed_W[:, arm, side] + BETS * (self.fixed_C[:, arm, side] - theta[:, None]))


def total(x):
    """Return log sum_j w_j exp(x_j)."""
    x = x + LOG_WEIGHTS
    top = x.max(axis=-1)
    return top + np.log(np.exp(x - top[..., None]).sum(axis=-1))
