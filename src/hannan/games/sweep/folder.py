"""Output folder of a sweep: finished cells, progress and the estimate of the remaining time."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hannan import extras
from hannan.games.compare.numbers import Cell
from hannan.games.sweep.plan import Place

#: A line this often where there is no terminal to draw a bar in.
LINE_SECONDS = 30.0


class Estimate:
    """Seconds left = sum over cells to come of the learner's seconds a round so far, over the workers at work.

    The rate of a learner that has not finished a cell is not known: the mean of the others stands in, and it is said.
    """

    def __init__(self, places: dict[str, Place], runs: int, workers: int) -> None:
        self._left, self._runs, self._workers = dict(places), runs, max(1, workers)
        self._spent: dict[str, float] = defaultdict(float)
        self._rounds: dict[str, float] = defaultdict(float)
        self._began, self._busy, self._done = time.monotonic(), 0.0, 0

    def done(self, key: str, seconds: float | None) -> None:
        """A cell took so many seconds; None where it failed."""
        place = self._left.pop(key)
        self._done += 1
        if seconds is not None:
            self._spent[place.learner] += seconds
            self._rounds[place.learner] += place.rounds * self._runs
            self._busy += seconds

    def seconds(self) -> tuple[float | None, list[str]]:
        """(seconds left, or None while nothing is known; the learners of which no cell is done)."""
        unseen = sorted({place.learner for place in self._left.values()} - self._spent.keys())
        if not self._spent:
            return None, unseen
        mean = sum(self._spent.values()) / max(1.0, sum(self._rounds.values()))
        work = 0.0
        for place in self._left.values():
            known = self._rounds[place.learner] > 0.0
            rate = self._spent[place.learner] / self._rounds[place.learner] if known else mean
            work += rate * place.rounds * self._runs
        # What passes on the clock for a second of games, overhead and idle workers included.
        passed = time.monotonic() - self._began
        stretch = max(passed / max(self._busy, 1e-9), 1.0 / self._workers)
        return work * stretch, unseen

    def text(self) -> str:
        """`12 of 60 cells, about 3 min left (thompson not yet timed)`."""
        left, unseen = self.seconds()
        told = f"{self._done} of {self._done + len(self._left)} cells"
        if not self._left:
            return told
        told += ", time left not yet known" if left is None else f", about {spell(left)} left"
        return told + (f" ({', '.join(unseen[:3])}{' ...' if len(unseen) > 3 else ''} not yet timed)" if unseen else "")


def spell(seconds: float) -> str:
    """Seconds in words.

    >>> spell(42), spell(200), spell(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Bar:
    """The estimate on standard error: a bar in a terminal, else a line now and then."""

    def __init__(self, estimate: Estimate, total: int, show: bool) -> None:
        self._estimate, self._task = estimate, 0
        self._bar: Any = None
        self._show, self._said = show and sys.stderr is not None, time.monotonic()
        if self._show and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task("", total=total)

    def update(self, done: int) -> None:
        """So many cells of this run are done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=self._estimate.text())
        elif self._show and time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            print(f"hannan sweep: {self._estimate.text()}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


_TEXTS = ("key", "learner", "environment", "against", "source", "withheld", "note")
_HEAD = b"hannan.cells"
_COLUMNS = {
    *_TEXTS, "n", "rounds", "run", "round", "regret", "loss", "bound", "seed", "paired", "seconds",
}  # fmt: skip


def arrow() -> Any:
    """pyarrow with its Parquet, or what to install."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ModuleNotFoundError(f"a sweep needs pyarrow: {extras.command('sweep')}") from None
    return pyarrow, parquet


def table_of(cells: Mapping[str, Cell]) -> Any:
    """The rows of some cells, cell by cell, run by run, round by round."""
    pyarrow, _ = arrow()
    found = list(cells.values())
    sizes = [cell.regret.size for cell in found]

    def text(values: list[str]) -> Any:
        known = list(dict.fromkeys(values))
        places = np.repeat(np.array([known.index(value) for value in values], dtype=np.int32), sizes)
        return pyarrow.DictionaryArray.from_arrays(places, pyarrow.array(known, pyarrow.string()))

    def same(values: list[Any]) -> Any:
        return np.repeat(np.array(values), sizes)

    def each(values: list[Any]) -> Any:
        return np.concatenate(values)

    columns = {
        "key": text(list(cells)),
        "learner": text([cell.learner for cell in found]),
        "environment": text([cell.environment for cell in found]),
        "n": same([cell.n for cell in found]),
        "rounds": same([cell.rounds for cell in found]),
        "run": each([np.repeat(np.arange(cell.runs), len(cell.at)) for cell in found]),
        "round": each([np.tile(cell.at, cell.runs) for cell in found]),
        "regret": each([cell.regret.reshape(-1) for cell in found]),
        "loss": each([cell.loss.reshape(-1) for cell in found]),
        "bound": each([np.tile(cell.bound, cell.runs) for cell in found]),
        "against": text([cell.against for cell in found]),
        "source": text([cell.source for cell in found]),
        "withheld": text([cell.withheld for cell in found]),
        "note": text([cell.note for cell in found]),
        "seed": same([cell.seed for cell in found]),
        "paired": same([cell.paired for cell in found]),
        "seconds": same([cell.seconds / cell.runs for cell in found]),
    }
    return pyarrow.table(columns)


def write_part(folder: Path, cells: Mapping[str, Cell]) -> tuple[str, int, dict[str, list[Any]]]:
    """Write the cells as one part, whole or not at all: (its name, a hash of their keys; its bytes; its head).

    It is not waited for on the disk: a kill cannot tear it, and what a power cut tears has another size.
    """
    _, parquet = arrow()
    head = {key: [c.learner, c.environment, c.n, c.rounds, c.runs, c.seconds] for key, c in cells.items()}
    table = table_of(cells).replace_schema_metadata({_HEAD: json.dumps(head).encode()})
    name = f"part-{hashlib.sha256(''.join(sorted(cells)).encode()).hexdigest()[:24]}.parquet"
    beside = folder / f".{name}.{os.getpid()}"
    try:
        parquet.write_table(table, beside, compression="zstd", write_statistics=False, write_page_checksum=True)
        size = beside.stat().st_size
        os.replace(beside, folder / name)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return name, size, head


def head_of(path: Path) -> dict[str, list[Any]]:
    """Key -> [learner, environment, n, rounds, runs, seconds] of a part; ValueError if it is not whole."""
    pyarrow, parquet = arrow()
    try:
        metadata = parquet.read_schema(path).metadata or {}
        return dict(json.loads(metadata[_HEAD]))
    except (pyarrow.ArrowInvalid, KeyError, OSError, ValueError) as error:
        raise ValueError(f"{path} must be a whole part of a sweep; {str(error).splitlines()[0]}") from None


def read_part(path: Path) -> dict[str, Any]:
    """Return the rows of each cell, by key; raise ValueError if a checksum does not match.

    Parts of version 0.2 have no checksums.
    """
    pyarrow, parquet = arrow()
    try:
        table = parquet.ParquetFile(path, page_checksum_verification=True).read()
        table = table.unify_dictionaries()
        if missing := sorted(_COLUMNS - set(table.column_names)):
            raise ValueError(f"no column {missing[0]!r} in it")
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged; {str(error).splitlines()[0]}. Delete the file and run the sweep again"
        ) from None
    keys = table.column("key").cast(pyarrow.string()).to_numpy(zero_copy_only=False)
    edges = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1], True])
    return {str(keys[a]): table.slice(a, b - a) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)}


