"""A log as a file: CSV or Parquet, as `hannan replay` reads them. Missing numbers are empty cells, or null."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

from hannan.serving.errors import BODY, Refused
from hannan.tables.write import guarded


def exported(columns: dict[str, Any], form: str) -> bytes:
    """Return the bytes of the file."""
    if form == "parquet":
        return _parquet(columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    plain = [column.tolist() for column in columns.values()]
    for row in zip(*plain, strict=True):
        writer.writerow([_cell(value) for value in row])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value)
    return "" if isinstance(value, float) and math.isnan(value) else value


def _parquet(columns: dict[str, Any]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Refused(BODY, "Parquet needs pyarrow, which is not installed here; ask for csv") from None
    out = io.BytesIO()
    table = {name: pyarrow.array(column, from_pandas=True) for name, column in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(table), out)
    return out.getvalue()
