"""Long tables: many series in one table, with columns that identify the series and the times.

Rows of a series are answered in the order of their times. The target of a row becomes available `horizon` rows of its
series later; with a column of issue times (`cutoff`), it becomes available before the first row of its series that was
issued at or after the target time.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.tables.combine.timing import Timing
from hannan.tables.read.frames import Frame, numbers_of
from hannan.tables.read.table import BadTable, clipped, instant
from hannan.validation import Array

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class LongTable:
    """Rows sorted by series: row k is row `order[k]` of the table, series s starts at row starts[s]."""

    by: tuple[str, ...]
    experts: tuple[str, ...]
    #: The value of each `by` column, for each series.
    keys: tuple[tuple[Any, ...], ...] = field(hash=False)
    order: Whole = field(hash=False)
    starts: Whole = field(hash=False)
    forecasts: Array = field(hash=False)
    targets: Array = field(hash=False)
    #: Row before which each target is known.
    known: Whole = field(hash=False)
    #: Issue time of each row, and time of its target, comparable between series.
    issued: Array = field(hash=False)
    due: Array = field(hash=False)
    #: Columns that the rows were sorted by; empty if they were in order.
    sorted_by: tuple[str, ...] = ()
    #: True if the table has a column of times; otherwise times are numbers of rows.
    timed: bool = True

    @property
    def series(self) -> int:
        """Number of series."""
        return len(self.starts) - 1

    def name(self, series: int) -> str:
        """Return the name of a series."""
        return " / ".join(str(value) for value in self.keys[series])

    @cached_property
    def steps(self) -> Whole | None:
        """Horizon of each row: the number of times of its series after the issue time, up to the time of the target.

        None without issue times.
        """
        if np.array_equal(self.issued, self.due):
            return None
        told: Whole = np.empty(len(self.order), dtype=np.int64)
        for first, last in itertools.pairwise(self.starts.tolist()):
            times, part = np.unique(self.due[first:last]), slice(first, last)
            told[part] = np.searchsorted(times, self.due[part], side="right")
            told[part] -= np.searchsorted(times, self.issued[part], side="right")
        return told

    def by_name(self) -> Whole:
        """Return the rank of each row in the order of the names of the series, then of the rows of a series."""
        names = [tuple(str(value) for value in key) for key in self.keys]
        place: Whole = np.empty(self.series, dtype=np.int64)
        place[sorted(range(self.series), key=names.__getitem__)] = np.arange(self.series)
        ranks: Whole = np.empty(len(self.order), dtype=np.int64)
        ranks[np.argsort(np.repeat(place, np.diff(self.starts)), kind="stable")] = np.arange(len(self.order))
        return ranks

    def of(self, row: int) -> int:
        """Return the series of a row."""
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    def place(self, row: int) -> str:
        """Return the place of a row in error messages."""
        return f"row {int(self.order[row]) + 1} (series {clipped(self.name(self.of(row)))})"


def long_table(
    columns: dict[str, Any], target: str, by: Sequence[str], timing: Timing, experts: Sequence[str], horizon: int
) -> LongTable:
    """Return the rows of some columns, series by series, sorted by issue time and time within each series.

    Raises BadTable if two rows of a series have the same issue time and time: their order would be arbitrary.
    """
    time, issued = timing.time, timing.issued
    codes, keys = _series([columns[name] for name in by], by)
    order: Whole = np.argsort(codes, kind="stable").astype(np.int64)
    times = None if time is None else instants(columns[time], time)
    issues = times if issued is None else instants(columns[issued], issued)
    sorted_by: tuple[str, ...] = ()
    if times is not None and issues is not None and not _in_order(codes[order], issues[order], times[order]):
        order = np.lexsort((times, issues, codes)).astype(np.int64)
        sorted_by = tuple(name for name in (*by, issued, time) if name is not None)
    counts = np.bincount(codes, minlength=len(keys))
    starts: Whole = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    forecasts: Array = np.empty((len(order), len(experts)))
    for i, name in enumerate(experts):
        forecasts[:, i] = numbers_of(columns[name], name)[order]
    targets = numbers_of(columns[target], target)[order]
    rows: Whole = np.arange(len(order), dtype=np.int64)
    inside = rows - np.repeat(starts[:-1], counts)
    stamps = inside.astype(np.float64) if times is None else times[order]
    asked = stamps if issues is None else issues[order]
    found = LongTable(
        by=tuple(by),
        experts=tuple(experts),
        keys=keys,
        order=order,
        starts=starts,
        forecasts=forecasts,
        targets=np.ascontiguousarray(targets),
        known=rows + horizon,
        issued=asked,
        due=stamps,
        sorted_by=sorted_by,
        timed=time is not None,
    )
    if time is not None:
        _distinct(found, timing, columns[time])
    if issued is not None:
        known = rows.copy()
        for s in range(len(keys)):
            part = slice(starts[s], starts[s + 1])
            known[part] = starts[s] + np.searchsorted(asked[part], stamps[part], side="left")
        early = np.flatnonzero(known <= rows)
        if len(early):
            row = int(early[0])
            raise BadTable(f"the table, {found.place(row)}: the time must be later than the issue time ({issued!r})")
        object.__setattr__(found, "known", known)
        _one_target(found, stamps, time)
    return found


def _one_target(table: LongTable, stamps: Array, time: str | None) -> None:
    """Check that all rows of a series with the same time have the same target."""
    rows = np.flatnonzero(~np.isnan(table.targets))
    series = np.searchsorted(table.starts, rows, side="right")
    place = np.lexsort((stamps[rows], series))
    rows, series = rows[place], series[place]
    same = (series[1:] == series[:-1]) & (stamps[rows[1:]] == stamps[rows[:-1]])
    wrong = np.flatnonzero(same & (table.targets[rows[1:]] != table.targets[rows[:-1]]))
    if len(wrong):
        first, again = (int(row) for row in sorted(rows[wrong[0] : wrong[0] + 2]))
        raise BadTable(
            f"the table, {table.place(again)}: all rows with the same {time!r} must have the same target; got "
            f"{table.targets[again]:g}, and {table.targets[first]:g} in row {int(table.order[first]) + 1}"
        )


def _series(columns: Sequence[Any], by: Sequence[str]) -> tuple[Whole, tuple[tuple[Any, ...], ...]]:
    """Return (code of each row, values of each series), in order of first occurrence."""
    each = [coded(column, name) for column, name in zip(columns, by, strict=True)]
    codes, keys = each[0]
    if len(each) == 1:
        return codes, tuple((key,) for key in keys)
    for more, values in each[1:]:
        codes = codes * len(values) + more
    kept, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    place = np.empty(len(kept), dtype=np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(len(kept))
    heads = np.sort(first)
    return place[codes], tuple(tuple(values[code[row]] for code, values in each) for row in heads)


def coded(column: Any, name: str, what: str = "the name of a series") -> tuple[Whole, list[Any]]:
    """Return (code of each cell, values of the codes), in order of first occurrence; raise BadTable at empty cells."""
    try:
        import pyarrow

        array = column if hasattr(column, "combine_chunks") else pyarrow.array(column)
        array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
        coded_ = array if isinstance(array, pyarrow.DictionaryArray) else array.dictionary_encode()
        values, indices = coded_.dictionary.to_pylist(), coded_.indices
        filled = indices.fill_null(-1) if indices.null_count else indices
        codes = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    except (ImportError, TypeError, ValueError):
        seen: dict[Any, int] = {}
        codes = np.array([seen.setdefault(value, len(seen)) for value in column], dtype=np.int64)
        values = list(seen)
    empty = [k for k, value in enumerate(values) if value is None or value != value or value == ""]
    wrong = (codes < 0) | np.isin(codes, empty)
    if wrong.any():
        row = int(np.argmax(wrong)) + 1
        raise BadTable(f"the table, row {row}, column {name!r}: {what} is missing")
    return codes, values


def instants(column: Any, name: str) -> Array:
    """Return times, which are dates, numbers or text, as comparable numbers."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind in "mM":
        if np.isnat(values).any():
            raise BadTable(f"the table, row {int(np.argmax(np.isnat(values))) + 1}, column {name!r}: a time is missing")
        return values.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    if values.dtype.kind in "fiu":
        return numbers_of(values, name, complete=True)
    codes, texts = coded(column, name, "a time")
    kinds, numbers = set(), []
    for k, text in enumerate(texts):
        try:
            kind, value = instant(text.isoformat() if hasattr(text, "isoformat") else str(text))
        except ValueError as error:
            row = int(np.argmax(codes == k)) + 1
            raise BadTable(f"the table, row {row}, column {name!r}: {error}") from None
        kinds.add(kind)
        numbers.append(float(value) if kind == "number" else _microseconds(value))
    if len(kinds) > 1:
        raise BadTable(f"the table, column {name!r}: times must be of the same kind; got {' and '.join(sorted(kinds))}")
    return np.array(numbers)[codes]


