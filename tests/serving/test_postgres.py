"""A store in a real PostgreSQL: the same journal, one owner per shard, and recovery after an owner is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from database import Database, database, why_not
from kills import Campaign

import hannan as hn
from hannan.client import Client, shard_of, shard_of_ticket
from hannan.client import Refused as ClientRefused
from hannan.serving import BODY, CONFLICT, ELSEWHERE, TICKET, Ended, Refused
from hannan.serving.service import Request, Service, act, ready
from hannan.serving.store import Store
from hannan.serving.tickets import MAX_SECRETS

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())
GAINS = hn.Bandit(["red", "blue", "green"], gains=True)
RUN = "from hannan.cli import main; main()"


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    with database() as made:
        yield made


@pytest.fixture
def address(server: Database, request: pytest.FixtureRequest) -> str:
    """A database for each test."""
    name = "t" + str(abs(hash(request.node.nodeid)))
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return server.address.replace("/postgres?", f"/{name}?")


def test_closed_store_can_be_opened_immediately(address: str) -> None:
    """Its lock is free when the store is closed, not later when the server ends the session."""
    store = Store(address)
    session = store.queue.backend._connection  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "close", lambda: None)  # the server needs some time
        store.close()
        Store(address).close()
    session.close()


def test_store_in_postgresql_works_like_one_in_sqlite(address: str) -> None:
    with Store(address, snapshot_events=5) as store:
        store.add("a", GAINS)
        moves = [store.act("a", id=f"id{k}") for k in range(10)]
        assert store.act("a", id="id3") == moves[3]
        assert store.observe(moves[3].ticket, reward=1)
        store.rotate_secret()
        later = store.act("a")
    with Store(address) as store:
        assert store.act("a", id="id3") == moves[3]
        assert store.observe(moves[3].ticket, reward=1) is False
        assert store.observe(later.ticket, reward=1) is True
        assert store.certificate("a").rounds == 2
        assert (len(store.log("a")), store.log("a")["reward"].count()) == (11, 2)
        store.retire_secret(1)
        with pytest.raises(Refused, match="secret 1, which is retired"):
            store.observe(moves[4].ticket, reward=1)


@pytest.mark.parametrize("bad", ["a\0b", "\ud800"])
def test_ids_that_text_of_postgresql_cannot_hold_are_rejected(address: str, bad: str) -> None:
    with Store(address) as store:
        store.add("a", GAINS)
        with pytest.raises(Refused, match="id must be a string"):
            store.act("a", id=bad)
        move = store.act("a", id="ab")
        assert store.act("a", id="ab") == move


def test_database_without_an_encoding_holds_a_store(server: Database) -> None:
    """PostgreSQL creates such databases if it is installed in the locale C."""
    name = "ascii"
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0")
    address, arms = server.address.replace("/postgres?", f"/{name}?"), ["r\u00f6d", "bl\u00e5"]
    with psycopg.connect(address) as connection:
        assert connection.execute("SHOW server_encoding").fetchone() == (b"SQL_ASCII",)  # the control: bytes
    with Store(address) as store:
        store.add("a", hn.Bandit(arms, gains=True))
        moves = [store.act("a", id=f"\u00e9{k}") for k in range(3)]
    with Store(address) as store:
        assert [store.act("a", id=f"\u00e9{k}") for k in range(3)] == moves
        assert {move.arm for move in moves} <= set(arms)
        assert all(store.observe(move.ticket, reward=1) for move in moves)


def test_three_hundred_secrets(address: str) -> None:
    """The number of a secret has 31 bits; the limit is checked before a secret is stored."""
    with Store(address) as store:
        store.add("a", GAINS)
        first = store.act("a")
        assert [store.rotate_secret() for _ in range(300)] == list(range(2, 302))
        last = store.act("a")
    with Store(address) as store:
        assert [store.observe(move.ticket, reward=1) for move in (first, last, store.act("a"))] == [True] * 3
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE hannan_secrets SET number = %s WHERE number = 301", (MAX_SECRETS,))
    with Store(address) as store:
        with pytest.raises(Refused, match=f"{MAX_SECRETS} secrets"):
            store.rotate_secret()
        assert store.observe(store.act("a").ticket, reward=1) is True


def test_stages_and_a_damaged_snapshot(address: str) -> None:
    with Store(address) as store:
        store.add("a", GAINS)
        old = store.act("a")
    with Store(address) as store:
        store.add("a", hn.Bandit(["blue", "white"], gains=True))
        new = store.act("a")
        assert new.probability == 0.5
    with psycopg.connect(address, autocommit=True) as connection:
        assert connection.execute("SELECT count(DISTINCT sequence) FROM hannan_snapshots").fetchone() == (2,)
        connection.execute(
            "UPDATE hannan_snapshots SET blob = set_byte(blob, 40, get_byte(blob, 40) # 1) "
            "WHERE sequence = (SELECT max(sequence) FROM hannan_snapshots)"
        )
    with pytest.warns(RuntimeWarning, match="recovered from the snapshot at sequence"):
        store = Store(address)
    with store:
        assert [store.observe(move.ticket, reward=1) for move in (old, new)] == [True, True]
        assert store.log("a")["stage"].tolist() == [1, 2]


#: Tables of format 1: a snapshot was one row.
FORMAT_1 = """
ALTER TABLE hannan_snapshots DROP CONSTRAINT hannan_snapshots_pkey;
ALTER TABLE hannan_snapshots DROP COLUMN part, DROP COLUMN parts;
ALTER TABLE hannan_snapshots ADD PRIMARY KEY (shard, sequence);
UPDATE hannan_shards SET format = 1"""


def test_store_of_format_1_continues(address: str) -> None:
    """Both shards, the second opened after the first has migrated the tables; a later format is rejected."""
    stores = [Store(address, shard=k, shards=2) for k in range(2)]
    names = ["a" if shard_of("a", None, 2) == 0 else "learner1", "learner1" if shard_of("a", None, 2) == 0 else "a"]
    moves = []
    for store, name in zip(stores, names, strict=True):
        store.add(name, GAINS)
        moves.append([store.act(name) for _ in range(5)])
        store.observe(moves[-1][0].ticket, reward=1)
        store.close()  # with a snapshot
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in FORMAT_1.split(";\n"):
            connection.execute(statement)
        assert connection.execute("SELECT count(*) FROM hannan_snapshots").fetchone() == (2,)
    for shard, (name, (settled, *still_open)) in enumerate(zip(names, moves, strict=True)):
        for rounds in (1, 5):  # and once more, with the present format
            with Store(address, shard=shard, shards=2) as store:
                assert store.certificate(name).rounds == rounds
                assert store.observe(settled.ticket, reward=1) is False
                assert [store.observe(move.ticket, reward=1) for move in still_open] == [rounds == 1] * 4
    with psycopg.connect(address, autocommit=True) as connection:
        assert connection.execute("SELECT DISTINCT format FROM hannan_shards").fetchall() == [(3,)]
        connection.execute("UPDATE hannan_shards SET format = 4")
    with pytest.raises(ValueError, match="has format 4"):
        Store(address, shard=0, shards=2)


def test_each_shard_has_one_owner(address: str) -> None:
    with Store(address, shard=0, shards=2), Store(address, shard=1, shards=2):
        with pytest.raises(Refused, match=f"hannan process {os.getpid()}") as caught:
            Store(address, shard=1, shards=2)
        assert caught.value.status == CONFLICT
        with pytest.raises(ValueError, match="has 2 shards; got shards=3"):
            Store(address, shard=2, shards=3)
    for shard, shards in ((2, 2), (0, 0), (-1, 2), (0, 1 << 17)):
        with pytest.raises(ValueError, match="shard"):
            Store(address, shard=shard, shards=shards)


def test_learners_are_stored_in_their_shards(address: str) -> None:
    with Store(address, shard=0, shards=2) as zero, Store(address, shard=1, shards=2) as one:
        stores, names = (zero, one), [f"learner{k}" for k in range(6)]
        homes = [shard_of(name, None, 2) for name in names]
        assert set(homes) == {0, 1}
        for name, home in zip(names, homes, strict=True):
            for store in stores:
                store.add(name, GAINS)
            move = stores[home].act(name)
            assert shard_of_ticket(move.ticket) == home
            with pytest.raises(Refused, match=f"belongs to shard {home}") as caught:
                stores[1 - home].act(name)
            assert caught.value.status == ELSEWHERE
            with pytest.raises(Refused, match=f"this is shard {1 - home}") as caught:
                stores[1 - home].observe(move.ticket, reward=1)
            assert caught.value.status == TICKET
            assert stores[home].observe(move.ticket, reward=1) is True


def test_owner_without_session_cannot_write(address: str) -> None:
    """The server ends the connection: the lock is free, another process owns it, and the first cannot write."""
    first = Store(address)
    first.add("a", GAINS)
    move = first.act("a")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'hannan process%'"
        )
    with Store(address, patience=10.0) as second:
        mine = second.act("a")
        with pytest.raises(Ended, match="has ended"):
            first.act("a")
        with pytest.raises(Ended):
            first.observe(move.ticket, reward=1)
        assert second.observe(move.ticket, reward=1) is True
        assert second.observe(mine.ticket, reward=1) is True
    first.close()


def terminate(address: str, session: int) -> None:
    """End a session, and wait until the server has done so."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", (session,))


