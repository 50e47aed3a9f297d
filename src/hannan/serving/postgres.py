"""PostgreSQL backend: one row per group, and one owner per shard by an advisory lock.

The lock belongs to the session that writes. When the owner exits or is disconnected, the server rolls back the
uncommitted transaction and releases the lock. The next owner resumes after the last commit, and a disconnected owner
cannot write.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import psycopg

from hannan.serving import BODY, CONFLICT, Ended, Refused
from hannan.serving.backend import FORMAT, GROUPS_PER_READ, KEPT_SNAPSHOTS, Erasure, Group, Part, checked_format, paged
from hannan.serving.tickets import checked_secret

#: First half of the number of the lock ("hnnn"); the second is the shard, or -1 while tables are created.
LOCK = 0x686E6E6E
#: Seconds to wait while another process creates tables.
MAKING = 60
TABLES = """
CREATE TABLE IF NOT EXISTS hannan_shards (
    shard integer PRIMARY KEY, shards integer NOT NULL, format integer NOT NULL, journal bytea NOT NULL);
CREATE TABLE IF NOT EXISTS hannan_secrets (
    shard integer, number integer, secret bytea NOT NULL, PRIMARY KEY (shard, number));
CREATE TABLE IF NOT EXISTS hannan_journal (
    shard integer, first bigint, blob bytea NOT NULL, PRIMARY KEY (shard, first));
CREATE TABLE IF NOT EXISTS hannan_snapshots (
    shard integer, sequence bigint, blob bytea NOT NULL, part integer NOT NULL DEFAULT 0,
    parts integer NOT NULL DEFAULT 1, PRIMARY KEY (shard, sequence, part));
CREATE TABLE IF NOT EXISTS hannan_asked (
    shard integer, learner bigint, key bytea, id text, ticket text NOT NULL, time double precision NOT NULL,
    PRIMARY KEY (shard, learner, key, id));
