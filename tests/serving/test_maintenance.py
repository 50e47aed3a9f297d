"""Maintenance of a store: verification, backup, upgrade, and erasure of one person."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from database import database, why_not
from rejections import rejected

import hannan as hn
from hannan.serving import maintenance
from hannan.serving.journal import Damaged
from hannan.serving.ofrep import Subject
from hannan.serving.store import Store

PERSON = "anna.müller@example.com"
BANNER = hn.Bandit(["red", "blue"], gains=True)


def filled(path: Any, person: Any = PERSON, others: Any = ("ben", "cleo"), **options: Any) -> list[Any]:
    """A store in which a person is a key of two stages and the subject of a flag; return pending decisions."""
    with Store(path, **options) as store:
        store.add("banner", BANNER)
        for _ in range(5):
            for key in (person, *others, None):
                store.observe(store.act("banner", key).ticket, reward=1)
        pending = [store.act("banner", person)]
        store.add_arm("banner", "green")
        for key in (person, *others) * 3:
            pending.append(store.act("banner", key))
        store.act("banner", id=Subject(str(person), "page 7").id)
        store.act("banner", id=str(person))
        store.act("banner", id="order-17")
    return pending


def bytes_of(path: Path) -> bytes:
    """All bytes of a store, with its write-ahead log."""
    return b"".join(one.read_bytes() for one in path.parent.glob(path.name + "*") if one.suffix != ".lock")


def command(*words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from hannan.cli import main; main()", "store", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def facts(path: Any) -> tuple[Any, ...]:
    """What must not change when a name is erased."""
    with Store(path) as store:
        log = store.log("banner")
        return (
            log.drop(columns=["key", "smallest_probability"]).to_dict("list"), store.evidence("banner").to_dict(),
            sorted(one.decisions for one in store.keys("banner").keys),
        )  # fmt: skip


def same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)  # NaN is equal to NaN


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.db"


# Verification


def test_check_counts_and_replays(path: Path) -> None:
    filled(path, snapshot_events=20)
    found = maintenance.check(str(path))
    assert (found.learners, found.keys, found.decisions, found.pending) == (1, 3, 33, 13)
    assert found.replays == found.snapshots + 1 >= 3
    done = command("check", str(path), "--json")
    assert json.loads(done.stdout)["decisions"] == 33
    assert done.returncode == 0


@pytest.mark.parametrize("table", ["journal", "snapshots"])
def test_check_finds_a_flipped_bit(path: Path, table: str) -> None:
    filled(path)
    maintenance.check(str(path))  # the control
    connection = sqlite3.connect(path)
    name, blob = connection.execute(f"SELECT rowid, blob FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()
    damaged = blob[:-3] + bytes([blob[-3] ^ 1]) + blob[-2:]
    connection.execute(f"UPDATE {table} SET blob = ? WHERE rowid = ?", (damaged, name))
    connection.commit()
    connection.close()
    with pytest.raises(Damaged, match="damaged"):
        maintenance.check(str(path))
    done = command("check", str(path))
    assert (done.returncode, "is damaged" in done.stderr) == (2, True)


def test_check_finds_a_snapshot_of_another_state(path: Path, tmp_path: Path) -> None:
    """Both files are sound; the snapshot of one does not follow from the journal of the other."""
    filled(path)
    other = tmp_path / "other.db"
    shutil.copy(path, other)
    with Store(path) as store:
        store.observe(store.act("banner").ticket, reward=1)
    with Store(other) as store:
        store.observe(store.act("banner").ticket, reward=0)
    connection = sqlite3.connect(path)
    connection.execute("ATTACH ? AS other", (str(other),))
    connection.execute("DELETE FROM snapshots")
    connection.execute("INSERT INTO snapshots SELECT * FROM other.snapshots")
    connection.commit()
    connection.close()
    with pytest.raises(Damaged, match="snapshot at sequence"):
        maintenance.check(str(path))


# Backup


def test_backup_of_an_open_store(path: Path, tmp_path: Path) -> None:
    filled(path)
    copy, stop = tmp_path / "copy.db", threading.Event()
    with Store(path) as store:

        def play() -> None:
            while not stop.is_set():
                store.observe(store.act("banner").ticket, reward=1)

        player = threading.Thread(target=play)
        player.start()
        done = command("backup", str(path), str(copy), "--json")
        stop.set()
        player.join()
        later = store.certificate("banner").rounds
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["decisions"] >= 33
    assert copy.stat().st_mode & 0o777 == 0o600
    with Store(copy) as store:
        assert store.certificate("banner").rounds <= later
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith(".")) == []
    rejected(lambda: maintenance.backup(str(path), copy), "copy.db", "exists")


def test_a_damaged_store_has_no_backup(path: Path, tmp_path: Path) -> None:
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE journal SET blob = zeroblob(100) WHERE first = 0")
    connection.commit()
    connection.close()
    with pytest.raises(Damaged):
        maintenance.backup(str(path), tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


# Upgrade


def test_upgrade_converts_an_old_format(path: Path) -> None:
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=2")
    connection.close()
    assert command("check", str(path)).returncode == 2
    done = command("upgrade", str(path))
    assert done.returncode == 0, done.stderr
    assert command("check", str(path)).returncode == 0
    assert command("upgrade", str(path.with_name("missing.db"))).returncode == 2
    assert not path.with_name("missing.db").exists()


# Erasure


@pytest.mark.parametrize("person", [PERSON, "a", "x" * 200, "☃" * 60, 17, -(2**63)])
def test_a_person_is_erased(path: Path, person: Any) -> None:
    numbers = isinstance(person, int)
    pending = filled(path, person, (18, 19) if numbers else ("ben", "cleo"))
    before = facts(path)
    found = maintenance.forget_person(str(path), str(person))
    assert (found.learners, found.ids) == (["banner"], 2)
    assert same(facts(path), before)
    assert maintenance.check(str(path)).replays >= 1
    with Store(path) as store:
        assert str(person) not in {str(one.key) for one in store.keys("banner").keys}
        assert str(person) not in set(store.log("banner")["key"])
        assert store.observe(pending[0].ticket, reward=1) is True  # it counts for a decision without a name
        assert store.act("banner", person).probability == pytest.approx(1 / 3)  # a new learner
    assert maintenance.forget_person(str(path), "order-17").ids == 1
    assert maintenance.forget_person(str(path), "somebody") == ([], 0)


@pytest.mark.parametrize("options", [{}, {"snapshot_events": 5}])
def test_no_byte_of_the_name_is_left(path: Path, options: dict[str, Any]) -> None:
    filled(path, **options)
    written = (PERSON.encode(), json.dumps(PERSON).encode(), Subject(PERSON).id[:38].encode())
    assert all(name in bytes_of(path) for name in written)  # the control
    done = command("forget-person", str(path), PERSON, "--yes")
    assert done.returncode == 0, done.stderr
    assert "erased as a key of banner; 2 ids deleted" in done.stdout
    assert not any(name in bytes_of(path) for name in written)
    assert b"ben" in bytes_of(path)


def test_a_question_precedes_the_erasure(path: Path) -> None:
    filled(path)
    done = subprocess.run(
        [sys.executable, "-c", "from hannan.cli import main; main()", "store", "forget-person", str(path), PERSON],
        input="n\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert PERSON.encode() in bytes_of(path)


def test_erasure_in_a_pruned_store(path: Path) -> None:
    filled(path, snapshot_events=5)
    with Store(path) as store:
        for stage in range(20):
            store.observe(store.act("banner", "ben").ticket, reward=stage % 2)
    connection = sqlite3.connect(path)
    oldest = connection.execute("SELECT min(sequence) FROM snapshots").fetchone()[0]
    connection.execute("DELETE FROM journal WHERE first < ?", (oldest,))
    connection.commit()
    connection.close()
    before = facts(path)
    assert maintenance.forget_person(str(path), PERSON).learners == ["banner"]
    assert same(facts(path), before)
    assert PERSON.encode() not in bytes_of(path)


def test_erasure_needs_the_lock(path: Path) -> None:
    filled(path)
    with Store(path):
        rejected(lambda: maintenance.forget_person(str(path), PERSON), "locked")
    assert PERSON.encode() in bytes_of(path)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    if why_not():
        pytest.skip(why_not())
    with database() as found:
        yield found.address


def test_postgres(postgres: str) -> None:
    pending = filled(postgres)
    before = facts(postgres)
    assert maintenance.check(postgres).decisions == 33
    found = maintenance.forget_person(postgres, PERSON)
    assert (found.learners, found.ids) == (["banner"], 2)
    assert same(facts(postgres), before)
    assert maintenance.upgrade(postgres).decisions == 33
    with Store(postgres) as store:
        assert PERSON not in {one.key for one in store.keys("banner").keys}
        assert store.observe(pending[0].ticket, reward=1) is True
        assert store.act("banner", PERSON).probability == pytest.approx(1 / 3)
    rejected(lambda: maintenance.backup(postgres, Path("copy.db")), "pg_dump")
