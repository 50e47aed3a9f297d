"""Printed results of replay and route."""

from __future__ import annotations

import numpy as np

import hannan as hn
from hannan.tables import replay, route
from hannan.tables.replay import log


def test_fixed_sentences_of_results():
    """Before a change, compare hypothesis, conclusion and quantifiers with docs/replay.md."""
    told = {
        log.BERNSTEIN: "empirical Bernstein: holds for any losses in their range, if the number of rows was fixed in "
        "advance and no action ever had a smaller probability than the smallest propensity in the log (assumed, not "
        "verified)",
        log.VERIFIED: "empirical Bernstein: holds for any losses in their range, if the number of rows was fixed in "
        "advance; no action had a probability below {floor} in any row (verified by column {column})",
        log.EXACT: "Clopper-Pearson: holds for independent rows of one distribution, if propensities never change and "
        "the number of rows was fixed in advance",
        log.LOGGED: "mean over the rows of this log of the expected {word} given earlier rows; not the mean over other "
        "logs",
        log.LEARNED: "a context expert recommends actions from earlier rows only, never from the loss of the same row",
        replay.FIXED: "a fixed policy: it learns nothing, so no rows are replayed",
        replay.TOO_FEW: "no replay estimate: fewer than 30 rows were accepted",
        route.REGRET: "on this table: mean over the runs for bandit learners; of the mean play, exact, for expert "
        "learners",
        route.BOUND: "on the expected regret, against the adversary in its row",
    }
    for sentence, golden in told.items():
        assert sentence == golden


def logged(rows=2000):
    rng = np.random.default_rng(0)
    actions = rng.integers(3, size=rows)
    return {"a": actions, "l": (rng.random(rows) < np.array([0.2, 0.5, 0.8])[actions]).astype(float)}


def test_layout_of_a_replay():
    """The title has the estimate of a single learner; of several it does not choose one."""
    told = hn.replay(logged(), "a", "l", runs=1)
    title, state, *_ = str(told).splitlines()
    low, high = told.learners[0].estimates["dr"].interval
    assert title.startswith("Mean loss per row: 0.")
    assert f"95% interval [{low:.4g}, {high:.4g}], dr" in title
    assert state.split() == ["log", "2000", "rows,", "3", "actions,", "uniform", "logging", "policy"]
    text = " ".join(str(told).split("Assumptions")[1].split())
    for sentence in (log.EXACT, log.BERNSTEIN):
        name, _, condition = sentence.partition(": ")
        assert f"{name} {condition}" in text
    both = hn.replay(logged(), "a", "l", learner=["bandit", "exp3"], runs=1)
    assert str(both).splitlines()[0].endswith("for the logged policy; 2 learners evaluated")


def test_layout_of_a_route():
    table = (np.random.default_rng(0).random((300, 3)) < [0.2, 0.6, 0.7]).astype(float)
    told = str(hn.route(table, ["bandit", "exp3", "hedge"], runs=2))
    title, state, best, *_ = told.splitlines()
    assert title.startswith("Smallest regret: ")
    assert title.endswith("(the only expert learner)")
    assert "(best of 2 bandit learners)" in title
    assert state.split(maxsplit=1)[1] == "300 rounds, 3 arms, 2 runs"
    assert best.split()[:4] == ["best", "arm", "0:", "total"]
    assert "even against an adaptive adversary" in told
    assert "against an oblivious adversary" in told
