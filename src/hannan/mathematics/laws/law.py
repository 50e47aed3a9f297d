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

from hannan import validation
from hannan.saving import frozen
from hannan.validation import Array


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
        n = validation.count(n, "n")
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


EULER = 0.57721566490153286061


def harmonic(n: int) -> float:
    """H_n = 1 + 1/2 + ... + 1/n."""
    if n < 100:
        return math.fsum(1.0 / k for k in range(1, n + 1))
    # Euler-Maclaurin: the next term is below 1e-17 from n = 100 on.
    return math.log(n) + EULER + 0.5 / n - 1.0 / (12.0 * n**2) + 1.0 / (120.0 * float(n) ** 4)


#: Where it is looked at: survival from 1 - 1e-6 down to 1e-9, where 1 - F still has seven digits.
_LEVELS = np.concatenate([1.0 - np.logspace(-6, -2, 60), np.linspace(0.985, 0.02, 200), np.logspace(-1.75, -9, 140)])
#: 1 - F is right to so much, and quotients to a few more digits less.
_LOST, _SLACK = 1e-14, 1e-6


def on_your_word(law: object) -> str:
    """What to print of a law of your own; refuses what its density or cdf contradicts. Empty for the package's laws."""
    if not _is_yours(law):
        return ""
    return "; ".join(filter(None, (checked_hazard(law), checked_concavity(law))))


def _is_yours(law: object) -> bool:
    return isinstance(law, Law) and type(law).__module__.split(".")[0] != "hannan"


def hazard_of_yours(law: object) -> float | None:
    """The hazard that a law of your own states; None for laws of the package, and where none is stated."""
    if not _is_yours(law):
        return None
    assert isinstance(law, Law)
    try:
        stated = float(law.hazard)
    except ValueError:
        return None
    return stated if math.isfinite(stated) else None


def checked_hazard(law: object) -> str:
    """What to print of the hazard that a law of your own states; refuses one that its density or cdf exceeds.

    h >= f/S at each quantile, and S(a) <= e^(h (b - a)) S(b) between neighbours, which needs the cdf alone.
    Empty for laws of the package.
    """
    stated = hazard_of_yours(law)
    if stated is None:
        return ""
    assert isinstance(law, Law)
    name = type(law).__name__
    if stated <= 0.0:
        raise ValueError(f"the hazard of {name} must be > 0; got {stated!r}")
    said = f"on your word that the hazard of {name} is at most {stated:.15g}"
    with np.errstate(all="ignore"):
        z = np.unique(np.asarray(law.survival_quantile(_LEVELS), dtype=np.float64))
        f, S = np.asarray(law.density(z), dtype=np.float64), np.asarray(law.survival(z), dtype=np.float64)
        usable = np.isfinite(z) & np.isfinite(f) & (S >= 0.5e-9) & (S <= 1.0)
        z, f, S = z[usable], f[usable], S[usable]
        if z.size < 50:
            return f"{said}, which could not be checked"
        kept = S * (1.0 + _SLACK) + _LOST
        steep = f / kept
        fall = np.log((S[:-1] - _LOST) / (S[1:] + _LOST)) / np.diff(z)
    worst = int(np.argmax(steep))
    if steep[worst] > stated:
        raise ValueError(
            f"the hazard of {name} must be at least f/(1-F), which is {f[worst] / S[worst]:.6g} at {z[worst]:.6g}; "
            f"got {stated!r}"
        )
    fastest = int(np.argmax(np.where(np.isfinite(fall), fall, -np.inf)))
    if fall[fastest] > stated * (1.0 + _SLACK) + 1e-9:
        raise ValueError(
            f"the hazard of {name} must be at least the fall of log(1-F), {fall[fastest]:.6g} between {z[fastest]:.6g} "
            f"and {z[fastest + 1]:.6g}; got {stated!r}"
        )
    return f"{said}, which fits at {z.size} quantiles"


def checked_concavity(law: object) -> str:
    """The same for `log_concave`: the slope of log f, from quantile to quantile, must not rise."""
    if not (_is_yours(law) and isinstance(law, Law) and law.log_concave):
        return ""
    name = type(law).__name__
    said = f"on your word that the density of {name} is log-concave"
    with np.errstate(all="ignore"):
        z = np.unique(np.asarray(law.survival_quantile(_LEVELS[::4]), dtype=np.float64))
        g = np.log(np.asarray(law.density(z), dtype=np.float64))
        z, g = z[np.isfinite(g)], g[np.isfinite(g)]
        if z.size < 20:
            return f"{said}, which could not be checked"
        gaps = np.diff(z)
        slope = np.diff(g) / gaps
        # Logarithms are right to 1e-12, and a slope to that over its gap.
        lost = 1e-12 * (1.0 + np.abs(g).max()) / gaps
        rise = np.diff(slope) - lost[:-1] - lost[1:] - _SLACK * np.abs(slope[:-1])
    worst = int(np.argmax(rise))
    if rise[worst] > 0.0:
        raise ValueError(f"{name} must be log-concave, as it says; the slope of log f rises at {z[worst + 1]:.6g}")
    return f"{said}, which fits at {z.size} quantiles"
