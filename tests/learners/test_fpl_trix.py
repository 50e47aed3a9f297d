"""FPL-TRIX: regret in a simple game, and the number of redraws."""

from __future__ import annotations

import numpy as np

import hannan as hn


def test_fpl_trix_learns_the_cheap_components():
    rounds, decisions = 1500, hn.MSets(6, 2)
    losses = (np.random.default_rng(1).random((rounds, 6)) < [0.05, 0.05, 0.6, 0.6, 0.6, 0.6]).astype(float)
    record = hn.play(hn.FPLTrix(decisions), losses, runs=4, seed=2)
    # Uniformly random decisions would lose 2 * 1500 * (4/6) * 0.55 = 1100 more than the best decision.
    assert record.mean_regret[-1] < 400
    assert record.bound is None
    assert "O(m^2 d log dT)" in record.bound_withheld


def test_resampling_estimates_the_inverse_probability():
    """K_i is geometric with success probability q + gamma (1 - q): mean over 40,000 draws of round 1, 5 standard
    deviations (6e-7).

    In round 1 all components are equivalent and q = m/d; given that i is chosen, K_i is independent of the choice.
    """
    learner, runs = hn.FPLTrix(hn.MSets(6, 2)), 40_000
    losses = np.tile(20.0 * np.ones(6), (runs, 1))
    one = np.random.default_rng(3)
    chosen, trials = learner.draw(losses, [one] * runs)
    eta = float(learner.eta(losses[:1])[0])
    success = 2 / 6 + min(1.0, 2 * eta) * (1 - 2 / 6)
    seen = trials[chosen > 0.0]
    assert seen.size == 2 * runs
    assert (trials[chosen == 0.0] == 0.0).all()
    sd = np.sqrt((1 - success) / success**2 / runs)  # as if the two components of a decision were one
    assert abs(seen.mean() - 1 / success) < 5 * sd
