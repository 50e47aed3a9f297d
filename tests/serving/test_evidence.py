"""Evidence of a store: the same as that of a table that counts its decisions, after crashes and with keys."""

from __future__ import annotations

import json
import sqlite3
import time

import numpy as np
import pytest
from stores import crash

import hannan as hn
from hannan._engine import Evidence
from hannan.client import shard_of
from hannan.serving import contents as sections
from hannan.serving import journal
from hannan.serving.contents import Contents


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


def table_of(store, name="banner"):
    """Return the state of the table that a store keeps, when its events are on the disk."""
    store.queue.journal.wait(store.queue.contents.sequence)
    with store.queue.lock:
        return store.queue.contents.find(name).evidence.state()


def replayed(store):
    """Return the state of a table that a replay of the whole journal fills."""
    store.queue.journal.wait(store.queue.contents.sequence)
    contents = Contents()
    contents.replay(store.queue.backend.groups(0))
    return contents.find("banner").evidence.state()


def test_kept_table_equals_that_of_a_replay_bit_for_bit(tmp_path):
    with opened(tmp_path / "a.db", snapshot_events=150) as store:
        play(store, 700, keys=(None, "x", "y", None), settle=lambda k: k % 50)
        assert table_of(store) == replayed(store)
        assert store.evidence("banner").best == "red"
        crash(store)
    with opened(tmp_path / "a.db", snapshot_events=150) as store:  # a snapshot, and the journal after the snapshot
        kept = table_of(store)
        assert kept == replayed(store)
        play(store, 50, seed=1, keys=("x", None))
        assert table_of(store) == replayed(store) != kept


def without_evidence(blob):
    """Return a snapshot as an earlier version wrote it."""
    found = sections.read(blob)
    for name in [name for name in found if name.endswith(" evidence")]:
        del found[name]
        learner = name.removesuffix(" evidence")
        state = json.loads(found[learner])
        del state["evidence"]
        found[learner] = json.dumps(state, separators=(",", ":")).encode()
    return b"".join(sections.written([(name, [content]) for name, content in found.items()]))


def made_older(path, change=None):
    """Remove the evidence from all snapshots of a closed store; `change` changes a group of the journal."""
    base = sqlite3.connect(path)
    with base:
        whole = {}
        for sequence, number, blob in base.execute(
            "SELECT sequence, part, blob FROM snapshots ORDER BY 1, 2"
        ).fetchall():
            whole[sequence] = whole.get(sequence, b"") + blob
            assert number == 0  # small snapshots have one part
        for sequence, blob in whole.items():
            base.execute("UPDATE snapshots SET blob = ? WHERE sequence = ?", (without_evidence(blob), sequence))
        if change is not None:
            change(base)
    base.close()


def test_evidence_of_an_earlier_version_is_rebuilt_from_the_journal(tmp_path):
    with opened(tmp_path / "a.db", snapshot_events=100) as store:
        play(store, 300, keys=(None, "x"), settle=lambda k: k % 3)
        kept = table_of(store)
    made_older(tmp_path / "a.db")
    with opened(tmp_path / "a.db") as store:
        assert table_of(store) == kept
        found = store.evidence("banner")
        assert (found.decisions, found.pending, found.assumed) == (300, 100, ())


def deleted(base):
    (first,) = base.execute("SELECT min(sequence) FROM snapshots").fetchone()
    base.execute("DELETE FROM journal WHERE first < ?", (first,))


def written_differently(base):
    """Change the probability of an early draw, as if another version had computed it."""
    for first, blob in base.execute("SELECT first, blob FROM journal ORDER BY 1").fetchall():
        body, time = journal.opened(blob, first)
        events = np.frombuffer(body, journal.RECORD).copy()
        if not journal.has_tails(body) and events["kind"][0] == journal.ACT:
            events["value"][0] = np.nextafter(events["value"][0], 0.0)
            base.execute("UPDATE journal SET blob = ? WHERE first = ?", (journal.group(events.tobytes(), time), first))
            return
    raise AssertionError


def deleted_and_written_differently(base):
    deleted(base)
    written_differently(base)


def all_deleted(base):
    base.execute("DELETE FROM journal WHERE first < (SELECT max(sequence) FROM snapshots)")
    base.execute("DELETE FROM snapshots WHERE sequence < (SELECT max(sequence) FROM snapshots)")


def test_rebuilt_evidence_states_that_all_events_were_deleted(tmp_path):
    with opened(tmp_path / "a.db") as store:
        play(store, 50)
    made_older(tmp_path / "a.db", all_deleted)
    with opened(tmp_path / "a.db") as store:
        found = store.evidence("banner")
        assert found.decisions == 0
        assert "were deleted" in " ".join(str(found).split())


