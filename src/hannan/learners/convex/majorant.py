"""Moves of curved losses over rounds, with Gaussian noise: the privacy loss that majorises theirs, convolved.

For every epsilon and T fresh draws, over all adaptive losses (docs/proofs/convex.md),

    delta_T(epsilon + T(J + epsilon_2)) <= E(1 - e^(epsilon - V_1 - ... - V_T))_+ ,    V_t i.i.d.,

    phi' of one sign    V = max(0, mu^2/2 + mu y)           y standard normal, mu = beta/sigma
    phi(<z, x>)         V = mu^2/2 + mu |y|

V is put on a grid so that the right side can only grow: it is convex in each e^-V, so the mass of a cell goes to the
cell's two ends with the mean of e^-V kept. What lies beyond the grid counts as infinite. The sums are direct, of
positive numbers, so that rounding is relative.
"""

from __future__ import annotations

import math

import numpy as np

from hannan.mathematics.bounds import Withheld
from hannan.mathematics.convex.noise import Shape
from hannan.refusals import Array

#: Points of the grid, and how far into the normal tail it reaches in one round: beyond is 1e-23.
POINTS, REACH = 6000, 10.0
#: More than the relative rounding of all sums.
ROUNDING = 1e-9


def composed_epsilon(mu: float, shape: Shape, rounds: int, delta: float) -> float:
    """The least epsilon on the safe side with E(1 - e^(epsilon - sum V))_+ <= delta.

    >>> from hannan.mathematics.convex.noise import GaussianNoise
    >>> one = composed_epsilon(0.5, "one-signed", 1, 1e-6)
    >>> exact = GaussianNoise(1e-6).epsilon_of(0.5, 1.0)
    >>> bool(exact <= one <= 1.001 * exact)
    True
    """
    grid, masses, beyond = _composed(mu, shape, rounds)

    def enough(epsilon: float) -> bool:
        lost = -np.expm1(np.minimum(epsilon - grid, 0.0))
        return (float(masses @ lost) + beyond) * (1.0 + ROUNDING) <= delta

    if not enough(float(grid[-1])):
        raise Withheld(f"delta must be above what lies beyond the grid of {rounds} rounds, {beyond:.3g}; got {delta!r}")
    low, high = 0.0, float(grid[-1])
    if enough(low):
        return low
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _composed(mu: float, shape: Shape, rounds: int) -> tuple[Array, Array, float]:
    """(grid, masses of V_1 + ... + V_T on it, mass beyond it)."""
    once = 0.5 * mu * mu + REACH * mu
    step = mu / 50.0
    for _ in range(3):
        # Then again with the moments of what is on the grid, which spreads more than V where it is coarse.
        grid = _grid(step, math.ceil(once / step) + 2)
        power, lost = _one(mu, shape, grid)
        mean = float(power @ grid)
        spread = math.sqrt(float(power @ (grid - mean) ** 2))
        end = rounds * mean + 14.0 * spread * math.sqrt(rounds) + once + step
        step = max(step, end / POINTS)
    size = math.ceil(end / step) + 1
    grid = _grid(step, max(size, len(grid)))
    power, lost = _one(mu, shape, grid)
    total, beyond = np.ones(1), 0.0
    left = rounds
    while left:
        if left & 1:
            total, beyond = _sum(total, beyond, power, lost, len(grid))
        left >>= 1
        if left:
            power, lost = _sum(power, lost, power, lost, len(grid))
    masses = np.zeros(len(grid))
    masses[: len(total)] = total
    return grid, masses, beyond


def _grid(step: float, size: int) -> Array:
    return np.arange(size, dtype=np.float64) * step


def _sum(p: Array, p_lost: float, q: Array, q_lost: float, size: int) -> tuple[Array, float]:
    """The law of a sum, cut at the end of the grid."""
    both = np.convolve(p, q)
    return both[:size], p_lost + q_lost + float(both[size:].sum())


def _one(mu: float, shape: Shape, grid: Array) -> tuple[Array, float]:
    """One round's V on the grid: each cell's mass at its ends, the mean of e^-V kept."""
    from scipy.special import ndtr

    # V = mu^2/2 + mu y at y; e^-V phi(y) = phi(y + mu).
    y = (grid - 0.5 * mu * mu) / mu
    sides = 1.0
    if shape == "rank-one":
        y, sides = np.maximum(y, 0.0), 2.0
    cell = sides * (ndtr(-y[:-1]) - ndtr(-y[1:]))
    kept = sides * (ndtr(-y[:-1] - mu) - ndtr(-y[1:] - mu))
    left, right = np.exp(-grid[:-1]), np.exp(-grid[1:])
    # A share at the left end; rounding may take it out of [0, 1] where a cell is empty.
    share = np.clip((kept - cell * right) / np.maximum(cell * (left - right), 1e-300), 0.0, 1.0)
    masses = np.zeros(len(grid))
    masses[:-1] += cell * share
    masses[1:] += cell * (1.0 - share)
    if shape != "rank-one":
        masses[0] += float(ndtr(y[0]))
    return masses, sides * float(ndtr(-y[-1]))
