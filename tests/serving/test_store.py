"""hn.Store: what was acknowledged is there; tickets; feedback that counts once; who may write."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.cli import commands
from hannan.serving import CONFLICT, REWARD, TICKET, UNKNOWN, Ended, Refused
from hannan.serving.decisions import _recovered
from hannan.serving.expiry import Expiry
from hannan.serving.journal import Clock, Damaged
from hannan.serving.sqlite import SQLiteBackend
from hannan.serving.store import Store

GAINS = hn.Bandit(["red", "blue", "green"], gains=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.db"


@contextmanager
def refused(status: int, match: str = ".") -> Iterator[None]:
    with pytest.raises(Refused, match=match) as caught:
        yield
    assert caught.value.status == status


def played(path: Path, learner: Any, rounds: int, **options: Any) -> list[Any]:
    """A store with one learner, some feedback late, some missing; what was drawn."""
    moves = []
    with Store(path, **options) as store:
        store.add("a", learner)
        for t in range(rounds):
            moves.append(store.act("a"))
            if t % 3:
                store.observe(moves[t - t % 2].ticket, reward=0.25 + 0.5 * (moves[t].action == 0))
    return moves


def crash(store: Store) -> None:
    """As if the process had ended: nothing more is written, and the lock is free."""
    with store.queue.lock:
        store.queue.journal.fail(RuntimeError("crashed"))
        store.queue.journal._ready.notify()
    store.queue.journal._thread.join()
    store.queue.backend.close()


# What is there after an opening


@pytest.mark.parametrize(
    "learner",
    [
        hn.Bandit(4, gains=True),
        hn.Bandit(4, hn.Tsallis(0.5), gains=True),
        hn.Bandit(4, hn.Exponential(), hn.Horizon(500), hn.GeometricResampling(40), gains=True),
        hn.TsallisShannon(4, gains=True),
        hn.Bandit(4, hn.Entropy(), hn.Horizon(500), hn.ImplicitExploration(0.02), gains=True),
    ],
    ids=repr,
)
@pytest.mark.parametrize("snapshot", [7, 10**6])
def test_recovery_is_bit_for_bit(path: Path, learner: Any, snapshot: int) -> None:
    """From a snapshot in the midst and the events after it, with moves open and keys of both kinds: the same bytes."""
    store = Store(path, snapshot_events=snapshot)
    for name in ("a", "b"):
        store.add(name, learner)
    for name, keys in (("a", (None, 5, -1, 2**62)), ("b", (None, "anna", "ben"))):
        moves = []
        for t in range(40):
            moves.append(store.act(name, key=keys[t % len(keys)]))
            if t % 3:
                store.observe(moves[t - t % 2].ticket, reward=0.25 + 0.5 * (moves[t].action == 0))
    kept = [fleet.to_bytes() for one in store.queue.contents.learners for fleet in one.fleets]
    crash(store)
    backend = SQLiteBackend(path, 0, 1)
    found = _recovered(backend)
    assert [fleet.to_bytes() for one in found.learners for fleet in one.fleets] == kept
    assert (found.sequence > snapshot) is (snapshot == 7)
    backend.close()
    with Store(path) as store:
        assert store.observe(moves[3].ticket, reward=0.5) is True
        assert store.certificate("b", key="anna").rounds > 3


def test_keys_have_learners_of_their_own(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        anna, ben = store.act("a", key="anna"), store.act("a", key="ben")
        assert anna.probability == ben.probability == pytest.approx(1 / 3)
        assert store.act("a", key="anna", id="x") == store.act("a", key="anna", id="x")
        assert store.act("a", key="anna", id="x") != store.act("a", key="ben", id="x")
        assert store.observe(anna.ticket, reward=1) is True
        assert (store.certificate("a", key="anna").rounds, store.certificate("a", key="ben").rounds) == (1, 0)
        assert store.certificate("a").keys == 2
        with pytest.raises(ValueError, match="keys of this fleet must be text"):
            store.act("a", key=7)
        for bad in ("", "x" * 201, 1 << 63, True, 1.5, ["x"]):
            with pytest.raises(ValueError, match="key must be"):
                store.act("a", key=bad)
        lone = store.act("a")
        assert store.certificate("a").open_moves == 1  # that of the learner without a key
    with Store(path) as store:
        assert store.observe(anna.ticket, reward=1) is False
        assert [store.observe(ben.ticket, reward=1), store.observe(lone.ticket, reward=1)] == [True, True]
        log = store.log("a")
        assert log["key"].tolist() == ["anna", "ben", "anna", "ben", ""]
        assert log["reward"].isna().tolist() == [False, False, True, True, False]
        drawn, _ = store.queue.draws_for("a", ["anna", "carl", "anna"])
        assert len(set(drawn.ticket)) == 3
        assert len(store.queue.contents.learners[0].keyed) == 3


def test_a_failed_draw_ends_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn, and not written: memory is no longer what the disk says, so the store is opened anew."""
    with Store(path) as store:
        store.add("a", GAINS)
        monkeypatch.setattr(type(store.queue.signer), "ticket", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.act("a")
        monkeypatch.undo()
        with pytest.raises(Ended, match="division by zero"):
            store.act("a")
    with Store(path) as store:
        store.act("a")


def test_a_journal_that_fails_in_the_midst_of_a_group_ends_at_once(path: Path) -> None:
    """Its writer does not sleep first: nobody would wake it before the next snapshot is due, in a minute."""
    store = Store(path)
    store.add("a", GAINS)
    journal = store.queue.journal
    with journal._writing:  # the disk takes its time
        with store.queue.lock:
            journal.append(bytes(32))
        while journal._body:
            time.sleep(0.001)
        journal.fail(RuntimeError("crashed"))
    journal._thread.join(10.0)
    assert not journal._thread.is_alive()
    store.queue.backend.close()


def test_an_epoch_draws_with_fresh_entropy(path: Path, tmp_path: Path) -> None:
    """A restored backup repeats no draw: 60 fair coins agree with probability 2^-60."""
    played(path, hn.Bandit(2, hn.Entropy(), hn.Fixed(1e9), gains=True), 1)
    shutil.copy(path, tmp_path / "copy.db")
    drawn = []
    for name in ("decisions.db", "copy.db"):
        with Store(tmp_path / name) as store:
            drawn.append([store.act("a").action for _ in range(60)])
    assert drawn[0] != drawn[1]


def test_moves_have_names_and_exact_probabilities(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        p = store.queue.contents.learners[0].weights()
        move = store.act("a")
        assert move.arm == ("red", "blue", "green")[move.action]
        assert move.probability == p[move.action]
        assert isinstance(move.ticket, str)
        assert move.ticket.isascii()


def test_feedback_counts_once(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        first, second = store.act("a"), store.act("a")
        assert [store.observe(second.ticket, reward=1), store.observe(first.ticket, reward=True)] == [True, True]
        assert [store.observe(first.ticket, reward=0) for _ in range(50)] == [False] * 50
        third = store.act("a")
    with Store(path) as store:
        assert store.observe(first.ticket, reward=1) is False
        assert store.observe(third.ticket, reward=1) is True
        assert store.certificate("a").rounds == 3
        assert store.certificate("a").own_loss == 3.0  # a gain: 1 + 1 + 1, the repeats are not in it


@pytest.mark.parametrize("repeats", [2000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_repeats_change_nothing(path: Path, repeats: int) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        move = store.act("a")
        assert store.observe(move.ticket, reward=1) is True
        kept, sequence = store.queue.contents.learners[0].unkeyed.to_bytes(), store.queue.contents.sequence
        feedback = [(move.ticket, 1.0, None)]
        assert not any(store.queue.settle(feedback)[0][0] for _ in range(repeats))
        assert store.queue.contents.learners[0].unkeyed.to_bytes() == kept
        assert store.queue.contents.sequence == sequence  # nothing is written either


def test_a_repeat_waits_for_the_original(path: Path) -> None:
    """Told 'counted before', the feedback is on the disk: a crash after that does not lose it."""
    with Store(path) as store:
        store.add("a", GAINS)
        move = store.act("a")
        with store.queue.journal._writing:  # the disk takes its time
            counted, original = store.queue.settle([(move.ticket, 1, None)])
            again, repeat = store.queue.settle([(move.ticket, 1, None)])
            assert (counted, again) == ([True], [False])
            assert repeat >= original > store.queue.journal.committed


def test_a_batch_is_all_or_nothing(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        tickets = store.queue.draws("a", 3)[0].ticket
        with refused(REWARD):
            store.queue.settle([(tickets[0], 1, None), (tickets[1], 2, None)])
        with refused(TICKET):
            store.queue.settle([(tickets[0], 1, None), ("x" * 90, 1, None)])
        counted, _ = store.queue.settle([(tickets[0], 1, None), (tickets[0], 1, None), (tickets[2], 1, None)])
        assert counted == [True, False, True]
        assert store.certificate("a").open_moves == 1


def test_an_id_asks_for_one_decision(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        store.add("b", GAINS)
        first = store.act("a", id="request-1")
        assert store.act("a", id="request-1") == first
        assert store.act("a", id="request-2") != first
        assert store.act("b", id="request-1") != first
        drawn = store.queue.draw("a", id="in flight")[0]
        assert store.queue.draw("a", id="in flight")[0] == drawn
        store.observe(first.ticket, reward=1)
    with Store(path, remember=0.0) as store:
        assert store.act("a", id="request-1") == first
        assert store.certificate("a").rounds == 1
        for bad in ("", "x" * 201, 7):
            with pytest.raises(Refused, match="id must be"):
                store.act("a", id=bad)  # type: ignore[arg-type]
    with Store(path) as store:  # forgotten with the snapshot of the store that remembered for 0 s
        assert store.act("a", id="request-1") != first


# Tickets


def test_tickets_that_are_refused(path: Path, tmp_path: Path) -> None:
    with Store(path) as store, Store(tmp_path / "other.db") as other:
        store.add("a", GAINS)
        other.add("a", GAINS)
        good = store.act("a").ticket
        with refused(TICKET, match="belongs to another store"):
            store.observe(other.act("a").ticket, reward=1)
        for k in range(0, len(good), 3):
            bad = good[:k] + ("A" if good[k] != "A" else "B") + good[k + 1 :]
            with refused(TICKET):
                store.observe(bad, reward=1)
        for bad in ("", "hello", None, 7, good + "=", good[:-4], good * 12, "é" * 90, b"x"):
            with refused(TICKET, match="invalid"):
                store.observe(bad, reward=1)  # type: ignore[arg-type]
        assert store.observe(good, reward=1) is True


def test_tickets_of_a_backups_future_are_refused(path: Path, tmp_path: Path) -> None:
    """Copies that went on from one past: neither settles its own rounds with the other's tickets."""
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
                with refused(CONFLICT, match="another copy of the store, after the backup"):
                    store.observe(move.ticket, reward=1)
            assert store.observe(before.ticket, reward=1) is True
            assert all(store.observe(move.ticket, reward=1) for move in own)


def test_secrets_rotate(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        old, late = store.act("a"), store.act("a")
        assert store.secrets == [1]
        assert store.rotate_secret() == 2
        new = store.act("a")
        with pytest.raises(ValueError, match="secret 2 signs new tickets"):
            store.retire_secret(2)
        assert store.observe(old.ticket, reward=1) is True
        store.retire_secret(1)
        with refused(TICKET, match="secret 1, which is retired"):
            store.observe(late.ticket, reward=1)
        with pytest.raises(ValueError, match=r"no secret 1 .* \[2\]"):
            store.retire_secret(1)
    with Store(path) as store:
        assert store.secrets == [2]
        assert store.observe(new.ticket, reward=1) is True


# Learners


def test_adding_again(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        store.add("a", GAINS)
        with refused(CONFLICT, match="exists with another description"):
            store.add("a", hn.Bandit(3))
        with refused(CONFLICT):
            store.add("a", GAINS, wait=3.0, default=0.0)
        assert store.learners == ("a",)
    with Store(path) as store:
        store.add("a", GAINS)
        with refused(UNKNOWN, match=r"no learner 'b'.*known: a"):
            store.act("b")


@pytest.mark.parametrize(
    ("learner", "named"),
    [
        (hn.Experts(3), "Experts"),
        (hn.AdaHedge(3), "AdaHedge"),
        (hn.ExpertBandit(3, 2), "ExpertBandit"),
        (hn.Convex(hn.Ball(2, 1.0), 1.0, loss_bound=1.0), "Convex"),
        (hn.Squint(3), "Squint"),
        ("bandit", "bandit"),
        (hn.Bandit, "Bandit"),
    ],
)
def test_learners_that_do_not_see_one_number_are_refused(path: Path, learner: Any, named: str) -> None:
    with Store(path) as store:
        with pytest.raises(ValueError, match=named):
            store.add("a", learner)
        assert store.learners == ()


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 101, "-x", None, "é"])
def test_bad_names(path: Path, name: Any) -> None:
    with Store(path) as store, pytest.raises(ValueError, match="the name of a learner"):
        store.add(name, GAINS)


def test_feedback_is_in_the_learners_words(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        store.add("b", hn.Bandit(2, loss_range=(-1, 3)))
        gain, loss = store.act("a"), store.act("b")
        for bad in ({"loss": 1}, {"reward": 1.5}, {"reward": float("nan")}, {}, {"reward": 1, "loss": 1}):
            with refused(REWARD):
                store.observe(gain.ticket, **bad)
        with refused(REWARD, match="learner of losses; pass loss="):
            store.observe(loss.ticket, reward=1)
        assert store.observe(gain.ticket, reward=np.float32(0.5))
        assert store.observe(loss.ticket, loss=-1)
        assert store.certificate("b").own_loss == -1.0


def test_arms_come_and_go(path: Path) -> None:
    learner = hn.Bandit(4, hn.Tsallis(0.5), gains=True)
    with Store(path) as store:
        store.add("a", learner, arms=["red", "blue"])
        with pytest.raises(ValueError, match="a proof covers"):
            store.add("b", hn.Bandit(4, gains=True), arms=["red"])
        before = [store.act("a") for _ in range(50)]
        assert {move.arm for move in before} == {"red", "blue"}
        with refused(CONFLICT, match="already has or had an arm"):
            store.add_arm("a", "red")
        store.add_arm("a", "green")
        store.retire_arm("a", "red")
        with pytest.raises(ValueError, match="no available arm"):
            store.retire_arm("a", "red")
        assert {store.act("a").arm for _ in range(50)} == {"blue", "green"}
        assert store.observe(next(move for move in before if move.arm == "red").ticket, reward=1)
    with Store(path) as store:
        assert {store.act("a").arm for _ in range(50)} == {"blue", "green"}
        store.add_arm("a", "white")
        with refused(CONFLICT, match="all 4 are taken"):
            store.add_arm("a", "black")
        store.retire_arm("a", "blue"), store.retire_arm("a", "green")
        with refused(CONFLICT, match="is the last"):
            store.retire_arm("a", "white")
        says = dict(store.certificate("a").rows())["arms"]
        assert "green came after 50 decisions, red left after 50 decisions" in says
        crash(store)
    with Store(path) as store:
        assert {store.act("a").arm for _ in range(20)} == {"white"}


def test_decisions_expire(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS, wait=0.2, default=0.25)
        kept, left = store.act("a"), [store.act("a") for _ in range(5)]
        store.observe(kept.ticket, reward=1)
        assert store.certificate("a").rounds == 1
    with Store(path) as store:
        until = time.monotonic() + 10
        while store.certificate("a").rounds < 6 and time.monotonic() < until:
            time.sleep(0.02)
        told = store.certificate("a")
        assert told.rounds == 6
        assert told.own_loss == 1 + 5 * 0.25
        assert "5 decisions without feedback after 0.2 s counted with reward 0.25" in dict(told.rows())["expiry"]
        assert store.observe(left[0].ticket, reward=1) is False
        assert store.log("a")["expired"].sum() == 5
        crash(store)
    with Store(path) as store:
        assert "5 decisions without feedback" in str(store.certificate("a"))
        for wait, default in ((1.0, None), (None, 0.5), (0.0, 0.5), (1.0, 7.0)):
            with pytest.raises(ValueError, match=r"wait|default"):
                store.add("b", GAINS, wait=wait, default=default)


def test_the_log_is_for_replay(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        # Nearly uniform draws, so that the log supports an estimate.
        store.add("a", hn.Bandit(["red", "blue"], hn.Tsallis(0.5), hn.Fixed(100.0), gains=True))
        drawn, _ = store.queue.draws("a", 400)
        told = zip(drawn.ticket, drawn.arm, strict=True)
        store.queue.settle([(ticket, float(arm == "blue"), None) for ticket, arm in told])
        store.act("a")
        log = store.log("a")
    assert len(log) == 401
    log = log[:400]  # without the pending decision
    assert (log["reward"] == (log["arm"] == "blue")).all()
    replayed = hn.replay(log, "arm", "reward", "probability", gains=True, runs=1)
    assert replayed.best_action.name == "blue"
    log.to_csv(tmp_path / "log.csv", index=False)
    words = ["--action", "arm", "--loss", "reward", "--propensity", "probability", "--gains", "--runs", "1"]
    assert commands.run(["replay", str(tmp_path / "log.csv"), *words]) == 0


# Who may write, and what ends it


def test_one_writer(path: Path) -> None:
    code = f"import hannan as hn; hn.Store({str(path)!r})"
    with Store(path):
        with refused(CONFLICT, match=f"locked by process {os.getpid()}"):
            Store(path)
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


def test_many_threads(path: Path) -> None:
    with Store(path, snapshot_events=40) as store:
        store.add("a", GAINS)
        counted = []

        def work() -> None:
            for _ in range(15):
                move = store.act("a")
                counted.append(store.observe(move.ticket, reward=0.5))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counted == [True] * 120
        assert store.queue.journal.groups < 240  # they share writes
    with Store(path) as store:
        assert store.certificate("a").rounds == 120


def test_a_full_disk_ends_it(path: Path) -> None:
    store = Store(path)
    store.add("a", GAINS)
    good = store.act("a")
    pages = store.queue.backend._connection.execute("PRAGMA page_count").fetchone()[0]  # type: ignore[attr-defined]
    store.queue.backend._connection.execute(f"PRAGMA max_page_count={pages + 1}")  # type: ignore[attr-defined]
    acknowledged = [good]
    with pytest.raises(Ended, match="is full"):  # noqa: PT012, one of them is the last
        for _ in range(1000):
            acknowledged.append(store.act("a"))
    with pytest.raises(Ended, match="is full"):
        store.observe(good.ticket, reward=1)
    store.close()
    with Store(path) as store:
        assert all(store.observe(move.ticket, reward=1) for move in acknowledged)


def test_a_small_file_limit_ends_it(path: Path) -> None:
    """EFBIG in the midst of a write, as ENOSPC; the process goes on, the store does not."""
    code = f"""
import hannan as hn, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
store = hn.Store({str(path)!r})
store.add("a", hn.Bandit(2))
try:
    while True:
        print(store.act("a").ticket)
except RuntimeError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    *tickets, last = done.stdout.splitlines()
    assert last.startswith("Ended ")
    with Store(path) as store:
        assert all(store.observe(ticket, loss=0) for ticket in tickets)


def test_a_damaged_journal_is_refused(path: Path) -> None:
    store = Store(path)
    store.add("a", GAINS)
    for _ in range(3):
        store.act("a")
    crash(store)
    base = sqlite3.connect(path)
    first, blob = base.execute("SELECT first, blob FROM journal ORDER BY first DESC LIMIT 1").fetchone()
    damages = {
        "checksum": (first, blob[:-1] + bytes([blob[-1] ^ 1])),
        "as long as it says": (first, blob[:-24]),
        "must have a header": (first, b"x"),
        "expected sequence": (first + 5, blob),
    }
    for says, (at, bad) in damages.items():
        base.execute("DELETE FROM journal WHERE first = (SELECT max(first) FROM journal)")
        base.execute("INSERT INTO journal VALUES (?, ?)", (at, bad))
        base.commit()
        with pytest.raises(Damaged, match=says):
            Store(path)
    base.execute("DELETE FROM journal WHERE first = (SELECT max(first) FROM journal)")
    base.execute("INSERT INTO journal VALUES (?, ?)", (first, blob))
    base.commit()
    base.close()
    Store(path).close()


def test_a_journal_that_comes_out_otherwise_is_refused(path: Path) -> None:
    """As another version of the engine would make it: a bit of a probability differs."""
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
    with pytest.raises(Damaged, match="replay differs from the journal"):
        Store(path)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("hello" * 1000)
    base = sqlite3.connect(tmp_path / "base.db")
    base.execute("CREATE TABLE x (y)")
    base.close()
    (tmp_path / "folder").mkdir()
    for name in ("text.db", "base.db", "nowhere/x.db", "folder", "."):
        with pytest.raises((ValueError, OSError)):
            Store(tmp_path / name)
    # What is seen at once to be another's gets no lock beside it.
    assert sorted(one.name for one in tmp_path.glob("*.lock")) == ["base.db.lock"]
    assert (tmp_path / "text.db").read_text() == "hello" * 1000
    with Store(tmp_path / "old.db"):
        pass
    base = sqlite3.connect(tmp_path / "old.db")
    base.execute("PRAGMA user_version=99")
    base.close()
    with pytest.raises(ValueError, match="has format 99"):
        Store(tmp_path / "old.db")
    assert (tmp_path / "old.db").stat().st_mode & 0o077 == 0


def test_time_never_goes_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(last=time.time() + 1000.0)
    assert clock.now() >= time.time() + 999.0
    with Store(path) as store:
        store.add("a", GAINS, wait=1e6, default=0.0)
        store.act("a")
        last = store.queue.journal.clock.now()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 86400.0)
    with Store(path) as store:
        assert store.queue.journal.clock.now() >= last
        store.observe(store.act("a").ticket, reward=1)
        assert (np.diff(store.log("a")["time"]) >= 0).all()


def test_a_closed_store_says_so(path: Path) -> None:
    store = Store(path)
    store.add("a", GAINS)
    move = store.act("a")
    store.close()
    store.close()
    for call in (lambda: store.act("a"), lambda: store.observe(move.ticket, reward=1), lambda: store.add("b", GAINS)):
        with pytest.raises(Ended, match="is closed"):
            call()


def test_a_file_of_two_names_is_refused(path: Path, tmp_path: Path) -> None:
    """Each name would have a lock and a log of its own: two writers, and each log half of the truth."""
    with Store(path) as store:
        store.add("a", hn.Bandit(2))
        os.link(path, tmp_path / "other.db")
        with pytest.raises(ValueError, match="has 2 hard links"):
            Store(tmp_path / "other.db")
    (tmp_path / "other.db").unlink()
    with Store(path) as store:
        assert list(store.learners) == ["a"]


# Files that are moved while the store is open


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
        with pytest.raises(Ended, match="was removed, renamed or replaced while the store was open"):
            USES[use](store, tickets[0])
        with pytest.raises(Ended, match="was removed, renamed or replaced"):
            store.act("a")


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
        with pytest.raises(Ended, match="was removed, renamed or replaced"):
            store.act("a")


def test_a_store_whose_file_stays_goes_on(folder: Path) -> None:
    """The control: what backups and administrators do to a file that stays is no reason to end."""
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


def test_a_renamed_file_has_what_was_acknowledged(folder: Path) -> None:
    """Put back with its write-ahead log. Without the file, the log is not deleted by a new store."""
    store, elsewhere = Store(folder), folder.with_suffix(".old")
    store.add("a", GAINS)
    tickets = [store.act("a").ticket for _ in range(5)]
    folder.rename(elsewhere)
    with pytest.raises(Ended):
        store.act("a")
    store.close()
    with pytest.raises(ValueError, match=r"is missing, but its write-ahead log exists"):
        Store(folder)
    elsewhere.rename(folder)
    with Store(folder) as store:
        assert all(store.observe(ticket, reward=1) for ticket in tickets)


# Stores that are not closed

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
    with refused(CONFLICT, "is locked by process"):  # the control: it has its lock
        Store(path)
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
    with Store(path) as store:  # the process goes on
        assert process.poll() is None
        assert store.observe(ticket, loss=1.0)
    process.communicate("\n", timeout=30)
    assert process.returncode == 0


def test_a_store_that_is_collected_in_its_own_thread_is_closed(path: Path) -> None:
    """The collector can run in the thread that writes, which cannot wait for itself."""
    store: Any = Store(path)
    store.add("a", GAINS)
    kept, journal = [store], store.queue.journal
    journal.listeners.append(kept.clear)  # called in the writer's thread, where the last reference goes
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


def test_an_id_asked_of_a_closed_store_is_answered_with_ended(path: Path) -> None:
    store = Store(path)
    store.add("a", GAINS)
    store.close()
    with pytest.raises(Ended, match="is closed"):
        store.act("a", id="one")


# Expiry, ids and syncs: nothing is early


@pytest.mark.parametrize("seed", range(20))
def test_no_decision_expires_before_its_own_wait(seed: int) -> None:
    """Draws in one bundle expire together: none before its wait, and with an odd seed, which expires whatever is due as
    soon as it is, none later than a hundredth of the wait after it."""
    rng, wait = np.random.default_rng(seed), 10.0
    expiry, drawn, found = Expiry(wait, 0.0), dict[int, float](), dict[int, float]()
    now = 100.0
    for ticket in range(1, 200):
        now += float(rng.exponential(0.04))
        keyed = ticket % 2
        if ticket % 3:
            expiry.drawn_one(keyed, ticket, now)
        else:
            expiry.drawn(keyed, np.array([ticket], dtype=np.uint64), now)
        drawn[ticket] = now
        if ticket % 50 == 0:
            saved, expiry = expiry.state(), Expiry(wait, 0.0)
            expiry.restore(*saved)
    while len(found) < len(drawn):
        now += max(expiry.pause(now), 1e-9) if seed % 2 else float(rng.uniform(0.0, 0.05))
        for keyed, tickets in enumerate(expiry.due(now, 500 if seed % 2 else int(rng.integers(1, 9)))):
            assert all(ticket % 2 == keyed for ticket in tickets.tolist())
            found |= dict.fromkeys(tickets.tolist(), now)
    late = [found[ticket] - drawn[ticket] - wait for ticket in drawn]
    assert min(late) >= -1e-9
    if seed % 2:
        assert max(late) <= wait / 100.0 + 1e-6
        # Control: bundles hold several draws, so that expiry by the first draw of a bundle would be early.
        assert len(set(found.values())) < 0.7 * len(drawn)


def test_the_last_draw_of_a_bundle_decides_when_it_expires() -> None:
    expiry = Expiry(10.0, 0.0)
    for ticket, now in ((1, 100.0), (2, 100.03), (3, 100.09)):
        expiry.drawn_one(0, ticket, now)
    for now in (110.0, 110.03, 110.08):
        assert [len(tickets) for tickets in expiry.due(now, 9)] == [0, 0]
        assert expiry.pause(now) == pytest.approx(110.09 - now, abs=1e-9)
    assert expiry.due(110.09, 9)[0].tolist() == [1, 2, 3]


class Gate:
    """The commits of a store, each of which waits until it is let through."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self._through = threading.Semaphore(0), threading.Semaphore(0)
        commit = store.queue.backend.commit

        def gated(group: Any) -> None:
            self.begun.release()
            assert self._through.acquire(timeout=30)
            commit(group)

        monkeypatch.setattr(store.queue.backend, "commit", gated)

    def wait(self) -> None:
        assert self.begun.acquire(timeout=30)

    def open(self, groups: int = 1) -> None:
        self._through.release(groups)


def test_an_id_is_kept_until_its_group_is_on_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit of earlier groups does not make the store forget ids that wait for a later one."""
    with Store(path) as store:
        store.add("a", GAINS)
        queue, journal, done = store.queue, store.queue.journal, threading.Semaphore(0)
        gate = Gate(store, monkeypatch)
        journal.listeners.append(done.release)
        try:
            first, earlier = queue.draw("a", id="first")
            gate.wait()
            second, later = queue.draw("a", id="second")
            assert later > earlier > journal.committed
            gate.open()
            assert done.acquire(timeout=30)
            gate.wait()
            assert earlier <= journal.committed < later
            again, repeat = queue.draw("a", id="second")
            assert again == second
            assert repeat >= later  # its answer waits for the group of the original
            assert queue.draw("a", id="first")[0] == first
        finally:
            gate.open(100)
        journal.wait(later)
        assert [store.act("a", id=id) for id in ("first", "second")] == [first, second]


def test_no_answer_comes_before_its_group_is_on_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer to an id, and a repeated one: at that time the id is in the file."""
    with Store(path) as store:
        store.add("a", GAINS)
        gate, seen = Gate(store, monkeypatch), list[tuple[Any, int]]()

        def ask() -> None:
            move = store.act("a", id="x")
            with contextlib.closing(sqlite3.connect(path)) as other:
                seen.append((move, other.execute("SELECT count(*) FROM asked WHERE id = 'x'").fetchone()[0]))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        try:
            for thread in threads:
                thread.start()
            gate.wait()
            for thread in threads:
                thread.join(0.25)  # time enough for an answer that does not wait
            assert seen == []
        finally:
            gate.open(100)
        for thread in threads:
            thread.join()
        assert [count for _, count in seen] == [1, 1]
        assert seen[0][0] == seen[1][0]


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
