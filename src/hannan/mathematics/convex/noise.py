"""Noise of objective perturbation: one random vector b, added to the losses as <b, x> (Algorithm 1, alg:oco).

Noise has a *scale* like every smoothing: b = scale * (a standard draw). The standard draws are

    GammaNoise      density proportional to exp(-||b||)         E||b|| = d,      rate = beta/scale
    GaussianNoise   N(0, I)                                     E||b|| = chi_d,  (epsilon, delta) below

beta is the Lipschitz constant of one loss. Only the forward divergence, of this move from the next, enters
a regret bound; it needs no ridge, no smoothness and no rank condition (thm:oco, corrected form).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from hannan import validation
from hannan.validation import Array

#: Classes of losses, the smallest first: <z, x>; phi(<z, x>) with phi' of one sign; phi(<z, x>); any convex loss.
Shape = Literal["linear", "one-signed", "rank-one", "convex"]
SHAPES: tuple[Shape, ...] = ("linear", "one-signed", "rank-one", "convex")


@dataclass(frozen=True)
class Noise:
    """Noise for convex learners: a random vector b that is added to the sum of the losses as <b, x>.

    `GammaNoise` and `GaussianNoise` are spherically symmetric distributions of b at scale 1.

    Examples
    --------
    >>> import hannan as hn
    >>> hn.GammaNoise().mean_norm(d=5)
    5.0
    """

    #: Name of the compiled sampler.
    kernel: ClassVar[str]

    def mean_norm(self, d: int) -> float:
        """Return E||b|| of the standard draw in d dimensions.

        Parameters
        ----------
        d : int
            Dimension.
        """
        raise NotImplementedError

    def sample(self, rng: np.random.Generator, d: int, size: int | tuple[int, ...] = ()) -> Array:
        """Return standard draws, with coordinates along the last axis.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of random numbers.
        d : int
            Dimension.
        size : int or tuple of int, optional
            Shape of the result. Default: one draw.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class GammaNoise(Noise):
    """Gamma noise for convex learners: differential privacy with delta = 0, and noise proportional to d.

    Parameters
    ----------
    calibration : {"corrected", "paper"}, default "corrected"
        "corrected" for the density below, "paper" for the printed density exp(-epsilon ||b||/(2 beta)), which has
        twice the noise.

    Notes
    -----
    Density proportional to exp(-epsilon ||b||/beta), where beta is the Lipschitz constant of one loss: ||b|| has a
    Gamma(d) distribution, the direction is uniform, and E||b|| = d beta/epsilon. A move is stable at level epsilon in
    D_inf for all convex losses (thm:oco, corrected form).

    Examples
    --------
    >>> GammaNoise().scale(epsilon=0.5, lipschitz=2.0), GammaNoise("paper").scale(epsilon=0.5, lipschitz=2.0)
    (4.0, 8.0)
    """

    calibration: Literal["corrected", "paper"] = "corrected"
    kernel: ClassVar[str] = "gamma"

    def __post_init__(self) -> None:
        _known(self.calibration, ("corrected", "paper"))

    def scale(self, epsilon: float, lipschitz: float) -> float:
        """Return the scale at which the stability level is epsilon.

        Parameters
        ----------
        epsilon : float
            Privacy parameter epsilon.
        lipschitz : float
            Lipschitz constant of one loss.

        Returns
        -------
        float
            Scale.
        """
        epsilon, beta = validation.positive(epsilon, "epsilon"), validation.positive(lipschitz, "lipschitz")
        return (2.0 if self.calibration == "paper" else 1.0) * beta / epsilon

    def mean_norm(self, d: int) -> float:
        return float(d)

    def sample(self, rng: np.random.Generator, d: int, size: int | tuple[int, ...] = ()) -> Array:
        # X ~ Gamma(d/2), V ~ Gamma((d+1)/2) independent: 2 sqrt(XV) is Gamma(d). So Gaussians times sqrt(2V).
        normal = rng.standard_normal((*np.atleast_1d(np.asarray(size, dtype=np.int64)), d))
        return np.asarray(normal * np.sqrt(2.0 * rng.standard_gamma((d + 1) / 2, (*normal.shape[:-1], 1))))


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Gaussian noise for convex learners: less noise in many dimensions, stable except with probability delta.

    Parameters
    ----------
    delta : float, optional
        Value of delta in the guarantee, in (0, 1). Default: chosen by the tuning, as 1/(B T).
    calibration : {"analytic", "kifer", "paper"}, default "analytic"
        Formula for sigma: "analytic" for the smallest sigma that the formula below allows, "kifer" for
        beta sqrt(8 log(2/delta) + 4 epsilon)/epsilon, "paper" for the printed sqrt(beta^2 log(2/delta) +
        4 epsilon)/epsilon, which is wrong, so that no guarantee is given.

    Notes
    -----
    N(0, sigma^2 I), with mu = beta/sigma and the Lipschitz constant beta of one loss. For linear losses (cor:olo)
    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) exactly. This is an upper bound for
    phi(<z, x>) with phi' of one sign. For any phi(<z, x>) it doubles, and for any convex loss it is
    E(1 - e^(epsilon - mu^2/2 - mu chi_d))_+. All this is for the divergence of a move from the next, which regret
    bounds use; the reverse divergence adds a term J (see `hannan.learners.convex.privacy`).

    Examples
    --------
    >>> noise = GaussianNoise(delta=1e-6)
    >>> sigma = noise.sigma(epsilon=1.0, lipschitz=10.0)
    >>> round(sigma, 3), noise.delta_of(1.0, 10.0, sigma) <= 1e-6
    (42.247, True)
    >>> printed = GaussianNoise(1e-6, calibration="paper").sigma(1.0, 10.0)
    >>> round(printed, 2), float(f"{noise.delta_of(1.0, 10.0, printed):.2e}")
    (38.14, 6.87e-06)
    """

    delta: float | None = None
    calibration: Literal["analytic", "kifer", "paper"] = "analytic"
    kernel: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        _known(self.calibration, ("analytic", "kifer", "paper"))
        if self.delta is not None:
            object.__setattr__(self, "delta", validation.between(self.delta, 0.0, 1.0, "delta", "()"))

    def sigma(self, epsilon: float, lipschitz: float, shape: Shape = "linear", d: int = 1) -> float:
        """Return the sigma of the calibration for (epsilon, delta); `d` is used for the shape "convex" only.

        Parameters
        ----------
        epsilon : float
            Privacy parameter epsilon.
        lipschitz : float
            Lipschitz constant of one loss.
        shape : {"linear", "one-signed", "rank-one", "convex"}, default "linear"
            Class of the losses.
        d : int, default 1
            Dimension.

        Returns
        -------
        float
            Standard deviation per coordinate.
        """
        if self.delta is None:
            raise ValueError("delta is required for sigma; got GaussianNoise(delta=None)")
        epsilon, beta = validation.positive(epsilon, "epsilon"), validation.positive(lipschitz, "lipschitz")
        if self.calibration == "kifer":
            return beta * math.sqrt(8.0 * math.log(2.0 / self.delta) + 4.0 * epsilon) / epsilon
        if self.calibration == "paper":
            return math.sqrt(beta**2 * math.log(2.0 / self.delta) + 4.0 * epsilon) / epsilon
        return beta * _least_sigma(epsilon, self.delta, shape, d)

    def delta_of(self, epsilon: float, lipschitz: float, sigma: float, shape: Shape = "linear", d: int = 1) -> float:
        """Return delta(epsilon) at this sigma: exact for linear losses, an upper bound for the other shapes.

        Parameters
        ----------
        epsilon : float
            Privacy parameter epsilon.
        lipschitz : float
            Lipschitz constant of one loss.
        sigma : float
            Standard deviation of the noise per coordinate.
        shape : {"linear", "one-signed", "rank-one", "convex"}, default "linear"
            Class of the losses.
        d : int, default 1
            Dimension.

        Returns
        -------
        float
            The value delta(epsilon).
        """
        epsilon = validation.between(epsilon, 0.0, math.inf, "epsilon", "[)")
        beta, sigma = validation.positive(lipschitz, "lipschitz"), validation.positive(sigma, "sigma")
        _known(shape, SHAPES, "shape")
        return _delta(epsilon, sigma / beta, shape, d)

    def epsilon_of(self, lipschitz: float, sigma: float, shape: Shape = "linear", d: int = 1) -> float:
        """Return the smallest epsilon >= 0 with delta(epsilon) <= delta at this sigma.

        Parameters
        ----------
        lipschitz : float
            Lipschitz constant of one loss.
        sigma : float
            Standard deviation of the noise per coordinate.
        shape : {"linear", "one-signed", "rank-one", "convex"}, default "linear"
            Class of the losses.
        d : int, default 1
            Dimension.

        Returns
        -------
        float
            The smallest epsilon.

        Examples
        --------
        >>> round(GaussianNoise(1e-6).epsilon_of(lipschitz=10.0, sigma=38.14), 3)
        1.117
        """
        if self.delta is None:
            raise ValueError("delta is required for epsilon_of; got GaussianNoise(delta=None)")
        beta, sigma = validation.positive(lipschitz, "lipschitz"), validation.positive(sigma, "sigma")
        ratio, target = sigma / beta, self.delta
        _known(shape, SHAPES, "shape")
        return _least(lambda epsilon: _safe_delta(epsilon, ratio, shape, d) <= target)

    def claimed_epsilon(self, lipschitz: float, sigma: float) -> float:
        """Return the epsilon that the calibration claims for this sigma and delta; for "paper" it is too small.

        Parameters
        ----------
        lipschitz : float
            Lipschitz constant of one loss.
        sigma : float
            Standard deviation of the noise per coordinate.

        Returns
        -------
        float
            The claimed epsilon.

        Examples
        --------
        >>> sigma = GaussianNoise(1e-6, "paper").sigma(1.0, lipschitz=10.0)
        >>> round(GaussianNoise(1e-6, "paper").claimed_epsilon(10.0, sigma), 12)
        1.0
        """
        if self.calibration == "analytic" or self.delta is None:
            return self.epsilon_of(lipschitz, sigma)
        beta, sigma = validation.positive(lipschitz, "lipschitz"), validation.positive(sigma, "sigma")
        log = math.log(2.0 / self.delta)
        if self.calibration == "kifer":
            return beta * (2.0 * beta + math.sqrt(4.0 * beta**2 + 8.0 * sigma**2 * log)) / sigma**2
        return (2.0 + math.sqrt(4.0 + sigma**2 * beta**2 * log)) / sigma**2

    def mean_norm(self, d: int) -> float:
        """Return chi_d = sqrt(2) Gamma((d+1)/2)/Gamma(d/2), which is at most sqrt(d).

        Parameters
        ----------
        d : int
            Dimension.

        Returns
        -------
        float
            Expected norm.
        """
        return math.sqrt(2.0) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))

    def sample(self, rng: np.random.Generator, d: int, size: int | tuple[int, ...] = ()) -> Array:
        return rng.standard_normal((*np.atleast_1d(np.asarray(size, dtype=np.int64)), d))


def _delta(epsilon: float, ratio: float, shape: Shape, d: int) -> float:
    """Return delta(epsilon) at sigma = ratio * beta."""
    if shape == "convex":
        return _any_convex(epsilon, ratio, d)
    return min(1.0, (2.0 if shape == "rank-one" else 1.0) * _linear(epsilon, ratio))


def _linear(epsilon: float, ratio: float) -> float:
    """Return delta(epsilon) for linear losses, by the exact formula."""
    from scipy.special import erfcx, log_ndtr

    # With y = x + 1/ratio, e^epsilon phi(y) = phi(x): no exponential can overflow or cancel.
    x, y = epsilon * ratio - 0.5 / ratio, epsilon * ratio + 0.5 / ratio
    if x < -8.0:
        return float(-math.expm1(log_ndtr(x)) - 0.5 * math.exp(-0.5 * x * x) * erfcx(y / math.sqrt(2.0)))
    tails = erfcx(x / math.sqrt(2.0)) - erfcx(y / math.sqrt(2.0))
    return float(min(1.0, 0.5 * math.exp(-0.5 * x * x) * tails))


def _any_convex(epsilon: float, ratio: float, d: int) -> float:
    """Return E(1 - e^(-mu(chi_d - z)))_+, z = epsilon/mu - mu/2, as an upper sum over cells of chi_d (at most 0.2%)."""
    from scipy.special import gammaincc, gammainccinv

    z, mu = epsilon * ratio - 0.5 / ratio, 1.0 / ratio
    tail = float(gammaincc(0.5 * d, 0.5 * z * z)) if z > 0.0 else 1.0
    if tail == 0.0:
        return 0.0
    # Cells with equal shares of the tail's logarithm, down to a negligible one, each evaluated at its right end.
    cells = np.geomspace(1.0, 1e-17, 20_000)
    ends = np.sqrt(2.0 * gammainccinv(0.5 * d, tail * cells))
    held = -np.diff(tail * cells)
    return float(min(1.0, held @ -np.expm1(-mu * np.maximum(ends[1:] - z, 0.0)) + tail * cells[-1]))


def _safe_delta(epsilon: float, ratio: float, shape: Shape, d: int) -> float:
    """Return delta(epsilon), rounded up by more than the rounding error of `_delta`."""
    return _delta(epsilon, ratio, shape, d) * (1.0 + 1e-14 + 4e-16 * ratio + 4e-15 / ratio)


def _least_sigma(epsilon: float, delta: float, shape: Shape, d: int) -> float:
    """Return the smallest sigma/beta with delta(epsilon) <= delta; delta(epsilon) decreases in sigma."""
    _known(shape, SHAPES, "shape")
    return _least(lambda ratio: _safe_delta(epsilon, ratio, shape, d) <= delta)


def _least(holds: Callable[[float], bool]) -> float:
    """Return the smallest number > 0 that meets a monotone condition, to one part in 1e15, rounded up."""
    low, high = 0.0, 1.0
    if holds(math.ulp(0.0)):
        return 0.0
    while not holds(high):
        low, high = high, 2.0 * high
    while high - low > 4e-16 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _known(value: str, allowed: tuple[str, ...], name: str = "calibration") -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")


def standard(kernel: str, d: int) -> Array:
    """Return a standard draw in d dimensions of the noise with this `kernel`.

    >>> standard(GammaNoise.kernel, 3).shape
    (3,)
    """
    if kernel == GammaNoise.kernel:
        drawn = normals(2 * d + 1)
        return np.asarray(drawn[:d] * np.linalg.norm(drawn[d:]))
    return normals(d)


def normals(n: int) -> Array:
    """Return n standard normals."""
    pairs = (n + 1) // 2
    radius = np.sqrt(2.0 * exponentials(pairs))
    angle = 0.25 * np.pi * uniforms(pairs)
    coins = _words(pairs)
    across, along = np.cos(angle), np.sin(angle)
    turned = (coins & np.uint64(1)).astype(bool)
    x, y = np.where(turned, along, across), np.where(turned, across, along)
    signs = [np.where((coins >> np.uint64(k)) & np.uint64(1), 1.0, -1.0) for k in (1, 2)]
    return np.concatenate([radius * x * signs[0], radius * y * signs[1]])[:n]


def exponentials(n: int) -> Array:
    """Return n standard exponentials, with full resolution at both ends."""
    half = 0.5 * uniforms(n)
    coins = (_words(n) & np.uint64(1)).astype(bool)
    return np.where(coins, -np.log(half), -np.log1p(-half))


def uniforms(n: int) -> Array:
    """Return n uniforms in (0, 1) with 53 significant bits at every magnitude."""
    mantissa = 1.0 + (_words(n) >> np.uint64(12)).astype(np.float64) * 2.0**-52
    exponent = np.ones(n, dtype=np.int64)
    left = np.arange(n)
    while left.size:
        # The number of leading zeros in 52 bits is geometric; if all are zero, draw 52 more.
        bits = (_words(left.size) >> np.uint64(12)).astype(np.float64)
        exponent[left] += 52 - np.frexp(bits)[1]
        left = left[bits == 0.0]
    return np.asarray(np.ldexp(mantissa, -exponent))


def _words(n: int) -> Any:
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
