"""Frames and files of many series: roles of columns, and the resulting panel."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hannan import validation
from hannan.games.driver import Progress
from hannan.learners.adahedge import Rule
from hannan.learners.names import FORECASTS
from hannan.saving.result import Result, Shown, frame_of, library_of
from hannan.tables.combine.coverage_certificate import CoverageCertificate
from hannan.tables.combine.coverage_report import columns_of as named_groups
from hannan.tables.combine.coverage_report import cover_panel, group_columns
from hannan.tables.combine.long_table import LongTable, long_table
from hannan.tables.combine.panel import POOL, SHARE, PanelSums, clip_long, combine_long, quantiled_long
from hannan.tables.combine.panel_summary import PanelSummary, save, weights_long
from hannan.tables.combine.quantiles import Pricing
from hannan.tables.combine.run import Task
from hannan.tables.combine.timing import Timing
from hannan.tables.learner import for_forecasts
from hannan.tables.read.frames import columns_of
from hannan.tables.read.table import BadTable, one_role, shown

#: Columns of series, of times and of issue times in frames of statsforecast, mlforecast and neuralforecast.
SERIES, TIME, ISSUED = "unique_id", "ds", "cutoff"


def usual_roles(
    names: Sequence[str], timing: Timing, taken: Sequence[str], by: tuple[str, ...] | None
) -> tuple[tuple[str, ...] | None, Timing]:
    """Return the columns of series, and the timing, with the usual names of columns that the user did not name.

    A table with `unique_id` and `ds` has many series, unless one of them is `taken` by another role.

    >>> usual_roles(["unique_id", "ds", "cutoff", "y", "ets"], Timing(), ["y"], None)
    (('unique_id',), Timing(time=None, issued=None, horizon=1))
    >>> usual_roles(["ds", "cutoff", "y", "ets"], Timing(), ["y"], None)
    (None, Timing(time='ds', issued='cutoff', horizon=1))
    """
    free = [name for name in names if name not in taken]
    if by is not None or (SERIES in free and TIME in free and timing.time in (None, TIME)):
        return (SERIES,) if by is None else by, timing
    if timing.time is None and timing.issued is None and TIME in free:
        alone = timing.horizon != 1 or ISSUED not in free
        timing = replace(timing, time=TIME, issued=None if alone else ISSUED)
    return None, timing


@dataclass(frozen=True, repr=False)
class Panel(PanelSums, Result):
    """Result of `hn.combine` with `by`: a forecast per row, and weights and losses per series."""

    @cached_property
    def summary(self) -> PanelSummary:
        """Summary over all series."""
        return PanelSummary(self)

    def __str__(self) -> str:
        return str(self.summary)

    __repr__ = __str__

    def shown(self) -> Shown:
        """Return the summary for terminals and notebooks."""
        return self.summary.shown()

    @property
    def interval(self) -> Any:
        """Intervals with the largest requested coverage, (rows, 2), in the order of the table."""
        if self.intervals is None:
            raise ValueError("no coverage was requested; pass coverage= to combine")
        return self.intervals[:, -1]

    @property
    def certificate(self) -> CoverageCertificate:
        """Certificate of the coverage of all series; `coverage.series` has one certificate per series."""
        if self.coverage is None:
            raise ValueError("no coverage was requested; pass coverage= to combine")
        return self.coverage.report.certificate

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a dict for JSON; `to_frame` has the rows."""
        return self.summary.as_dict()

    def prior(self, share: float = SHARE) -> dict[str, float]:
        """Return initial weights for new series (`prior=`): the mean of the last weights, with 1 - share of it even.

        Parameters
        ----------
        share : float
            Share of the learned weights, in [0, 1).

        Returns
        -------
        dict
            Weight per model.
        """
        even = (1.0 - validation.between(share, 0.0, 1.0, "share", "[)")) / len(self.experts)
        mean = self.weights.mean(axis=0).tolist()
        return {name: share * w + even for name, w in zip(self.experts, mean, strict=True)}

    def to_frame(self) -> Any:
        """Return the series, the times and the forecast of each row, in the order of the table.

        Quantiles have one column per level, named as those of the models. The frame belongs to the library of the table
        if that is polars or pyarrow, else to pandas, or to polars without pandas.
        """
        return frame_of({**self.labels, **self.answers()}, self.library)

    def weights_frame(self) -> Any:
        """Return the last weights with the columns of the series, model_id and weight (and quantile, if separate)."""
        return frame_of(weights_long(self), self.library)

    def save(self, folder: str | os.PathLike[str], parquet: bool = False) -> Path:
        """Write combined and weights (CSV or Parquet), summary.json and index.html atomically."""
        return save(self, self.summary, Path(folder), parquet)


