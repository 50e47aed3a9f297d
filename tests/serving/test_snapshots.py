"""Snapshots in parts, between groups; stores of format 1; deletion of old events."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.serving import contents as sections
from hannan.serving import journal as journals
from hannan.serving.backend import complete_snapshots
from hannan.serving.contents import Contents, NewerVersion, _json
from hannan.serving.decisions import recovered
from hannan.serving.journal import Clock, Damaged
from hannan.serving.sqlite import SQLiteBackend
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


def test_parts_of_snapshots_are_written_between_groups(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "PART_SIZE", 100)
    with Store(path, snapshot_events=60) as store:
        store.add("a", LEARNER)
        played(store, 200)
        end = time.monotonic() + 20.0
        while not complete_snapshots(store.queue.backend) and time.monotonic() < end:
            played(store, 1)
        assert complete_snapshots(store.queue.backend)
        assert sum(there == of for _, there, of in whole(path)) >= 1
        assert all(of > 5 for _, _, of in whole(path))
    assert whole(path)[-1][1] == whole(path)[-1][2]
    with Store(path) as store:
        assert store.certificate("a").rounds >= 200


def test_incomplete_snapshot_is_ignored(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "PART_SIZE", 500)
    with Store(path) as store:
        store.add("a", LEARNER)
        moves = played(store, 20)
        kept = store.queue.contents.learners[0].unkeyed.to_bytes()
    base = sqlite3.connect(path)
    base.execute("DELETE FROM snapshots WHERE part = 1")
    base.commit()
    base.close()
    backend = SQLiteBackend(path, 0, 1)
    assert not complete_snapshots(backend)
    assert recovered(backend).learners[0].unkeyed.to_bytes() == kept
    backend.close()
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
        assert complete_snapshots(store.queue.backend)
    base = sqlite3.connect(path)
    assert base.execute("PRAGMA user_version").fetchone() == (3,)
    base.close()


def test_old_events_are_deleted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = [time.time()]
    monkeypatch.setattr(Clock, "now", lambda self: at[0])
    with Store(path) as store:
        store.add("a", LEARNER)
        played(store, 10)
        open_one = store.act("a", key="anna")
        played(store, 10)
        assert store.prune(0.0) == 0  # no snapshot includes them
    with Store(path) as store:
        at[0] += 1000.0
        played(store, 5)
        rows = len(store.log("a"))
        assert (rows, store.prune(2000.0)) == (26, 0)  # all are recent
        assert store.prune(500.0) > 0
        assert len(store.log("a")) == 16  # not from the open draw on
        assert store.prune(500.0) == 0
        assert store.observe(open_one.ticket, reward=1) is True
        assert store.prune(500.0) > 0
        log = store.log("a")  # the feedback came late, and its draw is deleted: it is in no row
        assert (len(log), log["key"].tolist()) == (5, [""] * 5)
        again = store.act("a")
    with Store(path) as store:  # recovery does not need them
        assert store.certificate("a", key="anna").rounds == 1
        assert store.observe(again.ticket, reward=1) is True
        with pytest.raises(ValueError, match="age must be"):
            store.prune(-1.0)


def test_a_snapshot_is_a_copy(path: Path) -> None:
    """A snapshot is of the moment at which it began: moves during its writing are not in it."""
    with Store(path) as store:
        store.add("a", hn.Bandit(3, hn.Tsallis(0.5)))
        left = [store.queue.draw("a")[0] for _ in range(300)]
        with store.queue.lock:
            before, encode = store.queue.contents.learners[0].unkeyed.to_bytes(), store.queue._take_snapshot()
        for one in left[:200]:
            store.observe(one.ticket, loss=0.5)
        store.queue.draws("a", 700)
        assert before in b"".join(encode())


def test_growing_tables_do_not_delay_draws(tmp_path: Path) -> None:
    """No draw waits for the writing of a snapshot, only for the copy of the open moves."""
    with Store(tmp_path / "open.db", snapshot_seconds=0.05) as store:
        store.add("b", hn.Bandit(8, hn.Tsallis(0.5)))
        for _ in range(40):
            _, sequence = store.queue.draws("b", 1000)
            store.queue.journal.wait(sequence)
        assert store.queue.contents.learners[0].open == 40_000
        while not complete_snapshots(store.queue.backend):
            time.sleep(0.01)
    assert os.path.getsize(tmp_path / "open.db") < 30_000_000
    with Store(tmp_path / "open.db") as store:
        assert store.queue.contents.learners[0].open == 40_000
        assert np.isclose(store.certificate("b").open_moves, 40_000)


def test_stored_learner_reports_its_stability(path: Path) -> None:
    with Store(path) as store:
        store.add("a", hn.Bandit(3, hn.Tsallis(0.5)))
        for t in range(50):
            for key in (None, "anna"):
                move = store.act("a", key=key)
                store.observe(move.ticket, loss=0.1 * (t % 9))
        told = store.certificate("a")
        assert 0.0 < told.realised_level <= told.claimed_rate * (1.0 + 1e-9)
        assert " measured, " in dict(told.rows())["stability"]
        assert store.certificate("a", key="anna").realised_level is None  # a key has no space for it
    with Store(path) as store:
        assert store.certificate("a").realised_level == told.realised_level


# Upgrades

CORPUS = Path(__file__).parent.parent / "corpus" / "0.2" / "stores"


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as base:
        return int(base.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("name", ["closed", "killed"])
def test_a_store_of_version_0_2_is_upgraded(path: Path, name: str) -> None:
    shutil.copy(CORPUS / f"{name}.db", path)
    assert version(path) == 2
    Store(path).close()
    assert version(path) == 3
    with closing(sqlite3.connect(path)) as base:
        (blob,) = base.execute("SELECT blob FROM snapshots WHERE part = 0 ORDER BY sequence DESC").fetchone()
    assert blob[:4] == sections.MAGIC


def test_an_upgrade_that_fails_changes_nothing(path: Path) -> None:
    """An existing table makes the upgrade from format 1 fail after some steps."""
    test_a_store_of_format_1(path)
    with closing(sqlite3.connect(path)) as base, base:
        for statement in (
            "CREATE TABLE one (sequence INTEGER PRIMARY KEY, blob BLOB NOT NULL)",
            "INSERT INTO one SELECT sequence, blob FROM snapshots WHERE part = 0 ORDER BY sequence DESC LIMIT 1",
            "DROP TABLE snapshots", "ALTER TABLE one RENAME TO snapshots", "PRAGMA user_version=1",
            "CREATE INDEX whole ON snapshots (blob)",
        ):  # fmt: skip
            base.execute(statement)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"decisions\.db is not a store.*whole"):
            Store(path)
        assert version(path) == 1
    with closing(sqlite3.connect(path)) as base, base:
        assert base.execute("SELECT count(*) FROM snapshots").fetchone() == (1,)
        base.execute("DROP INDEX whole")
    with Store(path) as store:
        assert store.certificate("a").rounds == 21
    assert version(path) == 3


# Damage


def filled(path: Path) -> list[bytes]:
    """Fill a store with plain, keyed and expiring learners; return the bytes of their fleets."""
    with Store(path) as store:
        store.add("a", LEARNER)
        store.add("keyed", hn.Bandit(3), wait=1e9, default=0.0)
        store.add("room", hn.Bandit(4, hn.Tsallis(0.5), gains=True), arms=["red", "blue"])
        played(store, 5)
        for key in ("anna", "ben", "anna"):
            store.act("keyed", key=key)
        store.retire_arm("room", "red")
        return fleets(store.queue.contents)


def fleets(contents: Contents) -> list[bytes]:
    return [fleet.to_bytes() for one in contents.learners for fleet in one.fleets if fleet is not None]


def flipped(blob: bytes, place: int) -> bytes:
    """Flip one bit of a byte; the bit depends on the position of the byte."""
    changed = bytearray(blob)
    changed[place] ^= 1 << (place * 7 % 8)
    return bytes(changed)


def places(blob: bytes) -> list[int]:
    """Every byte of the head, the table and the JSON texts, and a sample of the binary sections."""
    size = int.from_bytes(blob[4:8], "little") + 12
    found, at = list(range(size)), size
    for name, length, _ in json.loads(blob[12:size]):
        text = name == "head" or name.rpartition(" ")[2].isdigit()
        found += range(at, at + length, 1 if text else 37)
        at += length
    return found


def test_every_flipped_bit_of_a_snapshot_is_detected(path: Path) -> None:
    filled(path)
    backend = SQLiteBackend(path, 0, 1)
    blob = backend.snapshot(complete_snapshots(backend)[0])
    backend.close()
    assert len(Contents.restored(blob).learners) == 3
    for place in places(blob):
        with pytest.raises(Damaged):
            Contents.restored(flipped(blob, place))
    for bad in (b"", blob[:3], blob[:11], blob[:-1], blob + b"\0", blob[: len(blob) // 2]):
        with pytest.raises(Damaged):
            Contents.restored(bad)


def test_control_flipped_bits_of_version_0_2_are_not_all_detected() -> None:
    """Negative control: the snapshots of version 0.2 have no checksum on their JSON text."""
    with closing(sqlite3.connect(f"file:{CORPUS / 'closed.db'}?mode=ro&immutable=1", uri=True)) as base:
        blob = b"".join(part for (part,) in base.execute("SELECT blob FROM snapshots ORDER BY sequence, part"))
    assert len(Contents.restored(blob).learners) == 5
    silent = 0
    for place in range(0, 8 + int.from_bytes(blob[4:8], "little"), 3):
        try:
            Contents.restored(flipped(blob, place))
        except Damaged:
            continue
        silent += 1
    assert silent > 10


def damage(path: Path, sequence: int) -> None:
    with closing(sqlite3.connect(path)) as base, base:
        part, blob = base.execute("SELECT part, blob FROM snapshots WHERE sequence = ? LIMIT 1", (sequence,)).fetchone()
        values = (flipped(blob, len(blob) // 3), sequence, part)
        base.execute("UPDATE snapshots SET blob = ? WHERE sequence = ? AND part = ?", values)


def sequences(path: Path) -> list[int]:
    return [sequence for sequence, there, of in whole(path) if there == of]


def test_a_damaged_snapshot_is_replaced_by_the_one_before_it(path: Path) -> None:
    filled(path)
    with Store(path) as store:
        move = store.act("a")
        kept = fleets(store.queue.contents)
    older, newest = sequences(path)
    damage(path, newest)
    with closing(sqlite3.connect(path)) as base, base:  # so that the whole journal cannot be used
        base.execute("DELETE FROM journal WHERE first < ?", (older,))
    backend = SQLiteBackend(path, 0, 1)
    with pytest.warns(RuntimeWarning, match=f"recovered from the snapshot at sequence {older}.*{newest} is damaged"):
        assert fleets(recovered(backend)) == kept
    assert complete_snapshots(backend) == [older]
    backend.close()
    with Store(path) as store:
        assert store.observe(move.ticket, reward=1) is True


def test_prune_keeps_the_journal_of_the_older_snapshot(path: Path) -> None:
    for _ in range(3):  # two snapshots are kept
        with Store(path) as store:
            store.add("a", LEARNER)
            played(store, 5)
    with Store(path) as store:
        older, newest = sequences(path)
        assert store.prune(0.0) == older < newest
        assert next(iter(store.queue.backend.groups(0)))[0] == older


def test_damaged_snapshots_are_replaced_by_the_whole_journal(path: Path) -> None:
    kept = filled(path)
    damage(path, sequences(path)[0])
    backend = SQLiteBackend(path, 0, 1)
    with pytest.warns(RuntimeWarning, match="recovered from the whole journal"):
        assert fleets(recovered(backend)) == kept
    assert complete_snapshots(backend) == []
    backend.close()


@pytest.mark.parametrize("left", ["none", "some"])
def test_a_damaged_snapshot_without_its_journal_is_an_error(path: Path, left: str) -> None:
    """The error names the store and the damage; it is raised again at the next opening, and nothing is deleted."""
    filled(path)
    (newest,) = sequences(path)
    with closing(sqlite3.connect(path)) as base, base:
        first = "" if left == "none" else "WHERE first = 0"
        base.execute(f"DELETE FROM journal {first}")
    Store(path).close()  # control: without damage nothing is missed
    older, newest = sequences(path)
    damage(path, newest), damage(path, older)
    for _ in range(2):
        with pytest.raises(Damaged, match=rf"decisions.db is damaged.*{older} is damaged.*Restore a backup"):
            Store(path)


def test_a_lost_part_without_its_journal_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check of the last sequence the store would open empty."""
    monkeypatch.setattr(journals, "PART_SIZE", 500)
    filled(path)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("DELETE FROM snapshots WHERE part = 1")
        base.execute("DELETE FROM journal")
    with pytest.raises(Damaged, match="expected events up to sequence"):
        Store(path)


@pytest.mark.parametrize("name", ["later", "learner 0 later"])
def test_unknown_sections_are_rejected(path: Path, name: str) -> None:
    filled(path)
    backend = SQLiteBackend(path, 0, 1)
    found = sections.read(backend.snapshot(complete_snapshots(backend)[0]))
    newer = b"".join(sections.written([(key, [value]) for key, value in {**found, name: b"x"}.items()]))
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("UPDATE snapshots SET blob = ?", (newer,))
    with pytest.raises(NewerVersion, match=f"decisions.db at sequence .* newer version.*unknown section {name!r}"):
        recovered(backend)
    backend.close()
    head = {**json.loads(found["head"]), "minor": 1}
    with pytest.raises(NewerVersion, match="unknown field 'minor'"):
        Contents.restored(b"".join(sections.written([(k, [v]) for k, v in {**found, "head": _json(head)}.items()])))
