"""Bounds for linear losses: closed forms, and searches over adversaries that try to exceed them, with controls."""

from __future__ import annotations

import math

import numpy as np
import pytest
from convex_searches import slope, worst_of_learner, worst_on_a_ball, worst_on_two_points
from scipy import stats

from hannan.games.play import play
from hannan.learners.convex.learner import Convex
from hannan.learners.tuning import Anytime, BestLoss, Fixed, Horizon
from hannan.mathematics.bounds import Withheld
from hannan.mathematics.convex.domains import Ball, Box, Simplex
from hannan.mathematics.convex.losses import Linear
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise

CHI = GaussianNoise().mean_norm


# Closed forms


@pytest.mark.parametrize("d", [1, 2, 10, 100])
def test_bound_on_a_ball_does_not_depend_on_the_dimension(d):
    r, beta, T = 1.5, 2.0, 400
    ball, share = Ball(d, r, (3.0,) * d), CHI(d) / math.sqrt(d)
    horizon = Convex(ball, beta, GaussianNoise(), Horizon(T), smooth=0)
    assert horizon.schedule().c == pytest.approx(beta * math.sqrt(T / (2 * d)))
    assert horizon.bound().value == pytest.approx(r * beta * math.sqrt(2 * T) * share)
    anytime = Convex(ball, beta, GaussianNoise(), Anytime(), smooth=0)
    assert anytime.schedule().c == pytest.approx(beta / math.sqrt(d))
    assert anytime.bound(rounds=T).value == pytest.approx(2 * r * beta * math.sqrt(T) * share)
    gamma = Convex(ball, beta, GammaNoise(), Horizon(T), smooth=0)
    assert gamma.schedule().c == pytest.approx(beta * math.sqrt(T / 2) / d)
    assert gamma.bound().value == pytest.approx(r * beta * math.sqrt(2 * T))
    gamma = Convex(ball, beta, GammaNoise(), Anytime(), smooth=0)
    assert gamma.bound(rounds=T).value == pytest.approx(2 * r * beta * math.sqrt(T))
    sigma = 7.0
    fixed = Convex(ball, beta, GaussianNoise(), Fixed(sigma), smooth=0).bound(rounds=T)
    assert fixed.value == pytest.approx(r * CHI(d) * (sigma + beta**2 * T / (2 * d * sigma)))
    assert fixed.against == "any"
    assert "ball" in horizon.bound().source


def test_linear_losses_in_a_range():
    """A two-sided level: sqrt(c'BT) and sqrt(2c'BT), where other losses have sqrt(2c'BT) and 2 sqrt(c'BT)."""
    box, B, T = Box([0.0, 0.0], [1.0, 1.0]), 0.05, 3000
    for smooth, share in ((0, 0.5), (None, 1.0)):
        told = {"loss_bound": B, "smooth": smooth}
        horizon, anytime = (Convex(box, 1.0, tuning=tuning, **told) for tuning in (Horizon(T), Anytime()))
        c = horizon.c
        assert horizon.bound().value == pytest.approx(math.sqrt(2 * share * c * B * T))
        assert anytime.bound(rounds=T).value == pytest.approx(2 * math.sqrt(share * c * B * T))
        assert anytime.bound(rounds=T).source.startswith("cor:olo" if smooth == 0 else "thm:oco")
        # At a given scale each bound is the sum of range and drift.
        fixed = Convex(box, 1.0, tuning=Anytime(0.2), **told).bound(rounds=T)
        assert fixed.value == pytest.approx((0.2 * c + share * B / 0.2) * math.sqrt(T))
    # Losses that turn out to be linear have the smaller drift, independent of prior knowledge.
    record = play(Convex(box, 1.0, tuning=Anytime(0.2), loss_bound=B), Linear(np.full((T, 2), 0.02)))
    assert record.bound.value == pytest.approx((0.2 * c + 0.5 * B / 0.2) * math.sqrt(T))


