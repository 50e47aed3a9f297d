"""Convex sets to play in, in closed form: balls, boxes, the simplex."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hannan import refusals
from hannan.mathematics.convex.domain import Domain, mean_coordinate, norms, numbers
from hannan.refusals import Array


@dataclass(frozen=True)
class Ball(Domain):
    """A ball, the set to play in where every direction counts the same.

    {x : ||x - center|| <= radius}; its mean width is 2 radius.

    `dimension`: d. `radius`: above 0. `middle`: its center, the origin if it is left out.

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
    """A box: an interval for each coordinate, such as prices or loads.

    {x : low <= x <= high}, vectors kept as tuples; half its mean width is sum_i (half side i) E|u_1|.

    `low` and `high`: the least and the greatest value of each coordinate.

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
    """The distributions over d things: portfolios, mixtures, shares of a budget.

    {x >= 0 : sum_i x_i = 1}, in a ball of radius sqrt(1 - 1/d) around its centre.

    `dimension`: d, how many things there are.

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
