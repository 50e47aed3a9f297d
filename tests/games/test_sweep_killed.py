"""A sweep that is killed repeatedly at random moments resumes, and its table equals that of an undisturbed sweep."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hannan as hn
from hannan.games.sweep import Swept

pytest.importorskip("pyarrow")
pytest.importorskip("cloudpickle")

PLAN = """
rounds = {rounds}
n = 5
runs = 40
[learners]
ours = "bandit"
Exp3 = "exp3"
frechet = "bandit:frechet:2"
hedge = "hedge"
[environments]
clicks = {{means = [0.1, 0.2, 0.3, 0.4, 0.5]}}
drift = "drifting"
switch = {{adversary = "switching", phases = 3}}
small = "small_best_loss"
"""
RUN = "from hannan.cli import main; main()"


def start(plan: Path, out: Path, workers: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", RUN, "sweep", str(plan), "--out", str(out), "--workers", str(workers)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


def killed_and_resumed(tmp_path: Path, kills: int, workers: int, sizes: int) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(PLAN.format(rounds=list(range(300, 300 + sizes))))
    peace = hn.sweep(plan, tmp_path / "peace", workers=1, progress=False)
    peace.export(tmp_path / "peace.parquet")
    rng = random.Random(workers)
    left_behind: list[int] = []
    counts, amid = [0], 0
    for _ in range(kills):
        before, deadline = len(list(out.glob("part-*"))), time.monotonic() + 60.0
        running = start(plan, out, workers)
        # Kill during the cells, not during the start: after the first new cell, wait a random time.
        while running.poll() is None and len(list(out.glob("part-*"))) == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(rng.random() ** 2 * 0.1)
        amid += running.poll() is None
        left_behind += children(running.pid)
        running.send_signal(signal.SIGKILL)
        running.wait()
        counts.append(Swept(out).status["done"])
        assert counts[-1] >= counts[-2]  # earlier results remain
    last = start(plan, out, workers)
    assert last.wait(timeout=300) == 0
    swept = Swept(out)
    assert swept.status["left"] == 0
    swept.export(tmp_path / "killed.parquet")
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "peace.parquet").read_bytes()
    assert amid >= kills // 2, counts  # otherwise little was tested
    assert 0 < counts[1] < swept.status["cells"]
    deadline = time.monotonic() + 10.0
    while any(_sweeps(pid) for pid in left_behind) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_sweeps(pid) for pid in left_behind)


def _sweeps(pid: int) -> bool:
    """Return whether a process still belongs to the sweep; its number may have been reused."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"hannan" in words


@pytest.mark.skipif(os.name != "posix" or not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_few_kills(tmp_path: Path, workers: int) -> None:
    killed_and_resumed(tmp_path, kills=2, workers=workers, sizes=4)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_sweep_completes_after_twenty_kills(tmp_path: Path, workers: int) -> None:
    killed_and_resumed(tmp_path, kills=20, workers=workers, sizes=12)
