"""Polytopes: convex domains given by linear inequalities, solved by linear programs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan import validation
from hannan.mathematics.convex.domains import Domain, mean_coordinate, numbers
from hannan.validation import Array


@dataclass(frozen=True)
class Polytope(Domain):
    """Polytope {x : A x <= b}, such as budgets or flows.

    Parameters
    ----------
    A : array_like
        Matrix with one row per constraint.
    b : array_like
        Right-hand sides, one per constraint.

    Raises
    ------
    ValueError
        If the polytope is empty or unbounded.

    Notes
    -----
    Linear losses are minimized by linear programs (HiGHS). The enclosing ball and the mean width are those of the
    smallest enclosing box.

    Examples
    --------
    >>> Polytope([[1, 1], [-1, 0], [0, -1]], [1, 0, 0]).argmin([-1.0, -2.0])
    array([0., 1.])
    """

    A: Any
    b: Any

    def __post_init__(self) -> None:
        rows = validation.losses(self.A, "A")
        if rows.ndim != 2:
            raise ValueError(f"A must be a matrix; got shape {rows.shape}")
        object.__setattr__(self, "A", tuple(tuple(map(float, row)) for row in rows))
        object.__setattr__(self, "b", numbers(self.b, "b", len(rows)))
        _ = self.box  # Raises if the set is empty or unbounded.

    @property
    def d(self) -> int:
        return len(self.A[0])

    @functools.cached_property
    def rows(self) -> tuple[Array, Array]:
        """Return A and b as arrays."""
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
        """Return the projection: least distance programming of p - x by non-negative least squares.

        Parameters
        ----------
        x : array_like of shape (d,)
            Point of R^d.

        Returns
        -------
        numpy.ndarray of shape (d,)
            The closest point of the polytope.
        """
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
        """Return (min, argmin) of <loss, x> over the polytope."""
        from scipy.optimize import linprog

        A, b = self.rows
        answer = linprog(loss, A_ub=A, b_ub=b, bounds=(None, None), method="highs")
        if answer.status == 2:
            raise ValueError("the polytope must not be empty; got A and b without a solution of A x <= b")
        if answer.status == 3:
            raise ValueError(f"the polytope must be bounded; got A x <= b unbounded in direction {(-loss).tolist()}")
        if answer.status != 0:
            raise ValueError(f"the linear program was not solved; the solver reports: {answer.message}")
        return float(answer.fun), np.asarray(answer.x) + 0.0


def least_distance(G: Array, h: Array) -> Array:
    """Return argmin ||u|| subject to G u >= h, by non-negative least squares (Lawson and Hanson, chapter 23).

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


LIMIT = 200_000


class NotConverged(ArithmeticError):
    """Raised if the solver did not reach the argmin; no move was made."""


def descend(
    slope: Callable[[Array], Array],
    project: Callable[[Array], Array],
    ridge: float,
    tolerance: float,
    start: Array,
) -> tuple[Array, float]:
    """Return (x, residual <= tolerance) for a strongly convex F, by Nesterov's steps x+ = P(y - grad F(y)/L).

    The residual of x+ is ||grad F(x+) - grad F(y) + L(y - x+)||, because y - grad F(y)/L - x+ is normal to the set at
    x+. So the distance of x+ from the argmin is at most residual/ridge.
    """
    x, L, left = project(start), ridge, np.inf
    y = x
    for _ in range(LIMIT):
        g = slope(y)
        while True:
            after = project(y - g / L)
            bent = slope(after) - g
            # L is large enough if the gradient changes by at most L times the step.
            if np.linalg.norm(bent) <= L * np.linalg.norm(after - y) or L > 1e300:
                break
            L *= 2.0
        left = float(np.linalg.norm(bent + L * (y - after)))
        if left <= tolerance:
            return after, left
        ratio = math.sqrt(ridge / L)
        onward = after + (1.0 - ratio) / (1.0 + ratio) * (after - x)
        # Reset the momentum if it points uphill. It may leave the set, where F is defined as well.
        x, y = after, after if float((y - after) @ (after - x)) > 0.0 else onward
    raise NotConverged(f"the solver did not converge; its residual is {left:.3g}")


