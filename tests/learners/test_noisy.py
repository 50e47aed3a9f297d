"""Dropout and the random walk: their noise, bounds and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn

ADVERSARIES = hn.adversaries.all_adversaries()


def test_dropout_records_half_of_the_losses():
    """1,000 rounds with loss 1 for one arm: the number of recorded losses is Binomial(1000, 1/2), within 5 standard
    deviations (6e-7).
    """
    player = hn.Dropout(2).start(0)
    for _ in range(1000):
        player.observe(player.act(), [1.0, 0.0])
    heard = player.state()["memory"][2:]  # after the losses of the last step
    assert abs(heard[0] - 500) < 5 * math.sqrt(250)
    assert heard[1] == 0


@pytest.mark.parametrize("kind", [hn.Dropout, hn.RandomWalk])
@pytest.mark.parametrize("adversary", ["stochastic", "alternating_leader", "cyclic", "small_best_loss"])
def test_regret_of_noisy_leaders_is_within_their_bounds(kind, adversary):
    record = hn.play(kind(4), ADVERSARIES[adversary](2000, 4, seed=1), runs=40, seed=2)
    assert record.interval(0.999999)[0][-1] <= record.bound.value


def test_the_random_walk_is_not_first_order_and_dropout_is():
    """L* = 0: one expert never loses, the other in the second half only, in which the walks hide the losses."""
    regrets = {}
    for rounds in (400, 6400):
        losses = np.zeros((rounds, 2))
        losses[rounds // 2 :, 1] = 1.0
        for kind in (hn.RandomWalk, hn.Dropout):
            regrets[kind, rounds] = hn.play(kind(2), losses, runs=400, seed=1).mean_regret[-1]
    # With sixteen times the rounds, four times the regret: 2.5 is far outside the noise of 400 runs (below 1e-6).
    assert regrets[hn.RandomWalk, 6400] > 2.5 * regrets[hn.RandomWalk, 400]
    assert regrets[hn.Dropout, 6400] < 2.0


def test_random_walk_changes_its_leader_rarely():
    """O(sqrt(T log n)) switches; a rule that follows fresh random draws would switch in most rounds."""
    losses = hn.adversaries.experts_lower_bound(4000, 4, seed=1)
    record = hn.play(hn.RandomWalk(4), losses, runs=8, seed=1, keep="all")
    switches = (np.diff(record.actions, axis=1) != 0).sum(axis=1)
    assert switches.max() < 10 * math.sqrt(4000 * math.log(4))
