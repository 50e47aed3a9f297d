"""Epsilon-greedy and explore-then-commit: the engine equals slow implementations, and the steps of their bounds
hold.
"""

from __future__ import annotations

import math

import arm_sums
import numpy as np
import pytest

import hannan as hn


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1, 1.0])
def test_epsilon_greedy_follows_its_definition(epsilon):
    learner = hn.EpsilonGreedy(4, epsilon)
    table = np.random.default_rng(3).random((500, 4)) * [0.5, 0.6, 0.9, 1.0]
    player, seen = learner.start(seed=5), [[] for _ in range(4)]
    for t, row in enumerate(table):
        p = player.distribution()
        np.testing.assert_allclose(p, arm_sums.epsilon_greedy(seen, t, epsilon), rtol=1e-12, atol=1e-15)
        move = player.act()
        assert move.probability == p[move.action]
        seen[move.action].append(row[move.action])
        player.observe(move, float(row[move.action]))


@pytest.mark.parametrize("explore", [1, 7])
def test_explore_then_commit_follows_its_definition(explore):
    table = np.random.default_rng(4).random((200, 4)) * [0.5, 0.6, 0.9, 1.0]
    table[100:] = 1.0 - table[100:]  # later losses change nothing
    player, seen = hn.ExploreThenCommit(4, 200, explore).start(seed=5), [[] for _ in range(4)]
    for row in table:
        p = player.distribution()
        np.testing.assert_allclose(p, arm_sums.explore_then_commit(seen, explore), atol=1e-15)
        move = player.act()
        if min(map(len, seen)) < explore:
            seen[move.action].append(row[move.action])
        player.observe(move, float(row[move.action]))
    assert {len(x) for x in seen} == {explore}


def test_number_of_exploration_rounds_minimizes_the_bound():
    for n, rounds in ((2, 50), (4, 10_000), (10, 10**6)):
        tuned = hn.ExploreThenCommit(n, rounds)
        costs = [tuned.cost(m) for m in range(1, rounds // n + 1)]
        assert tuned.explore == 1 + int(np.argmin(costs))
    with pytest.raises(ValueError, match="explore must be at most"):
        hn.ExploreThenCommit(4, 100, 26)
    with pytest.raises(hn.Withheld, match="no bound is proved for"):
        hn.ExploreThenCommit(4, 100).bound(101)


def test_the_leader_of_m_losses_has_a_small_gap():
    """E gap <= sqrt(ln n/m), for gaps found by search: exact for two coins, by the binomial distribution."""
    from scipy.stats import binom

    for m in (1, 4, 25, 100):
        worst = 0.0
        for gap in np.linspace(0.0, 1.0, 101):
            good, bad = binom(m, 0.5 - gap / 2), binom(m, 0.5 + gap / 2)
            k = np.arange(m + 1)
            misled = (good.pmf(k) * (bad.cdf(k - 1) + 0.5 * bad.pmf(k))).sum()
            worst = max(worst, gap * misled)
        assert worst <= math.sqrt(math.log(2) / m)
        assert worst > 0.1 * math.sqrt(math.log(2) / m)


def test_sum_of_epsilon_greedy_is_an_upper_bound():
    """Sums per round and per block: the second is never smaller, and at most three percent larger."""
    for n, rounds in ((2, 5000), (5, 200_000)):
        learner = hn.EpsilonGreedy(n)
        x, paid = 0.0, 0.0
        for t in range(1, rounds + 1):
            e = learner.explored(t)
            far = 2 * math.sqrt(3 * math.log(t) / x) if x > 0 else math.inf
            paid += min(1.0, e + far + n * math.exp(-x / 8) + 2 * n / t**2)
            x += e / n
        assert paid * (1 - 1e-12) <= learner.misled(rounds) <= 1.03 * paid
    with pytest.raises(hn.Withheld, match="constant epsilon"):
        hn.EpsilonGreedy(3, 0.0).bound(10**6)
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="epsilon must be"):
            hn.EpsilonGreedy(3, bad)
