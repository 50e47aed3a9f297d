"""The gamma laws, of any shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.frozen import frozen
from hannan.mathematics.laws.law import Law
from hannan.refusals import Array


@frozen
class Gamma(Law):
    """Gamma perturbations: sums of exponential ones where the shape is a whole number.

    f(z) = z^(shape-1) e^-z / Gamma(shape) on z > 0: hazard 1 from shape 1 on, unbounded below.

    `shape`: above 0; at 1 it is the exponential law.

    >>> Gamma(1.0).hazard, Gamma(0.5).hazard
    (1.0, inf)
    """

    shape: float
    kernel: ClassVar[str] = "gamma"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", refusals.positive(self.shape, "Gamma shape"))

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        return (self.shape, 0.0, math.lgamma(self.shape))

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf)

    def density(self, z: Any) -> Any:
        return np.exp(self.log_density(z))

    def cdf(self, z: Any) -> Any:
        from scipy.special import gammainc

        z, inside = _positive(z)
        return np.where(inside, gammainc(self.shape, z), 0.0)[()]

    def survival(self, z: Any) -> Any:
        from scipy.special import gammaincc

        z, inside = _positive(z)
        return np.where(inside, gammaincc(self.shape, z), 1.0)[()]

    def log_density(self, z: Any) -> Any:
        from scipy.special import xlogy

        z, inside = _positive(z)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = xlogy(self.shape - 1.0, z) - z - math.lgamma(self.shape)
        return np.where(inside & ~np.isposinf(z), value, -np.inf)[()]

    def log_cdf(self, z: Any) -> Any:
        z, inside = _positive(z)
        return np.where(inside, _log_of(self.cdf(z), self.survival(z), lambda: self._small(z)), -np.inf)[()]

    def log_survival(self, z: Any) -> Any:
        z, inside = _positive(z)
        return np.where(inside, _log_of(self.survival(z), self.cdf(z), lambda: self._large(z)), 0.0)[()]

    def _small(self, z: Array) -> Array:
        """log F far below the mean: z^a e^-z / Gamma(a+1) * (1 + z/(a+1) + z^2/((a+1)(a+2)) + ...)."""
        z = np.minimum(z, self.shape)
        term, series, k = np.ones_like(z), np.ones_like(z), 0
        while (term > 1e-17 * series).any() and k < 10_000:
            k += 1
            term = term * z / (self.shape + k)
            series = series + term
        with np.errstate(divide="ignore"):
            return self.shape * np.log(z) - z - math.lgamma(self.shape + 1.0) + np.log(series)

    def _large(self, z: Array) -> Array:
        """log S far above the mean: z^a e^-z / Gamma(a) / (z + (1-a)/(1 + 1/(z + (2-a)/(1 + 2/(z + ...)))))."""
        far = np.clip(z, self.shape + 1.0, 1e300)
        fraction = far.copy()
        for k in range(120 + int(4.0 * math.sqrt(self.shape)), 0, -1):
            fraction = far + (k - self.shape) / (1.0 + k / fraction)
        value = self.shape * np.log(far) - far - math.lgamma(self.shape) - np.log(fraction)
        return np.where(np.isposinf(z), -np.inf, value)

    def survival_quantile(self, s: Any) -> Array:
        from scipy.special import gammainccinv

        return np.asarray(gammainccinv(self.shape, s))

    @property
    def hazard(self) -> float:
        return 1.0 if self.shape >= 1.0 else math.inf

    @property
    def log_concave(self) -> bool:
        return self.shape >= 1.0

    @property
    def mean(self) -> float:
        return self.shape

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.standard_gamma(self.shape, size)


def _positive(z: Any) -> tuple[Array, Any]:
    """z with what is below zero moved to 1, and where it was inside; NaN stays NaN."""
    z = np.asarray(z, dtype=np.float64)
    return np.where(z < 0.0, 1.0, z), ~(z < 0.0)


def _log_of(part: Any, rest: Any, tail: Callable[[], Array]) -> Array:
    """log part: log1p(-rest) above 1/2, and tail() where part is too small for a float."""
    part, rest = np.asarray(part), np.asarray(rest)
    near = np.where(part > 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(np.maximum(part, 1e-290)))
    return np.where(part < 1e-290, tail(), near) if (part < 1e-290).any() else near
