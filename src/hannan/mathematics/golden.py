"""Golden sections: where a function of one number is least."""

from __future__ import annotations

import math
from collections.abc import Callable

_RATIO = (math.sqrt(5.0) - 1.0) / 2.0


def least_between(function: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """The place of the minimum between `low` and `high` of a function that falls, then rises.

    Each step keeps 0.618 of the interval. Near its minimum a function is flat: 40 steps and more find its value to
    rounding, the place to some 1e-8 of the interval.

    >>> round(least_between(lambda x: (x - 2.0) ** 2, 0.0, 5.0, 40), 6)
    2.0
    """
    for _ in range(steps):
        left, right = high - _RATIO * (high - low), low + _RATIO * (high - low)
        if function(left) <= function(right):
            high = right
        else:
            low = left
    return 0.5 * (low + high)
