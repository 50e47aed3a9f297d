"""The losses that have a name: linear, and those of a prediction against a target or a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.mathematics.convex.domain import Domain, norms
from hannan.mathematics.convex.loss import Loss
from hannan.mathematics.convex.noise import Shape
from hannan.refusals import Array


@dataclass(frozen=True, eq=False)
class Linear(Loss):
    """A linear loss: what a direction costs, of any sign.

    l(x) = <z, x>.

    `z`: the costs of the coordinates, (d,), or (T, d) for a sequence.

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
    """Squared error of a linear prediction.

    l(x) = (<z, x> - y)^2/2.

    `z`: the features. `y`: the target.

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
    """Logistic loss of a linear classifier.

    l(x) = log(1 + e^(-y <z, x>)), y in {-1, 1} or {0, 1}.

    `z`: the features. `y`: the label.

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
    """Huber's loss of a linear prediction: squares for small errors, sizes for large ones.

    l(x) = e^2/2 for |e| <= threshold, threshold |e| - threshold^2/2 beyond, e = <z, x> - y.

    `z`: the features. `y`: the target. `threshold`: the error from which it grows linearly, above 0.

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
    """The hinge loss of a linear classifier with its corner rounded.

    l(x) = 0 for m >= 1, (1-m)^2/(2 width) for 1 - width < m < 1, 1 - m - width/2 below, m = y <z, x>.

    `z`: the features. `y`: the label, in {-1, 1} or {0, 1}. `width`: of the rounded part, above 0.

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
