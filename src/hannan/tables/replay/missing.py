"""Rows of a log without a loss, and their stated meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals
from hannan.refusals import Array
from hannan.saving.words import counted, figure
from hannan.tables.read.table import BadTable

#: Value of `missing` that leaves the rows out.
DROP = "drop"


class Missing:
    """Meaning of empty losses: None (not stated), a number that each of them counts as, or "drop" to leave them out.

    >>> losses, kept = Missing(0.0).filled(np.array([1.0, np.nan]), 1)
    >>> losses.tolist(), kept.tolist()
    ([1.0, 0.0], [True, True])
    """

    def __init__(self, meaning: Any = None, word: str = "loss") -> None:
        self.meaning: float | str | None = meaning_of(meaning)
        #: "loss" or "reward".
        self.word = word
        #: Number of rows that were read.
        self.of = 0
        self._empty: list[NDArray[np.int64]] = []

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of the rows without a loss, counted from 1."""
        return np.concatenate([*self._empty, np.empty(0, dtype=np.int64)])

    def filled(self, losses: Array, first: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return (losses, rows to keep) for rows from number `first` on."""
        empty = np.isnan(losses)
        self.of += len(losses)
        self._empty.append(first + np.flatnonzero(empty))
        if isinstance(self.meaning, float):
            return np.where(empty, self.meaning, losses), np.ones(len(losses), dtype=bool)
        return losses, ~empty

    def check(self, source: str, span: tuple[float, float]) -> None:
        """Raise BadTable for empty losses without a stated meaning, ValueError for a meaning outside their range."""
        if isinstance(self.meaning, float):
            refusals.between(self.meaning, *span, "missing")
        empty = self.rows
        if self.meaning is None and len(empty):
            raise BadTable(
                f"{source} must have a {self.word} in every row; got {counted(len(empty), 'empty row')} of {self.of}, "
                f"the first at row {empty[0]}. State what an empty {self.word} means: missing=0 (--missing 0) counts "
                f"it as 0, as for 'no click'; missing='drop' (--missing drop) leaves these rows out"
            )

    def row(self, kept: int) -> int:
        """Return the number of a row of the table, from 1, given its index among the rows that are kept."""
        if self.meaning != DROP:
            return kept + 1
        empty = self.rows
        return kept + 1 + int(np.searchsorted(empty - 1 - np.arange(len(empty)), kept, side="right"))

    @property
    def condition(self) -> str:
        """The stated meaning in words; empty if no loss is missing."""
        count = len(self.rows)
        if not count or self.meaning is None:
            return ""
        some = f"{count} of {counted(self.of, 'row')} without a {self.word}"
        if self.meaning == DROP:
            return (
                f"{some} are left out; the estimates hold for the other rows, if whether a row has its {self.word} "
                f"depends neither on that {self.word} nor on the action of the row (assumed, not verified)"
            )
        return f"{some} count as {self.word} {figure(float(self.meaning))} (assumed, not verified)"

    def to_dict(self) -> dict[str, Any] | None:
        """Return the meaning, the rows without a loss and all rows for JSON; None if no meaning was stated."""
        if self.meaning is None:
            return None
        return {"meaning": self.meaning, "rows": len(self.rows), "of": self.of, "condition": self.condition or None}


def meaning_of(given: Any) -> float | str | None:
    """Return a valid meaning of empty losses; text may hold a number.

    >>> meaning_of("0"), meaning_of("drop"), meaning_of(None)
    (0.0, 'drop', None)
    """
    if given is None or (isinstance(given, str) and given == DROP):
        return given
    try:
        if isinstance(given, bool):
            raise TypeError
        number = float(given)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise ValueError(f"missing must be a number or {DROP!r}; got {given!r}")
    return number
