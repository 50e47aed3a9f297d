"""CSV, row by row or in chunks: what is wrong is named by row and column, and nothing is guessed.

Rows are counted from 1, the header not among them. Empty cells, NA, NaN and null are missing; any other cell
of a numeric column must be a finite number.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hannan.refusals import Array

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none"))
#: A chunk has about so many cells.
CHUNK_CELLS = 1 << 19


class BadTable(ValueError):
    """A file that cannot be read, with the row and the column that say why."""


@dataclass(frozen=True)
class Chunk:
    """Some rows: `numbers` (rows, numeric columns) with NaN where missing, `texts` as they stand in the file.

    `first` is the number of its first row.
    """

    first: int
    numbers: Array = field(hash=False)
    texts: dict[str, list[str]] = field(hash=False)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass
class Columns:
    """What to take from a file: the numeric columns, all but the text ones where `numeric` is None."""

    texts: tuple[str, ...] = ()
    numeric: tuple[str, ...] | None = None
    #: Columns that must be there, whatever else is.
    needs: tuple[str, ...] = ()
    #: Numeric columns in which a missing value is refused.
    complete: frozenset[str] = frozenset()
    #: What to do about a column that holds no numbers at all.
    hint: str = ""

    def chosen(self, names: Sequence[str], source: str) -> tuple[list[int], list[int]]:
        """Positions of the numeric and of the text columns; a missing or double name is refused."""
        seen: dict[str, int] = {}
        for i, name in enumerate(names):
            if name in seen:
                raise BadTable(
                    f"column names of {source} must differ; got {name!r} in columns {seen[name] + 1} and {i + 1}"
                )
            seen[name] = i
        for name in (*self.needs, *self.texts, *(self.numeric or ())):
            if name not in seen:
                raise BadTable(f"{source} must have a column {name!r}; got {shown(names)}")
        texts = [seen[name] for name in self.texts]
        taken = set(texts)
        if self.numeric is not None:
            return [seen[name] for name in self.numeric], texts
        return [i for i in range(len(names)) if i not in taken], texts


class Table:
    """A source of rows: `names` of its numeric columns, and `chunks()` of them.

    `position()` is how much of `size` has been read, for a progress bar.
    """

    names: list[str]
    source: str
    size: int | None = None

    def chunks(self, rows: int | None = None) -> Iterator[Chunk]:
        """The rows, about `rows` at a time."""
        raise NotImplementedError

    def position(self) -> int:
        return 0

    def close(self) -> None:
        """Let go of the file."""


def checked(table: Array, first: int, names: list[str], complete: Sequence[int], source: str) -> None:
    """Refuse what is infinite, and what is missing where it must not be."""
    bad = np.isinf(table)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise BadTable(
            f"{source}, row {first + row}, column {names[column]!r}: a number must be finite; got {table[row, column]}"
        )
    for column in complete:
        missing = np.isnan(table[:, column])
        if missing.any():
            row = int(np.argmax(missing))
            raise BadTable(f"{source}, row {first + row}, column {names[column]!r}: a value must be given; it is empty")


def open_table(path: str | os.PathLike[str], columns: Columns, delimiter: str = ",") -> Table:
    """The table in a CSV or Parquet file; `-` is CSV from standard input."""
    from hannan.tables.read.csv_table import CsvTable

    if str(path) == "-":
        return CsvTable(_standard_input(), columns, "standard input", delimiter)
    file = Path(path)
    if file.is_dir():
        raise BadTable(f"the file must be CSV or Parquet; {file} is a folder")
    try:
        with file.open("rb") as opened:
            head = opened.read(4)
    except OSError as error:
        raise BadTable(f"the file must be readable; {file}: {error.strerror}") from None
    if head == b"PAR1":
        from hannan.tables.read.parquet import ParquetTable

        return ParquetTable(file, columns)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff", b"PK", b"\x1f\x8b"):
        kind = {b"PK": "a zip archive (or a spreadsheet)", b"\x1f\x8b": "gzip"}.get(head[:2], "text in UTF-16")
        raise BadTable(f"the file must be CSV in UTF-8, or Parquet; {file} is {kind}")
    lines: TextIO = file.open(encoding="utf-8-sig", newline="")
    try:
        return CsvTable(lines, columns, str(file), delimiter, file.stat().st_size)
    except BaseException:
        lines.close()
        raise


def _standard_input() -> TextIO:
    """Standard input, read as a file is: UTF-8, with or without a byte order mark, ends of lines as they are."""
    if sys.stdin is None:
        raise BadTable("standard input must be open to read - from it; it is closed")
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict", newline="")
    return sys.stdin


def shown(names: Sequence[str], most: int = 8) -> str:
    """The first few names, for a message."""
    few = ", ".join(clipped(name) for name in names[:most])
    return few if len(names) <= most else f"{few}, ... ({len(names)} columns)"


def clipped(text: Any, most: int = 40) -> str:
    """A value as a message may quote it."""
    quoted = repr(text)
    return quoted if len(quoted) <= most else quoted[: most - 3] + "..."
