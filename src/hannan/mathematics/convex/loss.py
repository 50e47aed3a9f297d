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
from hannan.mathematics.convex.domain import Domain, norms
from hannan.mathematics.convex.noise import Shape
from hannan.refusals import Array

Phi = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Loss:
    """A convex loss of a point, or a sequence of them: what a convex learner is told after it moved.

    l_t(x) = phi_t(<z_t, x>): one loss if z is a vector, a sequence if z is a matrix.

    `z`: the features, (d,) for one loss and (T, d) for a sequence.

    >>> import hannan as hn
    >>> losses = hn.Squared([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
    >>> len(losses), losses[1].value([1.0, 1.0]).item()
    (2, 0.5)
    """

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
        """phi at margins, one per loss."""
        raise NotImplementedError

    def slope(self, u: Array) -> Array:
        """phi' at margins, one per loss."""
        raise NotImplementedError

    def bend(self, u: Array) -> Array:
        """phi'' at margins, one per loss."""
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

        >>> from hannan import Ball, Logistic
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
class RankOne(Loss):
    """A convex loss of your own, given as a function of one number and its derivative.

    l(x) = phi(<z, x>) for your own convex phi and its derivative, both of arrays of margins.

    `second` is phi'' where you have it; else it is taken by differences of phi', which sets the solver's
    speed and nothing else. `curvature` bounds phi'', where a privacy statement needs it.

    `z`: the features. `function` and `derivative`: phi and its derivative, of an array of margins <z, x>.

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
