"""Each series of a long table combined on its own, on all cores: of point forecasts, or of quantiles."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.games.progress import Progress
from hannan.learners import names
from hannan.learners.forecasts import Rule
from hannan.refusals import Array
from hannan.tables.combine.by_rule import grid_levels
from hannan.tables.combine.long_table import LongTable, Whole
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.quantile_loss import QuantileLoss
from hannan.tables.combine.trouble import ASLEEP, refusal
from hannan.tables.read.table import BadTable

#: The engine's totals: settled rows, losses of the combination and of the mean, the bounds of the layer above to B, to
#: B that forgets, to AdaHedge and to the mean, Delta, P.
TOTALS = 9
#: Parts of a table that are combined at a time, at least, and seconds between two looks at what is done.
PARTS, REFRESH = 64, 0.2


@dataclass(frozen=True)
class Played:
    """Answers in the order of `LongTable`, and of each series weights at the end, sums and what is promised."""

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
    #: (series, levels, models): the weights of each level, where levels have their own.
    by_level: Array | None = field(default=None, hash=False)


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
    table: LongTable, loss: PointLoss, rule: Rule, prior: Array | None, threads: int | None, work: Work | None = None
) -> Played:
    """Every series on its own; `prior` (1 or series, models)."""
    work = work or Work()
    if isinstance(loss, QuantileLoss) and loss.apart:
        return _per_level(table, loss, rule, prior, threads, work)
    n, series, rows = len(table.experts), table.series, len(table.order)
    out: dict[str, Array] = {name: np.zeros((series, n)) for name in ("weights", "losses", "beside", "awake", "bounds")}
    totals, levels = np.zeros((series, TOTALS)), grid_levels(loss)
    mixed = np.empty(rows if levels is None else (rows, len(levels)))
    kind = getattr(_engine.Mixing, names.FORECASTS[rule.name])
    cores = threads or os.cpu_count() or 1
    cuts = np.unique(np.linspace(0, series, min(series, max(4 * cores, PARTS)) + 1).astype(int)).tolist()

    def part(first: int, last: int) -> tuple[int, Any, int]:
        told = _engine.panel(
            kind, loss.price(), *rule.loss_range, prior, levels, table.forecasts, table.targets, table.known,
            table.starts, mixed.reshape(-1), None, out["weights"], out["losses"], out["beside"], out["awake"],
            out["bounds"], totals, first, last,
        )  # fmt: skip
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
        mixed, out["weights"], totals[:, 0].astype(np.int64), totals[:, 1], totals[:, 2], out["losses"], out["beside"],
        bounds, to_mean, withheld,
    )  # fmt: skip


def _promised(parts: Array, totals: Array, name: str, convex: bool) -> tuple[Array | None, Array | None, str]:
    if not convex:
        return None, None, "a capped loss is not convex"
    if name == "two-layers":
        own = totals[:, 5] + 2.0 * totals[:, 7]
        return np.minimum(totals[:, 3:4] + parts, own[:, None]), totals[:, 6], ""
    if name == "b":
        return parts, None, "rule B alone has a bound to columns and their combinations"
    return None, None, f"no bound is proved here for {name} in whatever units the losses are"


def _per_level(
    table: LongTable, loss: QuantileLoss, rule: Rule, prior: Array | None, threads: int | None, work: Work
) -> Played:
    """A rule a level, answers sorted: sums and bounds are means over the levels, but losses are of sorted answers."""
    n, parts = len(table.experts), []
    for q, part in enumerate(loss.parts()):
        columns = np.ascontiguousarray(table.forecasts[:, q * n : (q + 1) * n])
        parts.append(each_series(replace(table, forecasts=columns), part, rule, prior, threads, work))
    mixed: Array = np.sort(np.column_stack([part.mixed for part in parts]), axis=1)
    cost, awake = costs_of(table, loss, mixed)

    def mean(name: str) -> Any:
        each = [getattr(part, name) for part in parts]
        return None if each[0] is None else np.mean(each, axis=0)

    by_level: Array = np.stack([part.weights for part in parts], axis=1)
    return Played(
        mixed, mean("weights"), parts[0].settled, by_series(table, cost), mean("mean"), mean("losses"),
        by_series(table, np.where(awake, cost[:, None], 0.0)), mean("bounds"), mean("to_mean"), parts[0].withheld,
        by_level,
    )  # fmt: skip


def costs_of(table: LongTable, loss: PointLoss, mixed: Array) -> tuple[Array, NDArray[np.bool_]]:
    """What each answer lost, 0 where there is no target; and who was awake in the rows that have one."""
    known = ~np.isnan(table.targets)
    with np.errstate(over="ignore", invalid="ignore"):  # a row without a target may be as large as it likes
        cost = np.where(known, loss.value(mixed, np.where(known, table.targets, 0.5)), 0.0)
    return cost, ~np.isnan(table.forecasts[:, : len(table.experts)]) & known[:, None]


def by_series(table: LongTable, values: Array) -> Array:
    """Sums over the rows of each series."""
    told: Array = np.add.reduceat(values, table.starts[:-1], axis=0)
    return told


def refused(table: LongTable, loss: PointLoss, rule: Rule, row: int, trouble: Any, column: int) -> BadTable:
    """What to say of a row in trouble."""
    place, f = table.place(row), table.forecasts[row]
    if trouble == _engine.Trouble.asleep:
        return BadTable(f"the table, {place}: {ASLEEP}")
    holder: Any = type("Holder", (), {"rule": rule})
    return BadTable(
        f"the table, {place}{refusal(trouble, column, table.experts, loss, holder, f, float(table.targets[row]))}"
    )
