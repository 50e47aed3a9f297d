"""Arms that come and go in new stages of a learner: tickets, replay, snapshots, keys, logs and certificates."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.serving import CONFLICT, Refused
from hannan.serving.app import App
from hannan.serving.decisions import recovered
from hannan.serving.service import Request, add, add_arm, history, learners, metrics, retire_arm
from hannan.serving.sqlite import SQLiteBackend
from hannan.serving.store import Store
from hannan.serving.stored_learner import FREE_PLACE, NEW_STAGE, UNAVAILABLE

TWO, THREE = (hn.Bandit(names, gains=True) for names in (["red", "blue"], ["red", "blue", "green"]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.db"


def crash(store: Store) -> None:
    """End the store without writing anything more; the lock is free afterwards."""
    with store.queue.lock:
        store.queue.journal.fail(RuntimeError("crashed"))
        store.queue.journal._ready.notify()
    store.queue.journal._thread.join()
    store.queue.backend.close()


def fleets(contents: Any) -> list[bytes]:
    return [fleet.to_bytes() for one in contents.learners for fleet in one.fleets if fleet is not None]


def drawn(store: Store, count: int = 60, **more: Any) -> set[Any]:
    return {store.act("a", **more).arm for _ in range(count)}


def test_a_longer_and_a_shorter_list_begin_stages(path: Path) -> None:
    """A redeployment: the shop starts, earlier tickets count, and each stage has its own arms."""
    with Store(path) as store:
        store.add("a", TWO)
        first = store.act("a")
    with Store(path) as store:
        store.add("a", THREE)
        store.add("a", THREE)
        assert drawn(store) == {"red", "blue", "green"}  # false alarm: 3 (2/3)^60 < 1e-9
        second = store.act("a")
        assert store.observe(first.ticket, reward=1) is True
        assert store.observe(first.ticket, reward=1) is False
    with Store(path) as store:
        store.add("a", hn.Bandit(["green", "black"], gains=True))
        assert drawn(store) == {"green", "black"}
        assert store.observe(second.ticket, reward=1) is True
        assert [store.certificate("a", stage=k).rounds for k in (1, 2, 3)] == [1, 1, 0]
        assert store.learners == ("a",)
        log = store.log("a").dropna(subset=["reward"])
        assert log["arm"].tolist() == [first.arm, second.arm]
        assert log["stage"].tolist() == [1, 2]
        with pytest.raises(ValueError, match=r"stages 1 to 3; got stage 4"):
            store.certificate("a", stage=4)


def test_arms_are_added_and_retired_at_any_time(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO)
        store.add_arm("a", "green")
        assert drawn(store) == {"red", "blue", "green"}
        store.retire_arm("a", "red")
        assert drawn(store) == {"blue", "green"}
        store.add("a", TWO)  # as declared: arms that were added and retired in between stay as they are
        store.add_arm("a", "red")
        assert drawn(store) == {"blue", "green", "red"}
        for arm in ("blue", "green"):
            store.retire_arm("a", arm)
        with pytest.raises(Refused, match="is the last") as caught:
            store.retire_arm("a", "red")
        assert caught.value.status == CONFLICT
        with pytest.raises(Refused, match="already has or had an arm 'red'"):
            store.add_arm("a", "red")
        for bad in ("", 7, None):
            with pytest.raises(ValueError, match="arm must be a non-empty string"):
                store.add_arm("a", bad)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="no available arm 'white'"):
            store.retire_arm("a", "white")
        assert drawn(store, 5) == {"red"}


def test_control_a_changed_description_is_rejected(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO)
        move = store.act("a")
        for learner, more in (
            (hn.Bandit(["red", "blue", "green"]), {}),  # losses
            (hn.Bandit(["red", "blue", "green"], hn.Entropy(), gains=True), {}),
            (hn.Bandit(["red", "blue", "green"], gains=True, loss_range=(0, 2)), {}),
            (hn.UCB1(3, gains=True), {}),
            (THREE, {"wait": 5.0, "default": 0.0}),
        ):
            with pytest.raises(Refused, match=r"exists with another description.*Only the arms may differ") as caught:
                store.add("a", learner, **more)
            assert caught.value.status == CONFLICT
        with pytest.raises(Refused, match="in another order"):
            store.add("a", hn.Bandit(["blue", "red"], gains=True))
        assert len(store.queue.contents.learners) == 1
        assert store.observe(move.ticket, reward=1) is True


def test_arms_without_names(path: Path) -> None:
    with Store(path) as store:
        store.add("a", hn.Bandit(2))
        with pytest.raises(ValueError, match="must be a non-empty string"):
            store.add_arm("a", "green")
        with pytest.raises(ValueError, match="Name the arms"):
            store.retire_arm("a", 1)
        store.add("a", hn.Bandit(3))
        assert drawn(store) == {0, 1, 2}
        store.add("p", hn.Bandit(2, hn.Tsallis(0.5)), arms=["x", "y"])
        with pytest.raises(Refused, match="all 2 are taken"):
            store.add_arm("p", "z")
        store.add("p", hn.Bandit(4, hn.Tsallis(0.5)), arms=["x", "y", "z"])
        store.add_arm("p", "w")  # at the unused index of the same stage
        store.add("same", hn.Bandit(2), arms=["x", "y"])
        store.add("same", hn.Bandit(["x", "y"]))  # the same arms, with other names
        assert len(store.queue.contents.find("same").stages) == 1
        assert len(store.queue.contents.find("p").stages) == 2
        assert {store.act("p").arm for _ in range(80)} == {"x", "y", "z", "w"}


@pytest.mark.parametrize(
    "learner",
    [
        hn.Bandit(["x", "y"], tuning=hn.Horizon(1000)),
        hn.Bandit(["x", "y"], hn.Entropy(), hn.Horizon(1000)),
        hn.Bandit(["x", "y"], hn.Tsallis(0.5)),
        hn.UCB1(["x", "y"]),
        hn.TsallisShannon(["x", "y"]),
    ],
    ids=repr,
)
def test_every_learner_accepts_another_arm(path: Path, learner: Any) -> None:
    """The learner of the new stage is the one that its class builds, for example with the scale of its own arms."""
    longer = dataclasses.replace(learner, n=3, arms=("x", "y", "z"))
    with Store(path) as store:
        store.add("a", learner)
        store.add_arm("a", "z")
        store.add("b", learner)
        store.add("b", longer)
        for name in ("a", "b"):
            assert store.queue.contents.find(name).learner == longer
            assert len(store.queue.contents.find(name).stages) == 2
    with Store(path) as store:
        store.add("a", learner)
        store.add("b", longer)
        assert [len(store.queue.contents.find(name).stages) for name in ("a", "b")] == [2, 2]
        assert {store.act("b").arm for _ in range(80)} <= {"x", "y", "z"}


def test_an_id_gives_the_decision_of_its_stage(path: Path) -> None:
    with Store(path) as store:
        store.add("a", THREE)
        before = [store.act("a", id=f"id{k}") for k in range(20)]
        keyed = store.act("a", key="anna", id="x")
        store.retire_arm("a", "red")
        assert [store.act("a", id=f"id{k}") for k in range(20)] == before
        assert store.act("a", key="anna", id="x") == keyed
    with Store(path) as store:
        assert [store.act("a", id=f"id{k}") for k in range(20)] == before
        assert store.act("a", id="other").arm != "red"


@pytest.mark.parametrize("snapshot", [9, 10**6])
@pytest.mark.parametrize("kind", ["integer", "string"])
def test_recovery_of_stages_is_bit_for_bit(path: Path, snapshot: int, kind: str) -> None:
    """A crash after several stages, with keys, expiry and open moves of each: the same bytes after replay."""
    keys = (None, 5, 9) if kind == "integer" else (None, "anna", "ben")
    store = Store(path, snapshot_events=snapshot)
    store.add("a", TWO, wait=1e6, default=0.25)
    store.add("b", hn.Bandit(3))
    moves = []
    for k, names in enumerate((None, ["red", "blue", "green"], ["blue", "green"], ["blue", "green", "w", "x"])):
        if names is not None:
            store.add("a", hn.Bandit(names, gains=True), wait=1e6, default=0.25)
        for t in range(30):
            moves.append(store.act("a", key=keys[t % 3]))
            store.act("b")
            if t % 3:
                store.observe(moves[int((k * 31 + t * 7) % len(moves))].ticket, reward=0.5)
    kept, declared = fleets(store.queue.contents), [one.declared for one in store.queue.contents.learners]
    certificates = [str(store.certificate("a", key=key, stage=s)) for key in keys for s in (1, 2, 3, 4)]
    log = store.log("a")
    crash(store)
    backend = SQLiteBackend(path, 0, 1)
    found = recovered(backend)
    assert fleets(found) == kept
    assert [one.declared for one in found.learners] == declared
    backend.close()
    with Store(path) as store:
        assert [str(store.certificate("a", key=key, stage=s)) for key in keys for s in (1, 2, 3, 4)] == certificates
        assert store.log("a").equals(log)
        assert (log["key"] == "").sum() < len(log)
        counted = sum(store.observe(move.ticket, reward=0.5) for move in moves)
        assert counted == log["reward"].isna().sum() > 0
        assert len(log) == len(moves)
        assert store.queue.contents.find("a").open == 0
    with Store(path) as store:  # from the last snapshot alone
        assert len(store.log("a")) == len(moves)


def test_a_crash_at_the_change_leaves_the_stage_before_or_after_it(path: Path) -> None:
    store = Store(path)
    store.add("a", TWO)
    move = store.act("a")
    journal = store.queue.journal
    with journal._writing:  # the disk needs some time
        with store.queue.lock:
            store.queue.add_arm("a", "green")
            lost = store.queue.draw("a")[0]
        with journal._done:
            journal.failure = RuntimeError("crashed")
    with store.queue.lock:
        journal._ready.notify()
    journal._thread.join()
    store.queue.backend.close()
    with Store(path) as store:
        committed = len(store.queue.contents.find("a").stages)
        assert store.observe(move.ticket, reward=1) is True
        if committed == 1:
            with pytest.raises(Refused):
                store.observe(lost.ticket, reward=1)
        store.add("a", THREE)
        assert drawn(store) == {"red", "blue", "green"}


def test_open_decisions_of_an_ended_stage_expire(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO, wait=0.05, default=0.5)
        left = [store.act("a") for _ in range(5)]
        store.add_arm("a", "green")
        while store.queue.contents.learners[0].open:
            with suppress(Refused):
                store.queue.journal.wait(store.queue.contents.sequence)
        assert store.observe(left[0].ticket, reward=1) is False
        assert store.certificate("a", stage=1).rounds == 5
        assert "5 decisions without feedback" in dict(store.certificate("a", stage=1).rows())["expiry"]
        assert "hannan_by_default_total" in App(store).service.metrics.text(store.queue).decode()


def test_prune_keeps_open_decisions_of_ended_stages(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO)
        first = store.act("a")
        store.add_arm("a", "green")
        for _ in range(10):
            store.observe(store.act("a").ticket, reward=1)
    with Store(path) as store:
        store.prune(0.0)
        assert store.log("a")["reward"].count() == 10
        assert store.observe(first.ticket, reward=1) is True
        assert store.log("a")["reward"].count() == 11
    with Store(path) as store:
        assert store.prune(0.0) > 0
        assert store.certificate("a", stage=1).rounds == 1


def test_certificates_state_their_stage(path: Path) -> None:
    with Store(path) as store:
        store.add("a", TWO)
        for _ in range(40):
            store.observe(store.act("a").ticket, reward=0.5)
        assert "stage" not in dict(store.certificate("a").rows())  # control: nothing has changed
        store.act("a", key="anna")
        store.add_arm("a", "green")
        for _ in range(30):
            store.observe(store.act("a").ticket, reward=0.5)
        now, before = store.certificate("a"), store.certificate("a", stage=1)
        assert (now.rounds, before.rounds) == (30, 40)
        assert now.bound == THREE.bound(30)
        assert before.bound == TWO.bound(40)
        words = dict(now.rows())["stage"]
        assert words.startswith("2 of 2, with 3 arms, since 20")
        assert "after 41 decisions of earlier stages" in words
        assert "given all that came before it" in words
        words = dict(before.rows())["stage"]
        assert words.startswith("1 of 2, with 2 arms, ended 20")
        assert "depends on neither moves nor losses; otherwise no bound is proved" in words


def test_stages_over_http(path: Path) -> None:
    with Store(path) as store:
        service = App(store).service

        def ask(action: Any, body: bytes = b"", arm: str = "") -> Any:
            return service.handle(action, Request(body, "a", arm))

        assert ask(add, b'{"name": "a", "arms": ["red", "blue"]}').status == 201
        assert ask(add, b'{"name": "a", "arms": ["red", "blue"]}').status == 200
        service.histories.sample()
        assert ask(add, b'{"name": "a", "arms": ["red", "blue", "green"]}').status == 201
        assert ask(add_arm, b'{"arm": "white"}').status == 201
        service.histories.sample()
        assert b'"arms":["red","blue","green","white"]' in ask(history).body
        assert ask(retire_arm, arm="red").status == 200
        assert ask(learners).body == b'{"learners":["a"]}'
        told = ask(metrics).body.decode().splitlines()
        assert sum(line.startswith('hannan_open_decisions{learner="a"}') for line in told) == 1
        assert ask(add, b'{"name": "a", "arms": ["red", "blue"], "gains": false}').status == 409


def test_stages_whose_times_depend_on_moves_and_losses_begin_fresh(path: Path) -> None:
    """The current stage does not depend on the time of its beginning: uniform weights, no loss of earlier stages."""
    with Store(path) as store:
        store.add("a", TWO)
        changes = 0
        for t in range(400):
            move = store.act("a")
            store.observe(move.ticket, reward=float(move.arm == "blue"))
            if move.arm == "blue" and changes < 12 and t % 7 == 0:
                store.add_arm("a", f"arm{changes}")
                changes += 1
                weights = store.queue.contents.find("a").weights()
                assert np.allclose(weights, 1.0 / len(weights))
                assert store.certificate("a").own_loss == 0.0
        assert len(store.queue.contents.find("a").stages) == changes + 1
        assert len(store.log("a")) == 400


@pytest.mark.parametrize(
    ("learner", "arms", "on_add", "on_retire"),
    [
        (hn.Bandit(["red", "blue"]), None, NEW_STAGE, NEW_STAGE),
        (hn.Bandit(["red", "blue"], hn.Tsallis(0.5)), None, NEW_STAGE, UNAVAILABLE),
        (hn.Bandit(3, hn.Tsallis(0.5)), ["red", "blue"], FREE_PLACE, UNAVAILABLE),
        (hn.Bandit(2, hn.Tsallis(0.5)), ["red", "blue"], None, UNAVAILABLE),
        (hn.Bandit(["red"]), None, NEW_STAGE, None),
        (hn.Bandit(2), None, None, None),
    ],
)  # fmt: skip
def test_effects_of_changes_are_those_stated(
    tmp_path: Path, learner: Any, arms: Any, on_add: str | None, on_retire: str | None
) -> None:
    for word, stated in (("add", on_add), ("retire", on_retire)):
        with Store(tmp_path / f"{word}.db") as store:
            store.add("a", learner, arms=arms)
            contents = store.queue.contents
            found = contents.find("a").arms
            assert stated == (found.on_add if word == "add" else found.on_retire)
            call = (lambda: store.add_arm("a", "green")) if word == "add" else (lambda: store.retire_arm("a", "red"))
            table = contents.find("a").evidence
            if stated is None:
                with pytest.raises(ValueError):
                    call()
                continue
            call()
            assert contents.find("a").stage.ordinal == (2 if stated == NEW_STAGE else 1)
            assert (contents.find("a").evidence is table) is (stated == UNAVAILABLE)
