"""Targets that arrive later, or never."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forecasts import LEARNERS, table

import hannan as hn
from hannan.tables.combine import timing
from hannan.tables.combine.run import InMemory, Run, Task
from hannan.tables.combine.timing import Chunk, Timing
from hannan.tables.read.table import BadTable


def test_an_empty_target_is_answered_and_settled_later():
    task = Task(("a", "b"), learner=hn.AdaHedge(2))
    run = Run(replace(task, timing=Timing("t")))
    first = run.take(Chunk(np.array([[1.0, 3.0]]), np.array([np.nan]), ["1"]))
    mixer = run.combiner.mixer
    assert first.forecast.tolist() == [2.0]
    assert (mixer.answered, mixer.settled) == (1, 0)
    none = run.take(Chunk(np.array([[np.nan, np.nan]]), np.array([1.0]), ["1"], first=2))
    assert len(none) == 0
    assert (mixer.answered, mixer.settled, run.pending.late) == (1, 1, 1)
    # No row came in between: the target was prompt, and the player is as if the target had been there.
    prompt = Run(task)
    prompt.take(Chunk(np.array([[1.0, 3.0]]), np.array([1.0])))
    assert (mixer.player.distribution() == prompt.combiner.mixer.player.distribution()).all()
    assert mixer.certificate() == prompt.combiner.mixer.certificate()
    assert mixer.certificate().bound is not None


@pytest.mark.parametrize("learner", [hn.AdaHedge(3), hn.Experts(3), hn.Experts(3, hn.Entropy(), hn.Fixed(3.0))])
def test_late_targets_are_settled_with_their_own_weights(learner):
    rng = np.random.default_rng(8)
    forecasts, y = rng.random((6, 3)), rng.random(6)
    run, player = Run(Task(("a", "b", "c"), timing=Timing("t"), learner=learner)), learner.start(0)
    empty = np.full(3, np.nan)
    rows = np.vstack([forecasts, [empty, empty, empty]])
    targets = np.array([y[0], np.nan, y[2], np.nan, y[4], y[5], y[3], y[1], np.nan])
    told = run.take(Chunk(rows[:8], targets[:8], ["0", "1", "2", "3", "4", "5", "3", "1"]))
    moves = {}
    for t in range(6):
        np.testing.assert_allclose(told.forecast[t], player.distribution() @ forecasts[t], rtol=1e-12)
        moves[t] = player.act()
        if t not in (1, 3):
            player.observe(moves[t], abs(forecasts[t] - y[t]))
    for t in (3, 1):
        player.observe(moves[t], abs(forecasts[t] - y[t]))
    np.testing.assert_allclose(run.combiner.mixer.player.distribution(), player.distribution(), rtol=1e-9)
    mine, theirs = run.combiner.mixer.certificate(), player.certificate()
    assert mine.own_loss == pytest.approx(theirs.own_loss)
    assert mine.regret == pytest.approx(theirs.regret)
    assert mine.rounds == 6
    # Delays are counted by the losses that came in between, which the player does not see.
    assert mine.largest_delay == 4
    if isinstance(learner, hn.AdaHedge) or isinstance(learner.tuning, hn.Fixed):
        assert mine.bound.value >= mine.regret
    else:
        assert mine.bound is None


def test_rows_that_are_never_settled_change_nothing():
    """Answers without a target leave the learner and its bound as they were."""
    forecasts, targets = table(100)
    some = targets.copy()
    some[::3] = np.nan
    told = hn.combine(forecasts, some, learner=LEARNERS["tsallis"])
    alone = hn.combine(forecasts[~np.isnan(some)], some[~np.isnan(some)], learner=LEARNERS["tsallis"])
    assert (told.weights[~np.isnan(some)] == alone.weights).all()
    assert told.summary.bound == alone.summary.bound
    assert (told.summary.answered, told.summary.settled, told.summary.waiting) == (100, 66, 34)


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([("1", 1, 2, 0), ("1", 1, 2, 0)], "row 2, column 't': times must be unique; '1' was in an earlier row"),
        (
            [("2", 1, 2, 0), ("1", 1, 2, 0), ("1", 1, 2, 0)],
            "row 2, column 't': times must be increasing; got '1' after 2",
        ),
        ([("1", 1, 2, None), ("1", 1, 2, None)], "row 2.*answered in row 1"),
        ([("1", 1, 2, None), ("1", 1, 3, 0)], "row 2.*other forecasts than in row 1"),
        ([("1", 1, 2, None), ("1", None, None, 0), ("1", None, None, 0)], "row 3.*times must be unique"),
        ([("x", 1, 2, 0)], "a number or a date"),
        ([("1", None, None, 0)], "row 1: all forecasts are missing"),
    ],
)
def test_invalid_times_are_rejected(rows, match):
    frame = {name: [row[i] for row in rows] for i, name in enumerate(("t", "a", "b", "y"))}
    with pytest.raises(BadTable, match=match):
        hn.combine(frame, "y", time="t")


def test_repeated_row_may_have_the_same_forecasts():
    frame = {"t": [1, 1, 2], "a": [1.0, 1.0, 2.0], "b": [np.nan, np.nan, 1.0], "y": [np.nan, 3.0, 1.0]}
    told = hn.combine(frame, "y", time="t")
    assert told.rows.tolist() == [0, 2]
    assert told.summary.settled == 2
    assert told.summary.oracle.loss is not None


def test_number_of_pending_rows_is_limited(monkeypatch):
    monkeypatch.setattr(timing, "WAITING", 3)
    run = Run(Task(("a",), timing=Timing("t"), learner=hn.AdaHedge(1)))
    run.take(Chunk(np.ones((5, 1)), np.full(5, np.nan), list("12345")))
    assert run.pending.given_up == 2
    run.take(Chunk(np.full((1, 1), np.nan), np.array([1.0]), ["4"], first=6))
    with pytest.raises(BadTable, match="must be increasing"):
        run.take(Chunk(np.full((1, 1), np.nan), np.array([1.0]), ["1"], first=7))


@pytest.mark.parametrize("timed", [False, True])
def test_summary_lists_the_last_forecasts(timed):
    forecasts, targets = table(300)
    targets[150:] = np.nan
    times = [str(t) for t in range(300)]
    run = Run(Task(tuple("abcd"), timing=Timing("t" if timed else None), learner=hn.AdaHedge(4)))
    kept, parts = InMemory(forecasts, targets), [slice(t, t + 7) for t in range(0, 300, 7)]
    run.through((Chunk(forecasts[p], targets[p], times[p], first=p.start + 1) for p in parts), kept)
    mixed = kept.all.forecast
    last = run.pending.forecasts()
    assert [one.row for one in last] == list(range(201, 301))
    assert [one.forecast for one in last] == mixed[200:].tolist()
    assert [one.time for one in last] == (times[200:] if timed else [None] * 100)
    summary = run.summary
    shown = [text for name, text in summary.rows() if name == "forecast"]
    assert [text.split("row ")[1].rstrip(")") for text in shown] == ["296", "297", "298", "299", "300"]
    assert "150 waiting for their targets" in str(summary)
    if timed:
        # An arriving target removes its row from the list, and an older row moves up.
        empty = np.full((1, 4), np.nan)
        assert len(run.take(Chunk(empty, np.array([0.5]), ["299"], first=301))) == 0
        assert [one.row for one in run.pending.forecasts()] == list(range(200, 300))
