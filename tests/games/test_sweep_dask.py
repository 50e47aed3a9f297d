"""A Dask scheduler with two worker processes gives the same bytes as one process, also if one worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hannan as hn
from tests.games.test_grids import MINE, exported
from tests.games.test_grids import PLAN as GRID

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

PLAN = {
    "learners": {"ours": "bandit", "Exp3": "exp3", "frechet": "bandit:frechet:2"},
    "environments": {"clicks": {"means": [0.1, 0.2, 0.3]}, "drift": "drifting"},
    "n": 3,
    "rounds": [2000, 3000, 4000],
    "runs": 20,
}


def begin(kind: str, file: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(file), *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=file.parent)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    file = tmp_path / "scheduler.json"
    running = [begin("scheduler", file, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")]
    try:
        deadline = time.monotonic() + 60.0
        while not (file.is_file() and file.read_text().rstrip().endswith("}")):  # it is not written atomically
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        running += [begin("worker", file, "--no-nanny", "--nthreads", "1", "--no-dashboard") for _ in range(2)]
        yield json.loads(file.read_text())["address"], running[1:]
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_a_cluster_gives_the_same_bytes_and_survives_a_lost_worker(tmp_path: Path, cluster) -> None:
    address, workers = cluster
    with distributed.Client(address, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)

    def kill_one() -> None:
        out = tmp_path / "out"
        while not any(out.glob("part-*")):
            time.sleep(0.01)
        os.kill(workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    found = hn.sweep(PLAN, tmp_path / "out", on=address, progress=False)
    killer.join(10)
    assert workers[0].wait(10) == -signal.SIGKILL
    assert found.status["left"] == 0
    found.export(tmp_path / "cluster.parquet")
    hn.sweep(PLAN, tmp_path / "here", workers=1, progress=False).export(tmp_path / "here.parquet")
    assert (tmp_path / "cluster.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    # A client can be passed instead of an address, and finished cells are not computed again.
    with distributed.Client(address, timeout=60) as client:
        assert hn.sweep(PLAN, tmp_path / "out", on=client, progress=False).status["left"] == 0
        more = PLAN | {"rounds": 50, "runs": 2}
        assert hn.sweep(more, tmp_path / "more", on=client, progress=False).status["left"] == 0


def test_on_must_be_an_address_or_a_client(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"on must be the address of a Dask scheduler, or a distributed\.Client; got 3"
    ):
        hn.sweep(PLAN, tmp_path / "out", on=3, progress=False)


def test_a_grid_of_a_class_in_a_file_gives_the_same_bytes(tmp_path: Path, cluster) -> None:
    tables = []
    with distributed.Client(cluster[0], timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        for name, where in (("one", {"workers": 1}), ("two", {"workers": 2}), ("dask", {"on": client})):
            folder = tmp_path / name
            folder.mkdir()
            (folder / "plan.toml").write_text(GRID)
            (folder / "mine.py").write_text(MINE)
            tables.append(exported(folder, **where))
    assert tables[0] == tables[1] == tables[2]
