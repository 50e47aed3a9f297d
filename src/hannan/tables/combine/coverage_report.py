"""Coverage of the intervals of a table or of many series: groups of rows, certificates, and coverage over time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.saving.formatting import figure
from hannan.tables.combine.conformal import BASES
from hannan.tables.combine.coverage import BETWEEN, LARGEST, MOST_GROUPS, CertifiedIntervals, Coverage
from hannan.tables.combine.coverage_certificate import CoverageCertificate, joined
from hannan.tables.combine.long_table import LongTable, cell_text
from hannan.tables.combine.timing import Block, Chunk, Events
from hannan.tables.read.table import BadTable, clipped, instant, shown
from hannan.validation import Array, meant

#: Kinds of groups that are computed from times if the table has no column of the name.
PARTS: dict[str, Callable[[datetime], str]] = {
    "hour": lambda when: str(when.hour),
    "weekday": lambda when: when.strftime("%A"),
    "month": lambda when: str(when.month),
    "quarter": lambda when: str((when.month + 2) // 3),
}


def columns_of(groups: Iterable[str] | None, names: Sequence[str], time: str | None) -> tuple[str, ...]:
    """Return the groups that are columns; the others are parts of the times.

    >>> columns_of(["hour", "shop"], ["shop", "y"], "day")
    ('shop',)
    """
    told = []
    for name in groups or ():
        if name in names:
            told.append(name)
        elif name not in PARTS:
            raise BadTable(f"groups need a column {name!r}; columns are {shown(list(names))}{meant(name, names)}")
        elif time is None:
            raise BadTable(f"the group {name!r} is a part of the times; name their column with time= (--time)")
    return tuple(told)


def codes_of(values: Sequence[Any], name: str, place: Callable[[int], str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return (code of each row, values of the codes); raise BadTable for the first row without a value."""
    texts = np.asarray([str(value) for value in values], dtype=object)
    found, codes = np.unique(texts.astype(str), return_inverse=True)
    for k, text in enumerate(found.tolist()):
        if text.strip() in ("", "nan", "None", "NaT", "<NA>"):
            row = int(np.argmax(codes == k))
            raise BadTable(f"{place(row)}: the group {name!r} needs a value; got {clipped(text)}")
    return codes.astype(np.int64).reshape(-1), found.tolist()


def parts_of(times: Sequence[str], name: str, place: Callable[[int], str]) -> list[str]:
    """Return a part of each time.

    >>> parts_of(["2026-03-02T17:30:00", "2026-03-03"], "weekday", str)
    ['Monday', 'Tuesday']
    """
    part, told, known = PARTS[name], [], {}
    for row, text in enumerate(times):
        if text not in known:
            try:
                kind, when = instant(text)
            except ValueError as error:
                raise BadTable(f"{place(row)}: {error}") from None
            if kind == "number":
                raise BadTable(f"{place(row)}: the group {name!r} needs dates; got the time {clipped(text)}")
            known[text] = part(when)
        told.append(known[text])
    return told


Whole = NDArray[np.int64]

#: Largest number of horizons that are printed.
HORIZONS = 12
#: Points of the curve of coverage over time, and share and smallest number of the settled rows of its moving window.
POINTS, WINDOW, FEWEST = 200, 0.1, 100