def session_of(store: Store, which: str) -> int:
    return int(getattr(store.queue.backend, which).info.backend_pid)


def test_a_reading_session_that_ends_is_replaced(address: str) -> None:
    """Ids, the log and pruning read. The control is the test above: without the writing session nothing continues."""
    with Store(address) as store:
        service = Service(store)
        store.add("a", GAINS)
        move = store.act("a", id="one")
        store.observe(move.ticket, reward=1)
        for read in (
            lambda: store.act("a", id="one") == move,
            lambda: store.act("a", id="two") != move,
            lambda: len(store.log("a")) == 2,
            lambda: store.prune(1e6) == 0,
            lambda: service.handle(act, Request(b'{"id": "three"}', "a")).status == 200,
        ):
            before = session_of(store, "_reader")
            terminate(address, before)
            assert read()
            assert session_of(store, "_reader") != before
        assert service.handle(ready, Request(b"")).status == 200
    with Store(address) as store:
        assert store.act("a", id="one") == move


def test_a_store_that_cannot_read_ends_and_another_owner_takes_over(server: Database, address: str) -> None:
    name = address.partition("?")[0].rpartition("/")[2]
    first = Store(address)
    service = Service(first)
    first.add("a", GAINS)
    move = first.act("a", id="one")
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", (session_of(first, "_reader"),))
        with pytest.raises(Ended, match="cannot be read") as caught:
            first.act("a", id="one")
        assert "psycopg" not in repr(caught.value)
        answer = service.handle(act, Request(b'{"id": "two"}', "a"))
        assert (answer.status, b"psycopg" in answer.body) == (503, False)
        assert service.handle(ready, Request(b"")).status == 503
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    with Store(address, patience=10.0) as second:  # the first one is not closed
        assert second.act("a", id="one") == move
    first.close()


