"""What every public result does: it prints itself, shows itself in a notebook, and goes to a dict and to a file.

A result says once what there is to show, `shown()`: a title, rows of names and texts, a table. Text, HTML, and the file
of either are made of that here, and nowhere else.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hannan.saving.formatting import figure, number

if TYPE_CHECKING:
    from pathlib import Path


#: How long a line of text may be.
LINE = 110


class Shown(NamedTuple):
    """A result for a reader: a title, rows of (name, text), then a table whose cells are texts or numbers."""

    title: str
    rows: Sequence[tuple[str, str]] = ()
    columns: Sequence[str] = ()
    table: Sequence[Sequence[Any]] = ()


class Result:
    """A result that shows itself; `shown()` is what it says."""

    def shown(self) -> Shown:
        """What there is to show."""
        raise NotImplementedError

    def __str__(self) -> str:
        return as_text(self.shown())

    def _repr_html_(self) -> str:
        return as_html(self.shown())

    def to_dict(self) -> dict[str, Any]:
        """Its fields as JSON knows them: plain numbers, texts and lists; what is not finite is None."""
        return dict(plain(self))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it, whole or not at all: a name that ends in .json has `to_dict()`, one in .html a page to read."""
        from hannan.saving.files import write

        name = os.fspath(path)
        if name.endswith(".json"):
            return write(path, to_text(self.to_dict()) + "\n")
        if name.endswith(".html"):
            return write(path, as_page(self.shown()))
        raise ValueError(f"a result must be saved as .json or .html; got {name!r}")


def as_text(shown: Shown) -> str:
    """For a terminal.

    >>> print(as_text(Shown("two arms", [("rounds", "10")], ("arm", "loss"), [("red", 12690.4), ("blue", 9e-172)])))
    two arms
      rounds  10
    <BLANKLINE>
      arm    loss
      red   12690
      blue     ≈0
    """
    from textwrap import wrap

    width = max((len(name) for name, _ in shown.rows), default=0)
    lines = [shown.title]
    for name, text in shown.rows:
        first, *more = wrap(text, max(60, LINE - width - 4)) or [""]
        lines += [f"  {name:<{width}}  {first}", *(f"  {'':<{width}}  {line}" for line in more)]
    if shown.table:
        cells = [[_cell(value, figure) for value in row] for row in shown.table]
        wide = [max(len(row[i]) for row in [list(shown.columns), *cells]) for i in range(len(shown.columns))]
        right = _numeric(shown)
        lines += [""] if shown.rows else []
        for row in [list(shown.columns), *cells]:
            told = (x.rjust(w) if r else x.ljust(w) for x, w, r in zip(row, wide, right, strict=True))
            lines.append(("  " + "  ".join(told)).rstrip())
    return "\n".join(lines)


#: Notebooks align cells to the right and strip classes; so each says for itself how it stands.
_LEFT = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
_RIGHT = "text-align:right;vertical-align:top;padding:2px 12px 2px 0;font-variant-numeric:tabular-nums"


def as_html(shown: Shown) -> str:
    """For a notebook: tables without scripts or styles from elsewhere; every text is escaped.

    >>> "<script>" in as_html(Shown("<script>", [("<script>", "<script>")], ("<script>",), [("<script>",)]))
    False
    """
    from html import escape

    parts = [f'<div style="font-weight:600;margin:4px 0">{escape(shown.title)}</div>']
    if shown.rows:
        body = "".join(
            f'<tr><th style="{_LEFT};white-space:nowrap">{escape(name.strip())}</th>'
            f'<td style="{_LEFT};max-width:60em">{escape(text)}</td></tr>'
            for name, text in shown.rows
        )
        parts.append(f"<table>{body}</table>")
    if shown.table:
        styles = [_RIGHT if numeric else _LEFT for numeric in _numeric(shown)]
        head = "".join(f'<th style="{s}">{escape(c)}</th>' for c, s in zip(shown.columns, styles, strict=True))
        body = "".join(
            "<tr>"
            + "".join(f'<td style="{s}">{escape(_cell(v, number))}</td>' for v, s in zip(row, styles, strict=True))
            + "</tr>"
            for row in shown.table
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


def as_page(shown: Shown) -> str:
    """The same as a file of its own."""
    from html import escape

    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(shown.title)}</title></head>"
        f'<body style="font:16px/1.5 system-ui,sans-serif;margin:24px">{as_html(shown)}</body></html>\n'
    )


def plain(value: Any) -> Any:
    """Python's own numbers, lists and text, as JSON knows them; a dataclass is a dict of its public fields.

    >>> plain({"a": float("nan"), "b": (1, 2.5)})
    {'a': None, 'b': [1, 2.5]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        told = [field.name for field in dataclasses.fields(value) if field.compare and field.name[0] != "_"]
        return {name: plain(getattr(value, name)) for name in told}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def to_text(value: Any, indent: int | None = 2) -> str:
    """JSON text, `plain`; on one line where `indent` is None."""
    import json

    return json.dumps(plain(value), indent=indent, ensure_ascii=False)


def _cell(value: Any, shape: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(shape(value)) if isinstance(value, (int, float)) else str(value)


def _numeric(shown: Shown) -> list[bool]:
    """Which columns hold numbers alone."""
    return [
        all(
            row[i] is None or (isinstance(row[i], (int, float)) and not isinstance(row[i], bool)) for row in shown.table
        )
        for i in range(len(shown.columns))
    ]


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
