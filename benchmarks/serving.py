"""Decisions over HTTP, durable, compared with a minimal response on the same server and with the disk itself.

wrk (Debian's package) asks, uvicorn answers, on the same machine and its same cores; the contestants take turns, and
medians are compared. Keys and metrics are on. The processor's time of a request, on both sides, is told beside them: it
says the same on a busy machine.
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
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from fleet import grown
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


def spent(process: int) -> float:
    """Processor time of a process, in seconds."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def asked(
    process: int, url: str, seconds: int, lua: Path | None = None, connections: int = 64
) -> tuple[float, float, float]:
    """Return (requests per second, 99th percentile in seconds, processor seconds of the server per request)."""
    before = spent(process)
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url]
    told = subprocess.run(
        [*words[:-1], *([] if lua is None else ["-s", str(lua)]), url], capture_output=True, text=True, check=True
    ).stdout
    assert "Non-2xx" not in told, told
    found, slow = re.search(r"Requests/sec:\s+([\d.]+)", told), re.search(r"99%\s+([\d.]+)(us|ms|s)\b", told)
    assert found is not None, told
    assert slow is not None, told
    count = re.search(r"(\d+) requests in", told)
    assert count is not None, told
    late = float(slow[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[slow[2]]
    return float(found[1]), late, (spent(process) - before) / int(count[1])


@contextlib.contextmanager
def running(words: list[str], url: str, **more: Any) -> Iterator[int]:
    """Start a server, wait until it answers, and yield its process."""
    process = subprocess.Popen([sys.executable, "-c", *words], stderr=subprocess.DEVNULL, **more)
    try:
        import urllib.request

        for _ in range(200):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(url, timeout=1).close()
                break
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def syncs(folder: Path, seconds: float) -> tuple[float, float]:
    """pwrite and fdatasync of 1.5 kB: (number per second, slowest)"""
    handle = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY)
    data, count, longest = b"x" * 1536, 0, 0.0
    before = time.perf_counter()
    end = before + seconds
    while before < end:
        os.pwrite(handle, data, count * 1536)
        os.fdatasync(handle)
        count += 1
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    os.close(handle)
    return count / seconds, longest


def over_http(folder: Path, turns: int, seconds: int) -> list[list[str]]:
    """Minimal responses, single decisions, batches of 100, and the disk, alternately."""
    single, batch = script(folder, "single", {}), script(folder, "batch", {"count": 100})
    act = "http://127.0.0.1:8497/v1/learners/b/act"
    environment = {**os.environ, "HANNAN_KEYS": f"admin:{KEY}"}
    serve = [SERVE, "serve", "bench.db", "--port", "8497", "--add", "b=" + ",".join("abcdefgh")]
    told: dict[str, list[float]] = defaultdict(list)
    with (
        running([HELLO, "8496"], "http://127.0.0.1:8496/") as greeter,
        running(serve, "http://127.0.0.1:8497/healthz", cwd=folder, env=environment) as server,
    ):
        asked(server, act, 1, single)
        for _ in range(turns):
            for name, rates in (
                ("hello", asked(greeter, "http://127.0.0.1:8496/", seconds)),
                ("single", asked(server, act, seconds, single)),
                ("batch", asked(server, act, seconds, batch)),
            ):
                for what, value in zip(("", " late", " CPU"), rates, strict=True):
                    told[name + what].append(value)
            told["disk"].append(syncs(folder, seconds / 2)[0])
    middle = {name: statistics.median(values) for name, values in told.items()}
    hello, one, many, disk, late = (
        middle[name] * times
        for name, times in (("hello", 1), ("single", 1), ("batch", 100), ("disk", 1), ("single late", 1))
    )
    cost = f"; CPU {1e6 * middle['single CPU']:.0f} us, hello {1e6 * middle['hello CPU']:.0f}"
    costs = f"; CPU {1e6 * middle['batch CPU']:.0f} us a batch"
    return [
        ["durable single decisions, c = 64, to hello", f"{one:,.0f}/s: {one / hello:.2f}{cost}", ">= 0.36",
         yes(one >= 0.36 * hello)],
        ["its 99th percentile", shown(late), "<= 25 ms on a quiet machine", yes(late <= 0.025)],
        ["the same to raw fdatasync", f"{disk:,.0f}/s: {one / disk:.2f}", ">= 1.2", yes(one >= 1.2 * disk)],
        ["batch of 100: decisions to hello", f"{many:,.0f}/s: {many / hello:.1f}{costs}", ">= 25",
         yes(many >= 25 * hello)],
    ]  # fmt: skip


def recovery(folder: Path, events: int) -> list[str]:
    """Seconds of an opening that replays this many events."""
    path = folder / "recovery.db"
    store = hn.Store(path, snapshot_events=10**12, snapshot_seconds=1e9)
    store.add("b", hn.Bandit(8))
    rng = np.random.default_rng(0)
    for _ in range(events // 64):
        drawn, _ = store.queue.draws("b", 32)
        _, sequence = store.queue.settle([(ticket, None, float(rng.random())) for ticket in drawn.ticket])
        store.queue.journal.wait(sequence)
    store.queue.journal._snapshot_sequence = 10**18  # closed without a snapshot, as a crash
    store.close()
    before = time.process_time()  # one thread: what else runs on the machine does not count
    with hn.Store(path) as store:
        seconds = time.process_time() - before
        played = store.certificate("b").rounds * 2
    scaled = seconds * events / played
    good = scaled * 1e6 / events <= 1.5
    return [f"recovery of {events:,} events, CPU", shown(scaled), "<= 1.5 s at 1,000,000", yes(good)]


def waiting(folder: Path, count: int) -> list[list[str]]:
    """Memory of open decisions, and the longest pause of single decisions meanwhile, including snapshots."""
    with hn.Store(folder / "open.db", snapshot_seconds=0.5) as store:
        store.add("b", hn.Bandit(8, hn.Tsallis(0.5)))
        for _ in range(count // 1000):
            _, sequence = store.queue.draws("b", 1000)
        store.queue.journal.wait(sequence)
        took = store.queue.contents.learners[0].unkeyed._bytes["open"] / store.queue.contents.learners[0].open
        gc.collect()
        longest = _longest(lambda: store.queue.draw("b"), 3.0)
        _, slowest = syncs(folder, 1.0)
        durable = _longest(lambda: store.act("b"), 3.0)
    return [
        ["a pending decision", f"{took:.0f} bytes", "<= 100 bytes", yes(took <= 100)],
        [f"longest pause of a draw with {count:,} open", shown(longest), "<= 20 ms", yes(longest <= 0.020)],
        ["the same until it is on the disk", f"{shown(durable)}; slowest bare sync {shown(slowest)}", "", ""],
    ]


def _longest(call: Callable[[], object], seconds: float) -> float:
    """The slowest of the calls within the time budget."""
    longest, before = 0.0, time.perf_counter()
    end = before + seconds
    while before < end:
        call()
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    return longest


def fleet(learners: int) -> list[list[str]]:
    """Batches of decisions of a large fleet, and the memory per learner."""
    batch, rng = 2000, np.random.default_rng(1)
    made, keys = grown(hn.Bandit(10), learners, batch), [rng.integers(0, learners, batch) for _ in range(20)]
    losses, taken = rng.random((20, batch)), []
    for _ in range(15):
        before = time.process_time()  # one core
        for whose, loss in zip(keys, losses, strict=True):
            made.observe(made.act(whose), loss)
        taken.append((time.process_time() - before) / (20 * batch))
    each, cost = made.nbytes["learners"] / len(made), statistics.median(taken)
    rate = f"{1e-6 / cost:.2f} million/s, best {1e-6 / min(taken):.2f}"
    return [
        [f"fleet of {learners:,} x 10 arms, CPU", rate, ">= 4 million/s", yes(cost <= 1.0 / 4e6)],
        ["a learner of it", f"{each:.0f} bytes", "<= 170 bytes", yes(each <= 170)],
    ]


def yes(good: bool) -> str:
    """Return whether the target is reached."""
    return "reached" if good else "**not reached**"


def run(fast_protocol: bool = False) -> str:
    """The table."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        rows = [
            recovery(folder, 100_000 if fast_protocol else 1_000_000),
            *fleet(100_000 if fast_protocol else 1_000_000),
            *waiting(folder, 30_000 if fast_protocol else 300_000),
        ]
        if shutil.which("wrk"):
            rows = [*over_http(folder, 1 if fast_protocol else 5, 1 if fast_protocol else 2), *rows]
        else:
            rows.append(["over HTTP", "not measured: wrk is not installed", "", ""])
    return table(["", "measured", "reach", ""], rows)
