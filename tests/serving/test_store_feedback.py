"""Feedback to a store: it counts once, batches are atomic, and the log supports replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from stores import GAINS, refused

import hannan as hn
from hannan.cli import commands
from hannan.serving import REWARD, TICKET
from hannan.serving.store import Store


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
        assert store.certificate("a").own_loss == 3.0  # a gain: 1 + 1 + 1, without the repeats


@pytest.mark.parametrize("repeats", [2000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_repeated_feedback_changes_nothing(path: Path, repeats: int) -> None:
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
    """If the answer is 'counted before', the feedback is on the disk: a later crash does not lose it."""
    with Store(path) as store:
        store.add("a", GAINS)
        move = store.act("a")
        with store.queue.journal._writing:  # the disk needs some time
            counted, original = store.queue.settle([(move.ticket, 1, None)])
            again, repeat = store.queue.settle([(move.ticket, 1, None)])
            assert (counted, again) == ([True], [False])
            assert repeat >= original > store.queue.journal.committed


def test_a_batch_is_atomic(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        tickets = store.queue.draws("a", 3)[0].ticket
        refused(REWARD, lambda: store.queue.settle([(tickets[0], 1, None), (tickets[1], 2, None)]))
        refused(TICKET, lambda: store.queue.settle([(tickets[0], 1, None), ("x" * 90, 1, None)]))
        counted, _ = store.queue.settle([(tickets[0], 1, None), (tickets[0], 1, None), (tickets[2], 1, None)])
        assert counted == [True, False, True]
        assert store.certificate("a").open_moves == 1


def test_feedback_must_match_gains_and_range(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        store.add("b", hn.Bandit(2, loss_range=(-1, 3)))
        gain, loss = store.act("a"), store.act("b")
        for bad in ({"loss": 1}, {"reward": 1.5}, {"reward": float("nan")}, {}, {"reward": 1, "loss": 1}):
            refused(REWARD, lambda bad=bad: store.observe(gain.ticket, **bad))
        refused(REWARD, lambda: store.observe(loss.ticket, reward=1), "loss=")
        assert store.observe(gain.ticket, reward=np.float32(0.5))
        assert store.observe(loss.ticket, loss=-1)
        assert store.certificate("b").own_loss == -1.0


def test_the_log_can_be_replayed(path: Path, tmp_path: Path) -> None:
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
