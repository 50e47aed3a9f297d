"""Damaged files of a store: only documented exceptions, which name the file and the remedy."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hannan as hn
from hannan.serving import Ended
from hannan.serving.app import App
from hannan.serving.journal import Damaged
from hannan.serving.sqlite import SQLiteBackend
from hannan.serving.store import Store


def fill(store: Store) -> list[str]:
    """Play plain, keyed and expiring learners in two stages, with ids; return the tickets."""
    store.add("a", hn.Bandit(["red", "blue"], gains=True))
    store.add("b", hn.Bandit(3), wait=1e9, default=0.0)
    tickets = []
    for t in range(30):
        move = store.act("a", id=f"id{t}")
        tickets.append(move.ticket)
        if t % 3:
            store.observe(move.ticket, reward=1)
        store.act("b", key=f"user{t % 4}")
    store.add_arm("a", "green")
    return [*tickets, store.act("a").ticket]


def use(path: Path, tickets: list[str]) -> None:
    """Open a store, use every call that reads stored rows, and close it."""
    with Store(path) as store:
        for name in store.learners:
            store.certificate(name)
        store.act("a")
        store.act("a", id="id3")
        for ticket in (tickets[0], tickets[-1]):
            store.observe(ticket, reward=1)
        for name in ("a", "b"):
            store.log(name)
        store.retire_secret(store.rotate_secret() - 1)
        store.prune(0.0)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    path = tmp_path_factory.mktemp("stored") / "good.db"
    with Store(path) as store:
        tickets = fill(store)
    return path, tickets


def outcome(path: Path, tickets: list[str]) -> str:
    """Return the kind of exception that a damaged store leads to, or an empty string."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # recovered from another snapshot or the journal
            use(path, tickets)
    except (ValueError, Ended) as error:
        return type(error).__name__
    except BaseException as error:
        return f"undocumented: {type(error).__name__}: {error}"
    return ""


def flipped(sound: bytes, place: int) -> bytes:
    changed = bytearray(sound)
    changed[place >> 3] ^= 1 << (place & 7)
    return bytes(changed)


def fuzzed(stored: tuple[Path, list[str]], folder: Path, seed: int, count: int) -> Counter[str]:
    """Flip one bit of the file, again and again, each time in a fresh copy."""
    path, tickets = stored
    sound, rng, found, copy = path.read_bytes(), random.Random(seed), Counter[str](), folder / "copy.db"
    for _ in range(count):
        for old in folder.glob("copy.db*"):
            old.unlink()
        copy.write_bytes(flipped(sound, rng.randrange(8 * len(sound))))
        found[outcome(copy, tickets)] += 1
    return found


def test_flipped_bits_of_a_store_raise_documented_exceptions(stored: tuple[Path, list[str]], tmp_path: Path) -> None:
    found = fuzzed(stored, tmp_path, 0, 150)
    assert not [name for name in found if name.startswith("undocumented")], found
    assert found["Damaged"] > 5  # most of the others are in pages and rows that nothing reads