def test_linear_losses_of_any_sign_on_any_set():
    simplex, T = Simplex(4), 100
    radius, width = simplex.radius, simplex.mean_width / 2
    for noise, range_, m in ((GaussianNoise(), CHI(4) * width, 1.0), (GammaNoise(), 4 * width, 1 / CHI(4))):
        bound = Convex(simplex, 1.0, noise, Fixed(2.0), smooth=0).bound(rounds=T)
        assert bound.value == pytest.approx(2 * range_ + radius * m * T / (math.sqrt(2 * math.pi) * 2))
    with pytest.raises(Withheld, match="loss_bound"):
        Convex(simplex, 1.0, GammaNoise(), Fixed(2.0)).bound(rounds=T)
    with pytest.raises(ValueError, match="rounds is required"):
        Convex(simplex, 1.0, GammaNoise(), Anytime(), smooth=0).bound()


@pytest.mark.parametrize(("loss_bound", "most"), [(None, 6.0), (7.0, 6.0), (0.5, 0.5)])
def test_bound_is_at_most_rounds_times_diameter(loss_bound, most):
    """The bound holds for any amount of noise; a suitable scale has a smaller bound."""
    ball = Ball(2, 1.5)
    loud = Convex(ball, 2.0, smooth=0, loss_bound=loss_bound, tuning=Fixed(1e6)).bound(10)
    assert 10 * most <= loud.value <= 10 * most * (1 + 1e-12)
    assert "no regret exceeds" in loud.source
    quiet = Convex(ball, 2.0, smooth=0, loss_bound=loss_bound, tuning=Horizon(10**6)).bound(10**6)
    assert quiet.value < 0.1 * most * 10**6
    assert "no regret exceeds" not in quiet.source


def test_cost_of_ridge_and_solver_in_the_bound():
    """A ridge of 1e-6 (beta T + E||b||)/r costs half of it times r^2; the solver costs 1e-7 r beta per move."""
    d, r, beta, T, best, B, scale = 3, 2.0, 1.5, 100, 5.0, 3.0, 20.0
    ridge = 1e-6 / r * (beta * T + d * scale)
    cost = 0.5 * ridge * r**2 + beta * T * 1e-7 * r
    curved = Convex(Ball(d, r), beta, tuning=Fixed(scale), loss_bound=B, smooth=0.25).bound(T, best)
    exact = Convex(Ball(d, r), beta, tuning=Fixed(scale), loss_bound=B).bound(T, best)
    kept = (1 - math.exp(-beta / scale)) / (beta / scale)
    assert curved.terms["bias"] == pytest.approx(cost / kept, rel=1e-9)
    assert curved.value - exact.value == pytest.approx(cost / kept, rel=1e-6)
    # The other proofs include it as well.
    told = {"loss_bound": B}
    anytime = Convex(Ball(d, r), beta, tuning=Anytime(), **told)
    assert anytime.bounded(10**5, None, bias=7.0).value == pytest.approx(anytime.bound(10**5).value + 7.0)
    own, c = Convex(Ball(d, r), beta, **told).bounded(10**5, best, bias=7.0).value, d * beta * r
    assert own == pytest.approx(2 * c + 2 * math.sqrt(c * c + c * (best + 7.0 + B)) + 7.0)
    tuned = Convex(Ball(d, r), beta, tuning=BestLoss(2000.0), **told).bounded(10**5, best, bias=7.0).value
    rate = math.log(1 + math.sqrt(2 * c / 2000.0))
    assert tuned == pytest.approx(math.sqrt(2 * c * 2000.0) + c + 7.0 * rate / (1 - math.exp(-rate)))


def test_bound_of_gaussian_noise_includes_delta_and_solver():
    """min over epsilon of epsilon/(1 - e^-epsilon) (L* + C + bias) - L* + delta(epsilon) B T, on a separate grid."""
    r, beta, T, best, B, sigma = 1.0, 1.0, 5000, 400.0, 2.0, 12.0
    learner = Convex(Ball(4, r), beta, GaussianNoise(), Fixed(sigma), loss_bound=B)
    eps = np.geomspace(0.02, 3.0, 3000)
    mu = beta / sigma
    delta = stats.norm.cdf(mu / 2 - eps / mu) - np.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu)
    for bias in (0.0, 9.0):
        at = eps / -np.expm1(-eps) * (best + r * sigma * CHI(4) + bias) - best + 2 * delta * B * T  # 2: rank one
        bound = learner.bounded(T, best, bias=bias)
        assert bound.value == pytest.approx(at.min(), rel=1e-4)
        assert bound.terms["delta B T"] > 0.01


