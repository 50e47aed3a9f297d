"""Squint, AdaNormalHedge and ML-Poly: definitions, unavailable experts, and bounds in exact expectation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import hannan as hn
from hannan import _engine

ADVERSARIES = hn.adversaries.all_adversaries()
WITHOUT_TUNING = [hn.Squint, hn.AdaNormalHedge, hn.MLPoly]


def weights_by_hand(learner, R, V):
    if isinstance(learner, hn.Squint):
        w = [
            mpmath.quad(lambda e, r=r, v=v: mpmath.exp(e * r - e * e * v), [0, 0.25, 0.5])
            for r, v in zip(R, V, strict=True)
        ]
        return np.array([float(x / mpmath.fsum(w)) for x in w])
    if isinstance(learner, hn.AdaNormalHedge):
        w = [
            (mpmath.exp(max(r + 1, 0.0) ** 2 / (3 * (c + 1))) - mpmath.exp(max(r - 1, 0.0) ** 2 / (3 * (c + 1)))) / 2
            for r, c in zip(R, V, strict=True)
        ]
        return np.array([float(x / mpmath.fsum(w)) for x in w])
    w = np.maximum(R, 0.0) / (1.0 + V)
    return w / w.sum() if w.sum() > 0 else np.full(len(R), 1 / len(R))


@pytest.mark.parametrize("kind", WITHOUT_TUNING)
@pytest.mark.parametrize("adversary", ["stochastic", "small_best_loss", "alternating_leader"])
def test_second_order_weights_follow_their_definitions(kind, adversary):
    learner, losses = kind(4), ADVERSARIES[adversary](120, 4, seed=2)
    player, R, V = learner.start(0), np.zeros(4), np.zeros(4)
    for row in losses:
        p = player.distribution()
        np.testing.assert_allclose(p, weights_by_hand(learner, R, V), rtol=1e-9, atol=1e-12)
        r = p @ row - row
        R += r
        V += np.abs(r) if kind is hn.AdaNormalHedge else r * r
        player.observe(player.act(), row)


@pytest.mark.parametrize(("R", "V"), [
    (0.0, 0.0), (1e-9, 1e-18), (1.9, 0.99), (2.1, 1e-6), (-2.1, 1e-6), (30.0, 0.3), (-500.0, 300.0), (900.0, 1000.0),
    (1000.0, 900.0), (-3.0, 1e5), (1e4, 1e5), (2e5, 1e6),
])  # fmt: skip
def test_weights_of_squint_equal_their_integral(R, V):
    peak = min(max(R / (2 * V), 0.0), 0.5) if V > 0 else 0.5
    width = 1 / math.sqrt(2 * V) if V > 0 else 1.0
    cuts = sorted({0.0, 0.5, *(min(max(peak + k * width, 0.0), 0.5) for k in (-20, -5, -1, 0, 1, 5, 20))})
    with mpmath.workdps(30):
        top = mpmath.mpf(peak) * R - mpmath.mpf(peak) ** 2 * V
        whole = mpmath.quad(lambda e: mpmath.exp(e * R - e * e * V - top), cuts)
        exact = float(mpmath.log(whole) + top)
    assert _engine.log_evidence(R, V) == pytest.approx(exact, rel=1e-12, abs=1e-11)


def test_the_published_bound_of_squint_is_above_the_potentials():
    """sum_i g(R_i, V_i) <= 0, g = int (e^(eta R - eta^2 V) - 1)/eta, is exact; so g(R, V) <= (n-1) |g(-T, T)|."""

    def g(R, V):
        return float(mpmath.quad(lambda e: mpmath.expm1(e * R - e * e * V) / e, [0, 0.01, 0.1, 0.5]))

    for n in (2, 50):
        for rounds in (1, 30, 10**4):
            for V in (0.0, 1.0, 25.0, 1000.0):
                if rounds >= V:
                    regret = sum(hn.Squint(n).terms(rounds, V).values())
                    assert g(regret, V) >= (n - 1) * -g(-rounds, rounds)


@pytest.mark.parametrize("kind", WITHOUT_TUNING)
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("n", [2, 9])
def test_second_order_bounds_hold_in_exact_expectation(kind, adversary, n):
    """With full information the expected regret is exact, and so is the comparison; also with the observed V."""
    learner, losses = kind(n), ADVERSARIES[adversary](800, n, seed=4)
    record = hn.play(learner, losses)
    assert record.expected_regret[-1] <= record.bound.value
    player = learner.start(0)
    for row in losses[:300]:
        player.observe(player.act(), row)
    certificate = player.certificate()
    assert certificate.regret <= certificate.bound.value


@pytest.mark.parametrize("kind", WITHOUT_TUNING)
def test_second_order_bounds_hold_against_the_greedy_adversary(kind):
    learner = kind(3)
    losses = hn.adversaries.greedy(learner, 300)
    record = hn.play(learner, losses)
    assert record.expected_regret[-1] <= record.bound.value


@pytest.mark.parametrize("kind", [*WITHOUT_TUNING, lambda n: hn.FixedShare(n, 4.0, 0.01)])
def test_regret_against_unavailable_experts_is_unchanged(kind):
    player = kind(3).start(0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        player.observe(player.act(), rng.random(3))
    before = player.certificate().own_loss - player.losses
    awake = np.array([True, True, False])
    move = player.act(awake=awake)
    assert move.action != 2
    player.observe(move, [0.3, 0.6, np.nan])
    after = player.certificate().own_loss - player.losses
    assert after[2] == pytest.approx(before[2], abs=1e-12)
