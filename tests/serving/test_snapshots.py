"""Snapshots in parts, between groups; stores of format 1; events that are let go."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.serving import snapshots
from hannan.serving.desk import _recovered
from hannan.serving.journal import Clock
from hannan.serving.sqlite import SQLiteShelf
from hannan.serving.store import Store

LEARNER = hn.Bandit(["x", "y", "z"], gains=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.db"


def whole(path: Path) -> list[tuple[int, int, int]]:
    """(sequence, parts there, parts) of each snapshot."""
    base = sqlite3.connect(path)
    try:
        query = "SELECT sequence, count(*), max(parts) FROM snapshots GROUP BY sequence ORDER BY sequence"
        return base.execute(query).fetchall()
    finally:
        base.close()


def played(store: Store, rounds: int, name: str = "a") -> list[Any]:
    moves = []
    for _ in range(rounds):
        moves.append(store.act(name))
        store.observe(moves[-1].ticket, reward=float(moves[-1].action == 1))
    return moves


def test_parts_come_between_groups(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "SIZE", 100)
    with Store(path, snapshot_events=60) as store:
        store.add("a", LEARNER)
        played(store, 200)
        end = time.monotonic() + 20.0
        while store.desk.shelf.whole() is None and time.monotonic() < end:
            played(store, 1)
        assert store.desk.shelf.whole() is not None
        assert sum(there == of for _, there, of in whole(path)) >= 1
        assert all(of > 5 for _, _, of in whole(path))
    assert whole(path)[-1][1] == whole(path)[-1][2]
    with Store(path) as store:
        assert store.certificate("a").rounds >= 200


def test_a_snapshot_that_is_not_whole_is_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "SIZE", 500)
    with Store(path) as store:
        store.add("a", LEARNER)
        moves = played(store, 20)
        kept = store.desk.contents.residents[0].alone.to_bytes()
    base = sqlite3.connect(path)
    base.execute("DELETE FROM snapshots WHERE part = 1")
    base.commit()
    base.close()
    shelf = SQLiteShelf(path, 0, 1)
    assert shelf.snapshot() is None
    assert _recovered(shelf).residents[0].alone.to_bytes() == kept
    shelf.close()
    with Store(path) as store:
        assert store.observe(moves[0].ticket, reward=1) is False


def test_a_store_of_format_1(path: Path) -> None:
    with Store(path) as store:
        store.add("a", LEARNER)
        moves = played(store, 20)
        left = store.act("a")
    base = sqlite3.connect(path)
    for statement in (
        "CREATE TABLE one (sequence INTEGER PRIMARY KEY, blob BLOB NOT NULL)",
        "INSERT INTO one SELECT sequence, blob FROM snapshots ORDER BY sequence DESC LIMIT 1",
        "DROP TABLE snapshots", "ALTER TABLE one RENAME TO snapshots", "PRAGMA user_version=1",
    ):  # fmt: skip
        base.execute(statement)
    base.commit()
    base.close()
    with Store(path) as store:
        assert store.observe(moves[0].ticket, reward=1) is False
        assert store.observe(left.ticket, reward=1) is True
        assert store.desk.shelf.whole() is not None
    base = sqlite3.connect(path)
    assert base.execute("PRAGMA user_version").fetchone() == (2,)
    base.close()


def test_old_events_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = [time.time()]
    monkeypatch.setattr(Clock, "now", lambda self: at[0])
    with Store(path) as store:
        store.add("a", LEARNER)
        played(store, 10)
        open_one = store.act("a", key="anna")
        played(store, 10)
        assert store.prune(0.0) == 0  # no snapshot has them
    with Store(path) as store:
        at[0] += 1000.0
        played(store, 5)
        rows = len(store.log("a"))
        assert (rows, store.prune(2000.0)) == (25, 0)  # all are young
        assert store.prune(500.0) > 0
        assert len(store.log("a")) == 15  # not from the draw that is open on
        assert store.prune(500.0) == 0
        assert store.observe(open_one.ticket, reward=1) is True
        assert store.prune(500.0) > 0
        log = store.log("a")  # that feedback came late, and its draw is gone: it is in no row
        assert (len(log), log["key"].tolist()) == (5, [""] * 5)
        again = store.act("a")
    with Store(path) as store:  # recovery does not miss them
        assert store.certificate("a", key="anna").rounds == 1
        assert store.observe(again.ticket, reward=1) is True
        with pytest.raises(ValueError, match="age must be"):
            store.prune(-1.0)


def test_a_snapshot_is_a_copy(path: Path) -> None:
    """What is photographed is developed later: what is played in between is not in it."""
    with Store(path) as store:
        store.add("a", hn.Bandit(3, hn.Tsallis(0.5)))
        left = [store.desk.draw("a")[0] for _ in range(300)]
        with store.desk.lock:
            before, developed = store.desk.contents.residents[0].alone.to_bytes(), store.desk._photograph()
        for one in left[:200]:
            store.observe(one.ticket, loss=0.5)
        store.desk.draws("a", 700)
        assert before in b"".join(developed())


def test_growing_tables_do_not_stop_the_play(tmp_path: Path) -> None:
    """No draw waits for a snapshot of what is open: only for the copy of it."""
    with Store(tmp_path / "open.db", snapshot_seconds=0.05) as store:
        store.add("b", hn.Bandit(8, hn.Tsallis(0.5)))
        for _ in range(40):
            _, sequence = store.desk.draws("b", 1000)
            store.desk.journal.wait(sequence)
        assert store.desk.contents.residents[0].open == 40_000
        while store.desk.shelf.whole() is None:
            time.sleep(0.01)
    assert os.path.getsize(tmp_path / "open.db") < 30_000_000
    with Store(tmp_path / "open.db") as store:
        assert store.desk.contents.residents[0].open == 40_000
        assert np.isclose(store.certificate("b").open_moves, 40_000)


def test_a_stored_learner_tells_its_stability(path: Path) -> None:
    with Store(path) as store:
        store.add("a", hn.Bandit(3, hn.Tsallis(0.5)))
        for t in range(50):
            for key in (None, "anna"):
                move = store.act("a", key=key)
                store.observe(move.ticket, loss=0.1 * (t % 9))
        told = store.certificate("a")
        assert 0.0 < told.realised_level <= told.claimed_rate * (1.0 + 1e-9)
        assert "realised" in dict(told.rows())["stability"]
        assert store.certificate("a", key="anna").realised_level is None  # a key has no room for it
    with Store(path) as store:
        assert store.certificate("a").realised_level == told.realised_level
