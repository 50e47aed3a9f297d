"""Arms that get another name: the same arm, with its statistics, tickets, evidence and log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import ask

import hannan as hn
from hannan.serving import CONFLICT, Refused, contents, journal
from hannan.serving.app import App
from hannan.serving.contents import Contents, NewerVersion
from hannan.serving.decisions import recovered
from hannan.serving.sqlite import SQLiteBackend
from hannan.serving.store import Store

TWO = hn.Bandit(["red", "blue"], gains=True)


def crash(store: Store) -> None:
    """End the store without writing anything more; the lock is free afterwards."""
    with store.queue.lock:
        store.queue.journal.fail(RuntimeError("crashed"))
        store.queue.journal._ready.notify()
    store.queue.journal._thread.join()
    store.queue.backend.close()


def play(store: Store, rounds: int, **more: Any) -> list[Any]:
    moves = [store.act("a", **more) for _ in range(rounds)]
    for move in moves[::2]:
        store.observe(move.ticket, reward=1)
    return moves


def test_rename_keeps_everything_but_the_name(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO)
        moves = play(store, 40)
        before, weights = store.evidence("a"), store.queue.contents.find("a").weights()
        store.rename_arm("a", "red", "crimson")
        after = store.evidence("a")
        assert list(after.arms) == ["crimson", "blue"]
        assert list(after.arms.values()) == list(before.arms.values())
        assert (after.regret, after.decisions, after.since) == (before.regret, before.decisions, before.since)
        assert store.queue.contents.find("a").weights() == weights
        assert len(store.queue.contents.find("a").stages) == 1
        assert all(store.observe(move.ticket, reward=0) for move in moves[1::2])
        assert {store.act("a").arm for _ in range(60)} == {"crimson", "blue"}
        assert "crimson was called red until 20" in dict(store.certificate("a").rows())["names"]


@pytest.mark.parametrize("snapshot", [7, 10**6])
@pytest.mark.parametrize("key", [None, "anna", 5])
def test_rename_survives_a_crash_and_a_restart(path: Path, snapshot: int, key: Any) -> None:
    store = Store(path, snapshot_events=snapshot)
    store.add("a", TWO)
    moves = play(store, 30, key=key)
    store.rename_arm("a", "red", "crimson")
    moves += play(store, 30, key=key)
    store.add_arm("a", "green")
    moves += play(store, 30, key=key)
    store.rename_arm("a", "crimson", "scarlet")
    store.rename_arm("a", "green", "red")
    moves += play(store, 30, key=key)
    log, told = store.log("a"), store.evidence("a").to_dict()
    names = [stage.arms.labels for stage in store.queue.contents.find("a").stages]
    assert names == [["scarlet", "blue"], ["scarlet", "blue", "red"]]
    crash(store)
    backend = SQLiteBackend(path, 0, 1)
    found = recovered(backend).find("a")
    assert [stage.arms.labels for stage in found.stages] == names
    backend.close()
    for _ in range(2):  # from the journal, then from the snapshot of the closing
        with Store(path) as store:
            assert store.log("a").equals(log)
            assert store.evidence("a").to_dict() == told
            assert [stage.arms.labels for stage in store.queue.contents.find("a").stages] == names
    with Store(path) as store:
        counted = sum(store.observe(move.ticket, reward=1) for move in moves)
        assert counted == 60


def test_log_has_the_name_at_the_draw(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO)
        store.add("b", TWO)
        drawn = [move.arm for move in play(store, 20)]
        store.act("b")
        assert "shown_as" not in store.log("a").columns
        store.rename_arm("a", "red", "crimson")
        drawn += [move.arm for move in play(store, 20)]
        store.rename_arm("a", "crimson", "red")  # back to its own earlier name
        drawn += [move.arm for move in play(store, 20)]
        store.rename_arm("a", "blue", "azure")
        log = store.log("a")
        assert log["shown_as"].tolist() == drawn
        now = [{"crimson": "red", "blue": "azure"}.get(arm, arm) for arm in drawn]
        assert log["arm"].tolist() == now
        assert set(drawn) == {"red", "crimson", "blue"}  # control: the names differ over time
        assert "shown_as" not in store.log("b").columns


def test_smallest_probability_does_not_depend_on_names(path: Path) -> None:
    """Two stores with the same decisions, one of which renames its arms; the entropy of both is the same."""
    with Store(path) as store:
        store.add("a", hn.Bandit(4, hn.Tsallis(0.5), gains=True), arms=["red", "blue"])
        play(store, 20)
        store.add_arm("a", "green")
        play(store, 30)
        before = store.log("a")["smallest_probability"].to_numpy()
        store.rename_arm("a", "green", "lime")
        store.rename_arm("a", "red", "crimson")
        after = store.log("a")["smallest_probability"].to_numpy()
    assert np.array_equal(before, after)
    assert before[0] == 0.0  # green could not be drawn
    assert 0.0 < before[-1] < 0.5


def test_names_that_are_taken_or_invalid_are_rejected(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO)
        store.add("n", hn.Bandit(2))
        store.add_arm("a", "green")
        store.retire_arm("a", "blue")
        sequence = store.queue.contents.sequence
        for new in ("red", "green", "blue"):  # blue: an arm of earlier stages
            with pytest.raises(Refused, match=f"already has or had an arm '{new}'") as caught:
                store.rename_arm("a", "red", new)
            assert caught.value.status == CONFLICT
        for bad in ("", 7, None):
            with pytest.raises(ValueError, match="name must be a non-empty string"):
                store.rename_arm("a", "red", bad)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="no available arm 'blue'"):
            store.rename_arm("a", "blue", "azure")
        with pytest.raises(ValueError, match="no names"):
            store.rename_arm("n", "0", "zero")
        assert store.queue.contents.sequence == sequence
        assert store.queue.contents.find("a").arms.labels == ["red", "green"]


def test_adding_the_learner_again_after_a_change_of_its_arms(path: Path) -> None:
    """A program that is deployed with the old list, with the new one, and with the old one again."""
    renamed = hn.Bandit(["crimson", "blue"], gains=True)
    with Store(path) as store:
        store.add("a", TWO)
        play(store, 10)
        store.rename_arm("a", "red", "crimson")
        store.add("a", TWO)  # as declared at first
        assert len(store.queue.contents.find("a").stages) == 1
        store.add("a", renamed)  # as declared now
        assert len(store.queue.contents.find("a").stages) == 1
    for _ in range(2):  # from the journal and a snapshot
        with Store(path) as store:
            store.add("a", renamed)
            stored = store.queue.contents.find("a")
            assert (len(stored.stages), stored.decisions) == (1, 10)
    with Store(path) as store:
        store.add("a", TWO)  # control: now another list, so that a stage begins
        stored = store.queue.contents.find("a")
        assert (len(stored.stages), stored.arms.labels) == (2, ["red", "blue"])


def test_an_arm_that_was_added_at_run_time_and_then_in_the_program(path: Path) -> None:
    three = hn.Bandit(["red", "blue", "green"], gains=True)
    with Store(path) as store:
        store.add("a", TWO)
        store.add_arm("a", "green")
        play(store, 10)
        store.add("a", three)
        assert store.queue.contents.find("a").decisions == 10
    with Store(path) as store:
        store.add("a", TWO)  # green was declared in between, so this list removes it
        assert store.queue.contents.find("a").arms.labels == ["red", "blue"]


def test_repeated_id_after_a_rename_is_the_same_decision(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO)
        first = [store.act("a", id=f"{k}") for k in range(20)]
        store.rename_arm("a", "red", "crimson")
        again = [store.act("a", id=f"{k}") for k in range(20)]
        assert [move.ticket for move in first] == [move.ticket for move in again]
        assert [move.arm for move in again] == ["crimson" if move.arm == "red" else "blue" for move in first]


def test_readers_that_do_not_know_renames_reject_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version with the notes and fields of an earlier one: it names unknown fields, and changes nothing."""
    with Store(path) as store:
        store.add("a", TWO)
        store.rename_arm("a", "red", "crimson")
        blob = b"".join(store.queue._take_snapshot()())
        note = journal.note({"unknown": 0, "learner": 0, "name": "crimson"})
    with pytest.raises(journal.Damaged, match=r"unknown kind: \['learner', 'name', 'unknown'\].*version that wrote it"):
        Contents().noted(next(part for _, part in journal.decode_group(note) if isinstance(part, dict)))
    assert Contents.restored(blob).find("a").arms.labels == ["crimson", "blue"]  # control
    monkeypatch.setattr(contents, "STATE", contents.STATE - {"renamings"})
    with pytest.raises(NewerVersion, match="unknown field 'renamings'"):
        Contents.restored(blob)


