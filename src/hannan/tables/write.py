"""Writers of CSV and JSON, temporary rows on disk, and parts of pages about tables."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from hannan.report import Badge, Figure, Layer, Page, Picture
from hannan.report.page import PAGE, drawable
from hannan.saving import files
from hannan.saving.files import Outbox
from hannan.saving.result import to_text
from hannan.validation import Array

#: Largest part of a memory-mapped array that stays in memory, in bytes.
KEPT = 1 << 27
#: Above this number of columns, pyarrow is not used, because it is slow for wide tables.
WIDE = 2000


#: Characters at the beginning of a cell that a spreadsheet interprets as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def guarded(text: str) -> str:
    """Return text for a CSV cell, with an apostrophe in front if a spreadsheet would interpret the text as a formula.

    Numbers are unchanged. `unguarded`, which the CSV reader of this package applies, returns the original text.

    >>> guarded("=1+1"), guarded("-3.5"), guarded("-x"), unguarded("'=1+1"), unguarded("'tis")
    ("'=1+1", '-3.5', "'-x", '=1+1', "'tis")
    """
    return f"'{text}" if _formula(text) else text


def unguarded(text: str) -> str:
    """Return the original text of `guarded`."""
    return text[1:] if text[:1] == "'" and _formula(text) else text


def _formula(text: str) -> bool:
    # Skip leading apostrophes, so that guarded text can be guarded again without ambiguity.
    bare = text.lstrip("'") if text[:1] == "'" else text
    if not bare.startswith(FORMULA):
        return False
    try:
        float(bare)
    except ValueError:
        return True
    return "_" in bare or bare[0] in "\t\r"


class RowWriter:
    """Writer of CSV in chunks, by pyarrow if it is installed; numbers have all their digits."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._names = list(names)
        self._file = path.open("wb")
        self._file.write((line(self._names)).encode())

    def write(self, columns: Sequence[Any]) -> None:
        """Write columns of equal length: arrays of numbers, or lists of strings."""
        try:
            import pyarrow
            from pyarrow import csv as arrow_csv
        except ImportError:
            pyarrow = None
        if pyarrow is None or len(columns) > WIDE:
            self._slowly(columns)
            return
        columns = [_all_guarded(column) if isinstance(column, list) else column for column in columns]
        table = pyarrow.Table.from_arrays(
            [pyarrow.array(c, from_pandas=True) for c in columns], names=[f"c{i}" for i in range(len(columns))]
        )
        texts = [cell for column in columns if isinstance(column, list) for cell in column]
        style = "needed" if any(mark in cell for cell in set(texts) for mark in ',"\r\n') else "none"
        arrow_csv.write_csv(table, self._file, arrow_csv.WriteOptions(include_header=False, quoting_style=style))

    def _slowly(self, columns: Sequence[Any]) -> None:
        cells = [_texts(column) for column in columns]
        self._file.write("".join(f"{row}\n" for row in map(",".join, zip(*cells, strict=True))).encode())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _all_guarded(column: list[Any]) -> list[Any]:
    changed = {text: guarded(text) for text in set(column) if isinstance(text, str)}
    return [changed.get(text, text) for text in column] if any(a != b for a, b in changed.items()) else column


def _texts(column: Any) -> list[str]:
    """Return the cells of a column as CSV: numbers with all digits, missing values empty, text quoted."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    if values and all(isinstance(value, str) for value in values):
        quoted = {value: line([value, None])[:-2] for value in set(values)}
        return [quoted[value] for value in values]
    return ["" if value is None or value != value else repr(value) for value in values]


def line(cells: Iterable[Any]) -> str:
    """Return a row of CSV with its line end; text that looks like a formula is guarded."""
    out = io.StringIO()
    row = ["" if x is None or x != x else guarded(x) if isinstance(x, str) else x for x in cells]
    csv.writer(out, lineterminator="\n").writerow(row)
    return out.getvalue()


def write_json(path: Path, content: Any) -> None:
    """Write JSON with indentation; numbers that are not finite become null."""
    files.write(path, to_text(content) + "\n")


class Spool:
    """Rows of numbers in a temporary file, which can be read again as one memory-mapped array."""

    def __init__(self, width: int) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115, closed in close()
        self.width, self._rows = width, 0

    def add(self, rows: Array) -> None:
        """Append rows of shape (rows, width)."""
        import numpy as np

        np.ascontiguousarray(rows, dtype=np.float64).tofile(self._file)
        self._rows += len(rows)

    def array(self) -> Array:
        """Return all rows as a memory-mapped array."""
        import numpy as np

        self._file.flush()
        if self._rows == 0:
            return np.empty((0, self.width))
        mapped: Array = np.memmap(self._file, dtype=np.float64, mode="r+", shape=(self._rows, self.width))
        return mapped

    def __len__(self) -> int:
        return self._rows

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


def release(array: Array) -> None:
    """Release the memory of a large memory-mapped array; arrays in memory are unchanged.

    Up to KEPT bytes stay in memory, because mapping them again in every pass would cost as much as the pass.
    """
    import mmap

    mapped = getattr(array, "_mmap", None)
    if mapped is not None and array.nbytes > KEPT and hasattr(mapped, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


#: Largest number of lines in one chart, and of rows in a table of experts.
LINES = 7
ROWS = 200
#: Largest number of points per line.
POINTS = 120


@dataclass(frozen=True)
class Name(Badge):
    """Text from the user that is displayed verbatim; a name such as `=1+1` or `*x*` is not interpreted as markup."""

    def html(self) -> str:
        return f"<span>{escape(self.text)}</span>"


def curve(xs: Any, ys: Any, name: str) -> list[dict[str, Any]]:
    """Return the rows of a line with at most POINTS points; points without a value are omitted."""
    xs, ys = np.asarray(xs), np.asarray(ys)
    kept = np.unique(np.linspace(0, len(xs) - 1, POINTS).astype(int)) if len(xs) > POINTS else slice(None)
    pairs = zip(xs[kept].tolist(), ys[kept].tolist(), strict=True)
    return [{"row": x, "y": y, "series": name} for x, y in pairs if y == y]


def lines(title: str, y: str, rows: Sequence[dict[str, Any]], alt: str, bound: Sequence[dict[str, Any]] = (),
          **more: Any) -> Figure:  # fmt: skip
    """Return a figure with lines over rows, and a dashed line for a bound."""
    layers = [Layer("line", tuple(rows), x="row", series="series")]
    if bound:
        layers.append(Layer("bound", tuple(bound), x="row", series="series"))
    return Figure(Picture(title, more.pop("x_title", "row"), y, tuple(layers), alt=alt, **more))


def kept(folder: str | os.PathLike[str], summary: dict[str, Any], page: Callable[[], Page]) -> Path:
    """Write summary.json and, if charts can be drawn, index.html, atomically."""
    with Outbox(folder) as out:
        write_json(out.path("summary.json"), summary)
        if drawable():
            page().write(out.path(PAGE))
    return Path(folder)


def made_by(**more: str) -> dict[str, str]:
    """Return the entries of the footer of a page."""
    from hannan import __version__

    return {"made by": f"hannan {__version__}", **more}