"""


#: Upgrade from format 1, whose snapshots have one part.
MIGRATION = """
ALTER TABLE hannan_snapshots ADD COLUMN part integer NOT NULL DEFAULT 0;
ALTER TABLE hannan_snapshots ADD COLUMN parts integer NOT NULL DEFAULT 1;
ALTER TABLE hannan_snapshots DROP CONSTRAINT hannan_snapshots_pkey;
ALTER TABLE hannan_snapshots ADD PRIMARY KEY (shard, sequence, part);
"""
INSERT_PART = "INSERT INTO hannan_snapshots (shard, sequence, part, parts, blob) VALUES (%s, %s, %s, %s, %s)"
#: Snapshots, and whether all of their parts are stored.
SNAPSHOTS = """SELECT sequence, count(*) = max(parts) FROM hannan_snapshots WHERE shard = %s
GROUP BY sequence ORDER BY sequence DESC"""
#: The oldest snapshot that is kept.
OLDEST = f"""SELECT sequence FROM hannan_snapshots WHERE shard = %s
GROUP BY sequence HAVING count(*) = max(parts) ORDER BY sequence DESC LIMIT 1 OFFSET {KEPT_SNAPSHOTS - 1}"""


#: Disable time limits of the server or the role for idle sessions and long statements.
NO_LIMITS = """SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('idle_session_timeout', 'idle_in_transaction_session_timeout', 'statement_timeout')"""
#: Query whether a session sees the lock of the owner: same server, and the owner is connected.
OWNED = """SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted
AND pid = %s AND NOT pg_is_in_recovery()"""

Method = TypeVar("Method", bound=Callable[..., Any])


def _owning(method: Method) -> Method:
    """Raise Ended if the session that owns the shard is lost, or one of its statements fails."""

    @functools.wraps(method)
    def guarded(self: PostgresBackend, *values: Any) -> Any:
        try:
            return method(self, *values)
        except psycopg.Error as error:
            lost = (
                "the session of the store in PostgreSQL was lost"
                if self._connection.closed
                else "PostgreSQL rejected a statement"
            )
            raise Ended(f"{lost} ({_said(error)}). {KEPT}") from None

    return cast("Method", guarded)


KEPT = "Acknowledged decisions are in the database; open the store again"


class PostgresBackend:
    """Backend of one shard in PostgreSQL. `patience` is the time in seconds to wait for another owner."""

    def __init__(self, address: str, shard: int, shards: int, patience: float) -> None:
        self.shard, self.name = shard, f"shard {shard} of {shown(address)}"
        try:
            self._address, self._connection = address, _connected(address)
        except psycopg.Error as error:
            raise ValueError(f"cannot connect to {self.name}: PostgreSQL reports: {_said(error)}") from None
        try:
            self._own(patience)
            self._made(shards)
            self._reader = self._second_session()
        except Ended as error:
            self._connection.close()
            raise ValueError(f"{self.name} cannot be read from the server to which it is written: {error}") from None
        except psycopg.Error as error:
            self._connection.close()
            raise ValueError(f"{self.name} is not a store: PostgreSQL reports: {_said(error)}") from None
        except BaseException:
            self._connection.close()
            raise
        self._reading, self._is_closed = threading.Lock(), False

    def _second_session(self) -> psycopg.Connection[Any]:
        """Connect for reading: to the server of the owner, because a standby server may lag behind."""
        made = _connected(self._address)
        try:
            if not _one(made, OWNED, (LOCK, self.shard, self._owner))[0]:
                raise Ended(
                    f"the second connection reached another server, which does not have the lock of the shard. {KEPT}"
                )
        except BaseException:
            made.close()
            raise
        return made

    def _read(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        """Return the rows of a query. A reading session that was lost is replaced once; Ended if it cannot be."""
        with self._reading:
            for again in (True, False):
                try:
                    return self._reader.execute(query.encode(), values).fetchall()
                except psycopg.DataError:
                    raise
                except psycopg.Error as error:
                    if self._is_closed or not (again and self._reader.closed):
                        raise self._unread(error) from None
                try:
                    self._reader = self._second_session()
                except psycopg.Error as error:
                    raise self._unread(error) from None
        raise AssertionError  # the second iteration returns or raises

    def _unread(self, error: psycopg.Error) -> Exception:
        if self._is_closed:
            return Ended("the store is closed")
        return Ended(f"PostgreSQL cannot be read ({_said(error)}). {KEPT}")

    def _own(self, patience: float) -> None:
        """Acquire the lock, waiting up to `patience` seconds."""
        end = time.monotonic() + patience
        while True:
            if _one(self._connection, "SELECT pg_try_advisory_lock(%s, %s)", (LOCK, self.shard))[0]:
                # From the server: a connection pool reports other process ids.
                (self._owner,) = _one(self._connection, "SELECT pg_backend_pid()")
                return
            if time.monotonic() >= end:
                break
            time.sleep(0.05)
        holder = self._connection.execute(
            "SELECT a.application_name, a.pid FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
            "WHERE l.locktype = 'advisory' AND l.classid = %s AND l.objid = %s AND l.granted",
            (LOCK, self.shard),
        ).fetchone()
        who = "another process" if holder is None else f"{holder[0]}, session {holder[1]}"
        raise Refused(CONFLICT, f"{self.name} is locked by {who}; a shard allows one owner")

    def _made(self, shards: int) -> None:
        run = self._connection.execute
        if _one(self._connection, "SHOW fsync")[0] != "on":
            raise ValueError(f"{self.name} requires fsync=on in PostgreSQL; got off")
        if _one(self._connection, "SHOW synchronous_commit")[0] in ("off", "local"):
            run("SET synchronous_commit = on")
        # One process at a time creates tables: IF NOT EXISTS alone fails if two do so simultaneously.
        run(f"SET lock_timeout = {1000 * MAKING}")
        run("SELECT pg_advisory_lock(%s, -1)", (LOCK,))
        with self._connection.transaction():
            self._run_all(TABLES)
            query = "SELECT shards, format FROM hannan_shards ORDER BY shard LIMIT 1"
            told = run(query).fetchone()
            if told is not None and checked_format(self.name, told[1]) < FORMAT:
                if told[1] == 1:
                    self._run_all(MIGRATION)
                # For all shards: version 0.2 reads the format of the first one only.
                run("UPDATE hannan_shards SET format = %s", (FORMAT,))
            if told is not None and told[0] != shards:
                raise ValueError(f"the store of {self.name} has {told[0]} shards; got shards={shards}")
            run(
                "INSERT INTO hannan_shards VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (self.shard, shards, FORMAT, secrets.token_bytes(8)),
            )
            run(
                "INSERT INTO hannan_secrets SELECT %s, 1, %s WHERE NOT EXISTS "
                "(SELECT 1 FROM hannan_secrets WHERE shard = %s)",
                (self.shard, secrets.token_bytes(32), self.shard),
            )
        run("SELECT pg_advisory_unlock(%s, -1)", (LOCK,))
        run("SET lock_timeout = 0")
        (self.journal,) = _one(self._connection, "SELECT journal FROM hannan_shards WHERE shard = %s", (self.shard,))

    def _run_all(self, statements: str) -> None:
        for statement in statements.split(";\n"):
            if statement.strip():
                self._connection.execute(statement)

    @_owning
    def secrets(self) -> dict[int, bytes]:
        rows = self._connection.execute("SELECT number, secret FROM hannan_secrets WHERE shard = %s", (self.shard,))
        return dict(rows.fetchall())

    @_owning
    def add_secret(self) -> tuple[int, bytes]:
        # The secret that signs is never retired, so that the largest number is that of the last one.
        (last,) = _one(self._connection, "SELECT max(number) FROM hannan_secrets WHERE shard = %s", (self.shard,))
        number, secret = checked_secret(int(last) + 1), secrets.token_bytes(32)
        self._connection.execute("INSERT INTO hannan_secrets VALUES (%s, %s, %s)", (self.shard, number, secret))
        return number, secret

    @_owning
    def drop_secret(self, number: int) -> None:
        self._connection.execute("DELETE FROM hannan_secrets WHERE shard = %s AND number = %s", (self.shard, number))

    def snapshots(self) -> list[tuple[int, bool]]:
        return self._read(SNAPSHOTS, (self.shard,))

    @_owning
    def snapshot(self, sequence: int) -> bytes:
        blobs = self._connection.execute(
            "SELECT blob FROM hannan_snapshots WHERE shard = %s AND sequence = %s ORDER BY part", (self.shard, sequence)
        )
        return b"".join(blob for (blob,) in blobs)

    @_owning
    def drop_snapshot(self, sequence: int) -> None:
        self._connection.execute(
            "DELETE FROM hannan_snapshots WHERE shard = %s AND sequence = %s", (self.shard, sequence)
        )

    @_owning
    def drop(self, end: int, most: int) -> int:
        return self._connection.execute(
            "DELETE FROM hannan_journal WHERE shard = %s AND first IN (SELECT first FROM hannan_journal "
            "WHERE shard = %s AND first < %s ORDER BY first LIMIT %s)",
            (self.shard, self.shard, end, most),
        ).rowcount

    def groups(self, start: int) -> Iterator[tuple[int, bytes]]:
        def fetch(first: int) -> list[tuple[int, bytes]]:
            return self._read(
                "SELECT first, blob FROM hannan_journal WHERE shard = %s AND first >= %s ORDER BY first LIMIT %s",
                (self.shard, first, GROUPS_PER_READ),
            )

        # In pages: a long read would delay the cleanup of deleted rows.
        return paged(start, fetch)

    def asked(self, learner: int, key: bytes, id: str) -> str | None:
        query = "SELECT ticket FROM hannan_asked WHERE shard = %s AND learner = %s AND key = %s AND id = %s"
        try:
            found = self._read(query, (self.shard, learner, key, id))
        except psycopg.DataError:
            encoding = self._connection.info.parameter_status("server_encoding")
            raise Refused(
                BODY, f"id must be a string that the database can store, in the encoding {encoding}; got {id!r}"
            ) from None
        return str(found[0][0]) if found else None

    @_owning
    def check(self) -> None:
        arrived = select.poll()
        arrived.register(self._connection.fileno(), select.POLLIN)
        while arrived.poll(0):  # a notice, or the end of the session
            self._connection.pgconn.consume_input()

    @_owning
    def commit(self, group: Group) -> None:
        run, shard = self._connection.execute, self.shard
        journal = "INSERT INTO hannan_journal VALUES (%s, %s, %s)"
        if not group.asked and group.part is None:
            run(journal, (shard, group.first, group.blob), binary=True)  # one statement is one transaction
            return
        with self._connection.transaction():
            if group.blob:
                run(journal, (shard, group.first, group.blob), binary=True)
            with self._connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO hannan_asked VALUES (%s, %s, %s, %s, %s, %s)", [(shard, *one) for one in group.asked]
                )
            if group.part is not None:
                self._keep(group.part, group.forget)

    def _keep(self, part: Part, forget: float) -> None:
        """Insert a part of a snapshot and delete two older ones, so that no transaction is long."""
        run, shard = self._connection.execute, self.shard
        if part.number == 0:
            run("DELETE FROM hannan_snapshots WHERE shard = %s AND sequence = %s", (shard, part.sequence))
        run(INSERT_PART, (shard, *part), binary=True)
        run(
            "DELETE FROM hannan_snapshots WHERE (shard, sequence, part) IN (SELECT shard, sequence, part "
            f"FROM hannan_snapshots WHERE shard = %s AND sequence < ({OLDEST}) LIMIT 2)",
            (shard, shard),
        )
        if part.last:
            run("DELETE FROM hannan_asked WHERE shard = %s AND time < %s", (shard, forget))

    @_owning
    def erase(self, erasure: Erasure) -> int:
        run, shard = self._connection.execute, self.shard
        with self._connection.transaction():
            for first, blob in erasure.groups:
                run("DELETE FROM hannan_journal WHERE shard = %s AND first = %s", (shard, first))
                run("INSERT INTO hannan_journal VALUES (%s, %s, %s)", (shard, first, blob), binary=True)
            if erasure.parts:
                run("DELETE FROM hannan_snapshots WHERE shard = %s", (shard,))
                for part in erasure.parts:
                    query = (
                        "INSERT INTO hannan_snapshots (shard, sequence, part, parts, blob) VALUES (%s, %s, %s, %s, %s)"
                    )
                    run(query, (shard, *part), binary=True)
            deleted = run(
                "DELETE FROM hannan_asked WHERE shard = %s AND (id = %s OR left(id, %s) = %s OR key = ANY(%s))",
                (shard, erasure.id, len(erasure.prefix), erasure.prefix, erasure.keys),
            ).rowcount
        for table in ("journal", "snapshots", "asked"):
            self._run_all(f"VACUUM FULL hannan_{table}")
        return deleted

    def release(self) -> None:
        self._give_up_the_shard()

    def close(self) -> None:
        with self._reading:
            self._is_closed = True
            self._reader.close()
        self._give_up_the_shard()

    def _give_up_the_shard(self) -> None:
        # The server ends a session with a delay: an immediate reopening would find the shard locked.
        with contextlib.suppress(psycopg.Error):  # the server ends a broken session and releases its lock
            self._connection.execute("SELECT pg_advisory_unlock(%s, %s)", (LOCK, self.shard))
        self._connection.close()

    def abandon(self) -> None:
        # Close the sockets only: a termination message would end the session of the parent.
        for connection in (self._reader, self._connection):
            if not connection.closed:
                os.close(connection.fileno())


def _connected(address: str) -> psycopg.Connection[Any]:
    made = psycopg.connect(
        address, autocommit=True, connect_timeout=10, keepalives_idle=10, keepalives_interval=5, keepalives_count=3,
        tcp_user_timeout=30_000,  # for unacknowledged data, which keepalives do not cover
        application_name=f"hannan process {os.getpid()} of {socket.gethostname()}"[:63],
        client_encoding="UTF8",  # otherwise text of a database in SQL_ASCII arrives as bytes
    )  # fmt: skip
    try:
        made.execute(NO_LIMITS)
    except BaseException:
        made.close()
        raise
    return made


def _one(connection: psycopg.Connection[Any], query: Any, values: Any = ()) -> Any:
    found = connection.execute(query, values).fetchone()
    assert found is not None
    return found


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def shown(address: str) -> str:
    """Return an address without its password.

    >>> shown("postgresql://anna:secret@db.example/decisions")
    'postgresql://anna@db.example/decisions'
    """
    scheme, _, rest = address.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{place.partition('?')[0]}"