def test_rename_over_http(path: Path) -> None:
    with Store(path) as store:
        app = App(store)
        store.add("a", hn.Bandit(["1/2", "b c"], gains=True))
        store.add("n", hn.Bandit(3))
        ticket = ask(app, "POST", "/v1/learners/a/act")[1]["ticket"]
        assert ask(app, "PATCH", "/v1/learners/a/arms/1/2", {"name": "a/half"}) == (200, {"added": False})
        assert ask(app, "GET", "/v1/learners/a")[1]["arms"] == ["a/half", "b c"]
        assert ask(app, "PATCH", "/v1/learners/a/arms/a/half", {"name": "b c"})[0] == 409
        assert ask(app, "PATCH", "/v1/learners/a/arms/a/half", {"name": ""})[0] == 400
        assert ask(app, "PATCH", "/v1/learners/a/arms/a/half", {"arm": "x"})[0] == 400
        assert ask(app, "PATCH", "/v1/learners/a/arms/unknown", {"name": "x"})[0] == 400
        assert ask(app, "PATCH", "/v1/learners/n/arms/0", {"name": "x"})[0] == 400
        assert ask(app, "POST", "/v1/observe", {"ticket": ticket, "reward": 1}) == (200, {"counted": True})
        assert 'hannan_draws_total{learner="a",arm="a/half"}' in ask(app, "GET", "/metrics")[1].decode()
        assert '"1/2"' not in ask(app, "GET", "/metrics")[1].decode()
