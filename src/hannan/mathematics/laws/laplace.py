"""The Laplace law: two exponential tails."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.frozen import frozen
from hannan.mathematics.laws.harmonic import harmonic
from hannan.mathematics.laws.law import Law
from hannan.refusals import Array


@frozen
class Laplace(Law):
    """Laplace perturbations: exponential ones on both sides of 0, as differential privacy adds them.

    f(z) = e^-|z| / 2: hazard 1; E max_n = sum_(k<=n) (1 - 2^-k)/k - 2^-n/n.

    >>> Laplace().expected_max(2)
    0.75
    """

    kernel: ClassVar[str] = "laplace"
    hazard: ClassVar[float] = 1.0
    mean: ClassVar[float] = 0.0
    log_concave: ClassVar[bool] = True

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    def density(self, z: Any) -> Any:
        return 0.5 * np.exp(-np.abs(np.asarray(z, dtype=np.float64)))

    def cdf(self, z: Any) -> Any:
        return self.survival(-np.asarray(z, dtype=np.float64))

    def survival(self, z: Any) -> Any:
        z = np.asarray(z, dtype=np.float64)
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z >= 0.0, tail, 1.0 - tail)[()]

    def log_density(self, z: Any) -> Any:
        return -math.log(2.0) - np.abs(np.asarray(z, dtype=np.float64))

    def log_cdf(self, z: Any) -> Any:
        return self.log_survival(-np.asarray(z, dtype=np.float64))

    def log_survival(self, z: Any) -> Any:
        z = np.asarray(z, dtype=np.float64)
        return np.where(z >= 0.0, -math.log(2.0) - z, np.log1p(-0.5 * np.exp(-np.abs(z))))[()]

    def survival_quantile(self, s: Any) -> Array:
        s = np.asarray(s, dtype=np.float64)
        return np.asarray(
            np.where(s <= 0.5, -np.log(2.0 * np.minimum(s, 0.5)), np.log(2.0 * (1.0 - np.maximum(s, 0.5))))
        )

    def expected_max(self, n: int) -> float:
        n = refusals.count(n, "n")
        halves = sum(0.5**k / k for k in range(1, min(n, 1074) + 1))
        return harmonic(n) - halves - 0.5**n / n if n < 1074 else harmonic(n) - halves

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.laplace(size=size)
