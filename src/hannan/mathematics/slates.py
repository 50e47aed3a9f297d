"""Regret bounds for slates: m of n items per round.

The Tsallis inclusion probabilities are x = argmin <L, x> - 2 s sum sqrt(x_i) over vectors x in [0, 1]^n that sum to m.
Their range constant is G = 2 (r - m), where r = sqrt(m n). Other plays have `Constants`. Proofs: docs/proofs/slates.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

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


class Constants(NamedTuple):
    """Constants of a play of rate 1/scale, at scale 1.

    `range` is G: the potential of zero losses is at least -s G. `variance` is v: the cost D of a round is at most
    v/(2 s) if all losses are observed and in [0, 1].
    """

    range: float
    variance: float


def capped_entropy(n: int, size: int) -> Constants:
    """Return the constants of the play argmin <L, x> + s sum x_i ln x_i over inclusion probabilities (Theorem 6).

    >>> capped_entropy(8, 2)  # doctest: +ELLIPSIS
    Constants(range=2.77..., variance=0.5)
    """
    return Constants(size * math.log(n / size), size / 4.0)


def left_out(n: int, size: int) -> Constants:
    """Return the constants of the same play for the omitted items, which is better for size > n/2."""
    return capped_entropy(n, n - size)


def hedge(n: int, size: int) -> Constants:
    """Return the constants of Hedge over all slates (Theorem 7).

    >>> hedge(8, 2) == (math.log(28), 0.75)
    True
    """
    few = min(size, n - size)
    slates = math.fsum(math.log((n - i) / (few - i)) for i in range(few))
    return Constants(slates, size * (1.0 - size / n) / 2.0)


def leaders(n: int, size: int) -> Constants:
    """Return the constants of the m leaders under exponential noise (Theorem 8): G = m (H_n - H_m).

    >>> leaders(3, 1)  # doctest: +ELLIPSIS
    Constants(range=0.833..., variance=0.5)
    """
    return Constants(size * math.fsum(1.0 / j for j in range(size + 1, n + 1)), size / 2.0)


def ranked_leaders(n: int, weights: tuple[float, ...]) -> float:
    """Return the range constant of sorted leaders with position weights (Theorem 10).

    >>> ranked_leaders(8, (1.0, 1.0)) == leaders(8, 2).range
    True
    """
    falls = [a - b for a, b in zip(weights, (*weights[1:], 0.0), strict=True)]
    return math.fsum(fall * leaders(n, j).range for j, fall in enumerate(falls, 1))


def self_confident(spread: float, size: int, best: float) -> Terms:
    """Return the terms of Theorem 9 for the scale sqrt((m + own loss)/c').

    >>> round(sum(self_confident(capped_entropy(8, 2).range, 2, 20_000.0).values()), 1)
    476.6
    """
    return {"2 c'": 2.0 * spread, "2 sqrt(c'^2 + c' (L* + m))": 2.0 * math.sqrt(spread**2 + spread * (best + size))}


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
