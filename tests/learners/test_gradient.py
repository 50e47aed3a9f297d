"""Gradient learners: their bounds in closed form, and their steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hannan.games.play import play
from hannan.learners.convex.gradient import ExponentiatedGradient, OnlineGradientDescent
from hannan.mathematics.convex.domains import Ball, Simplex
from hannan.mathematics.convex.losses import Linear


def test_bounds_in_closed_form():
    assert ExponentiatedGradient(Simplex(7), 2.0).bound(rounds=50).value == pytest.approx(
        2.0 * math.sqrt(2.0 * 50 * math.log(7))
    )
    assert OnlineGradientDescent(Ball(7, 0.5), 2.0).bound(rounds=50).value == pytest.approx(3.0 * math.sqrt(50))


def test_moves_are_the_steps_of_the_definition():
    z = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 3))
    played = play(ExponentiatedGradient(Simplex(3), 2.0), Linear(z), keep="all").actions[0]
    for t in range(5):
        weights = np.exp(-z[:t].sum(axis=0) * 2.0 * math.sqrt(math.log(3.0) / (t + 1)) / (2.0 * math.sqrt(2.0)))
        np.testing.assert_allclose(played[t], weights / weights.sum(), rtol=1e-12)
    x, ball = np.zeros(3), Ball(3, 0.7)
    played = play(OnlineGradientDescent(ball, 2.0), Linear(z), keep="all").actions[0]
    for t in range(5):
        np.testing.assert_allclose(played[t], x, rtol=1e-12, atol=1e-15)
        x = ball.project(x - 1.4 / (2.0 * math.sqrt(t + 1)) * z[t])
