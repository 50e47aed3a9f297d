"""User-defined distributions and learners are stepped to the same record."""

import math

import numpy as np
import pytest
from naive_games import losses_of

from hannan.adversaries import Bernoulli
from hannan.games.play import play
from hannan.learners.bandits import Bandit
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.tuning import Fixed
from hannan.mathematics.laws.law import Law
from hannan.mathematics.laws.light import Exponential


class SlowExponential(Law):
    """The exponential law as a user would write it: density and cdf, no kernel."""

    hazard = 1.0
    support = (0.0, math.inf)

    def density(self, z):
        return np.where(np.asarray(z) >= 0, np.exp(-np.maximum(z, 0.0)), 0.0)

    def cdf(self, z):
        return np.where(np.asarray(z) >= 0, -np.expm1(-np.maximum(z, 0.0)), 0.0)


def test_user_defined_distribution_gives_the_same_record():
    losses = losses_of(12, 3)
    for make in (lambda law: Bandit(3, law, Fixed(4.0)), lambda law: Experts(3, law, Fixed(4.0))):
        slow = play(make(SlowExponential()), losses, seed=2, keep="all")
        fast = play(make(Exponential()), losses, seed=2, keep="all")
        assert np.array_equal(slow.actions, fast.actions)
        np.testing.assert_allclose(slow.regret, fast.regret, atol=1e-9)
        if slow.expected_regret is not None:
            np.testing.assert_allclose(slow.expected_regret.reshape(-1), fast.expected_regret, atol=1e-6)
    # With advice the moves are drawn differently from the same distribution.
    advice = np.random.default_rng(0).integers(0, 3, (12, 4))
    record = play(ExpertBandit(3, 4, SlowExponential(), Fixed(4.0)), losses, runs=2, advice=advice)
    own = record.regret[:, -1] + record.best_loss
    assert (own >= losses.min(axis=1).sum() - 1e-9).all()
    assert record.counts.sum() == 24


class Cyclic:
    """User-defined learner."""

    n = 3

    def start(self, seed):
        return CyclicPlayer()

    def __repr__(self):
        return "Cyclic()"


class CyclicPlayer:
    def __init__(self):
        self.t = -1

    def act(self):
        self.t += 1
        return self.t % 3

    def observe(self, move, loss):
        assert isinstance(loss, float)


def test_user_defined_learner_is_stepped():
    losses = losses_of(300, 3)
    record = play(Cyclic(), losses, runs=2, keep="all")
    assert record.actions[0].tolist() == [t % 3 for t in range(300)]
    best = losses.cumsum(axis=0).min(axis=1)
    np.testing.assert_allclose(record.regret[1], losses[np.arange(300), np.arange(300) % 3].cumsum() - best)
    assert record.bound is None
    assert "has no method bound" in record.bound_withheld
    assert play(Cyclic(), Bernoulli([0.1, 0.2, 0.3], 50)).rounds == 50
    assert play(Cyclic(), iter([losses[:100], losses[100:]]), rounds=300).rounds == 300


def test_play_method_of_a_learner_is_not_called():
    """A learner needs `start`; other methods are ignored."""

    class Stranger:
        def play(self, losses, **given):
            raise AssertionError

    with pytest.raises(ValueError, match="learner must be a learner, with a method start"):
        play(Stranger(), np.zeros((3, 2)))

    class Stepped(Cyclic):
        play = Stranger.play

    assert play(Stepped(), losses_of(30, 3)).rounds == 30
