"""Rows of CSV and JSON for people and machines, and rows that wait on disk for a second look."""

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

#: Bytes of a mapped array that may stay in memory.
KEPT = 1 << 27
#: pyarrow is made for fewer columns than this.
WIDE = 2000


#: What a spreadsheet may take for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def guarded(text: str) -> str:
    """A text for a cell of CSV: one that a spreadsheet would take for a formula gets an apostrophe in front.

    Numbers stay as they are. `unguarded`, which our reader applies, gives the same text back.

    >>> guarded("=1+1"), guarded("-3.5"), guarded("-x"), unguarded("'=1+1"), unguarded("'tis")
    ("'=1+1", '-3.5', "'-x", '=1+1', "'tis")
    """
    return f"'{text}" if _formula(text) else text


def unguarded(text: str) -> str:
    """What `guarded` was given."""
    return text[1:] if text[:1] == "'" and _formula(text) else text


def _formula(text: str) -> bool:
    # Apostrophes in front do not count: so a guarded text can be guarded again, and nothing is ambiguous.
    bare = text.lstrip("'") if text[:1] == "'" else text
    if not bare.startswith(FORMULA):
        return False
    try:
        float(bare)
    except ValueError:
        return True
    return "_" in bare or bare[0] in "\t\r"


class RowWriter:
    """CSV, chunk by chunk: by pyarrow where it is at hand, else row by row; numbers to the last digit."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._names = list(names)
        self._file = path.open("wb")
        self._file.write((line(self._names)).encode())

    def write(self, columns: Sequence[Any]) -> None:
        """Columns of equal length: arrays of numbers, or lists of text."""
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
        """Flush and let go."""
        self._file.close()

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _all_guarded(column: list[Any]) -> list[Any]:
    changed = {text: guarded(text) for text in set(column) if isinstance(text, str)}
    return [changed.get(text, text) for text in column] if any(a != b for a, b in changed.items()) else column


def _texts(column: Any) -> list[str]:
    """The cells of a column as CSV has them: numbers to the last digit, what is missing empty, text quoted."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    if values and all(isinstance(value, str) for value in values):
        quoted = {value: line([value, None])[:-2] for value in set(values)}
        return [quoted[value] for value in values]
    return ["" if value is None or value != value else repr(value) for value in values]


def line(cells: Iterable[Any]) -> str:
    """A row of CSV, with its end; text that looks like a formula is guarded."""
    out = io.StringIO()
    row = ["" if x is None or x != x else guarded(x) if isinstance(x, str) else x for x in cells]
    csv.writer(out, lineterminator="\n").writerow(row)
    return out.getvalue()


def write_json(path: Path, content: Any) -> None:
    """JSON for people and machines; what is not finite is null."""
    files.write(path, to_text(content) + "\n")


class Spool:
    """Rows of numbers on disk, to be read again as one array: what a second pass needs, without the memory."""

    def __init__(self, width: int) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115, closed in close()
        self.width, self._rows = width, 0

    def add(self, rows: Array) -> None:
        """Append rows (rows, width)."""
        import numpy as np

        np.ascontiguousarray(rows, dtype=np.float64).tofile(self._file)
        self._rows += len(rows)

    def array(self) -> Array:
        """All rows, mapped, not loaded."""
        import numpy as np

        self._file.flush()
        if self._rows == 0:
            return np.empty((0, self.width))
        mapped: Array = np.memmap(self._file, dtype=np.float64, mode="r+", shape=(self._rows, self.width))
        return mapped

    def __len__(self) -> int:
        return self._rows

    def close(self) -> None:
        """Let the disk go."""
        self._file.close()


def release(array: Array) -> None:
    """Let the pages of a large mapped array go; they stay on disk. Does nothing to an array in memory.

    Up to KEPT bytes stay: to map them again at every pass would cost as much as the pass.
    """
    import mmap

    mapped = getattr(array, "_mmap", None)
    if mapped is not None and array.nbytes > KEPT and hasattr(mapped, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


#: Lines in one picture, and rows of a table of experts.
LINES = 7
ROWS = 200
#: Points of a line.
POINTS = 120


@dataclass(frozen=True)
class Name(Badge):
    """Text of the user's, as it is: a name such as `=1+1` or `*x*` is no markup here."""

    def html(self) -> str:
        return f"<span>{escape(self.text)}</span>"


def curve(xs: Any, ys: Any, name: str) -> list[dict[str, Any]]:
    """Rows of a line, points without a value left out, and no more of them than a line needs."""
    xs, ys = np.asarray(xs), np.asarray(ys)
    kept = np.unique(np.linspace(0, len(xs) - 1, POINTS).astype(int)) if len(xs) > POINTS else slice(None)
    pairs = zip(xs[kept].tolist(), ys[kept].tolist(), strict=True)
    return [{"row": x, "y": y, "series": name} for x, y in pairs if y == y]


def lines(title: str, y: str, rows: Sequence[dict[str, Any]], alt: str, bound: Sequence[dict[str, Any]] = (),
          **more: Any) -> Figure:  # fmt: skip
    """A picture of lines over rows, and a dashed one for what is proved."""
    layers = [Layer("line", tuple(rows), x="row", series="series")]
    if bound:
        layers.append(Layer("bound", tuple(bound), x="row", series="series"))
    return Figure(Picture(title, more.pop("x_title", "row"), y, tuple(layers), alt=alt, **more))


def kept(folder: str | os.PathLike[str], summary: dict[str, Any], page: Callable[[], Page]) -> Path:
    """summary.json and, where pictures can be drawn, index.html: all or nothing."""
    with Outbox(folder) as out:
        write_json(out.path("summary.json"), summary)
        if drawable():
            page().write(out.path(PAGE))
    return Path(folder)


def made_by(**more: str) -> dict[str, str]:
    """What stands at the foot of a page."""
    from hannan import __version__

    return {"made by": f"hannan {__version__}", **more}