@contextmanager
def unchecked() -> Iterator[None]:
    """Negative control: rows of SQLite without checks, and its exceptions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hannan.serving.sqlite._checked", lambda rows, *_: rows)
        patch.setattr("hannan.serving.sqlite.SQLiteBackend._guarded", lambda self, run: run())
        yield


def rows_changed(table: str, column: str, value: Any, where: str = "") -> Callable[[Path], None]:
    def change(path: Path) -> None:
        base = sqlite3.connect(path)
        base.execute("PRAGMA ignore_check_constraints=ON")
        base.execute("PRAGMA writable_schema=ON")
        base.execute(f"UPDATE {table} SET {column} = ? {where}", (value,))
        base.commit()
        base.close()

    return change


DAMAGES = {
    "journal of text": rows_changed("journal", "blob", "text", "WHERE first = 0"),
    "journal of an integer": rows_changed("journal", "blob", 7, "WHERE first = 0"),
    "snapshots of text": rows_changed("snapshots", "blob", "text"),
    "sequence of text": rows_changed("snapshots", "sequence", "text"),
    "parts of text": rows_changed("snapshots", "parts", "text"),
    "secret of an integer": rows_changed("secrets", "secret", 7),
    "secret of one byte": rows_changed("secrets", "secret", b"x"),
    "journal's name of text": rows_changed("facts", "value", "text", "WHERE name = 'journal'"),
    "no name": rows_changed("facts", "name", "other", "WHERE name = 'journal'"),
    "ticket that is no text": rows_changed("asked", "ticket", b"\xff\xfe", "WHERE id = 'id3'"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_rows_of_other_types_are_reported_as_damage(
    stored: tuple[Path, list[str]], tmp_path: Path, damage: str
) -> None:
    path, tickets = tmp_path / "decisions.db", stored[1]
    shutil.copy(stored[0], path)
    DAMAGES[damage](path)
    found = outcome(path, tickets)
    assert not found.startswith("undocumented")
    # Snapshots are replaced by the whole journal; all other damage is reported.
    assert found or damage.startswith(("snapshots", "sequence", "parts"))


def test_control_unchecked_rows_are_not_reported_as_damage(stored: tuple[Path, list[str]], tmp_path: Path) -> None:
    """Without the check a damaged row of the log ends the store."""
    path = tmp_path / "decisions.db"
    shutil.copy(stored[0], path)
    DAMAGES["journal of an integer"](path)
    with unchecked():
        assert outcome(path, stored[1]) == "Ended"


def test_errors_name_the_file_and_what_to_do(stored: tuple[Path, list[str]], tmp_path: Path) -> None:
    path = tmp_path / "decisions.db"
    shutil.copy(stored[0], path)
    DAMAGES["journal of an integer"](path)
    with Store(path) as store, pytest.raises(Damaged, match=r"decisions\.db is damaged.*journal.*Restore a backup"):
        store.log("a")
    DAMAGES["secret of an integer"](path)
    with pytest.raises(Damaged, match=r"decisions\.db is damaged.*secret.*Restore a backup"):
        Store(path)
    SQLiteBackend(stored[0], 0, 1).close()  # the lock of the sound file is free


def test_a_service_answers_with_a_code(stored: tuple[Path, list[str]], tmp_path: Path) -> None:
    path = tmp_path / "decisions.db"
    shutil.copy(stored[0], path)
    DAMAGES["journal of an integer"](path)
    sent: list[dict[str, Any]] = []

    async def ask(app: App) -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b""}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost")]
        scope = {"type": "http", "method": "GET", "path": "/v1/learners/a/log", "headers": headers, "query_string": b""}
        await app(scope, receive, send)
        await app.stop()

    with Store(path) as store:
        asyncio.run(ask(App(store)))
    assert sent[0]["status"] == 500
    assert b"store_damaged" in sent[1]["body"]
    assert b"decisions.db is damaged" in sent[1]["body"]


def test_a_flipped_bit_in_the_log_of_sqlite_drops_what_follows(tmp_path: Path) -> None:
    """A rule of SQLite, documented in docs/serving.md: without an error, and never a wrong decision."""
    source, path = tmp_path / "source.db", tmp_path / "decisions.db"
    store = Store(source)
    store.add("a", hn.Bandit(["red", "blue"], gains=True))
    moves = [store.act("a") for _ in range(20)]
    for end in ("", "-wal"):
        shutil.copy(f"{source}{end}", f"{path}{end}")
    store.close()
    log = Path(f"{path}-wal")
    log.write_bytes(flipped(log.read_bytes(), 8 * (os.path.getsize(log) * 3 // 4)))
    with Store(path) as store:
        counted = 0
        for move in moves:
            try:
                counted += store.observe(move.ticket, reward=1)
            except ValueError:
                break
        assert 0 < counted < len(moves)
        assert store.certificate("a").rounds == counted
