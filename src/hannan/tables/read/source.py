"""Where a table comes from: a file of CSV or Parquet, or standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from hannan.tables.read.csv_table import CsvTable
from hannan.tables.read.parquet import ParquetTable
from hannan.tables.read.table import BadTable, Columns, Table


def open_table(path: str | os.PathLike[str], columns: Columns, delimiter: str = ",") -> Table:
    """The table in a CSV or Parquet file; `-` is CSV from standard input."""
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
