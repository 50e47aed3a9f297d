"""Learners of other authors: compositions, the engine against slow transcriptions, and published bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn
from hannan.learners import bandits
from hannan.mathematics.convex.domains import Ball

# Compositions


def test_named_algorithms_are_compositions():
    assert hn.hedge(5, 100) == hn.Experts(5, hn.Entropy(), hn.Horizon(100))
    assert hn.hedge(5) == hn.Experts(5, hn.Entropy(), hn.SelfConfident())
    assert hn.exp3(5) == hn.Bandit(5, hn.Entropy(), hn.Anytime())
    assert hn.exp4(3, 5, 100) == hn.ExpertBandit(3, 5, hn.Entropy(), hn.Horizon(100))
    assert hn.exp4_clipped(3, 5) == hn.ExpertBandit(3, 5, hn.Entropy(), hn.SelfConfident(), clip="tuned")
    assert hn.tsallis_inf(5, False) == hn.Bandit(5, hn.Tsallis(0.5), hn.Anytime(1.0))
    assert hn.frechet_ftpl(5, 4.0).schedule().scale(100, 0.0) == 2.5


def test_exp3_ix_divides_by_p_plus_gamma():
    learner = hn.exp3_ix(4, 500)
    gamma = learner.estimator.gamma
    assert gamma == pytest.approx(math.sqrt(2 * math.log(4) / (4 * 500)) / 2, rel=1e-12)
    player, L = learner.start(1), np.zeros(4)
    for t in range(50):
        move = player.act()
        L[move.action] += (t % 3) / 2 / (move.probability + gamma)
        player.observe(move, (t % 3) / 2)
    np.testing.assert_allclose(player.losses, L, rtol=1e-12)


@pytest.mark.parametrize(
    "learner",
    [
        hn.tsallis_inf(6), hn.tsallis_inf(6, False), hn.exp3_ix(6, 1000), hn.frechet_ftpl(6), hn.exp3_s(6, 1000, 3),
        hn.frechet_ftpl(6, 2.0, hn.ReducedVariance()), hn.LBInf(6, 1000), hn.TsallisShannon(6),
        hn.frechet_ftpl(6, 2.0, hn.ConditionalResampling(50)),
        hn.Bandit(6, hn.Entropy(), hn.Horizon(1000), hn.ReducedVariance()),
        hn.Squint(6), hn.AdaNormalHedge(6), hn.MLPoly(6), hn.fixed_share(6, 1000, 3), hn.Dropout(6), hn.RandomWalk(6),
    ],
    ids=repr,
)  # fmt: skip
def test_player_and_run_0_make_the_same_moves(learner):
    rounds = 200 if "Frechet" in repr(learner) else 1000
    losses = hn.adversaries.stochastic(rounds, 6, seed=9)
    record = hn.play(learner, losses, runs=3, seed=12, keep="all")
    player = learner.start(12)
    for t, row in enumerate(losses):
        move = player.act()
        assert move.action == record.actions[0, t]
        player.observe(move, row if player.sees_all else float(row[move.action]))
    again = hn.play(learner, losses, runs=3, seed=12, keep="all", threads=1)
    assert (again.actions == record.actions).all()
    assert (record.actions[0] != record.actions[1]).any()


def test_published_bounds():
    assert bandits.tsallis_inf_reduced(8, 10**6)["2 sqrt(n T)"] == pytest.approx(5656.854, rel=1e-6)
    # The bound proved here for Tsallis at the same scale, 4 sqrt(nT) - 2 sqrt T, is smaller and is printed.
    assert hn.tsallis_inf(4, False).bound(10**4).value == pytest.approx(4 * 200 - 200, rel=1e-12)
    frechet = hn.frechet_ftpl(10**4).bound(10**9)
    assert frechet.source.startswith("Honda")
    assert frechet.value == pytest.approx(
        (24 * math.sqrt(math.pi) + 1.85) * math.sqrt(10**13) + 20 + math.sqrt(math.pi * 10**4) / 2, rel=1e-12
    )
    with pytest.raises(hn.Withheld):
        hn.frechet_ftpl(4, 2.0, hn.ReducedVariance()).bound(100)
    ix = hn.exp3_ix(10, 1000)
    exact = hn.exp3(10, 1000).bound(1000).value
    assert ix.bound(1000).value == pytest.approx(exact * 1.5, rel=1e-12)


def test_invalid_descriptions_are_rejected():
    for build in (
        lambda: hn.Squint(0), lambda: hn.Squint(2, (1.0, 0.0)), lambda: hn.FixedShare(2, 0.0, 0.1),
        lambda: hn.FixedShare(2, 1.0, 0.0), lambda: hn.FixedShare(2, 1.0, 1.0), lambda: hn.LBInf(2, 1),
        lambda: hn.Dropout(2, 1.0), lambda: hn.frechet_ftpl(2, 0.0), lambda: hn.ImplicitExploration(0.0),
        lambda: hn.exp3_s(2, 3, 2), lambda: hn.TsallisShannon(2, gains="no"),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            build()


def test_gaussian_ftpl_follows_the_corollary():
    learner = hn.gaussian_ftpl(Ball(4, 2.0), 900)
    assert learner.bound(900).value <= 1.264 * 4**0.25 * 2.0 * 30.0