def test_a_reading_session_is_on_the_server_of_the_owner(address: str) -> None:
    """A standby server may lag behind, so that an id would be drawn twice: one without the owner's lock is rejected."""
    with Store(address) as store:
        store.add("a", GAINS)
        store.act("a", id="one")
        store.queue.backend._owner += 1  # type: ignore[attr-defined]
        terminate(address, session_of(store, "_reader"))
        with pytest.raises(Ended, match=r"another server.*lock of the shard"):
            store.act("a", id="one")


def test_lost_writing_session_is_detected_without_a_write(address: str) -> None:
    with Store(address) as store:
        service = Service(store)
        store.add("a", GAINS)
        assert service.handle(ready, Request(b"")).status == 200
        terminate(address, session_of(store, "_connection"))
        answer = service.handle(ready, Request(b""))
        assert answer.status == 503
        assert b"in PostgreSQL was lost" in answer.body
        assert isinstance(store.queue.journal.failure, Ended)


def test_a_service_whose_writing_session_ends_stops_without_a_write(address: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "serve", address, "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert any('"listening"' in line for line in process.stderr)
        with psycopg.connect(address, autocommit=True) as connection:
            ended = connection.execute(
                "SELECT pg_terminate_backend(a.pid, 10000) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
                "WHERE l.locktype = 'advisory' AND a.datname = current_database()"
            ).fetchall()
        assert ended == [(True,)]
        _, said = process.communicate(timeout=60)
        assert process.returncode != 0
        assert "session of the store in PostgreSQL was lost" in said
        assert "psycopg" not in said
    finally:
        process.kill()
        process.wait(30)


def test_a_store_that_waits_keeps_its_sessions(server: Database, address: str) -> None:
    """The control: a session without the store's settings is ended by the same limit."""
    name = address.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE \"{name}\" SET idle_session_timeout = '300ms'")
    with Store(address) as store, psycopg.connect(address, autocommit=True) as other:
        store.add("a", GAINS)
        move = store.act("a", id="one")
        time.sleep(1.0)
        with pytest.raises(psycopg.OperationalError):
            other.execute("SELECT 1")
        assert store.act("a", id="one") == move
        assert store.observe(move.ticket, reward=1)


