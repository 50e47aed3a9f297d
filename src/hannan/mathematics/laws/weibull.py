"""The Weibull laws, plain and conditioned."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.frozen import frozen
from hannan.mathematics.laws.law import TailLaw
from hannan.refusals import Array


@frozen
class Weibull(TailLaw):
    """Weibull perturbations, plain or conditioned: tails between the exponential law and heavy ones.

    S(z) = exp(-z^k); conditioned: S(z) = exp(1 - (1+z)^k), the draw above 1 less 1.

    The plain hazard k z^(k-1) is bounded at k = 1 only; conditioning bounds it by k for k <= 1
    (the paper's '*').

    `k`: the exponent, above 0. `conditioned`: draws above 1, less 1.

    >>> Weibull(0.5).hazard, Weibull(0.5, conditioned=True).hazard
    (inf, 0.5)
    """

    k: float
    conditioned: bool = False
    kernel: ClassVar[str] = "weibull"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", refusals.positive(self.k, "Weibull k"))

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        return (self.k, float(self.conditioned))

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf)

    def exponent(self, z: Array) -> Array:
        return np.asarray(np.expm1(self.k * np.log1p(z)) if self.conditioned else z**self.k)

    def log_slope(self, z: Array) -> Array:
        if self.k == 1.0:
            return np.zeros_like(z)
        return math.log(self.k) + (self.k - 1.0) * (np.log1p(z) if self.conditioned else np.log(z))

    def log_cdf(self, z: Any) -> Any:
        value = np.asarray(super().log_cdf(z))
        if self.conditioned:
            return value[()]
        # Where z^k < 1e-17, log F is k log z to every digit, and z^k itself may underflow.
        with np.errstate(divide="ignore", invalid="ignore"):
            small = self.k * np.log(np.asarray(z, dtype=np.float64))
        return np.where(small < -40.0, small, value)[()]

    def survival_quantile(self, s: Any) -> Array:
        exponent = -np.log(np.asarray(s, dtype=np.float64))
        with np.errstate(over="ignore"):
            power = np.expm1(np.log1p(exponent) / self.k) if self.conditioned else exponent ** (1.0 / self.k)
        return np.asarray(power)

    @property
    def hazard(self) -> float:
        if self.k == 1.0:
            return 1.0
        return self.k if self.conditioned and self.k < 1.0 else math.inf

    @property
    def log_concave(self) -> bool:
        return self.k >= 1.0

    @property
    def mean(self) -> float:
        if self.conditioned:
            return self.expected_max(1)
        # Finite for every k, but beyond the largest float below k = 0.00587.
        return math.gamma(1.0 + 1.0 / self.k) if self.k > 0.00587 else math.inf

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        e = rng.standard_exponential(size)
        return np.expm1(np.log1p(e) / self.k) if self.conditioned else e ** (1.0 / self.k)
