"""Results: their common layout, as text and as HTML, and their export to dictionaries and files.

A result describes itself once, in `shown()`. Text, HTML and files are made from that description, so that all of them
have the same lines in the same order: headline, rows, table, assumptions, details.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hannan.saving.formatting import figure, number

if TYPE_CHECKING:
    from pathlib import Path


#: Longest and shortest line of text, in characters. A terminal between them is used in its full width.
LINE, NARROW = 110, 60

Rows = Sequence[tuple[str, str]]


class Shown(NamedTuple):
    """Content of a printed result, in the order in which it is printed.

    `title` is the headline: what was computed, and the number that matters. `rows` are (label, text) pairs. The cells
    of `table` are texts or numbers, with one head per column in `columns`. `assumptions` are printed under a heading of
    that name, and so are `details`: theorem, terms, and the learner. A summary leaves out the details.
    """

    title: str
    rows: Rows = ()
    columns: Sequence[str] = ()
    table: Sequence[Sequence[Any]] = ()
    assumptions: Rows = ()
    details: Rows = ()

    @property
    def sections(self) -> list[tuple[str, Rows]]:
        """Headings with their rows, without empty sections."""
        both = (("Assumptions", self.assumptions), ("Details", self.details))
        return [(heading, rows) for heading, rows in both if rows]


class Result:
    """A result that prints itself, shows itself in a notebook, and can be saved.

    Subclasses implement `shown()`.
    """

    def shown(self) -> Shown:
        """Return the content of the printed result.

        Returns
        -------
        Shown
            Headline, rows, table, assumptions and details.
        """
        raise NotImplementedError

    def __str__(self) -> str:
        return as_text(self.shown())

    def _repr_html_(self) -> str:
        shown = self.shown()
        return as_picture(getattr(self, "plot", None), shown.title) + as_html(shown)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain numbers, strings and lists that JSON can hold.

        Returns
        -------
        dict
            Field names and values. Numbers that are not finite become None.
        """
        return dict(plain(self))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result to a file, atomically.

        Parameters
        ----------
        path : str or os.PathLike
            A name that ends in .json for the fields of `to_dict()`, or in .html for a page.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ValueError
            If the name ends differently.
        """
        from hannan.saving.files import write

        name = os.fspath(path)
        if name.endswith(".json"):
            return write(path, to_text(self.to_dict()) + "\n")
        if name.endswith(".html"):
            return write(path, as_page(self.shown()))
        raise ValueError(f"path must end in .json or .html; got {name!r}")


def line_length() -> int:
    """Return the width of the terminal, between `NARROW` and `LINE`; `LINE` if the output is not a terminal."""
    import shutil

    return min(LINE, max(NARROW, shutil.get_terminal_size((LINE, 24)).columns))


def as_text(shown: Shown, details: bool = True) -> str:
    """Return a result as lines of text for a terminal; without its details if `details` is False.

    >>> loss = Shown("two arms", [("rounds", "10")], ("arm", "loss"), [("red", 12690.4), ("blue", 9e-172)],
    ...              details=[("learner", "Bandit(2)")])
    >>> print(as_text(loss))
    two arms
      rounds   10
    <BLANKLINE>
      arm    loss
      red   12690
      blue     ≈0
    <BLANKLINE>
    Details
      learner  Bandit(2)
    >>> print(as_text(loss, details=False).splitlines()[-1])
      blue     ≈0
    """
    width = max((len(name) for name, _ in (*shown.rows, *shown.assumptions, *shown.details)), default=0)
    lines = [shown.title, *_lines(shown.rows, width)]
    if shown.table:
        lines += [""] if shown.rows else []
        lines += _table(shown)
    for heading, rows in shown.sections:
        if details or heading != "Details":
            lines += ["", heading, *_lines(rows, width)]
    return "\n".join(lines)


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap a text at spaces; line breaks in it are kept."""
    from textwrap import wrap

    return [line for part in text.split("\n") for line in (wrap(part, width, break_on_hyphens=False) or [""])]


def _lines(rows: Rows, width: int) -> list[str]:
    lines = []
    for name, text in rows:
        first, *more = _wrapped(text, max(NARROW - 20, line_length() - width - 4))
        lines += [f"  {name:<{width}}  {first}".rstrip(), *(f"  {'':<{width}}  {line}".rstrip() for line in more)]
    return lines


