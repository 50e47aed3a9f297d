"""Convex losses of a point: linear losses, and losses of a linear prediction with a target or label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from hannan import validation
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.domains import Domain, norms
from hannan.mathematics.convex.noise import Shape
from hannan.validation import Array

Phi = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Loss:
    """Convex loss of a point, or a sequence of such losses, l_t(x) = phi_t(<z_t, x>).

    Parameters
    ----------
    z : array_like
        Features: shape (d,) for one loss, (T, d) for a sequence of T losses.

    Examples
    --------
    >>> import hannan as hn
    >>> losses = hn.Squared([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
    >>> len(losses), losses[1].value([1.0, 1.0]).item()
    (2, 0.5)
    """

    z: Any
    #: Name of the compiled phi.
    kernel: ClassVar[str]
    shape: ClassVar[Shape] = "rank-one"

    def __post_init__(self) -> None:
        z = validation.losses(self.z, "z")
        if z.ndim > 2:
            raise ValueError(f"z must be a vector, or a matrix with one loss per row; got shape {z.shape}")
        object.__setattr__(self, "z", z)

    @property
    def d(self) -> int:
        """Dimension of the points."""
        return int(self.z.shape[-1])

    @property
    def is_sequence(self) -> bool:
        """True for a sequence of losses, False for a single loss."""
        return bool(self.z.ndim == 2)

    def __len__(self) -> int:
        if not self.is_sequence:
            raise TypeError("a single loss has no length; pass a sequence of losses, with a matrix z")
        return len(self.z)

    def __getitem__(self, item: int | slice) -> Self:
        if not self.is_sequence:
            raise TypeError("a single loss has no items; pass a sequence of losses, with a matrix z")
        rows = {f.name: getattr(self, f.name)[item] for f in fields(self) if f.name in ("z", "y")}
        return replace(self, **rows)

    def __iter__(self) -> Iterator[Self]:
        return (self[t] for t in range(len(self)))

    def value(self, x: Any) -> Any:
        """Return the loss phi(<z, x>) of a point, one number per loss of a sequence.

        Parameters
        ----------
        x : array_like of shape (d,)
            Point.

        Returns
        -------
        float or numpy.ndarray
            Loss, or losses of a sequence.
        """
        return self.phi(self._margin(x))

    def gradient(self, x: Any) -> Array:
        """Return the gradient phi'(<z, x>) z at a point, one row per loss of a sequence.

        Parameters
        ----------
        x : array_like of shape (d,)
            Point.

        Returns
        -------
        numpy.ndarray of shape (d,) or (T, d)
            Gradient, or gradients of a sequence.
        """
        return np.asarray(self.slope(self._margin(x))[..., None] * self.z)

    def _margin(self, x: Any) -> Array:
        x = validation.losses(x, "x")
        if x.shape != (self.d,):
            raise ValueError(f"x must be a vector of {self.d} numbers, like z; got shape {x.shape}")
        return np.asarray(self.z @ x)

    def phi(self, u: Array) -> Array:
        """Return phi at margins <z, x>, one per loss.

        Parameters
        ----------
        u : array_like
            Margins <z, x>, one per loss.
        """
        raise NotImplementedError

    def slope(self, u: Array) -> Array:
        """Return phi' at margins, one per loss.

        Parameters
        ----------
        u : array_like
            Margins <z, x>, one per loss.
        """
        raise NotImplementedError

    def bend(self, u: Array) -> Array:
        """Return phi'' at margins, one per loss.

        Parameters
        ----------
        u : array_like
            Margins <z, x>, one per loss.
        """
        raise NotImplementedError

    @property
    def steepest_curvature(self) -> float:
        """Supremum of phi''."""
        raise NotImplementedError

    @property
    def smooth(self) -> Any:
        """Smoothness constant of each loss: the largest eigenvalue of the Hessian, sup phi'' ||z||^2."""
        return self.steepest_curvature * (self.z**2).sum(axis=-1)

    def margins(self, domain: Domain) -> tuple[Array, Array]:
        """Return the smallest and the largest margin <z, x> over the domain.

        Parameters
        ----------
        domain : Domain
            Domain of the points.

        Returns
        -------
        tuple of numpy.ndarray
            Smallest and largest margins, one per loss.
        """
        self._match(domain)
        return domain.extent(self.z)

    def _match(self, domain: Domain) -> None:
        if domain.d != self.d:
            raise ValueError(f"z must have {domain.d} coordinates, like the domain; got {self.d}")

    def lipschitz(self, domain: Domain) -> Any:
        """Return a Lipschitz constant of each loss on the domain, ``sup_X |phi'(<z, x>)| ||z||``.

        Parameters
        ----------
        domain : Domain
            Domain of the points.

        Returns
        -------
        float or numpy.ndarray
            Lipschitz constant, one per loss.

        Examples
        --------
        >>> from hannan import Ball, Logistic
        >>> round(float(Logistic([3.0, 4.0], 1).lipschitz(Ball(2, 10.0))), 6)
        5.0
        """
        low, high = self.margins(domain)
        steepest = np.maximum(np.abs(self.slope(low)), np.abs(self.slope(high)))
        return steepest * norms(self.z)

    def lowest(self, low: Array, high: Array) -> Array:
        """Return the minimizer of phi between two margins, by bisection on phi'.

        Parameters
        ----------
        low : numpy.ndarray
            Smallest margins.
        high : numpy.ndarray
            Largest margins.

        Returns
        -------
        numpy.ndarray
            Margins of the minima.
        """
        for _ in range(60):
            middle = 0.5 * (low + high)
            falling = self.slope(middle) < 0.0
            low, high = np.where(falling, middle, low), np.where(falling, high, middle)
        return np.asarray(0.5 * (low + high))

    def interval(self, domain: Domain) -> tuple[Array, Array]:
        """Return (min_X l, max_X l) of each loss.

        Parameters
        ----------
        domain : Domain
            Domain of the points.

        Returns
        -------
        tuple of numpy.ndarray
            Smallest and largest losses, one per loss.
        """
        low, high = self.margins(domain)
        ends = self.phi(low), self.phi(high)
        return np.minimum(np.minimum(*ends), self.phi(self.lowest(low, high))), np.maximum(*ends)


@dataclass(frozen=True, eq=False)
class RankOne(Loss):
    """User-defined convex loss l(x) = phi(<z, x>), given by phi and its derivative.

    Parameters
    ----------
    z : array_like
        Features: shape (d,) for one loss, (T, d) for a sequence.
    function, derivative : callable
        Functions phi and phi' of an array of margins <z, x>.
    second : callable, optional
        Function phi''. Default: computed by differences of phi'. It affects the speed of the solver only.
    curvature : float, optional
        Upper bound on phi'', required by privacy statements that depend on the curvature.

    Examples
    --------
    >>> import numpy as np
    >>> loss = RankOne([1.0, 1.0], lambda u: np.cosh(u) - 1.0, np.sinh)
    >>> round(float(loss.value([0.5, 0.5])), 6), loss.gradient([0.5, 0.5]).round(6)
    (0.543081, array([1.175201, 1.175201]))
    """

    function: Phi = field(kw_only=False)
    derivative: Phi = field(kw_only=False)
    second: Phi | None = None
    curvature: float | None = None
    kernel: ClassVar[str] = "own"

    def phi(self, u: Array) -> Array:
        return np.asarray(self.function(u), dtype=np.float64)

    def slope(self, u: Array) -> Array:
        return np.asarray(self.derivative(u), dtype=np.float64)

    def bend(self, u: Array) -> Array:
        if self.second is not None:
            return np.asarray(self.second(u), dtype=np.float64)
        step = 1e-6 * (1.0 + np.abs(u))
        return np.maximum((self.slope(u + step) - self.slope(u - step)) / (2.0 * step), 0.0)

    @property
    def steepest_curvature(self) -> float:
        return np.inf if self.curvature is None else self.curvature


@dataclass(frozen=True, eq=False)
class Linear(Loss):
    """Linear loss, l(x) = <z, x>.

    Parameters
    ----------
    z : array_like
        Costs of the coordinates, of any sign: shape (d,), or (T, d) for a sequence.

    Examples
    --------
    >>> float(Linear([1.0, 2.0]).value([3.0, 4.0]))
    11.0
    """

    kernel: ClassVar[str] = "linear"
    shape: ClassVar[Shape] = "linear"

    def phi(self, u: Array) -> Array:
        return u

    def slope(self, u: Array) -> Array:
        return np.ones_like(u)

    def bend(self, u: Array) -> Array:
        return np.zeros_like(u)

    def lowest(self, low: Array, high: Array) -> Array:
        return low

    def lipschitz(self, domain: Domain) -> Any:
        """Return ||z|| of each loss.

        Parameters
        ----------
        domain : Domain
            Domain of the points.

        Returns
        -------
        float or numpy.ndarray
            Lipschitz constant, one per loss.
        """
        self._match(domain)
        return norms(self.z)

    @property
    def steepest_curvature(self) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class _Supervised(Loss):
    """Loss of a prediction <z, x> with a target or label y."""

    y: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        y = np.asarray(validation.unmasked(self.y, "y"))
        if y.shape != self.z.shape[:-1]:
            raise ValueError(f"y must have one number per row of z, shape {self.z.shape[:-1]}; got shape {y.shape}")
        object.__setattr__(self, "y", self._targets(y))

    def lowest(self, low: Array, high: Array) -> Array:
        return np.asarray(np.clip(self.y, low, high))

    def _targets(self, y: Any) -> Array:
        return np.asarray(validation.losses(np.atleast_1d(y), "y").reshape(y.shape))


@dataclass(frozen=True, eq=False)
class _Labelled(_Supervised):
    """Loss of the margin y <z, x>, with labels y in {-1, 1}, or in {0, 1}; 0 is replaced by -1."""

    shape: ClassVar[Shape] = "one-signed"

    def lowest(self, low: Array, high: Array) -> Array:
        return np.where(self.y > 0.0, high, low)

    def _targets(self, y: Any) -> Array:
        y = super()._targets(y.astype(np.float64) if y.dtype == bool else y)
        if not (np.isin(y, (0.0, 1.0)).all() or np.isin(y, (-1.0, 1.0)).all()):
            wrong = np.setdiff1d(y, (0.0, 1.0) if 0.0 in y else (-1.0, 1.0))
            raise ValueError(f"labels y must be in {{-1, 1}} or in {{0, 1}}; got {float(wrong[0])}")
        return np.where(y == 0.0, -1.0, y)


@dataclass(frozen=True, eq=False)
class Squared(_Supervised):
    """Squared error of a linear prediction, l(x) = (<z, x> - y)^2/2.

    Parameters
    ----------
    z : array_like
        Features: shape (d,), or (T, d) for a sequence.
    y : float or array_like
        Target, one per loss.

    Examples
    --------
    >>> float(Squared([1.0, 2.0], 7.0).value([3.0, 4.0]))
    8.0
    """

    kernel: ClassVar[str] = "squared"

    def phi(self, u: Array) -> Array:
        return 0.5 * np.asarray(u - self.y) ** 2

    def slope(self, u: Array) -> Array:
        return np.asarray(u - self.y)

    def bend(self, u: Array) -> Array:
        return np.ones_like(u)

    @property
    def steepest_curvature(self) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class Logistic(_Labelled):
    """Logistic loss of a linear classifier, l(x) = log(1 + e^(-y <z, x>)).

    Parameters
    ----------
    z : array_like
        Features: shape (d,), or (T, d) for a sequence.
    y : int or array_like
        Label in {-1, 1} or {0, 1}, one per loss.

    Examples
    --------
    >>> round(float(Logistic([1.0], 0).value([0.0])), 12)
    0.69314718056
    """

    kernel: ClassVar[str] = "logistic"

    def phi(self, u: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, -self.y * u))

    def slope(self, u: Array) -> Array:
        fall = np.exp(-np.abs(u))
        return np.asarray(-self.y * np.where(self.y * u > 0.0, fall, 1.0) / (1.0 + fall))

    def bend(self, u: Array) -> Array:
        fall = np.exp(-np.abs(u))
        return np.asarray(fall / (1.0 + fall) ** 2)

    @property
    def steepest_curvature(self) -> float:
        return 0.25


@dataclass(frozen=True, eq=False)
class Huber(_Supervised):
    """Huber loss of a linear prediction: quadratic for small errors, linear for large errors.

    Parameters
    ----------
    z : array_like
        Features: shape (d,), or (T, d) for a sequence.
    y : float or array_like
        Target, one per loss.
    threshold : float, default 1.0
        Absolute error > 0 from which the loss grows linearly.

    Notes
    -----
    With e = <z, x> - y, ``l(x) = e^2/2 if |e| <= threshold``, and ``threshold |e| - threshold^2/2`` otherwise.

    Examples
    --------
    >>> float(Huber([1.0], 0.0).value([3.0]))
    2.5
    """

    threshold: float = 1.0
    kernel: ClassVar[str] = "huber"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", validation.positive(self.threshold, "threshold"))

    @property
    def parameter(self) -> float:
        """Parameter of the compiled loss: the threshold."""
        return self.threshold

    def phi(self, u: Array) -> Array:
        error, slope = u - self.y, self.slope(u)
        return np.asarray(slope * error - 0.5 * slope**2)

    def slope(self, u: Array) -> Array:
        return np.asarray(np.clip(u - self.y, -self.threshold, self.threshold))

    def bend(self, u: Array) -> Array:
        return np.where(np.abs(u - self.y) <= self.threshold, 1.0, 0.0)

    @property
    def steepest_curvature(self) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class SmoothedHinge(_Labelled):
    """Hinge loss of a linear classifier, smoothed around its kink.

    Parameters
    ----------
    z : array_like
        Features: shape (d,), or (T, d) for a sequence.
    y : int or array_like
        Label in {-1, 1} or {0, 1}, one per loss.
    width : float, default 1.0
        Width > 0 of the quadratic part.

    Notes
    -----
    With m = y <z, x>: l(x) = 0 for m >= 1, (1-m)^2/(2 width) for 1 - width < m < 1, and 1 - m - width/2 below.

    Examples
    --------
    >>> [float(SmoothedHinge([1.0], 1).value([m])) for m in (1.0, 0.5, 0.0, -1.0)]
    [0.0, 0.125, 0.5, 1.5]
    """

    width: float = 1.0
    kernel: ClassVar[str] = "hinge"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", validation.positive(self.width, "width"))

    @property
    def parameter(self) -> float:
        """Parameter of the compiled loss: the width."""
        return self.width

    def phi(self, u: Array) -> Array:
        short = np.maximum(1.0 - self.y * u, 0.0)
        inner = np.minimum(short, self.width)
        return np.asarray(inner**2 / (2.0 * self.width) + (short - inner))

    def slope(self, u: Array) -> Array:
        return np.asarray(-self.y * np.clip((1.0 - self.y * u) / self.width, 0.0, 1.0))

    def bend(self, u: Array) -> Array:
        short = 1.0 - self.y * u
        return np.where((short >= 0.0) & (short <= self.width), 1.0 / self.width, 0.0)

    @property
    def steepest_curvature(self) -> float:
        return 1.0 / self.width


POINTS = 513
ASSUMED_CONVEX = (
    "assumed, not verified: phi is convex and phi' is its derivative also between the "
    f"{POINTS} margins that were checked"
)


def assuming_convex(bound: Bound, own: bool) -> Bound:
    """Return the bound with the condition that user-defined losses are convex, if `own` is true."""
    return replace(bound, condition=ASSUMED_CONVEX) if own else bound


#: Tolerance for rounding errors of slopes, relative to the largest slope.
SLACK = 1e-9


def check_user_defined(loss: Loss, domain: Domain) -> None:
    """Raise ValueError if phi is not convex on the margins of the domain, or if `derivative` is not its derivative.

    >>> from hannan.mathematics.convex.domains import Ball
    >>> check_user_defined(RankOne([1.0], lambda u: -(u**2), lambda u: -2.0 * u), Ball(1))
    Traceback (most recent call last):
    ValueError: phi must be convex, so phi' must not decrease; got phi'(-1) = 2 and phi'(-0.996094) = 1.99219
    """
    if not isinstance(loss, RankOne):
        return
    low, high = loss.margins(domain)
    first, last = float(np.min(low)), float(np.max(high))
    if not first < last:
        return
    u = np.linspace(first, last, POINTS)
    phi, slope = _values(loss.phi(u), "phi", u), _values(loss.slope(u), "phi'", u)
    gap = np.diff(u)
    rounding = 64 * np.finfo(float).eps * (np.abs(phi).max() / gap.min() + np.abs(slope).max())
    slack = SLACK * np.abs(slope).max() + rounding
    falls = slope[:-1] - slope[1:]
    if (falls > slack).any():
        before, after = _slopes(u, slope, int(np.argmax(falls > slack)))
        raise ValueError(f"phi must be convex, so phi' must not decrease; got {before} and {after}")
    chord = np.diff(phi) / gap
    off = np.maximum(slope[:-1] - chord, chord - slope[1:])
    if (off > slack).any():
        k = int(np.argmax(off > slack))
        before, after = _slopes(u, slope, k)
        raise ValueError(
            "derivative must be phi': between two margins, the slope of the chord of phi must lie between the "
            f"derivatives; got {chord[k]:g}, {before} and {after}"
        )
    if loss.curvature is not None and (-falls > loss.curvature * gap * (1.0 + SLACK) + rounding).any():
        found = float(np.max(-falls / gap))
        raise ValueError(f"phi'' must be at most curvature = {loss.curvature:g}; got {found:g}, by differences of phi'")


def _values(values: Array, name: str, u: Array) -> Array:
    if values.shape != u.shape:
        raise ValueError(f"{name} must return an array of the shape of its argument, {u.shape}; got {values.shape}")
    if not np.isfinite(values).all():
        k = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"{name} must be finite on the domain; got {values[k]} at margin {u[k]:g}")
    return values


def _slopes(u: Array, slope: Array, k: int) -> tuple[str, str]:
    """Return phi' at two adjacent margins, as text."""
    before, after = (f"phi'({u[i]:g}) = {slope[i]:g}" for i in (k, k + 1))
    return before, after


def steepest_at(loss: Loss, x: Array) -> float:
    """Return ||grad l(x)|| of a user-defined loss; 0 for a built-in loss, whose largest slope is known."""
    return float(np.linalg.norm(loss.gradient(x))) if isinstance(loss, RankOne) else 0.0


def check_at(loss: Loss, x: Array, lipschitz: float | None, loss_bound: float | None) -> None:
    """Raise ValueError if a user-defined loss violates its stated limits at a move, between the margins of the grid."""
    if not isinstance(loss, RankOne):
        return
    steepest, value = steepest_at(loss, x), float(loss.value(x))
    if lipschitz is not None and steepest > lipschitz * (1.0 + SLACK):
        raise ValueError(
            f"gradients of the losses must be at most lipschitz = {lipschitz:g}; got {steepest:g} at one of the moves"
        )
    if loss_bound is not None and not -SLACK * loss_bound <= value <= loss_bound * (1.0 + SLACK):
        raise ValueError(f"the loss of a move must be in [0, loss_bound = {loss_bound:g}]; got {value:g}")
