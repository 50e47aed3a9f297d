"""Rank-one convex losses, l(x) = phi(<z, x>): a leading axis of z makes a sequence of them.

    Linear          phi(u) = u                      Huber           u - y, quadratic up to `threshold`
    Squared         phi(u) = (u - y)^2/2            SmoothedHinge   1 - y u, smoothed over `width` below 1
    Logistic        phi(u) = log(1 + e^(-y u))      RankOne         your own phi, with its derivative

On a domain X the margin u = <z, x> fills an interval, and phi' is largest at its ends. So the Lipschitz
constant of a loss, its least and its largest value on X are computed exactly from z, not assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from hannan import refusals
from hannan.mathematics.convex.domains import Domain, norms
from hannan.mathematics.convex.noise import Shape
from hannan.refusals import Array

Phi = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Loss:
    """l_t(x) = phi_t(<z_t, x>): one loss if z is a vector, a sequence if z is a matrix."""

    z: Any
    #: The name of the compiled phi that serves it.
    kernel: ClassVar[str]
    shape: ClassVar[Shape] = "rank-one"

    def __post_init__(self) -> None:
        z = refusals.losses(self.z, "z")
        if z.ndim > 2:
            raise ValueError(f"z must be a vector, or a matrix with a loss a row; got shape {z.shape}")
        object.__setattr__(self, "z", z)

    @property
    def d(self) -> int:
        """The dimension of the points it is a loss of."""
        return int(self.z.shape[-1])

    @property
    def is_sequence(self) -> bool:
        """Whether it is a sequence of losses, or one."""
        return bool(self.z.ndim == 2)

    def __len__(self) -> int:
        if not self.is_sequence:
            raise TypeError("one loss has no length; a sequence of losses has")
        return len(self.z)

    def __getitem__(self, item: int | slice) -> Self:
        if not self.is_sequence:
            raise TypeError("one loss has no items; a sequence of losses has")
        rows = {f.name: getattr(self, f.name)[item] for f in fields(self) if f.name in ("z", "y")}
        return replace(self, **rows)

    def __iter__(self) -> Iterator[Self]:
        return (self[t] for t in range(len(self)))

    def value(self, x: Any) -> Any:
        """phi(<z, x>), of each loss of a sequence."""
        return self.phi(self._margin(x))

    def gradient(self, x: Any) -> Array:
        """phi'(<z, x>) z, of each loss of a sequence."""
        return np.asarray(self.slope(self._margin(x))[..., None] * self.z)

    def _margin(self, x: Any) -> Array:
        x = refusals.losses(x, "x")
        if x.shape != (self.d,):
            raise ValueError(f"x must be a vector of {self.d} numbers, as z is; got shape {x.shape}")
        return np.asarray(self.z @ x)

    def phi(self, u: Array) -> Array:
        """phi at margins, one a loss."""
        raise NotImplementedError

    def slope(self, u: Array) -> Array:
        """phi' at margins, one a loss."""
        raise NotImplementedError

    def bend(self, u: Array) -> Array:
        """phi'' at margins, one a loss."""
        raise NotImplementedError

    @property
    def steepest_curvature(self) -> float:
        """sup phi''."""
        raise NotImplementedError

    @property
    def smooth(self) -> Any:
        """lambda_max of the Hessian, sup phi'' ||z||^2, of each loss."""
        return self.steepest_curvature * (self.z**2).sum(axis=-1)

    def margins(self, domain: Domain) -> tuple[Array, Array]:
        """The least and the largest <z, x> over the domain."""
        self._match(domain)
        return domain.extent(self.z)

    def _match(self, domain: Domain) -> None:
        if domain.d != self.d:
            raise ValueError(f"z must have the domain's {domain.d} coordinates; got {self.d}")

    def lipschitz(self, domain: Domain) -> Any:
        """sup_X |phi'(<z, x>)| ||z||, of each loss.

        >>> from hannan.mathematics.convex.domains import Ball
        >>> round(float(Logistic([3.0, 4.0], 1).lipschitz(Ball(2, 10.0))), 6)
        5.0
        """
        low, high = self.margins(domain)
        steepest = np.maximum(np.abs(self.slope(low)), np.abs(self.slope(high)))
        return steepest * norms(self.z)

    def lowest(self, low: Array, high: Array) -> Array:
        """Where phi is least between two margins; phi is convex, so a bisection on phi' finds it."""
        for _ in range(60):
            middle = 0.5 * (low + high)
            falling = self.slope(middle) < 0.0
            low, high = np.where(falling, middle, low), np.where(falling, high, middle)
        return np.asarray(0.5 * (low + high))

    def interval(self, domain: Domain) -> tuple[Array, Array]:
        """(min_X l, max_X l) of each loss."""
        low, high = self.margins(domain)
        ends = self.phi(low), self.phi(high)
        return np.minimum(np.minimum(*ends), self.phi(self.lowest(low, high))), np.maximum(*ends)


