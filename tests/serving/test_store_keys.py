"""Keys and ids of a store: one learner per key, one decision per id, and no answer before it is on the disk."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from rejections import rejected
from stores import GAINS

from hannan.serving import Ended, Refused
from hannan.serving.store import Store


def test_every_key_has_its_own_learner(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        anna, ben = store.act("a", key="anna"), store.act("a", key="ben")
        assert anna.probability == ben.probability == pytest.approx(1 / 3)
        assert store.act("a", key="anna", id="x") == store.act("a", key="anna", id="x")
        assert store.act("a", key="anna", id="x") != store.act("a", key="ben", id="x")
        assert store.observe(anna.ticket, reward=1) is True
        assert (store.certificate("a", key="anna").rounds, store.certificate("a", key="ben").rounds) == (1, 0)
        assert store.certificate("a").keys == 2
        rejected(lambda: store.act("a", key=7), "keys", "strings")
        for bad in ("", "x" * 201, 1 << 63, True, 1.5, ["x"]):
            rejected(lambda bad=bad: store.act("a", key=bad), "key")
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


def test_an_id_identifies_one_decision(path: Path) -> None:
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
            rejected(lambda bad=bad: store.act("a", id=bad), "id", kind=Refused)
    with Store(path) as store:  # deleted with the snapshot of the store that kept ids for 0 s
        assert store.act("a", id="request-1") != first


def test_an_id_raises_ended_on_a_closed_store(path: Path) -> None:
    store = Store(path)
    store.add("a", GAINS)
    store.close()
    rejected(lambda: store.act("a", id="one"), "closed", kind=Ended)


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
