"""A table of losses from a file, one row per round and one column per arm: .npy, .csv with a header, or .parquet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hannan import extras


def losses_of(path: str | Path, columns: Sequence[str] | None = None) -> Any:
    """The table (rounds, n); of CSV and Parquet the columns that are named, all by default."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"a file of losses must be there; got {str(path)!r}")
    kind = path.suffix.lower()
    if kind == ".npy":
        if columns is not None:
            raise ValueError(f"columns are for .csv and .parquet; got {list(columns)} for {str(path)!r}")
        return np.load(path, mmap_mode="r", allow_pickle=False)
    if kind == ".csv":
        return _csv(path, columns)
    if kind == ".parquet":
        return _parquet(path, columns)
    raise ValueError(f"a file of losses must be .npy, .csv or .parquet; got {str(path)!r}")


def _csv(path: Path, columns: Sequence[str] | None) -> Any:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        chosen = _chosen(next(rows, []), columns, path)
        table = []
        for row in rows:
            try:
                table.append([float(row[i]) for i in chosen])
            except (ValueError, IndexError):
                raise ValueError(f"{path}, line {rows.line_num}: a row must be numbers; got {row[:8]}") from None
    if not table:
        raise ValueError(f"{path} must have rows of losses; it has none")
    return np.array(table)


def _parquet(path: Path, columns: Sequence[str] | None) -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ValueError(f"{path} is Parquet, which needs pyarrow: {extras.command('data', 'pyarrow')}") from None
    file = parquet.ParquetFile(path)
    names = list(file.schema_arrow.names)
    table = file.read([names[i] for i in _chosen(names, columns, path)])
    try:
        return np.column_stack([column.to_numpy().astype(np.float64) for column in table.columns])
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} must have columns of numbers; {error}") from None


def _chosen(names: Sequence[str], columns: Sequence[str] | None, path: Path) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    for column in columns:
        if column not in names:
            raise ValueError(f"{path} must have a column {column!r}; got {', '.join(names[:20])}")
    return [list(names).index(column) for column in columns]
