"""Light-tailed perturbation distributions: exponential, Gamma, Gumbel, Laplace, Weibull and Gaussian.

The hazard of the Gaussian distribution is unbounded, but its density is log-concave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from hannan import validation
from hannan.mathematics.laws.law import EULER, ExtremeLaw, Law, TailLaw, harmonic
from hannan.mathematics.smoothing import Level
from hannan.saving import frozen
from hannan.validation import Array

#: Source of the level of a hazard that decreases from the lower end of the support on.
AT_THE_END = "sup_y log S(y)/S(y + 1/scale), at the end of the support: the hazard falls"


@frozen
class Exponential(TailLaw):
    """Exponential distribution: the default of `Experts`, with the smallest proved bound of these distributions.

    Notes
    -----
    S(z) = e^-z on z > 0. The hazard is 1, and E max_n = H_n. It equals Gamma(1) and Weibull(1).

    Examples
    --------
    >>> Exponential().expected_max(2), Exponential().hazard
    (1.5, 1.0)
    """

    kernel: ClassVar[str] = "exponential"
    largest_gamma: ClassVar[bool] = True
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
        return harmonic(validation.count(n, "n"))

    def closed_variance_constant(self, n: int) -> float:
        return 0.5

    def step_level(self, step: float) -> Level:
        return Level(step, True, "tab:dist corrected: constant hazard, attained")

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.standard_exponential(size)


@frozen
class Gamma(Law):
    """Gamma distribution: the sum of `shape` exponential variables if the shape is an integer.

    Parameters
    ----------
    shape : float
        Number > 0; 1 is the exponential distribution.

    Notes
    -----
    f(z) = z^(shape-1) e^-z / Gamma(shape) on z > 0. The hazard is 1 for shape >= 1 and unbounded for shape < 1.

    Examples
    --------
    >>> Gamma(1.0).hazard, Gamma(0.5).hazard
    (1.0, inf)
    """

    shape: float
    kernel: ClassVar[str] = "gamma"
    largest_gamma: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", validation.positive(self.shape, "Gamma shape"))

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
        """Return log F far below the mean: z^a e^-z / Gamma(a+1) * (1 + z/(a+1) + z^2/((a+1)(a+2)) + ...)."""
        z = np.minimum(z, self.shape)
        term, series, k = np.ones_like(z), np.ones_like(z), 0
        while (term > 1e-17 * series).any() and k < 10_000:
            k += 1
            term = term * z / (self.shape + k)
            series = series + term
        with np.errstate(divide="ignore"):
            return self.shape * np.log(z) - z - math.lgamma(self.shape + 1.0) + np.log(series)

    def _large(self, z: Array) -> Array:
        """Return log S far above the mean: z^a e^-z / Gamma(a) / (z + (1-a)/(1 + 1/(z + (2-a)/(1 + 2/(z + ...)))))."""
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

    @property
    def unbounded_origin(self) -> float:
        return self.shape if self.shape < 1.0 else math.inf

    def step_level(self, step: float) -> Level:
        if self.shape >= 1.0:
            return Level(step, True, "tab:dist corrected: hazard increasing to 1, a supremum")
        return Level(-float(self.log_survival(step)), False, AT_THE_END)

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.standard_gamma(self.shape, size)


def _positive(z: Any) -> tuple[Array, Any]:
    """Return (z with numbers below 0 replaced by 1, mask of numbers not below 0); NaN stays NaN."""
    z = np.asarray(z, dtype=np.float64)
    return np.where(z < 0.0, 1.0, z), ~(z < 0.0)


def _log_of(part: Any, rest: Any, tail: Callable[[], Array]) -> Array:
    """Return log(part): log1p(-rest) above 1/2, and tail() where `part` is too small for a float."""
    part, rest = np.asarray(part), np.asarray(rest)
    near = np.where(part > 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(np.maximum(part, 1e-290)))
    return np.where(part < 1e-290, tail(), near) if (part < 1e-290).any() else near


@frozen
class Gumbel(ExtremeLaw):
    """Gumbel distribution, whose perturbed leader has exactly the distribution of Hedge.

    Notes
    -----
    F(z) = exp(-e^-z). The distribution played is p_i proportional to exp(-L_i/scale).

    Examples
    --------
    >>> round(Gumbel().expected_max(10) - Gumbel().mean, 12) == round(math.log(10), 12)
    True
    """

    kernel: ClassVar[str] = "entropy"
    hedge: ClassVar[bool] = True
    largest_gamma: ClassVar[bool] = True
    hazard: ClassVar[float] = 1.0
    mean: ClassVar[float] = EULER
    log_concave: ClassVar[bool] = True

    def log_exponent(self, z: Array) -> Array:
        return -z

    def log_slope(self, z: Array) -> Array:
        return -z

    def survival_quantile(self, s: Any) -> Array:
        return np.asarray(-np.log(-np.log1p(-np.asarray(s))))

    def expected_max(self, n: int) -> float:
        return math.log(validation.count(n, "n")) + EULER

    def closed_variance_constant(self, n: int) -> float:
        return 0.25

    def step_level(self, step: float) -> Level:
        return Level(step, True, "Hedge: p_i(L)/p_i(L + l) < e^(1/scale), a supremum")

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.gumbel(size=size)


@frozen
class Laplace(Law):
    """Laplace distribution: exponential on both sides of 0, as in differential privacy.

    Notes
    -----
    ``f(z) = e^-|z| / 2``. The hazard is at most 1, and E max_n = sum_(k<=n) (1 - 2^-k)/k - 2^-n/n.

    Examples
    --------
    >>> Laplace().expected_max(2)
    0.75
    """

    kernel: ClassVar[str] = "laplace"
    largest_gamma: ClassVar[bool] = True
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
        n = validation.count(n, "n")
        halves = sum(0.5**k / k for k in range(1, min(n, 1074) + 1))
        return harmonic(n) - halves - 0.5**n / n if n < 1074 else harmonic(n) - halves

    def closed_variance_constant(self, n: int) -> float:
        return 0.5 * (1.0 - 2.0 ** (1 - n))

    def step_level(self, step: float) -> Level:
        return Level(step, True, "tab:dist corrected: hazard at most 1, a supremum")

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.laplace(size=size)


@frozen
class Weibull(TailLaw):
    """Weibull distribution, plain or conditioned: tails between the exponential distribution and heavy tails.

    Parameters
    ----------
    k : float
        Exponent > 0.
    conditioned : bool, default False
        If True, the distribution of Z - 1 given Z > 1.

    Notes
    -----
    S(z) = exp(-z^k) or, conditioned, S(z) = exp(1 - (1+z)^k), for z > 0. The plain hazard k z^(k-1) is bounded for
    k = 1 only; the conditioned hazard is at most k for k <= 1 (marked '*' in the paper).

    Examples
    --------
    >>> Weibull(0.5).hazard, Weibull(0.5, conditioned=True).hazard
    (inf, 0.5)
    """

    k: float
    conditioned: bool = False
    kernel: ClassVar[str] = "weibull"
    largest_gamma: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", validation.positive(self.k, "Weibull k"))

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
        # If z^k < 1e-17, log F is k log z to every digit, and z^k itself may underflow.
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
    def unbounded_origin(self) -> float:
        return self.k if self.k < 1.0 and not self.conditioned else math.inf

    def step_level(self, step: float) -> Level:
        if self.k == 1.0:
            return Level(step, True, "tab:dist corrected: constant hazard, attained")
        if self.k < 1.0:
            return Level(-float(self.log_survival(step)), False, AT_THE_END)
        return Level(math.inf, True, "unbounded hazard: no level for delta = 0")

    @property
    def mean(self) -> float:
        if self.conditioned:
            return self.expected_max(1)
        # Finite for every k, but beyond the largest float below k = 0.00587.
        return math.gamma(1.0 + 1.0 / self.k) if self.k > 0.00587 else math.inf

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        e = rng.standard_exponential(size)
        return np.expm1(np.log1p(e) / self.k) if self.conditioned else e ** (1.0 / self.k)


#: Largest number of quantiles for which the standard library is faster than importing SciPy.
_FEW = 1 << 18


@frozen
class Gaussian(Law):
    """Gaussian distribution: experts have bounds, although it has no rate; fewer tunings are proved for it.

    Notes
    -----
    f(z) = exp(-z^2/2)/sqrt(2 pi). The hazard is unbounded, so there is no level for delta = 0. The density is
    log-concave, so experts have R <= E max_n sqrt(T) with Horizon and sqrt(2) E max_n sqrt(T) with Anytime.

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
        return Level(
            math.inf, True, "unbounded hazard: no level for delta = 0; pass delta= for an (epsilon, delta) level"
        )

    def approximate_level(self, n: int, scale: float, delta: float) -> Level:
        # The distribution depends on L + scale Z, and a constant added to l does not change it: |l - 1/2| <= sqrt(n)/2.
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
        # The only function that a bound needs: SciPy, which takes long to import, is not used.
        from statistics import NormalDist

        at = NormalDist().inv_cdf
        ends = {0.0: math.inf, 1.0: -math.inf}
        return np.array([-at(x) if 0.0 < x < 1.0 else ends.get(x, math.nan) for x in s.ravel().tolist()]).reshape(
            s.shape
        )

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.standard_normal(size)


def gaussian_delta(shift: float, epsilon: float) -> float:
    """Return delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) for N(0,1) against N(mu,1), exactly.

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
