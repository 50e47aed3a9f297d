"""Intervals of many series: each series has its own states, so its coverage is certified separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from hannan.tables.combine.certified_table import Course, CoverageReport, Whole, check_size, group_numbers
from hannan.tables.combine.conformal import BASES
from hannan.tables.combine.coverage import CertifiedIntervals, Coverage
from hannan.tables.combine.coverage_certificate import CoverageCertificate, joined
from hannan.tables.combine.groups import columns_of, parts_of
from hannan.tables.combine.long_table import LongTable, cell_text
from hannan.tables.combine.timing import Events
from hannan.validation import Array


@dataclass(frozen=True)
class PanelCoverage:
    """Coverage of the intervals of many series, in total and per series."""

    report: CoverageReport
    #: Certificate per series.
    series: tuple[CoverageCertificate, ...] = field(repr=False)


def group_columns(
    coverage: Coverage, table: LongTable, columns: dict[str, Any], time: str | None
) -> list[tuple[str, Sequence[Any]]]:
    """Return (kind, value per row of the long table) of each kind of groups."""
    if not coverage.groups:
        return []
    named = columns_of(coverage.groups, list(columns), time)
    place = partial(_place, table, 0)
    texts = [] if time is None else [cell_text(columns[time], int(row)) for row in table.order]
    return [
        (name, _texts(columns[name], table.order) if name in named else parts_of(texts, name, place))
        for name in coverage.groups
    ]


def _place(table: LongTable, first: int, row: int) -> str:
    return f"the table, {table.place(first + row)}"


def _texts(column: Any, order: Whole) -> list[str]:
    from hannan.tables.read.frames import text_of

    values = text_of(column)
    return [values[row] for row in order.tolist()]


def _events(table: LongTable) -> tuple[Events, Whole]:
    """Return all events in the order of the long table, by its rows, and where the events of each series begin.

    A target that is known before a row is settled before the row is answered, and a row without a target is forgotten.
    """
    rows, starts = len(table.order), table.starts
    every: Whole = np.arange(rows, dtype=np.int64)
    ends = np.repeat(starts[1:], np.diff(starts))
    known = ~np.isnan(table.targets)
    settled = np.where(known, np.minimum(table.known, ends), every)
    # Before row t is answered, targets known by then are settled; a row without a target is forgotten after its answer.
    when = np.concatenate([2 * every, np.where(known, 2 * settled - 1, 2 * every + 0.5)])
    place = np.lexsort((np.concatenate([every, every]), when))
    order = np.concatenate([every, ~every])[place]
    told = np.concatenate([np.full(rows, np.nan), table.targets])[place]
    cuts: Whole = np.searchsorted(when[place], 2.0 * starts - 1.0, side="right").astype(np.int64)
    return Events(order, told, np.empty(0, dtype=np.int64)), cuts


def cover_panel(
    table: LongTable, combined: Array, requested: tuple[Coverage, tuple[float, ...]],
    groups: Sequence[tuple[str, Sequence[Any]]],
) -> tuple[Array, PanelCoverage]:  # fmt: skip
    """Return the intervals (rows, coverages, 2) in the order of the long table, and their coverage.

    `combined` has the forecasts in that order, and `requested` the coverage and the levels of quantile columns.
    """
    coverage, quantiles = requested
    check_size(table.forecasts, partial(_place, table, 0), "forecasts")
    check_size(table.targets, partial(_place, table, 0), "targets")
    events, cuts = _events(table)
    pairs: Array = np.empty((len(combined), len(coverage.levels), 2))
    told: list[CoverageCertificate] = []
    for s in range(table.series):
        first, last = int(table.starts[s]), int(table.starts[s + 1])
        part, rows = slice(int(cuts[s]), int(cuts[s + 1])), slice(first, last)
        certified = CertifiedIntervals(coverage, quantiles)
        named = [(name, values[first:last]) for name, values in groups]
        numbers = group_numbers(certified, named, partial(_place, table, first))
        order = events.order[part]
        here = Events(np.where(order >= 0, order - first, order), events.told[part], events.ends)
        ends = certified.through(here, first, combined[rows], table.forecasts[rows], numbers)
        pairs[rows] = coverage.pairs(ends)
        told.append(certified.certificate(BASES[bool(quantiles)]))
    course = Course(coverage)
    by_time = np.argsort(table.due, kind="stable")
    counted = np.isfinite(pairs).any(axis=(1, 2)) & ~np.isnan(table.targets)
    settled = by_time[counted[by_time]]
    course.add(np.arange(1, len(settled) + 1, dtype=np.int64), pairs[settled], table.targets[settled])
    return pairs, PanelCoverage(course.report(joined(told)), tuple(told))
