"""One-step stability of Algorithm 1, computed exactly in special cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rejections import rejected

from hannan.audits.audit import Law, audit_convex
from hannan.learners.convex.learner import Convex
from hannan.learners.tuning import Fixed
from hannan.mathematics.convex.domains import Ball, Box
from hannan.mathematics.convex.losses import Linear, Logistic, Squared
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise


def history(n: int, d: int, seed: int = 0) -> Logistic:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, d))
    return Logistic(z / np.linalg.norm(z, axis=1, keepdims=True), rng.integers(0, 2, n))


def test_printed_covariance_exceeds_its_claim_in_the_algorithm():
    """d = 1, X = [0, 1], beta = 10, epsilon = 1, delta = 1e-6, L = 140.49: 1.0528 > 1."""
    noise = GaussianNoise(1e-6, "paper")
    learner = Convex(Box([0.0], [1.0]), 10.0, noise, Fixed(noise.sigma(1.0, 10.0)), smooth=0)
    finding = audit_convex(learner, Linear([140.49]), Linear([10.0]))
    assert finding.verdict == "exceeded"
    assert finding.claim.level == pytest.approx(1.0)
    assert finding.measured == pytest.approx(1.0528, abs=5e-5)
    law = Law((Linear([140.49]),), noise, learner.schedule().c, 0.0, np.array([0.5]))
    assert law.above(1.0) == pytest.approx(1.1513e-4, rel=1e-4)
    for calibration in ("analytic", "kifer"):
        right = GaussianNoise(1e-6, calibration)
        learner = Convex(Box([0.0], [1.0]), 10.0, right, Fixed(right.sigma(1.0, 10.0)), smooth=0)
        for L in np.linspace(-400, 400, 81):
            assert audit_convex(learner, Linear([L]), Linear([10.0])).verdict == "holds"


@pytest.mark.parametrize(
    ("beta", "eps", "delta", "achieved", "verdict"),
    [
        (10, 1, 1e-3, 0.919, "holds"),
        (10, 1, 1e-6, 1.117, "exceeded"),
        (10, 1, 1e-10, 1.213, "exceeded"),
        (1, 0.1, 1e-10, 0.111, "exceeded"),
        (0.1, 1, 1e-6, 0.186, "holds"),
    ],
)
def test_printed_covariance_exceeds_its_claim_in_two_dimensions(beta, eps, delta, achieved, verdict):
    noise = GaussianNoise(delta, "paper")
    learner = Convex(Ball(2), beta, noise, Fixed(noise.sigma(eps, beta)), smooth=0)
    finding = audit_convex(learner, Linear([0.0, 0.0]), Linear([beta, 0.0]))
    assert finding.measured == pytest.approx(achieved, abs=6e-4)
    assert finding.verdict == verdict


def test_gamma_noise_attains_its_level_on_linear_losses():
    learner = Convex(Box([0.0], [1.0]), 1.0, tuning=Fixed(2.0), smooth=0)
    finding = audit_convex(learner, Linear([3.0]), Linear([1.0]))
    assert finding.measured == pytest.approx(0.5, rel=1e-9)
    assert finding.verdict == "holds"
    ball = Convex(Ball(3), 1.0, tuning=Fixed(2.0), smooth=0)
    assert audit_convex(ball, Linear(np.zeros(3)), Linear([0.6, 0.8, 0.0])).measured == 0.5


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("n", [1, 8, 60])
def test_forward_level_does_not_exceed_the_claim(d, n):
    """Exact density ratios of steps with logistic losses: forward at most epsilon for every ridge, nearly attained."""
    past = history(n, d, seed=10 * n + d)
    for scale in (0.5, 4.0):
        learner = Convex(Ball(d, 4.0), 1.0, tuning=Fixed(scale))
        for loss in (Logistic(past.z[0], 1), Logistic(-past.z[-1], 1)):
            finding = audit_convex(learner, past, loss, points=300)
            assert finding.verdict == "holds"
            assert finding.measured <= finding.claim.level


def test_backward_level_exceeds_the_claim_without_a_ridge():
    """With many losses, the forward level is nearly attained.

    With few losses and much noise, the backward level is far above it, because it needs a ridge.
    """
    loss = Logistic([1.0, 0.0], 1)
    tight = audit_convex(Convex(Ball(2, 8.0), 1.0, tuning=Fixed(2.0)), history(100, 2), loss, points=600)
    assert 0.98 * tight.claim.level < tight.measured <= tight.claim.level
    noisy = Convex(Ball(2, 8.0), 1.0, tuning=Fixed(20.0))
    assert audit_convex(noisy, history(10, 2), loss, points=300).verdict == "holds"
    assert audit_convex(noisy, history(10, 2), loss, points=300, backward=True).measured > 3 / 20.0
    private = Convex(Ball(2, 8.0), 1.0, tuning=Fixed(20.0), smooth=0.25, guarantee="privacy")
    both = [audit_convex(private, history(10, 2), loss, points=300, backward=side).measured for side in (False, True)]
    # Density and Jacobian contribute one half each to epsilon = 2 beta/scale.
    assert max(both) <= 2 / 20.0


def test_gaussian_curved_steps_on_an_interval():
    """The bound 2 Phi(-z) for rank-one losses holds for the exact hockey-stick divergence on a line."""
    noise = GaussianNoise(1e-3)
    for past in (history(5, 1), Squared(np.full((20, 1), 0.3), np.zeros(20))):
        for sigma in (1.0, 5.0):
            learner = Convex(Box([-1.0], [1.0]), 1.0, noise, Fixed(sigma), loss_bound=4.0)
            finding = audit_convex(learner, past, Logistic([1.0], 1))
            assert finding.verdict == "holds"
            assert finding.claim.delta == 1e-3


def test_distribution_of_the_move_matches_the_player():
    """P(x_t at an end) and the median, by 20,000 fresh draws: six standard errors, one alarm in 5e8."""
    learner = Convex(Box([-1.0], [1.0]), 1.0, tuning=Fixed(2.0))
    past = history(12, 1)
    noise = GammaNoise().sample(np.random.default_rng(0), 1, 3000) * 2.0
    moves = np.array([learner.leader(past, b)[0][0] for b in noise])
    law = Law((past,), GammaNoise(), 2.0, learner.ridge_after(12, 2.0), np.zeros(1))
    for x in (-1.0, -0.3, 0.4, 0.999):
        p = law.below(x)
        assert abs((moves <= x + 1e-9).mean() - p) < 6 * math.sqrt(p * (1 - p) / 3000) + 1e-9


def test_learners_without_an_exact_law_are_rejected():
    learner = Convex(Ball(2), 1.0, GaussianNoise(1e-3), Fixed(2.0), loss_bound=3.0)
    rejected(lambda: audit_convex(learner, history(3, 2), Logistic([1.0, 0.0], 1)), "one dimension")
    no_delta = Convex(Ball(1), 1.0, GaussianNoise(), Fixed(1.0), smooth=0)
    rejected(lambda: audit_convex(no_delta, Linear([0.0]), Linear([1.0])), "delta")
