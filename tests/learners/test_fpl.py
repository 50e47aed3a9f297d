"""FPL: its bounds over paths, sets and assignments."""

from __future__ import annotations

import numpy as np
import pytest
from decision_sets import decision_sets, learners

import hannan as hn


@pytest.mark.parametrize("which", [0, 1, 2])
def test_regret_of_fpl_is_within_its_bounds(which):
    decisions = decision_sets()[which]
    rounds = 300
    losses = (np.random.default_rng(which).random((rounds, decisions.d)) < 0.4).astype(float)
    losses[:, 0] = 0.0
    for learner in (*learners(decisions, rounds)[:2], hn.FPL(decisions, 40.0, "exponential"), hn.FPL(decisions, 10.0)):
        record = hn.play(learner, losses, runs=8, seed=1)
        assert record.interval(0.999999)[0][-1] <= record.bound.value
        assert record.counts.sum() <= 8 * rounds * decisions.most
        best = decisions.every() @ losses.sum(axis=0)
        assert record.best_loss == pytest.approx(best.min())


def test_tuned_scales_have_the_smallest_bounds():
    for decisions in (hn.MSets(8, 2), hn.Assignments(3)):
        for noise in ("uniform", "exponential"):
            learner = hn.FPL.tuned(decisions, 50_000, noise)
            least = learner.bound(50_000).value
            for other in (0.9, 0.99, 1.01, 1.1):
                assert hn.FPL(decisions, other * learner.scale, noise).bound(50_000).value > least
