"""Many series: each combined separately, on all cores."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.games.driver import Progress
from hannan.learners.adahedge import Rule
from hannan.tables.combine.long_table import LongTable, Whole
from hannan.tables.combine.losses import ASLEEP, PointLoss, refusal
from hannan.tables.combine.quantiles import QuantileLoss
from hannan.tables.combine.rules import grid_levels, mix_rule
from hannan.tables.read.table import BadTable
from hannan.validation import Array

#: Number of totals per series: settled rows, losses of the combination and of the mean, bounds of the upper layer over
#: B, B with forgetting, AdaHedge and the mean, Delta, P.
TOTALS = 9
#: Smallest number of parts of a table, and seconds between updates of the progress bar.
PARTS, REFRESH = 64, 0.2


@dataclass(frozen=True)
class Played:
    """Answers in the order of `LongTable`, and per series the last weights, sums and bounds."""

    mixed: Array = field(hash=False)
    weights: Array = field(hash=False)
    settled: Whole = field(hash=False)
    mixture: Array = field(hash=False)
    mean: Array = field(hash=False)
    losses: Array = field(hash=False)
    beside: Array = field(hash=False)
    bounds: Array | None = field(hash=False)
    to_mean: Array | None = field(hash=False)
    withheld: str = ""
    #: Weights per level, (series, levels, models), if they are separate.
    by_level: Array | None = field(default=None, hash=False)


@dataclass(frozen=True)
class Member:
    """A further member of the upper layer: forecasts (rows, levels) of earlier data, and last weights of the columns.

    Weights have shape (1, columns), or (levels, columns) if the levels have separate weights.
    """

    forecasts: Array = field(hash=False)
    weights: Array = field(hash=False)

    def at(self, q: int) -> Member:
        """Return the member of one level."""
        return Member(np.ascontiguousarray(self.forecasts[:, q : q + 1]), self.weights[q : q + 1])


class Work:
    """Rows combined so far, over all passes through a table, and the bar that shows them."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress, self._done = progress, 0

    def add(self, rows: int) -> None:
        """Count rows that have been combined; 0 only refreshes the bar."""
        self._done += rows
        if self._progress is not None:
            self._progress.update(self._done)


def each_series(
    table: LongTable, loss: PointLoss, rule: Rule, prior: Array | None, work: Work, member: Member | None = None
) -> Played:
    """Combine every series separately; `prior` has shape (1 or series, models)."""
    if isinstance(loss, QuantileLoss) and loss.apart:
        return _per_level(table, loss, rule, prior, work, member)
    n, series, rows = len(table.experts), table.series, len(table.order)
    out: dict[str, Array] = {name: np.zeros((series, n)) for name in ("weights", "losses", "beside", "awake", "bounds")}
    totals, levels = np.zeros((series, TOTALS)), grid_levels(loss)
    mixed = np.empty(rows if levels is None else (rows, len(levels)))
    outside = (None, None) if member is None else (member.forecasts, member.weights[0])
    given = _engine.PanelTable(table.forecasts, table.targets, table.known, table.starts, prior, *outside)
    results = _engine.PanelResults(mixed=mixed.reshape(-1), totals=totals, **out)
    cores = os.cpu_count() or 1
    cuts = np.unique(np.linspace(0, series, min(series, max(4 * cores, PARTS)) + 1).astype(int)).tolist()

    def part(first: int, last: int) -> tuple[int, Any, int]:
        told = _engine.panel(mix_rule(rule, loss), given, results, first, last)
        return int(told[0]), told[1], int(told[2])

    sizes = np.diff(table.starts[cuts]).tolist()
    with ThreadPoolExecutor(cores) as pool:
        parts = [pool.submit(part, *ends) for ends in itertools.pairwise(cuts)]
        rows_of, waiting = dict(zip(parts, sizes, strict=True)), set(parts)
        try:
            while waiting:
                done, waiting = wait(waiting, REFRESH, FIRST_COMPLETED)
                work.add(sum(rows_of[one] for one in done))
        finally:  # interrupted: parts that have not begun are not computed
            pool.shutdown(wait=False, cancel_futures=True)
    found = [one.result() for one in parts]
    for row, trouble, column in found:
        if row >= 0:
            raise refused(table, loss, rule, row, trouble, column)
    bounds, to_mean, withheld = _promised(out["bounds"], totals, rule.name, loss.convex)
    return Played(
        mixed=mixed, weights=out["weights"], settled=totals[:, 0].astype(np.int64), mixture=totals[:, 1],
        mean=totals[:, 2], losses=out["losses"], beside=out["beside"], bounds=bounds, to_mean=to_mean,
        withheld=withheld,
    )  # fmt: skip


def _promised(parts: Array, totals: Array, name: str, convex: bool) -> tuple[Array | None, Array | None, str]:
    if not convex:
        return None, None, "a capped loss is not convex"
    if name == "two-layers":
        own = totals[:, 5] + 2.0 * totals[:, 7]
        return np.minimum(totals[:, 3:4] + parts, own[:, None]), totals[:, 6], ""
    if name == "b":
        return parts, None, "rule B has bounds over columns and fixed weights only"
    return None, None, f"no bound is proved for the rule {name}"


def _per_level(
    table: LongTable, loss: QuantileLoss, rule: Rule, prior: Array | None, work: Work, member: Member | None
) -> Played:
    """Combine each level separately and sort the answers; sums and bounds are means over the levels."""
    n, parts = len(table.experts), []
    for q, part in enumerate(loss.parts()):
        columns = np.ascontiguousarray(table.forecasts[:, q * n : (q + 1) * n])
        own = None if member is None else member.at(q)
        parts.append(each_series(replace(table, forecasts=columns), part, rule, prior, work, own))
    mixed: Array = np.sort(np.column_stack([part.mixed for part in parts]), axis=1)
    cost, awake = costs_of(table, loss, mixed)

    def mean(name: str) -> Any:
        each = [getattr(part, name) for part in parts]
        return None if each[0] is None else np.mean(each, axis=0)

    by_level: Array = np.stack([part.weights for part in parts], axis=1)
    return Played(
        mixed=mixed, weights=mean("weights"), settled=parts[0].settled, mixture=by_series(table, cost),
        mean=mean("mean"), losses=mean("losses"), beside=by_series(table, np.where(awake, cost[:, None], 0.0)),
        bounds=mean("bounds"), to_mean=mean("to_mean"), withheld=parts[0].withheld, by_level=by_level,
    )  # fmt: skip


def costs_of(table: LongTable, loss: PointLoss, mixed: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return (loss of each answer, 0 without a target; forecasts available in rows with a target)."""
    known = ~np.isnan(table.targets)
    with np.errstate(over="ignore", invalid="ignore"):  # rows without a target are not checked
        cost = np.where(known, loss.value(mixed, np.where(known, table.targets, 0.5)), 0.0)
    return cost, ~np.isnan(table.forecasts[:, : len(table.experts)]) & known[:, None]


def by_series(table: LongTable, values: Array) -> Array:
    """Return sums over the rows of each series."""
    told: Array = np.add.reduceat(values, table.starts[:-1], axis=0)
    return told


def refused(table: LongTable, loss: PointLoss, rule: Rule, row: int, trouble: Any, column: int) -> BadTable:
    """Return the error of a row."""
    place, f = table.place(row), table.forecasts[row]
    if trouble == _engine.Trouble.asleep:
        return BadTable(f"the table, {place}: {ASLEEP}")
    why = refusal(trouble, column, table.experts, loss, rule.loss_range, row=f, target=float(table.targets[row]))
    return BadTable(f"the table, {place}{why}")
