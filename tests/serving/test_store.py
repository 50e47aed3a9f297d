"""Stores: recovery, new entropy at every opening, threads, failures of the disk, and closing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rejections import rejected
from stores import GAINS, crash, played

import hannan as hn
from hannan.serving import Ended
from hannan.serving.decisions import recovered
from hannan.serving.journal import Clock
from hannan.serving.sqlite import SQLiteBackend
from hannan.serving.store import Store


@pytest.mark.parametrize(
    "learner",
    [
        hn.Bandit(4, gains=True),
        hn.Bandit(4, hn.Tsallis(0.5), gains=True),
        hn.Bandit(4, hn.Exponential(), hn.Horizon(500), hn.GeometricResampling(40), gains=True),
        hn.TsallisShannon(4, gains=True),
        hn.Bandit(4, hn.Entropy(), hn.Horizon(500), hn.ImplicitExploration(0.02), gains=True),
    ],
    ids=repr,
)
@pytest.mark.parametrize("snapshot", [7, 10**6])
def test_recovery_is_bit_for_bit(path: Path, learner: Any, snapshot: int) -> None:
    """From a snapshot and the events after it, with open moves and keys of both kinds: the same bytes."""
    store = Store(path, snapshot_events=snapshot)
    for name in ("a", "b"):
        store.add(name, learner)
    for name, keys in (("a", (None, 5, -1, 2**62)), ("b", (None, "anna", "ben"))):
        moves = []
        for t in range(40):
            moves.append(store.act(name, key=keys[t % len(keys)]))
            if t % 3:
                store.observe(moves[t - t % 2].ticket, reward=0.25 + 0.5 * (moves[t].action == 0))
    kept = [fleet.to_bytes() for one in store.queue.contents.learners for fleet in one.fleets]
    crash(store)
    backend = SQLiteBackend(path, 0, 1)
    found = recovered(backend)
    assert [fleet.to_bytes() for one in found.learners for fleet in one.fleets] == kept
    assert (found.sequence > snapshot) is (snapshot == 7)
    backend.close()
    with Store(path) as store:
        assert store.observe(moves[3].ticket, reward=0.5) is True
        assert store.certificate("b", key="anna").rounds > 3


def test_a_copy_of_a_store_draws_other_moves(path: Path, tmp_path: Path) -> None:
    """A restored backup repeats no draw: 60 fair coins are equal with probability 2^-60."""
    played(path, hn.Bandit(2, hn.Entropy(), hn.Fixed(1e9), gains=True), 1)
    shutil.copy(path, tmp_path / "copy.db")
    drawn = []
    for name in ("decisions.db", "copy.db"):
        with Store(tmp_path / name) as store:
            drawn.append([store.act("a").action for _ in range(60)])
    assert drawn[0] != drawn[1]


def test_a_failed_draw_ends_the_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn, but not written: memory and disk differ, so the store must be opened again."""
    with Store(path) as store:
        store.add("a", GAINS)
        monkeypatch.setattr(type(store.queue.signer), "ticket", lambda *_: 1 / 0)
        rejected(lambda: store.act("a"), kind=ZeroDivisionError)
        monkeypatch.undo()
        rejected(lambda: store.act("a"), "division by zero", kind=Ended)
    with Store(path) as store:
        store.act("a")


def test_a_journal_that_fails_during_a_group_ends_immediately(path: Path) -> None:
    """Its writer does not wait: nothing would wake it before the next snapshot, in a minute."""
    store = Store(path)
    store.add("a", GAINS)
    journal = store.queue.journal
    with journal._writing:  # the disk needs some time
        with store.queue.lock:
            journal.append(bytes(32))
        while journal._body:
            time.sleep(0.001)
        journal.fail(RuntimeError("crashed"))
    journal._thread.join(10.0)
    assert not journal._thread.is_alive()
    store.queue.backend.close()


def test_threads_share_writes(path: Path) -> None:
    with Store(path, snapshot_events=40) as store:
        store.add("a", GAINS)
        counted = []

        def work() -> None:
            for _ in range(15):
                move = store.act("a")
                counted.append(store.observe(move.ticket, reward=0.5))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counted == [True] * 120
        assert store.queue.journal.groups < 240  # they share writes
    with Store(path) as store:
        assert store.certificate("a").rounds == 120


def test_a_full_disk_ends_the_store(path: Path) -> None:
    store = Store(path)
    store.add("a", GAINS)
    good = store.act("a")
    pages = store.queue.backend._connection.execute("PRAGMA page_count").fetchone()[0]  # type: ignore[attr-defined]
    store.queue.backend._connection.execute(f"PRAGMA max_page_count={pages + 1}")  # type: ignore[attr-defined]
    acknowledged = [good]
    with pytest.raises(Ended, match="full"):  # noqa: PT012, one of them is the last
        for _ in range(1000):
            acknowledged.append(store.act("a"))
    rejected(lambda: store.observe(good.ticket, reward=1), "full", kind=Ended)
    store.close()
    with Store(path) as store:
        assert all(store.observe(move.ticket, reward=1) for move in acknowledged)


def test_a_limit_on_file_sizes_ends_the_store(path: Path) -> None:
    """EFBIG during a write, like ENOSPC; the process continues, the store does not."""
    code = f"""
import hannan as hn, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
store = hn.Store({str(path)!r})
store.add("a", hn.Bandit(2))
try:
    while True:
        print(store.act("a").ticket)
except RuntimeError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    *tickets, last = done.stdout.splitlines()
    assert last.startswith("Ended ")
    with Store(path) as store:
        assert all(store.observe(ticket, loss=0) for ticket in tickets)


def test_times_never_decrease(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(last=time.time() + 1000.0)
    assert clock.now() >= time.time() + 999.0
    with Store(path) as store:
        store.add("a", GAINS, wait=1e6, default=0.0)
        store.act("a")
        last = store.queue.journal.clock.now()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 86400.0)
    with Store(path) as store:
        assert store.queue.journal.clock.now() >= last
        store.observe(store.act("a").ticket, reward=1)
        assert (np.diff(store.log("a")["time"]) >= 0).all()


def test_calls_of_a_closed_store_raise(path: Path) -> None:
    store = Store(path)
    store.add("a", GAINS)
    move = store.act("a")
    store.close()
    store.close()
    for call in (lambda: store.act("a"), lambda: store.observe(move.ticket, reward=1), lambda: store.add("b", GAINS)):
        rejected(call, "closed", kind=Ended)
