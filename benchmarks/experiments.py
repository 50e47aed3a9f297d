"""Comparisons and sweeps: a comparison of the size in the README, the overhead of a cell, Dask and processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from timing import shown, table

import hannan as hn

CLICKS = [0.88, 0.90, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.975, 0.98]
LEARNERS: dict[str, Any] = {
    "Tsallis-INF, RV (the default)": "bandit",
    "Tsallis-INF, IW": lambda n, rounds: hn.tsallis_inf(n, False),
    "Exp3": "exp3",
    "Exp3-IX": lambda n, rounds: hn.exp3_ix(n, rounds),
    "LB-INF": lambda n, rounds: hn.LBInf(n, rounds),
    "Frechet FTPL": lambda n, rounds: hn.frechet_ftpl(n),
}
ENVIRONMENTS: dict[str, Any] = {
    "clicks": {"means": CLICKS},
    "constrained": "stochastically_constrained",
    "switching": "switching",
    "drifting": "drifting",
    "small best loss": "small_best_loss",
}


class _Still:
    """Plays arm 0 and learns nothing, so the time is that of the game alone."""

    n = 5

    def start(self, seed: int) -> _Still:
        return _Still()

    def act(self) -> int:
        return 0

    def observe(self, move: int, loss: float) -> None:
        pass


def _used() -> float:
    return time.process_time()


def comparison(runs: int, rounds: int) -> list[tuple[str, str]]:
    """6 learners x 5 environments in one call."""
    wall, cpu = time.perf_counter(), _used()
    result = hn.compare(LEARNERS, ENVIRONMENTS, runs=runs, rounds=rounds, n=10)
    wall, cpu = time.perf_counter() - wall, _used() - cpu
    slow = sum(cell.seconds for cell in result.cells if cell.learner == "Frechet FTPL")
    many = f"6 learners x 5 environments x {runs} runs x {rounds:,} rounds"
    return [
        (f"{many}: wall", shown(wall)),
        (f"{many}: CPU, all threads", shown(cpu)),
        ("of the wall, the games of Frechet FTPL", shown(slow)),
    ]


def own(rounds: int) -> list[tuple[str, str]]:
    """A plain class with act and observe, also against an adversary in Python."""
    losses = np.random.default_rng(0).random((rounds, 5))
    row = [0.0, 1.0, 0.0, 1.0, 0.0]
    found = []
    for name, against, more in (
        ("a class of your own on an array", losses, {}),
        ("a class of your own on coins", hn.adversaries.Bernoulli([0.1, 0.2, 0.3, 0.4, 0.5], rounds), {}),
        ("a class of your own against an adversary of your own", lambda t, past: row, {"rounds": rounds}),
        ("hn.Bandit(5) against an adversary of your own", lambda t, past: row, {"rounds": rounds}),
    ):
        learner = hn.Bandit(5) if name.startswith("hn") else _Still()
        began = _used()
        hn.play(learner, against, **more)
        found.append((f"{name}: rounds a second of CPU", f"{rounds / (_used() - began):,.0f}"))
    return found


def _small(cells: int) -> dict[str, Any]:
    return {
        "learners": {f"l{k}": f"bandit@fixed:{k + 1}" for k in range(cells // 10)},
        "environments": {"c": {"means": [0.1, 0.2, 0.3]}},
        "rounds": list(range(10, 20)),
        "runs": 2,
    }


def _each(cells: int, repeats: int, **how: Any) -> tuple[float, float, float]:
    """Return (wall time per cell, CPU time per cell of this process, wall time of start and 20 cells) of tiny cells.

    Each is the minimum of several repetitions, because other programs can only add time."""
    found = []
    for _ in range(repeats):
        taken = []
        for size in (20, cells):
            with tempfile.TemporaryDirectory() as out:
                wall, cpu = time.perf_counter(), _used()
                hn.sweep(_small(size), out, progress=False, **how)
                taken.append((time.perf_counter() - wall, _used() - cpu))
        more = cells - 20
        found.append(((taken[1][0] - taken[0][0]) / more, (taken[1][1] - taken[0][1]) / more, taken[0][0]))
    wall, cpu, start = (min(column) for column in zip(*found, strict=True))
    return wall, cpu, start


def overhead(cells: int, repeats: int) -> list[tuple[str, str]]:
    """Overhead of a cell without its games and without start-up; for a tiny cell, nearly all of its time."""
    wall, cpu, _ = _each(cells, repeats, workers=1)
    pair, _, start = _each(cells, repeats, workers=2)
    return [
        (f"{cells} tiny cells, in this process: wall a cell", shown(wall)),
        (f"{cells} tiny cells, in this process: CPU a cell", shown(cpu)),
        (f"{cells} tiny cells, 2 processes: wall a cell", shown(pair)),
        ("2 processes: start-up and 20 cells", shown(start)),
    ]


@contextmanager
def dask_cluster(workers: int) -> Iterator[str]:
    """A scheduler and worker processes of one thread each on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"

        def begin(kind: str, *more: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(file), *more]
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)

        running = [begin("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")]
        try:
            while not file.is_file():
                time.sleep(0.05)
            running += [begin("worker", "--no-nanny", "--nthreads", "1", "--no-dashboard") for _ in range(workers)]
            address = json.loads(file.read_text())["address"]
            from distributed import Client

            with Client(address) as client:
                client.wait_for_workers(workers)
            yield address
        finally:
            for process in running:
                process.kill()
                process.wait()


def clusters(cells: int, runs: int, repeats: int) -> list[tuple[str, str]]:
    """Time the same cells in processes, which are started, and on Dask, whose workers run already, alternately."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    plan = {
        "learners": {f"l{k}": f"bandit:frechet:2@anytime:{k + 1}" for k in range(cells)},
        "environments": {"c": {"means": CLICKS}}, "rounds": 10_000, "runs": runs,
    }  # fmt: skip
    walls: dict[str, list[float]] = {"processes": [], "dask": []}
    seconds = 0.0
    with dask_cluster(cores) as address:
        for _ in range(repeats):
            for name in walls:
                with tempfile.TemporaryDirectory() as out:
                    began = time.perf_counter()
                    swept = hn.sweep(plan, out, on=address if name == "dask" else None, workers=cores, progress=False)
                    walls[name].append(time.perf_counter() - began)
                    seconds = swept.status["seconds"] / cells
        tiny, _, _ = _each(320, repeats, on=address)
    processes, dask = statistics.median(walls["processes"]), statistics.median(walls["dask"])
    return [
        (f"{cells} cells of {shown(seconds)}, {cores} processes: wall", shown(processes)),
        (f"the same on Dask, {cores} workers on this machine: wall", shown(dask)),
        ("Dask / processes", f"{dask / processes:.2f}x"),
        ("320 tiny cells on Dask: wall a cell", shown(tiny)),
    ]


def run(quick: bool = False) -> str:
    """All results as Markdown."""
    rows = comparison(20 if quick else 200, 1_000 if quick else 10_000)
    rows += own(20_000 if quick else 100_000)
    rows += overhead(120 if quick else 520, 1 if quick else 3)
    rows += clusters(4 if quick else 12, 4 if quick else 40, 1 if quick else 3)
    return table(("what", "value"), rows)
