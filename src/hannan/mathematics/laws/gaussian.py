"""The normal law: no hazard rate, but log-concave."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan.mathematics.laws.law import Law
from hannan.saving import frozen
from hannan.validation import Array

#: Up to this number of quantiles the standard library is quicker than importing SciPy.
_FEW = 1 << 18


@frozen
class Gaussian(Law):
    """Gaussian perturbations: bounded regret as experts, but no rate, so that fewer tunings are proved for them.

    f(z) = exp(-z^2/2)/sqrt(2 pi): the hazard grows without bound, so there is no pure level.

    It is log-concave: as experts it has R <= E max_n sqrt(T) by Horizon, sqrt(2) E max_n sqrt(T) by Anytime.

    >>> Gaussian().hazard
    inf
    """

    kernel: ClassVar[str] = "gaussian"
    hazard: ClassVar[float] = math.inf
    mean: ClassVar[float] = 0.0
    log_concave: ClassVar[bool] = True

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
