"""Probability that each arm has the largest draw: by rational arithmetic, or by a sum over a fine grid."""

from __future__ import annotations

from fractions import Fraction
from math import comb, sqrt

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm


def product(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    """Product of two polynomials."""
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def betas(counts: list[tuple[int, int]]) -> list[float]:
    """(N, losses) of each arm: densities and cdfs are polynomials, so every integral is a fraction."""
    densities, cdfs = [], []
    for count, lost in counts:
        won = count - lost
        head = [Fraction(0)] * won + [Fraction(1)]
        tail = [Fraction((-1) ** j * comb(lost, j)) for j in range(lost + 1)]
        density = [(count + 1) * comb(count, won) * x for x in product(head, tail)]
        densities.append(density)
        cdfs.append([Fraction(0)] + [x / (k + 1) for k, x in enumerate(density)])
    shares = []
    for i, density in enumerate(densities):
        whole = density
        for j, cdf in enumerate(cdfs):
            if j != i:
                whole = product(whole, cdf)
        shares.append(float(sum(x / (k + 1) for k, x in enumerate(whole))))
    return shares


def normals(counts: list[tuple[int, float]]) -> list[float]:
    """(N, sum of losses) of each arm: y ~ N((N - sum)/(N + 1), 1/(N + 1)).

    Sums of smooth functions converge quickly.
    """
    laws = [((n - s) / (n + 1), 1.0 / sqrt(n + 1)) for n, s in counts]
    y = np.linspace(min(m - 12 * d for m, d in laws), max(m + 12 * d for m, d in laws), 20_001)
    below = [ndtr((y - m) / d) for m, d in laws]
    shares = []
    for i, (m, d) in enumerate(laws):
        whole = norm.pdf(y, m, d)
        for j, cdf in enumerate(below):
            if j != i:
                whole = whole * cdf
        shares.append(float(whole.sum() * (y[1] - y[0])))
    return shares
