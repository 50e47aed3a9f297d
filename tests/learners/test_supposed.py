"""Assumptions of a tuning by the best loss are stated for the rounds played, in the user's units."""

import numpy as np
import pytest

import hannan as hn

GAINS = hn.Experts(2, tuning=hn.BestLoss(50, rounds=100), gains=True)
SHIFTED = hn.Experts(2, tuning=hn.BestLoss(150, rounds=100), loss_range=(1.0, 2.0))
PLAIN = hn.Experts(2, tuning=hn.BestLoss(50))


@pytest.mark.parametrize("rounds", [60, 100, 2400])
@pytest.mark.parametrize("learner", [GAINS, SHIFTED], ids=["gains", "shifted"])
def test_condition_refers_to_the_rounds_played(learner, rounds):
    bound = learner.bound(rounds)
    assert learner.units.normal(bound.at_most, rounds) == pytest.approx(learner.tuned_best())
    assert f"{bound.at_most:.15g}" in bound.condition


def test_condition_at_the_tuned_rounds_is_the_stated_one():
    """The control: losses with minimum 0, for which the condition does not depend on the number of rounds."""
    assert (GAINS.bound().at_most, GAINS.bound(100).at_most, SHIFTED.bound().at_most) == (50.0, 50.0, 150.0)
    assert {PLAIN.bound(rounds).at_most for rounds in (None, 60, 2400)} == {50.0}


def test_long_game_of_gains_violates_the_condition():
    """The best gain, 1,440, is far above the 50 of a hundred rounds, and the regret exceeds the bound."""
    gains = np.tile([0.5, 0.6], (2400, 1))
    learner = hn.ExpertBandit(2, 2, clip="tuned", tuning=hn.BestLoss(50, rounds=100), gains=True)
    record = hn.play(learner, gains, advice=np.tile([0, 1], (2400, 1)), runs=20, seed=0)
    assert record.mean_regret[-1] > learner.bound(2400).value
    assert record.bound is None
    assert learner.bound(2400).at_most > record.best_loss


def test_convex_bound_states_its_condition_on_the_best_loss():
    """The regret is far above the bound if the best point has a larger loss.

    The control: a tuning without assumption.
    """
    learner = hn.Convex(hn.Simplex(2), 1.0, tuning=hn.BestLoss(1.0), loss_bound=1.0)
    bound = learner.bound(2000)
    assert (bound.condition, bound.at_most) == ("if the best loss L* <= 1 on every run", 1.0)
    record = hn.play(learner, hn.Linear(np.eye(2)[np.arange(2000) % 2]), runs=20, seed=0)
    assert record.best_loss > 1.0
    assert record.mean_regret[-1] > bound.value
    assert record.bound is None
    assert learner.bound(1).condition == ""  # the diameter of the set is no longer than that
    free = hn.Convex(hn.Simplex(2), 1.0, tuning=hn.Horizon(2000), loss_bound=1.0).bound()
    assert (free.condition, free.at_most) == ("", None)


def test_tiny_scale_has_the_trivial_bound():
    assert hn.ExpertBandit(5, 2, tuning=hn.Fixed(1e-300), clip=1e-9).bound(1).value == 1.0


@pytest.mark.parametrize("gains", [False, True])
@pytest.mark.parametrize("setting", [hn.Experts, hn.Bandit])
def test_best_loss_in_a_range_of_another_width(setting, gains):
    """A best loss of 30 of losses in [0, 1] over 4000 rounds, stated in the units of [-1, 4]: five times the bound."""
    rounds, smoothing = 4000, hn.LogBarrier()
    zero, sign = (4.0, -1.0) if gains else (-1.0, 1.0)
    told = zero * rounds + sign * 5.0 * 30.0
    plain = setting(2, smoothing, hn.BestLoss(30.0, rounds=rounds))
    learner = setting(2, smoothing, hn.BestLoss(told, rounds=rounds), loss_range=(-1.0, 4.0), gains=gains)
    assert learner.tuned_best() == pytest.approx(30.0, rel=1e-12)
    assert learner.schedule().scale(1, 0.0) == pytest.approx(plain.schedule().scale(1, 0.0), rel=1e-12)
    for played in (rounds, 1000):
        bound = learner.bound(played)
        assert bound.value == pytest.approx(5.0 * plain.bound(played).value, rel=1e-12)
        assert bound.at_most == pytest.approx(zero * played + sign * 150.0, rel=1e-12)
    worse = told + sign * 1.0  # a fifth of a loss in [0, 1] more than assumed
    with pytest.raises(ValueError, match="best_loss="):
        learner.bound(rounds, worse)
    assert learner.bound(rounds, told).value <= learner.bound(rounds).value * (1.0 + 1e-12)
