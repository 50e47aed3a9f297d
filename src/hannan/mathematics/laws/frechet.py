"""The Frechet laws: heavy tails, S(z) ~ z^-alpha; no mean for alpha <= 1."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.frozen import frozen
from hannan.mathematics.laws.law import ExtremeLaw
from hannan.mathematics.laws.power_tail import PowerTail
from hannan.refusals import Array


@frozen
class Frechet(PowerTail, ExtremeLaw):
    """Frechet perturbations: heavy tails, with which a bandit can be good in both worlds.

    F(z) = exp(-z^-alpha) on z > 0; E max_n = n^(1/alpha) Gamma(1 - 1/alpha), infinite for alpha <= 1.

    `alpha`: the exponent of the tail, above 0.

    >>> round(Frechet(2.0).hazard, 5)
    1.17021
    """

    kernel: ClassVar[str] = "frechet"

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf)

    def log_exponent(self, z: Array) -> Array:
        return np.asarray(-self.alpha * np.log(z))

    def log_slope(self, z: Array) -> Array:
        return math.log(self.alpha) - (self.alpha + 1.0) * np.log(z)

    def survival_quantile(self, s: Any) -> Array:
        return (-np.log1p(-np.asarray(s, dtype=np.float64))) ** (-1.0 / self.alpha)

    @property
    def hazard(self) -> float:
        # f/S at u = z^-alpha is alpha u^(1+1/alpha)/(e^u - 1); it peaks where (1+1/alpha)(1-e^-u) = u.
        slope = 1.0 + 1.0 / self.alpha
        u = slope
        for _ in range(100):
            step = (u - slope * -math.expm1(-u)) / (1.0 - slope * math.exp(-u))
            u -= step
            if abs(step) <= 1e-15 * u:
                break
        logs = slope * math.log(u) - u - math.log(-math.expm1(-u))
        # Finite for every alpha, but beyond the largest float below alpha = 0.006.
        return self.alpha * math.exp(logs) if logs < 709.0 else math.inf

    @property
    def mean(self) -> float:
        return self.expected_max(1)

    def expected_max(self, n: int) -> float:
        n = refusals.count(n, "n")
        if self.alpha <= 1.0:
            return math.inf
        return float(n ** (1.0 / self.alpha) * math.gamma(1.0 - 1.0 / self.alpha))

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.standard_exponential(size) ** (-1.0 / self.alpha)
