"""`sweep(plan, out)`: a grid of games that can be interrupted and resumed, on one machine or several."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from hannan import __version__, validation
from hannan.games.compare import Comparison
from hannan.games.compare.numbers import Cell, Entrant
from hannan.games.play import label
from hannan.games.sweep.folder import EXPORTED, Bar, Estimate, Folder, plain
from hannan.games.sweep.plan import Place, Plan, engine_digest, keys_of, plan_of
from hannan.games.sweep.workers import Orders, Results, check_portable, here, on_cluster, on_processes, orders_of


class SweepFailed(RuntimeError):
    """Raised if cells failed. The others are kept, and the next run computes the failed cells again."""


def sweep(
    plan: Any, out: str | os.PathLike[str], on: Any = None, *, shard: tuple[int, int] | None = None,
    workers: int | None = None, seed: int | None = None, progress: bool = True,
) -> Swept:  # fmt: skip
    """Play a grid of games on several cores or machines, in a folder from which an interrupted grid resumes.

    The grid has one cell per learner, environment, number of arms and number of rounds; a cell is played `runs` times.

    Parameters
    ----------
    plan : dict or path of a TOML file
        Keys: `learners` and `environments`, dicts by name, as in `hn.compare`; `rounds` and `n`, an integer or a list
        (`n` only for environments with any number of arms); `runs`, `seed` and `share_streams`. The plan is validated
        before any game; the error names the line of the file.
    out : path
        Folder of the results. Cells that it contains already are not computed again.
    on : str or distributed.Client, optional
        Address or client of a Dask scheduler. Default: processes of this machine.
    shard : tuple of (int, int), optional
        (i, n) computes the i-th of n parts of the grid, i = 1..n. Parts can be computed on different machines into one
        folder.
    workers : int, optional
        Number of processes on this machine. Default: number of cores.
    seed : int, optional
        Seed. Default: the seed of the plan, or 0.
    progress : bool, optional
        Show a progress bar on standard error. Default: True.

    Returns
    -------
    Swept
        Results: `comparison`, `summary()`, `to_frame()`, `export(path)`, `status`.

    Raises
    ------
    ValueError
        If the plan is invalid, or if functions or objects of the plan cannot be sent to worker processes.
    SweepFailed
        If cells failed; all others are kept.

    Notes
    -----
    The key of a cell is a hash of its learner, environment, numbers, seed, of the version and of the engine. If the
    program is killed, at most the cells that are being computed are lost. One process, several processes, shards and
    clusters give the same results bit for bit.

    Examples
    --------
    >>> import tempfile, hannan as hn
    >>> plan = {"learners": {"ours": "bandit", "Exp3": "exp3"}, "environments": {"clicks": {"means": [0.3, 0.5]}},
    ...         "rounds": [100, 200], "runs": 4}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     swept = hn.sweep(plan, out, workers=1)
    ...     len(swept.to_frame().key.unique()), swept.status["done"]
    (4, 4)
    """
    made, shard = plan_of(plan, seed), _shard(shard)
    keys = keys_of(made)
    mine = {key for k, key in enumerate(sorted(keys)) if shard is None or k % shard[1] == shard[0] - 1}
    cores = _cores() if workers is None else validation.count(workers, "workers")
    if on is not None or min(cores, len(mine)) > 1:
        check_portable(made)
    folder = Folder(out, shard, make=True)
    try:
        folder.plans(_told(made, keys))
        left = {key: place for key, place in keys.items() if key in mine and key not in folder.done}
        failed = _run(made, left, folder, on, min(cores, len(left)), progress)
    finally:
        folder.close()
    if failed:
        raise SweepFailed(
            f"{len(failed)} of {len(left)} cells failed and {len(folder.done)} are kept; {_reasons(failed)}"
        )
    return Swept(folder)


def _run(plan: Plan, left: dict[str, Place], folder: Folder, on: Any, workers: int, show: bool) -> dict[str, str]:
    """Compute the remaining cells and store each when it is ready; return the reasons of failed cells."""
    failed: dict[str, str] = {}
    if not left:
        return failed
    estimate = Estimate(left, plan.runs, workers)
    bar = Bar(estimate, len(left), show)
    done = 0
    try:
        for ready in _results(orders_of(plan), left, on, workers):
            kept = {key: cell for key, cell in ready.items() if isinstance(cell, Cell)}
            if kept:
                folder.add(kept)
            for key, cell in ready.items():
                estimate.done(key, cell.seconds if isinstance(cell, Cell) else None)
                if not isinstance(cell, Cell):
                    place = left[key]
                    failed[f"{place.learner} in {place.environment}, n {place.n}, {place.rounds} rounds"] = cell.reason
            done += len(ready)
            bar.update(done)
    finally:
        bar.close()
    return failed


def _results(orders: Orders, left: dict[str, Place], on: Any, workers: int) -> Iterator[Results]:
    if on is not None:
        return on_cluster(orders, left, on)
    return here(orders, left) if workers == 1 else on_processes(orders, left, workers)


def _reasons(failed: dict[str, str]) -> str:
    """Return the distinct reasons, each with its first cell."""
    grouped: dict[str, list[str]] = {}
    for place, why in failed.items():
        grouped.setdefault(" ".join(why.split()), []).append(place)
    told = [
        f"{places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''}: {why}"
        for why, places in grouped.items()
    ]
    return "; ".join(told[:5])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shard(shard: Any) -> tuple[int, int] | None:
    if shard is None:
        return None
    try:
        i, n = shard
    except (TypeError, ValueError):
        raise ValueError(f"shard must be a pair (i, n), 1 <= i <= n; got {shard!r}") from None
    n = validation.count(n, "n of the shard")
    i = validation.count(i, "i of the shard")
    if i > n:
        raise ValueError(f"shard must be a pair (i, n), 1 <= i <= n; got {shard!r}")
    return i, n


def _told(plan: Plan, keys: dict[str, Place]) -> dict[str, Any]:
    return {
        "hannan": __version__, "engine": engine_digest(), "runs": plan.runs, "seed": plan.seed,
        "share_streams": plan.share_streams,
        "learners": {name: _word(who) for name, who in plan.learners.items()},
        "cells": {key: [p.learner, p.environment, p.n, p.rounds] for key, p in keys.items()},
    }  # fmt: skip


def _word(who: Entrant) -> str:
    text = who.given if isinstance(who.given, str) else label(who.given)
    parameters = ", ".join(f"{key}={label(value)}" for key, value in who.parameters.items())
    return f"{text}({parameters})" if parameters else text


class Swept:
    """Results of the last plan of a sweep, read from its folder."""

    def __init__(self, folder: Folder | str | os.PathLike[str]) -> None:
        self.folder = folder if isinstance(folder, Folder) else Folder(folder)

    @cached_property
    def comparison(self) -> Comparison:
        """Return the finished cells as a comparison; names of environments contain sizes that differ."""
        from dataclasses import replace

        cells, plan = self.folder.cells(), self.folder.plan
        if not cells:
            raise ValueError(f"{self.folder.path} has no finished cells")
        several = {cell.environment: (set(), set()) for cell in cells}  # type: dict[str, tuple[set[int], set[int]]]
        for cell in cells:
            several[cell.environment][0].add(cell.n)
            several[cell.environment][1].add(cell.rounds)
        named = []
        for cell in cells:
            sizes, lengths = several[cell.environment]
            more = ([f"n = {cell.n}"] if len(sizes) > 1 else []) + ([f"T = {cell.rounds}"] if len(lengths) > 1 else [])
            named.append(replace(cell, environment=", ".join([cell.environment, *more])))
        return Comparison(tuple(named), seed=plan["seed"], title="Sweep")

    @property
    def status(self) -> dict[str, Any]:
        """Return the numbers of cells, finished cells and remaining cells, and the seconds of the games."""
        wanted = self.folder.wanted
        done = [self.folder.done[key][1] for key in wanted if key in self.folder.done]
        return {
            "cells": len(wanted), "done": len(done), "left": len(wanted) - len(done),
            "seconds": float(sum(told[5] or 0.0 for told in done)),
        }  # fmt: skip

    def to_frame(self) -> Any:
        """Return a tidy frame sorted by key, with the columns of `hn.compare` and key, n and rounds."""
        tables = list(self.folder.groups((*EXPORTED, "seconds")))
        whole = plain(tables, (*EXPORTED, "seconds"))
        try:
            return whole.to_pandas()
        except ImportError:
            from hannan.saving.result import frame_of

            return frame_of({name: whole.column(name).to_numpy() for name in whole.column_names})

    def export(self, to: str | os.PathLike[str]) -> int:
        """Write the table to a .parquet or .csv file, sorted by key and without times; return the number of rows.

        The bytes do not depend on how the cells were computed.
        """
        return self.folder.export(Path(to))

    def summary(self, level: float = 0.95) -> Any:
        """Return one row per cell; see `Comparison.rows`."""
        return self.comparison.summary(level)

    def plot(self, **options: Any) -> Any:
        """Plot the comparison; see `Comparison.plot`."""
        return self.comparison.plot(**options)

    def to_latex(self, **options: Any) -> str:
        """Return a LaTeX table; see `Comparison.to_latex`."""
        return self.comparison.to_latex(**options)

    def __str__(self) -> str:
        told = self.status
        head = f"{self.folder.path}: {told['done']} of {told['cells']} cells"
        return f"{head}\n{self.comparison}" if told["done"] else head

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()
