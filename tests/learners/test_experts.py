"""Experts: Hedge equals Gumbel perturbations and its definition; defaults."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn


def test_hedge_is_gumbel_and_the_textbook():
    losses = hn.adversaries.stochastic(200, 4, seed=3)
    learner = hn.hedge(4, 200)
    scale = learner.schedule().scale(1, 0.0)
    assert scale == pytest.approx(1.0 / math.sqrt(8.0 * math.log(4) / 200), rel=1e-15)
    gumbel = hn.Experts(4, hn.Gumbel(), hn.Horizon(200)).start(0)
    player, L = learner.start(0), np.zeros(4)
    for row in losses:
        w = np.exp(-(L - L.min()) / scale)
        np.testing.assert_allclose(player.distribution(), w / w.sum(), rtol=1e-10)
        assert (gumbel.distribution() == player.distribution()).all()
        move = player.act()
        assert gumbel.act()[1:] == move[1:]
        player.observe(move, row)
        gumbel.observe(gumbel.open_moves[0], row)
        L += row


def test_defaults_need_no_tuning():
    assert repr(hn.Experts(10)) == "Experts(10, smoothing=Exponential(), tuning=SelfConfident(rounds=None))"
    assert hn.Bandit(10) == hn.tsallis_inf(10)
    assert repr(hn.Bandit(10)) == repr(hn.tsallis_inf(10))
    assert hn.ExpertBandit(3, 4).clip == 0.0
    # No smoothing has a smaller first-order constant than the default's.
    for n in (2, 3, 10, 100, 1000):
        default = hn.Experts(n).bound(best_loss=50).value
        for other in (hn.Entropy(), hn.Laplace(), hn.Frechet(15.0), hn.Pareto(9.0), hn.Gamma(2.0), hn.Tsallis(0.9)):
            assert default < hn.Experts(n, other).bound(best_loss=50).value
