"""Fixed share and Exp3.S: Bayes over paths, and a best expert or arm that changes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import hannan as hn


def test_fixed_share_is_bayes_over_paths():
    """p_t is the posterior over all paths of the Markov prior, by enumeration."""
    n, rounds, scale, share = 2, 7, 1.5, 0.2
    losses = np.random.default_rng(0).random((rounds, n))
    player = hn.FixedShare(n, scale, share).start(0)
    for t in range(rounds):
        w = np.zeros(n)
        for path in np.ndindex(*(n,) * (t + 1)):
            prior = 1 / n
            for a, b in pairwise(path):
                prior *= share / n + (1 - share) * (a == b)
            w[path[-1]] += prior * math.exp(-sum(losses[s, i] for s, i in enumerate(path[:-1])) / scale)
        np.testing.assert_allclose(player.distribution(), w / w.sum(), rtol=1e-12)
        player.observe(player.act(), losses[t])


@pytest.mark.parametrize("switches", [1, 4])
def test_fixed_share_follows_a_best_expert_that_changes(switches):
    rounds, n = 1000, 5
    losses = hn.adversaries.switching(rounds, n, seed=1, phases=switches + 1, gap=0.8)
    learner = hn.fixed_share(n, rounds, switches)
    record = hn.play(learner, losses)
    own = record.expected_regret[-1] + losses.sum(axis=0).min()
    path = sum(part.sum(axis=0).min() for part in np.array_split(losses, switches + 1))
    assert own - path <= learner.bound(rounds, switches=switches).value
    assert record.expected_regret[-1] <= learner.bound(rounds).value
    hedge = hn.play(hn.hedge(n, rounds), losses)
    assert record.expected_regret[-1] < hedge.expected_regret[-1]


def test_exp3_s_beats_exp3_when_the_best_arm_changes():
    rounds, n = 6000, 4
    means = hn.adversaries.switching_means(rounds, n, seed=1, phases=3, gap=0.9)
    share = hn.play(hn.exp3_s(n, rounds, 2), means, runs=24, seed=1)
    plain = hn.play(hn.exp3(n, rounds), means, runs=24, seed=1)
    assert share.interval(0.9999)[1][-1] < plain.interval(0.9999)[0][-1]


def test_too_many_switches_are_rejected():
    with pytest.raises(ValueError, match="switches must be fewer than"):
        hn.fixed_share(3, 10, 9)
    with pytest.raises(hn.Withheld, match="at most 9 switches"):
        hn.FixedShare(3, 1.0, 0.1).bound(10, switches=10)
