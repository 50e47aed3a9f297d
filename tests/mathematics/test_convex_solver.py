"""Moves against SciPy's minimizers, and the certified distance of each move from the minimizer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from hannan.learners.convex.learner import Convex
from hannan.learners.tuning import Fixed
from hannan.mathematics.convex.domains import Ball, Box, Domain, Simplex
from hannan.mathematics.convex.leader import Leader, NotConverged
from hannan.mathematics.convex.losses import Huber, Linear, Logistic, Loss, RankOne, SmoothedHinge, Squared
from hannan.mathematics.convex.polytope import Polytope


def polytope(d: int) -> Polytope:
    """The corner simplex {x >= -0.3, sum x <= 0.8}."""
    return Polytope(np.vstack([-np.eye(d), np.ones((1, d))]), np.append(np.full(d, 0.3), 0.8))


def sequence(kind: str, n: int, d: int, seed: int = 0) -> Loss:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    y, labels = 0.5 * rng.standard_normal(n), rng.integers(0, 2, n)
    return {
        "linear": lambda: Linear(z),
        "squared": lambda: Squared(z, y),
        "logistic": lambda: Logistic(z, labels),
        "huber": lambda: Huber(z, y, 0.5),
        "hinge": lambda: SmoothedHinge(z, labels, 0.5),
        "own": lambda: RankOne(z, np.cosh, np.sinh),
    }[kind]()


def by_scipy(domain: Domain, losses: Loss, noise: np.ndarray, ridge: float) -> np.ndarray:
    """SciPy's minimizer of the same objective: SLSQP, started from several points, then refined."""

    # SLSQP stops early on objectives much larger than 1: its residual was 2e-5 where that of the package was 1e-13.
    unit = 1.0 / (60.0 + np.linalg.norm(noise))

    def objective(x):
        return unit * (losses.value(x).sum() + noise @ x + 0.5 * ridge * ((x - domain.center) ** 2).sum())

    def slope(x):
        return unit * (losses.gradient(x).sum(axis=0) + noise + ridge * (x - domain.center))

    limits, bounds = [], None
    if isinstance(domain, Ball):
        limits = [{
            "type": "ineq",
            "fun": lambda x: domain.radius**2 - ((x - domain.center) ** 2).sum(),
            "jac": lambda x: -2 * (x - domain.center),
        }]  # fmt: skip
    elif isinstance(domain, Box):
        bounds = list(zip(domain.low, domain.high, strict=True))
    elif isinstance(domain, Simplex):
        bounds = [(0.0, 1.0)] * domain.d
        limits = [{"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(domain.d)}]
    else:
        assert isinstance(domain, Polytope)
        A, b = domain.rows
        limits = [{"type": "ineq", "fun": lambda x: b - A @ x, "jac": lambda x: -A}]
    x = np.array(domain.center)
    for _ in range(4):
        x = minimize(
            objective, x, jac=slope, method="SLSQP", bounds=bounds, constraints=limits,
            options={"ftol": 1e-18, "maxiter": 500},
        ).x  # fmt: skip
    return x


@pytest.mark.parametrize("kind", ["linear", "squared", "logistic", "huber", "hinge", "own"])
@pytest.mark.parametrize("make", [Ball, lambda d: Box([-0.4] * d, [0.7] * d), Simplex, polytope])
def test_moves_equal_minimizers_of_scipy(kind, make):
    for d in (2, 5):
        domain, losses = make(d), sequence(kind, 60, d)
        learner = Convex(domain, lipschitz=10.0, tuning=Fixed(1.0))
        for seed, size in ((1, 2.0), (2, 30.0)):
            noise = size * np.random.default_rng(seed).standard_normal(d)
            x, distance = learner.leader(losses, noise)
            curved = 0 if kind == "linear" else 60
            expected = by_scipy(domain, losses, noise, learner.ridge_after(curved, 1.0))
            assert distance <= 1e-7 * domain.radius
            np.testing.assert_allclose(x, expected, atol=1e-7)


@pytest.mark.parametrize("kind", ["squared", "logistic", "huber", "hinge"])
@pytest.mark.parametrize("domain", [Ball(6, 3.0), Box([-1.0] * 6, [2.0] * 6), Simplex(6)], ids=repr)
def test_stated_distance_from_the_argmin_holds(kind, domain):
    """A loose tolerance leaves a move within residual/ridge of one found with a tight tolerance."""
    rng = np.random.default_rng(3)
    for n in (1, 4, 200):
        leader = Leader(domain)
        leader.absorb(sequence(kind, n, 6, seed=n))
        for ridge in (1e-3, 1.0):
            noise = 3.0 * rng.standard_normal(6)
            exact, _ = leader.minimise(noise, ridge, 1e-11 * (1 + n))
            for tolerance in (1.0, 1e-2, 1e-5):
                x, left = leader.minimise(noise, ridge, tolerance)
                assert left <= tolerance
                assert np.linalg.norm(x - exact) <= left / ridge + 1e-9
                assert domain.contains(x)


def test_solver_that_cannot_converge_leaves_the_state_unchanged():
    leader = Leader(Ball(3))
    leader.absorb(sequence("logistic", 50, 3))
    with pytest.raises(NotConverged, match="distance from the argmin"):
        leader.minimise(np.ones(3), 1e-3, 0.0)


def run_of(player):
    """The state of its run, without the solver's model of the losses."""
    return {name: value for name, value in player.state()["leader"].items() if name != "model"}


def test_exception_of_a_user_defined_phi_is_raised():
    def broken(u):
        raise RuntimeError("no slope today")

    player = Convex(Ball(2), 1.0, tuning=Fixed(1.0)).start(0)
    calls = {"good": True}

    def slope(u):
        return np.tanh(u) if calls["good"] else broken(u)

    loss = RankOne([0.6, 0.8], lambda u: np.log(np.cosh(u)), slope)
    player.observe(player.act(), loss)
    player.act()
    calls["good"] = False
    before = run_of(player)
    with pytest.raises(RuntimeError, match="no slope today"):
        player.act()
    assert run_of(player) == before


def test_mixed_losses_add_up():
    """Linear and squared losses can be combined with one more kind; a second kind is rejected."""
    domain = Ball(3, 2.0)
    learner = Convex(domain, lipschitz=5.0, tuning=Fixed(1.0))
    leader, noise = Leader(domain), np.array([0.3, -2.0, 1.0])
    parts = [sequence("linear", 5, 3, 1), sequence("squared", 20, 3, 2), sequence("logistic", 30, 3, 3)]
    for part in parts:
        leader.absorb(part)
    x, _ = leader.minimise(noise, 0.01, 1e-10)

    def objective(x):
        return sum(part.value(x).sum() for part in parts) + noise @ x + 0.005 * (x @ x)

    assert leader.value(x) + noise @ x + 0.005 * (x @ x) == pytest.approx(objective(x), rel=1e-12)
    for _ in range(200):
        y = domain.project(x + 0.01 * np.random.default_rng(_).standard_normal(3))
        assert objective(y) >= objective(x) - 1e-9
    with pytest.raises(ValueError, match=r"one kind of loss.*Huber.*logistic"):
        leader.absorb(sequence("huber", 2, 3))
    assert learner.admit(parts[2]) is parts[2]
