"""SIGKILL at random moments, again and again: the sweep goes on, and its table is the one of a sweep left in peace."""

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
pytest.importorskip("loky")

PLAN = """
rounds = [300, 600]
n = 5
runs = 20
[learners]
ours = "bandit"
Exp3 = "exp3"
frechet = "bandit:frechet:2"
hedge = "hedge"
[environments]
clicks = {means = [0.1, 0.2, 0.3, 0.4, 0.5]}
drift = "drifting"
switch = {adversary = "switching", phases = 3}
small = "small_best_loss"
"""
CELLS = 32
RUN = "from hannan.cli import main; main()"


def start(plan: Path, out: Path, workers: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", RUN, "sweep", str(plan), "--out", str(out), "--workers", str(workers)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children(pid: int) -> list[int]:
    """Processes whose parent is this one."""
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


def killed_and_resumed(tmp_path: Path, kills: int, workers: int, seed: int) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(PLAN)
    hn.sweep(plan, tmp_path / "peace", workers=1, progress=False).export(tmp_path / "peace.parquet")
    rng = random.Random(seed)
    took, left_behind, counts = 1.0, [], []
    for _ in range(kills):
        began, before = time.monotonic(), counts[-1] if counts else 0
        running = start(plan, out, workers)
        # Most kills fall after the start, among the cells: wait for the folder, then a random while.
        while running.poll() is None and not any(out.glob("part-*")) and time.monotonic() - began < 60.0:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.15 * took)
        left_behind += children(running.pid)
        running.send_signal(signal.SIGKILL)
        running.wait()
        counts.append(Swept(out).status["done"] if (out / "plan.json").is_file() else 0)
        assert counts[-1] >= before  # what was kept stays
    last = start(plan, out, workers)
    assert last.wait(timeout=120) == 0
    swept = Swept(out)
    assert swept.status["done"] == CELLS
    swept.export(tmp_path / "killed.parquet")
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "peace.parquet").read_bytes()
    assert 0 < counts[0] < CELLS or 0 < counts[1] < CELLS, counts  # else nothing was tested
    deadline = time.monotonic() + 10.0
    while any(_sweeps(pid) for pid in left_behind) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_sweeps(pid) for pid in left_behind)


def _sweeps(pid: int) -> bool:
    """Whether this process still is one of ours: a number may have gone to somebody else."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"loky" in words or b"hannan" in words


@pytest.mark.skipif(os.name != "posix" or not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_few_kills(tmp_path: Path, workers: int) -> None:
    killed_and_resumed(tmp_path, kills=2, workers=workers, seed=workers)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_twenty_kills(tmp_path: Path, workers: int) -> None:
    killed_and_resumed(tmp_path, kills=20, workers=workers, seed=7 + workers)