@dataclass(frozen=True, eq=False)
class Linear(Loss):
    """l(x) = <z, x>.

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
        """||z||, of each loss."""
        self._match(domain)
        return norms(self.z)

    @property
    def steepest_curvature(self) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class _Supervised(Loss):
    """A loss of a prediction <z, x> against a target or label y."""

    y: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        y = np.asarray(refusals.unmasked(self.y, "y"))
        if y.shape != self.z.shape[:-1]:
            raise ValueError(f"y must have one number a row of z, shape {self.z.shape[:-1]}; got shape {y.shape}")
        object.__setattr__(self, "y", self._targets(y))

    def lowest(self, low: Array, high: Array) -> Array:
        return np.asarray(np.clip(self.y, low, high))

    def _targets(self, y: Any) -> Array:
        return np.asarray(refusals.losses(np.atleast_1d(y), "y").reshape(y.shape))


@dataclass(frozen=True, eq=False)
class _Labelled(_Supervised):
    """y in {-1, 1}, or in {0, 1} where 0 stands for -1: phi depends on y u."""

    shape: ClassVar[Shape] = "one-signed"

    def lowest(self, low: Array, high: Array) -> Array:
        return np.where(self.y > 0.0, high, low)

    def _targets(self, y: Any) -> Array:
        y = super()._targets(y.astype(np.float64) if y.dtype == bool else y)
        if not (np.isin(y, (0.0, 1.0)).all() or np.isin(y, (-1.0, 1.0)).all()):
            wrong = np.setdiff1d(y, (0.0, 1.0) if 0.0 in y else (-1.0, 1.0))
            raise ValueError(f"labels must be in {{-1, 1}} or in {{0, 1}}; got {float(wrong[0])}")
        return np.where(y == 0.0, -1.0, y)


@dataclass(frozen=True, eq=False)
class Squared(_Supervised):
    """l(x) = (<z, x> - y)^2/2.

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
    """l(x) = log(1 + e^(-y <z, x>)), y in {-1, 1} or {0, 1}.

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
    """l(x) = e^2/2 for |e| <= threshold, threshold |e| - threshold^2/2 beyond, e = <z, x> - y.

    >>> float(Huber([1.0], 0.0).value([3.0]))
    2.5
    """

    threshold: float = 1.0
    kernel: ClassVar[str] = "huber"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", refusals.positive(self.threshold, "threshold"))

    @property
    def parameter(self) -> float:
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
    """l(x) = 0 for m >= 1, (1-m)^2/(2 width) for 1 - width < m < 1, 1 - m - width/2 below, m = y <z, x>.

    >>> [float(SmoothedHinge([1.0], 1).value([m])) for m in (1.0, 0.5, 0.0, -1.0)]
    [0.0, 0.125, 0.5, 1.5]
    """

    width: float = 1.0
    kernel: ClassVar[str] = "hinge"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", refusals.positive(self.width, "width"))

    @property
    def parameter(self) -> float:
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


@dataclass(frozen=True, eq=False)
class RankOne(Loss):
    """l(x) = phi(<z, x>) for your own convex phi and its derivative, both of arrays of margins.

    `second` is phi'' where you have it; else it is taken by differences of phi', which sets the solver's
    speed and nothing else. `curvature` bounds phi'', where a privacy statement needs it.

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
