"""Confidence intervals that are right for rare events: exact for rates, empirical Bernstein for sums of a game.

X_t with means m_t given the past, centres c_t known before X_t, and X_t - c_t >= -b. For 0 <= u < 1/b,

    exp(u (X_t - m_t) - psi(u b)/b^2 (X_t - c_t)^2),    psi(x) = -log(1 - x) - x,

has a mean of at most 1 given the past (Fan, Grama and Liu 2015), so that with V = sum (X_t - c_t)^2, for each u,

    sum (X_t - m_t) <= (log(1/alpha) + psi(u b) V/b^2)/u      with probability 1 - alpha.

The least over K values of u holds with alpha/K in place of alpha. It asks nothing of the law of X_t but its range:
means may change and depend on the past. The mean over runs of both sums may stand for them (exp is convex).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

#: The largest u b: near 1 psi is infinite.
MOST = 0.95


def clopper_pearson(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """(low, high), each one-sided at `confidence`: P(true < low) <= 1 - confidence, and the same above.

    >>> [round(x, 4) for x in clopper_pearson(5, 100, 0.975)], [round(x, 4) for x in clopper_pearson(0, 125, 0.975)]
    ([0.0164, 0.1128], [0.0, 0.0291])
    """
    from scipy.special import betaincinv

    miss = 1.0 - confidence
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, miss))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, confidence))
    return low, high


def slack(squares: float, reach: float, terms: float, confidence: float, widest: float = 0.0) -> float:
    """How far above its mean a sum is at most, with this confidence: terms of at least -reach beside their centres.

    `widest`: how far above their centres they may be, where that is more.

    >>> round(slack(2500.0, 1.0, 10000, 0.975) / 10000, 4), round(1.96 * 50 / 10000, 4)
    (0.0174, 0.0098)
    """
    if reach <= 0.0:
        return 0.0
    if not math.isfinite(squares):
        return math.inf
    # Below the least u the bound would be worse for every V that so many terms can have.
    count = 1 + math.ceil(0.5 * math.log2(max(terms, 2.0)) + math.log2(max(widest / reach, 1.0)))
    u = MOST * 0.5 ** np.arange(count)
    alpha = (1.0 - confidence) / count
    found = (math.log(1.0 / alpha) + (-np.log1p(-u) - u) * (squares / reach / reach)) / u
    return reach * float(found.min())


def of_mean(
    total: float, squares: float, terms: float, reach: float, level: float, over: float | None = None
) -> tuple[float, float]:
    """(low, high) for the mean of the means; `reach`: how far a term may be from its centre; `over`: divide by this."""
    more = slack(squares, reach, terms, 0.5 + level / 2.0)
    over = terms if over is None else over
    return (total - more) / over, (total + more) / over


def of_ratio(
    surplus: Callable[[float], tuple[float, float]], most: float, terms: float, span: tuple[float, float],
    guess: float, level: float,
) -> tuple[float, float]:  # fmt: skip
    """(low, high) for the theta at which sum w_t (l_t - theta) has mean 0, weights of at most `most`, l_t in `span`.

    `surplus(theta)` gives that sum and the sum of squares of its terms. Every theta is kept that the data do not
    refute: the centre of each term is 0, and it is between -most (theta - low) and most (high - theta).
    """
    low, high = span
    sure = 0.5 + level / 2.0

    def refuted(theta: float, above: bool) -> bool:
        total, squares = surplus(theta)
        total, reach = (total, theta - low) if above else (-total, high - theta)
        return total > slack(squares, most * reach, terms, sure, most * (high - low))

    def edge(start: float, above: bool) -> float:
        # From the end of the range inwards: the first that is not refuted, then halved down.
        out = start
        for inside in np.linspace(start, guess, 65)[1:]:
            if not refuted(float(inside), above):
                break
            out = float(inside)
        else:
            return guess
        into = float(inside)
        for _ in range(40):
            middle = 0.5 * (out + into)
            out, into = (middle, into) if refuted(middle, above) else (out, middle)
        return out

    guess = min(max(guess, low), high)
    return (low if not refuted(low, True) else edge(low, True), high if not refuted(high, False) else edge(high, False))
