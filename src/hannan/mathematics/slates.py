"""Regret bounds for slates: m of n items per round, losses of the shown items observed.

The inclusion probabilities are x = argmin <L, x> - 2 s sum sqrt(x_i) over vectors x in [0, 1]^n that sum to m. The
range constant is G = 2 (r - m), where r = sqrt(m n). Proofs: docs/proofs/slates.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hannan.mathematics.bounds import Terms
from hannan.validation import Array

#: Largest relative difference of the inclusion probabilities of the conditional draw and those of the play.
FITTED = 1e-9
#: Rounds that are summed one by one; the decreasing terms of later rounds are bounded by an integral.
EXACT = 1 << 17


def root(n: int, size: int) -> float:
    """Return r = sqrt(m n), the largest value of sum sqrt(x_i)."""
    return math.sqrt(n * size)


def range_constant(n: int, size: int) -> float:
    """Return G = 2 (r - m).

    >>> range_constant(8, 2)
    4.0
    """
    return 2.0 * (root(n, size) - size)


def reduced_variance_factor(n: int, size: int) -> float:
    """Return f of the anytime scale f sqrt(t); 1/2 for single items, as for bandits.

    >>> round(reduced_variance_factor(8, 2), 4)
    0.7071
    """
    r = root(n, size)
    return 0.5 if size == 1 else 0.5 * math.sqrt(r / (r - size))


def importance_weighted(n: int, size: int, scale: Callable[[Array], Array], rounds: int) -> Terms:
    """Return the terms of Theorem 1, for a nondecreasing scale of the round."""
    drift = _sum_of_rounds(lambda t: root(n, size) / scale(t), scale, rounds, lambda s, _: root(n, size) / s)
    return {"2 s (r - m)": range_constant(n, size) * _last(scale, rounds), "r sum 1/s": drift}


def implicit(n: int, size: int, scale: float, gamma: float, rounds: int) -> Terms:
    """Return the terms of Theorem 3, which holds even against an adaptive adversary; constant scale."""
    return {
        "2 s (r - m)": range_constant(n, size) * scale,
        "r T/s": root(n, size) * rounds / scale,
        "gamma n T": gamma * n * rounds,
        "m ln(n/m)/(2 gamma)": size * math.log(n / size) / (2.0 * gamma),
    }


def reduced_variance(n: int, size: int, scale: Callable[[Array], Array], rounds: int) -> Terms:
    """Return the terms of Theorem 2, for a nondecreasing scale of the round.

    >>> terms = reduced_variance(8, 2, lambda t: math.sqrt(0.5) * np.sqrt(t), 10_000)
    >>> round(sum(terms.values()))
    672
    """
    t = np.arange(1, min(rounds, EXACT) + 1, dtype=np.float64)
    s = scale(t)
    early = s * s <= 4.0
    late = s[~early]
    terms = {
        "2 s (r - m)": range_constant(n, size) * _last(scale, rounds),
        "r sum 1/(4 s)": float((root(n, size) / (4.0 * late)).sum()),
        "n sum 5/(6 s^2) + ...": float((n * (5.0 / (6.0 * late**2) + 2.0 / (late**2 * (late**2 - 1.0)))).sum()),
        "first rounds": float((size / (1.0 + s[early] * math.sqrt(size / n))).sum()),
    }
    if rounds > EXACT:
        # Every term decreases in t, so that the integral from the last summed round on bounds the rest.
        first, last = float(EXACT), float(rounds)
        a, b = (float(scale(np.array([x]))[0]) for x in (first, last))
        if a == b:
            left = last - first
            terms["r sum 1/(4 s)"] += left * root(n, size) / (4.0 * a)
            terms["n sum 5/(6 s^2) + ..."] += left * n * (5.0 / (6.0 * a * a) + 2.0 / (a * a * (a * a - 1.0)))
        else:
            f2 = a * a / first
            terms["r sum 1/(4 s)"] += root(n, size) / (2.0 * math.sqrt(f2)) * (math.sqrt(last) - math.sqrt(first))
            terms["n sum 5/(6 s^2) + ..."] += n * (
                5.0 / (6.0 * f2) * math.log(last / first)
                + 2.0 * (math.log1p(-1.0 / (b * b)) - math.log1p(-1.0 / (a * a)))
            )
    return terms


def unavailable(n: int, size: int, scale: Callable[[Array], Array], rounds: int, reduced: bool) -> Terms:
    """Return the term that bounds the additional cost of `rounds` rounds with unavailable items, for a nondecreasing
    scale.

    >>> unavailable(8, 2, lambda t: 2.0 + 0.0 * t, 10, reduced=False)
    {'unavailable items': 10.0}
    """
    more = size + (root(n, size) if reduced else 0.0)
    added = _sum_of_rounds(lambda t: more / scale(t), scale, rounds, lambda s, _: more / s)
    return {"unavailable items": added}


def fitted(terms: Terms, size: int, rounds: int) -> Terms:
    """Return the terms with the cost of a draw whose inclusion probabilities differ from x by a share of `FITTED`.

    The own loss of a round changes by at most m FITTED, and its cost E D by a share of at most 3.1 FITTED.

    >>> fitted({"r T/s": 10.0}, 2, 1000)["fitted draw"] < 1e-5
    True
    """
    return {**terms, "fitted draw": FITTED * (size * rounds + 3.1 * math.fsum(terms.values()))}


def importance_weighted_scale(n: int, size: int, rounds: int) -> float:
    """Return the constant scale with the smallest bound of Theorem 1."""
    r = root(n, size)
    return math.sqrt(r * rounds / (2.0 * (r - size)))


def implicit_gamma(n: int, size: int, rounds: int) -> float:
    """Return gamma with the smallest bound of Theorem 3."""
    return math.sqrt(size * math.log(n / size) / (2.0 * n * rounds))


def reduced_variance_scale(n: int, size: int, rounds: int) -> float:
    """Return the constant scale with the smallest bound of Theorem 2."""

    def total(s: float) -> float:
        return math.fsum(reduced_variance_constant(n, size, s, rounds).values())

    low, high = math.log(2.0 * (1.0 + 1e-9)), math.log(4.0 + importance_weighted_scale(n, size, rounds))
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    # The sum is convex in s above 2.
    for _ in range(100):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if total(math.exp(left)) <= total(math.exp(right)):
            high = right
        else:
            low = left
    best = math.exp(0.5 * (low + high))
    return min((best, 2.0), key=total)


def reduced_variance_constant(n: int, size: int, scale: float, rounds: int) -> Terms:
    """Return the terms of Theorem 2 at a constant scale.

    >>> scale = reduced_variance_scale(8, 2, 10_000)
    >>> round(sum(reduced_variance_constant(8, 2, scale, 10_000).values()))
    424
    """
    start = {"2 s (r - m)": range_constant(n, size) * scale}
    if scale * scale <= 4.0:
        return {**start, "first rounds": rounds * size / (1.0 + scale * math.sqrt(size / n))}
    square = scale * scale
    return {
        **start,
        "r T/(4 s)": root(n, size) * rounds / (4.0 * scale),
        "n T (5/(6 s^2) + ...)": n * rounds * (5.0 / (6.0 * square) + 2.0 / (square * (square - 1.0))),
    }


def _last(scale: Callable[[Array], Array], rounds: int) -> float:
    return float(scale(np.array([float(rounds)]))[0])


def _sum_of_rounds(
    term: Callable[[Array], Array], scale: Callable[[Array], Array], rounds: int, at: Callable[[float, float], float]
) -> float:
    """Return the sum of a decreasing term of the round, with an integral for late rounds."""
    total = float(term(np.arange(1, min(rounds, EXACT) + 1, dtype=np.float64)).sum())
    if rounds > EXACT:
        first, last = float(EXACT), float(rounds)
        a, b = (float(scale(np.array([x]))[0]) for x in (first, last))
        total += (last - first) * at(a, first) if a == b else 2.0 * (at(b, last) * last - at(a, first) * first)
    return total
