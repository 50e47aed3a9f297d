"""SQLite backend: one file with write-ahead log and synchronous=FULL, one row per group."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from hannan.serving import Ended
from hannan.serving.backend import (
    FORMAT,
    GROUPS_PER_READ,
    KEPT_SNAPSHOTS,
    Erasure,
    Group,
    Lock,
    Part,
    checked_format,
    damaged,
    paged,
)
from hannan.serving.journal import Damaged
from hannan.serving.tickets import checked_secret

#: Application id "HNdb", which identifies a store among SQLite files.
APPLICATION = 0x484E6462
#: First bytes of every SQLite file.
HEAD = b"SQLite format 3\0"
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE secrets (number INTEGER PRIMARY KEY AUTOINCREMENT, secret BLOB NOT NULL);
CREATE TABLE journal (first INTEGER PRIMARY KEY, blob BLOB NOT NULL);
CREATE TABLE snapshots (sequence INTEGER, part INTEGER, parts INTEGER NOT NULL, blob BLOB NOT NULL,
                        PRIMARY KEY (sequence, part));
CREATE TABLE asked (learner INTEGER, key BLOB, id TEXT, ticket TEXT NOT NULL, time REAL NOT NULL,
                    PRIMARY KEY (learner, key, id)) WITHOUT ROWID;
CREATE INDEX asked_time ON asked (time);
"""
#: Snapshots, and whether all of their parts are stored.
_SNAPSHOTS = "SELECT sequence, count(*) = max(parts) FROM snapshots GROUP BY sequence ORDER BY sequence DESC"
#: The oldest snapshot that is kept.
_OLDEST = (
    "SELECT sequence FROM snapshots GROUP BY sequence HAVING count(*) = max(parts) "
    f"ORDER BY sequence DESC LIMIT 1 OFFSET {KEPT_SNAPSHOTS - 1}"
)
_JOURNAL = "INSERT INTO journal VALUES (?, ?)"
#: Error codes of SQLite for faults other than damaged data: no permission, locked, out of memory, read-only,
#: interrupted, I/O error, disk full, cannot open.
_NO_DAMAGE = {3, 5, 6, 7, 8, 9, 10, 13, 14}
T = TypeVar("T")


