"""What a simulated game says: exponents fitted on logarithmic axes, and the upper end of a mean regret."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.games.record import Record


def exponent(x: Any, y: Any) -> float:
    """The slope b of the least-squares line log y = a + b log x.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 9)
    1.0
    """
    slope, _ = np.polyfit(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)), 1)
    return float(slope)


def upper(record: Record) -> float:
    """The upper end of the 99.9 % t interval of the mean regret at the end: what a bound must be above of."""
    return float(record.interval(0.999)[1][-1])