@pytest.mark.parametrize(
    ("change", "words", "decisions"),
    [
        (deleted, "were deleted", 50),
        (written_differently, "another version", 50),
        (deleted_and_written_differently, "another version", 0),
    ],
)
def test_rebuilt_evidence_states_why_it_begins_late(tmp_path, change, words, decisions):
    with opened(tmp_path / "a.db", snapshot_events=100) as store:
        play(store, 100)
        late = store.act("banner")
    with opened(tmp_path / "a.db") as store:
        play(store, 50)
    made_older(tmp_path / "a.db", change)
    with opened(tmp_path / "a.db") as store:
        store.observe(late.ticket, reward=1.0)  # drawn before the start
        found = store.evidence("banner")
        assert (found.decisions, found.pending) == (decisions, 0)
        others = {"were deleted", "another version"} - {words}
        text = " ".join(str(found).split())
        assert words in text
        assert not any(other in text for other in others)
    with opened(tmp_path / "a.db") as store:  # kept from now on
        assert words in " ".join(str(store.evidence("banner")).split())


def test_evidence_needs_no_journal(tmp_path):
    with opened(tmp_path / "a.db", snapshot_events=50) as store:
        play(store, 200)
        before = store.evidence("banner")
    with opened(tmp_path / "a.db", snapshot_events=50) as store:
        play(store, 200, settle=lambda k: k)
        assert store.prune(0.0) > 0
        found = store.evidence("banner")
        assert (found.decisions, found.pending, found.since, found.assumed) == (400, 1, before.since, ())


@pytest.mark.parametrize("change", ["pending", "arms", "start"])
def test_corrupt_table_of_a_snapshot_is_rejected(tmp_path, change):
    with opened(tmp_path / "a.db") as store:
        play(store, 60, settle=lambda k: k % 3)
        with store.queue.lock:
            blob = b"".join(store.queue.contents.snapshot(store.queue.contents.sequence, 0.0)())
    found = sections.read(blob)
    state = json.loads(found["learner 0"])
    if change == "pending":
        found["learner 0 evidence"] = Evidence(2).to_bytes()
    elif change == "arms":
        state["evidence"]["arms"] = [0]
    else:
        state["evidence"]["start"] = "later"
    found["learner 0"] = json.dumps(state).encode()
    changed = b"".join(sections.written([(name, [content]) for name, content in found.items()]))
    with pytest.raises(ValueError, match="evidence"):
        Contents.restored(changed)


def test_a_new_stage_begins_a_new_table(tmp_path):
    with opened(tmp_path / "a.db") as store:
        late = play(store, 30, settle=lambda k: k != 3)[3]
        store.add_arm("banner", "green")
        play(store, 20)
        store.observe(late.ticket, reward=1.0)
        found = store.evidence("banner")
        assert (list(found.arms), found.decisions, found.pending) == (["red", "blue", "green"], 20, 0)
        assert table_of(store) == replayed(store)
    with opened(tmp_path / "a.db", hn.EpsilonGreedy(["red", "blue"], 0.3, gains=True)) as store:
        assert store.evidence("banner") == found


def test_a_shard_states_its_own_decisions(tmp_path):
    with hn.Store(tmp_path / "a.db", shard=0, shards=2) as store:
        store.add("banner", hn.Bandit(["red", "blue"]))
        key = next(key for key in range(10) if shard_of("banner", key, 2) == 0)
        store.act("banner", key)
        found = store.evidence("banner")
        assert found.decisions == 1
        assert "shard 0 of 2 only" in " ".join(str(found).split())


def test_very_many_arms_have_no_evidence(tmp_path):
    with hn.Store(tmp_path / "a.db") as store:
        store.add("many", hn.Bandit(1025))
        store.act("many")
        with pytest.raises(ValueError, match=r"1024.*1025"):
            store.evidence("many")


def test_arguments_are_checked(tmp_path):
    with opened(tmp_path / "a.db") as store:
        with pytest.raises(ValueError, match="banana"):
            store.evidence("banana")
        with pytest.raises(ValueError, match=r"alpha.*1\.5"):
            store.evidence("banner", alpha=1.5)
        with pytest.raises(ValueError, match=r"means.*some"):
            store.evidence("banner", means="some")


