"""What a law is: the distribution of one perturbation Z_i, and what it gets for free.

A law of your own needs a density and a cdf, in one small file:

>>> import numpy as np
>>> from dataclasses import dataclass
>>> @frozen
... class LogisticLaw(Law):
...     def density(self, z): return 0.25 / np.cosh(np.asarray(z) / 2) ** 2
...     def cdf(self, z): return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)
>>> round(LogisticLaw().expected_max(2), 9)
1.0

State its `hazard` as well, proved by you, and it has a rate, and with it every regret bound.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.frozen import frozen
from hannan.refusals import Array


@frozen
class Law:
    """A law of perturbations: what a perturbed leader adds to each cumulative loss before it takes the least.

    F(z) = P(Z <= z) of one standard draw Z; a potential multiplies it by its scale. `hazard` is sup f/(1-F), the rate
    of the play at scale 1, inf where it is unbounded; `mean` and `expected_max(n)` say what the noise costs.

    A law of your own is a frozen dataclass with `density` and `cdf`, and `hazard` where you have proved one; see
    CONTRIBUTING.

    >>> import hannan as hn
    >>> law = hn.Gumbel()
    >>> round(float(law.cdf(0.0)), 6), round(float(law.survival_quantile(0.5)), 6)
    (0.367879, 0.366513)
    """

    kernel: ClassVar[str] = ""  # its name in the engine; "": unknown there, the general rule computes the play

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        """What the compiled kernel needs to know of the law."""
        return ()

    @property
    def support(self) -> tuple[float, float]:
        """The least interval outside which the density is zero."""
        return (-math.inf, math.inf)

    @property
    def kinks(self) -> tuple[float, ...]:
        """Points inside the support where the density is not smooth."""
        return ()

    def density(self, z: Any) -> Any:
        """f(z) = F'(z)."""
        raise NotImplementedError(f"{type(self).__name__} must define density(z)")

    def cdf(self, z: Any) -> Any:
        """F(z) = P(Z <= z)."""
        raise NotImplementedError(f"{type(self).__name__} must define cdf(z)")

    def survival(self, z: Any) -> Any:
        """S(z) = P(Z > z)."""
        return 1.0 - np.asarray(self.cdf(z))

    def log_density(self, z: Any) -> Any:
        """log f(z)."""
        with np.errstate(divide="ignore"):
            return np.log(self.density(z))

    def log_cdf(self, z: Any) -> Any:
        """log F(z)."""
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(z))

    def log_survival(self, z: Any) -> Any:
        """log S(z)."""
        with np.errstate(divide="ignore"):
            return np.log(self.survival(z))

    @property
    def hazard(self) -> float:
        """h = sup_z f(z)/S(z), inf where unbounded: the rate of the potential times its scale."""
        raise ValueError(
            f"{type(self).__name__} must state its hazard, sup f/(1-F), to have a rate; "
            "define the property `hazard` with a proved value"
        )

    @property
    def log_concave(self) -> bool:
        """Whether log f is proved to be concave, f jumping nowhere downwards: it then needs no hazard as an expert."""
        return False

    @property
    def mean(self) -> float:
        """E Z, inf where it is infinite."""
        return self.expected_max(1)

    def expected_max(self, n: int) -> float:
        """E max(Z_1..Z_n) = int_0^inf e^-v S^-1(1 - e^(-v/n)) dv, v = -log F(max)^n being Exp(1).

        Without a quantile function of its own a law is integrated by its density instead.
        """
        n = refusals.count(n, "n")
        if type(self).survival_quantile is Law.survival_quantile:
            from hannan.mathematics.quadrature import GeneralRule

            return GeneralRule(self, np.zeros(1), copies=n).mean_of_leader()
        # v = exp(t - e^-t) turns the end-point singularities into double-exponential decay.
        t = np.arange(-5.5, 4.2, 1.0 / 64.0)
        v = np.exp(t - np.exp(-t))
        weight = np.exp(-v) * v * (1.0 + np.exp(-t)) / 64.0
        with np.errstate(divide="ignore"):
            z = self.survival_quantile(-np.expm1(-v / n))
        # Where 1 - e^(-v/n) rounds to 1 the weight is below 1e-15, and the quantile of a law on the line is -inf.
        kept = (weight > 0.0) & np.isfinite(z)
        return float((weight[kept] * z[kept]).sum())

    def survival_quantile(self, s: Any) -> Array:
        """S^-1(s): the z with P(Z > z) = s, by bisection where no closed form is given."""
        s = np.asarray(s, dtype=np.float64)
        low, high = (math.asinh(min(max(end, -1e300), 1e300)) for end in self.support)
        # Halving arcsinh z, not z: a heavy tail has quantiles of 1 and of 1e100.
        left, right = np.full(s.shape, low), np.full(s.shape, high)
        with np.errstate(all="ignore"):  # a law of the user's may overflow far out
            for _ in range(80):
                middle = 0.5 * (left + right)
                above = np.asarray(self.survival(np.sinh(middle))) > s
                left, right = np.where(above, middle, left), np.where(above, right, middle)
        return np.asarray(np.sinh(0.5 * (left + right)))

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        """Draws of Z from `rng`."""
        return self.survival_quantile(rng.random(size))[()]


