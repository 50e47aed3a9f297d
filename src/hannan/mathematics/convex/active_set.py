"""Newton steps within a polytope, and the residual of its optimality conditions.

    step = argmin_p <g, p> + p'Hp/2   subject to   A(x + p) <= b,   H positive definite, x in the polytope

by a primal active set: walk to the minimum on the constraints that are held, stop at the first one that
would be crossed and hold it, let go of one whose multiplier is negative. A walk never leaves the polytope by
more than rounding, however small the ridge in H: a step that is a little outside would be certified wrongly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hannan.mathematics.convex.gradient_steps import NotConverged
from hannan.refusals import Array

#: How near a constraint must be to count as met, as a share of 1 + |b|: rounding, and no more.
MET = 1e-13


def newton(
    A: Array,
    b: Array,
    slope: Callable[[Array], Array],
    hessian: Callable[[Array], Array],
    tolerance: float,
    x: Array,
) -> tuple[Array, float]:
    """(argmin of a strongly convex function over the polytope, its residual): steps as long as it falls."""
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
            # The slope along the step grows, so the function falls by at least -share (half + end)/2.
            half = float(slope(x + 0.5 * share * step) @ step)
            if half + end <= rounding - 0.1 * fall:
                break
            share, end = 0.5 * share, half
        x = x + share * step
    raise NotConverged(f"the solver must converge to make a move; its residual is {left:.3g}")


def model_step(A: Array, b: Array, x: Array, g: Array, H: Array) -> Array:
    """The step to the minimum of the quadratic model over the polytope.

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
        # What is below rounding is along the constraint; to hold it would make the held rows dependent.
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
        # The most negative first; where that turns in circles, the first by number never does (Bland).
        held.pop(int(np.argmin(multipliers)) if k < limit else min(np.flatnonzero(negative), key=lambda i: held[i]))
    return p


def _walk(rows: Array, slope: Array, H: Array) -> Array:
    """argmin_s <slope, s> + s'Hs/2 on the constraints that are held, rows s = 0."""
    m, d = rows.shape
    if m == 0:
        return np.asarray(-np.linalg.solve(H, slope))
    free = np.linalg.qr(rows.T, mode="complete")[0][:, m:]
    if m >= d or not free.size:
        return np.zeros(d)
    return np.asarray(-free @ np.linalg.solve(free.T @ H @ free, free.T @ slope))


def cone_residual(A: Array, b: Array, x: Array, g: Array) -> float:
    """min ||g + A'w|| over w >= 0 on the constraints that are met at x: 0 at the minimum."""
    from scipy.optimize import nnls

    met = A @ x >= b - MET * (1.0 + np.abs(b))
    if not met.any():
        return float(np.linalg.norm(g))
    rows = A[met][nnls(A[met].T, -g)[0] > 0.0]
    # The weights once more, by orthogonal factors: the last digits of the residual are at stake.
    weights = np.maximum(np.linalg.lstsq(rows.T, -g, rcond=None)[0], 0.0) if len(rows) else np.zeros(0)
    return float(np.linalg.norm(g + rows.T @ weights))
