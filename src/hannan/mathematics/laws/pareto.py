"""The Pareto laws: heavy tails, S(z) = z^-alpha; no mean for alpha <= 1."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.frozen import frozen
from hannan.mathematics.laws.law import TailLaw
from hannan.mathematics.laws.power_tail import PowerTail
from hannan.refusals import Array


@frozen
class Pareto(PowerTail, TailLaw):
    """Pareto perturbations: the plainest heavy tail.

    S(z) = z^-alpha on z >= 1: hazard alpha; E max_n = Gamma(1-1/alpha) n!/Gamma(n+1-1/alpha).

    `alpha`: the exponent of the tail, above 0.

    >>> Pareto(2.0).hazard, Pareto(2.0).mean, Pareto(1.0).mean
    (2.0, 2.0, inf)
    """

    kernel: ClassVar[str] = "pareto"

    @property
    def support(self) -> tuple[float, float]:
        return (1.0, math.inf)

    def exponent(self, z: Array) -> Array:
        return np.asarray(self.alpha * np.log(z))

    def log_slope(self, z: Array) -> Array:
        return math.log(self.alpha) - np.log(z)

    def survival_quantile(self, s: Any) -> Array:
        return np.asarray(s, dtype=np.float64) ** (-1.0 / self.alpha)

    @property
    def hazard(self) -> float:
        return self.alpha

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha - 1.0) if self.alpha > 1.0 else math.inf

    def expected_max(self, n: int) -> float:
        n = refusals.count(n, "n")
        if self.alpha <= 1.0:
            return math.inf
        a = 1.0 / self.alpha
        return math.gamma(1.0 - a) * _gamma_ratio(n, a)

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return np.exp(rng.standard_exponential(size) / self.alpha)


def _gamma_ratio(n: int, a: float) -> float:
    """n! / Gamma(n + 1 - a) for 0 < a < 1, without the digits that a difference of lgammas loses."""
    if n < 64:
        return math.exp(math.fsum(math.log1p(a / (k - a)) for k in range(1, n + 1))) / math.gamma(1.0 - a)
    # Stirling's series of both, the difference taken term by term; x = n + 1.
    x, y = n + 1.0, n + 1.0 - a
    series = sum(c * (x**-k - y**-k) for k, c in ((1, 1 / 12), (3, -1 / 360), (5, 1 / 1260), (7, -1 / 1680)))
    return math.exp((x - 0.5) * math.log1p(a / y) + a * math.log(y) - a + series)