def cell_of(table: Any) -> Cell:
    """The cell of its rows."""
    first = table.slice(0, 1).to_pylist()[0]
    run = table.column("run").to_numpy()
    runs = int(run[-1]) + 1
    marks = len(run) // runs

    def numbers(name: str) -> Any:
        return table.column(name).to_numpy()

    return Cell(
        first["learner"], first["environment"], first["n"], first["rounds"], runs, first["seed"],
        numbers("round")[:marks].copy(), numbers("regret").reshape(runs, marks), numbers("loss").reshape(runs, marks),
        numbers("bound")[:marks].copy(), first["against"], first["source"], first["withheld"],
        first["seconds"] * runs, None, first["note"], first["paired"],
    )  # fmt: skip


def plain(tables: Iterable[Any], columns: Iterable[str]) -> Any:
    """Rows of cells as one table of these columns, texts as plain texts."""
    pyarrow, _ = arrow()
    kept = []
    for table in tables:
        chosen = table.select(list(columns))
        for name in _TEXTS:
            if name in chosen.column_names:
                at = chosen.column_names.index(name)
                chosen = chosen.set_column(at, name, chosen.column(name).cast(pyarrow.string()))
        kept.append(chosen.replace_schema_metadata(None))
    return pyarrow.concat_tables(kept).combine_chunks()


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
        from hannan.saving.files import write

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
        from hannan.saving.files import whole_file

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
