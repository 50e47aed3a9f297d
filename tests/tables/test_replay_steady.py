"""Exact intervals of single actions: only if the log is one lottery, which an action's own rows cannot show."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hannan as hn
from hannan.mathematics.intervals import clopper_pearson
from hannan.tables.replay import _walk
from hannan.tables.replay.evaluated import steady
from hannan.tables.replay.log import BERNSTEIN, EXACT, LOGGED, VERIFIED, Log, NoSupport
from hannan.tables.replay.policies import ContextExpert
from hannan.tables.replay.policies import sums as policy_sums

#: In one context of twenty, action 1 is drawn very rarely and has loss 1; elsewhere it is drawn often and has loss 0.
RARE, COMMON, TRUTH = np.array([0.97, 1e-4, 0.0299]), np.array([0.48, 0.5, 0.02]), 0.05


def hidden(seed, n=1000):
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < TRUTH
    odds = np.where(rare[:, None], RARE, COMMON)
    a = (rng.random(n)[:, None] > odds.cumsum(axis=1)).sum(axis=1)
    loss = np.where(a == 1, rare, rng.random(n) < 0.5).astype(float)
    return {"a": a.astype(str), "l": loss, "p": odds[np.arange(n), a]}


def test_an_action_that_a_context_hides_has_no_exact_interval():
    """The interval contains the truth, though the rows that would show it have probability 1e-4 each.

    If it does so per log with probability 1 - 0.05/3, 12 of 20 or fewer have probability below 1e-8. The control,
    Clopper and Pearson's interval for the same rows, misses in each log without a draw of action 1 in its context: one
    log has one with probability 0.005, six of 20 with probability below 1e-9.
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
def test_log_of_constant_propensities_has_exact_intervals(odds):
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
        # An excess of one in a thousand may be the whole probability of the last action, which could be hidden.
        ([0.5, 0.5, 0.001], [0.5, 0.5, 0.001], False),
    ],
)
def test_constant_propensities_are_recognized(least, most, is_steady):
    assert steady(np.array(least), np.array(most)) is is_steady


def committed(seed, n=600, explore=60):
    """A log of explore-then-commit: uniform over two actions, then 0.9 for the action with the smaller mean loss."""
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
        assert LOGGED.format(word="loss") in " ".join(str(told).split())
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


def doubly_robust(a, losses, odds, q, span):
    """Doubly robust terms row by row, from earlier rows only; the sum of squares around the clamped centers."""
    k, terms, squares = q.shape[1], [], 0.0
    for t, arm in enumerate(a):
        mine = [losses[:t][a[:t] == i] for i in range(k)]
        otherwise = float(losses[:t].mean()) if t else 0.0
        model = np.array([one.mean() if len(one) else otherwise for one in mine])
        center = min(max(float(np.mean(terms)) if t else 0.0, span[0]), span[1])
        terms.append(float(q[t] @ model) + q[t, arm] / odds[t] * (losses[t] - model[arm]))
        squares += (terms[-1] - center) ** 2
    return np.array(terms), squares


def empirical_bernstein(terms, squares, reach, level=0.95):
    """The interval of mathematics/intervals.py, in a second implementation."""
    n = len(terms)
    count = 1 + math.ceil(0.5 * math.log2(n))
    u = [0.95 * 0.5**i for i in range(count)]
    log = math.log(2.0 * count / (1.0 - level))
    more = reach * min((log + (-math.log1p(-x) - x) * squares / reach**2) / x for x in u)
    return float(terms.mean()) - more / n, float(terms.mean()) + more / n


def varying(seed, n, span):
    """A log and a policy whose probabilities change from row to row, weights up to 45, losses in `span`."""
    rng = np.random.default_rng(seed)
    rare = rng.choice([0.02, 0.1, 0.4], size=n)
    odds = np.column_stack([rare, 0.7 * (1.0 - rare), 0.3 * (1.0 - rare)])
    a = (rng.random(n)[:, None] > odds.cumsum(axis=1)).sum(axis=1)
    first = rng.choice([0.2, 0.9], size=n)
    q = np.column_stack([first, 1.0 - first, np.zeros(n)])
    losses = span[0] + (span[1] - span[0]) * rng.beta(0.5 + a, 2.0)
    return a, losses, odds[np.arange(n), a], q


@pytest.mark.parametrize("span", [(0.0, 1.0), (2.0, 5.0), (-3.0, 1.0)])
def test_doubly_robust_estimate_of_a_policy_with_heavy_weights(span):
    """Value and interval by the definition: models use earlier rows only, and the range includes weight and model.

    |X - center| <= (1 + 1/propensity) max(width, |low|, |high|). Control: without the 1 the interval is narrower.
    """
    a, losses, odds, q = varying(3, 3000, span)
    log = {"a": a.astype(str), "l": losses, "p": odds} | {f"q{i}": q[:, i] for i in range(3)}
    policies = {"mine": {str(i): f"q{i}" for i in range(3)}}
    told = hn.replay(log, "a", "l", "p", actions=("0", "1", "2"), policies=policies, loss_range=span, runs=1)
    dr = next(one for one in told.learners if one.name == "mine").estimates["dr"]
    terms, squares = doubly_robust(a, losses, odds, q, span)
    assert dr.value == pytest.approx(terms.mean(), rel=1e-9)
    size = max(span[1] - span[0], *map(abs, span))
    low, high = empirical_bernstein(terms, squares, (1.0 + 1.0 / odds.min()) * size)
    assert (low, high) == pytest.approx(dr.interval, rel=1e-9)
    assert span[0] < low < high < span[1]
    near = empirical_bernstein(terms, squares, size / odds.min())
    assert near[1] - near[0] < (1.0 - 1e-4) * (high - low)


