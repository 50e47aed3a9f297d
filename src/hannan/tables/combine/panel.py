"""Many series at once: each combined on its own, on all cores, or all rows pooled in the order of time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan import _engine
from hannan.learners import names
from hannan.learners.forecasts import Rule
from hannan.refusals import Array
from hannan.tables.combine.long_table import LongTable, Whole
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.mixers import ByRule
from hannan.tables.combine.trouble import refusal
from hannan.tables.read.table import BadTable

#: The engine's totals: settled rows, losses of the combination and of the mean, the bounds of the layer above to B, to
#: B that forgets, to AdaHedge and to the mean, Delta, P.
TOTALS = 9


@dataclass(frozen=True)
class PanelSums:
    """What became of a long table: a forecast for each row, in its order, and of each series weights and sums.

    `bounds` (series, experts) bound loss - loss of a column, `to_mean` loss - loss of the mean; None: withheld.
    """

    table: LongTable = field(repr=False)
    loss: PointLoss
    learner: str
    forecast: Array = field(hash=False, repr=False)
    weights: Array = field(hash=False, repr=False)
    settled: Whole = field(hash=False, repr=False)
    mixture: Array = field(hash=False, repr=False)
    mean: Array = field(hash=False, repr=False)
    median: Array = field(hash=False, repr=False)
    losses: Array = field(hash=False, repr=False)
    beside: Array = field(hash=False, repr=False)
    bounds: Array | None = field(hash=False, repr=False)
    to_mean: Array | None = field(hash=False, repr=False)
    withheld: str = ""
    pooled: bool = False
    #: The columns of the table that tell a row: series and times.
    labels: dict[str, Any] = field(default_factory=dict, hash=False, repr=False)

    @property
    def experts(self) -> tuple[str, ...]:
        """The columns of forecasts."""
        return self.table.experts


def combine_long(
    table: LongTable, loss: PointLoss, rule: Any, prior: Array | None = None, pooled: bool = False,
    labels: dict[str, Any] | None = None, threads: int | None = None,
) -> PanelSums:  # fmt: skip
    """Combine every series of a long table."""
    if not isinstance(rule, Rule):
        raise ValueError(
            f"many series are combined by a rule, by its name ({', '.join(names.FORECASTS)}); got {rule!r}"
        )
    refuse = next(
        (t for t in np.flatnonzero(~np.isnan(table.targets)) if loss.refuse_target(float(table.targets[t]))), None
    )
    if refuse is not None:
        y = float(table.targets[refuse])
        raise BadTable(f"the table, {table.place(int(refuse))}: {loss.refuse_target(y)}; got {y:g}")
    played = _pooled if pooled else _each
    kept = played(table, loss, rule, prior, threads)
    medians = _each(table, loss, Rule("median", rule.loss_range), None, threads)
    forecast = np.empty(len(table.order))
    forecast[table.order] = kept["mixed"]
    bounds, to_mean, withheld = _promised(kept, rule.name, loss.convex)
    return PanelSums(
        table, loss, repr(rule), forecast, kept["weights"], kept["totals"][:, 0].astype(np.int64), kept["totals"][:, 1],
        kept["totals"][:, 2], medians["totals"][:, 1], kept["losses"], kept["beside"], bounds, to_mean, withheld,
        pooled, labels or {},
    )  # fmt: skip


def _promised(kept: dict[str, Array], name: str, convex: bool) -> tuple[Array | None, Array | None, str]:
    totals, parts = kept["totals"], kept["bounds"]
    if not convex:
        return None, None, "a capped loss is not convex"
    if name == "two-layers":
        own = totals[:, 5] + 2.0 * totals[:, 7]
        return np.minimum(totals[:, 3:4] + parts, own[:, None]), totals[:, 6], ""
    if name == "b":
        return parts, None, "rule B alone has a bound to columns and their combinations"
    return None, None, f"no bound is proved here for {name} in whatever units the losses are"


def _each(table: LongTable, loss: PointLoss, rule: Rule, prior: Array | None, threads: int | None) -> dict[str, Array]:
    n, series, rows = len(table.experts), table.series, len(table.order)
    out: dict[str, Array] = {name: np.zeros((series, n)) for name in ("weights", "losses", "beside", "awake", "bounds")}
    out |= {"totals": np.zeros((series, TOTALS)), "mixed": np.empty(rows)}
    kind = getattr(_engine.Mixing, names.FORECASTS[rule.name])
    cores = threads or os.cpu_count() or 1
    cuts = np.unique(np.linspace(0, series, min(series, 4 * cores) + 1).astype(int)).tolist()

    def part(first: int, last: int) -> tuple[int, Any, int]:
        told = _engine.panel(
            kind, loss.price(), *rule.loss_range, prior, table.forecasts, table.targets, table.known, table.starts,
            out["mixed"], None, out["weights"], out["losses"], out["beside"], out["awake"], out["bounds"],
            out["totals"], first, last,
        )  # fmt: skip
        return int(told[0]), told[1], int(told[2])

    if cores == 1 or series == 1:
        found = [part(0, series)]
    else:
        with ThreadPoolExecutor(cores) as pool:
            found = list(pool.map(part, cuts[:-1], cuts[1:]))
    for row, trouble, column in found:
        if row >= 0:
            raise _refused(table, loss, rule, row, trouble, column)
    return out


def _refused(table: LongTable, loss: PointLoss, rule: Rule, row: int, trouble: Any, column: int) -> BadTable:
    place, f = table.place(row), table.forecasts[row]
    if trouble == _engine.Trouble.asleep:
        return BadTable(f"the table, {place}: at least one expert must have a forecast; all are asleep. Remove the row")
    holder: Any = type("Holder", (), {"rule": rule})
    return BadTable(
        f"the table, {place}{refusal(trouble, column, table.experts, loss, holder, f, float(table.targets[row]))}"
    )


def _pooled(
    table: LongTable, loss: PointLoss, rule: Rule, prior: Array | None, threads: int | None
) -> dict[str, Array]:
    """One rule over all rows in the order in which they were issued; rows of one time do not see each other."""
    n, rows = len(table.experts), len(table.order)
    issued, due = pooled_times(table)
    known = ~np.isnan(table.targets)
    answers: Whole = np.arange(rows, dtype=np.int64)
    settles = answers[known]
    # What is due at a time comes before the rows issued at it.
    when = np.concatenate([issued, due[known]])
    kind = np.concatenate([np.ones(rows), np.zeros(len(settles))])
    place = np.lexsort((np.concatenate([table.order, table.order[known]]), kind, when))
    events = np.concatenate([answers, ~settles])[place]
    told = np.concatenate([np.full(rows, np.nan), table.targets[known]])[place]
    mixer, mixed = ByRule(rule, n, loss, prior), np.empty(rows)
    done, trouble, column = mixer.events(table.forecasts, events, told, 0, mixed, None)
    if done < len(events):
        row = int(events[done])
        raise _refused(table, loss, rule, row if row >= 0 else ~row, trouble, column)
    out: dict[str, Array] = {"mixed": mixed, "totals": np.zeros((table.series, TOTALS))}
    p = mixer.weights(np.full(n, 0.5))
    out["weights"] = np.tile(p, (table.series, 1))
    own = np.where(known, loss.value(mixed, np.where(known, table.targets, 0.5)), 0.0)
    awake = ~np.isnan(table.forecasts) & known[:, None]
    cost = np.where(awake, loss.value(np.where(awake, table.forecasts, 0.5), table.targets[:, None]), 0.0)
    means = np.nansum(table.forecasts, axis=1) / np.maximum((~np.isnan(table.forecasts)).sum(axis=1), 1)
    mean = np.where(known, loss.value(means, np.where(known, table.targets, 0.5)), 0.0)

    def sums(values: Array) -> Array:
        total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
        added: Array = total[table.starts[1:]] - total[table.starts[:-1]]
        return added

    out["losses"], out["beside"] = sums(cost), sums(np.where(awake, own[:, None], 0.0))
    out["totals"][:, :3] = np.column_stack([sums(known.astype(np.float64)), sums(own), sums(mean)])
    # One promise for the whole pool: it stands in the first series, so that sums over the series are right.
    out["bounds"] = np.zeros((table.series, n))
    if rule.name in ("two-layers", "b"):
        out["bounds"][0] = mixer.layer("b")["bound"]
    if rule.name == "two-layers":
        out["totals"][0, 3:7] = mixer.layer("top")["bound"]
        out["totals"][0, 7] = mixer.gap
    return out


def pooled_times(table: LongTable) -> tuple[Array, Array]:
    """When each row is issued and its target known, as ranks of time: with a horizon h, h times later."""
    apart = table.known - np.arange(len(table.known))
    if np.array_equal(table.issued, table.due):
        ranks = np.unique(table.issued, return_inverse=True)[1].astype(np.float64)
        return ranks, ranks + apart
    return table.issued, table.due