@dataclass(frozen=True)
class CoverageReport:
    """Coverage of the intervals of a table: the certificate, widths, and the coverage over time."""

    certificate: CoverageCertificate
    #: Mean width and mean Winkler score over the counted rows, per coverage; empty for one-sided intervals.
    widths: tuple[float, ...]
    winkler: tuple[float, ...]
    #: Numbers of some settled rows, and the coverage of the last `window` settled rows there, per coverage.
    rows: Whole = field(hash=False, repr=False)
    course: Array = field(hash=False, repr=False)
    window: int = 0

    def lines(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs of the printed result."""
        certificate, told = self.certificate, self.certificate.lines()
        if not self.widths:
            return told
        several = len(certificate.levels) > 1
        widths = [
            f"{figure(width)} on average, Winkler score {figure(score)}" + f" ({100 * level:g}%)" * several
            for width, score, level in zip(self.widths, self.winkler, certificate.levels, strict=True)
        ]
        at = 1 + max(k for k, (name, _) in enumerate(told) if name.startswith("coverage"))
        return [*told[:at], ("width", "; ".join(widths)), *told[at:]]

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return {
            **self.certificate.to_dict(), "mean_width": list(self.widths), "mean_winkler_score": list(self.winkler),
            "over_time": {"window": self.window, "rows": self.rows.tolist(), "coverage": self.course.tolist()},
        }  # fmt: skip


class Course:
    """Hits of the settled rows in their order, and sums of the widths and scores."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        self._rows: list[Whole] = []
        self._hits: list[NDArray[np.bool_]] = []
        self._widths, self._scores = np.zeros(len(coverage.levels)), np.zeros(len(coverage.levels))

    def add(self, rows: Whole, pairs: Array, targets: Array) -> None:
        """Add settled rows: their numbers, intervals (rows, coverages, 2) and targets."""
        low, high, y = pairs[:, :, 0], pairs[:, :, 1], targets[:, None]
        self._rows.append(rows)
        self._hits.append((low <= y) & (y <= high))
        if self.coverage.sides == 2 and len(rows):
            alpha = 1.0 - np.array(self.coverage.levels)
            beyond = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
            self._widths += (high - low).sum(axis=0)
            self._scores += (high - low + 2.0 / alpha * beyond).sum(axis=0)

    def report(self, certificate: CoverageCertificate) -> CoverageReport:
        """Return the report of a table that has ended."""
        levels = len(self.coverage.levels)
        rows = np.concatenate([np.empty(0, dtype=np.int64), *self._rows])
        hits = np.concatenate([np.empty((0, levels), dtype=bool), *self._hits])
        count = len(rows)
        window = min(count, max(FEWEST, math.ceil(WINDOW * count)))
        at = np.unique(np.linspace(window, count, POINTS).astype(np.int64)) if count else np.empty(0, dtype=np.int64)
        sums = np.concatenate([np.zeros((1, levels)), np.cumsum(hits, axis=0)])
        course = (sums[at] - sums[at - window]) / max(1, window)
        two = self.coverage.sides == 2 and count > 0
        widths, scores = (tuple((x / max(1, count)).tolist()) if two else () for x in (self._widths, self._scores))
        return CoverageReport(certificate, widths, scores, rows[at - 1], course, window)


def check_size(values: Array, place: Callable[[int], str], what: str) -> None:
    """Raise BadTable if the intervals of a row could overflow."""
    wrong = np.abs(values) > LARGEST
    if wrong.any():
        row = int(np.argmax(wrong.reshape(len(values), -1).any(axis=1)))
        found = float(np.nanmax(np.abs(values[row])))
        raise BadTable(f"{place(row)}: intervals need {what} of at most {LARGEST:g}; got {found:g}")


def group_numbers(
    certified: CertifiedIntervals, columns: Sequence[tuple[str, Sequence[Any]]], place: Callable[[int], str]
) -> tuple[Whole, Whole] | None:
    """Return the numbers of the groups, row by row, and where each row begins; None without groups."""
    if not columns:
        return None
    each = []
    for name, values in columns:
        codes, texts = codes_of(values, name, place)
        labels = [f"{name}{BETWEEN}{text}" for text in texts]
        if len(certified.groups) + len(labels) > MOST_GROUPS:
            raise BadTable(f"at most {MOST_GROUPS} groups are supported; {name!r} has {len(labels)} values")
        each.append(np.array(certified.numbers_of(labels), dtype=np.int64)[codes])
    table = np.ascontiguousarray(np.stack(each, axis=1))
    return table.reshape(-1), np.arange(len(table) + 1, dtype=np.int64) * len(columns)


class CertifiedTable:
    """Intervals of the rows of a table, chunk by chunk."""

    def __init__(self, coverage: Coverage, quantiles: tuple[float, ...], group_columns: tuple[str, ...]) -> None:
        self.coverage, self._group_columns = coverage, group_columns
        self.certified = CertifiedIntervals(coverage, quantiles)
        self.course = Course(coverage)
        self._base = BASES[bool(quantiles)]
        # Ends of the rows of earlier chunks that wait for their targets.
        self._open: dict[int, Array] = {}

    def check(self, chunk: Chunk, place: Callable[[int], str]) -> None:
        """Raise BadTable if a number of a chunk is too large."""
        check_size(chunk.forecasts, lambda row: place(chunk.first + row), "forecasts")
        check_size(chunk.targets, lambda row: place(chunk.first + row), "targets")

    def take(self, block: Block, groups: Sequence[Sequence[str]], mixed: Array) -> Array:
        """Return the ends of the rows of a block; rows that are not answered have NaN."""
        happened, first = block.history(), block.first
        named = dict(zip(self._group_columns, groups, strict=False))

        def place(row: int) -> str:
            return block.place(first + row)

        kinds = [
            (name, (named[name] if name in named else parts_of(block.times, name, place))[: len(mixed)])
            for name in self.coverage.groups or ()
        ]
        numbers = group_numbers(self.certified, kinds, place)
        ends = self.certified.through(happened, first, mixed, block.forecasts, numbers)
        self._settled(happened, first, ends)
        for number in block.dropped:
            if number in self._open:  # others had no target, and were forgotten before
                self.certified.forget(number)
                del self._open[number]
        return self.coverage.pairs(ends)

    def finish(self, rest: Iterable[tuple[int, float]]) -> None:
        """Settle the rows whose targets are due after the last row of a table."""
        for number, target in rest:
            self.certified.settle(number, target)
            self._count(np.array([number]), self._open.pop(number)[None, :], np.array([target]))

    def _settled(self, happened: Events, first: int, ends: Array) -> None:
        order, told = happened.order, happened.told
        settles = order < 0
        numbers, targets = ~order[settles], told[settles]
        here = numbers >= first
        table = np.empty((len(numbers), ends.shape[1]))
        table[here] = ends[numbers[here] - first]
        for k in np.flatnonzero(~here).tolist():
            table[k] = self._open.pop(int(numbers[k]))
        self._count(numbers, table, targets)
        waits = np.zeros(len(ends), dtype=bool)
        waits[order[~settles]] = True
        waits[numbers[here] - first] = False
        for row in np.flatnonzero(waits).tolist():
            self._open[first + row] = ends[row].copy()

    def _count(self, numbers: Whole, ends: Array, targets: Array) -> None:
        counted = np.isfinite(ends).all(axis=1) & ~np.isnan(targets)
        self.course.add(numbers[counted], self.coverage.pairs(ends[counted]), targets[counted])

    def report(self) -> CoverageReport:
        """Return the coverage so far."""
        return self.course.report(self.certified.certificate(self._base))


def needs_times(coverage: Coverage | None, group_columns: Sequence[str]) -> bool:
    """Return True if a kind of groups is computed from the times."""
    return coverage is not None and any(name in PARTS for name in coverage.groups or () if name not in group_columns)


@dataclass(frozen=True)
class PanelCoverage:
    """Coverage of the intervals of many series, in total, per series and per horizon."""

    report: CoverageReport
    #: Certificate per series.
    series: tuple[CoverageCertificate, ...] = field(repr=False)
    #: Names of the series.
    names: tuple[str, ...] = field(default=(), repr=False)
    #: (horizon, counted rows, rows whose target was in the interval, per coverage); empty without issue times.
    horizons: tuple[tuple[int, int, tuple[int, ...]], ...] = ()

    def lines(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs of the printed result, with the coverage by series and by horizon."""
        told, last = self.report.lines(), len(self.report.certificate.levels) - 1
        more = []
        rated = sorted(
            (one.groups[0].coverage(last), name) for one, name in zip(self.series, self.names, strict=True) if one.rows
        )
        if len(rated) > 1:
            (low, worst), (high, best) = rated[0], rated[-1]
            text = f"{low:.3f} ({clipped(worst)}) to {high:.3f} ({clipped(best)}) in {len(rated)} series"
            more.append(("by series", text))
        by_step = [f"{step}: {hits[last] / rows:.3f}" for step, rows, hits in self.horizons if rows]
        if by_step:
            extra = f", ... ({len(by_step) - HORIZONS} more)" if len(by_step) > HORIZONS else ""
            more.append(("by horizon", ", ".join(by_step[:HORIZONS]) + extra))
        at = 1 + max((k for k, (name, _) in enumerate(told) if name.startswith(("coverage", "width"))), default=-1)
        return [*told[:at], *more, *told[at:]]

    def as_dict(self) -> dict[str, Any]:
        """Return the coverage for JSON."""
        levels = self.report.certificate.levels
        return {**self.report.as_dict(), "horizons": [
            {"horizon": step, "rows": rows, "coverages": [
                {"requested": level, "covered": hits[k], "coverage": hits[k] / rows if rows else None}
                for k, level in enumerate(levels)]}
            for step, rows, hits in self.horizons
        ]}  # fmt: skip


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


#: Rows of the average error that a horizon begins with, and the limits of its scale.
SHRUNK, SMALLEST, WIDEST = 4.0, 1.0 / 64.0, 64.0
#: Added to the description of the base ends if errors of several horizons are scaled.
PER_HORIZON = "each divided by the size of errors at its horizon"


def horizon_scales(table: LongTable, combined: Array) -> Array | None:
    """Return the size of the errors at the horizon of each row, relative to all horizons of its series.

    Only targets that are known when the row is answered are used. None with one horizon.
    """
    steps = table.steps
    if steps is None or len(np.unique(steps)) < 2:
        return None
    told: Array = np.ones(len(steps))
    errors, given = np.abs(table.targets - combined), ~np.isnan(table.targets)
    for first, last in itertools.pairwise(table.starts.tolist()):
        part = slice(first, last)
        every, (rows, mean) = np.arange(first, last), _known_errors(table.known[part], errors[part], given[part])
        for step in np.unique(steps[part]).tolist():
            at = steps[part] == step
            count, own = _known_errors(table.known[part][at], errors[part][at], given[part][at])
            here = every[at]
            n, m = count(here), mean(here)
            known = (rows(here) > 0) & (m > 0.0)
            size = (n * own(here) + SHRUNK * m) / (n + SHRUNK)
            told[here[known]] = np.clip(size[known] / m[known], SMALLEST, WIDEST)
    return told


def _known_errors(known: Whole, errors: Array, given: NDArray[np.bool_]) -> tuple[Callable[[Whole], Any], Any]:
    """Return functions of row numbers: how many errors are known before these rows, and their mean (0: none)."""
    place = np.argsort(known[given], kind="stable")
    when, sums = known[given][place], np.concatenate([[0.0], np.cumsum(errors[given][place])])

    def count(rows: Whole) -> Any:
        return np.searchsorted(when, rows, side="right")

    def mean(rows: Whole) -> Any:
        n = count(rows)
        return sums[n] / np.maximum(n, 1)

    return count, mean


def unscaled(ends: Array, scale: Array) -> Array:
    """Return the smallest numbers x with x / scale >= end for lower ends, and the largest with x / scale <= end for
    upper ends; so a target is in the interval exactly if target / scale is in the scaled one.

    >>> unscaled(np.array([[[0.1, 0.7]]]), np.array([3.0])).round(3).tolist()
    [[[0.3, 2.1]]]
    """
    told, by = ends * scale[:, None, None], scale[:, None]
    for side, toward in ((0, -np.inf), (1, np.inf)):
        end = ends[:, :, side]
        for _ in range(4):  # outward while the next number still belongs to the interval
            further = np.nextafter(told[:, :, side], toward)
            inside = further / by >= end if side == 0 else further / by <= end
            told[:, :, side] = np.where(inside & np.isfinite(end), further, told[:, :, side])
        for _ in range(4):  # inward while the number does not belong to the interval
            now = told[:, :, side]
            outside = now / by < end if side == 0 else now / by > end
            told[:, :, side] = np.where(outside & np.isfinite(end), np.nextafter(now, -toward), now)
    return told


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
    base, scale, given = BASES[bool(quantiles)], None, table
    if not quantiles and (scale := horizon_scales(table, combined)) is not None:
        base = f"{base}, {PER_HORIZON}"
        table = replace(table, forecasts=table.forecasts / scale[:, None], targets=table.targets / scale)
        combined = combined / scale
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
        told.append(certified.certificate(base))
    if scale is not None:
        pairs, table = unscaled(pairs, scale), given
    course = Course(coverage)
    by_time = np.argsort(table.due, kind="stable")
    counted = np.isfinite(pairs).any(axis=(1, 2)) & ~np.isnan(table.targets)
    settled = by_time[counted[by_time]]
    course.add(np.arange(1, len(settled) + 1, dtype=np.int64), pairs[settled], table.targets[settled])
    names = tuple(table.name(s) for s in range(table.series))
    return pairs, PanelCoverage(course.report(joined(told)), tuple(told), names, _by_horizon(table, pairs, counted))


def _by_horizon(
    table: LongTable, pairs: Array, counted: NDArray[np.bool_]
) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """Return (horizon, counted rows, rows whose target was in the interval, per coverage)."""
    if table.steps is None:
        return ()
    y = table.targets[:, None]
    inside = (pairs[:, :, 0] <= y) & (y <= pairs[:, :, 1]) & counted[:, None]
    steps, place = np.unique(table.steps, return_inverse=True)
    rows = np.bincount(place, counted, len(steps)).astype(int).tolist()
    hits = np.stack([np.bincount(place, one, len(steps)) for one in inside.T], axis=1).astype(int).tolist()
    return tuple((int(step), n, tuple(x)) for step, n, x in zip(steps.tolist(), rows, hits, strict=True))
