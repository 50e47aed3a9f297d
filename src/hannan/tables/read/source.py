"""Sources of tables: CSV and Parquet files, and standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hannan import extras
from hannan.tables.read.csv_table import CsvTable
from hannan.tables.read.table import CHUNK_CELLS, BadTable, Chunk, Columns, Table, checked


class ParquetTable(Table):
    """A Parquet file; nulls are missing values."""

    def __init__(self, path: Path, columns: Columns) -> None:
        try:
            from pyarrow import ArrowInvalid
            from pyarrow import types as kinds
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise BadTable(f"reading Parquet needs pyarrow ({path}): {extras.command('data', 'pyarrow')}") from None
        self.source = str(path)
        try:
            self._file: Any = ParquetFile(path)
        except ArrowInvalid as error:
            raise BadTable(f"{path} is not a valid Parquet file: {str(error).splitlines()[0]}") from None
        schema = self._file.schema_arrow
        numeric, texts = columns.chosen(schema.names, self.source)
        self.names = [schema.names[i] for i in numeric]
        self._text_names = [schema.names[i] for i in texts]
        for name in self.names:
            kind = schema.field(name).type
            number = kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind)
            if not (number or kinds.is_boolean(kind) or kinds.is_null(kind)):
                raise BadTable(f"{path}, column {name!r}: expected a numeric column; got {kind}")
        self._complete = [i for i, name in enumerate(self.names) if name in columns.complete]
        self.size = self._file.metadata.num_rows
        if self.size == 0:
            raise BadTable(f"{path} has no rows")
        self._read = 0

    def position(self) -> int:
        return self._read

    def chunks(self, rows: int | None = None) -> Iterator[Chunk]:
        size = rows or max(1, CHUNK_CELLS // max(1, len(self.names) + len(self._text_names)))
        first = 1
        for batch in self._file.iter_batches(batch_size=size, columns=[*self.names, *self._text_names]):
            if batch.num_rows == 0:
                continue
            table = np.empty((batch.num_rows, len(self.names)))
            for i, name in enumerate(self.names):
                table[:, i] = _floats(batch.column(name))
            checked(table, first, self.names, self._complete, self.source)
            texts = {name: [_text(x) for x in batch.column(name).to_pylist()] for name in self._text_names}
            self._read += batch.num_rows
            yield Chunk(first, table, texts)
            first += batch.num_rows

    def whole(self) -> dict[str, Any]:
        """Return all columns as Arrow arrays, for tables that are sorted before they are played."""
        table = self._file.read(columns=[*self._text_names, *self.names])
        return {name: table.column(name) for name in table.column_names}

    def close(self) -> None:
        self._file.close()


def _floats(column: Any) -> Any:
    import pyarrow

    return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def open_table(path: str | os.PathLike[str], columns: Columns, delimiter: str = ",") -> Table:
    """Return the table of a CSV or Parquet file; `-` is CSV from standard input."""
    if str(path) == "-":
        return CsvTable(_standard_input(), columns, "standard input", delimiter)
    file = Path(path)
    if file.is_dir():
        raise BadTable(f"{file} is a folder; expected a CSV or Parquet file")
    try:
        with file.open("rb") as opened:
            head = opened.read(4)
    except OSError as error:
        raise BadTable(f"cannot read {file}: {error.strerror}") from None
    if head == b"PAR1":
        return ParquetTable(file, columns)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff", b"PK", b"\x1f\x8b"):
        kind = {b"PK": "a zip archive (or a spreadsheet)", b"\x1f\x8b": "gzip"}.get(head[:2], "text in UTF-16")
        raise BadTable(f"{file} is {kind}; expected CSV in UTF-8, or Parquet")
    lines: TextIO = file.open(encoding="utf-8-sig", newline="")
    try:
        return CsvTable(lines, columns, str(file), delimiter, file.stat().st_size)
    except BaseException:
        lines.close()
        raise


def _standard_input() -> TextIO:
    """Return standard input, decoded like a file: UTF-8, with or without a byte order mark, original line ends."""
    if sys.stdin is None:
        raise BadTable("cannot read -: standard input is closed")
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict", newline="")
    return sys.stdin