class SQLiteBackend:
    """Backend of `hn.Store("decisions.db")`. A new file is readable by its owner only, because it contains secrets."""

    def __init__(self, path: str | os.PathLike[str], shard: int, shards: int) -> None:
        self.shard, self._shards = shard, shards
        self._path = Path(os.path.realpath(path))
        self.name = os.fspath(path)
        if not self._path.parent.is_dir():
            raise ValueError(f"folder {self._path.parent} does not exist (store {self.name})")
        self._look()
        self._lock = Lock(self._path)
        try:
            self._open()
        except BaseException:
            # An open transaction would keep the file locked.
            for name in ("_connection", "_reader"):
                if hasattr(self, name):
                    getattr(self, name).close()
            self._lock.release()
            raise

    def _look(self) -> None:
        """Raise ValueError for a file that is not a store, before a lock file is created.

        An empty file is accepted: it is new, or its data is still in the write-ahead log.
        """
        if not self._path.exists():
            if self._log().exists():  # a new file would make SQLite delete the log
                raise ValueError(
                    f"{self.name} is missing, but its write-ahead log exists: the file was removed or renamed. "
                    f"Put it back, or delete {self._log().name} together with the decisions in it"
                )
            return
        if not self._path.is_file():
            raise ValueError(f"{self.name} is not a regular file; a store is one file")
        with open(self._path, "rb") as file:
            begins = file.read(len(HEAD))
        if begins and begins != HEAD:
            raise ValueError(f"{self.name} is not a store: it is not an SQLite file. Choose another path")

    def _open(self) -> None:
        if not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        if self._path.stat().st_nlink > 1:
            # Under another name the same file would have another lock and another write-ahead log.
            raise ValueError(f"{self.name} has {self._path.stat().st_nlink} hard links; a store must have one name")
        try:
            self._connection = _connected(self._path)
            self._made()
            self._reader = _connected(self._path)
            self._held = {path: _identity(path) for path in (self._path, self._log(), self._lock.path)}
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.name} is not a store; SQLite reports: {error}") from None
        self._reading = threading.Lock()

    def _log(self) -> Path:
        return self._path.with_name(self._path.name + "-wal")

    def check(self) -> None:
        for path, identity in self._held.items():
            if identity is None or _identity(path) != identity:
                raise Ended(
                    f"{path} was removed, renamed or replaced while the store was open. Acknowledged decisions are in "
                    f"the file that was opened and its write-ahead log: put both back, or restore a backup"
                )

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise Ended if the files that were opened have been replaced, before a commit is acknowledged."""
        self.check()
        yield
        self.check()

    def _made(self) -> None:
        """Check the format of the file; create the tables in an empty file."""
        run = self._connection.execute
        kind, form = run("PRAGMA application_id").fetchone()[0], run("PRAGMA user_version").fetchone()[0]
        empty = run("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not empty and kind != APPLICATION:
            raise ValueError(
                f"{self.name} is not a store: it is an SQLite file of another application. Choose another path"
            )
        if not empty:
            checked_format(self.name, form)
        if run("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
            raise ValueError(
                f"{self.name} is on a file system without support for the write-ahead log of SQLite; use a local disk"
            )
        run("PRAGMA synchronous=FULL")
        if not empty and form < FORMAT:
            self._migrate(form)
        place = f"{self.shard} of {self._shards}"
        if empty:
            run("BEGIN IMMEDIATE")
            for statement in TABLES.split(";\n"):
                if statement.strip():
                    run(statement)
            run("INSERT INTO facts VALUES ('journal', ?), ('shard', ?)", (secrets.token_bytes(8), place))
            run("INSERT INTO secrets (secret) VALUES (?)", (secrets.token_bytes(32),))
            run(f"PRAGMA application_id={APPLICATION}")
            run(f"PRAGMA user_version={FORMAT}")
            run("COMMIT")
        facts = dict(run("SELECT name, value FROM facts"))
        journal, shard = facts.get("journal"), facts.get("shard")
        if not (isinstance(journal, bytes) and len(journal) == 8 and isinstance(shard, str)):
            raise Damaged(damaged(self.name, "expected a journal of 8 bytes and a shard in the table 'facts'"))
        self.journal = journal
        if shard != place:
            raise ValueError(f"{self.name} was created as shard {shard}; got shard {place}")

    def _migrate(self, form: int) -> None:
        """Upgrade a store of an older format, in one transaction.

        Snapshots of format 1 had one part. Format 3 has the tables of format 2, and other snapshots, tickets and notes.
        """
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        if form == 1:
            run("ALTER TABLE snapshots RENAME TO whole")
            run(next(one for one in TABLES.split(";\n") if one.startswith("CREATE TABLE snapshots")))
            run("INSERT INTO snapshots SELECT sequence, 0, 1, blob FROM whole")
            run("DROP TABLE whole")
        run(f"PRAGMA user_version={FORMAT}")
        run("COMMIT")

    def _guarded(self, run: Callable[[], T]) -> T:
        """Return the result of a query; raise Damaged if SQLite reports damage."""
        try:
            return run()
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_DAMAGE:
                raise
            raise Damaged(damaged(self.name, f"SQLite reports: {error}")) from error

    def _fetch(self, table: str, query: str, values: tuple[Any, ...], *types: type) -> list[Any]:
        """Return the rows of a query with the reader's connection, whose columns have these types."""

        def run() -> list[Any]:
            with self._reading:
                return self._reader.execute(query, values).fetchall()

        return _checked(self._guarded(run), types, damaged(self.name, f"a row of the table {table!r} has other types"))

    def secrets(self) -> dict[int, bytes]:
        found = self._fetch("secrets", "SELECT number, secret FROM secrets", (), int, bytes)
        if not found or any(len(secret) != 32 for _, secret in found):
            raise Damaged(damaged(self.name, f"expected secrets of 32 bytes; found {len(found)} rows"))
        return dict(found)

    def add_secret(self) -> tuple[int, bytes]:
        # AUTOINCREMENT never gives a number twice, retired ones included: SQLite keeps the last one in sqlite_sequence.
        found = self._fetch("sqlite_sequence", "SELECT seq FROM sqlite_sequence WHERE name = 'secrets'", (), int)
        if not found:
            raise Damaged(damaged(self.name, "the number of the last secret is missing"))
        number, secret = checked_secret(found[0][0] + 1), secrets.token_bytes(32)
        with self._writing():
            self._connection.execute("INSERT INTO secrets VALUES (?, ?)", (number, secret))
        return number, secret

    def drop_secret(self, number: int) -> None:
        with self._writing():
            self._connection.execute("DELETE FROM secrets WHERE number = ?", (number,))

    def snapshots(self) -> list[tuple[int, bool]]:
        rows = self._fetch("snapshots", _SNAPSHOTS, (), object, object)
        # A damaged sequence counts as an incomplete snapshot, which shows that the store is not new.
        return [(at, bool(complete)) if isinstance(at, int) else (1, False) for at, complete in rows]

    def snapshot(self, sequence: int) -> bytes:
        query = "SELECT blob FROM snapshots WHERE sequence = ? ORDER BY part"
        return b"".join(blob for (blob,) in self._fetch("snapshots", query, (sequence,), bytes))

    def drop_snapshot(self, sequence: int) -> None:
        self._connection.execute("DELETE FROM snapshots WHERE sequence = ?", (sequence,))

    def drop(self, end: int, most: int) -> int:
        with self._writing():
            return self._connection.execute(
                "DELETE FROM journal WHERE first IN (SELECT first FROM journal WHERE first < ? ORDER BY first LIMIT ?)",
                (end, most),
            ).rowcount

    def groups(self, start: int) -> Iterator[tuple[int, bytes]]:
        def fetch(first: int) -> list[tuple[int, bytes]]:
            query = "SELECT first, blob FROM journal WHERE first >= ? ORDER BY first LIMIT ?"
            return self._fetch("journal", query, (first, GROUPS_PER_READ), int, bytes)

        # In pages: a long read would prevent checkpoints.
        return paged(start, fetch)

    def asked(self, learner: int, key: bytes, id: str) -> str | None:
        query = "SELECT ticket FROM asked WHERE learner = ? AND key = ? AND id = ?"
        found = self._fetch("asked", query, (learner, key, id), str)
        return found[0][0] if found else None

    def commit(self, group: Group) -> None:
        with self._writing():
            self._commit(group)

    def _commit(self, group: Group) -> None:
        run = self._connection.execute
        if not group.asked and group.part is None:
            run(_JOURNAL, (group.first, group.blob))  # one statement is one transaction
            return
        run("BEGIN IMMEDIATE")
        if group.blob:
            run(_JOURNAL, (group.first, group.blob))
        if group.asked:
            self._connection.executemany("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", group.asked)
        if group.part is not None:
            self._keep(group.part, group.forget)
        run("COMMIT")

    def _keep(self, part: Part, forget: float) -> None:
        """Insert a part of a snapshot and delete two older ones, so that no transaction is long."""
        run = self._connection.execute
        if part.number == 0:
            run("DELETE FROM snapshots WHERE sequence = ?", (part.sequence,))
        run("INSERT INTO snapshots VALUES (?, ?, ?, ?)", part)
        run(f"DELETE FROM snapshots WHERE rowid IN (SELECT rowid FROM snapshots WHERE sequence < ({_OLDEST}) LIMIT 2)")
        if part.last:
            run("DELETE FROM asked WHERE time < ?", (forget,))

    def erase(self, erasure: Erasure) -> int:
        run = self._connection.execute
        run("PRAGMA secure_delete=ON")  # overwrite what is deleted
        run("BEGIN IMMEDIATE")
        for first, blob in erasure.groups:
            run("INSERT OR REPLACE INTO journal VALUES (?, ?)", (first, blob))
        if erasure.parts:
            run("DELETE FROM snapshots")
            self._connection.executemany("INSERT INTO snapshots VALUES (?, ?, ?, ?)", erasure.parts)
        deleted = run("DELETE FROM asked WHERE id = ? OR substr(id, 1, ?) = ?",
                      (erasure.id, len(erasure.prefix), erasure.prefix)).rowcount  # fmt: skip
        for key in erasure.keys:
            deleted += run("DELETE FROM asked WHERE key = ?", (key,)).rowcount
        run("COMMIT")
        run("PRAGMA wal_checkpoint(TRUNCATE)")
        run("VACUUM")
        run("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(deleted)

    def release(self) -> None:
        pass  # the lock is released by `close`, after SQLite has closed the file

    def close(self) -> None:
        self._reader.close()
        self._connection.close()
        self._lock.release()

    def abandon(self) -> None:
        import ctypes

        # Closing the connection here, as Python does at exit, could checkpoint the log that the parent process writes.
        for connection in (self._reader, self._connection):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


class SQLiteReader(SQLiteBackend):
    """Contents of a store that another process may have open: nothing is written, and no lock is taken."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(os.path.realpath(path))
        self.name = os.fspath(path)
        if not self._path.exists():
            raise ValueError(f"no such file: {self.name!r}")
        self._look()
        self._reading = threading.Lock()
        try:
            uri = f"{self._path.as_uri()}?mode=ro"
            self._reader = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10.0)
            run = self._reader.execute
            run("BEGIN")  # all queries see the same moment
            kind, form = run("PRAGMA application_id").fetchone()[0], run("PRAGMA user_version").fetchone()[0]
            if kind != APPLICATION:
                raise ValueError(f"{self.name} is not a store: it is an SQLite file of another application")
            if checked_format(self.name, form) < FORMAT:
                raise ValueError(
                    f"{self.name} has the old format {form}: open it once with hn.Store, which upgrades it"
                )
            place = dict(run("SELECT name, value FROM facts")).get("shard", "0 of 1")
            self.shard, self._shards = map(int, str(place).split(" of "))
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.name} is not a store; SQLite reports: {error}") from None

    @property
    def shards(self) -> int:
        """Number of shards of the store."""
        return self._shards

    def check_pages(self) -> None:
        """Raise Damaged if SQLite finds a fault in the pages or indexes of the file."""
        found = self._fetch("sqlite_master", "PRAGMA integrity_check", (), str)
        if found != [("ok",)]:
            raise Damaged(damaged(self.name, f"SQLite reports: {found[0][0]}"))

    def drop_snapshot(self, sequence: int) -> None:
        pass  # a damaged snapshot is deleted by the owner

    def close(self) -> None:
        self._reader.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and the number of a file, or None if it does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _checked(rows: list[Any], types: tuple[type, ...], message: str) -> list[Any]:
    """Return rows whose values have these types; a flipped bit can change the type of a value in SQLite."""
    for row in rows:
        if not all(map(isinstance, row, types)):
            raise Damaged(message)
    return rows


def _connected(path: Path) -> sqlite3.Connection:
    # check_same_thread: locks ensure that one thread at a time uses a connection.
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