# A ball against all adversaries


@pytest.mark.parametrize("d", [1, 2, 3, 20])
def test_no_adversary_on_a_ball_exceeds_the_bound(d):
    """Dynamic programming over all of them: .95 of the bound at d = 1, .83 and more elsewhere."""
    T = 40
    ball, found = Ball(d), {}
    for name, noise, tuning in (
        ("horizon", GaussianNoise(), Horizon(T)),
        ("anytime", GaussianNoise(), Anytime()),
        ("gamma", GammaNoise(), Horizon(T)),
    ):
        found[name] = worst_of_learner(Convex(ball, 1.0, noise, tuning, smooth=0), T)
    assert max(found.values()) <= 1.0
    assert found["horizon"] > 0.8
    assert found["anytime"] > 0.7
    assert found["gamma"] > 0.6
    # The control: the larger noise of the earlier tuning with the same bound, or a fifth of the noise.
    bound = Convex(ball, 1.0, GaussianNoise(), Horizon(T), smooth=0).bound().value
    assert worst_on_a_ball(d, T, lambda t: 0.2 * math.sqrt(T / (2 * d))) > bound


def test_mean_play_of_the_search_equals_that_of_the_learner():
    """Moves of the learner average to -h'(||L||) L/||L||: six standard errors of 20,000 draws (1 in 5e8)."""
    for d, noise in ((2, GaussianNoise()), (3, GammaNoise())):
        player = Convex(Ball(d), 5.0, noise, Fixed(2.0), smooth=0).start(1)
        L = np.zeros(d)
        L[0] = 3.0
        player.observe(player.act(), Linear(L))
        along = np.array([player.act().action[0] for _ in range(20_000)])
        expected = -float(slope(np.array([3.0]), 2.0, d, isinstance(noise, GammaNoise))[0])
        assert abs(along.mean() - expected) < 6 * along.std() / math.sqrt(len(along))


def test_the_curvature_is_largest_at_the_origin():
    """lambda_max of the Hessian of h on a grid is at most E chi_d/(d sigma), with equality at 0."""
    rho = np.linspace(1e-3, 30.0, 3000)
    for d in (1, 2, 3, 10, 100):
        h = slope(rho, 1.0, d, gamma=False)
        most = max((h / rho).max(), np.gradient(h, rho).max())
        assert most <= CHI(d) / d * (1 + 1e-6)
        assert most > 0.999 * CHI(d) / d


# Two points of a simplex against all 0/1 sequences


def test_no_sequence_exceeds_the_bound_of_linear_losses_in_a_range():
    T, found = 60, []
    for tuning in (Horizon(T), Anytime()):
        # For losses of any sign the constant on a simplex is smaller; here the constant for losses in [0, 1] is tested.
        learner = Convex(Simplex(2), 1.0, tuning=tuning, loss_bound=1.0, smooth=0)
        v, G = 0.5, learner.range_constant
        factor = math.sqrt(v * T / (2 * G)) if isinstance(tuning, Horizon) else math.sqrt(v / G)
        bound = math.sqrt(2 * G * v * T) if isinstance(tuning, Horizon) else 2 * math.sqrt(G * v * T)
        worst = worst_on_two_points(T, lambda t, f=factor, h=isinstance(tuning, Horizon): f if h else f * math.sqrt(t))
        assert worst <= bound
        found.append(worst / bound)
        given = Convex(Simplex(2), 1.0, tuning=Fixed(factor), loss_bound=1.0, smooth=0).bound(rounds=T)
        assert given.value <= bound * (1 + 1e-9) or not isinstance(tuning, Horizon)
        # The learner with its own constants, tuned for the smallest bound.
        scales = learner.schedule()
        assert worst_on_two_points(T, lambda t, s=scales: s.scale(t, 0.0)) <= learner.bound(rounds=T).value
        # The control: a tenth of the noise.
        assert worst_on_two_points(T, lambda t, f=factor: 0.1 * f) > 2.0 * worst
    assert min(found) > 0.4
