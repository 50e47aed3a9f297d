"""Tables in memory (pandas, polars, pyarrow, a mapping of columns, or NumPy) as names and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hannan import _engine
from hannan.tables.read.table import CHUNK_CELLS, MISSING, BadTable, checked, clipped, forecast_roles, shown
from hannan.validation import Array, meant, unmasked


@dataclass(frozen=True)
class Frame:
    """Forecasts (rows, experts) and targets (rows,), NaN if missing; times and issue times as text."""

    experts: list[str] = field(hash=False)
    forecasts: Array = field(hash=False)
    targets: Array = field(hash=False)
    times: list[str] = field(hash=False)
    target: str = "target"
    time: str | None = None
    issued: list[str] = field(default_factory=list, hash=False)
    groups: list[list[str]] = field(default_factory=list, hash=False)

    def taken(self, order: Any) -> Frame:
        """Return some rows in some order."""
        rows = order.tolist()

        def some(column: list[str]) -> list[str]:
            return [column[row] for row in rows] if column else column

        return replace(
            self, forecasts=self.forecasts[order], targets=self.targets[order], times=some(self.times),
            issued=some(self.issued), groups=[some(column) for column in self.groups],
        )  # fmt: skip


def frame_of(
    table: Any, target: Any, experts: Sequence[str] | None = None, time: str | None = None, issued: str | None = None,
    groups: Sequence[str] = (),
) -> Frame:  # fmt: skip
    """Read the columns of a table; `target` is the name of a column, or a separate array."""
    columns = _columns(table)
    names = list(columns)
    if not names:
        raise BadTable("the table has no columns")
    known = isinstance(target, (str, int)) and not isinstance(target, bool)
    goal = _name(target, names) if known else None
    if time is not None:
        time = _name(time, names)
    if issued is not None:
        issued = _name(issued, names)
    if experts is None:
        chosen = [name for name in names if name not in (goal, time, issued, *groups)]
    else:
        chosen = [_name(name, names) for name in experts]
    forecast_roles(goal, time, chosen, issued)
    if not chosen:
        raise BadTable(f"no column of forecasts in the table; columns are {shown(names)}")
    forecasts = _rows([_numbers(columns[name], name) for name in chosen], chosen)
    targets = _numbers(columns[goal] if goal is not None else target, goal or "target")
    rows = len(forecasts)
    if targets.shape != (rows,):
        raise BadTable(f"target must have one number per row, {rows} in total; got shape {targets.shape}")
    if rows == 0:
        raise BadTable("the table has no rows")
    targets = _rows([targets], [goal or "target"]).reshape(rows)
    times, asked = ([] if name is None else [_text(value) for value in columns[name]] for name in (time, issued))
    labels = [text_of(columns[name]) for name in groups]
    return Frame(
        experts=chosen,
        forecasts=forecasts,
        targets=targets,
        times=times,
        target=goal or "target",
        time=time,
        issued=asked,
        groups=labels,
    )


def _rows(columns: list[Array], names: list[str]) -> Array:
    """Return a copy of columns of equal length as an array (rows, columns); infinite values are an error."""
    rows = len(columns[0])
    for name, column in zip(names, columns, strict=True):
        if column.shape != (rows,):
            raise BadTable(f"column {name!r} must have {rows} rows, like {names[0]!r}; got shape {column.shape}")
    out: Array = np.empty((rows, len(columns)))
    few = max(1, CHUNK_CELLS // len(columns))  # Copy in parts, so that Ctrl-C is handled in between.
    for first in range(0, rows, few):
        _engine.side_by_side(columns, first, out[first : first + few])
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(out.sum()))  # Quick test: usually true unless values are missing or infinite.
    if not finite and np.isinf(out).any():
        checked(out, 1, names, (), "the table")
    return out


def names_of(table: Any) -> list[str]:
    """Return the names of the columns of a table."""
    if hasattr(table, "collect_schema"):  # A lazy frame of polars is not computed.
        return [str(name) for name in table.collect_schema().names()]
    return list(_columns(table))


def index_of(table: Any) -> list[str]:
    """Return the names of the index of a pandas frame; earlier releases of statsforecast have the series there."""
    names = getattr(getattr(table, "index", None), "names", None)
    return [name for name in names or () if isinstance(name, str)]


def columns_of(table: Any, needed: Sequence[str]) -> dict[str, Any]:
    """Return name -> column; a missing column of `needed` is an error."""
    columns = _columns(table)
    for name in needed:
        _name(name, list(columns))
    return columns


def numbers_of(column: Any, name: str, complete: bool = False) -> Array:
    """Return a column as finite floats with NaN for missing values; with `complete`, missing values are an error."""
    numbers = _numbers(column, name)
    checked(numbers[:, None], 1, [name], (0,) if complete else (), "the table")
    return numbers


def text_of(column: Any) -> list[str]:
    """Return a column as labels; integers have no decimal point."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(unmasked(column, "a column"))
    return ["" if value is None or value != value else _label(value) for value in values.tolist()]


def _label(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _columns(table: Any) -> dict[str, Any]:
    """Return name -> column for any kind of table."""
    if isinstance(table, Mapping):
        return {str(name): column for name, column in table.items()}
    if hasattr(table, "collect") and hasattr(table, "lazy"):
        table = table.collect()  # A lazy frame of polars.
    if hasattr(table, "column_names") and hasattr(table, "column"):  # A table of pyarrow.
        return columns_by_name(table.column_names, table.column)
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        return columns_by_name(table.columns, table.__getitem__)
    array = np.asarray(unmasked(table, "a table"))
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim != 2:
        raise BadTable(f"a table must have two axes, rows and columns; got an array of shape {array.shape}")
    return {str(i): array[:, i] for i in range(array.shape[1])}


def columns_by_name(names: Sequence[Any], column: Callable[[Any], Any]) -> dict[str, Any]:
    """Return name -> column; names that are equal as strings are an error."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        double = next(name for name in texts if texts.count(name) > 1)
        raise BadTable(f"column names of the table must be unique; got {double!r} twice")
    return {text: column(name) for text, name in zip(texts, names, strict=True)}


def _name(name: Any, names: Sequence[str]) -> str:
    wanted = str(name)
    if isinstance(name, int) and wanted not in names and -len(names) <= name < len(names):
        wanted = names[name]
    if wanted not in names:
        raise BadTable(f"no column {wanted!r} in the table; columns are {shown(names)}{meant(wanted, names)}")
    return wanted


def _numbers(column: Any, name: str) -> Array:
    """Return a column as floats, without a copy if possible; missing values are NaN, other non-numbers an error."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(unmasked(column, f"column {name!r}"))
    if values.dtype.kind == "U" and isinstance(column, (list, tuple)):
        values = np.array(column, dtype=object)  # Otherwise NumPy converts numbers next to strings to strings.
    if values.dtype.kind in "fiu":
        floats: Array = values.astype(np.float64, copy=False)
        return floats if floats.flags.aligned else floats.copy()  # Fields of packed arrays can be unaligned.
    if values.dtype.kind in "mM":
        raise BadTable(f"the table, column {name!r}: expected numbers; got times. Name a column of times with time=")
    out = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        out[row] = _number(value, row, name)
    return out


def _number(value: Any, row: int, name: str) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    if isinstance(value, str) and value.strip().lower() in MISSING:
        return float("nan")
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise BadTable(
            f"the table, row {row + 1}, column {name!r}: expected a number or a missing value; got {clipped(value)}"
        ) from None


def _text(value: Any) -> str:
    value = value.as_py() if hasattr(value, "as_py") else value  # A scalar of pyarrow.
    if isinstance(value, np.datetime64):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