def test_sums_of_a_policy_do_not_depend_on_blocks():
    """The model uses all earlier rows, including those in earlier blocks.

    Control: a single block gives another result.
    """
    a, losses, odds, q = varying(5, 900, (0.0, 1.0))
    rows = (a, losses, odds, q)
    cuts = [(0, 1), (1, 7), (7, 400), (400, 900)]
    whole = policy_sums(iter([rows]), 3, (0.0, 1.0))
    parts = policy_sums(iter([tuple(x[i:j] for x in rows) for i, j in cuts]), 3, (0.0, 1.0))
    np.testing.assert_allclose(parts, whole, rtol=1e-12)
    alone = sum(policy_sums(iter([tuple(x[i:j] for x in rows)]), 3, (0.0, 1.0)) for i, j in cuts)
    assert abs(alone[7] - whole[7]) > 1e-3
    terms, _ = doubly_robust(a, losses, odds, q, (0.0, 1.0))
    assert whole[7] == pytest.approx(terms.sum(), rel=1e-12)


@pytest.mark.parametrize("gains", [False, True])
def test_context_expert_advises_from_the_rows_before(gains):
    """By the definition, row by row, with varying propensities. Control: advice that uses its own row differs."""
    rng, n = np.random.default_rng(8), 300
    a, losses, odds = rng.integers(3, size=n), rng.random(n), rng.choice([0.1, 0.3, 0.6], size=n)
    contexts = [str(i) for i in rng.integers(40, size=n)]

    def best(t, end):
        here = [s for s in range(end) if contexts[s] == contexts[t]] or list(range(end))
        means = {}
        for action in {int(a[s]) for s in here}:
            mine = [s for s in here if a[s] == action]
            means[action] = np.average(losses[mine], weights=1.0 / odds[mine])
        return min(means, key=lambda action: (-1.0 if gains else 1.0) * means[action], default=0)

    expert, cuts = ContextExpert(gains), (0, 100, 101, n)
    parts = [slice(i, j) for i, j in itertools.pairwise(cuts)]
    advised = np.concatenate([expert.advise(contexts[part], a[part], losses[part], odds[part]) for part in parts])
    assert advised.tolist() == [best(t, t) for t in range(n)]
    assert sum(best(t, t) != best(t, t + 1) for t in range(n)) > 30


def test_weights_below_1_on_average_are_rejected():
    """A policy that plays action 1 only in rows where the log could not: one weight in twenty is 0.

    The action has a propensity of 0.01 elsewhere, so its own rows do not show the missing support. Control: always
    action 0.
    """
    rng, n = np.random.default_rng(2), 4000
    hole = rng.random(n) < 0.05
    a = (~hole & (rng.random(n) < 0.01)).astype(int)
    log = {"a": a, "l": rng.random(n), "p": np.where(hole, 1.0, np.where(a == 1, 0.01, 0.99))}
    log |= {"hole": hole.astype(float), "rest": 1.0 - hole, "one": np.ones(n), "zero": np.zeros(n)}
    names = {"0": "one", "1": "zero"}, {"0": "rest", "1": "hole"}
    always = hn.replay(log, "a", "l", "p", policies={"always 0": names[0]}, runs=1).learners
    assert always[-1].name == "always 0"
    with pytest.raises(NoSupport, match=r"'in the hole'.*average 1; got 0\.9[45]"):
        hn.replay(log, "a", "l", "p", policies={"in the hole": names[1]}, runs=1)


def test_intervals_state_that_the_number_of_rows_is_fixed_in_advance():
    """A log of coins that ends when Clopper and Pearson's interval excludes 1/2 misses far more often than 5%.

    160 of 400 logs of at most 3,000 rows do so; 80 or more would have a probability below 1e-20 at 5%. Control: at the
    last row, fixed in advance, at most 45 do, which fails with a probability below 1e-6.
    """
    rows = np.unique(np.geomspace(30, 3000, 150).astype(int))
    hits = (np.random.default_rng(0).random((400, 3000)) < 0.5).cumsum(axis=1)[:, rows - 1]
    misses = []
    for log in hits:
        limits = [clopper_pearson(int(k), int(n), 0.975) for k, n in zip(log, rows, strict=True)]
        misses.append([not low <= 0.5 <= high for low, high in limits])
    assert np.any(misses, axis=1).sum() >= 80
    assert np.array(misses)[:, -1].sum() <= 45
    assert "the number of rows was fixed in advance" in EXACT
    assert "if the number of rows was fixed in advance" in BERNSTEIN
    assert "if the number of rows was fixed in advance" in VERIFIED


def test_a_log_of_gains_has_an_expected_gain(tmp_path):
    rng = np.random.default_rng(0)
    log = {"a": rng.choice(["x", "y"], 100), "l": rng.random(100), "p": np.full(100, 0.5)}
    for gains, word in ((True, "gain"), (False, "loss")):
        told = hn.replay(log, "a", "l", "p", gains=gains, runs=1)
        assert LOGGED.format(word=word) in " ".join(str(told).split())
        page = (told.save(tmp_path / word) / "index.html").read_text("utf-8")
        assert f"of the expected {word} given earlier rows" in page