def test_retired_arm_is_left_out_of_comparisons_and_regret(tmp_path):
    learner = hn.Bandit(3, hn.Tsallis(0.5), gains=True, floor=0.3)
    with hn.Store(tmp_path / "a.db", snapshot_events=3000) as store:
        store.add("banner", learner, arms=["red", "blue", "green"])
        play(store, 2500)
        sure = store.evidence("banner")
        store.retire_arm("banner", "blue")
        play(store, 6000, seed=1)
        found = store.evidence("banner")
        assert (sure.best, found.best, found.sure_since) == ("red", "red", sure.sure_since)
        assert {lead.arm for lead in found.leads} | {lead.over for lead in found.leads} == {"red", "green"}
        assert "blue was retired" in " ".join(found.warnings)
        low, high = found.arms["blue"].interval
        assert low < 0.3 < high
        assert high - low > 6000 / 8500  # its rewards in 6,000 of 8,500 decisions are unknown
        # Control: compared with the retired arm nothing is sure.
        assert found.lead("red", "blue")[0] < 0.0
        from hannan.mathematics.bounds import Units
        from hannan.players.evidence import read

        every = read(
            store.queue.contents.find("banner").evidence.engine, ["red", "blue", "green"], Units.of((0, 1), True)
        )
        assert every.best is None
        assert every.regret >= found.regret
        assert store.evidence("banner", means="fixed").best == "red"
        assert any("blue" in (lead.arm, lead.over) for lead in store.evidence("banner", means="fixed").leads)
        assert table_of(store) == replayed(store)
        crash(store)
    with hn.Store(tmp_path / "a.db") as store:
        assert store.evidence("banner") == found
        play(store, 100)
        store.retire_arm("banner", "green")
        assert table_of(store) == replayed(store)
        alone = store.evidence("banner")
        assert (alone.best, alone.within, alone.leads) == (None, ("red", 0.0), ())


# Attacks


def test_repeated_and_forged_events_count_once(tmp_path):
    with opened(tmp_path / "a.db") as store:
        tickets = []
        for visitor in range(40):
            decision = store.act("banner", id=f"visitor {visitor // 2}")  # a repeated request has the same answer
            store.observe(decision.ticket, reward=1.0)
            store.observe(decision.ticket, reward=0.0)  # the first feedback counts
            tickets.append(decision.ticket)
        for forged in (tickets[0][:-2] + "AA", tickets[0][::-1], ""):
            with pytest.raises(ValueError):
                store.observe(forged, reward=1.0)
        pending = store.act("banner").ticket
        for value in (1.5, -0.1, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="reward"):
                store.observe(pending, reward=value)
        found = store.evidence("banner")
        assert (found.decisions, found.pending) == (21, 1)
        table = store.queue.contents.find("banner").evidence.engine
        assert table.own == 0.0  # each reward is 1
        assert sum(table.settled(arm) for arm in range(2)) == 20


def test_one_key_and_many_keys_are_counted_alike(tmp_path):
    """Draws of many keys are numbered in one order: their table is that of the same draws and rewards."""
    with opened(tmp_path / "a.db", hn.EpsilonGreedy(["red", "blue"], 1.0, gains=True)) as store:
        table, rng = Evidence(2), np.random.default_rng(0)
        for t in range(1, 201):
            decision = store.act("banner", int(rng.integers(1000)))
            table.act(np.array([0.5, 0.5]), decision.action)
            reward = float(rng.random() < 0.5)
            store.observe(decision.ticket, reward=reward)
            table.settle(t, decision.action, 0.5, 1.0 - reward)
        ours = store.queue.contents.find("banner").evidence.engine
        for arm in range(2):
            for side in range(2):
                assert ours.arm_low(arm, side, 3.0) == table.arm_low(arm, side, 3.0)


def test_click_after_expiry_does_not_change_the_panel(tmp_path):
    with hn.Store(tmp_path / "a.db") as store:
        store.add("banner", hn.EpsilonGreedy(["red", "blue"], 1.0, gains=True), wait=0.05, default=0.0)
        late = [store.act("banner") for _ in range(10)]
        for _ in range(200):
            if store.evidence("banner").pending == 0:
                break
            time.sleep(0.02)
        before = store.evidence("banner")
        for decision in late:
            store.observe(decision.ticket, reward=1.0)
        assert store.evidence("banner") == before


def test_a_second_process_cannot_count(tmp_path):
    with opened(tmp_path / "a.db") as store:
        play(store, 20)
        with pytest.raises(ValueError, match="locked"):
            hn.Store(tmp_path / "a.db")
        assert store.evidence("banner").decisions == 20


def test_table_with_inflated_counts_is_rejected():
    table = Evidence(2)
    for t in range(1, 101):
        table.act(np.array([0.5, 0.5]), t % 2)
        table.settle(t, t % 2, 0.5, float(t % 2))
    sound = table.to_bytes()
    numbers = np.frombuffer(sound[80 : 80 + 8 * 164], dtype=float).copy()
    for place, value in ((160, 51.0), (161, 60.0), (162, -1.0), (163, 2.0), (0, np.nan), (16, np.inf)):
        changed = numbers.copy()
        changed[place] = value
        with pytest.raises((ValueError, RuntimeError), match="evidence"):
            Evidence.from_bytes(sound[:80] + changed.tobytes() + sound[80 + 8 * 164 :])
    assert Evidence.from_bytes(sound).to_bytes() == sound
