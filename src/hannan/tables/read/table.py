"""Common parts of readers of tables: chunks of rows, choice of columns, times, and errors with row and column.

Rows are numbered from 1, without the header. Empty cells, NA, NaN and null are missing values; any other cell of a
numeric column must be a finite number. Times are numbers or dates in ISO 8601.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from hannan.validation import Array, meant

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none"))
#: Approximate number of cells in a chunk.
CHUNK_CELLS = 1 << 19


#: Name of a table that is not a file.
UNNAMED = "the table"


class BadTable(ValueError):
    """Raised for a table that cannot be read; the message names the row and the column."""


@contextmanager
def named(source: str) -> Iterator[None]:
    """Replace "the table" by the name of a file in errors about it."""
    try:
        yield
    except BadTable as error:
        text = str(error)
        raise BadTable(text.replace(UNNAMED, source, 1)) from None


@dataclass(frozen=True)
class Chunk:
    """Rows of a table: `numbers` (rows, numeric columns) with NaN if missing, and `texts` as in the file.

    `first` is the number of the first row.
    """

    first: int
    numbers: Array = field(hash=False)
    texts: dict[str, list[str]] = field(hash=False)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass
class Columns:
    """Selection of columns: the numeric columns (default: all that are not text), and the text columns."""

    texts: tuple[str, ...] = ()
    numeric: tuple[str, ...] | None = None
    #: Further columns that must exist.
    needs: tuple[str, ...] = ()
    #: Numeric columns in which a missing value is an error.
    complete: frozenset[str] = frozenset()
    #: Advice in errors about a column without numbers.
    hint: str = ""

    def chosen(self, names: Sequence[str], source: str) -> tuple[list[int], list[int]]:
        """Return the positions of the numeric and of the text columns; raise for missing and repeated names."""
        seen: dict[str, int] = {}
        for i, name in enumerate(names):
            if not name and self._takes(name):
                raise BadTable(
                    f"columns of {source} must have names; the name of column {i + 1} is empty{_and(self.hint)}"
                )
            if name in seen:
                raise BadTable(
                    f"column names of {source} must be unique; got {name!r} in columns {seen[name] + 1} and {i + 1}"
                )
            seen[name] = i
        for name in (*self.needs, *self.texts, *(self.numeric or ())):
            if name not in seen:
                hint = ". Name the column of the targets with --target" if self.needs[:1] == (name,) == ("y",) else ""
                raise BadTable(f"no column {name!r} in {source}; columns are {shown(names)}{meant(name, names)}{hint}")
        texts = [seen[name] for name in self.texts]
        taken = set(texts)
        if self.numeric is not None:
            return [seen[name] for name in self.numeric], texts
        return [i for i in range(len(names)) if i not in taken], texts

    def _takes(self, name: str) -> bool:
        """Return True if a column is read as numbers."""
        return name not in self.texts if self.numeric is None else name in self.numeric


class Table:
    """Source of rows: `names` of the numeric columns, and `chunks()` of rows.

    `position()` returns how much of `size` has been read, for a progress bar.
    """

    names: list[str]
    source: str
    size: int | None = None

    def chunks(self, rows: int | None = None) -> Iterator[Chunk]:
        """Yield the rows in chunks of about `rows` rows."""
        raise NotImplementedError

    def position(self) -> int:
        return 0

    def close(self) -> None:
        """Close the file."""


def checked(table: Array, first: int, names: list[str], complete: Sequence[int], source: str) -> None:
    """Raise BadTable if a number is infinite, or missing in a column of `complete`."""
    bad = np.isinf(table)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise BadTable(
            f"{source}, row {first + row}, column {names[column]!r}: expected a finite number; got {table[row, column]}"
        )
    for column in complete:
        missing = np.isnan(table[:, column])
        if missing.any():
            row = int(np.argmax(missing))
            place = f"{source}, row {first + row}, column {names[column]!r}"
            raise BadTable(f"{place}: a value is required; got a missing value")


def _and(hint: str) -> str:
    return f". {hint}" if hint else ""


def shown(names: Sequence[str], most: int = 8) -> str:
    """Return the first names, for a message."""
    few = ", ".join(clipped(name) for name in names[:most])
    return few if len(names) <= most else f"{few}, ... ({len(names)} columns)"


def clipped(text: Any, most: int = 40) -> str:
    """Return the repr of a value, shortened for a message."""
    quoted = repr(text)
    return quoted if len(quoted) <= most else quoted[: most - 3] + "..."


def one_role(roles: Iterable[tuple[str, str]]) -> None:
    """Raise BadTable if a column has two roles, given (role, column) of every named column.

    A target among the experts would be a forecast without error.

    >>> one_role([("the target", "y"), ("an expert", "a"), ("an expert", "y")])
    Traceback (most recent call last):
    hannan.tables.read.table.BadTable: a column must have only one role; got 'y' as the target and as an expert
    """
    seen: dict[str, str] = {}
    for role, column in roles:
        if column in seen:
            again = f"{role} twice" if seen[column] == role else f"{seen[column]} and as {role}"
            raise BadTable(f"a column must have only one role; got {clipped(column)} as {again}")
        seen[column] = role


def forecast_roles(target: str | None, time: str | None, experts: Iterable[str], issued: str | None = None) -> None:
    """Raise BadTable unless target, times, issue times and experts are different columns."""
    named = [("the target", target), ("the times", time), ("the issue times", issued)]
    named += [("an expert", name) for name in experts]
    one_role((role, name) for role, name in named if name is not None)


def log_roles(
    action: str, loss: str, propensity: str | None, advice: Iterable[str], contexts: Iterable[str] = (),
    smallest: str | None = None,
) -> None:  # fmt: skip
    """Raise BadTable unless action, loss, propensity, advice, contexts and smallest are different columns."""
    if smallest is not None and propensity is None:
        raise BadTable(f"propensity is required with smallest; got smallest={smallest!r} alone")
    named = [("the action", action), ("the loss", loss), ("the propensity", propensity)]
    named.append(("the smallest probability", smallest))
    named += [*(("advice", name) for name in advice), *(("a context", name) for name in contexts)]
    one_role((role, name) for role, name in named if name is not None)


def instant(text: str) -> tuple[str, Any]:
    """Return (kind, value) of a cell; kinds are "number", "date" and "date with a zone", compared only within a kind.

    >>> instant("17"), instant("2024-05-01")[0]
    (('number', 17), 'date')
    """
    try:
        return "number", int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        if math.isfinite(number):
            return "number", number
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"expected a number or a date in ISO 8601; got {clipped(text)}") from None
    return ("date" if when.tzinfo is None else "date with a zone"), when


class Instants:
    """Column of times of one kind."""

    def __init__(self, column: str, source: str) -> None:
        self._column, self._source = column, source
        self.kind = ""

    def read(self, text: str, row: int) -> Any:
        """Return the time of a cell."""
        if not text:
            raise self.refuse(row, "a time is required; got an empty cell")
        try:
            kind, value = instant(text)
        except ValueError as error:
            raise self.refuse(row, str(error)) from None
        if self.kind and kind != self.kind:
            raise self.refuse(row, f"all times must be of the kind {self.kind!r}; got {clipped(text)}, a {kind}")
        self.kind = kind
        return value

    def refuse(self, row: int, reason: str) -> BadTable:
        """Return an error with its place."""
        return BadTable(f"{self._source}, row {row}, column {self._column!r}: {reason}")


class Clock(Instants):
    """Column of times that must increase.

    >>> clock = Clock("t", "the text")
    >>> clock.tick("1", 1), clock.tick("2", 2), clock.tick("1", 3)
    ((1, True), (2, True), (1, False))
    """

    def __init__(self, column: str, source: str) -> None:
        super().__init__(column, source)
        self._latest: Any = None

    def tick(self, text: str, row: int) -> tuple[Any, bool]:
        """Return the time, and whether it is later than all earlier ones."""
        value = self.read(text, row)
        later = self._latest is None or value > self._latest
        if later:
            self._latest = value
        return value, later

    def out_of_order(self, text: str, value: Any, row: int) -> BadTable:
        """Return the error for a row that is not later and settles no pending row."""
        if value == self._latest:
            return self.refuse(row, f"times must be unique; {clipped(text)} was in an earlier row, which is settled")
        return self.refuse(row, f"times must be increasing; got {clipped(text)} after {self._latest}")
