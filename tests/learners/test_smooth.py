"""Smooth descent and online Newton: definitions, every step of the proofs on paths, and their bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn
from hannan.learners.convex.smooth import exp_concavity

DOMAINS = [hn.Ball(3, 1.5), hn.Box([-0.5, -1.0, 0.0], [0.7, 1.0, 2.0]), hn.Simplex(3)]


def squared(noise=0.3, rounds=200, d=3):
    rng = np.random.default_rng(8)
    z = rng.standard_normal((rounds, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return hn.Squared(z, z @ np.array([0.5, 0.3, 0.2]) + noise * rng.uniform(-0.5, 0.5, rounds))


def labelled(rounds=200, d=3):
    rng = np.random.default_rng(9)
    z = rng.standard_normal((rounds, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return hn.Logistic(z, z @ np.array([1.0, 0.5, -1.0]) + 0.1 * rng.standard_normal(rounds) > 0)


def beta_of(losses, domain):
    return float(np.max(losses.lipschitz(domain)))


CASES = [(domain, losses) for domain in DOMAINS for losses in (squared(), squared(0.0), labelled())]


@pytest.mark.parametrize(("domain", "losses"), CASES)
@pytest.mark.parametrize("tuned", [None, 5.0])
def test_smooth_descent_by_hand(domain, losses, tuned):
    beta, r = beta_of(losses, domain), domain.radius
    h = float(np.max(losses.smooth))
    learner = hn.SmoothDescent(domain, beta, h, tuned)
    record = hn.play(learner, losses, keep="all")
    x, spent, best = np.array(domain.center), 0.0, float(record.best_loss)
    c = h * r * r / 2
    for t, loss in enumerate(losses):
        np.testing.assert_allclose(record.actions[0, t], x, atol=1e-10)
        g = loss.gradient(x)
        assert g @ g <= 2 * h * loss.value(x) * (1 + 1e-12)  # losses bound their own gradients
        spent += g @ g
        step = c / (c + math.sqrt(c * c + c * tuned)) / h if tuned else math.sqrt(2) * r / math.sqrt(spent)
        x = domain.project(x - step * g)
    regret = float(record.regret[0, -1])
    assert regret <= (2 * math.sqrt(2) * r * math.sqrt(spent) if tuned is None else math.inf) + 1e-7
    bound = learner.bound(len(losses), best_loss=best)
    assert regret <= bound.value + 1e-7
    assert bound.at_most is None or bound.at_most == pytest.approx(max(best, 0.0), abs=1e-6)


def test_smooth_bounds_in_numbers():
    h, r, L = 2.0, 1.5, 20.0
    learner = hn.SmoothDescent(hn.Ball(3, r), 3.0, h, best_loss=L)
    assert learner.bound(10**6).value == pytest.approx(h * r * r + math.sqrt(h * h * r**4 + 2 * h * r * r * L))
    free = hn.SmoothDescent(hn.Ball(3, r), 3.0, h)
    assert free.bound(10**6, best_loss=L).value == pytest.approx(
        8 * h * r * r + math.sqrt(64 * h * h * r**4 + 16 * h * r * r * L)
    )
    assert free.bound(100).value == pytest.approx(2 * math.sqrt(2) * r * 3.0 * 10)
    assert free.bound(100).condition == ""
    # Half of the first term is too small: one loss from the center to the boundary, L* = 0.
    record = hn.play(hn.SmoothDescent(hn.Ball(1), 2.0, 1.0, best_loss=1e-9), hn.Squared([[1.0]], [1.0]))
    assert record.mean_regret[-1] == pytest.approx(0.5, abs=1e-6)
    assert record.mean_regret[-1] <= hn.SmoothDescent(hn.Ball(1), 2.0, 1.0, best_loss=1e-9).bound(1).value


def surrogate(g, x, c):
    return lambda u: g @ (u - x) + c / 2 * (g @ (u - x)) ** 2


@pytest.mark.parametrize(("domain", "losses"), CASES)
def test_online_newton_by_hand(domain, losses):
    from scipy.optimize import minimize

    beta, a, h = beta_of(losses, domain), exp_concavity(losses, domain), float(np.max(losses.smooth))
    learner = hn.OnlineNewton(domain, beta, a, h)
    record = hn.play(learner, losses, keep="all")
    z = 2 * a * domain.radius * beta
    c = 2 * a * (z - math.log1p(z)) / z**2
    e = domain.d / (c * domain.radius**2)
    assert (learner.curvature, learner.ridge) == (pytest.approx(c), pytest.approx(e))
    rng, drift, A = np.random.default_rng(1), 0.0, e * np.eye(domain.d)
    inside = [domain.project(domain.center + domain.radius * rng.standard_normal(domain.d)) for _ in range(30)]
    for loss, x in zip(losses, record.actions[0], strict=True):
        g = loss.gradient(x)
        below = surrogate(g, x, c)
        # The quadratic is below the loss on the domain, and equal at the move.
        assert all(loss.value(x) + below(u) <= loss.value(u) + 1e-9 for u in inside)
        A += c * np.outer(g, g)
        drift += g @ np.linalg.solve(A, g) / 2
    G = float(sum(loss.gradient(x) @ loss.gradient(x) for loss, x in zip(losses, record.actions[0], strict=True)))
    assert (
        drift
        <= np.linalg.slogdet(A / e)[1] / (2 * c) + 1e-9
        <= domain.d / (2 * c) * math.log1p(c * G / (domain.d * e)) + 1e-8
    )
    regret = float(record.regret[0, -1])
    assert regret <= e * domain.radius**2 / 2 + drift + 1e-6
    assert (
        regret
        <= learner.bound(len(losses), best_loss=float(record.best_loss)).value
        <= learner.bound(len(losses)).value
    )

    # The leader, against a general solver.
    t = 60
    rows = [surrogate(one.gradient(x), x, c) for one, x in zip(losses[:t], record.actions[0], strict=False)]

    def whole(u):
        return sum(row(u) for row in rows) + e / 2 * np.sum((u - domain.center) ** 2)

    found = whole(record.actions[0, t])
    for start in inside[:3]:
        other = minimize(lambda v: whole(domain.project(v)), start, method="Nelder-Mead", options={"maxiter": 400})
        assert found <= other.fun + 1e-6


def test_newton_bound_is_the_largest_solution():
    learner = hn.OnlineNewton(hn.Ball(3), 2.0, 0.25, 1.0)
    d, c = 3, learner.curvature
    for best in (0.0, 10.0, 1e4):
        terms = learner.bound(10**6, best_loss=best).terms
        R = terms["d/(2c)"] + terms["logarithm"]
        again = d / (2 * c) * (1 + math.log1p(c * c * 2 * (best + R) / d**2))
        assert again == pytest.approx(R, rel=1e-6)
        assert terms["solver"] < 0.01
    values = [learner.bound(10**6, best_loss=best).value for best in (10.0, 100.0, 1000.0, 1e4)]
    assert np.diff(values).max() < 3 / (2 * c) * math.log(10) * 1.01  # logarithmic in L*


def test_losses_of_another_kind_are_rejected():
    ball = hn.Ball(2)
    smooth, newton = hn.SmoothDescent(ball, 2.0, 0.5), hn.OnlineNewton(ball, 2.0, 0.3, 1.0)
    for learner in (smooth, newton):
        with pytest.raises(ValueError, match=r"losses.*Squared"):
            learner.admit(hn.Linear([1.0, 0.0]))
        with pytest.raises(ValueError, match="losses"):
            learner.admit(hn.RankOne([1.0, 0.0], lambda u: u**2 / 2, lambda u: u, curvature=1.0))
    with pytest.raises(ValueError, match=r"smooth = 0\.5.*got 1"):
        smooth.admit(hn.Squared([1.0, 0.0], 0.5))
    with pytest.raises(ValueError, match=r"exp_concave = 0\.3.*0\.25"):
        newton.admit(hn.Squared([1.0, 0.0], 1.0))
    with pytest.raises(ValueError, match=r"best_loss.*-1"):
        smooth.bound(5, best_loss=-1.0)
    with pytest.raises(ValueError, match=r"exp_concave.*0"):
        hn.OnlineNewton(ball, 2.0, 0.0, 1.0)


def test_exp_concavity_against_second_differences():
    """Control: e^(-a l) is concave for the constant found, and not for twice the constant."""
    x = np.linspace(-1, 1, 2001)
    for losses in (hn.Squared([1.0], 0.5), hn.Logistic([1.0], 1)):
        a = exp_concavity(losses, hn.Ball(1))
        for factor, concave in ((1.0, True), (2.0, False)):
            values = np.array([math.exp(-factor * a * losses.value([u])) for u in x])
            assert (np.diff(values, 2).max() <= 1e-12) == concave


def test_certificates_use_the_observed_best_loss():
    losses = squared(0.0, 60)
    beta = beta_of(losses, hn.Ball(3, 1.5))
    for learner in (hn.SmoothDescent(hn.Ball(3, 1.5), beta, 1.0), hn.OnlineNewton(hn.Ball(3, 1.5), beta, 0.1, 1.0)):
        player = learner.start()
        for loss in losses:
            player.observe(player.act(), loss)
        certificate = player.certificate()
        assert certificate.bound.condition == ""
        assert certificate.bound.value == pytest.approx(learner.bound(60, best_loss=0.0).value, rel=1e-4)
