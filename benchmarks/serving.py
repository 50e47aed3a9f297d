"""Decisions over HTTP, durable, beside a bare hello on the same server and beside the disk itself.

wrk (Debian's package) asks, uvicorn answers, on the same machine; the contestants take turns, and medians are compared.
Keys and metrics are on.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from timing import shown, table

import hannan as hn

KEY = "benchmark-" + "k" * 16
HELLO = """
import sys, uvicorn
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False, http="httptools", ws="none")
"""
SERVE = "from hannan.cli import main; main()"


def script(folder: Path, name: str, body: dict[str, Any]) -> Path:
    """A request for wrk."""
    path = folder / f"{name}.lua"
    path.write_text(
        'wrk.method = "POST"\n'
        f'wrk.headers["authorization"] = "Bearer {KEY}"\n'
        'wrk.headers["content-type"] = "application/json"\n'
        f"wrk.body = [[{json.dumps(body)}]]\n"
    )
    return path


def asked(url: str, seconds: int, lua: Path | None = None, connections: int = 64) -> tuple[float, float]:
    """(requests a second, 99th percentile in seconds)"""
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url]
    told = subprocess.run(
        [*words[:-1], *([] if lua is None else ["-s", str(lua)]), url], capture_output=True, text=True, check=True
    ).stdout
    assert "Non-2xx" not in told, told
    found, slow = re.search(r"Requests/sec:\s+([\d.]+)", told), re.search(r"99%\s+([\d.]+)(us|ms|s)\b", told)
    assert found is not None, told
    assert slow is not None, told
    return float(found[1]), float(slow[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[slow[2]]


@contextlib.contextmanager
def running(words: list[str], url: str, **more: Any) -> Iterator[None]:
    """A server that answers."""
    process = subprocess.Popen([sys.executable, "-c", *words], stderr=subprocess.DEVNULL, **more)
    try:
        import urllib.request

        for _ in range(200):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(url, timeout=1).close()
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


def syncs(folder: Path, seconds: float) -> float:
    """pwrite and fdatasync of 1.5 kB, so many a second."""
    handle = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY)
    data, count, end = b"x" * 1536, 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        os.pwrite(handle, data, count * 1536)
        os.fdatasync(handle)
        count += 1
    os.close(handle)
    return count / seconds


def over_http(folder: Path, turns: int, seconds: int) -> list[list[str]]:
    """hello, single decisions, batches of 100, and the disk, in turns."""
    single, batch = script(folder, "single", {}), script(folder, "batch", {"count": 100})
    act = "http://127.0.0.1:8497/v1/learners/b/act"
    environment = {**os.environ, "HANNAN_KEYS": f"admin:{KEY}"}
    serve = [SERVE, "serve", "bench.db", "--port", "8497", "--add", "b=" + ",".join("abcdefgh")]
    told: dict[str, list[float]] = {name: [] for name in ("hello", "single", "batch", "disk", "late")}
    with (
        running([HELLO, "8496"], "http://127.0.0.1:8496/"),
        running(serve, "http://127.0.0.1:8497/healthz", cwd=folder, env=environment),
    ):
        asked(act, 1, single)
        for _ in range(turns):
            told["hello"].append(asked("http://127.0.0.1:8496/", seconds)[0])
            rate, slow = asked(act, seconds, single)
            told["single"].append(rate)
            told["late"].append(slow)
            told["batch"].append(100 * asked(act, seconds, batch)[0])
            told["disk"].append(syncs(folder, seconds / 2))
    hello, one, many, disk, late = (
        statistics.median(told[name]) for name in ("hello", "single", "batch", "disk", "late")
    )
    return [
        ["durable single decisions, c = 64, to hello", f"{one:,.0f}/s: {one / hello:.2f}", ">= 0.36",
         yes(one >= 0.36 * hello)],
        ["its 99th percentile", shown(late), "<= 25 ms on a quiet machine", yes(late <= 0.025)],
        ["the same to raw fdatasync", f"{disk:,.0f}/s: {one / disk:.2f}", ">= 1.2", yes(one >= 1.2 * disk)],
        ["batch of 100: decisions to hello", f"{many:,.0f}/s: {many / hello:.1f}", ">= 25", yes(many >= 25 * hello)],
    ]  # fmt: skip


def recovery(folder: Path, events: int) -> list[str]:
    """The seconds of an opening that plays so many events again."""
    path = folder / "recovery.db"
    store = hn.Store(path, snapshot_events=10**12, snapshot_seconds=1e9)
    store.add("b", hn.Bandit(8))
    rng = np.random.default_rng(0)
    for _ in range(events // 64):
        drawn, _ = store.desk.draws("b", 32)
        _, sequence = store.desk.settle([(ticket, None, float(rng.random())) for ticket in drawn.ticket])
        store.desk.journal.wait(sequence)
    store.desk.journal._photographed = 10**18  # closed without a snapshot, as a crash
    store.close()
    before = time.process_time()  # one thread: what else runs on the machine does not count
    with hn.Store(path) as store:
        seconds = time.process_time() - before
        played = store.certificate("b").rounds * 2
    scaled = seconds * events / played
    good = scaled * 1e6 / events <= 1.5
    return [f"recovery of {events:,} events, CPU", shown(scaled), "<= 1.5 s at 1,000,000", yes(good)]


def waiting(folder: Path, count: int) -> list[list[str]]:
    """What open decisions take, and the longest pause of single ones beside them, snapshots included."""
    with hn.Store(folder / "open.db", snapshot_seconds=0.5) as store:
        store.add("b", hn.Bandit(8, hn.Tsallis(0.5)))
        for _ in range(count // 1000):
            _, sequence = store.desk.draws("b", 1000)
        store.desk.journal.wait(sequence)
        took = store.desk.contents.residents[0].alone._bytes["open"] / store.desk.contents.residents[0].open
        gc.collect()
        longest, end, before = 0.0, time.perf_counter() + 3.0, time.perf_counter()
        while before < end:
            store.desk.draw("b")
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
    return [
        ["an open decision", f"{took:.0f} bytes", "<= 100 bytes", yes(took <= 100)],
        [f"longest pause of a draw with {count:,} open", shown(longest), "<= 20 ms", yes(longest <= 0.020)],
    ]


def yes(good: bool) -> str:
    """Whether it is there."""
    return "reached" if good else "**not reached**"


def run(quick: bool = False) -> str:
    """The table."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        rows = [recovery(folder, 100_000 if quick else 1_000_000), *waiting(folder, 30_000 if quick else 300_000)]
        if shutil.which("wrk"):
            rows = [*over_http(folder, 1 if quick else 5, 1 if quick else 2), *rows]
        else:
            rows.append(["over HTTP", "not measured: wrk is not installed", "", ""])
    return table(["", "measured", "reach", ""], rows)
