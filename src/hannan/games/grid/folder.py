"""The folder of a sweep: parts (Parquet), an index of what is done (SQLite), the plan that was last run.

The parts are the truth. A part is written beside and renamed, then entered into the index; what a kill left between
the two is found and entered when the folder is opened again. Shards have an index each, so that no two machines write
to one file.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hannan.games.cells import Cell
from hannan.games.grid.parts import arrow, cell_of, head_of, plain, read_part, write_part

#: The exported table: no times, so that it is the same whenever and wherever it was computed.
EXPORTED = (
    "key", "learner", "environment", "n", "rounds", "run", "round", "regret", "loss", "bound", "against",
)  # fmt: skip
#: Rows of a group of the exported file, at least.
GROUP = 1 << 18
#: Parts that are kept in memory while an export goes by key.
KEPT = 64

_SCHEMA = """CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, part TEXT NOT NULL, size INTEGER NOT NULL, learner TEXT, environment TEXT, n INTEGER,
    rounds INTEGER, runs INTEGER, seconds REAL)"""


class Folder:
    """`done` has what is there: key -> (part, [learner, environment, n, rounds, runs, seconds])."""

    def __init__(self, path: str | os.PathLike[str], shard: tuple[int, int] | None = None, make: bool = False) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"a sweep's results must go to a folder; {self.path} is a file")
        if not make and not (self.path / "plan.json").is_file():
            raise ValueError(f"{self.path} must be the folder of a sweep; it has no plan.json")
        self._shard, self._make = shard, make
        self._index: sqlite3.Connection | None = None
        self._recent: OrderedDict[str, dict[str, Any]] = OrderedDict()
        if make:
            arrow()
            self.path.mkdir(parents=True, exist_ok=True)
        self.done: dict[str, tuple[str, list[Any]]] = {}
        self.refresh()

    # What is there

    def refresh(self) -> None:
        """Read every index, and the heads of the parts that none of them knows."""
        found: dict[str, tuple[str, list[Any]]] = {}
        parts = {part.name: part.stat().st_size for part in self.path.glob("part-*.parquet")}
        known = set()
        for index in sorted(self.path.glob("index*.sqlite")):
            for key, part, size, *told in _rows(index):
                if parts.get(part) == size:
                    found[key] = (part, told)
                    known.add(part)
        for part in sorted(parts.keys() - known):
            try:
                head = head_of(self.path / part)
            except ValueError:
                continue  # not whole: its cells are computed again
            for key, told in head.items():
                found[key] = (part, told)
            if self._make:
                self._enter(part, parts[part], head)
        self.done = found

    @property
    def plan(self) -> dict[str, Any]:
        """The plan that was last run here: its cells by key, and what was said of it."""
        try:
            plan: dict[str, Any] = json.loads((self.path / "plan.json").read_text(encoding="utf-8"))
            return plan
        except (OSError, ValueError) as error:
            raise ValueError(f"{self.path} must be the folder of a sweep; {error}") from None

    @property
    def wanted(self) -> dict[str, list[Any]]:
        """Key -> [learner, environment, n, rounds] of every cell of the plan."""
        return dict(self.plan["cells"])

    def cells(self) -> list[Cell]:
        """The cells of the plan that are done, in its order."""
        return [cell_of(self._rows_of(key)) for key in self.wanted if key in self.done]

    # What is added

    def plans(self, plan: dict[str, Any]) -> None:
        """Keep the plan."""
        from hannan.saving.output import write

        write(self.path / "plan.json", json.dumps(plan, indent=1, ensure_ascii=False) + "\n")

    def add(self, cells: Mapping[str, Cell]) -> None:
        """Keep some cells: one part, then the index."""
        part, size, head = write_part(self.path, cells)
        self._enter(part, size, head)
        for key, told in head.items():
            self.done[key] = (part, told)

    def _enter(self, part: str, size: int, head: Mapping[str, list[Any]]) -> None:
        if self._index is None:
            name = "index.sqlite" if self._shard is None else f"index-{self._shard[0]}-of-{self._shard[1]}.sqlite"
            self._index = sqlite3.connect(self.path / name, timeout=30.0)
            # It can be made again from the parts: no need to wait for the disk.
            self._index.execute("PRAGMA synchronous=OFF")
            self._index.execute("PRAGMA journal_mode=PERSIST")
            self._index.execute(_SCHEMA)
        rows = [(key, part, size, *told) for key, told in head.items()]
        with self._index:
            self._index.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Let go of the index."""
        if self._index is not None:
            self._index.close()
            self._index = None

    # What goes out

    def _rows_of(self, key: str) -> Any:
        part = self.done[key][0]
        if part not in self._recent:
            self._recent[part] = read_part(self.path / part)
            if len(self._recent) > KEPT:
                self._recent.popitem(last=False)
        self._recent.move_to_end(part)
        if key not in self._recent[part]:
            raise ValueError(
                f"{self.path / part} is damaged; no rows of cell {key} in it. Delete it and run the sweep again"
            )
        return self._recent[part][key]

    def groups(self, columns: tuple[str, ...] = EXPORTED) -> Iterator[Any]:
        """The table of the plan's cells, sorted by key, in groups of whole cells."""
        waiting: list[Any] = []
        for key in sorted(key for key in self.wanted if key in self.done):
            waiting.append(self._rows_of(key))
            if sum(len(table) for table in waiting) >= GROUP:
                yield plain(waiting, columns)
                waiting = []
        if waiting:
            yield plain(waiting, columns)

    def export(self, to: str | Path) -> int:
        """Write the table, sorted by key, without times: .parquet or .csv; gives the number of rows."""
        from hannan.saving.output import whole_file

        _, parquet = arrow()
        kind = Path(to).suffix.lower()
        if kind not in (".parquet", ".csv"):
            raise ValueError(f"a table must go to a .parquet or .csv file; got {str(to)!r}")
        if not any(key in self.done for key in self.wanted):
            raise ValueError(f"{self.path} must have cells that are done; it has none")
        rows, writer = 0, None
        with whole_file(to) as file:
            for group in self.groups():
                if writer is None:
                    writer = (
                        parquet.ParquetWriter(file, group.schema) if kind == ".parquet" else _Csv(file, group.schema)
                    )
                writer.write_table(group)
                rows += len(group)
            assert writer is not None
            writer.close()
        return rows


class _Csv:
    def __init__(self, file: Any, schema: Any) -> None:
        from pyarrow import csv

        self._writer = csv.CSVWriter(file, schema)

    def write_table(self, table: Any) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


def _rows(index: Path) -> list[Any]:
    """The entries of an index; one that cannot be read is made again from the parts."""
    try:
        # To write as well: what a kill left half done is undone by whoever opens it next.
        connection = sqlite3.connect(f"file:{index}?mode=rw", uri=True, timeout=30.0)
        try:
            return connection.execute(
                "SELECT key, part, size, learner, environment, n, rounds, runs, seconds FROM cells"
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return []
    except sqlite3.DatabaseError:
        index.unlink(missing_ok=True)
        return []
