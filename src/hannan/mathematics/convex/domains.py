"""Convex domains in closed form: balls, boxes and the simplex."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hannan import validation
from hannan.validation import Array

TOLERANCE = 1e-9


def norms(z: Array) -> Array:
    """Return ||z|| along the last axis, in one pass."""
    return np.asarray(np.sqrt(np.einsum("...i,...i->...", z, z)))


@dataclass(frozen=True)
class Domain:
    """Convex domain: a closed, bounded, non-empty convex set X of R^d from which learners choose points.

    The domains are `Ball`, `Box`, `Simplex` and `Polytope`.

    Examples
    --------
    >>> import hannan as hn
    >>> box = hn.Box([0.0, 0.0], [2.0, 1.0])
    >>> box.contains([1.0, 0.5]), box.project([3.0, -1.0]).tolist()
    (True, [2.0, 0.0])
    """

    #: Name of the compiled argmin of this domain; "other" if there is none, and games are then played in Python.
    kernel: ClassVar[str] = "other"

    @property
    def d(self) -> int:
        """Dimension of the space."""
        raise NotImplementedError

    @property
    def center(self) -> Array:
        """Center of an enclosing ball. Default: the center of the smallest enclosing box."""
        low, high = self.box
        return low + 0.5 * (high - low)

    @property
    def radius(self) -> float:
        """Radius of the enclosing ball, which is the smallest one except for a polytope."""
        low, high = self.box
        return 0.5 * float(np.linalg.norm(high - low))

    @property
    def mean_width(self) -> float:
        """Mean width, E[max_X <u,x> - min_X <u,x>] for u uniform on the unit sphere; for a polytope an upper bound."""
        raise NotImplementedError

    @property
    def box(self) -> tuple[Array, Array]:
        """Smallest enclosing box, as (low, high)."""
        unit = np.eye(self.d)
        return -self.support(-unit), self.support(unit)

    def project(self, x: Any) -> Array:
        """Return the projection of x on the domain, argmin_{p in X} ||p - x||.

        Parameters
        ----------
        x : array_like of shape (d,)
            Point of R^d.
        """
        raise NotImplementedError

    def argmin(self, loss: Any) -> Array:
        """Return a minimizer of a linear loss, argmin_{x in X} <loss, x>.

        Parameters
        ----------
        loss : array_like of shape (d,)
            Coefficients of a linear loss.
        """
        raise NotImplementedError

    def support(self, z: Any) -> Any:
        """Return the support function max_{x in X} <z, x>, along the last axis.

        Parameters
        ----------
        z : array_like of shape (..., d)
            Directions.
        """
        raise NotImplementedError

    def extent(self, z: Array) -> tuple[Array, Array]:
        """Return (min, max) of <z, x> over the domain, along the last axis of a validated array.

        Parameters
        ----------
        z : numpy.ndarray of shape (..., d)
            Directions.

        Returns
        -------
        tuple of numpy.ndarray
            The smallest and the largest value per direction.
        """
        return np.asarray(-self.support(-z)), np.asarray(self.support(z))

    def contains(self, x: Any) -> bool:
        """Return True if x is in the domain, within 1e-9 of its radius.

        Parameters
        ----------
        x : array_like of shape (d,)
            Point.

        Returns
        -------
        bool
            True if the point is in the domain.
        """
        x = self.point(x)
        return float(np.linalg.norm(self.project(x) - x)) <= TOLERANCE * max(self.radius, TOLERANCE)

    def point(self, x: Any, name: str = "x") -> Array:
        """Return a vector of R^d, or an array of such rows, after validation of its dimension.

        Parameters
        ----------
        x : array_like of shape (..., d)
            Point, or one point per row.
        name : str, default "x"
            Name of the parameter in error messages.

        Returns
        -------
        numpy.ndarray
            The validated vector or rows.
        """
        array = validation.losses(x, name)
        if array.shape[-1] != self.d:
            raise ValueError(f"{name} must have {self.d} coordinates, like the domain; got {array.shape[-1]}")
        return array


def mean_coordinate(d: int) -> float:
    """Return E|u_1| for u uniform on the unit sphere: Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2))."""
    return min(1.0, math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi))


def numbers(values: Any, name: str, length: int | None = None) -> tuple[float, ...]:
    """Return a vector as a tuple, which a frozen description can contain."""
    array = validation.losses(values, name)
    if array.ndim != 1 or (length is not None and len(array) != length):
        wanted = "a vector" if length is None else f"a vector of {length} numbers"
        raise ValueError(f"{name} must be {wanted}; got shape {array.shape}")
    return tuple(map(float, array))


@dataclass(frozen=True)
class Ball(Domain):
    """Euclidean ball, {x : ||x - center|| <= radius}.

    Parameters
    ----------
    dimension : int
        Dimension, d.
    radius : float, default 1.0
        Radius > 0.
    middle : sequence of float, optional
        Center. Default: the origin.

    Notes
    -----
    The mean width is 2 radius.

    Examples
    --------
    >>> Ball(2, 3.0).argmin([0.0, 2.0]) + 0.0
    array([ 0., -3.])
    """

    dimension: int
    radius: float = 1.0
    middle: tuple[float, ...] | None = None
    kernel: ClassVar[str] = "ball"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", validation.count(self.dimension, "d"))
        object.__setattr__(self, "radius", validation.positive(self.radius, "radius"))
        if self.middle is not None:
            object.__setattr__(self, "middle", numbers(self.middle, "middle", self.dimension))

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
    """Box: one interval per coordinate, such as prices or loads.

    Parameters
    ----------
    low, high : sequence of float
        Smallest and largest value of each coordinate.

    Notes
    -----
    {x : low <= x <= high}. The mean width is sum_i (high_i - low_i) E|u_1|, for u uniform on the unit sphere.

    Examples
    --------
    >>> Box([0.0, -1.0], [1.0, 1.0]).argmin([2.0, -3.0])
    array([0., 1.])
    """

    low: Any
    high: Any
    kernel: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        low = numbers(self.low, "low")
        high = numbers(self.high, "high", len(low))
        for i, (a, b) in enumerate(zip(low, high, strict=True)):
            if not a <= b:
                raise ValueError(f"low must be at most high; got low={a} and high={b} at index {i}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def d(self) -> int:
        return len(self.low)

    @property
    def box(self) -> tuple[Array, Array]:
        return np.array(self.low), np.array(self.high)

    @property
    def mean_width(self) -> float:
        low, high = self.box
        return float((high - low).sum()) * mean_coordinate(self.d)

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
    """Probability simplex, such as portfolios, mixtures or shares of a budget.

    Parameters
    ----------
    dimension : int
        Number of coordinates, d.

    Notes
    -----
    {x >= 0 : sum_i x_i = 1}, in a ball of radius sqrt(1 - 1/d) around the uniform distribution.

    Examples
    --------
    >>> Simplex(3).project([1.0, 0.5, -2.0])
    array([0.75, 0.25, 0.  ])
    """

    dimension: int
    kernel: ClassVar[str] = "simplex"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", validation.count(self.dimension, "d"))

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
        """Mean width, 2 E max_i g_i / chi_d for Gaussian g: ||g|| and g/||g|| are independent."""
        from hannan.mathematics.convex.noise import GaussianNoise
        from hannan.mathematics.laws.light import Gaussian

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
