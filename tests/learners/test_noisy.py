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


def worst_of_two(rounds, factor=0.5):
    """Largest regret of the mean playout for n = 2 over all losses in {0, 1}, by dynamic programming over L_1 - L_2."""
    from scipy.special import ndtr

    gap = np.arange(-rounds, rounds + 1)
    # The regret so far is own - min L; its future part depends on the gap alone.
    left = np.zeros(2 * rounds + 1)
    for remain in range(1, rounds + 1):
        p = ndtr(-gap / math.sqrt(2 * factor * remain))  # probability of the first expert
        moved = np.abs(gap)
        up, down = left.copy(), left.copy()
        up[:-1], down[1:] = left[1:], left[:-1]
        # own loss - growth of min L, with min L = (L_1 + L_2 - |gap|)/2.
        first = p - 0.5 * (1 - (np.abs(gap + 1) - moved)) + up
        second = (1 - p) - 0.5 * (1 - (np.abs(gap - 1) - moved)) + down
        left = np.maximum(left, np.maximum(first, second))
    return left[rounds]


def test_the_worst_sequence_of_two_experts():
    """All losses in {0, 1}: below the bound, and close to the minimax regret sqrt(T/(2 pi)), which is m_2 sqrt(T/2)."""
    for rounds in (20, 200, 600):
        worst = worst_of_two(rounds)
        assert worst <= hn.RandomPlayout(2, rounds).bound().value
        assert math.sqrt(rounds / (2 * math.pi)) <= worst + 0.5
        assert worst <= 1.03 * math.sqrt(rounds / (2 * math.pi)) + 1
    # Control: with a tenth of the noise the worst sequence exceeds the bound.
    assert worst_of_two(600, 0.0005) > hn.RandomPlayout(2, 600).bound().value


def test_playout_draws_the_rounds_that_remain():
    """Fresh normal numbers of variance (T - t + 1)/2: 400 of each kind within 5 sd of their variances (6e-7)."""
    players = [hn.RandomPlayout(2, 100).start(seed) for seed in range(200)]
    for settled in (0, 1, 75, 99):
        while players[0].round < settled:
            for player in players:
                player.observe(player.act(), [0.0, 0.0])
        noise = np.array([player.state()["memory"] for player in players]).ravel()
        assert abs((noise**2).mean() / ((100 - settled) / 2) - 1) < 5 * math.sqrt(2 / noise.size)


def test_playout_follows_the_leader_of_losses_and_noise():
    rng, player = np.random.default_rng(0), hn.RandomPlayout(4, 60).start(3)
    total = np.zeros(4)
    for row in rng.random((60, 4)):
        leader = int(np.argmin(total + player.state()["memory"]))
        move = player.act()
        assert move.action == leader
        player.observe(move, row)
        total += row
    certificate = player.certificate()
    assert certificate.bound is not None
    assert certificate.bound.against == "any"
    player.observe(player.act(), row)
    assert "60 rounds" in player.certificate().withheld


@pytest.mark.parametrize("adversary", ["stochastic", "alternating_leader", "cyclic", "small_best_loss"])
def test_playout_keeps_its_bound(adversary):
    learner = hn.RandomPlayout(4, 1000)
    record = hn.play(learner, ADVERSARIES[adversary](1000, 4, seed=1), runs=40, seed=2)
    assert record.interval(0.999999)[0][-1] <= learner.bound().value
    assert (
        learner.bound(250).value
        < learner.bound(1000).value
        == pytest.approx(math.sqrt(2000) * hn.Gaussian().expected_max(4))
    )
