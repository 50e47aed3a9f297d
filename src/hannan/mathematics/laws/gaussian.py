"""Gaussian distribution: its hazard is unbounded, but its density is log-concave."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan.mathematics.laws.law import Law
from hannan.mathematics.smoothing import Level
from hannan.saving import frozen
from hannan.validation import Array

#: Largest number of quantiles for which the standard library is faster than importing SciPy.
_FEW = 1 << 18


@frozen
class Gaussian(Law):
    """Gaussian distribution: experts have bounds, although it has no rate; fewer tunings are proved for it.

    Notes
    -----
    f(z) = exp(-z^2/2)/sqrt(2 pi). The hazard is unbounded, so there is no pure level. The density is log-concave, so
    experts have R <= E max_n sqrt(T) with Horizon and sqrt(2) E max_n sqrt(T) with Anytime.

    Examples
    --------
    >>> Gaussian().hazard
    inf
    """

    kernel: ClassVar[str] = "gaussian"
    largest_gamma: ClassVar[bool] = True
    hazard: ClassVar[float] = math.inf
    mean: ClassVar[float] = 0.0
    log_concave: ClassVar[bool] = True

    def step_level(self, step: float) -> Level:
        return Level(math.inf, True, "unbounded hazard: no pure level; give delta= for an (epsilon, delta) level")

    def approximate_level(self, n: int, scale: float, delta: float) -> Level:
        # The play is a function of L + scale Z, and of l only up to constants: |l - 1/2| <= sqrt(n)/2.
        shift = math.sqrt(n) / (2.0 * scale)
        source = "Gaussian mechanism on L, exact for L itself; post-processing"
        return Level(gaussian_level(shift, delta), False, source)

    def density(self, z: Any) -> Any:
        return np.exp(self.log_density(z))

    def cdf(self, z: Any) -> Any:
        from scipy.special import ndtr

        return ndtr(np.asarray(z, dtype=np.float64))

    def survival(self, z: Any) -> Any:
        return self.cdf(-np.asarray(z, dtype=np.float64))

    def log_density(self, z: Any) -> Any:
        with np.errstate(over="ignore"):
            return -0.5 * np.asarray(z, dtype=np.float64) ** 2 - 0.5 * math.log(2.0 * math.pi)

    def log_cdf(self, z: Any) -> Any:
        from scipy.special import log_ndtr

        return log_ndtr(np.asarray(z, dtype=np.float64))

    def log_survival(self, z: Any) -> Any:
        return self.log_cdf(-np.asarray(z, dtype=np.float64))

    def survival_quantile(self, s: Any) -> Array:
        s = np.asarray(s, dtype=np.float64)
        if s.size > _FEW:
            from scipy.special import ndtri

            return -np.asarray(ndtri(s))
        # What a bound asks for: no SciPy for that, which takes long to load.
        from statistics import NormalDist

        at = NormalDist().inv_cdf
        ends = {0.0: math.inf, 1.0: -math.inf}
        return np.array([-at(x) if 0.0 < x < 1.0 else ends.get(x, math.nan) for x in s.ravel().tolist()]).reshape(
            s.shape
        )

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.standard_normal(size)


def gaussian_delta(shift: float, epsilon: float) -> float:
    """delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) for N(0,1) against N(mu,1), exact.

    >>> round(gaussian_delta(0.25, 1.0), 12)
    2.924272e-06
    """
    from scipy.special import log_ndtr

    if shift <= 0.0:
        return 0.0
    first = float(log_ndtr(0.5 * shift - epsilon / shift))
    second = epsilon + float(log_ndtr(-0.5 * shift - epsilon / shift))
    if second >= first:
        return 0.0
    return math.exp(first) * -math.expm1(second - first)


def gaussian_level(shift: float, delta: float) -> float:
    """Return the smallest epsilon >= 0 with gaussian_delta(shift, epsilon) <= delta, rounded up."""
    low, high = 0.0, 1.0
    if gaussian_delta(shift, 0.0) <= delta:
        return 0.0
    while gaussian_delta(shift, high) > delta:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if gaussian_delta(shift, middle) > delta:
            low = middle
        else:
            high = middle
    return high
