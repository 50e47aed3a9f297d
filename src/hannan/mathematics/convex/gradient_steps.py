"""Gradient steps that always arrive: slower than Newton's, with no condition but strong convexity."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hannan.refusals import Array

LIMIT = 200_000


class NotConverged(ArithmeticError):
    """The solver did not reach the argmin; no move was made."""


def descend(
    slope: Callable[[Array], Array],
    project: Callable[[Array], Array],
    ridge: float,
    tolerance: float,
    start: Array,
) -> tuple[Array, float]:
    """(x, residual at most `tolerance`): Nesterov's steps x+ = P(y - grad F(y)/L) for a ridge-convex F.

    The residual of x+ is ||grad F(x+) - grad F(y) + L(y - x+)||: y - grad F(y)/L - x+ is normal to the set at x+.
    So x+ is within residual/ridge of the argmin.
    """
    x, L, left = project(start), ridge, np.inf
    y = x
    for _ in range(LIMIT):
        g = slope(y)
        while True:
            after = project(y - g / L)
            bent = slope(after) - g
            # L is large enough once the gradient turns by no more than L times the step.
            if np.linalg.norm(bent) <= L * np.linalg.norm(after - y) or L > 1e300:
                break
            L *= 2.0
        left = float(np.linalg.norm(bent + L * (y - after)))
        if left <= tolerance:
            return after, left
        ratio = math.sqrt(ridge / L)
        onward = after + (1.0 - ratio) / (1.0 + ratio) * (after - x)
        # Momentum that points uphill is dropped. It may lead out of the set, where F is defined as well.
        x, y = after, after if float((y - after) @ (after - x)) > 0.0 else onward
    raise NotConverged(f"the solver must converge to make a move; its residual is {left:.3g}")
