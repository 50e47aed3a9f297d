"""A log as a file: CSV or Parquet, as `hannan replay` reads them."""

from __future__ import annotations

import csv
import io
from typing import Any

from hannan.serving.errors import BODY, Refused
from hannan.tables.write import guarded


def exported(columns: dict[str, Any], form: str) -> bytes:
    """The bytes of the file."""
    if form == "parquet":
        return _parquet(columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    plain = [column.tolist() for column in columns.values()]
    for row in zip(*plain, strict=True):
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue().encode()


def _parquet(columns: dict[str, Any]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Refused(BODY, "Parquet needs pyarrow, which is not installed here; ask for csv") from None
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()}), out)
    return out.getvalue()
