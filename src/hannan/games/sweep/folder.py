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

#: Seconds between progress lines if standard error is not a terminal.
LINE_SECONDS = 30.0


class Estimate:
    """Estimate of the remaining time: seconds per round of each learner so far, summed over the remaining cells.

    A learner without a finished cell gets the mean rate of the others, and the text names it.
    """

    def __init__(self, places: dict[str, Place], runs: int, workers: int) -> None:
        self._left, self._runs, self._workers = dict(places), runs, max(1, workers)
        self._spent: dict[str, float] = defaultdict(float)
        self._rounds: dict[str, float] = defaultdict(float)
        self._began, self._busy, self._done = time.monotonic(), 0.0, 0

    def done(self, key: str, seconds: float | None) -> None:
        """Record a finished cell and its seconds; None if it failed."""
        place = self._left.pop(key)
        self._done += 1
        if seconds is not None:
            self._spent[place.learner] += seconds
            self._rounds[place.learner] += place.rounds * self._runs
            self._busy += seconds

    def seconds(self) -> tuple[float | None, list[str]]:
        """Return (seconds left or None if unknown, learners without a finished cell)."""
        unseen = sorted({place.learner for place in self._left.values()} - self._spent.keys())
        if not self._spent:
            return None, unseen
        mean = sum(self._spent.values()) / max(1.0, sum(self._rounds.values()))
        work = 0.0
        for place in self._left.values():
            known = self._rounds[place.learner] > 0.0
            rate = self._spent[place.learner] / self._rounds[place.learner] if known else mean
            work += rate * place.rounds * self._runs
        # Wall time per second of games, including overhead and idle workers.
        passed = time.monotonic() - self._began
        stretch = max(passed / max(self._busy, 1e-9), 1.0 / self._workers)
        return work * stretch, unseen

    def text(self) -> str:
        """Return the progress, for example "12 of 60 cells, about 3 min left (thompson not yet timed)"."""
        left, unseen = self.seconds()
        told = f"{self._done} of {self._done + len(self._left)} cells"
        if not self._left:
            return told
        told += ", time left not yet known" if left is None else f", about {spell(left)} left"
        return told + (f" ({', '.join(unseen[:3])}{' ...' if len(unseen) > 3 else ''} not yet timed)" if unseen else "")


def spell(seconds: float) -> str:
    """Return a duration as text.

    >>> spell(42), spell(200), spell(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Bar:
    """Progress on standard error: a bar in a terminal, otherwise a line every `LINE_SECONDS`."""

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
        """Show the number of cells that this run has finished."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=self._estimate.text())
        elif self._show and time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            print(f"hannan sweep: {self._estimate.text()}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


_TEXTS = ("key", "learner", "environment", "against", "source", "withheld", "note")
_HEAD = b"hannan.cells"
_COLUMNS = {
    *_TEXTS, "n", "rounds", "run", "round", "regret", "loss", "bound", "seed", "paired", "seconds",
}  # fmt: skip


def arrow() -> Any:
    """Return (pyarrow, pyarrow.parquet), or raise ModuleNotFoundError with the command that installs them."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ModuleNotFoundError(f"a sweep needs pyarrow: {extras.command('sweep')}") from None
    return pyarrow, parquet


def table_of(cells: Mapping[str, Cell]) -> Any:
    """Return the rows of cells as a table, ordered by cell, run and round."""
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
    """Write cells as one part atomically; return (name with a hash of the keys, number of bytes, head).

    The file is not flushed: a kill cannot truncate it, and a part that a power failure truncated has another size.
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
    """Return {key: [learner, environment, n, rounds, runs, seconds]} of a part; ValueError if it is truncated."""
    pyarrow, parquet = arrow()
    try:
        metadata = parquet.read_schema(path).metadata or {}
        return dict(json.loads(metadata[_HEAD]))
    except (pyarrow.ArrowInvalid, KeyError, OSError, ValueError) as error:
        raise ValueError(f"{path} is not a complete part of a sweep; {str(error).splitlines()[0]}") from None


def read_part(path: Path) -> dict[str, Any]:
    """Return the rows of each cell, by key; raise ValueError if a checksum does not match.

    Parts of version 0.2 have no checksums.
    """
    pyarrow, parquet = arrow()
    try:
        table = parquet.ParquetFile(path, page_checksum_verification=True).read()
        table = table.unify_dictionaries()
        if missing := sorted(_COLUMNS - set(table.column_names)):
            raise ValueError(f"no column {missing[0]!r}")
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged; {str(error).splitlines()[0]}. Delete the file and run the sweep again"
        ) from None
    keys = table.column("key").cast(pyarrow.string()).to_numpy(zero_copy_only=False)
    edges = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1], True])
    return {str(keys[a]): table.slice(a, b - a) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)}


def cell_of(table: Any) -> Cell:
    """Return a cell from its rows."""
    first = table.slice(0, 1).to_pylist()[0]
    run = table.column("run").to_numpy()
    runs = int(run[-1]) + 1
    marks = len(run) // runs

    def numbers(name: str) -> Any:
        return table.column(name).to_numpy()

    return Cell(
        learner=first["learner"],
        environment=first["environment"],
        n=first["n"],
        rounds=first["rounds"],
        runs=runs,
        seed=first["seed"],
        at=numbers("round")[:marks].copy(),
        regret=numbers("regret").reshape(runs, marks),
        loss=numbers("loss").reshape(runs, marks),
        bound=numbers("bound")[:marks].copy(),
        against=first["against"],
        source=first["source"],
        withheld=first["withheld"],
        seconds=first["seconds"] * runs,
        exact=None,
        note=first["note"],
        paired=first["paired"],
    )


