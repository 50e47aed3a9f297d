"""One writer per store: locks, forks, hard links, and stores that are garbage-collected."""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rejections import rejected
from stores import GAINS, refused

import hannan as hn
from hannan.serving import CONFLICT, Ended
from hannan.serving.store import Store


def test_a_second_writer_is_rejected(path: Path) -> None:
    code = f"import hannan as hn; hn.Store({str(path)!r})"
    with Store(path):
        refused(CONFLICT, lambda: Store(path), "locked", os.getpid())
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert f"is locked by process {os.getpid()}" in other.stderr
    Store(path).close()


def test_a_forked_child_does_not_draw(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        child = os.fork()
        if child == 0:
            try:
                store.act("a")
            except Ended:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        store.act("a")


def test_a_file_with_hard_links_is_rejected(path: Path, tmp_path: Path) -> None:
    """Each name would have its own lock and log: two writers, and half of the events in each log."""
    with Store(path) as store:
        store.add("a", hn.Bandit(2))
        os.link(path, tmp_path / "other.db")
        rejected(lambda: Store(tmp_path / "other.db"), 2, "hard links")
    (tmp_path / "other.db").unlink()
    with Store(path) as store:
        assert list(store.learners) == ["a"]


OPEN_AND_DROP = """
import gc, sys
import hannan as hn
store = hn.Store("decisions.db")
store.add("a", hn.Bandit(2))
ticket = store.act("a").ticket
if sys.argv[1] == "cycle":
    store.itself = store
del store
gc.collect()
print(ticket, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("cycle", [False, True], ids=["counted", "cycle"])
def test_a_store_that_is_garbage_is_closed(path: Path, cycle: bool) -> None:
    store: Any = Store(path)
    store.add("a", GAINS)
    ticket, journal = store.act("a").ticket, store.queue.journal
    refused(CONFLICT, lambda: Store(path), "locked", os.getpid())
    if cycle:
        store.itself = store
    del store
    gc.collect()
    assert journal.closed
    assert not journal._thread.is_alive()
    with Store(path) as again:
        assert again.observe(ticket, reward=1)


@pytest.mark.parametrize("how", ["counted", "cycle"])
def test_a_store_that_is_garbage_leaves_its_lock_to_another_process(path: Path, how: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", OPEN_AND_DROP, how],
        cwd=path.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    ticket = process.stdout.readline().strip()
    with Store(path) as store:  # the process continues
        assert process.poll() is None
        assert store.observe(ticket, loss=1.0)
    process.communicate("\n", timeout=30)
    assert process.returncode == 0


def test_a_store_that_is_collected_in_its_own_thread_is_closed(path: Path) -> None:
    """The collector can run in the thread that writes, which must not wait for itself."""
    store: Any = Store(path)
    store.add("a", GAINS)
    kept, journal = [store], store.queue.journal
    journal.listeners.append(kept.clear)  # called in the writer's thread, in which the last reference is deleted
    del store
    kept[0].queue.draw("a")
    deadline = time.monotonic() + 20
    while not (journal.closed and _is_free(path)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert journal.closed
    Store(path).close()


def _is_free(path: Path) -> bool:
    with open(path.with_name(path.name + ".lock")) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
