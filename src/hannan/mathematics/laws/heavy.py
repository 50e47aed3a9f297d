"""Heavy-tailed perturbation distributions: Frechet and Pareto."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan import validation
from hannan.mathematics.laws.law import ExtremeLaw, Law, TailLaw
from hannan.mathematics.laws.light import AT_THE_END
from hannan.mathematics.smoothing import Level
from hannan.saving import frozen
from hannan.validation import Array


@frozen
class PowerTail(Law):
    """Distribution with S(z) ~ z^-alpha, whose mean is infinite for alpha <= 1."""

    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", validation.positive(self.alpha, f"{type(self).__name__} alpha"))

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        return (self.alpha, 0.0, math.gamma(1.0 - 1.0 / self.alpha) if self.alpha > 1.0 else math.inf)


@frozen
class Frechet(PowerTail, ExtremeLaw):
    """Frechet distribution: heavy tails, for bandits that are best of both worlds.

    Parameters
    ----------
    alpha : float
        Exponent of the tail, > 0.

    Notes
    -----
    F(z) = exp(-z^-alpha) on z > 0. E max_n = n^(1/alpha) Gamma(1 - 1/alpha), which is infinite for alpha <= 1.

    Examples
    --------
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
        n = validation.count(n, "n")
        if self.alpha <= 1.0:
            return math.inf
        return float(n ** (1.0 / self.alpha) * math.gamma(1.0 - 1.0 / self.alpha))

    def step_level(self, step: float) -> Level:
        return Level(_frechet_level(self, step), False, "sup_y log S(y)/S(y + 1/scale)")

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.standard_exponential(size) ** (-1.0 / self.alpha)


@frozen
class Pareto(PowerTail, TailLaw):
    """Pareto distribution: a heavy tail z^-alpha.

    Parameters
    ----------
    alpha : float
        Exponent of the tail, > 0.

    Notes
    -----
    S(z) = z^-alpha on z >= 1. The hazard is at most alpha, and E max_n = Gamma(1-1/alpha) n!/Gamma(n+1-1/alpha).

    Examples
    --------
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
        n = validation.count(n, "n")
        if self.alpha <= 1.0:
            return math.inf
        a = 1.0 / self.alpha
        return math.gamma(1.0 - a) * _gamma_ratio(n, a)

    def step_level(self, step: float) -> Level:
        return Level(self.alpha * math.log1p(step), False, AT_THE_END)

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return np.exp(rng.standard_exponential(size) / self.alpha)


def _frechet_level(law: Frechet, step: float) -> float:
    """Return max_y log S(y) - log S(y + step), on a grid in log y refined around its best point.

    With x = y^-alpha and x' = (y + step)^-alpha it is log(1 + e^-x' (1 - e^(x'-x))/(1 - e^-x')), which does not cancel
    if the step is small.
    """
    centre, width = 0.0, 40.0 / min(law.alpha, 1.0) + abs(math.log(step))
    best = -math.inf
    for _ in range(12):
        logs = np.linspace(centre - width, centre + width, 401)
        logs = logs[np.abs(logs) < 690.0]
        y = np.exp(logs)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            x, after = y**-law.alpha, (y + step) ** -law.alpha
            apart = -x * np.expm1(-law.alpha * np.log1p(step / y))
            gain = np.log1p(np.exp(-after) * np.expm1(-apart) / np.expm1(-after))
        gain = np.where(np.isfinite(gain), gain, 0.0)
        at = int(np.argmax(gain))
        best, centre, width = max(best, float(gain[at])), float(logs[at]), width / 50.0
    return best


def _gamma_ratio(n: int, a: float) -> float:
    """Return n! / Gamma(n + 1 - a) for 0 < a < 1, without the digits that a difference of two lgamma values would
    lose.
    """
    if n < 64:
        return math.exp(math.fsum(math.log1p(a / (k - a)) for k in range(1, n + 1))) / math.gamma(1.0 - a)
    # Difference of both Stirling series, term by term; x = n + 1.
    x, y = n + 1.0, n + 1.0 - a
    series = sum(c * (x**-k - y**-k) for k, c in ((1, 1 / 12), (3, -1 / 360), (5, 1 / 1260), (7, -1 / 1680)))
    return math.exp((x - 0.5) * math.log1p(a / y) + a * math.log(y) - a + series)