def encoded(server: Database, encoding: str) -> str:
    """The address of a new database in this encoding."""
    name = f"in_{encoding.lower()}"
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
    return server.address.replace("/postgres?", f"/{name}?")


def test_a_database_in_sql_ascii_holds_a_store(server: Database) -> None:
    """Its text was returned as bytes, and the setting fsync was misread."""
    address = encoded(server, "SQL_ASCII")
    ids = ["plain", "caf\u00e9", "\u2615 \U0001f600"]
    with Store(address, snapshot_events=3) as store:
        store.add("a", GAINS)
        moves = [store.act("a", key="\u00fc", id=id) for id in ids]
        assert [store.act("a", key="\u00fc", id=id) for id in ids] == moves
    with Store(address) as store:
        assert [store.act("a", key="\u00fc", id=id) for id in ids] == moves
        assert store.observe(moves[2].ticket, reward=1)
        with pytest.raises(Refused, match="locked by hannan process"):
            Store(address)


def test_an_id_that_the_database_cannot_store_is_rejected(server: Database) -> None:
    address = encoded(server, "LATIN1")
    with Store(address) as store:
        store.add("a", GAINS)
        move = store.act("a", id="caf\u00e9")
        with pytest.raises(Refused, match=r"id.*LATIN1.*\u2615") as caught:
            store.act("a", id="\u2615")
        assert caught.value.status == BODY
        assert store.act("a", id="caf\u00e9") == move  # the store continues


def test_a_server_that_crashes_keeps_what_was_acknowledged(server: Database, address: str) -> None:
    store, acknowledged = Store(address), []
    store.add("a", GAINS)

    def load() -> None:
        try:
            while True:
                acknowledged.append(store.act("a").ticket)
        except Ended:
            return

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    server.stop("immediate")
    for thread in threads:
        thread.join(20)
    store.close()
    server.start()
    with Store(address, patience=10.0) as store:
        assert len(acknowledged) > 10
        assert all(store.observe(ticket, reward=1) for ticket in acknowledged)


def test_kills_of_owners(address: str, tmp_path: Path) -> None:
    told = Campaign(tmp_path, power=False, address=address)
    told.run(6)
    tally = told.end()
    print(tally)
    assert tally.faults == 0, f"{tally} {tally.failures}"
    assert len(tally.counted) > 20


@pytest.mark.slow
def test_many_kills_of_owners(address: str, tmp_path: Path) -> None:
    told = Campaign(tmp_path, power=False, address=address, seed=2)
    told.run(200)
    tally = told.end()
    print(tally)
    assert tally.faults == 0, f"{tally} {tally.failures}"


def test_owners_behind_addresses_and_a_standby(address: str) -> None:
    """Two shards served by two owners; one is killed, its standby replaces it, and the clients' calls return."""

    def owner(*words: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, "serve", address, *words], stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        for line in process.stderr:
            told = json.loads(line)
            if told["event"] == "listening":
                return process, told["address"]
        raise AssertionError("it does not listen")

    (first, here), (second, there) = (owner("--shard", f"{k}/2", "--port", "0") for k in range(2))
    standby = None
    try:
        client = Client([here, there], tries=60)
        client.add("a", ["x", "y"])
        client.add("learner1", ["x", "y"])
        names = sorted(("a", "learner1"), key=lambda name: shard_of(name, None, 2))
        assert [shard_of(name, None, 2) for name in names] == [0, 1]
        moves = {name: client.act(name) for name in names}
        with pytest.raises(ClientRefused, match="belongs to shard") as caught:
            Client(here).act(names[1])
        assert caught.value.status == ELSEWHERE
        second.send_signal(signal.SIGKILL)
        second.wait()
        standby = subprocess.Popen(
            [sys.executable, "-c", RUN, "serve", address, "--shard", "1/2", "--standby",
             "--port", there.rpartition(":")[2]], stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert client.observe_many([(move.ticket, 1.0) for move in moves.values()]) == [True, True]
        assert client.observe(client.act(names[1]).ticket, reward=1)
    finally:
        for process in (first, second, standby):
            if process is not None:
                process.terminate()
                process.wait(30)


def test_addresses_that_do_not_answer() -> None:
    with pytest.raises(ValueError, match="cannot connect to") as caught:
        Store("postgresql://anna:secret@127.0.0.1:1/nowhere")
    assert "secret" not in str(caught.value)
