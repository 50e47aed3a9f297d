"""No worst case is above its bound, and the same search exceeds the bound if a constant is changed: `searches.py`.

`benchmarks/search.py` runs the searches for longer; it computes the table in docs/search.md.
"""

from __future__ import annotations

import math

import pytest
import searches

import hannan as hn

#: (smoothing, the smallest regret/bound attained by the worst 0/1 sequence of 60 rounds: Horizon, Anytime).
TWO = [
    (hn.Entropy(), 0.92, 0.83),
    (hn.Exponential(), 0.84, 0.74),
    (hn.Laplace(), 0.91, 0.81),
    (hn.Gamma(2.0), 0.91, 0.81),
    (hn.Gaussian(), 0.94, 0.85),
    (hn.Tsallis(0.5), 0.76, 0.68),
    (hn.Tsallis(0.9), 0.90, 0.81),
]


@pytest.mark.parametrize(
    ("smoothing", "horizon", "anytime"), TWO, ids=lambda x: repr(x) if not isinstance(x, float) else ""
)
def test_all_sequences_of_two_experts(smoothing, horizon, anytime):
    """Above 0.8, the bound times 0.8 would be exceeded: only Tsallis(0.5) is below, at three quarters."""
    for tuning, least in ((hn.Horizon(60), horizon), (hn.Anytime(), anytime)):
        learner = hn.Experts(2, smoothing, tuning)
        share = searches.worst_of_two(learner, 60) / learner.bound(60).value
        assert least <= share <= 1.0 + 1e-9, learner


def test_control_four_fifths_of_the_bounds_are_exceeded():
    """The control: the search finds sequences above 0.8 of the bound of every family, in 240 rounds."""
    for smoothing in (hn.Entropy(), hn.Exponential(), hn.Gaussian(), hn.Tsallis(0.9), hn.Tsallis(0.5)):
        learner = hn.Experts(2, smoothing, hn.Horizon(240))
        assert searches.worst_of_two(learner, 240) > 0.8 * learner.bound(240).value
    for smoothing in (hn.Entropy(), hn.Gaussian(), hn.Tsallis(0.9)):
        learner = hn.Experts(2, smoothing, hn.Anytime())
        assert searches.worst_of_two(learner, 120) > 0.8 * learner.bound(120).value


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.0 / math.sqrt(math.log(2))])
def test_other_factors_satisfy_their_bound(factor):
    learner = hn.Experts(2, hn.Entropy(), hn.Anytime(factor))
    assert 0.6 < searches.worst_of_two(learner, 100) / learner.bound(100).value <= 1.0 + 1e-9


@pytest.mark.parametrize("smoothing", [hn.Entropy(), hn.Exponential(), hn.Gaussian(), hn.Tsallis(0.5)], ids=repr)
def test_all_sequences_of_three_experts(smoothing):
    for tuning in (hn.Horizon(10), hn.Anytime()):
        learner = hn.Experts(3, smoothing, tuning)
        assert 0.5 < searches.worst_of_three(learner, 10) / learner.bound(10).value <= 1.0 + 1e-9


def test_first_order_of_two_experts():
    """BestLoss and Fixed over all 0/1 sequences with bounded L*; Fixed is attained by the exponential law."""
    for smoothing, least in ((hn.Entropy(), 0.7), (hn.Exponential(), 0.86), (hn.Tsallis(0.5), 0.78)):
        learner = hn.Experts(2, smoothing, hn.BestLoss(4))
        share = searches.worst_of_two_within(learner, 80, 4) / learner.bound(10**6).value
        assert least < share <= 1.0 + 1e-9
        for best in (0, 3):
            fixed = hn.Experts(2, smoothing, hn.Fixed(5.0))
            share = searches.worst_of_two_within(fixed, 80, best) / fixed.bound(best_loss=best).value
            assert 0.85 < share <= 1.0 + 1e-9
    attained = hn.Experts(2, hn.Exponential(), hn.Fixed(1.0))
    assert searches.worst_of_two_within(attained, 60, 0) > 0.9999 * attained.bound(best_loss=0).value


def test_self_confident_of_two_experts():
    for smoothing in (hn.Entropy(), hn.Exponential()):
        assert 0.4 < searches.climbed(hn.Experts(2, smoothing), 2, 16, 0, 60) <= 1.0 + 1e-9


ESTIMATORS = [hn.GeometricResampling(1), hn.GeometricResampling(4), hn.ConditionalResampling(3)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_game_of_the_log_barrier_with_resampling(estimator):
    """Exact expectations, all 0/1 sequences, two arms: every action and every weight."""
    for rounds in (2, 4):
        for tuning in (hn.Fixed(0.2), hn.Fixed(1.0), hn.Fixed(6.0), hn.Horizon(rounds), hn.BestLoss(1, rounds=rounds)):
            learner = hn.Bandit(2, hn.LogBarrier(), tuning, estimator)
            assert 0.05 < searches.worst_resampled(learner, rounds) <= 1.0


def test_control_log_barrier_needs_both_terms_of_its_bound():
    """The controls: without the factor k(scale) < 1, and without the bias of the cap, games exceed the bound."""
    tight = hn.Bandit(2, hn.LogBarrier(), hn.Fixed(0.05), hn.ConditionalResampling(4))
    A, bias = hn.LogBarrier().range_constant(2, 4), 0.5 + 1.5 * 4 / (math.e * 4)
    assert max(regret / (0.05 * A + bias) for regret, _ in searches.barrier_games(tight, 4)) > 1.0
    capped = hn.Bandit(2, hn.LogBarrier(), hn.Fixed(0.5), hn.GeometricResampling(1))
    rounds = 60
    [(regret, best)] = searches.barrier_games(capped, rounds, [(1, 0)] * rounds)
    assert best == 0
    whole = searches.untrimmed(capped, rounds, 0.0)
    without = whole * (0.5 * hn.LogBarrier().range_constant(2, rounds) + 0.5)
    without /= 0.5 * hn.LogBarrier().range_constant(2, rounds) + 0.5 + 2 * rounds / math.e
    assert without < regret <= whole
