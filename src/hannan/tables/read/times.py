"""Times of rows: numbers or ISO 8601, in increasing order; a row with an earlier time settles a pending row."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from hannan.tables.read.table import BadTable, clipped


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