def plain(tables: Iterable[Any], columns: Iterable[str]) -> Any:
    """Return the rows of cells as one table with the given columns; dictionary columns become text."""
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


#: Columns of the exported table: no times, so that it does not depend on when and where it was computed.
EXPORTED = (
    "key", "learner", "environment", "n", "rounds", "run", "round", "regret", "loss", "bound", "against",
)  # fmt: skip
#: Minimum number of rows per group of the exported file.
GROUP = 1 << 18
#: Number of parts that are kept in memory during an export.
KEPT = 64

_SCHEMA = """CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, part TEXT NOT NULL, size INTEGER NOT NULL, learner TEXT, environment TEXT, n INTEGER,
    rounds INTEGER, runs INTEGER, seconds REAL)"""


class Folder:
    """Output folder. `done` maps the key of a cell to (part, [learner, environment, n, rounds, runs, seconds])."""

    def __init__(self, path: str | os.PathLike[str], shard: tuple[int, int] | None = None, make: bool = False) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"out must be a folder; {self.path} is a file")
        if not make and not (self.path / "plan.json").is_file():
            raise ValueError(f"{self.path} is not the folder of a sweep; it has no plan.json")
        self._shard, self._make = shard, make
        self._index: sqlite3.Connection | None = None
        self._recent: OrderedDict[str, dict[str, Any]] = OrderedDict()
        if make:
            arrow()
            self.path.mkdir(parents=True, exist_ok=True)
        self.done: dict[str, tuple[str, list[Any]]] = {}
        self.refresh()

    # Reading

    def refresh(self) -> None:
        """Read every index, and the heads of parts that are in no index."""
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
                continue  # truncated: its cells are computed again
            for key, told in head.items():
                found[key] = (part, told)
            if self._make:
                self._enter(part, parts[part], head)
        self.done = found

    @property
    def plan(self) -> dict[str, Any]:
        """Return the last plan: cells by key, versions, learners, runs and seed."""
        try:
            plan: dict[str, Any] = json.loads((self.path / "plan.json").read_text(encoding="utf-8"))
            return plan
        except (OSError, ValueError) as error:
            raise ValueError(f"{self.path} is not the folder of a sweep; {error}") from None

    @property
    def wanted(self) -> dict[str, list[Any]]:
        """Return {key: [learner, environment, n, rounds]} of the cells of the plan."""
        return dict(self.plan["cells"])

    def cells(self) -> list[Cell]:
        """Return the finished cells of the plan, in the order of the plan."""
        return [cell_of(self._rows_of(key)) for key in self.wanted if key in self.done]

    # Writing

    def plans(self, plan: dict[str, Any]) -> None:
        """Store a plan."""
        from hannan.saving.files import write

        write(self.path / "plan.json", json.dumps(plan, indent=1, ensure_ascii=False) + "\n")

    def add(self, cells: Mapping[str, Cell]) -> None:
        """Store cells: first a part, then its entries in the index."""
        part, size, head = write_part(self.path, cells)
        self._enter(part, size, head)
        for key, told in head.items():
            self.done[key] = (part, told)

    def _enter(self, part: str, size: int, head: Mapping[str, list[Any]]) -> None:
        if self._index is None:
            name = "index.sqlite" if self._shard is None else f"index-{self._shard[0]}-of-{self._shard[1]}.sqlite"
            self._index = sqlite3.connect(self.path / name, timeout=30.0)
            # The index can be rebuilt from the parts, so it is not flushed.
            self._index.execute("PRAGMA synchronous=OFF")
            self._index.execute("PRAGMA journal_mode=PERSIST")
            self._index.execute(_SCHEMA)
        rows = [(key, part, size, *told) for key, told in head.items()]
        with self._index:
            self._index.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            self._index.close()
            self._index = None

    # Export

    def _rows_of(self, key: str) -> Any:
        part = self.done[key][0]
        if part not in self._recent:
            self._recent[part] = read_part(self.path / part)
            if len(self._recent) > KEPT:
                self._recent.popitem(last=False)
        self._recent.move_to_end(part)
        if key not in self._recent[part]:
            raise ValueError(
                f"{self.path / part} is damaged; no rows of cell {key}. Delete the file and run the sweep again"
            )
        return self._recent[part][key]

    def groups(self, columns: tuple[str, ...] = EXPORTED) -> Iterator[Any]:
        """Yield the table of the cells of the plan, sorted by key, in groups of complete cells."""
        waiting: list[Any] = []
        for key in sorted(key for key in self.wanted if key in self.done):
            waiting.append(self._rows_of(key))
            if sum(len(table) for table in waiting) >= GROUP:
                yield plain(waiting, columns)
                waiting = []
        if waiting:
            yield plain(waiting, columns)

    def export(self, to: str | Path) -> int:
        """Write the table to a .parquet or .csv file, sorted by key and without times; return the number of rows."""
        from hannan.saving.files import whole_file

        _, parquet = arrow()
        kind = Path(to).suffix.lower()
        if kind not in (".parquet", ".csv"):
            raise ValueError(f"to must be a .parquet or .csv file; got {str(to)!r}")
        if not any(key in self.done for key in self.wanted):
            raise ValueError(f"{self.path} has no finished cells")
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
    """Return the entries of an index; an unreadable index is deleted, and rebuilt from the parts."""
    try:
        # Opened for writing: SQLite rolls back a transaction that was interrupted.
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
