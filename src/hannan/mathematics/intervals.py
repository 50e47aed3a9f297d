"""Confidence intervals that are valid for rare events: exact for rates, empirical Bernstein for sums of a game.

X_t with means m_t given the past, centers c_t known before X_t, and X_t - c_t >= -b. For 0 <= u < 1/b,

    exp(u (X_t - m_t) - psi(u b)/b^2 (X_t - c_t)^2),    psi(x) = -log(1 - x) - x,

has a mean of at most 1 given the past (Fan, Grama and Liu 2015), so that with V = sum (X_t - c_t)^2, for each u,

    sum (X_t - m_t) <= (log(1/alpha) + psi(u b) V/b^2)/u      with probability 1 - alpha.

The smallest bound over K values of u holds with alpha/K instead of alpha. The only assumption on the distribution of
X_t is its range: means may change and depend on the past. Both sums may be replaced by their means over runs, because
exp is convex.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hannan.validation import Array

#: Largest value of u b; near 1 psi is infinite.
MOST = 0.95


def clopper_pearson(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return (low, high), each one-sided at `confidence`: P(true < low) <= 1 - confidence, and the same above.

    >>> [round(x, 4) for x in clopper_pearson(5, 100, 0.975)], [round(x, 4) for x in clopper_pearson(0, 125, 0.975)]
    ([0.0164, 0.1128], [0.0, 0.0291])
    """
    from scipy.special import betaincinv

    miss = 1.0 - confidence
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, miss))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, confidence))
    return low, high


def slack(squares: float, reach: float, terms: float, confidence: float, widest: float = 0.0) -> float:
    """Return the largest excess of a sum over its mean, with this confidence, if its terms are >= center - reach.

    `widest` is the largest excess of a term over its center, if that is larger than `reach`.

    >>> round(slack(2500.0, 1.0, 10000, 0.975) / 10000, 4), round(1.96 * 50 / 10000, 4)
    (0.0174, 0.0098)
    """
    if reach <= 0.0:
        return 0.0
    if not math.isfinite(squares):
        return math.inf
    # Below the smallest u the bound would be worse for every V that this number of terms can have.
    count = 1 + math.ceil(0.5 * math.log2(max(terms, 2.0)) + math.log2(max(widest / reach, 1.0)))
    u = MOST * 0.5 ** np.arange(count)
    alpha = (1.0 - confidence) / count
    found = (math.log(1.0 / alpha) + (-np.log1p(-u) - u) * (squares / reach / reach)) / u
    return reach * float(found.min())


def of_mean(
    total: float, squares: float, terms: float, reach: float, level: float, over: float | None = None
) -> tuple[float, float]:
    """Return (low, high) for the mean of the means; terms are within `reach` of their center; divide by `over`."""
    more = slack(squares, reach, terms, 0.5 + level / 2.0)
    over = terms if over is None else over
    return (total - more) / over, (total + more) / over


def of_ratio(
    surplus: Callable[[float], tuple[float, float]], most: float, terms: float, span: tuple[float, float],
    guess: float, level: float,
) -> tuple[float, float]:  # fmt: skip
    """Return (low, high) for theta with E sum w_t (l_t - theta) = 0, for weights up to `most` and l_t in `span`.

    `surplus(theta)` gives that sum and the sum of squares of its terms. Every theta that the data do not refute is in
    the interval: the center of each term is 0, and the term is between -most (theta - low) and most (high - theta).
    """
    low, high = span
    sure = 0.5 + level / 2.0

    def refuted(theta: float, above: bool) -> bool:
        total, squares = surplus(theta)
        total, reach = (total, theta - low) if above else (-total, high - theta)
        return total > slack(squares, most * reach, terms, sure, most * (high - low))

    def edge(start: float, above: bool) -> float:
        # Search from the end of the range for the first value that is not rejected, then bisect.
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


#: Heading of these intervals: regrets of runs are not normal, and rare large regrets make the interval too narrow.
T_INTERVAL = "95% t (approx.)"


def t_interval(values: Array, level: float) -> tuple[Array, Array]:
    """Return mean -+ t_{runs-1} sd/sqrt(runs) of each column; the rows are independent runs.

    Exact for normal values only. If large values are rare, the interval misses the mean far more often than 1 - level.

    >>> low, high = t_interval(np.array([[1.0], [2.0], [3.0]]), 0.95)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (-0.484, 4.484)
    """
    runs, mean = len(values), np.asarray(values.mean(axis=0))
    half = t_quantile(runs - 1, 0.5 + level / 2) * values.std(axis=0, ddof=1) / math.sqrt(runs)
    return mean - half, mean + half


def t_quantile(degrees: int, p: float) -> float:
    """Return the quantile t with P(T <= t) = p, for 1/2 < p < 1.

    With t = sqrt(degrees) tan(theta), P(|T| <= t) is a finite sum in cos(theta); it is concave in theta, and the
    normal quantile lies below, so that Newton's steps from a little before it never overshoot.

    >>> round(t_quantile(1, 0.975), 6), round(t_quantile(10, 0.975), 6), round(t_quantile(199, 0.975), 6)
    (12.706205, 2.228139, 1.971957)
    """
    theta = math.atan(max(0.0, _near_normal(p) - 1e-3) / math.sqrt(degrees))
    log_peak = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - 0.5 * math.log(math.pi)
    for _ in range(100):
        slope = 2.0 * math.exp(log_peak + (degrees - 1) * math.log(math.cos(theta)))
        step = (2.0 * p - 1.0 - _within(degrees, theta)) / slope
        theta = min(theta + step, 0.5 * (theta + math.pi / 2))
        if abs(step) <= 1e-16 * theta:
            break
    return math.sqrt(degrees) * math.tan(theta)


def _near_normal(p: float) -> float:
    """Return the normal quantile within 4.5e-4, for 1/2 < p < 1 (Abramowitz and Stegun 26.2.23)."""
    x = math.sqrt(-2.0 * math.log(1.0 - p))
    above = (0.010328 * x + 0.802853) * x + 2.515517
    return x - above / (((0.001308 * x + 0.189269) * x + 1.432788) * x + 1.0)


def _within(degrees: int, theta: float) -> float:
    """Return P(|T| <= sqrt(degrees) tan(theta))."""
    sine, square = math.sin(theta), math.cos(theta) ** 2
    count = degrees // 2 if degrees % 2 == 0 else (degrees - 1) // 2
    k = np.arange(1, count)
    if degrees % 2 == 0:
        # sin (1 + 1/2 cos^2 + 1 3/(2 4) cos^4 + ...)
        return sine * (1.0 + float(np.cumprod((2 * k - 1) / (2 * k) * square).sum()))
    # 2/pi (theta + sin cos (1 + 2/3 cos^2 + 2 4/(3 5) cos^4 + ...)), the second term from three degrees on
    more = sine * math.cos(theta) * (1.0 + float(np.cumprod(2 * k / (2 * k + 1) * square).sum())) if count else 0.0
    return (theta + more) * 2.0 / math.pi