#: Tolerance for active constraints, relative to 1 + |b|, for rounding errors.
MET = 1e-13


def newton(
    A: Array,
    b: Array,
    slope: Callable[[Array], Array],
    hessian: Callable[[Array], Array],
    tolerance: float,
    x: Array,
) -> tuple[Array, float]:
    """Return (argmin, residual) of a strongly convex function over a polytope, by damped Newton steps."""
    left = np.inf
    for _ in range(200):
        g = slope(x)
        left = cone_residual(A, b, x, g)
        if left <= tolerance:
            return x, left
        step = model_step(A, b, x, g, hessian(x))
        fall = -float(g @ step)
        rounding = 1e-14 * float(np.linalg.norm(g) * (np.linalg.norm(x) + np.linalg.norm(step)))
        share, end = 1.0, float(slope(x + step) @ step)
        while share > 1e-12 and end > 0.0:
            # The slope increases along the step, so the decrease is at least -share (half + end)/2.
            half = float(slope(x + 0.5 * share * step) @ step)
            if half + end <= rounding - 0.1 * fall:
                break
            share, end = 0.5 * share, half
        x = x + share * step
    raise NotConverged(f"the solver did not converge; its residual is {left:.3g}")


def model_step(A: Array, b: Array, x: Array, g: Array, H: Array) -> Array:
    """Return the step to the minimum of the quadratic model over the polytope.

    >>> A, b = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.ones(4)
    >>> model_step(A, b, np.zeros(2), np.array([-9.0, 0.5]), np.eye(2)) + 0.0
    array([ 1. , -0.5])
    """
    held: list[int] = []
    p, limit = np.zeros(len(x)), 10 * (len(A) + len(x))
    for k in range(3 * limit):
        slope = g + H @ p
        walk = _walk(A[held], slope, H)
        away = A @ walk
        away[held] = 0.0
        # Components below the rounding error are along an active constraint; adding them would make the active rows
        # dependent.
        ahead = away > 1e-14 * np.abs(A) @ np.abs(walk)
        room = np.maximum(b - A @ (x + p), 0.0)
        reach = np.full(len(A), np.inf)
        reach[ahead] = room[ahead] / away[ahead]
        first = int(np.argmin(reach))
        if reach[first] < 1.0:
            p = p + reach[first] * walk
            held.append(first)
            continue
        p = p + walk
        if not held:
            return p
        multipliers = np.linalg.lstsq(A[held].T, -(g + H @ p), rcond=None)[0]
        negative = multipliers < -1e-13 * (1.0 + float(np.abs(g).max()))
        if not negative.any():
            return p
        # Remove the most negative multiplier first; if this cycles, remove the first one by number, which never cycles
        # (Bland's rule).
        held.pop(int(np.argmin(multipliers)) if k < limit else min(np.flatnonzero(negative), key=lambda i: held[i]))
    return p


def _walk(rows: Array, slope: Array, H: Array) -> Array:
    """Return argmin_s <slope, s> + s'Hs/2 on the active constraints, rows s = 0."""
    m, d = rows.shape
    if m == 0:
        return np.asarray(-np.linalg.solve(H, slope))
    free = np.linalg.qr(rows.T, mode="complete")[0][:, m:]
    if m >= d or not free.size:
        return np.zeros(d)
    return np.asarray(-free @ np.linalg.solve(free.T @ H @ free, free.T @ slope))


def cone_residual(A: Array, b: Array, x: Array, g: Array) -> float:
    """Return min ||g + A'w|| over w >= 0 on the active constraints at x, which is 0 at the minimum."""
    from scipy.optimize import nnls

    met = A @ x >= b - MET * (1.0 + np.abs(b))
    if not met.any():
        return float(np.linalg.norm(g))
    rows = A[met][nnls(A[met].T, -g)[0] > 0.0]
    # Compute the weights again by an orthogonal factorization, because the last digits of the residual matter.
    weights = np.maximum(np.linalg.lstsq(rows.T, -g, rcond=None)[0], 0.0) if len(rows) else np.zeros(0)
    return float(np.linalg.norm(g + rows.T @ weights))
