"""Best fixed weights in hindsight: min over the simplex of sum_t loss(<q, f_t>, y_t)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.rules import grid_levels
from hannan.tables.write import release
from hannan.validation import Array

#: Largest number of passes over the rows, and of cells visited.
PASSES = 400
CELLS = 2.0e9
TOLERANCE = 1e-5
BLOCK = 1 << 16


@dataclass(frozen=True)
class Oracle:
    """Best fixed weights with their loss, and a lower bound `least`; or the reason in `withheld`."""

    loss: float | None = None
    least: float | None = None
    weights: Array | None = field(default=None, hash=False)
    experts: tuple[int, ...] = ()
    withheld: str = ""


def best_combination(loss: PointLoss, forecasts: Array, targets: Array) -> Oracle:
    """Return the best fixed weights of the experts without missing forecasts in rows with a target.

    Cutting planes: f(q) >= f(q_k) + <g_k, q - q_k> for every point q_k visited, so the least of their maximum,
    a linear program, is below the optimum; the best point seen is above it. Points are taken half way between
    the two, which keeps the planes from swinging. The search stops at a
    relative gap of 1e-5, or after a number of passes; the result is a value reached and a proved lower bound.

    >>> table = np.array([[0.0, 2.0], [1.0, 3.0], [0.0, 4.0]])
    >>> from hannan.tables.combine.losses import Squared
    >>> best = best_combination(Squared(), table, np.array([1.0, 2.0, 2.0]))
    >>> round(best.loss, 6), best.weights.round(3).tolist()
    (0.0, [0.5, 0.5])
    """
    if not loss.convex:
        return Oracle(withheld="a capped loss is not convex")
    kept = tuple(i for i in _always_awake(forecasts, targets) if i < forecasts.shape[1] // loss.depth)
    n = len(kept)
    if n == 0:
        return Oracle(withheld="every model has missing forecasts")
    if n > 2000:
        return Oracle(withheld=f"there are {n} models (at most 2000)")
    if not np.isfinite(targets).any():
        return Oracle(withheld="no row has a target")
    evaluate = _Evaluation(loss, forecasts, targets, kept)
    value, least, q = _descend(evaluate, n)
    weights = np.zeros(forecasts.shape[1] // loss.depth)
    weights[list(kept)] = q
    return Oracle(value, min(least, value), weights, kept)


@dataclass(frozen=True)
class Hindsight:
    """Losses in hindsight over the rows with a target: best fixed weights, their cumulative losses, and the median."""

    oracle: Oracle
    median: float
    course: Array | None = field(hash=False)


def hindsight(loss: PointLoss, forecasts: Array, targets: Array) -> Hindsight:
    """Return the losses in hindsight; rows without a target are ignored."""
    from hannan import _engine

    oracle, costs = best_combination(loss, forecasts, targets), []
    kept = list(oracle.experts)
    n = forecasts.shape[1] // loss.depth
    rule = _engine.MixRule(_engine.Mixing.median, loss.price(), -1.7e308, 1.7e308, grid_levels(loss))
    median = _engine.Mixer(rule, n)
    for first in range(0, len(forecasts), BLOCK):
        known = np.isfinite(targets[first : first + BLOCK])
        rows, goals = (
            forecasts[first : first + BLOCK][known],
            np.ascontiguousarray(targets[first : first + BLOCK][known]),
        )
        median.rows(np.ascontiguousarray(rows), goals, np.empty(len(goals) * loss.depth), None)
        if oracle.weights is not None:
            mixed = np.tensordot(loss.columns(rows)[:, kept], oracle.weights[kept], axes=(1, 0))
            costs.append(np.asarray(loss.value(mixed, goals), dtype=np.float64))
        release(forecasts)
    course = np.cumsum(np.concatenate(costs)) if costs else None
    return Hindsight(oracle, float(median.mixture), course)


def _always_awake(forecasts: Array, targets: Array) -> tuple[int, ...]:
    slept = np.zeros(forecasts.shape[1], dtype=bool)
    for first in range(0, len(forecasts), BLOCK):
        known = np.isfinite(targets[first : first + BLOCK])
        slept |= np.isnan(forecasts[first : first + BLOCK][known]).any(axis=0)
        release(forecasts)
    return tuple(int(i) for i in np.flatnonzero(~slept))


class _Evaluation:
    """Evaluation of f(q) and a gradient, one pass over the rows in blocks."""

    def __init__(self, loss: PointLoss, forecasts: Array, targets: Array, kept: tuple[int, ...]) -> None:
        self._loss, self._forecasts, self._targets = loss, forecasts, targets
        n = forecasts.shape[1] // loss.depth
        # Columns of each quantile level; None for all columns.
        whole = len(kept) == n and loss.depth == 1
        self._kept = [None if whole else [q * n + i for i in kept] for q in range(loss.depth)]
        self.passes = max(2, int(min(PASSES, CELLS / max(1, forecasts.size))))

    def __call__(self, q: Array) -> tuple[float, Array]:
        from hannan._engine import oracle_pass

        total, gradient, parts = 0.0, np.zeros(q.size), self._loss.parts()
        for first in range(0, len(self._forecasts), BLOCK):
            rows = self._forecasts[first : first + BLOCK]
            targets = np.ascontiguousarray(self._targets[first : first + BLOCK])
            for part, kept in zip(parts, self._kept, strict=True):
                block = np.ascontiguousarray(rows if kept is None else rows[:, kept])
                value, slope = oracle_pass(part.price(), block, targets, q)
                total += value / len(parts)
                gradient += slope / len(parts)
            release(self._forecasts)
        return total, gradient


def _descend(evaluate: _Evaluation, n: int) -> tuple[float, float, Array]:
    """Return (value reached, proved lower bound, weights)."""
    from scipy.optimize import linprog

    best_q = np.full(n, 1.0 / n)
    best, slope = evaluate(best_q)
    if n == 1:
        return best, best, best_q
    least = -np.inf
    planes, heights = [slope], [best - float(slope @ best_q)]
    for _ in range(evaluate.passes - 1):
        # Heights and slopes are divided by their size, so that the program's tolerances mean something.
        size = max(abs(best), float(np.abs(planes[-1]).max()), 1e-300)
        rows = np.column_stack([np.array(planes) / size, -np.ones(len(planes))])
        solved = linprog(
            np.append(np.zeros(n), 1.0), A_ub=rows, b_ub=-np.array(heights) / size,
            A_eq=np.append(np.ones(n), 0.0)[None, :], b_eq=[1.0], bounds=[(0.0, None)] * n + [(None, None)],
        )  # fmt: skip
        if solved.status != 0:
            break
        target = np.clip(solved.x[:n], 0.0, None)
        target /= target.sum()
        # A mixture of planes lies below f and is smallest at a corner: a proof that does not depend on tolerances.
        mixture = np.clip(-solved.ineqlin.marginals, 0.0, None)
        if mixture.sum() > 0.0:
            mixture /= mixture.sum()
            least = max(least, float(mixture @ heights + (mixture @ np.array(planes)).min()))
        if best - least <= TOLERANCE * abs(best):
            break
        q = 0.5 * (best_q + target)
        value, slope = evaluate(q)
        planes.append(slope)
        heights.append(value - float(slope @ q))
        if value < best:
            best, best_q = value, q
    return best, least, best_q
