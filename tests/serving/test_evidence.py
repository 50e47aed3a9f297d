"""Evidence of a store: the same as that of a table that counts its decisions, after crashes and with keys."""

from __future__ import annotations

import time

import numpy as np
import pytest

import hannan as hn
from hannan._engine import Evidence


def play(store, rounds, seed=0, keys=(None,), settle=lambda k: True):
    """Play rounds with fixed rewards and return their decisions."""
    rng, moves = np.random.default_rng(seed), []
    for k in range(rounds):
        move = store.act("banner", keys[k % len(keys)])
        moves.append(move)
        if settle(k):
            store.observe(move.ticket, reward=float(rng.random() < {"red": 0.8, "blue": 0.3}.get(move.arm, 0.5)))
    return moves


def opened(path, learner=None, **options):
    store = hn.Store(path, **options)
    store.add("banner", hn.EpsilonGreedy(["red", "blue"], 0.3, gains=True) if learner is None else learner)
    return store


def test_evidence_of_a_store_equals_that_of_a_table(tmp_path):
    table, rng = Evidence(2), np.random.default_rng(0)
    with opened(tmp_path / "a.db", hn.Bandit(["red", "blue"], gains=True)) as store:
        for t in range(1, 201):
            decision = store.act("banner")
            p = np.full(2, 1.0 - decision.probability)
            p[decision.action] = decision.probability
            table.act(p, decision.action)
            reward = float(rng.random() < 0.5)
            store.observe(decision.ticket, reward=reward)
            table.settle(t, decision.action, decision.probability, 1.0 - reward)
        found = store.evidence("banner")
    threshold = np.log(4 / (0.4 * 0.05))
    for arm, name in enumerate(("red", "blue")):
        low, high = table.arm_low(arm, 0, threshold) / 200, 1 - table.arm_low(arm, 1, threshold) / 200
        assert found.arms[name].interval == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("snapshot_events", [100, 10**6])
def test_evidence_is_the_same_after_opening_again(tmp_path, snapshot_events):
    with opened(tmp_path / "a.db", snapshot_events=snapshot_events) as store:
        play(store, 300, keys=(None, "x"), settle=lambda k: k % 3)
        first = store.evidence("banner")
    with opened(tmp_path / "a.db", snapshot_events=snapshot_events) as store:
        again = store.evidence("banner")
        assert first == again
        assert again.pending == 100


def test_default_feedback_is_counted(tmp_path):
    learner = hn.Bandit(["red", "blue"], gains=True)
    with hn.Store(tmp_path / "a.db") as store:
        store.add("banner", learner, wait=0.01, default=0.0)
        for _ in range(20):
            store.act("banner")
        for _ in range(200):
            if store.evidence("banner").pending == 0:
                break
            time.sleep(0.02)
        found = store.evidence("banner")
        assert (found.decisions, found.pending) == (20, 0)


def test_added_arm_begins_a_new_table(tmp_path):
    learner = hn.Bandit(3, hn.Tsallis(0.5), gains=True)
    with hn.Store(tmp_path / "a.db") as store:
        store.add("banner", learner, arms=["red", "blue"])
        late = play(store, 50, settle=lambda k: k != 7)[7]
        assert list(store.evidence("banner").arms) == ["red", "blue"]
        store.add_arm("banner", "green")
        assert store.evidence("banner").decisions == 0
        play(store, 20)
        store.observe(late.ticket, reward=1.0)  # drawn before the start
        found = store.evidence("banner")
        assert (list(found.arms), found.decisions, found.pending) == (["red", "blue", "green"], 20, 0)
        assert "an arm was added" in " ".join(str(found).split())
        before = found.arms["green"]
        store.retire_arm("banner", "green")
        play(store, 20)
        after = store.evidence("banner")
        assert (after.decisions, after.arms["green"].shown) == (40, before.shown)


def test_deleted_events_begin_a_new_table(tmp_path):
    with opened(tmp_path / "a.db", snapshot_events=50) as store:
        play(store, 200)
    with opened(tmp_path / "a.db", snapshot_events=50) as store:
        play(store, 200)
        assert store.evidence("banner").decisions == 400
        assert store.prune(0.0) > 0
        found = store.evidence("banner")
        assert 0 < found.decisions < 400
        assert "events before the start were deleted" in " ".join(str(found).split())


def test_several_shards_have_no_evidence(tmp_path):
    with hn.Store(tmp_path / "a.db", shard=0, shards=2) as store:
        store.add("banner", hn.Bandit(["red", "blue"]))
        with pytest.raises(ValueError, match="shards"):
            store.evidence("banner")


def test_arguments_are_checked(tmp_path):
    with opened(tmp_path / "a.db") as store:
        with pytest.raises(ValueError, match="banana"):
            store.evidence("banana")
        with pytest.raises(ValueError, match=r"alpha.*1\.5"):
            store.evidence("banner", alpha=1.5)
        with pytest.raises(ValueError, match=r"means.*some"):
            store.evidence("banner", means="some")
