"""Columns as a frame: pandas, else polars."""

from __future__ import annotations

from typing import Any


def frame_of(columns: dict[str, Any]) -> Any:
    """A frame of pandas, or of polars where there is no pandas."""
    try:
        import pandas

        return pandas.DataFrame(columns)
    except ImportError:
        pass
    try:
        import polars
    except ImportError:
        raise ModuleNotFoundError("a frame needs pandas or polars: install one of them") from None
    return polars.DataFrame(columns)
