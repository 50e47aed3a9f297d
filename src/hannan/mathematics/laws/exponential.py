"""The exponential law: hazard 1, Hannan's own."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.frozen import frozen
from hannan.mathematics.laws.harmonic import harmonic
from hannan.mathematics.laws.law import TailLaw
from hannan.refusals import Array


@frozen
class Exponential(TailLaw):
    """Exponential perturbations: the default of `Experts`, with the least proved bound of the laws here.

    S(z) = e^-z on z > 0: hazard 1, E max_n = H_n. It is Gamma(1) and Weibull(1).

    >>> Exponential().expected_max(2), Exponential().hazard
    (1.5, 1.0)
    """

    kernel: ClassVar[str] = "exponential"
    hazard: ClassVar[float] = 1.0
    mean: ClassVar[float] = 1.0
    log_concave: ClassVar[bool] = True

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf)

    def exponent(self, z: Array) -> Array:
        return z

    def log_slope(self, z: Array) -> Array:
        return np.zeros_like(z)

    def survival_quantile(self, s: Any) -> Array:
        return np.asarray(-np.log(s))

    def expected_max(self, n: int) -> float:
        return harmonic(refusals.count(n, "n"))

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.standard_exponential(size)
