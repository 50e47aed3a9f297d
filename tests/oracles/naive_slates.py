"""Slow reference implementations of slates: every play and every draw by enumeration, bisection or quadrature."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq


def slates_of(n, m):
    """Return all slates as tuples of items."""
    return list(itertools.combinations(range(n), m))


def inclusion(chances, n):
    """Return the inclusion probabilities of a distribution over slates."""
    found = np.zeros(n)
    for slate, chance in chances.items():
        found[list(slate)] += chance
    return found


def capped_entropy(losses, m, scale, left_out=False):
    """Return min(1, e^((lam - L_i)/s)) with sum m, by bisection; with `left_out`, 1 minus the same for -L and n - m."""
    losses = np.asarray(losses, dtype=float)
    if left_out:
        return 1.0 - capped_entropy(-losses, len(losses) - m, scale)
    shifted = (losses - np.sort(losses)[m - 1]) / scale

    def total(lam):
        return np.exp(np.minimum(lam - shifted, 0.0)).sum() - m

    return np.exp(np.minimum(brentq(total, -math.log(len(losses)) - 1.0, 800.0, xtol=1e-15, rtol=1e-15) - shifted, 0.0))


def product(weights, m):
    """Return P(slate) proportional to the product of its weights, by enumeration; weights are given as logarithms."""
    sums = {slate: math.fsum(weights[i] for i in slate) for slate in slates_of(len(weights), m)}
    top = max(sums.values())
    parts = {slate: math.exp(value - top) for slate, value in sums.items()}
    whole = math.fsum(parts.values())
    return {slate: part / whole for slate, part in parts.items()}


def hedge(losses, m, scale):
    """Return Hedge over all slates: P(slate) proportional to e^(-loss of the slate/s)."""
    return product([-loss / scale for loss in losses], m)


def conditional(x, m):
    """Return the distribution over slates of maximum entropy with inclusion probabilities x, by Newton's method."""
    x = np.asarray(x, dtype=float)
    theta = np.log(x / (1.0 - x))
    for _ in range(200):
        chances = product(theta, m)
        q = inclusion(chances, len(x))
        off = x - q
        if np.abs(off).max() < 1e-15:
            break
        pairs = np.zeros((len(x), len(x)))
        for slate, chance in chances.items():
            pairs[np.ix_(slate, slate)] += chance
        step = np.linalg.lstsq(pairs - np.outer(q, q), off, rcond=1e-14)[0]
        theta = theta + step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))
    return chances


def leaders(losses, m, scale):
    """Return P(item is among the m smallest L - s Z), Z exponential, by quadrature over the noise of the item."""
    d = (np.asarray(losses, dtype=float) - min(losses)) / scale
    found = np.zeros(len(d))
    for i in range(len(d)):

        def integrand(z, i=i):
            counts = np.zeros(len(d) + 1)
            counts[0] = 1.0
            for j in range(len(d)):
                if j != i:
                    above = min(1.0, math.exp(-(z - d[i] + d[j])))
                    counts[1:] = counts[1:] * (1.0 - above) + counts[:-1] * above
                    counts[0] *= 1.0 - above
            return math.exp(-z) * counts[:m].sum()

        cuts = sorted({0.0, 60.0, *(c for c in d[i] - d if 0.0 < c < 60.0)})
        found[i] = math.fsum(
            quad(integrand, a, b, epsabs=1e-14, epsrel=1e-13, limit=200)[0] for a, b in itertools.pairwise(cuts)
        )
    return found