def order_of(frame: Frame, timing: Timing) -> Whole | None:
    """Return the rows of a table of one series in the order of their times; None if no row has to move.

    Rows with issue times are sorted by issue time and time. Without issue times, times that repeat are not sorted: a
    later row with the same time supplies a target.
    """
    if not frame.times or timing.time is None:
        return None
    try:
        times = instants(frame.times, timing.time)
        issues = times if timing.issued is None else instants(frame.issued, timing.issued)
    except BadTable:
        return None  # the run raises the error, with the place
    if _in_order(np.zeros(len(times), dtype=np.int64), issues, times):
        return None
    if timing.issued is None and len(np.unique(times)) < len(times):
        return None
    return np.lexsort((times, issues)).astype(np.int64)


def _microseconds(when: Any) -> float:
    from datetime import UTC, datetime, timedelta

    start = datetime(1970, 1, 1, tzinfo=None if when.tzinfo is None else UTC)
    return float((when - start) // timedelta(microseconds=1))


def _in_order(codes: Whole, issues: Array, times: Array) -> bool:
    """Return True if issue times, and times of one issue time, do not go back within a series."""
    back = (issues[1:] < issues[:-1]) | ((issues[1:] == issues[:-1]) & (times[1:] < times[:-1]))
    return not bool((back & (codes[1:] == codes[:-1])).any())


def _distinct(table: LongTable, timing: Timing, times: Any) -> None:
    """Raise BadTable if a time comes twice in a series, for one issue time if there are issue times."""
    same = np.ones(len(table.due), dtype=bool)
    same[table.starts[:-1][np.diff(table.starts) > 0]] = False
    again = np.zeros(len(table.due), dtype=bool)
    again[1:] = (table.issued[1:] == table.issued[:-1]) & (table.due[1:] == table.due[:-1])
    wrong = np.flatnonzero(same & again)
    if not len(wrong):
        return
    row = int(wrong[0])
    extra = f" for one {timing.issued!r}" if timing.issued is not None else ""
    here, before = clipped(cell_text(times, table.order[row])), int(table.order[row - 1]) + 1
    raise BadTable(
        f"the table, {table.place(row)}, column {timing.time!r}: times of a series must be unique{extra}; got {here}, "
        f"as in row {before}"
    )


def cell_text(column: Any, row: int) -> str:
    """Return a cell of a column of times as text."""
    value = column.iloc[row] if hasattr(column, "iloc") else column[int(row)]
    value = value.as_py() if hasattr(value, "as_py") else value
    if isinstance(value, np.datetime64):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
