"""Optimistic descent: its definition, every step of the proof on a path, and its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn

DOMAINS = [hn.Ball(3, 2.0, (1.0, 0.0, 0.0)), hn.Box([0.0, -1.0, 0.0], [1.0, 1.0, 3.0]), hn.Simplex(3)]


def gradients(kind, rounds=300, d=3):
    rng = np.random.default_rng(4)
    z = {
        "slow": np.cos(np.arange(rounds)[:, None] / 40 + np.arange(d)),
        "noisy": np.array([0.6, 0.3, 0.0]) + 0.3 * rng.standard_normal((rounds, d)),
        "turning": np.where(np.arange(rounds)[:, None] % 2, 1.0, -1.0) * np.array([1.0, -0.5, 0.2]),
    }[kind]
    return z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)


@pytest.mark.parametrize("kind", ["slow", "noisy", "turning"])
@pytest.mark.parametrize("prediction", ["last", "mean"])
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: type(domain).__name__)
def test_definition_and_the_proof_on_a_path(domain, prediction, kind):
    z, r = gradients(kind), domain.radius
    learner = hn.OptimisticDescent(domain, 1.0, prediction)
    moves = hn.play(learner, hn.Linear(z), keep="all").actions[0]
    y, guess, spent, total = domain.center, np.zeros(3), 0.0, np.zeros(3)
    corner, gained, change = domain.argmin(z.sum(axis=0)), 0.0, 0.0
    for t, g in enumerate(z, start=1):
        eta = math.sqrt(2) * r / math.sqrt(spent + 4)
        x = domain.project(y - eta * guess)
        np.testing.assert_allclose(moves[t - 1], x, atol=1e-12)
        after = domain.project(y - eta * g)
        # One step: <g, x - u> <= (|u - y|^2 - |u - y'|^2)/(2 eta) + eta |g - m|^2/2.
        left = g @ (x - corner)
        right = (np.sum((corner - y) ** 2) - np.sum((corner - after) ** 2)) / (2 * eta) + eta / 2 * np.sum(
            (g - guess) ** 2
        )
        assert left <= right + 1e-10
        gained, change = gained + left, change + eta / 2 * np.sum((g - guess) ** 2)
        spent += np.sum((g - guess) ** 2)
        total, y = total + g, after
        guess = g if prediction == "last" else total / t
    assert change <= math.sqrt(2) * r * math.sqrt(spent) + 1e-9
    assert gained <= learner.bound(len(z), variation=spent).value <= learner.bound(len(z)).value
    assert learner.bound(len(z), variation=spent).value == pytest.approx(2 * math.sqrt(2) * r * math.sqrt(spent + 4))


def test_certificate_uses_the_observed_variation():
    learner, z = hn.OptimisticDescent(hn.Ball(3), 1.0), gradients("slow")
    player = learner.start()
    for row in z:
        player.observe(player.act(), hn.Linear(row))
    certificate = player.certificate()
    off = np.diff(z, axis=0, prepend=np.zeros((1, 3)))
    assert certificate.bound.value == pytest.approx(2 * math.sqrt(2) * math.sqrt((off**2).sum() + 4), rel=1e-9)
    assert certificate.regret <= certificate.bound.value < 0.2 * learner.bound(len(z)).value
    copy = hn.OptimisticDescent.from_json(learner.to_json())
    assert copy == learner


def test_half_of_a_step_is_not_enough():
    """Control: with an eighth of eta |g - m|^2 the inequality of one step fails for a first loss."""
    ball, eta = hn.Ball(1), math.sqrt(2) / 2
    after = ball.project(np.zeros(1) - eta * np.ones(1))
    left, corner = 1.0, -np.ones(1)
    gain = (np.sum(corner**2) - np.sum((corner - after) ** 2)) / (2 * eta)
    assert left <= gain + eta / 2 + 1e-12
    assert left > gain + eta / 8


def test_slow_gradients_lose_less_than_gradient_descent():
    z = gradients("slow", 2000)
    mine, other = hn.OptimisticDescent(hn.Ball(3), 1.0), hn.OnlineGradientDescent(hn.Ball(3), 1.0)
    regrets = [hn.play(learner, hn.Linear(z)).mean_regret[-1] for learner in (mine, other)]
    assert regrets[0] < regrets[1] - 100


@pytest.mark.parametrize("bad", ["first", None, 3])
def test_bad_prediction_is_rejected(bad):
    with pytest.raises(ValueError, match=f"prediction.*{bad}"):
        hn.OptimisticDescent(hn.Ball(2), 1.0, bad)
    with pytest.raises(ValueError, match=r"variation.*-1"):
        hn.OptimisticDescent(hn.Ball(2), 1.0).bound(5, variation=-1.0)
