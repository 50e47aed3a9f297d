"""Slates in a store: decisions, feedback, recovery, items that come and go, the log, and the service."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.client import Client, SlateDecision
from hannan.client import Refused as ClientRefused
from hannan.serving import Refused, maintenance
from hannan.serving.app import App
from hannan.serving.store import Store
from tests.oracles.asking import ask
from tests.oracles.rejections import rejected
from tests.oracles.sockets import KEY, Served

ITEMS = ["a", "b", "c", "d", "e"]
LEARNERS = [
    hn.SlateBandit(ITEMS, 2, gains=True),
    hn.SlateBandit(5, 3, draw="conditional"),
    hn.SlateBandit(5, 2, hn.Horizon(1000), hn.ImplicitExploration(), loss_range=(-1.0, 3.0)),
    hn.SlateBandit(5, 2, smoothing=hn.Exponential()),
    hn.SlateBandit(5, 2, smoothing=hn.Exponential(), positions=[1.0, 0.5]),
]


def settle(store: Store, decision: Any, rng: np.random.Generator, gains: bool) -> bool:
    values = rng.random(len(decision.actions)).tolist()
    return store.observe(decision.ticket, values) if gains else store.observe(decision.ticket, loss=values)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_store_resumes_slates_from_journal_and_snapshots(learner: Any, path: Path) -> None:
    """Probabilities, pending slates and certificates are the same after opening, from the journal and a snapshot."""
    rng, pending = np.random.default_rng(0), list[Any]()
    weights: list[float] = []
    before: Any = None
    for opening in range(4):
        with Store(path, snapshot_events=10**9 if opening % 2 else 1) as store:
            if opening:
                assert store.queue.contents.find("page").weights() == weights
                told = store.certificate("page")
                assert (told.own_loss, told.rounds, told.open_moves) == (before.own_loss, before.rounds, len(pending))
            store.add("page", learner)
            for _ in range(len(pending)):
                assert settle(store, pending.pop(), rng, learner.gains)
            for k in range(12):
                move = store.act("page")
                assert len(set(move.actions)) == learner.size == len(move.probabilities)
                assert (move.probability is None) is (learner.draw == "systematic")
                if k % 4:
                    assert settle(store, move, rng, learner.gains)
                    assert not settle(store, move, rng, learner.gains)
                else:
                    pending.append(move)
            weights, before = store.queue.contents.find("page").weights(), store.certificate("page")
    found = maintenance.check(str(path))
    assert (found.decisions, found.pending) == (48, len(pending))


def test_slates_settle_like_those_of_a_player(path: Path) -> None:
    """The state of the store is that of a player with the same slates and losses."""
    learner, rng = hn.SlateBandit(5, 2), np.random.default_rng(0)
    with Store(path) as store:
        store.add("page", learner)
        losses = np.zeros(5)
        player = store.queue.contents.find("page").player
        for _ in range(50):
            move, row = store.act("page"), rng.random(5)
            kept = player._kept(player.round)
            losses += np.where(kept, 0.5, 0.0)
            for item, p in zip(move.actions, move.probabilities, strict=True):
                losses[item] += (row[item] - (0.5 if kept[item] else 0.0)) / p
            store.observe(move.ticket, loss=row[move.actions])
        np.testing.assert_allclose(player.losses, losses, rtol=1e-12)


def test_a_repeated_id_returns_the_same_slate(path: Path) -> None:
    with Store(path) as store:
        store.add("page", hn.SlateBandit(ITEMS, 3, gains=True))
        first = store.act("page", id="visit-1")
        assert store.act("page", id="visit-1") == first
        assert store.act("page", id="visit-2").ticket != first.ticket
    with Store(path) as store:
        assert store.act("page", id="visit-1") == first


def test_lists_of_feedback_are_atomic(path: Path) -> None:
    with Store(path) as store:
        store.add("page", hn.SlateBandit(4, 2))
        store.add("arm", hn.Bandit(3))
        one, two, arm = store.act("page"), store.act("page"), store.act("arm")
        bad = [(one.ticket, None, [0.0, 1.0]), (arm.ticket, None, 0.5), (two.ticket, None, [0.0, 1.5])]
        rejected(lambda: store.queue.settle(bad), "1.5")
        assert store.certificate("page").rounds == store.certificate("arm").rounds == 0
        good = [*bad[:2], (one.ticket, None, [0.5, 0.5]), (two.ticket, None, [0.0, 1.0])]
        assert store.queue.settle(good)[0] == [True, True, False, True]
        assert store.certificate("page").own_loss == 2.0


def test_invalid_feedback_changes_nothing(path: Path) -> None:
    with Store(path) as store:
        store.add("page", hn.SlateBandit(4, 2, gains=True))
        store.add("arm", hn.Bandit(4, gains=True))
        move, arm = store.act("page"), store.act("arm")
        for call, parts in (
            (lambda: store.observe(move.ticket, 1.0), ("reward", "2", "1.0")),
            (lambda: store.observe(move.ticket, [1.0]), ("2", "(1,)")),
            (lambda: store.observe(move.ticket, [1.0, None]), ("no number", "item 1")),
            (lambda: store.observe(move.ticket, [1.0, 2.0]), ("2.0", "index 1")),
            (lambda: store.observe(move.ticket, loss=[1.0, 0.0]), ("reward", "loss")),
            (lambda: store.observe(arm.ticket, [1.0, 0.0]), ("reward",)),
            (lambda: store.act("page", key="anna"), ("'anna'", "keys")),
            (lambda: store.queue.draws("page", 3), ("page", "count")),
            (lambda: store.evidence("page"), ("items", "page")),
            (lambda: store.add("b", hn.SlateBandit(4, 2), wait=60.0, default=0.0), ("wait", "60.0")),
            (lambda: store.add("b", hn.SlateBandit(400, 300)), ("256", "300")),
            (lambda: store.add("b", hn.SlateExperts(4, 2)), ("SlateExperts",)),
        ):
            rejected(call, *parts)
        assert store.observe(move.ticket, [1.0, 0.0])
        assert store.certificate("page").rounds == 1


def test_items_come_and_go(path: Path) -> None:
    with Store(path) as store:
        store.add("page", hn.SlateBandit(5, 2), arms=["a", "b", "c", "d"])
        old = store.act("page")
        store.retire_arm("page", "a")
        for _ in range(30):
            move = store.act("page")
            assert "a" not in move.arms
            store.observe(move.ticket, loss=[0.0, 1.0])
        store.add_arm("page", "new")
        store.rename_arm("page", "b", "bee")
        seen = {arm for _ in range(60) for arm in store.act("page").arms}
        assert seen == {"bee", "c", "d", "new"}
        assert store.observe(old.ticket, loss=[0.5, 0.5])
        weights = store.queue.contents.find("page").weights()
    with Store(path) as store:
        assert store.queue.contents.find("page").weights() == weights
        assert "came after" in str(store.certificate("page"))


def test_named_items_begin_a_new_stage(path: Path) -> None:
    with Store(path) as store:
        store.add("page", hn.SlateBandit(ITEMS[:3], 2, gains=True))
        old = store.act("page")
        store.add_arm("page", "d")
        assert set(store.act("page").arms) <= set(ITEMS[:4])
        assert store.observe(old.ticket, [1.0, 0.0])
        assert store.certificate("page", stage=1).rounds == 1
    with Store(path) as store:
        assert [one.stage for one in store.queue.contents.find("page").stages][-1].ordinal == 2


def test_log_of_slates_can_be_replayed_by_items(path: Path) -> None:
    means, rng = np.array([0.1, 0.3, 0.5, 0.7]), np.random.default_rng(0)
    with Store(path) as store:
        store.add("page", hn.SlateBandit(["a", "b", "c", "d"], 2, hn.Fixed(10.0), gains=True))
        paid = 0.0
        for _ in range(600):
            move = store.act("page")
            values = (rng.random(2) < means[move.actions]).astype(float)
            paid += values.sum()
            store.observe(move.ticket, values.tolist())
        last = store.act("page")
        table = store.log("page")
        rejected(lambda: store.log("page", weights=True), "weights", "page")
        columns = {name: np.asarray(table[name]) for name in table}
    assert len(columns["slate"]) == 1202
    assert np.isnan(columns["reward"]).sum() == 2
    assert columns["arm"][-2:].tolist() == last.arms
    done = ~np.isnan(columns["reward"])
    log = {name: column[done] for name, column in columns.items()}
    told = hn.replay(
        log, "arm", "reward", "probability", by="items", slate="slate", gains=True, slates={"best": ["c", "d"]}
    )
    assert told.logged.value == pytest.approx(paid / 600)
    assert told.slates[0].interval[0] <= 1.2 <= told.slates[0].interval[1]


def test_pruning_keeps_pending_slates(path: Path) -> None:
    with Store(path, snapshot_events=5) as store:
        store.add("page", hn.SlateBandit(4, 2))
        pending = store.act("page")
        for _ in range(40):
            store.observe(store.act("page").ticket, loss=[0.0, 1.0])
        time.sleep(0.01)
        store.prune(0.0)
    with Store(path) as store:
        assert store.observe(pending.ticket, loss=[0.0, 1.0])


def test_a_service_shows_slates(path: Path) -> None:
    with Store(path) as store:
        app = App(store)
        description = {"name": "page", "learner": hn.saving.describe(hn.SlateBandit(ITEMS, 2, gains=True))}
        assert ask(app, "POST", "/v1/learners", description)[0] == 201
        status, move = ask(app, "POST", "/v1/learners/page/act", {"id": "visit"})
        assert status == 200
        assert move.keys() == {"ticket", "arms", "actions", "probabilities", "probability"}
        assert move["probability"] is None
        assert ask(app, "POST", "/v1/learners/page/act", {"id": "visit"})[1] == move
        body = {"ticket": move["ticket"], "reward": [1, 0.5]}
        assert ask(app, "POST", "/v1/observe", body) == (200, {"counted": True})
        assert ask(app, "POST", "/v1/observe", [body]) == (200, {"counted": [False]})
        assert ask(app, "POST", "/v1/observe", body | {"reward": 1})[0] == 422
        assert ask(app, "POST", "/v1/learners/page/act", {"count": 3})[0] == 400
        assert ask(app, "POST", "/v1/learners/page/act", {"key": "anna"})[0] == 409
        for place in ("", "/arms", "/keys", "/shares", "/log", "/evidence"):
            status, told = ask(app, "GET", f"/v1/learners/page{place}")
            assert status == (409 if place == "/evidence" else 200), (place, told)
        flag = ask(app, "POST", "/ofrep/v1/evaluate/flags/page", {"context": {"targetingKey": "anna"}})
        assert flag[0] == 400
        assert "slates" in flag[1]["errorDetails"]


@pytest.mark.parametrize("http", ["fast", "h11"])
def test_the_client_shows_and_settles_slates(path: Path, http: str) -> None:
    with Store(path) as store:
        store.add("page", hn.SlateBandit(ITEMS, 2, gains=True))
        with Served(store, http) as served:
            client = Client(f"http://127.0.0.1:{served.port}", KEY)
            move = client.act("page", id="visit")
            assert isinstance(move, SlateDecision)
            assert client.act("page", id="visit") == move == store.act("page", id="visit")
            assert client.observe(move.ticket, [1.0, 0.0])
            assert not client.observe(move.ticket, [1.0, 0.0])
            other = client.act("page")
            assert client.observe_many([(other.ticket, [0.0, 1.0])]) == [True]
            with pytest.raises(ClientRefused, match="list of 2"):
                client.observe(client.act("page").ticket, 1.0)
        assert store.certificate("page").own_loss == 2.0


WORKER = """
import sys, hannan as hn
from hannan.serving.store import Store
store = Store(sys.argv[1], snapshot_events=7)
store.add("page", hn.SlateBandit(6, 2, draw="conditional"))
while True:
    move = store.act("page")
    print("drawn", move.ticket, flush=True)
    store.observe(move.ticket, loss=[0.25, 1.0])
    print("told", move.ticket, flush=True)
