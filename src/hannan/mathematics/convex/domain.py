"""What a convex set to play in is: one with its enclosing ball, mean width, projection and linear argmin.

The range of a perturbed leader on X is E sup_{x in X} <b, x>; for spherically symmetric b that is
E||b|| * (mean width)/2, never more than E||b|| * (radius of an enclosing ball).
"""

from __future__ import annotations

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
    """A convex set to play in: what `Convex` and the gradient learners choose points of.

    A closed, bounded, non-empty convex set X of R^d: `Ball`, `Box`, `Simplex` or `Polytope`.

    `d` is its dimension, `center` and `radius` are those of a ball around it, `mean_width` what noise costs in it.

    >>> import hannan as hn
    >>> box = hn.Box([0.0, 0.0], [2.0, 1.0])
    >>> box.contains([1.0, 0.5]), box.project([3.0, -1.0]).tolist()
    (True, [2.0, 0.0])
    """

    #: The name of the compiled argmin that serves it; "other" is none, and then it is played by stepping.
    kernel: ClassVar[str] = "other"

    @property
    def d(self) -> int:
        """The dimension of the space."""
        raise NotImplementedError

    @property
    def center(self) -> Array:
        """The centre of the enclosing ball: that of the smallest box, unless a set knows better."""
        low, high = self.box
        return low + 0.5 * (high - low)

    @property
    def radius(self) -> float:
        """The radius of an enclosing ball; the smallest, except for a polytope."""
        low, high = self.box
        return 0.5 * float(np.linalg.norm(high - low))

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


def mean_coordinate(d: int) -> float:
    """E|u_1| on the unit sphere: Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2))."""
    return min(1.0, math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi))


def numbers(values: Any, name: str, length: int | None = None) -> tuple[float, ...]:
    """A vector as a tuple, which a frozen description can hold."""
    array = refusals.losses(values, name)
    if array.ndim != 1 or (length is not None and len(array) != length):
        wanted = "a vector" if length is None else f"a vector of {length} numbers"
        raise ValueError(f"{name} must be {wanted}; got shape {array.shape}")
    return tuple(map(float, array))
