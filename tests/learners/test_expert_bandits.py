"""Bandits with experts against their bounds, by sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plays import bandit_regret

import hannan as hn


@pytest.mark.parametrize(
    "learner",
    [
        hn.ExpertBandit(3, 8),
        hn.ExpertBandit(3, 8, hn.Entropy(), hn.Horizon(400)),
        hn.ExpertBandit(3, 8, hn.Entropy(), clip="tuned"),
        hn.ExpertBandit(3, 8, hn.Exponential(), hn.BestLoss(60), clip="tuned"),
        hn.ExpertBandit(3, 8, hn.Entropy(), hn.Fixed(30.0), clip=0.05),
    ],
    ids=repr,
)
def test_expert_bandit_mean_regret_is_below_the_bound(learner):
    rng = np.random.default_rng(1)
    losses = (rng.random((400, 3)) < 0.5).astype(float)
    advice = rng.integers(3, size=(400, 8))
    advice[:, 5] = np.where(rng.random(400) < 0.8, losses.argmin(axis=1), advice[:, 5])
    totals = np.array([losses[np.arange(400), advice[:, i]].sum() for i in range(8)])
    runs = [bandit_regret(learner, losses, seed, advice)[0] - totals.min() for seed in range(40)]
    bound = learner.bound(400, totals.min() if totals.min() <= 60 else None).value
    assert np.mean(runs) + 5.2 * np.std(runs) / math.sqrt(40) < bound
