"""How likely each arm is to have the largest draw: by rational arithmetic, by mpmath, or by the law of two normals."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath as mp


def product(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    """Of two polynomials."""
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
    """(N, sum of losses) of each arm: y ~ N((N - sum)/(N + 1), 1/(N + 1)), by quadrature at 30 digits."""
    with mp.workdps(30):
        laws = [(mp.mpf(n - s) / (n + 1), 1 / mp.sqrt(n + 1)) for n, s in counts]
        cuts = sorted({m + k * d for m, d in laws for k in range(-12, 13, 2)})

        def share(i: int) -> float:
            def integrand(y):
                value = mp.npdf(y, *laws[i])
                for j, law in enumerate(laws):
                    if j != i:
                        value *= mp.ncdf(y, *law)
                return value

            return float(mp.quad(integrand, cuts))

        return [share(i) for i in range(len(laws))]
