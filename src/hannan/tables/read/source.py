"""Sources of tables: CSV and Parquet files, and standard input. CSV is read row by row or in blocks."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hannan import extras
from hannan.tables.read.table import CHUNK_CELLS, MISSING, BadTable, Chunk, Columns, Table, checked, clipped
from hannan.tables.write import unguarded
from hannan.validation import Array

#: Files of at least this size in bytes are read by pyarrow, if it is installed, in blocks of this many characters.
QUICK_FROM = 1 << 20
QUICK_BLOCK = 1 << 22
QUICK_WIDTH = 2000


class CsvTable(Table):
    """A CSV file, or a stream of text lines such as standard input."""

    def __init__(self, lines: TextIO, columns: Columns, source: str, delimiter: str = ",", size: int | None = None):
        self._lines, self.source, self.size, self._read = lines, source, size, 0
        self._odd = False
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise BadTable(f"delimiter must be one character other than a quote or a line end; got {delimiter!r}")
        self._delimiter = delimiter
        self._rows = self._reader(lines)
        header = self._next(0)
        if header is None:
            raise BadTable(f"{source} is empty; expected a header and rows")
        header = [unguarded(name.strip()) for name in header]
        self._width = len(header)
        try:
            self._numeric, self._texts = columns.chosen(header, source)
        except BadTable as error:
            raise BadTable(f"{error}{self._doubt(header)}") from None
        self.names = [header[i] for i in self._numeric]
        self._text_names = [header[i] for i in self._texts]
        self._hint = columns.hint
        self._complete = [i for i, name in enumerate(self.names) if name in columns.complete]
        #: True if all columns are numeric and read in the order of the file.
        self._plain = self._numeric == list(range(self._width))

    def _doubt(self, header: list[str]) -> str:
        """Return a question if the header contains another common delimiter."""
        other = next((d for d in ";\t" if self._delimiter == "," and d in "".join(header)), None)
        return f". Is the delimiter {other!r}?" if other else ""

    def _reader(self, lines: Iterable[str]) -> Any:
        return csv.reader(self._counted(lines), delimiter=self._delimiter, strict=True)

    def _counted(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._read += len(line)
            self._odd |= "_" in line  # Python would read 1_000 as a number.
            yield line

    def position(self) -> int:
        return self._read

    def _next(self, number: int) -> list[str] | None:
        """Return the next row that is not blank; `number` is the number of the row, 0 for the header."""
        where = f"row {number}" if number else "the header"
        try:
            for row in self._rows:
                if row:
                    return list(row)
        except csv.Error as error:
            reason = str(error)
            if "unexpected end of data" in reason:
                reason = "a quoted field is not closed; the file may be incomplete"
            elif "field larger" in reason:
                reason = f"a field is longer than {csv.field_size_limit()} characters; a quote may not be closed"
            raise BadTable(f"{self.source}, {where}: {reason}") from None
        except UnicodeDecodeError:
            raise self._undecodable(f"{where} or a later row") from None
        return None

    def _undecodable(self, where: str) -> BadTable:
        """Return the error for text that is not UTF-8. Files are decoded in blocks, so read again to find the row."""
        if self.size is None:  # Standard input cannot be read again.
            return BadTable(f"{self.source}, {where}: expected text in UTF-8")
        with (
            contextlib.suppress(OSError, csv.Error),
            open(self.source, encoding="utf-8-sig", errors="surrogateescape", newline="") as lines,
        ):
            rows = (row for row in csv.reader(lines, delimiter=self._delimiter) if row)
            for number, row in enumerate(rows):
                for cell in row:
                    if any("\udc80" <= letter <= "\udcff" for letter in cell):
                        place = f"row {number}" if number else "the header"
                        got = clipped(cell.encode(errors="surrogateescape"))
                        return BadTable(f"{self.source}, {place}: expected text in UTF-8; got {got}")
        return BadTable(f"{self.source}, {where}: expected text in UTF-8")

    def chunks(self, rows: int | None = None) -> Iterator[Chunk]:
        first = 1
        if rows is None and self.size is not None and self.size >= QUICK_FROM and self._width <= QUICK_WIDTH:
            for chunk in self._quick_chunks():
                first = chunk.first + len(chunk)
                yield chunk
        size = rows or max(1, CHUNK_CELLS // max(1, self._width))
        while True:
            numbers: list[float] = []
            texts: dict[str, list[str]] = {name: [] for name in self._text_names}
            taken = 0
            while taken < size:
                row = self._next(first + taken)
                if row is None:
                    break
                self._take(row, first + taken, numbers, texts)
                taken += 1
            if taken:
                yield self._chunk(first, taken, numbers, texts)
            if taken < size:
                if first + taken == 1:
                    raise BadTable(f"{self.source} has a header but no rows")
                return
            first += taken

    def _quick_chunks(self) -> Iterator[Chunk]:
        """Yield chunks of a large file read by pyarrow, up to the first quote; numbers and errors are the same."""
        try:
            quick = Quick(self._width, self._numeric, self._texts, self._delimiter)
        except ImportError:
            return
        first = 1
        while text := self._block(first):
            if '"' in text:
                self._rows = self._reader(chain(io.StringIO(text, newline=""), self._lines))
                return
            self._read += len(text)
            read = quick.read(text)
            if read is None:
                # Read the block row by row, which either succeeds or names the row of the error.
                slow = self._slowly(text, first)
            else:
                table, columns = read
                checked(table, first, self.names, self._complete, self.source)
                slow = Chunk(first, table, dict(zip(self._text_names, columns, strict=True)))
            if len(slow):
                yield slow
            first += len(slow)

    def _block(self, first: int) -> str:
        try:
            return self._lines.read(QUICK_BLOCK) + self._lines.readline()
        except UnicodeDecodeError:
            raise self._undecodable(f"a row after row {first - 1}") from None

    def _slowly(self, text: str, first: int) -> Chunk:
        keep, read = self._rows, self._read
        self._rows = self._reader(io.StringIO(text, newline=""))
        numbers: list[float] = []
        texts: dict[str, list[str]] = {name: [] for name in self._text_names}
        taken = 0
        while (row := self._next(first + taken)) is not None:
            self._take(row, first + taken, numbers, texts)
            taken += 1
        self._rows, self._read = keep, read
        return self._chunk(first, taken, numbers, texts)

    def _take(self, row: list[str], number: int, numbers: list[float], texts: dict[str, list[str]]) -> None:
        if len(row) != self._width:
            raise BadTable(
                f"{self.source}, row {number}: expected {self._width} cells, like the header; got {len(row)}"
                f"{self._doubt(self.names)}"
            )
        cells = row if self._plain else [row[i] for i in self._numeric]
        before = len(numbers)
        try:
            if self._odd:
                raise ValueError
            numbers.extend(map(float, cells))
        except ValueError:
            self._odd = False
            del numbers[before:]
            numbers.extend(self._number(cell, number, i) for i, cell in enumerate(cells))
        for name, i in zip(self._text_names, self._texts, strict=True):
            texts[name].append(unguarded(row[i].strip()))

    def _number(self, cell: str, row: int, column: int) -> float:
        text = cell.strip()
        if text.lower() in MISSING:
            return math.nan
        try:
            if "_" in text:
                raise ValueError
            return float(text)
        except ValueError:
            # A file with one column usually has another delimiter.
            hint = self._doubt(self.names) if self._width == 1 else ""
            hint = hint or (f". {self._hint}" if self._hint and row == 1 else "")
            raise BadTable(
                f"{self.source}, row {row}, column {self.names[column]!r}: expected a number or an empty cell; "
                f"got {clipped(text)}{hint}"
            ) from None

    def _chunk(self, first: int, rows: int, numbers: list[float], texts: dict[str, list[str]]) -> Chunk:
        table = np.array(numbers, dtype=np.float64).reshape(rows, len(self.names))
        checked(table, first, self.names, self._complete, self.source)
        return Chunk(first, table, texts)

    def close(self) -> None:
        if self._lines is not sys.stdin:
            self._lines.close()


def from_text(text: str, columns: Columns | None = None, source: str = "the text") -> CsvTable:
    """Return the table of a string, for small tables and for tests.

    >>> next(from_text("a,b\\n1,2\\n3,\\n").chunks()).numbers.tolist()
    [[1.0, 2.0], [3.0, nan]]
    """
    return CsvTable(io.StringIO(text, newline=""), columns or Columns(), source)


_NULLS = ["", *(form(word) for word in ("na", "n/a", "nan", "null", "none") for form in (str, str.upper, str.title))]
_NULLS.append("NaN")


class Quick:
    """Reader of blocks of rows without quotes; it returns None if a block cannot be read."""

    def __init__(self, width: int, numeric: Sequence[int], texts: Sequence[int], delimiter: str) -> None:
        import pyarrow
        from pyarrow import csv as arrow

        names = [f"c{i}" for i in range(width)]
        self._numeric, self._texts = [names[i] for i in numeric], [names[i] for i in texts]
        kinds: dict[str, Any] = dict.fromkeys(self._numeric, pyarrow.float64())
        kinds |= dict.fromkeys(self._texts, pyarrow.string())
        self._read = arrow.ReadOptions(column_names=names, use_threads=False, block_size=1 << 24)
        self._parse = arrow.ParseOptions(delimiter=delimiter, quote_char=False)
        self._convert = arrow.ConvertOptions(
            column_types=kinds, null_values=_NULLS, include_columns=[*self._numeric, *self._texts],
            strings_can_be_null=False,
        )  # fmt: skip

    def read(self, text: str) -> tuple[Array, list[list[str]]] | None:
        """Return the numbers, and the texts by column."""
        import pyarrow
        from pyarrow import csv as arrow

        try:
            table = arrow.read_csv(io.BytesIO(text.encode()), self._read, self._parse, self._convert)
        except pyarrow.ArrowInvalid:
            return None
        numbers = np.empty((table.num_rows, len(self._numeric)))
        for i, name in enumerate(self._numeric):
            numbers[:, i] = table.column(name).to_numpy()
        return numbers, [[unguarded(cell.strip()) for cell in table.column(name).to_pylist()] for name in self._texts]


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
