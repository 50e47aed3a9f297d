"""Exact intervals of single actions: only where the log is one lottery, for an action's own rows cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn
from hannan.mathematics.intervals import clopper_pearson
from hannan.tables.replay.beside import steady

#: In one context of twenty action 1 is hardly ever drawn, and loses; elsewhere it is drawn often, and does not.
RARE, COMMON, TRUTH = np.array([0.97, 1e-4, 0.0299]), np.array([0.48, 0.5, 0.02]), 0.05


def hidden(seed, n=1000):
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < TRUTH
    odds = np.where(rare[:, None], RARE, COMMON)
    a = (rng.random(n)[:, None] > odds.cumsum(axis=1)).sum(axis=1)
    loss = np.where(a == 1, rare, rng.random(n) < 0.5).astype(float)
    return {"a": a.astype(str), "l": loss, "p": odds[np.arange(n), a]}


def test_an_action_that_a_context_hides_has_no_exact_interval():
    """The interval holds the truth, though the rows that would show it have a chance of 1e-4 each.

    Where it holds in a log with a chance of 1 - 0.05/3, 12 of 20 or fewer have one below 1e-8. The control, Clopper and
    Pearson of the same rows, misses in each log without a draw of action 1 in its context: a log has one with a chance
    of 0.005, six of 20 with one below 1e-9.
    """
    held = missed = 0
    for seed in range(20):
        log = hidden(seed)
        one = next(e for e in hn.replay(log, "a", "l", "p", learner="exp3", runs=1).single if e.name == "1")
        assert "Bernstein" in one.method
        assert "smaller chance than the least propensity" in one.method
        held += one.interval[0] <= TRUTH <= one.interval[1]
        mine = log["l"][log["a"] == "1"]
        low, high = clopper_pearson(int(mine.sum()), len(mine), 1.0 - 0.05 / 3 / 2)
        missed += not low <= TRUTH <= high
    assert held > 12
    assert missed > 14


@pytest.mark.parametrize("odds", [[0.2, 0.3, 0.5], [0.0667, 0.2667, 0.6667], [1 / 3, 1 / 3, 1 / 3], None])
def test_a_log_of_one_lottery_keeps_its_exact_intervals(odds):
    rng, drawn = np.random.default_rng(4), np.ones(3) / 3 if odds is None else np.array(odds) / np.sum(odds)
    a = rng.choice(3, p=drawn, size=900)
    log = {"a": a.astype(str), "l": (rng.random(900) < 0.3).astype(float)}
    if odds is not None:
        log["p"] = np.array(odds)[a]
    told = hn.replay(log, "a", "l", None if odds is None else "p", runs=1)
    for one in told.single:
        assert one.method == "Clopper and Pearson: exact for independent rows, if its propensity never changes"
        mine = log["l"][a == int(one.name)]
        assert one.interval == pytest.approx(clopper_pearson(int(mine.sum()), len(mine), 1.0 - 0.05 / 3 / 2))
    # The rows of the log are all there are: no propensity is in its interval.
    assert told.logged.method == "Clopper and Pearson: exact for independent rows"


@pytest.mark.parametrize(
    ("least", "most", "is_steady"),
    [
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5], True),
        ([0.3333, 0.3333, 0.3333], [0.3333, 0.3333, 0.3333], True),
        ([1.0], [1.0], True),
        ([0.2, 0.3, 0.4], [0.2, 0.3, 0.5], False),
        ([0.02, 0.48, 0.4], [0.02, 0.48, 0.4], False),
        ([0.02, 0.48, 0.6], [0.02, 0.48, 0.6], False),
        # One in a thousand too much may be all that the last action has: it could be hidden.
        ([0.5, 0.5, 0.001], [0.5, 0.5, 0.001], False),
    ],
)
def test_what_is_steady(least, most, is_steady):
    assert steady(np.array(least), np.array(most)) is is_steady
