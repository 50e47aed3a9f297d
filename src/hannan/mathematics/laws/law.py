"""Perturbation distributions: base class, and the members that follow from a density and a cdf.

A user-defined distribution is one class with a density and a cdf:

>>> import numpy as np
>>> from dataclasses import dataclass
>>> @frozen
... class LogisticLaw(Law):
...     def density(self, z): return 0.25 / np.cosh(np.asarray(z) / 2) ** 2
...     def cdf(self, z): return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)
>>> round(LogisticLaw().expected_max(2), 9)
1.0

With a proved `hazard` it has a rate, and every regret bound.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hannan import validation
from hannan.mathematics.smoothing import Level, Smoothing
from hannan.saving import frozen
from hannan.validation import Array

#: Facts that `Law` derives from the distribution; a user-defined law states its hazard instead, which is checked.
DERIVED = (
    *("hedge", "needs_rounds", "first_order", "largest_gamma", "tsallis_alpha", "gamma", "rate", "rate_source"),
    *("own_rate", "perturbation", "range_constant", "variance_constant", "proved_variance_constant"),
    *("closed_variance_constant", "bandit_variance_constant", "comparator_cost", "step_level", "approximate_level"),
    *("assumptions", "rate_assumption", "tabulated", "leader", "check_compiled"),
)


@frozen
class Law(Smoothing):
    """Distribution of the perturbations that a perturbed leader subtracts from the cumulative losses.

    A user-defined distribution is a frozen dataclass with `density` and `cdf`, and with `hazard` if one is proved
    (CONTRIBUTING, "Add a law"). Bounds then state that the hazard is assumed, not verified.

    Notes
    -----
    F(z) = P(Z <= z) for one draw Z at scale 1. `hazard` is sup f/(1-F), the rate of the perturbed leader at scale 1, or
    inf. The range at scale 1 is E max_n Z - E Z.

    Examples
    --------
    >>> import hannan as hn
    >>> law = hn.Gumbel()
    >>> round(float(law.cdf(0.0)), 6), round(float(law.survival_quantile(0.5)), 6)
    (0.367879, 0.366513)
    """

    compiled_members: ClassVar[tuple[str, ...]] = (
        *("compiled_members", "kernel", "kernel_parameters", "support", "kinks", "density", "cdf", "survival"),
        *("log_density", "log_cdf", "log_survival", "survival_quantile", "sample", "mean", "expected_max"),
        *("hazard", "log_concave", *DERIVED),
    )

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval outside of which the density is zero."""
        return (-math.inf, math.inf)

    @property
    def kinks(self) -> tuple[float, ...]:
        """Points inside the support where the density is not smooth."""
        return ()

    def density(self, z: Any) -> Any:
        """Return f(z) = F'(z).

        Parameters
        ----------
        z : array_like
            Points.
        """
        raise NotImplementedError(f"{type(self).__name__} must define density(z)")

    def cdf(self, z: Any) -> Any:
        """Return F(z) = P(Z <= z).

        Parameters
        ----------
        z : array_like
            Points.
        """
        raise NotImplementedError(f"{type(self).__name__} must define cdf(z)")

    def survival(self, z: Any) -> Any:
        """Return S(z) = P(Z > z).

        Parameters
        ----------
        z : array_like
            Points.

        Returns
        -------
        float or numpy.ndarray
            Probabilities, in the shape of `z`.
        """
        return 1.0 - np.asarray(self.cdf(z))

    def log_density(self, z: Any) -> Any:
        """Return log f(z).

        Parameters
        ----------
        z : array_like
            Points.

        Returns
        -------
        float or numpy.ndarray
            Logarithms, in the shape of `z`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.density(z))

    def log_cdf(self, z: Any) -> Any:
        """Return log F(z).

        Parameters
        ----------
        z : array_like
            Points.

        Returns
        -------
        float or numpy.ndarray
            Logarithms, in the shape of `z`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(z))

    def log_survival(self, z: Any) -> Any:
        """Return log S(z).

        Parameters
        ----------
        z : array_like
            Points.

        Returns
        -------
        float or numpy.ndarray
            Logarithms, in the shape of `z`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.survival(z))

    @property
    def hazard(self) -> float:
        """Supremum of f(z)/S(z), inf if it is unbounded: the rate of the perturbed leader at scale 1."""
        raise ValueError(
            f"{type(self).__name__} must state its hazard, sup f/(1-F), to have a rate; "
            "define the property `hazard` with a proved value"
        )

    @property
    def rate(self) -> float:
        """Constant h of the rate h/scale: the hazard."""
        return float(self.hazard)

    @property
    def perturbation(self) -> Law | None:
        """The law itself, which is played as a perturbation."""
        return self

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return E max_n Z - E Z.

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int, optional
            Number of rounds.

        Returns
        -------
        float
            Cost per unit of scale of a comparator fixed in advance.
        """
        mean, most = self.mean, self.expected_max(n)
        if not (math.isfinite(mean) and math.isfinite(most)):
            raise ValueError(f"a regret constant needs a law with a finite mean; got {self!r}, whose mean is infinite")
        return most - mean if n > 1 else 0.0

    def closed_variance_constant(self, n: int) -> float | None:
        """Return the variance constant if it has a closed form, else None.

        Parameters
        ----------
        n : int
            Number of arms.
        """
        return None

    def variance_constant(self, n: int) -> float:
        """Return v with D_t <= v/(2 scale): h/2 or, if log f is concave, at most half of E psi(max_n Z).

        psi = -f'/f, and E psi(max_n Z) = n(n-1) int f^2 F^(n-2) is computed numerically: the tunings use this number,
        the bounds use `proved_variance_constant`. The value is inf if neither exists.

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            The constant v.
        """
        closed = self.closed_variance_constant(n)
        if closed is not None:
            return closed
        half = self.rate / 2.0
        return min(half, _mean_score(self, n) / 2.0) if self.log_concave else half

    def proved_variance_constant(self, n: int) -> float:
        """Return an upper bound on the variance constant.

        It differs from `variance_constant` for log-concave laws without a closed form, whose mean score is an integral
        (docs/proofs/experts.md, section 3).

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            Upper bound on v.
        """
        if self.closed_variance_constant(n) is not None or not self.log_concave:
            return self.variance_constant(n)
        return min(self.rate / 2.0, mean_score_bound(self, n) / 2.0)

    def step_level(self, step: float) -> Level:
        """Return the level of one loss; by default its rate, hazard * step.

        Parameters
        ----------
        step : float
            Step size 1/scale.

        Returns
        -------
        Level
            Value of the level, and its proof.
        """
        if math.isinf(self.rate):
            return Level(math.inf, False, "unbounded hazard: no level for delta = 0")
        return Level(self.rate * step, False, "level <= rate, the rate being hazard/scale")

    def assumptions(self) -> str:
        """Return the assumptions about the hazard and log-concavity; empty for the laws of the package.

        Returns
        -------
        str
            The assumptions as a phrase.
        """
        return on_your_word(self)

    def rate_assumption(self) -> str:
        """Return the assumption about the hazard; empty for the laws of the package.

        Returns
        -------
        str
            The assumptions as a phrase.
        """
        return checked_hazard(self)

    def tabulated(self) -> Any:
        """Return the table of a user-defined law; None if the law cannot be tabulated accurately.

        Returns
        -------
        LawTable or None
            The table, computed once per law.
        """
        from hannan.mathematics.laws.tabulated import tabulated

        return tabulated(self)

    def leader(self, L: Array, scale: float) -> Array:
        """Return the distribution that the perturbed leader plays, by quadrature.

        Parameters
        ----------
        L : array_like of shape (..., n)
            Cumulative losses.
        scale : float
            Scale, the inverse learning rate.

        Returns
        -------
        numpy.ndarray of shape (..., n)
            Distribution over the arms.
        """
        from hannan.mathematics.quadrature import GeneralRule

        return GeneralRule(self, (L - L.min()) / scale).play()

    @property
    def unbounded_origin(self) -> float:
        """Exponent k if F(z) grows like z^k at the lower end of the support and f is unbounded there; otherwise inf."""
        return math.inf

    @property
    def log_concave(self) -> bool:
        """True if log f is proved to be concave and f has no downward jump; experts then need no hazard."""
        return False

    @property
    def mean(self) -> float:
        """Mean E Z, which may be inf."""
        return self.expected_max(1)

    def expected_max(self, n: int) -> float:
        """Return E max(Z_1..Z_n) = int_0^inf e^-v S^-1(1 - e^(-v/n)) dv, where v = -log F(max)^n is Exp(1).

        If the class defines no quantile function, the density is integrated instead.

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            Expected maximum of n draws.
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
        # If 1 - e^(-v/n) rounds to 1, the weight is below 1e-15, and the quantile of a law on the line is -inf.
        kept = (weight > 0.0) & np.isfinite(z)
        return float((weight[kept] * z[kept]).sum())

    def survival_quantile(self, s: Any) -> Array:
        """Return the z with P(Z > z) = s, by bisection unless a class overrides it.

        Parameters
        ----------
        s : array_like
            Probabilities in (0, 1).

        Returns
        -------
        numpy.ndarray
            Points, in the shape of `s`.
        """
        s = np.asarray(s, dtype=np.float64)
        low, high = (math.asinh(min(max(end, -1e300), 1e300)) for end in self.support)
        # Bisect arcsinh z instead of z, because heavy tails have quantiles of 1 and of 1e100.
        left, right = np.full(s.shape, low), np.full(s.shape, high)
        with np.errstate(all="ignore"):  # A user-defined law may overflow far out.
            for _ in range(80):
                middle = 0.5 * (left + right)
                above = np.asarray(self.survival(np.sinh(middle))) > s
                left, right = np.where(above, middle, left), np.where(above, right, middle)
        return np.asarray(np.sinh(0.5 * (left + right)))

    def sample(self, rng: np.random.Generator, size: Any = None) -> Any:
        """Return draws of Z from `rng`.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of random numbers.
        size : int or tuple of int, optional
            Shape of the result. Default: one draw.

        Returns
        -------
        float or numpy.ndarray
            Draws, in the shape `size`.
        """
        return self.survival_quantile(rng.random(size))[()]


@frozen
class _ByExponent(Law):
    """Law with one tail exp(-E(z)), given by log |E'| and E."""

    def log_slope(self, z: Array) -> Array:
        """Return ``log |E'(z)|`` at points of the support."""
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
    """Law with S(z) = exp(-H(z)) on the support, given by its cumulative hazard H and log H'."""

    def exponent(self, z: Array) -> Array:
        """Return H(z) = -log S(z) inside the support."""
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
    """Law with F(z) = exp(-K(z)) on the support, given by log K and log(-K')."""

    def log_exponent(self, z: Array) -> Array:
        """Return log K(z) inside the support, K = -log F."""
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
            # If K < 1e-17, log(1 - e^-K) is log K to every digit, and K itself may underflow.
            logs = np.asarray(self.log_exponent(z))
            return np.where(inside, np.where(logs < -40.0, logs, log1mexp(np.exp(logs))), 0.0)[()]


