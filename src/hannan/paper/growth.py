"""Exponents fitted on logarithmic axes."""

from __future__ import annotations

from typing import Any

import numpy as np


def exponent(x: Any, y: Any) -> float:
    """The slope b of the least-squares line log y = a + b log x.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 9)
    1.0
    """
    slope, _ = np.polyfit(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)), 1)
    return float(slope)
