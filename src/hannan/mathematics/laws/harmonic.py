"""Harmonic numbers, and Euler's constant."""

from __future__ import annotations

import math

EULER = 0.57721566490153286061


def harmonic(n: int) -> float:
    """H_n = 1 + 1/2 + ... + 1/n."""
    if n < 100:
        return math.fsum(1.0 / k for k in range(1, n + 1))
    # Euler-Maclaurin: the next term is below 1e-17 from n = 100 on.
    return math.log(n) + EULER + 0.5 / n - 1.0 / (12.0 * n**2) + 1.0 / (120.0 * float(n) ** 4)
