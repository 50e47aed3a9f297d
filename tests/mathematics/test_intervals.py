"""Intervals for rare events: exact coverage where it can be computed, and the normal interval, which fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hannan.mathematics.intervals import clopper_pearson, of_mean, of_ratio, slack


def normal(hits, trials, level=0.95):
    """The normal interval, mean -+ z standard errors: the control."""
    mean = hits / trials
    half = stats.norm.ppf(0.5 + level / 2) * math.sqrt(mean * (1 - mean) / trials)
    return mean - half, mean + half


def coverage(interval, trials, p):
    """The probability that an interval contains p, summed over the binomial law: no sampling, no false alarm."""
    kept = [k for k in range(trials + 1) if (found := interval(k, trials))[0] <= p <= found[1]]
    return float(stats.binom.pmf(kept, trials, p).sum())


@pytest.mark.parametrize("p", [0.001, 0.003, 0.01, 0.02, 0.3, 0.995])
def test_rates_are_covered_exactly(p):
    assert coverage(lambda k, n: clopper_pearson(k, n, 0.975), 125, p) >= 0.95
    if p <= 0.01 or p >= 0.99:
        assert coverage(normal, 125, p) < 0.85


def weighted_logs(count, rows, actions, rate, seed):
    """Sums of w = 1{a}/p and w l of an action whose losses are 0 or 1, in logs that draw actions uniformly."""
    rng = np.random.default_rng(seed)
    taken = rng.binomial(rows, 1.0 / actions, size=count)
    hits = rng.binomial(taken, rate)
    return taken[taken > 0], hits[taken > 0]


@pytest.mark.parametrize("rate", [0.004, 0.05, 0.5])
def test_weighted_means_are_covered(rate):
    """400 logs, each covered with probability at least 0.95: below 352 of 400 has probability 2e-8."""
    actions, rows = 20, 2000
    taken, hits = weighted_logs(400, rows, actions, rate, 1)
    covered = missed = 0
    for n, k in zip(taken.tolist(), hits.tolist(), strict=True):
        w, w2, wl, w2l = actions * n, actions**2 * n, actions * k, actions**2 * k

        def surplus(theta, w=w, w2=w2, wl=wl, w2l=w2l):
            return wl - theta * w, w2l * (1 - 2 * theta) + theta**2 * w2

        low, high = of_ratio(surplus, float(actions), rows, (0.0, 1.0), k / n, 0.95)
        assert 0.0 <= low <= k / n <= high <= 1.0
        covered += low <= rate <= high
        # The control: sum w l/rows with its standard error.
        mean, error = wl / rows, math.sqrt((w2l - wl**2 / rows) / rows / rows)
        missed += not mean - 1.96 * error <= rate <= mean + 1.96 * error
    assert covered >= 352
    assert stats.binom.cdf(351, 400, 0.95) < 2e-8
    if rate < 0.01:
        assert missed > 60  # a log without a hit has the interval from 0 to 0


def test_interval_without_events_has_positive_length():
    assert clopper_pearson(0, 125, 0.975) == (0.0, pytest.approx(0.0291, abs=1e-4))
    low, high = of_ratio(lambda theta: (-theta * 125 * 80, theta**2 * 125 * 80**2), 80.0, 1e4, (0.0, 1.0), 0.0, 0.95)
    assert low == 0.0
    assert 0.02 < high < 0.1
    assert normal(0, 125) == (0.0, 0.0)


def test_sums_over_a_game_are_covered():
    """Means that depend on the past: 400 games.

    Each side fails with probability 0.025, 30 failures or more with probability 1e-6.
    """
    rng = np.random.default_rng(3)
    above = below = 0
    for _ in range(400):
        total = squares = means = seen = 0.0
        for t in range(300):
            mean = 0.02 + 0.2 * (seen > 0.5)
            x = float(rng.random() < mean)
            centre = total / t if t else 0.0
            total, squares, means, seen = total + x, squares + (x - centre) ** 2, means + mean, x
        low, high = of_mean(total, squares, 300, 1.0, 0.95)
        above += means / 300 > high
        below += means / 300 < low
    assert max(above, below) < 30
    assert stats.binom.sf(29, 400, 0.025) < 1e-6


def test_excess_grows_like_the_normal_interval():
    assert slack(100.0, 1.0, 1000, 0.975) < slack(200.0, 1.0, 1000, 0.975)
    assert slack(100.0, 1.0, 1000, 0.975) < slack(100.0, 5.0, 1000, 0.975)
    assert slack(100.0, 1.0, 1000, 0.9) < slack(100.0, 1.0, 1000, 0.99)
    # Close to the normal interval, 1.96 sqrt(V), if there are many terms: below twice its width.
    assert 1.96 < slack(1e6, 1.0, 1e7, 0.975) / 1e3 < 2 * 1.96
    assert slack(0.0, 0.0, 10, 0.975) == 0.0
    assert slack(math.nan, 1.0, 10, 0.975) == math.inf
