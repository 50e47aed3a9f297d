"""Comparisons in hindsight: best fixed weights, min over the simplex of sum_t loss(<q, f_t>, y_t), and intervals for
the improvement over the average and over the best model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.saving.formatting import counted, percent
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.rules import grid_levels
from hannan.tables.write import release
from hannan.validation import Array

#: Largest number of passes over the rows, and of cells visited.
PASSES = 400
CELLS = 2.0e9
TOLERANCE = 1e-5
BLOCK = 1 << 16


#: Confidence of the interval for an improvement, and numbers of blocks of consecutive rows.
CONFIDENCE, PIECES = 0.95, (4, 8, 16)
#: Smallest number of rows for an interval, and of independent rows that vary as much: with few rows, and from MANY on.
ROWS_NEEDED, INDEPENDENT, FEWER, MANY = 20, 10, 4, 100
#: Smaller percentages are rounding errors.
NOTHING = 1e-6
#: Numbers of blocks whose correlation with the next block is measured; more rows than MOST are added up first.
CORRELATED, MOST = (64, 32), 1 << 16

# Fixed sentence of results; it is covered by tests/tables/test_combine_results.py.
#: Method and scope of the intervals for an improvement.
ONE_LOOK = (
    "95% intervals for one look at the result, from the variation between blocks of consecutive rows and the "
    "correlation of neighbors; the best model is chosen in hindsight, which favors it"
)


@dataclass(frozen=True)
class Improvement:
    """Percentage by which a loss is smaller than another one, with an interval, or the reason why it is too early."""

    percent: float
    low: float | None = None
    high: float | None = None
    early: str = ""
    why: str = ""

    def sentence(self, whom: str) -> str:
        """Return the comparison with `whom` as text.

        >>> Improvement(2.06, 1.0, 3.1).sentence("the average"), Improvement(-0.5, -2.0, 1.0).sentence("ets")
        ('2.1% better than the average (1.0% to 3.1%)', 'no clear difference from ets (-2.0% to 1.0%)')
        >>> Improvement(5.0, early="after 4 rows", why="at least 20 are needed").sentence("ets")
        'too early to compare with ets after 4 rows: at least 20 are needed'
        """
        if self.low is None or self.high is None:
            return f"too early to compare with {whom} {self.early}: {self.why}"
        if max(abs(self.low), abs(self.high)) < NOTHING:
            return f"the same loss as {whom}"
        if self.low <= 0.0 <= self.high:
            return f"no clear difference from {whom} ({percent(self.low)} to {percent(self.high)})"
        if self.low > 0.0:
            return f"{percent(self.percent)} better than {whom} ({percent(self.low)} to {percent(self.high)})"
        return f"{percent(-self.percent)} worse than {whom} ({percent(-self.high)} to {percent(-self.low)})"

    def as_dict(self) -> dict[str, Any]:
        """Return the improvement for JSON."""
        return {
            "percent": self.percent,
            "low": self.low,
            "high": self.high,
            "too_early": f"{self.early}: {self.why}" if self.early else None,
        }


def verdict(each: Sequence[tuple[str, Improvement | None]]) -> str:
    """Return the comparisons with (whom, improvement) in one sentence; empty if there is none.

    >>> verdict([(whom, Improvement(1.0, early="after 1 row", why="at least 20 are needed")) for whom in ("ets", "a")])
    'too early to say after 1 row: at least 20 are needed'
    """
    found = [one for _, one in each if one is not None]
    if found and all(one.early for one in found):
        return f"too early to say {found[0].early}: {found[0].why}"
    return "; ".join(one.sentence(whom) for whom, one in each if one is not None)


def improvement(own: Array, other: Array, what: str = "row") -> Improvement | None:
    """Return by how much the sum of `own` is smaller than that of `other`, over rows in the order of time.

    The interval is for the logarithm of the ratio of the sums, and is the widest of several: t intervals over 4, 8 and
    16 blocks of consecutive rows, and t intervals that widen the one for independent rows (or blocks) by the
    correlation of neighbors. There is none with less than 20 rows, or if that correlation leaves less than 10
    independent rows (4 from 100 rows on). None: one of the sums is 0, with 20 rows or more. `what` names a row.

    >>> rng = np.random.default_rng(0)
    >>> other = rng.exponential(size=400)
    >>> found = improvement(other * rng.uniform(0.6, 1.0, size=400), other)
    >>> found.low < found.percent < found.high, improvement(other[:4], other[:4] + 1.0).early
    (True, 'after 4 rows')
    """
    a, b, rows = float(own.sum()), float(other.sum()), len(own)
    percent = 100.0 * (1.0 - a / b) if b > 0.0 else 0.0 if a == b else -math.inf
    if 0 < rows < ROWS_NEEDED and math.isfinite(a) and math.isfinite(b):
        return Improvement(percent, early=f"after {counted(rows, what)}", why=f"at least {ROWS_NEEDED} are needed")
    if not (a > 0.0 and b > 0.0 and math.isfinite(a) and math.isfinite(b)):
        return None
    change = own / a - other / b
    half, independent = _reach(change)
    needed = INDEPENDENT if rows < MANY else FEWER
    if independent < needed:
        return Improvement(
            percent, early=f"after {counted(rows, what)}", why=f"their losses depend on each other, and vary like "
            f"those of {independent:.0f} independent ones; at least {needed} are needed",
        )  # fmt: skip
    return Improvement(percent, 100.0 * (1.0 - a / b * math.exp(half)), 100.0 * (1.0 - a / b * math.exp(-half)))


def _reach(change: Array) -> tuple[float, float]:
    """Return (half of the width of the interval, number of independent rows whose mean varies as much)."""
    from scipy.special import stdtrit

    rows, half, least = len(change), 0.0, float(len(change))
    tail = 0.5 + CONFIDENCE / 2.0
    for count in PIECES:
        if rows >= 2 * count:
            parts = _blocks(change, count)[0]
            deviation = math.sqrt(count / (count - 1) * float(parts @ parts))
            half = max(half, float(stdtrit(count - 1, tail)) * deviation)
    for count in sorted({min(rows, most) for most in (rows, *CORRELATED)}):
        sums, sizes = _blocks(change, count)
        means = sums / sizes
        power = float(means @ means)
        if power > 0.0:
            near = float(means[1:] @ means[:-1]) / power
            near = min(near + (1.0 + 3.0 * max(near, 0.0)) / count, 0.999)  # approximate bias of the estimate
            independent = count * (1.0 - near) / (1.0 + near)
            least = min(least, independent)
            deviation = rows * math.sqrt(power / count / independent)
            half = max(half, float(stdtrit(max(1.0, independent - 1.0), tail)) * deviation)
    return half, least


def _blocks(change: Array, count: int) -> tuple[Array, Array]:
    """Return (deviation of the sum of each block of consecutive rows from its share of the total, sizes)."""
    cuts = np.linspace(0, len(change), count + 1).astype(np.int64)
    sizes = np.diff(cuts)
    return np.add.reduceat(change, cuts[:-1]) - sizes * change.mean(), sizes


class Compared:
    """Losses of the combination, the average and the best model over rows in order, added up if there are many."""

    def __init__(self, rows: int) -> None:
        self._each = max(1, -(-rows // MOST))
        self._done, self._sums = 0, np.zeros((5, -(-rows // self._each)))

    def add(self, own: Array, mean: Array, best: Array) -> None:
        """Add losses of rows; `best` is NaN in rows without a forecast of the model."""
        at = (self._done + np.arange(len(own))) // self._each
        there = ~np.isnan(best)
        for k, loss in enumerate((own, mean, np.where(there, own, 0.0), np.where(there, best, 0.0), there)):
            self._sums[k] += np.bincount(at, loss, self._sums.shape[1])
        self._done += len(own)

    def found(self) -> tuple[Improvement | None, Improvement | None]:
        """Return the improvements over the average and over the best model."""
        own, mean, beside, best, rows = self._sums
        return improvement(own, mean), improvement(beside[rows > 0.0], best[rows > 0.0])


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

    The method uses cutting planes: f(q) >= f(q_k) + <g_k, q - q_k> for every visited point q_k, so the minimum of their
    maximum, a linear program, is a lower bound on the optimum, and the best visited point gives an upper bound. The
    next point is half way between the two, which avoids oscillations. The search stops at a relative gap of 1e-5, or
    after a number of passes; the result is a value that is attained and a proved lower bound.

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
    #: Improvements over the average and over the best model.
    improvements: tuple[Improvement | None, Improvement | None] = (None, None)


def row_costs(loss: PointLoss, forecasts: Array, targets: Array, model: int | None = None) -> tuple[Array, Array]:
    """Return (losses of the average of the available forecasts, losses of a model or of all models).

    All rows have a target; a loss is NaN if the forecast is missing.
    """
    columns = loss.columns(np.asarray(forecasts))
    there = ~np.isnan(columns)
    count = np.maximum(there.sum(axis=1), 1)
    mean = np.where(there, columns, 0.0).sum(axis=1) / count
    one = columns if model is None else columns[:, model : model + 1]
    known = ~np.isnan(one if one.ndim == 2 else one[:, :, 0])
    with np.errstate(over="ignore", invalid="ignore"):
        each = np.where(known, loss.value(np.where(np.isnan(one), 0.5, one), targets[:, None]), np.nan)
        return np.asarray(loss.value(mean, targets), dtype=np.float64), each


def hindsight(
    loss: PointLoss, forecasts: Array, targets: Array, answers: tuple[Any, Array] | None = None, best: int = 0
) -> Hindsight:
    """Return the losses in hindsight; rows without a target are ignored.

    `answers` are the numbers of the answered rows, counted from 1, and their answers, which are compared with the
    average and with model `best`.
    """
    from hannan import _engine

    oracle, costs = best_combination(loss, forecasts, targets), []
    fixed = list(oracle.experts)
    n = forecasts.shape[1] // loss.depth
    rule = _engine.MixRule(_engine.Mixing.median, loss.price(), -1.7e308, 1.7e308, grid_levels(loss))
    median = _engine.Mixer(rule, n)
    told = Compared(int(np.isfinite(targets).sum()))
    for first in range(0, len(forecasts), BLOCK):
        known = np.isfinite(targets[first : first + BLOCK])
        rows, goals = (
            forecasts[first : first + BLOCK][known],
            np.ascontiguousarray(targets[first : first + BLOCK][known]),
        )
        median.rows(np.ascontiguousarray(rows), goals, np.empty(len(goals) * loss.depth), None)
        if oracle.weights is not None:
            mixed = np.tensordot(loss.columns(rows)[:, fixed], oracle.weights[fixed], axes=(1, 0))
            costs.append(np.asarray(loss.value(mixed, goals), dtype=np.float64))
        if answers is not None:
            low, high = np.searchsorted(answers[0], [first + 1, first + BLOCK + 1])
            at = np.asarray(answers[0][low:high]).astype(np.int64) - 1 - first
            kept = known[at]
            at, own = at[kept], np.asarray(answers[1][low:high])[kept]
            ys = np.asarray(targets[first : first + BLOCK])[at]
            mean, each = row_costs(loss, forecasts[first : first + BLOCK][at], ys, best)
            told.add(np.asarray(loss.value(own, ys), dtype=np.float64), mean, each[:, 0])
        release(forecasts)
    course = np.cumsum(np.concatenate(costs)) if costs else None
    return Hindsight(oracle, float(median.mixture), course, (None, None) if answers is None else told.found())


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
        # Heights and slopes are divided by their magnitude, so that the tolerances of the linear program are
        # appropriate.
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
        # A mixture of planes is below f and is smallest at a vertex: this proof does not depend on tolerances.
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
