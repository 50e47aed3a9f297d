"""Searches over adversaries of linear losses: exact maxima by dynamic programming, for the mean play of a leader."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special, stats

from hannan.learners.convex.learner import Convex
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise

CHI = GaussianNoise().mean_norm

# A ball: by rotation the state is ||L||, and the mean play is -r h'(||L||) L/||L||


def slope(rho: np.ndarray, sigma: float, d: int, gamma: bool) -> np.ndarray:
    """h'(rho) for N(0, sigma^2 I), or for Gamma noise of scale sigma, as a mean over its random sigma."""
    if not gamma:
        return rho * CHI(d) / (d * sigma) * special.hyp1f1(0.5, d / 2 + 1, -(rho**2) / (2 * sigma**2))
    v, weights = special.roots_genlaguerre(60, (d - 1) / 2)
    spread = sigma * np.sqrt(2 * v)[:, None]
    parts = rho * CHI(d) / (d * spread) * special.hyp1f1(0.5, d / 2 + 1, -(rho**2) / (2 * spread**2))
    return weights @ parts / weights.sum()


def worst_on_a_ball(d: int, T: int, sigma_of: Callable[[int], float], gamma: bool = False) -> float:
    """The largest regret over all sequences with ||l|| in {0.5, 1} (13 angles) of the mean play, r = beta = 1.

    Exact at d = 1, where ||L|| stays on the grid; elsewhere values between grid points are interpolated linearly, which
    overestimates convex functions.
    """
    points = 10 * T + 1
    rho = np.linspace(0.0, float(T), points)
    value = rho.copy()  # -min <L_T, x> = ||L_T||
    cosines = np.cos(np.linspace(0.0, np.pi, 13))
    for t in range(T, 0, -1):
        play = slope(rho, sigma_of(t), d, gamma)
        best = np.full(points, -np.inf)
        for size in (0.5, 1.0):
            for c in cosines if d > 1 else (-1.0, 1.0):
                after = np.sqrt(np.maximum(rho**2 + size**2 + 2 * rho * size * c, 0.0))
                best = np.maximum(best, -play * size * c + np.interp(after, rho, value))
        value = best
    return float(value[0])


def worst_of_learner(learner: Convex, T: int) -> float:
    """Largest regret/bound of a learner of linear losses on the unit ball, lipschitz = 1."""
    schedule, d = learner.schedule(), learner.domain.d
    worst = worst_on_a_ball(d, T, lambda t: schedule.scale(t, 0.0), isinstance(learner.noise, GammaNoise))
    return worst / learner.bound(rounds=T).value


# Two points of a simplex against all 0/1 sequences


def mass_of_the_first(gap: np.ndarray, scale: float) -> np.ndarray:
    """P(first vertex leads): b_1 - b_2 + gap < 0 for Gamma noise in two dimensions."""
    v, weights = special.roots_genlaguerre(80, 0.5)
    spread = scale * np.sqrt(2 * v)[:, None] * math.sqrt(2.0)
    return weights @ stats.norm.cdf(-gap / spread) / weights.sum()


def worst_on_two_points(T: int, scale_of: Callable[[int], float]) -> float:
    """The largest expected regret over all sequences with a loss of 1 for one of two vertices per round, exactly."""
    gap = np.arange(-T, T + 1, dtype=float)
    value = 0.5 * (np.abs(gap) - T)
    for t in range(T, 0, -1):
        first = mass_of_the_first(gap, scale_of(t))
        up, down = np.append(value[1:], -np.inf), np.append(-np.inf, value[:-1])
        value = np.maximum(first + up, 1.0 - first + down)
    return float(value[T])
