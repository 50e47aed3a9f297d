"""Convex sets to play in: each with its enclosing ball, mean width, projection and linear argmin.

The range of a perturbed leader on X is E sup_{x in X} <b, x>; for spherically symmetric b that is
E||b|| * (mean width)/2, never more than E||b|| * (radius of an enclosing ball).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.refusals import Array

TOLERANCE = 1e-9


def norms(z: Array) -> Array:
    """||z|| along the last axis, in one pass."""
    return np.asarray(np.sqrt(np.einsum("...i,...i->...", z, z)))


@dataclass(frozen=True)
class Domain:
    """A closed, bounded, non-empty convex set X of R^d."""

    #: The name of the compiled argmin that serves it; "other" is none, and then it is played by stepping.
    kernel: ClassVar[str] = "other"

    @property
    def d(self) -> int:
        """The dimension of the space."""
        raise NotImplementedError

    @property
    def center(self) -> Array:
        """The centre of the enclosing ball."""
        raise NotImplementedError

    @property
    def radius(self) -> float:
        """The radius of an enclosing ball; the smallest, except for a polytope."""
        raise NotImplementedError

    @property
    def mean_width(self) -> float:
        """E[max_X <u,x> - min_X <u,x>], u uniform on the unit sphere; an upper bound for a polytope."""
        raise NotImplementedError

    @property
    def box(self) -> tuple[Array, Array]:
        """The smallest box around X."""
        unit = np.eye(self.d)
        return -self.support(-unit), self.support(unit)

    def project(self, x: Any) -> Array:
        """argmin_{p in X} ||p - x||."""
        raise NotImplementedError

    def argmin(self, loss: Any) -> Array:
        """argmin_{x in X} <loss, x>."""
        raise NotImplementedError

    def support(self, z: Any) -> Any:
        """max_{x in X} <z, x>, along the last axis."""
        raise NotImplementedError

    def extent(self, z: Array) -> tuple[Array, Array]:
        """(min, max) of <z, x> over X, along the last axis of an array that is known to be good."""
        return np.asarray(-self.support(-z)), np.asarray(self.support(z))

    def contains(self, x: Any) -> bool:
        """Whether x is in X, within 1e-9 of its radius."""
        x = self.point(x)
        return float(np.linalg.norm(self.project(x) - x)) <= TOLERANCE * max(self.radius, TOLERANCE)

    def point(self, x: Any, name: str = "x") -> Array:
        """A vector of R^d, or rows of them, refused if of another dimension."""
        array = refusals.losses(x, name)
        if array.shape[-1] != self.d:
            raise ValueError(f"{name} must have {self.d} coordinates, as the domain has; got {array.shape[-1]}")
        return array


@dataclass(frozen=True)
class Ball(Domain):
    """{x : ||x - center|| <= radius}; its mean width is 2 radius.

    >>> Ball(2, 3.0).argmin([0.0, 2.0]) + 0.0
    array([ 0., -3.])
    """

    dimension: int
    radius: float = 1.0
    middle: tuple[float, ...] | None = None
    kernel: ClassVar[str] = "ball"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", refusals.count(self.dimension, "d"))
        object.__setattr__(self, "radius", refusals.positive(self.radius, "radius"))
        if self.middle is not None:
            object.__setattr__(self, "middle", _numbers(self.middle, "middle", self.dimension))

    @property
    def d(self) -> int:
        return self.dimension

    @property
    def center(self) -> Array:
        return np.zeros(self.d) if self.middle is None else np.array(self.middle)

    @property
    def mean_width(self) -> float:
        return 2.0 * self.radius

    def project(self, x: Any) -> Array:
        offset = self.point(x) - self.center
        norm = np.linalg.norm(offset, axis=-1, keepdims=True)
        return np.asarray(self.center + offset * np.minimum(1.0, self.radius / np.maximum(norm, 1e-300)))

    def argmin(self, loss: Any) -> Array:
        loss = self.point(loss, "loss")
        norm = np.linalg.norm(loss, axis=-1, keepdims=True)
        return np.asarray(self.center - self.radius * loss / np.where(norm > 0.0, norm, 1.0))

    def support(self, z: Any) -> Any:
        z = self.point(z, "z")
        return z @ self.center + self.radius * norms(z)

    def extent(self, z: Array) -> tuple[Array, Array]:
        middle, half = z @ self.center, self.radius * norms(z)
        return middle - half, middle + half


@dataclass(frozen=True)
class Box(Domain):
    """{x : low <= x <= high}, vectors kept as tuples; half its mean width is sum_i (half side i) E|u_1|.

    >>> Box([0.0, -1.0], [1.0, 1.0]).argmin([2.0, -3.0])
    array([0., 1.])
    """

    low: Any
    high: Any
    kernel: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        low = _numbers(self.low, "low")
        high = _numbers(self.high, "high", len(low))
        for i, (a, b) in enumerate(zip(low, high, strict=True)):
            if not a <= b:
                raise ValueError(f"low must be at most high; got {a} > {b} at index {i}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def d(self) -> int:
        return len(self.low)

    @property
    def box(self) -> tuple[Array, Array]:
        return np.array(self.low), np.array(self.high)

    @property
    def center(self) -> Array:
        low, high = self.box
        return low + 0.5 * (high - low)

    @property
    def radius(self) -> float:
        low, high = self.box
        return 0.5 * float(np.linalg.norm(high - low))

    @property
    def mean_width(self) -> float:
        low, high = self.box
        return float((high - low).sum()) * _mean_coordinate(self.d)

    def project(self, x: Any) -> Array:
        return np.clip(self.point(x), *self.box)

    def argmin(self, loss: Any) -> Array:
        low, high = self.box
        loss = self.point(loss, "loss")
        return np.where(loss > 0.0, low, np.where(loss < 0.0, high, self.center))

    def support(self, z: Any) -> Any:
        low, high = self.box
        z = self.point(z, "z")
        return np.maximum(z * low, z * high).sum(axis=-1)


@dataclass(frozen=True)
class Simplex(Domain):
    """{x >= 0 : sum_i x_i = 1}, in a ball of radius sqrt(1 - 1/d) around its centre.

    >>> Simplex(3).project([1.0, 0.5, -2.0])
    array([0.75, 0.25, 0.  ])
    """

    dimension: int
    kernel: ClassVar[str] = "simplex"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", refusals.count(self.dimension, "d"))

    @property
    def d(self) -> int:
        return self.dimension

    @property
    def center(self) -> Array:
        return np.full(self.d, 1.0 / self.d)

    @property
    def radius(self) -> float:
        return math.sqrt(1.0 - 1.0 / self.d)

    @property
    def mean_width(self) -> float:
        """2 E max_i g_i / chi_d, g Gaussian: ||g|| and g/||g|| are independent."""
        from hannan.mathematics.convex.noise import GaussianNoise
        from hannan.mathematics.laws.table import Gaussian

        if self.d == 1:
            return 0.0
        return 2.0 * float(Gaussian().expected_max(self.d)) / GaussianNoise().mean_norm(self.d)

    def project(self, x: Any) -> Array:
        x = self.point(x)
        falling = -np.sort(-x, axis=-1)
        excess = (np.cumsum(falling, axis=-1) - 1.0) / np.arange(1, self.d + 1)
        last = (falling > excess).sum(axis=-1, keepdims=True) - 1
        return np.asarray(np.maximum(x - np.take_along_axis(excess, last, axis=-1), 0.0))

    def argmin(self, loss: Any) -> Array:
        vertex = self.point(loss, "loss").argmin(axis=-1)
        return np.asarray(np.arange(self.d) == np.expand_dims(vertex, -1), dtype=np.float64)

    def support(self, z: Any) -> Any:
        return np.max(self.point(z, "z"), axis=-1)


@dataclass(frozen=True)
class Polytope(Domain):
    """{x : A x <= b}, by linear programs (HiGHS); refused if empty or unbounded.

    Its enclosing ball and its mean width are those of the smallest box around it.

    >>> Polytope([[1, 1], [-1, 0], [0, -1]], [1, 0, 0]).argmin([-1.0, -2.0])
    array([0., 1.])
    """

    A: Any
    b: Any

    def __post_init__(self) -> None:
        rows = refusals.losses(self.A, "A")
        if rows.ndim != 2:
            raise ValueError(f"A must be a matrix; got shape {rows.shape}")
        object.__setattr__(self, "A", tuple(tuple(map(float, row)) for row in rows))
        object.__setattr__(self, "b", _numbers(self.b, "b", len(rows)))
        _ = self.box  # an empty or unbounded set is refused here

    @property
    def d(self) -> int:
        return len(self.A[0])

    @functools.cached_property
    def rows(self) -> tuple[Array, Array]:
        """A and b as arrays."""
        return np.array(self.A), np.array(self.b)

    @functools.cached_property
    def box(self) -> tuple[Array, Array]:
        unit = np.eye(self.d)
        return (
            np.array([self._program(e)[0] for e in unit]),
            np.array([-self._program(-e)[0] for e in unit]),
        )

    @property
    def center(self) -> Array:
        low, high = self.box
        return low + 0.5 * (high - low)

    @property
    def radius(self) -> float:
        low, high = self.box
        return 0.5 * float(np.linalg.norm(high - low))

    @property
    def mean_width(self) -> float:
        low, high = self.box
        return min(2.0 * self.radius, float((high - low).sum()) * _mean_coordinate(self.d))

    def project(self, x: Any) -> Array:
        """Least distance programming: u = p - x with -A u >= A x - b, by non-negative least squares."""
        x = self.point(x)
        if x.ndim > 1:
            return np.array([self.project(row) for row in x])
        A, b = self.rows
        nearest: Array = x + least_distance(-A, A @ x - b)
        return nearest

    def argmin(self, loss: Any) -> Array:
        loss = self.point(loss, "loss")
        rows = [self._program(row)[1] for row in np.atleast_2d(loss)]
        return np.array(rows).reshape(loss.shape)

    def support(self, z: Any) -> Any:
        z = self.point(z, "z")
        return -self._program(-z)[0] if z.ndim == 1 else np.array([self.support(row) for row in z])

    def _program(self, loss: Array) -> tuple[float, Array]:
        """(min, argmin) of <loss, x> over the polytope."""
        from scipy.optimize import linprog

        A, b = self.rows
        answer = linprog(loss, A_ub=A, b_ub=b, bounds=(None, None), method="highs")
        if answer.status == 2:
            raise ValueError("a polytope must not be empty; got A x <= b without a solution")
        if answer.status == 3:
            raise ValueError(f"a polytope must be bounded; got one without an end along {(-loss).tolist()}")
        if answer.status != 0:
            raise ValueError(f"the linear program must be solved; got {answer.message}")
        return float(answer.fun), np.asarray(answer.x) + 0.0


def least_distance(G: Array, h: Array) -> Array:
    """argmin ||u|| subject to G u >= h, by non-negative least squares (Lawson and Hanson, chapter 23).

    >>> least_distance(np.array([[1.0, 1.0]]), np.array([2.0])).round(12)
    array([1., 1.])
    """
    from scipy.optimize import nnls

    size = max(1.0, float(np.abs(h).max()))
    stacked = np.vstack([G.T, h / size])
    target = np.zeros(len(stacked))
    target[-1] = 1.0
    weights, _ = nnls(stacked, target)
    residual = stacked @ weights - target
    return np.asarray(-size * residual[:-1] / residual[-1])


def _mean_coordinate(d: int) -> float:
    """E|u_1| on the unit sphere: Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2))."""
    return min(1.0, math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi))


def _numbers(values: Any, name: str, length: int | None = None) -> tuple[float, ...]:
    array = refusals.losses(values, name)
    if array.ndim != 1 or (length is not None and len(array) != length):
        wanted = "a vector" if length is None else f"a vector of {length} numbers"
        raise ValueError(f"{name} must be {wanted}; got shape {array.shape}")
    return tuple(map(float, array))
