"""Files of a store: damaged journals, other files, files that are moved, and syncs."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rejections import rejected
from stores import GAINS, crash

from hannan.serving import Ended
from hannan.serving.journal import Damaged
from hannan.serving.store import Store


def test_a_damaged_journal_is_rejected(path: Path) -> None:
    store = Store(path)
    store.add("a", GAINS)
    for _ in range(3):
        store.act("a")
    crash(store)
    base = sqlite3.connect(path)
    first, blob = base.execute("SELECT first, blob FROM journal ORDER BY first DESC LIMIT 1").fetchone()
    damages = {
        "checksum": (first, blob[:-1] + bytes([blob[-1] ^ 1])),
        "does not match a group": (first, blob[:-24]),
        "expected a header": (first, b"x"),
        "expected sequence": (first + 5, blob),
    }
    for says, (at, bad) in damages.items():
        base.execute("DELETE FROM journal WHERE first = (SELECT max(first) FROM journal)")
        base.execute("INSERT INTO journal VALUES (?, ?)", (at, bad))
        base.commit()
        rejected(lambda: Store(path), says, kind=Damaged)
    base.execute("DELETE FROM journal WHERE first = (SELECT max(first) FROM journal)")
    base.execute("INSERT INTO journal VALUES (?, ?)", (first, blob))
    base.commit()
    base.close()
    Store(path).close()


def test_a_journal_that_replays_differently_is_rejected(path: Path) -> None:
    """As if another version of the engine had computed it: one bit of a probability differs."""
    from hannan.serving import journal as records

    store = Store(path)
    store.add("a", GAINS)
    store.act("a")
    crash(store)
    base = sqlite3.connect(path)
    first, blob = base.execute("SELECT first, blob FROM journal ORDER BY first DESC LIMIT 1").fetchone()
    body, when = records.opened(blob, first)
    changed = bytearray(body)
    changed[16] ^= 1
    base.execute("UPDATE journal SET blob = ? WHERE first = ?", (records.group(bytes(changed), when), first))
    base.commit()
    base.close()
    rejected(lambda: Store(path), "journal", kind=Damaged)


def test_files_that_are_not_stores_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("hello" * 1000)
    base = sqlite3.connect(tmp_path / "base.db")
    base.execute("CREATE TABLE x (y)")
    base.close()
    (tmp_path / "folder").mkdir()
    for name in ("text.db", "base.db", "nowhere/x.db", "folder", "."):
        with pytest.raises((ValueError, OSError)):
            Store(tmp_path / name)
    # A file of another program is recognized at once, and no lock is created beside it.
    assert sorted(one.name for one in tmp_path.glob("*.lock")) == ["base.db.lock"]
    assert (tmp_path / "text.db").read_text() == "hello" * 1000
    with Store(tmp_path / "old.db"):
        pass
    base = sqlite3.connect(tmp_path / "old.db")
    base.execute("PRAGMA user_version=99")
    base.close()
    rejected(lambda: Store(tmp_path / "old.db"), 99)
    assert (tmp_path / "old.db").stat().st_mode & 0o077 == 0


def _replaced(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


MOVES = {
    "removed": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(path.with_suffix(".old")),
    "replaced by a copy": _replaced,
    "log removed": lambda path: path.with_name(path.name + "-wal").unlink(),
    "lock removed": lambda path: path.with_name(path.name + ".lock").unlink(),
    "folder renamed": lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
}


USES: dict[str, Any] = {
    "act": lambda store, ticket: store.act("a"),
    "observe": lambda store, ticket: store.observe(ticket, reward=1),
    "add": lambda store, ticket: store.add("b", GAINS),
    "rotate": lambda store, ticket: store.rotate_secret(),
    "retire": lambda store, ticket: store.retire_secret(1),
    "check": lambda store, ticket: store.queue.journal.check(),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder" / "decisions.db"


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("use", USES)
def test_a_store_whose_file_is_moved_ends(folder: Path, move: str, use: str) -> None:
    with Store(folder) as store:
        store.add("a", GAINS)
        tickets = [store.act("a").ticket for _ in range(3)]
        store.rotate_secret()
        MOVES[move](folder)
        rejected(lambda: USES[use](store, tickets[0]), "renamed", kind=Ended)
        rejected(lambda: store.act("a"), "renamed", kind=Ended)


@pytest.mark.parametrize("move", MOVES)
def test_a_file_that_is_moved_during_a_commit_is_not_acknowledged(
    folder: Path, move: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(folder) as store:
        store.add("a", GAINS)
        backend: Any = store.queue.backend
        commit = backend._commit

        def moved(group: Any) -> None:
            commit(group)
            monkeypatch.undo()
            MOVES[move](folder)

        monkeypatch.setattr(backend, "_commit", moved)
        rejected(lambda: store.act("a"), "renamed", kind=Ended)


def test_control_a_store_whose_file_stays_continues(folder: Path) -> None:
    """The control: changes by backups and administrators after which the file remains do not end the store."""
    with Store(folder) as store:
        store.add("a", GAINS)
        folder.chmod(0o640)
        os.utime(folder)
        shutil.copy(folder, folder.with_suffix(".copy"))
        with sqlite3.connect(folder.with_suffix(".backup")) as backup, sqlite3.connect(folder) as live:
            live.backup(backup)
            live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.link(folder, folder.with_suffix(".link"))
        store.act("a")
        store.rotate_secret()
        store.queue.journal.check()


def test_a_renamed_file_keeps_acknowledged_decisions(folder: Path) -> None:
    """The file is restored with its write-ahead log. Without the file, a new store does not delete the log."""
    store, elsewhere = Store(folder), folder.with_suffix(".old")
    store.add("a", GAINS)
    tickets = [store.act("a").ticket for _ in range(5)]
    folder.rename(elsewhere)
    rejected(lambda: store.act("a"), kind=Ended)
    store.close()
    rejected(lambda: Store(folder), "write-ahead log")
    elsewhere.rename(folder)
    with Store(folder) as store:
        assert all(store.observe(ticket, reward=1) for ticket in tickets)


def _can_trace() -> bool:
    tool = shutil.which("strace")
    return tool is not None and subprocess.run([tool, "-o", os.devnull, "true"], capture_output=True).returncode == 0


SYNCED = """
import os, sys
import hannan as hn