def panel_of(
    frame: Any, target: Any, by: Sequence[str], task: Task, pooled: bool | None = None, progress: bool = False
) -> Panel:
    """Return the panel of a frame; columns of times are found by their usual names if they are not named.

    `progress`: show a bar on a terminal.
    """
    experts, time, issued = task.columns, task.timing.time, task.timing.issued
    if not isinstance(target, str):
        raise BadTable(f"target must be a column of the long table; got {validation.brief(target)}")
    if hasattr(frame, "reset_index") and any(n in frame.index.names and n not in frame.columns for n in by):
        frame = frame.reset_index()  # earlier releases of statsforecast have the series in the index
    needed = [*by, target, *(name for name in (time, issued) if name), *(experts or ())]
    columns = frame if isinstance(frame, Mapping) else columns_of(frame, needed)
    for name in needed:
        if name not in columns:
            hint = validation.meant(name, columns)
            raise BadTable(f"no column {name!r} in the table; columns are {shown(list(columns))}{hint}")
    taken = {*by, target, *(experts or ())}
    time = TIME if time is None and TIME in columns and TIME not in taken else time
    issued = ISSUED if issued is None and ISSUED in columns and ISSUED not in taken and time is not None else issued
    if issued is not None and time is None:
        raise BadTable("a table with issue times needs a column of times; pass time= (--time)")
    timing = replace(task.timing, time=time, issued=issued)
    ahead = timing.ahead
    labels_of_rows = () if task.coverage is None else named_groups(task.coverage.groups, list(columns), time)
    kept_out = (*by, target, time, issued, *labels_of_rows)
    chosen = experts if experts is not None else tuple(n for n in columns if n not in kept_out)
    roles = [("the target", target), *(("a series", name) for name in by)]
    roles += [(role, name) for role, name in (("the times", time), ("the issue times", issued)) if name is not None]
    one_role([*roles, *(("an expert", name) for name in chosen)])
    grouped = [("a group", name) for name in labels_of_rows]
    one_role([("the target", target), *grouped, *(("an expert", name) for name in chosen)])
    if not chosen:
        raise BadTable(f"no column of forecasts in the table; columns are {shown(list(columns))}")
    library = library_of(frame)
    task = replace(task, timing=timing).on(chosen)
    kept = task.columns or ()
    cost, grid = task.pricing.loss_of(kept)
    table = long_table(dict(columns), target, by, timing, kept, ahead)
    if not table.series:
        raise BadTable("the table has no rows")
    crossed, given = 0, table
    if grid is not None:
        forecasts, crossed = grid.take(table.forecasts, lambda t: f"the table, {table.place(t)}")
        table = replace(table, experts=grid.models, forecasts=forecasts)
    clipped = None
    if task.clip is not None:
        table, clipped = clip_long(table, cost, task.clip)
    rule = for_forecasts(task.learner, len(table.experts), cost, task.loss_range, None)
    if task.learner is None and not isinstance(rule, Rule):
        raise ValueError(
            f"many series with a cap need a named rule; pass learner= (--learner), one of {', '.join(FORECASTS)}"
        )
    if isinstance(task.prior, str) and task.prior != POOL:
        raise ValueError(f"prior must be weights of the columns or {POOL!r}; got {task.prior!r}")
    sums = combine_long(table, cost, rule, task.prior, pooled, progress=progress)
    if grid is not None:
        sums = replace(sums, quantiles=quantiled_long(sums, grid, crossed))
        if grid.left:
            sums = replace(sums, points=_points(given, kept, grid.left, task, pooled))
    if task.coverage is not None:
        levels = () if grid is None else grid.levels
        rows = group_columns(task.coverage, table, dict(columns), time)
        pairs, covered = cover_panel(table, sums.forecast[table.order], (task.coverage, levels), rows)
        intervals = np.empty_like(pairs)
        intervals[table.order] = pairs
        sums = replace(sums, intervals=intervals, coverage=covered, ends=task.coverage.written)
    labels = {name: columns[name] for name in (*by, *(name for name in (issued, time) if name is not None))}
    sums = replace(sums, labels=labels, left_out=task.left_out, library=library, clipped=clipped)
    return Panel(*(getattr(sums, one.name) for one in fields(sums)))


def _points(
    table: LongTable, columns: Sequence[str], chosen: tuple[str, ...], task: Task, pooled: bool | None
) -> PanelSums:
    """Return the combination of the point forecasts of models whose quantiles are combined."""
    places = [list(columns).index(name) for name in chosen]
    table = replace(table, experts=chosen, forecasts=np.ascontiguousarray(table.forecasts[:, places]))
    cost, _ = Pricing(quantiles=False).loss_of(chosen)
    if task.clip is not None:
        table, _ = clip_long(table, cost, task.clip)
    rule = for_forecasts(task.learner, len(chosen), cost, task.loss_range, None)
    known = task.prior == POOL or (isinstance(task.prior, Mapping) and set(task.prior) == set(chosen))
    return combine_long(table, cost, rule, task.prior if known else None, pooled)


def read_columns(
    path: Path, texts: Sequence[str], delimiter: str = ",", needs: Sequence[str] = (),
    numeric: Sequence[str] | None = None, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return columns of a Parquet or CSV file: `texts` and the usual columns of times as text, `numeric` (default: all
    others) as numbers."""
    from hannan.tables.read.source import open_table
    from hannan.tables.read.table import Columns

    hint = "Name the columns of series with --by, and choose columns of forecasts with --experts A,B"
    usual = [name for name in (TIME, ISSUED) if name not in (*texts, *needs) and name in header(path, delimiter)]
    texts = [*texts, *usual]
    table = open_table(
        path, Columns(tuple(texts), None if numeric is None else tuple(numeric), tuple(needs), hint=hint), delimiter
    )
    try:
        if hasattr(table, "whole"):
            return dict(table.whole())
        chunks = []
        with Progress(table.size, "reading", progress) as bar:
            for chunk in table.chunks():
                chunks.append(chunk)
                bar.update(table.position())
    finally:
        table.close()
    numbers = np.concatenate([chunk.numbers for chunk in chunks]) if chunks else np.empty((0, len(table.names)))
    told: dict[str, Any] = {name: [text for chunk in chunks for text in chunk.texts[name]] for name in texts}
    return {**told, **{name: numbers[:, i] for i, name in enumerate(table.names)}}


def header(path: Path, delimiter: str) -> list[str]:
    """Return the names of the columns of a file before reading it."""
    import csv

    with contextlib.suppress(ImportError, OSError, ValueError):
        from pyarrow import parquet

        return list(parquet.read_schema(path).names)
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            return next(csv.reader(opened, delimiter=delimiter), [])
    except (OSError, UnicodeDecodeError, csv.Error, TypeError):
        return []  # opening the file raises the error