@frozen
class _ByExponent(Law):
    """A law with one tail exp(-E(z)): what follows from log |E'|, E itself being given in one form or another."""

    def log_slope(self, z: Array) -> Array:
        """log |E'(z)|, inside the support."""
        raise NotImplementedError

    def _exponent(self, z: Array) -> Array:
        raise NotImplementedError

    def density(self, z: Any) -> Any:
        return np.exp(self.log_density(z))

    def log_density(self, z: Any) -> Any:
        z, inside = _inside(self, z)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            exponent = self._exponent(z)
            value = self.log_slope(z) - exponent
        return np.where(inside & ~np.isposinf(exponent), value, -np.inf)[()]


@frozen
class TailLaw(_ByExponent):
    """S(z) = exp(-H(z)) on the support: a law given by its cumulative hazard H and log H'."""

    def exponent(self, z: Array) -> Array:
        """H(z) = -log S(z) inside the support."""
        raise NotImplementedError

    def _exponent(self, z: Array) -> Array:
        return self.exponent(z)

    def cdf(self, z: Any) -> Any:
        return -np.expm1(self.log_survival(z))

    def survival(self, z: Any) -> Any:
        return np.exp(self.log_survival(z))

    def log_cdf(self, z: Any) -> Any:
        return log1mexp(-np.asarray(self.log_survival(z)))

    def log_survival(self, z: Any) -> Any:
        z, inside = _inside(self, z)
        with np.errstate(over="ignore"):
            return np.where(inside, -self.exponent(z), 0.0)[()]


@frozen
class ExtremeLaw(_ByExponent):
    """F(z) = exp(-K(z)) on the support: a law given by log K and log(-K')."""

    def log_exponent(self, z: Array) -> Array:
        """log K(z), K = -log F, inside the support."""
        raise NotImplementedError

    def _exponent(self, z: Array) -> Array:
        return np.asarray(np.exp(self.log_exponent(z)))

    def cdf(self, z: Any) -> Any:
        return np.exp(self.log_cdf(z))

    def survival(self, z: Any) -> Any:
        return -np.expm1(self.log_cdf(z))

    def log_cdf(self, z: Any) -> Any:
        z, inside = _inside(self, z)
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(inside, -np.exp(self.log_exponent(z)), -np.inf)[()]

    def log_survival(self, z: Any) -> Any:
        z, inside = _inside(self, z)
        with np.errstate(divide="ignore", over="ignore"):
            # Where K < 1e-17, log(1 - e^-K) is log K to every digit, and K itself may underflow.
            logs = np.asarray(self.log_exponent(z))
            return np.where(inside, np.where(logs < -40.0, logs, log1mexp(np.exp(logs))), 0.0)[()]


def log1mexp(x: Any) -> Any:
    """log(1 - e^-x) for x >= 0, exact at both ends."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(x < math.log(2.0), np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))[()]


def _inside(law: Law, z: Any) -> tuple[Array, Any]:
    """z with what is below the support moved into it, and where it was inside; NaN stays NaN."""
    z = np.asarray(z, dtype=np.float64)
    low = law.support[0]
    inside = ~(z < low)
    return np.where(inside, z, low + 1.0 if math.isfinite(low) else 0.0), inside