"""


def test_acknowledged_slates_survive_kills(path: Path) -> None:
    """SIGKILL under load: every printed slate is known afterwards, and printed feedback counts once."""
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WORKER, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline().split() for _ in range(41)]
            os.kill(process.pid, signal.SIGKILL)
            lines += [line.split() for line in process.stdout]
        with Store(path) as store:
            told = {line[1] for line in lines if len(line) == 2 and line[0] == "told"}
            for ticket in [line[1] for line in lines if len(line) == 2 and line[0] == "drawn"][-12:]:
                counted = store.observe(ticket, loss=[0.25, 1.0])
                assert not (counted and ticket in told)
                assert not store.observe(ticket, loss=[0.25, 1.0])


def test_control_a_changed_slate_is_damage(path: Path) -> None:
    """A journal whose first slate has another order is rejected when it is replayed."""
    from hannan.serving import journal
    from hannan.serving.contents import Contents

    with Store(path, snapshot_events=10**9) as store:
        store.add("page", hn.SlateBandit(4, 2))
        store.act("page")
        groups = list(store.queue.backend.groups(0))
    sound, changed = Contents(), Contents()
    sound.replay(iter(groups))
    bad = []
    for first, blob in groups:
        body, when = journal.opened(blob, first)
        parts = journal.decode_group(body)
        for _, part in parts if journal.has_tails(body) else ():
            if isinstance(part, journal.SlateAct):
                arms = part.slate.arms
                other = part._replace(slate=part.slate._replace(arms=arms[::-1]))
                body = body.replace(journal.slate(part), journal.slate(other))
        bad.append((first, journal.group(body, when)))
    with pytest.raises(ValueError, match="replay differs"):
        changed.replay(iter(bad))
    with pytest.raises(Refused):
        sound.find("other")
