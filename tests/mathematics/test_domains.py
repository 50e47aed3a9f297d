"""Convex sets: every closed form against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hannan.mathematics.convex.domains import Ball, Box, Domain, Simplex
from hannan.mathematics.convex.polytope import Polytope

#: The simplex of R^3 (an equality as two inequalities) and a box, both as polytopes.
FLAT = Polytope(np.vstack([-np.eye(3), np.ones((1, 3)), -np.ones((1, 3))]), np.array([0.0, 0.0, 0.0, 1.0, -1.0]))
SETS: list[Domain] = [
    Ball(1, 0.5),
    Ball(4, 2.0, (1.0, -1.0, 0.0, 3.0)),
    Box([0.0], [1.0]),
    Box([-1.0, 0.0, 2.0], [1.0, 3.0, 2.0]),
    Simplex(2),
    Simplex(6),
    FLAT,
    Polytope([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 3.0]], [1.0, 0.0, 0.5, 2.0]),
]


def members(domain: Domain, rng: np.random.Generator, count: int = 40) -> np.ndarray:
    return np.array([domain.project(domain.center + 3.0 * rng.standard_normal(domain.d)) for _ in range(count)])


@pytest.mark.parametrize("domain", SETS, ids=repr)
def test_projection_is_the_nearest_point(domain):
    """p = proj(x) iff <x - p, y - p> <= 0 for every y of the set."""
    rng = np.random.default_rng(1)
    inside = members(domain, rng)
    for _ in range(20):
        x = domain.center + 3.0 * rng.standard_normal(domain.d)
        p = domain.project(x)
        assert domain.contains(p)
        assert ((inside - p) @ (x - p)).max() <= 1e-9
        np.testing.assert_allclose(domain.project(p), p, atol=1e-9)


@pytest.mark.parametrize("domain", SETS, ids=repr)
def test_argmin_support_and_box_agree(domain):
    rng = np.random.default_rng(2)
    inside = members(domain, rng)
    z = rng.standard_normal((15, domain.d))
    best = domain.argmin(z)
    np.testing.assert_allclose((z * best).sum(axis=1), -domain.support(-z), atol=1e-9)
    assert ((inside @ z.T).min(axis=0) >= -domain.support(-z) - 1e-9).all()
    low, high = domain.box
    assert (inside >= low - 1e-9).all()
    assert (inside <= high + 1e-9).all()
    np.testing.assert_allclose(domain.argmin(z[0]), best[0], atol=1e-9)


@pytest.mark.parametrize("domain", SETS, ids=repr)
def test_enclosing_ball_and_mean_width(domain):
    """Mean width by 40,000 directions; the mean of a [0, 2r] variable is off by 6 sd/sqrt(n) once in 5e8."""
    rng = np.random.default_rng(3)
    inside = members(domain, rng)
    assert (np.linalg.norm(inside - domain.center, axis=1) <= domain.radius * (1 + 1e-9)).all()
    count = 40_000 if not isinstance(domain, Polytope) else 400
    u = rng.standard_normal((count, domain.d))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    widths = domain.support(u) + domain.support(-u)
    slack = 6.0 * widths.std() / math.sqrt(count) + 1e-12
    assert widths.mean() <= domain.mean_width + slack
    if not isinstance(domain, Polytope):
        assert widths.mean() >= domain.mean_width - slack
    assert domain.mean_width <= 2.0 * domain.radius * (1 + 1e-12)


def test_a_polytope_is_the_set_it_describes():
    rng = np.random.default_rng(4)
    for _ in range(10):
        x = rng.standard_normal(3)
        np.testing.assert_allclose(FLAT.project(x), Simplex(3).project(x), atol=1e-9)
        np.testing.assert_allclose(FLAT.support(x), Simplex(3).support(x), atol=1e-9)


def test_simplex_width_and_radius_in_closed_form():
    assert Simplex(2).radius == math.sqrt(0.5)
    # Two points at distance sqrt(2): width sqrt(2)|cos|, mean sqrt(2) * 2/pi.
    assert Simplex(2).mean_width == pytest.approx(math.sqrt(2.0) * 2.0 / math.pi, rel=1e-12)
    assert Box([0.0], [1.0]).mean_width == 1.0
    assert Simplex(1).radius == 0.0
    assert Simplex(1).mean_width == 0.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Polytope([[1.0], [-1.0]], [0.0, -1.0]), "must not be empty"),
        (lambda: Polytope([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]), "must be bounded"),
        (lambda: Polytope([1.0, 2.0], [1.0]), "A must be a matrix"),
        (lambda: Polytope([[1.0], [-1.0]], [1.0]), "b must be a vector of 2"),
        (lambda: Ball(0), "d must be an integer >= 1"),
        (lambda: Ball(2, -1.0), "radius must be a finite number > 0"),
        (lambda: Ball(2, 1.0, (0.0,)), "middle must be a vector of 2"),
        (lambda: Box([1.0], [0.0]), "low must be at most high.*1.0.*0.0.*index 0"),
        (lambda: Box([0.0, np.nan], [1.0, 1.0]), "low must be finite"),
        (lambda: Simplex(2).project([1.0, 2.0, 3.0]), "x must have 2 coordinates.*got 3"),
    ],
)
def test_invalid_sets_are_rejected_by_name(build, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        build()
