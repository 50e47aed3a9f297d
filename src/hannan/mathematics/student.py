"""Student's t: intervals around means, and the quantile, without SciPy, whose import takes longer than a game."""

from __future__ import annotations

import math

import numpy as np

from hannan.refusals import Array

#: Heading of such an interval: the runs of a game are not normal, and rare large regrets make it too narrow.
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
    """The t with P(T <= t) = p, 1/2 < p < 1.

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
    """The normal quantile within 4.5e-4, 1/2 < p < 1 (Abramowitz and Stegun 26.2.23)."""
    x = math.sqrt(-2.0 * math.log(1.0 - p))
    above = (0.010328 * x + 0.802853) * x + 2.515517
    return x - above / (((0.001308 * x + 0.189269) * x + 1.432788) * x + 1.0)


def _within(degrees: int, theta: float) -> float:
    """P(|T| <= sqrt(degrees) tan(theta))."""
    sine, square = math.sin(theta), math.cos(theta) ** 2
    count = degrees // 2 if degrees % 2 == 0 else (degrees - 1) // 2
    k = np.arange(1, count)
    if degrees % 2 == 0:
        # sin (1 + 1/2 cos^2 + 1 3/(2 4) cos^4 + ...)
        return sine * (1.0 + float(np.cumprod((2 * k - 1) / (2 * k) * square).sum()))
    # 2/pi (theta + sin cos (1 + 2/3 cos^2 + 2 4/(3 5) cos^4 + ...)), the second term from three degrees on
    more = sine * math.cos(theta) * (1.0 + float(np.cumprod(2 * k / (2 * k + 1) * square).sum())) if count else 0.0
    return (theta + more) * 2.0 / math.pi
