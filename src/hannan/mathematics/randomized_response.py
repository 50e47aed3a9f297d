"""Randomized response: a number in [0, 1] is reported as 0 or 1, with exact pure differential privacy.

The probability of a report is a multiple of 2^-53 between two limits whose ratio is at most e^epsilon. A report
compares 53 random bits with an integer, so that no rounding of floating-point numbers enters the guarantee.
"""

from __future__ import annotations

import functools
import math
import os
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.saving import frozen
from hannan.validation import Array

#: Number of random bits per report.
BITS = 53
#: Smallest epsilon: below it, the two probabilities differ by too few multiples of 2^-53.
LEAST = 1e-6


@frozen
class RandomizedResponse:
    """Report x in [0, 1] as 1 with probability 1/2 + tau (x - 1/2), and as 0 otherwise, tau = tanh(epsilon/2).

    The likelihood ratio of two numbers is at most (1 + tau)/(1 - tau) = e^epsilon.

    Examples
    --------
    >>> response = RandomizedResponse(1.0)
    >>> round(response.factor, 3), response.limits[1] / response.limits[0] <= math.exp(1.0)
    (2.164, True)
    >>> sorted(set(response.reports(np.full(100, 0.5)).tolist()))
    [0.0, 1.0]
    """

    epsilon: float

    def __post_init__(self) -> None:
        epsilon = validation.positive(self.epsilon, "epsilon")
        if epsilon < LEAST:
            raise ValueError(f"epsilon must be at least {LEAST:g}; got {epsilon!r}")
        object.__setattr__(self, "epsilon", epsilon)

    @functools.cached_property
    def limits(self) -> tuple[int, int]:
        """Probabilities of a report of 1 for the numbers 0 and 1, in units of 2^-53."""
        # 2^53/(1 + e^epsilon), rounded up by more than the error of the exponential.
        least = Fraction(2**BITS) / (1 + Fraction(math.exp(min(self.epsilon, 700.0))) * Fraction(1 - 2.0**-48))
        return math.ceil(least), 2**BITS - math.ceil(least)

    @functools.cached_property
    def contrast(self) -> float:
        """tau, the difference of the two probabilities."""
        low, high = self.limits
        return (high - low) * 2.0**-BITS

    @property
    def factor(self) -> float:
        """1/tau = coth(epsilon/2), by which bounds on the regret are multiplied."""
        return 1.0 / self.contrast

    def thresholds(self, x: Array) -> NDArray[np.int64]:
        """Return the probabilities of a report of 1, in units of 2^-53, for numbers in [0, 1]."""
        low, high = self.limits
        found = low + np.rint(x * (high - low)).astype(np.int64)
        return np.clip(found, low, high)

    def reports(self, x: Array, coins: NDArray[np.uint64] | None = None) -> Array:
        """Return reports of numbers in [0, 1]; `coins` are 64 random bits per number (default: operating system)."""
        if coins is None:
            coins = np.frombuffer(os.urandom(8 * len(x)), dtype="<u8")
        return np.where((coins >> np.uint64(64 - BITS)).astype(np.int64) < self.thresholds(x), 1.0, 0.0)

    def report(self, x: float, coin: bytes | None = None) -> float:
        """Return the report of one number in [0, 1]; `coin` has eight random bytes (default: operating system)."""
        low, high = self.limits
        drawn = int.from_bytes(os.urandom(8) if coin is None else coin, "little") >> (64 - BITS)
        return 1.0 if drawn < min(max(low + round(x * (high - low)), low), high) else 0.0

    def estimate(self, total: float, count: int) -> float:
        """Return the unbiased estimate of the sum of `count` numbers from the sum of their reports."""
        return 0.5 * count + (total - 0.5 * count) * self.factor
