"""Polytopes: convex sets known by their inequalities, by linear programs."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan import refusals
from hannan.mathematics.convex.domain import Domain, mean_coordinate, numbers
from hannan.refusals import Array


@dataclass(frozen=True)
class Polytope(Domain):
    """A set of linear inequalities: budgets, flows and whatever else a linear program allows.

    {x : A x <= b}, by linear programs (HiGHS); refused if empty or unbounded.

    Its enclosing ball and its mean width are those of the smallest box around it.

    `A`: one row per constraint. `b`: its right sides.

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
        object.__setattr__(self, "b", numbers(self.b, "b", len(rows)))
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
    def mean_width(self) -> float:
        low, high = self.box
        return min(2.0 * self.radius, float((high - low).sum()) * mean_coordinate(self.d))

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
