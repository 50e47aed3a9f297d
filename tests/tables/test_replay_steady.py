"""Exact intervals of single actions: only where the log is one lottery, for an action's own rows cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn
from hannan.mathematics.intervals import clopper_pearson
from hannan.tables.replay.beside import steady
from hannan.tables.replay.estimates import EXACT, LOGGED
from hannan.tables.replay.function import _walk
from hannan.tables.replay.log import Log
from hannan.tables.replay.policies import sums as policy_sums

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
        assert "smaller probability than the smallest propensity" in one.method
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
        assert one.method == EXACT
        mine = log["l"][a == int(one.name)]
        assert one.interval == pytest.approx(clopper_pearson(int(mine.sum()), len(mine), 1.0 - 0.05 / 3 / 2))
    assert told.logged.method == EXACT


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


def committed(seed, n=600, explore=60):
    """A log of explore-then-commit: uniform over two actions, then 0.9 for the one that looked better."""
    rng, means = np.random.default_rng(seed), np.array([0.5, 0.6])
    a, losses, odds, expected = [], [], [], []
    p = np.array([0.5, 0.5])
    for t in range(n):
        if t == explore:
            seen = [np.mean([loss for b, loss in zip(a, losses, strict=True) if b == i] or [1.0]) for i in (0, 1)]
            p = np.array([0.9, 0.1]) if seen[0] <= seen[1] else np.array([0.1, 0.9])
        a.append(int(rng.random() > p[0]))
        losses.append(float(rng.random() < means[a[-1]]))
        odds.append(p[a[-1]])
        expected.append(p @ means)
    return {"a": a, "l": losses, "p": odds}, float(np.mean(expected))


def test_logged_policy_of_an_adaptive_log_has_a_martingale_interval():
    """It covers the mean conditional expected loss of the log's rows; 40 logs, each missed with probability 0.05.

    More than 14 misses of 40 have a probability below 1e-9. Control: the expected loss over other logs lies between the
    two values that a log can have, and Clopper and Pearson's interval misses one of these two for most logs.
    """
    missed, control = 0, 0
    for seed in range(40):
        log, estimand = committed(seed)
        told = hn.replay(log, "a", "l", "p", learner="exp3", runs=1)
        assert "Bernstein" in told.logged.method
        low, high = told.logged.interval
        missed += not low <= estimand <= high
        assert LOGGED in " ".join(str(told).split())
        low, high = clopper_pearson(int(np.sum(log["l"])), 600, 0.975)
        control += not (low <= 0.511 and high >= 0.591)
    assert missed <= 14
    assert control > 20


def robust_terms(a, losses, p, q):
    """The sum of squares around the clamped center; the smallest X - center with and without clamping."""
    seen, spent, total, squares, worst, control = np.zeros(2), np.zeros(2), 0.0, 0.0, 0.0, 0.0
    for t, (arm, loss) in enumerate(zip(a, losses, strict=True)):
        mean = spent.sum() / seen.sum() if t else 0.0
        model = np.where(seen > 0, spent / np.maximum(seen, 1.0), mean)
        x = q @ model + q[arm] / p[arm] * (loss - model[arm])
        center = total / t if t else 0.0
        clamped = min(max(center, 0.0), 1.0)
        worst, control = min(worst, x - clamped), min(control, x - center)
        squares, total = squares + (x - clamped) ** 2, total + x
        seen[arm] += 1.0
        spent[arm] += loss
    return squares, worst, control


def test_doubly_robust_interval_meets_its_hypothesis():
    """X - center >= -(1 + 1/propensity) in every row, and the sums of engine and policies are around that center.

    Control: around the mean of the terms before, not clamped, the second row has -49 - 50 = -99 < -51.
    """
    rng, p = np.random.default_rng(1), np.array([0.02, 0.98])
    a = np.concatenate([[0, 0], (rng.random(400) > 0.02).astype(int)])
    losses = np.concatenate([[1.0, 0.0], (rng.random(400) < 0.3).astype(float)])
    first, even = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    squares, worst, control = robust_terms(a, losses, p, first)
    assert worst >= -51.0
    assert control == -99.0
    found = policy_sums(iter([(a, losses, p[a], np.tile(first, (402, 1)))]), 2, (0.0, 1.0))
    assert found[13] == pytest.approx(squares, rel=1e-12)
    log = Log()
    log.add([str(i) for i in a], losses, p[a], [], 1)
    uniform = hn.Bandit(2, hn.Entropy(), hn.Fixed(1e12))
    assert _walk(log, uniform, 0, 0, None)[13] == pytest.approx(robust_terms(a, losses, p, even)[0], rel=1e-6)
    log.close()
