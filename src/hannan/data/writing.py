"""Output that is whole or not there: written beside its place, then renamed."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from hannan.refusals import Array

#: Bytes of a mapped array that may stay in memory.
KEPT = 1 << 27
#: pyarrow is made for fewer columns than this.
WIDE = 2000


class Outbox:
    """A folder in the making: `with Outbox(folder) as out:` writes to `out.path(name)`; at the end all is moved.

    If anything is raised inside, the folder is as it was before.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(f"the output must go to a folder; {self._folder} is a file")
        self._beside: Path | None = None

    def __enter__(self) -> Outbox:
        parent = self._folder.absolute().parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self._beside = Path(tempfile.mkdtemp(prefix=f".{self._folder.name}.", dir=parent))
        except OSError as error:
            raise ValueError(f"the output folder must be writable; {parent}: {error.strerror}") from None
        return self

    def path(self, name: str) -> Path:
        """Where to write the file of this name."""
        assert self._beside is not None, "an Outbox must be entered"
        return self._beside / name

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._beside is not None
        try:
            if kind is None:
                self._beside.chmod(0o755)
                if self._folder.exists():
                    for file in sorted(self._beside.iterdir()):
                        os.replace(file, self._folder / file.name)
                else:
                    os.replace(self._beside, self._folder)
        finally:
            shutil.rmtree(self._beside, ignore_errors=True)


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


def _texts(column: Any) -> list[str]:
    """The cells of a column as CSV has them: numbers to the last digit, what is missing empty, text quoted."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    if values and all(isinstance(value, str) for value in values):
        quoted = {value: line([value, None])[:-2] for value in set(values)}
        return [quoted[value] for value in values]
    return ["" if value is None or value != value else repr(value) for value in values]


def line(cells: Iterable[Any]) -> str:
    """A row of CSV, with its end."""

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(["" if x is None or x != x else x for x in cells])
    return out.getvalue()


def write_json(path: Path, content: Any) -> None:
    """JSON for people and machines; what is not finite is null."""
    path.write_text(json.dumps(plain(content), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Python's own numbers, lists and text, as JSON knows them.

    >>> plain({"a": float("nan"), "b": (1, 2.5)})
    {'a': None, 'b': [1, 2.5]}
    """
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class Spool:
    """Rows of numbers on disk, to be read again as one array: what a second pass needs, without the memory."""

    def __init__(self, width: int) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115, closed in close()
        self._width, self._rows = width, 0

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
            return np.empty((0, self._width))
        mapped: Array = np.memmap(self._file, dtype=np.float64, mode="r+", shape=(self._rows, self._width))
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
