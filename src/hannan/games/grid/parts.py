"""Parts of a sweep's table: Parquet files of whole cells, each with the keys of its cells in its head."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hannan import extras
from hannan.games.cells import Cell

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
        raise ModuleNotFoundError(f"a sweep needs pyarrow and loky: {extras.command('sweep')}") from None
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
