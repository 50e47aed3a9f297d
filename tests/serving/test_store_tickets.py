"""Tickets of a store: crafted tickets, backups, and rotation of secrets."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from rejections import rejected
from stores import GAINS, refused

from hannan.serving import CONFLICT, TICKET
from hannan.serving.store import Store


def test_crafted_tickets_are_rejected(path: Path, tmp_path: Path) -> None:
    with Store(path) as store, Store(tmp_path / "other.db") as other:
        store.add("a", GAINS)
        other.add("a", GAINS)
        good = store.act("a").ticket
        refused(TICKET, lambda: store.observe(other.act("a").ticket, reward=1), "another store")
        for k in range(0, len(good), 3):
            bad = good[:k] + ("A" if good[k] != "A" else "B") + good[k + 1 :]
            refused(TICKET, lambda bad=bad: store.observe(bad, reward=1))
        for bad in ("", "hello", None, 7, good + "=", good[:-4], good * 12, "é" * 90, b"x"):
            refused(TICKET, lambda bad=bad: store.observe(bad, reward=1), "ticket")
        assert store.observe(good, reward=1) is True


def test_tickets_drawn_after_a_backup_are_rejected_by_the_backup(path: Path, tmp_path: Path) -> None:
    """Copies that continued from one state: neither settles its own rounds with the other's tickets."""
    with Store(path) as store:
        store.add("a", GAINS)
        before = store.act("a")
        running = tmp_path / "running.db"
        source = sqlite3.connect(path)
        target = sqlite3.connect(running)
        source.backup(target)  # while it is open
        source.close(), target.close()
        after = [store.act("a") for _ in range(5)]
    closed = tmp_path / "closed.db"
    shutil.copy(path, closed)
    with Store(path) as store:
        later = [store.act("a") for _ in range(5)]
    for copy, future in ((running, after), (closed, later)):
        with Store(copy) as store:
            own = [store.act("a") for _ in range(9)]
            for move in future:
                refused(CONFLICT, lambda move=move: store.observe(move.ticket, reward=1), "copy")
            assert store.observe(before.ticket, reward=1) is True
            assert all(store.observe(move.ticket, reward=1) for move in own)


def test_rotation_of_secrets(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        old, late = store.act("a"), store.act("a")
        assert store.secrets == [1]
        assert store.rotate_secret() == 2
        new = store.act("a")
        rejected(lambda: store.retire_secret(2), 2)
        assert store.observe(old.ticket, reward=1) is True
        store.retire_secret(1)
        refused(TICKET, lambda: store.observe(late.ticket, reward=1), 1, "retired")
        rejected(lambda: store.retire_secret(1), 1, "[2]")
    with Store(path) as store:
        assert store.secrets == [2]
        assert store.observe(new.ticket, reward=1) is True
