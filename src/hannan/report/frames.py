"""Columns as a frame of the library that the user has: pandas, polars or pyarrow."""

from __future__ import annotations

from typing import Any

#: Libraries whose frames are accepted and returned.
LIBRARIES = ("pandas", "polars", "pyarrow")


def library_of(frame: Any) -> str:
    """Return the library that a frame comes from; empty for mappings, arrays and other objects.

    >>> library_of({"y": [1.0]})
    ''
    """
    name = type(frame).__module__.partition(".")[0]
    return name if name in LIBRARIES else ""


def frame_of(columns: dict[str, Any], library: str = "", index: Any = None) -> Any:
    """Return a frame of columns from a library; by default from pandas, else from polars.

    `index` holds the row labels of a pandas frame. Other libraries have none.
    """
    if library == "pyarrow":
        import pyarrow

        kinds = (pyarrow.Array, pyarrow.ChunkedArray)
        made = {name: one if isinstance(one, kinds) else pyarrow.array(_plain(one)) for name, one in columns.items()}
        return pyarrow.table(made)
    if library != "polars":
        try:
            import pandas

            shown = {name: one.to_pandas() if hasattr(one, "to_pandas") else one for name, one in columns.items()}
            return pandas.DataFrame(shown, index=index)
        except ImportError:
            pass
    try:
        import polars
    except ImportError:
        raise ModuleNotFoundError("a frame needs pandas or polars: install one of them") from None
    return polars.DataFrame({name: _plain(one) for name, one in columns.items()})


def _plain(column: Any) -> Any:
    """Return an array of objects as a list, so that the type of the column is found from its values."""
    return column.tolist() if getattr(getattr(column, "dtype", None), "kind", "") == "O" else column