def _table(shown: Shown) -> list[str]:
    cells = [list(shown.columns), *([_cell(value, figure) for value in row] for row in shown.table)]
    wide = [max(len(row[i]) for row in cells) for i in range(len(shown.columns))]
    right = _numeric(shown)
    lines = []
    for row in cells:
        aligned = (x.rjust(w) if r else x.ljust(w) for x, w, r in zip(row, wide, right, strict=True))
        lines.append(("  " + "  ".join(aligned)).rstrip())
    return lines


#: Notebooks align cells to the right and strip classes, so that every cell carries its own style.
_LEFT = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
_RIGHT = "text-align:right;vertical-align:top;padding:2px 12px 2px 0;font-variant-numeric:tabular-nums"
_HEADING = "font-weight:600;margin:4px 0"


def as_html(shown: Shown) -> str:
    """Return a result as HTML for a notebook: no scripts, no external styles, every text escaped.

    >>> "<script>" in as_html(Shown("<script>", [("<script>", "<script>")], ("<script>",), [("<script>",)]))
    False
    """
    from html import escape

    parts = [f'<div style="{_HEADING}">{escape(shown.title)}</div>']
    if shown.rows:
        parts.append(_html_rows(shown.rows))
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
    for heading, rows in shown.sections:
        parts += [f'<div style="{_HEADING}">{heading}</div>', _html_rows(rows)]
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


#: Descriptions of single marks, with all digits of their coordinates.
_ARIA = re.compile(r' (?:role|aria-label|aria-roledescription)="[^"]*"')


def as_picture(plot: Callable[[], Any] | None, title: str) -> str:
    """Return what `plot` draws as SVG; an empty string if there is no picture, or no package that draws it.

    Screen readers get the title and the table below the picture, not the coordinates of each mark.

    >>> as_picture(None, "Record")
    ''
    """
    from html import escape
    from importlib.util import find_spec

    if plot is None or not all(find_spec(name) for name in ("altair", "vl_convert")):
        return ""
    picture = str(plot()._repr_mimebundle_().get("image/svg+xml", ""))
    picture = _ARIA.sub("", picture)
    return picture.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def _html_rows(rows: Rows) -> str:
    from html import escape

    body = "".join(
        f'<tr><th style="{_LEFT};white-space:nowrap">{escape(name.strip())}</th>'
        f'<td style="{_LEFT};max-width:60em;white-space:pre-line">{escape(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table>{body}</table>"


def as_page(shown: Shown, picture: str = "") -> str:
    """Return a result as a complete HTML page, below a picture (SVG) if there is one."""
    from html import escape

    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(shown.title)}</title></head>"
        f'<body style="font:16px/1.5 system-ui,sans-serif;margin:24px">{picture}{as_html(shown)}</body></html>\n'
    )


def plain(value: Any) -> Any:
    """Return a value as numbers, lists, strings and dicts that JSON can hold; a dataclass as a dict of its fields.

    Fields that do not take part in comparisons, and fields whose names begin with an underscore, are omitted.

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
        names = [field.name for field in dataclasses.fields(value) if field.compare and field.name[0] != "_"]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def to_text(value: Any, indent: int | None = 2) -> str:
    """Return a value as JSON text, converted by `plain`; on one line if `indent` is None."""
    import json

    return json.dumps(plain(value), indent=indent, ensure_ascii=False)


def _cell(value: Any, shape: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(shape(value)) if isinstance(value, (int, float)) else str(value)


def _numeric(shown: Shown) -> list[bool]:
    """Return, for each column, whether all its cells are numbers or missing."""
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

    A frame of narwhals has two names, such as "narwhals polars": its backend is the library that holds the columns.

    >>> library_of({"y": [1.0]})
    ''
    """
    name = type(frame).__module__.partition(".")[0]
    if name == "narwhals":
        return f"{name} {library_of(frame.to_native())}"
    return name if name in LIBRARIES else ""


def frame_of(columns: dict[str, Any], library: str = "", index: Any = None) -> Any:
    """Return a frame of columns from a library; by default from pandas, else from polars.

    `index` holds the row labels of a pandas frame. Other libraries have none.
    """
    if library.startswith("narwhals"):
        import narwhals

        return narwhals.from_native(frame_of(columns, library.partition(" ")[2], index))
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
