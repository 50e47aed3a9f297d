"""All smoothings to test, and the accuracy that a play must have."""

from typing import Any

import numpy as np
import pytest

import hannan as hn

LAWS = [
    hn.Exponential(),
    hn.Gamma(0.3),
    hn.Gamma(2.5),
    hn.Gumbel(),
    hn.Weibull(0.5),
    hn.Weibull(3.0),
    hn.Weibull(0.6, conditioned=True),
    hn.Frechet(1.1),
    hn.Frechet(5.5),
    hn.Pareto(1.05),
    hn.Pareto(4.0),
    hn.Laplace(),
    hn.Gaussian(),
]
SMOOTHINGS = [*LAWS, hn.Entropy(), hn.Tsallis(0.05), hn.Tsallis(0.5), hn.Tsallis(0.9), hn.LogBarrier()]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)
each = pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)


def potential(smoothing: Any, scale: float) -> hn.Potential:
    return hn.FTPL(smoothing, scale) if isinstance(smoothing, hn.Law) else hn.FTRL(smoothing, scale)


def assert_play(p: Any, right: Any) -> None:
    """The tolerances of a play: the sum is 1 within 1e-12; relative 1e-10 from 1e-12 on, 1e-6 down to 1e-80."""
    p, right = np.asarray(p), np.asarray(right)
    assert abs(p.sum() - 1.0) <= 1e-12
    assert (p >= 0.0).all()
    near, deep = right >= 1e-12, (right < 1e-12) & (right >= 1e-80)
    np.testing.assert_allclose(p[near], right[near], rtol=1e-10)
    np.testing.assert_allclose(p[deep], right[deep], rtol=1e-6)


def slope(function: Any, L: Any, i: int, step: float) -> Any:
    """The derivative along e_i from five points, exact up to step^4."""
    shift = np.zeros(L.size)
    shift[i] = step
    near, far = function(L + shift) - function(L - shift), function(L + 2 * shift) - function(L - 2 * shift)
    return (8.0 * near - far) / (12.0 * step)


def bandit_regret(learner: Any, losses: Any, seed: int, advice: Any = None) -> tuple[float, Any]:
    """(own loss, estimated regret) of a bandit that plays the losses round by round."""
    player = learner.start(seed)
    own = 0.0
    for t, row in enumerate(losses):
        move = player.act() if advice is None else player.act(advice[t])
        player.observe(move, float(row[move.action]))
        own += row[move.action]
    return own, player.certificate().estimated_regret


def assert_one_game(learner: Any, rounds: int = 1000, seed: int = 12) -> tuple[Any, Any]:
    """A player makes the moves of run 0, and a game is the same on one thread; return the record and the player."""
    losses = hn.adversaries.stochastic(rounds, learner.n, seed=9)
    record = hn.play(learner, losses, runs=3, seed=seed, keep="all")
    player = learner.start(seed)
    for t, row in enumerate(losses):
        move = player.act()
        assert move.action == record.actions[0, t]
        player.observe(move, float(row[move.action]))
    assert (hn.play(learner, losses, runs=3, seed=seed, keep="all", threads=1).actions == record.actions).all()
    return record, player