def log1mexp(x: Any) -> Any:
    """Return log(1 - e^-x) for x >= 0, accurate at both ends."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(x < math.log(2.0), np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))[()]


def _inside(law: Law, z: Any) -> tuple[Array, Any]:
    """Return (z with numbers below the support moved into it, mask of numbers inside); NaN stays NaN."""
    z = np.asarray(z, dtype=np.float64)
    low = law.support[0]
    inside = ~(z < low)
    return np.where(inside, z, low + 1.0 if math.isfinite(low) else 0.0), inside


EULER = 0.57721566490153286061


def harmonic(n: int) -> float:
    """Return H_n = 1 + 1/2 + ... + 1/n."""
    if n < 100:
        return math.fsum(1.0 / k for k in range(1, n + 1))
    # Euler-Maclaurin formula: for n >= 100 the next term is below 1e-17.
    return math.log(n) + EULER + 0.5 / n - 1.0 / (12.0 * n**2) + 1.0 / (120.0 * float(n) ** 4)


#: Relative widths of the cells of `mean_score_bound`, where the weight is large and elsewhere.
_FINE, _COARSE = 1.0 / 8192.0, 1.0 / 256.0


@lru_cache(maxsize=256)
def mean_score_bound(law: Law, n: int) -> float:
    """Return an upper bound on E psi(max_n Z) = int_0^1 g(s) w(s) ds, g(s) = f(S^-1(s)), w(s) = n(n-1)(1-s)^(n-2).

    g is concave because f is log-concave. So the integral over a cell is at most the mass of the cell times g at its
    center of mass (Jensen). The sum is an upper bound for every choice of cells.
    """
    if n < 2:
        return 0.0
    first, last = 1e-4 / n, min(0.5, 50.0 / n)
    near = _FINE if n <= 100 else _COARSE
    edges = np.concatenate(
        [
            [0.0],
            _geometric(1e-14 / n, first, _COARSE),
            _geometric(first, last, _FINE),
            _geometric(last, 0.5, _COARSE),
            1.0 - _geometric(1e-4, 0.5, near)[::-1],
            1.0 - _geometric(1e-9, 1e-4, _COARSE)[::-1],
            [1.0],
        ]
    )
    a, b = edges[:-1], edges[1:]
    h, rest = b - a, (1.0 - b) ** (n - 1)
    with np.errstate(divide="ignore"):
        lost = -np.expm1((n - 1) * np.log1p(-h / (1.0 - a))) * (1.0 - a) ** (n - 1)
    mass = n * lost
    moment = (1.0 - a) * lost - (n - 1) * h * rest  # int (s - a) w, by parts.
    light, heavy = (0.5 * n * (n - 1) * h * h * (1.0 - x) ** (n - 2) for x in (b, a))
    kept = mass > 0.0  # In the other cells the weight underflows.
    center = a[kept] + (np.clip(moment, light, heavy)[kept] / mass[kept])  # Clipped, because small cells cancel.
    g = np.asarray(law.density(law.survival_quantile(np.clip(center, a[kept], b[kept]))), dtype=np.float64)
    return float(np.sum(mass[kept] * g)) * (1.0 + 1e-10) if np.isfinite(g).all() else math.inf


def _geometric(low: float, high: float, width: float) -> Array:
    """Return points from `low` up to `high`, without `high`, whose neighbors have a ratio of about e^width."""
    count = math.ceil(math.log(high / low) / width) if low < high else 0
    return np.asarray(low * np.exp(np.arange(count) * (math.log(high / low) / max(count, 1))))


def _mean_score(law: Law, n: int) -> float:
    """Return E psi(max_n Z) = (n-1) E f(M)/F(M) for the tunings, where M is the maximum and -n log F(M) is Exp(1).

    The integral is computed by the trapezoidal rule after a double-exponential substitution. The difference between two
    step sizes is added; in practice it is far above the error, but it is not a proved bound. `mean_score_bound` is an
    upper bound.
    """
    sums = []
    for step in (1.0 / 32.0, 1.0 / 64.0):
        t = np.arange(-5.5, 4.2, step)
        v = np.exp(t - np.exp(-t))
        weight = np.exp(-v * (n - 1) / n) * v * (1.0 + np.exp(-t)) * step
        with np.errstate(divide="ignore"):
            density = np.asarray(law.density(law.survival_quantile(-np.expm1(-v / n))))
        kept = (weight > 0.0) & np.isfinite(density)
        sums.append((n - 1) * float((weight[kept] * density[kept]).sum()))
    return (sums[1] + abs(sums[1] - sums[0])) * (1.0 + 1e-13)


#: Levels at which a law is checked: survival from 1 - 1e-6 down to 1e-9, for which 1 - F has seven digits.
_LEVELS = np.concatenate([1.0 - np.logspace(-6, -2, 60), np.linspace(0.985, 0.02, 200), np.logspace(-1.75, -9, 140)])
#: Tolerances for rounding errors of 1 - F, and of its quotients.
_LOST, _SLACK = 1e-14, 1e-6


def on_your_word(law: object) -> str:
    """Return the assumptions about a user-defined law; raise ValueError if its density or cdf contradicts them."""
    if not _is_yours(law):
        return ""
    return "; ".join(filter(None, (checked_hazard(law), checked_concavity(law))))


def _is_yours(law: object) -> bool:
    return isinstance(law, Law) and type(law).__module__.split(".")[0] != "hannan"


def hazard_of_yours(law: object) -> float | None:
    """Return the finite hazard that a user-defined law states, or None."""
    if not _is_yours(law):
        return None
    own = validation.user_defined(law, DERIVED)
    if own:
        name = type(law).__name__
        raise ValueError(f"{name} must not define {', '.join(own)}; hn.Law derives these from `hazard`. Rename them")
    assert isinstance(law, Law)
    try:
        stated = float(law.hazard)
    except ValueError:
        return None
    return stated if math.isfinite(stated) else None


def checked_hazard(law: object) -> str:
    """Return the assumption about a stated hazard; raise ValueError if the density or the cdf exceeds it.

    h >= f/S at each quantile, and S(a) <= e^(h (b - a)) S(b) between neighbors, which needs the cdf only.
    Empty for laws of the package.
    """
    stated = hazard_of_yours(law)
    if stated is None:
        return ""
    assert isinstance(law, Law)
    name = type(law).__name__
    if stated <= 0.0:
        raise ValueError(f"the hazard of {name} must be > 0; got {stated!r}")
    said = f"assumed, not verified: the hazard of {name} is at most {stated:.15g}"
    with np.errstate(all="ignore"):
        z = np.unique(np.asarray(law.survival_quantile(_LEVELS), dtype=np.float64))
        f, S = np.asarray(law.density(z), dtype=np.float64), np.asarray(law.survival(z), dtype=np.float64)
        usable = np.isfinite(z) & np.isfinite(f) & (S >= 0.5e-9) & (S <= 1.0)
        z, f, S = z[usable], f[usable], S[usable]
        if z.size < 50:
            return f"{said} (it could not be checked)"
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
    return f"{said} (checked at {z.size} quantiles)"


def checked_concavity(law: object) -> str:
    """Return the assumption about `log_concave`; raise ValueError if the slope of log f increases between quantiles."""
    if not (_is_yours(law) and isinstance(law, Law) and law.log_concave):
        return ""
    name = type(law).__name__
    said = f"assumed, not verified: the density of {name} is log-concave"
    with np.errstate(all="ignore"):
        z = np.unique(np.asarray(law.survival_quantile(_LEVELS[::4]), dtype=np.float64))
        g = np.log(np.asarray(law.density(z), dtype=np.float64))
        z, g = z[np.isfinite(g)], g[np.isfinite(g)]
        if z.size < 20:
            return f"{said} (it could not be checked)"
        gaps = np.diff(z)
        slope = np.diff(g) / gaps
        # The logarithms are accurate to 1e-12, so a slope is accurate to 1e-12 divided by its gap.
        lost = 1e-12 * (1.0 + np.abs(g).max()) / gaps
        rise = np.diff(slope) - lost[:-1] - lost[1:] - _SLACK * np.abs(slope[:-1])
    worst = int(np.argmax(rise))
    if rise[worst] > 0.0:
        raise ValueError(
            f"{name} must be log-concave, because log_concave is True; the slope of log f increases at "
            f"{z[worst + 1]:.6g}"
        )
    return f"{said} (checked at {z.size} quantiles)"