store = hn.Store("decisions.db")
store.add("a", hn.Bandit(3))
if sys.argv[1] != "FULL":
    store.queue.backend._connection.execute(f"PRAGMA synchronous={sys.argv[1]}")
for k in range(12):
    os.write(1, b"ask\\n")
    store.observe(store.act("a").ticket, loss=0.5) if k % 2 else store.act("a", id=str(k))
    os.write(1, b"acknowledged\\n")
store.close()
"""


def _syncs(folder: Path, mode: str) -> list[int]:
    """Number of completed syncs of the write-ahead log between each request and its acknowledgement."""
    trace = folder / f"{mode}.txt"
    command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,write", "-o", str(trace)]
    (folder / mode).mkdir()
    subprocess.run(
        [*command, sys.executable, "-c", SYNCED, mode],
        cwd=folder / mode, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    counts, begun, open_ = list[int](), dict[str, bool](), False
    for line in trace.read_text().splitlines():
        thread, _, call = line.partition(" ")
        call = call.strip()
        if "write(1<" in call and '"ask' in call:
            counts.append(0)
            open_ = True
        elif "write(1<" in call and '"acknowledged' in call:
            open_ = False
        elif call.startswith(("fsync(", "fdatasync(")):
            begun[thread] = "-wal>" in call
            if call.endswith("= 0") and open_:
                counts[-1] += begun[thread]
        elif "sync resumed" in call and call.endswith("= 0") and open_:
            counts[-1] += begun[thread]
    return counts


@pytest.mark.skipif(not _can_trace(), reason="needs strace and the permission to trace")
def test_every_acknowledged_group_is_synced(tmp_path: Path) -> None:
    """The system calls themselves: a decision and its feedback are two groups, and each has a sync of its own.

    Control: in the mode that is the default of many builds of SQLite, acknowledgements come without a sync.
    """
    assert [count >= 1 + k % 2 for k, count in enumerate(_syncs(tmp_path, "FULL"))] == [True] * 12
    assert _syncs(tmp_path, "NORMAL") == [0] * 12
