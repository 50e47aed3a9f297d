"""MYGA: its mixture, and its regret if the best loss is small."""

from __future__ import annotations

import numpy as np

import hannan as hn
from hannan import _engine


def small_loss_game(seed, rounds=400, actions=4, experts=16):
    """One expert is always correct, and the others advise at random."""
    rng = np.random.default_rng(seed)
    best = rng.integers(actions, size=rounds)
    losses = np.ones((rounds, actions))
    losses[np.arange(rounds), best] = 0.0
    advice = rng.integers(actions, size=(rounds, experts))
    advice[:, 0] = best
    return losses, advice.astype(np.uint8)


def test_myga_beats_exp4_if_the_best_loss_is_small():
    losses, advice = small_loss_game(0)
    myga = hn.play(hn.MYGA(4, 16, 400, best_loss=1.0), losses, runs=6, seed=1, advice=advice)
    for rival in (hn.exp4(4, 16, 400), hn.exp4(4, 16)):
        record = hn.play(rival, losses, runs=16, seed=1, advice=advice)
        assert myga.interval(0.9999)[1][-1] < record.interval(0.9999)[0][-1]


def test_mixture_of_myga_is_a_fixed_point():
    """q W = sum_e w_e E_e + sum_s w_s T_s q, with T_s written out; and p = T_gamma q."""
    learner, rng = hn.MYGA(4, 6, 60), np.random.default_rng(1)
    step = 0.5 / learner.rounds
    mixture = _engine.Myga(4, 6, learner.thresholds, learner.eta, learner.gamma, step)
    grid = learner.gamma + (np.arange(learner.thresholds) + 1) * step

    def moved(q, majority, s):
        out = np.where((majority == 0) & (q <= s), 0.0, q)
        return np.where(majority == 1, q * (1 + (1 - out.sum()) / q[majority == 1].sum()), out)

    for _ in range(60):
        advice = rng.dirichlet(np.full(4, 0.3), 6)
        L, A = mixture.losses, mixture.mistrust
        q, majority, p = mixture.mix(advice.ravel())
        base = min(L.min(), A.min())
        w, v = np.exp(-learner.eta * (L - base)), np.exp(-learner.eta * (A - base))
        whole = w @ advice + sum(x * moved(q, majority, s) for x, s in zip(v, grid, strict=True))
        np.testing.assert_allclose(whole / (w.sum() + v.sum()), q, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(p, moved(q, majority, learner.gamma), rtol=1e-9, atol=1e-15)
        arm = int(np.argmax(p))
        mixture.charge(advice.ravel(), q, majority, arm, float(rng.random()) / p[arm])
