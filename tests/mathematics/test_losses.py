"""Rank-one losses: derivatives, constants and the compiled phi against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from hannan.mathematics.convex.domains import Ball, Box, Simplex
from hannan.mathematics.convex.leader import Leader
from hannan.mathematics.convex.losses import Huber, Linear, Logistic, Loss, RankOne, SmoothedHinge, Squared

rng = np.random.default_rng(0)
Z, TARGETS, LABELS = rng.standard_normal((30, 3)), rng.standard_normal(30), rng.integers(0, 2, 30)
LOSSES: list[Loss] = [
    Linear(Z),
    Squared(Z, TARGETS),
    Logistic(Z, LABELS),
    Huber(Z, TARGETS, 0.7),
    SmoothedHinge(Z, LABELS, 0.4),
    RankOne(Z, lambda u: np.logaddexp(0.0, u) ** 2, lambda u: 2 * np.logaddexp(0.0, u) / (1 + np.exp(-u))),
]
DOMAINS = [Ball(3, 1.5, (0.1, 0.2, 0.3)), Box([-1.0, 0.0, 0.0], [1.0, 1.0, 0.5]), Simplex(3)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_derivatives_equal_those_of_phi(loss):
    x, step = np.array([0.3, -0.2, 0.5]), 1e-6
    u = Z @ x
    np.testing.assert_allclose(loss.value(x), loss.phi(u))
    np.testing.assert_allclose(loss.slope(u), (loss.phi(u + step) - loss.phi(u - step)) / (2 * step), atol=1e-7)
    smooth = np.abs(loss.slope(u + 1e-3) - loss.slope(u - 1e-3) - 2e-3 * loss.bend(u)) < 1e-4
    assert smooth.mean() > 0.8  # phi' has few kinks
    for j, e in enumerate(np.eye(3)):
        slope = (loss.value(x + step * e) - loss.value(x - step * e)) / (2 * step)
        np.testing.assert_allclose(loss.gradient(x)[:, j], slope, atol=1e-7)
    assert (loss.bend(u) <= loss.steepest_curvature * (1 + 1e-12)).all()


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_constants_hold_on_the_domain_and_are_attained(loss, domain):
    """Gradients and values at 2,000 points are within the constants; the extreme margins attain them."""
    points = [domain.project(domain.center + 2 * rng.standard_normal(3)) for _ in range(300)]
    points += list(domain.argmin(Z)) + list(domain.argmin(-Z))
    norms = np.array([np.linalg.norm(loss.gradient(x), axis=1) for x in points])
    values = np.array([loss.value(x) for x in points])
    np.testing.assert_allclose(norms.max(axis=0), loss.lipschitz(domain), rtol=1e-9)
    low, high = loss.interval(domain)
    np.testing.assert_allclose(values.max(axis=0), high, rtol=1e-9, atol=1e-12)
    assert (values >= low - 1e-12).all()
    ends = np.minimum(loss.phi(-domain.support(-Z)), loss.phi(domain.support(Z)))
    assert (low <= ends + 1e-12).all()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_compiled_sums_equal_the_definition(loss):
    leader = Leader(Ball(3))
    leader.absorb(loss)
    x = np.array([0.1, -0.4, 0.2])
    np.testing.assert_allclose(leader.slope(x), loss.gradient(x).sum(axis=0), rtol=1e-12)
    if not isinstance(loss, RankOne):
        assert leader.value(x) == pytest.approx(loss.value(x).sum(), rel=1e-12)


def test_logistic_at_the_extremes():
    loss = Logistic(np.array([[1000.0], [1000.0], [1.0]]), [1, -1, 1])
    x = np.array([1.0])
    np.testing.assert_allclose(loss.value(x), [0.0, 1000.0, np.log1p(np.exp(-1.0))], rtol=1e-15)
    np.testing.assert_allclose(loss.gradient(x)[:, 0], [0.0, 1000.0, -1 / (1 + np.exp(1.0))], rtol=1e-14)


def test_sequence_equals_its_items():
    sequence = Huber(Z, TARGETS, 0.5)
    assert len(sequence) == 30
    x = np.array([1.0, 0.0, -1.0])
    assert [float(loss.value(x)) for loss in sequence] == sequence.value(x).tolist()
    assert sequence[3:7].value(x).tolist() == sequence.value(x)[3:7].tolist()
    assert not sequence[0].is_sequence
    with pytest.raises(TypeError):
        len(sequence[0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Logistic(Z, np.full(30, 2)), "labels y must be in {-1, 1} or in {0, 1}; got 2.0"),
        (lambda: Logistic(Z, np.where(LABELS == 0, -1, LABELS) * (np.arange(30) > 0)), "labels y must be in"),
        (lambda: Logistic([1.0], np.nan), "y must be finite"),
        (lambda: Squared(Z, TARGETS[:5]), r"y must have one number per row of z, shape \(30,\); got shape \(5,\)"),
        (lambda: Linear(np.zeros((2, 2, 2))), "z must be a vector, or a matrix"),
        (lambda: Linear([np.inf]), "z must be finite"),
        (lambda: Huber(Z, TARGETS, 0.0), "threshold must be a finite number > 0"),
        (lambda: Linear(Z).value([1.0]), "x must be a vector of 3 numbers"),
        (lambda: Linear(Z).lipschitz(Ball(2)), "z must have 2 coordinates.*got 3"),
    ],
)
def test_invalid_losses_are_rejected_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
