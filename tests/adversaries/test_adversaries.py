"""Loss sequences: shapes, ranges and distributions, and the regret that the greedy sequence causes."""

from __future__ import annotations

import inspect
import math
from itertools import pairwise

import numpy as np
import pytest
from rejections import rejected

import hannan as hn
from hannan import adversaries
from hannan.adversaries import Bernoulli, all_adversaries, greedy

ALL = sorted(all_adversaries())


def hoeffding(samples: int, comparisons: int = 1, false_alarm: float = 1e-6) -> float:
    """P(|mean - expectation| > this) <= false_alarm over all comparisons, for samples in [0, 1]."""
    return math.sqrt(math.log(2 * comparisons / false_alarm) / (2 * samples))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("rounds", "n"), [(1, 1), (1, 3), (7, 1), (50, 2), (333, 10)])
def test_every_adversary_returns_valid_losses(name, rounds, n):
    losses = all_adversaries()[name](rounds, n, seed=3)
    assert losses.shape == (rounds, n)
    assert losses.dtype == np.float64
    assert losses.flags.c_contiguous
    assert losses.flags.owndata or losses.base.flags.owndata
    assert ((losses >= 0.0) & (losses <= 1.0)).all()


@pytest.mark.parametrize("name", ALL)
def test_seed_determines_the_losses(name):
    function = all_adversaries()[name]
    first, again, other = function(200, 5, seed=1), function(200, 5, seed=1), function(200, 5, seed=2)
    assert np.array_equal(first, again)
    scripted = name in {"all_ones", "alternating_leader", "cyclic"}
    assert np.array_equal(first, other) == scripted


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0, 3), ("rounds", 0)), ((10, 0), ("n", 0)), ((2.5, 3), ("rounds", 2.5)), (("ten", 3), ("rounds", "'ten'"))],
)
def test_invalid_sizes_are_rejected(name, arguments, words):
    rejected(lambda: all_adversaries()[name](*arguments), *words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: adversaries.stochastic(10, 3, seed=-1), ("seed", -1)),
        (lambda: adversaries.stochastic(10, 3, gap=1.5), ("gap", "[0, 1]", 1.5)),
        (lambda: adversaries.stochastic(10, 3, best=3), ("best", 3)),
        (lambda: adversaries.stochastically_constrained(10, growth=0.5), ("growth", 0.5)),
        (lambda: adversaries.switching(10, 3, phases=0), ("phases", 0)),
        (lambda: adversaries.cyclic(10, 3, losers=4), ("losers", "n = 3", 4)),
        (lambda: adversaries.small_best_loss(10, 3, best_loss=11), ("best_loss", "[0, 10]", 11)),
        (lambda: adversaries.drifting(10, 3, step=0.0), ("step", 0.0)),
        (lambda: adversaries.bandits_lower_bound(10, 3, gap=0.6), ("gap", "[0, 0.5]", 0.6)),
        (lambda: Bernoulli([0.5, math.nan], 10), ("means", "nan", 1)),
        (lambda: Bernoulli([[0.5, -0.1]]), ("means", "[0, 1]", -0.1, "(0, 1)")),
        (lambda: Bernoulli([0.5]), ("rounds", "means", "(1,)")),
        (lambda: Bernoulli(np.zeros((2, 3, 4))), ("means", "(2, 3, 4)")),
        (lambda: Bernoulli(np.zeros((2, 3)), rounds=5), ("means", 5, 2)),
        (lambda: Bernoulli([], 5), ("means", "(0,)")),
        (lambda: greedy(object(), 10), ("learner", "start")),
    ],
)
def test_invalid_values_are_rejected(call, words):
    rejected(call, *words)


def test_stochastic_adversaries_have_their_means():
    for name in ("stochastic", "stochastically_constrained", "switching", "drifting", "bandits_lower_bound"):
        twin = getattr(adversaries, f"{name}_means")
        seeded = {"seed": 5} if "seed" in inspect.signature(twin).parameters else {}
        means = twin(40, 4, **seeded)
        assert means.shape == (40, 4)
        assert np.array_equal(means.draw(5), getattr(adversaries, name)(40, 4, seed=5))


def test_bernoulli_objects_compare_by_value():
    a, b = Bernoulli([0.25, 0.5], 10), Bernoulli(np.array([0.25, 0.5]), 10)
    assert a == b
    assert hash(a) == hash(b)
    assert a != Bernoulli([0.25, 0.5], 11)
    assert a.n == 2
    source = np.array([0.25, 0.5])
    kept = Bernoulli(source, 10)
    source[0] = 0.75
    assert kept == a
    with pytest.raises(ValueError, match="read-only"):
        a.means[0] = 1.0
    with pytest.raises(AttributeError):
        a.rounds = 3


def test_bernoulli_draws_have_their_means():
    # Hoeffding over 5 comparisons: false alarm at most 1e-6 for this fixed seed, chosen before the run.
    means = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    drawn = Bernoulli(means, 50_000).draw(11)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert np.abs(drawn.mean(axis=0) - means).max() < hoeffding(50_000, 5)
    assert drawn[:, 0].max() == 0.0
    assert drawn[:, 4].min() == 1.0


def test_stochastic_means():
    # Hoeffding over 8 comparisons: false alarm at most 1e-6.
    drawn = adversaries.stochastic(40_000, 8, seed=2, best=3)
    expected = np.full(8, 0.5625)
    expected[3] = 0.4375
    assert np.abs(drawn.mean(axis=0) - expected).max() < hoeffding(40_000, 8)


def test_stochastically_constrained_matches_the_published_setup():
    means = adversaries.stochastically_constrained_means(10_000, 8).means
    lengths = [math.floor(10 * 1.6**k) for k in range(20)]
    assert lengths[:5] == [10, 16, 25, 40, 65]
    edges = np.concatenate([[0], np.cumsum(lengths)])
    for k, (start, stop) in enumerate(pairwise(edges)):
        phase = means[start:stop]
        best, other = (0.0, 0.125) if k % 2 == 0 else (0.875, 1.0)
        assert (phase[:, 0] == best).all()
        assert (phase[:, 1:] == other).all()
    assert (means[:, 1:] - means[:, :1] == 0.125).all()


def test_switching_changes_the_best_arm_at_every_phase():
    means = adversaries.switching_means(1000, 4, seed=9, phases=20).means
    leader = means.argmin(axis=1).reshape(20, 50)
    assert (leader == leader[:, :1]).all()
    assert (np.diff(leader[:, 0]) != 0).all()


def test_switching_draws_the_next_arm_uniformly_among_the_others():
    # 3,000 jumps over 3 places; Hoeffding, 3 comparisons: false alarm at most 1e-6.
    leader = adversaries.switching_means(3001, 4, seed=4, phases=3001).means.argmin(axis=1)
    jumps = np.bincount(np.diff(leader) % 4, minlength=4) / 3000
    assert jumps[0] == 0
    assert np.abs(jumps[1:] - 1 / 3).max() < hoeffding(3000, 3)


def test_alternating_leader_defeats_follow_the_leader():
    losses = adversaries.alternating_leader(1001, 4)
    L = np.cumsum(losses, axis=0)
    leaders = L[:-1].argmin(axis=1)
    assert (losses[np.arange(1, 1001), leaders] == 1.0).all()
    assert L[-1].min() == 500.0
    assert (L[-1, 2:] == 1001.0).all()


@pytest.mark.parametrize(("n", "losers"), [(5, 1), (5, 4), (3, 0), (3, 3)])
def test_cyclic_gives_equal_losses_over_a_cycle(n, losers):
    losses = adversaries.cyclic(4 * n, n, losers=losers)
    assert (losses.sum(axis=1) == losers).all()
    assert (losses.sum(axis=0) == 4 * losers).all()
    assert np.array_equal(losses[1], np.roll(losses[0], 1))


@pytest.mark.parametrize("best_loss", [0, 1, 7.25, 60, 99.5, 100])
@pytest.mark.parametrize("n", [1, 2, 10])
def test_small_best_loss_is_exact(best_loss, n):
    losses = adversaries.small_best_loss(100, n, seed=n, best_loss=best_loss)
    assert losses.sum(axis=0).min() == best_loss


def test_small_best_loss_draws_the_good_arm_uniformly():
    # 900 seeds, 3 arms; Hoeffding, 3 comparisons: false alarm at most 1e-6.
    good = [adversaries.small_best_loss(20, 3, seed=s, best_loss=0).sum(axis=0).argmin() for s in range(900)]
    assert np.abs(np.bincount(good, minlength=3) / 900 - 1 / 3).max() < hoeffding(900, 3)


def test_drifting_means_are_reflected_walks():
    rounds, step = 20_000, 0.01
    means = adversaries.drifting_means(rounds, 3, seed=8, step=step).means
    jumps = np.diff(means, axis=0)
    assert means.min() < 0.05
    assert means.max() > 0.95
    # P(|g| > 7) = 2.6e-12 for each of 60,000 standard normals: false alarm at most 1.6e-7.
    assert np.abs(jumps).max() < 7 * step
    # Away from the limits a jump is step * g. By the chi-square tail, a relative deviation x of the variance has
    # probability at most 2 exp(-k x^2/8): k > 48,000 jumps and x = 0.05 give 6e-7.
    inside = jumps[(means[:-1] > 0.07) & (means[:-1] < 0.93)]
    assert inside.size > 48_000
    assert abs(inside.var() / step**2 - 1.0) < 0.05


def test_experts_lower_bound_is_the_regret_of_every_learner():
    # E min of n sums of fair coins: T/2 - E min = sqrt(T/4) E max of n normals, up to the Berry-Esseen error;
    # n = 2: sqrt(T/4)/sqrt(pi). The regret of 400 sequences has standard deviation < sqrt(T)/2 each, so six
    # standard errors (false alarm 2e-9) are 6 sqrt(T)/2/20.
    rounds = 400
    best = [adversaries.experts_lower_bound(rounds, 2, s).sum(axis=0).min() for s in range(400)]
    expected = math.sqrt(rounds / 4 / math.pi)
    assert abs(rounds / 2 - np.mean(best) - expected) < 6 * math.sqrt(rounds) / 2 / 20


def test_bandits_lower_bound_has_one_good_arm_with_the_default_gap():
    means = adversaries.bandits_lower_bound_means(10_000, 4, seed=1).means
    assert sorted(means) == [0.5 - 0.25 * math.sqrt(4 / 10_000), 0.5, 0.5, 0.5]
    assert adversaries.bandits_lower_bound_means(2, 8).means.min() == 0.25
    # Uniform over arms: 900 seeds, Hoeffding, 3 comparisons: false alarm at most 1e-6.
    good = [adversaries.bandits_lower_bound_means(100, 3, seed=s).means.argmin() for s in range(900)]
    assert np.abs(np.bincount(good, minlength=3) / 900 - 1 / 3).max() < hoeffding(900, 3)


class FollowTheLeader:
    """User-defined learner, known only through its player."""

    def start(self, seed):
        return self

    def __init__(self, n):
        self.L = np.zeros(n)

    def distribution(self):
        return np.eye(len(self.L))[self.L.argmin()]

    def act(self):
        return None

    def observe(self, move, losses):
        self.L = self.L + losses


def test_greedy_works_for_a_learner_without_a_potential():
    learner = FollowTheLeader(3)
    losses = greedy(learner, 3)
    # The least likely leader has no loss, so follow-the-leader loses whenever there is a tie.
    assert losses[0].tolist() == [1.0, 0.0, 1.0]
    assert losses.shape == (3, 3)


def exact_regret(learner, losses):
    """Return the expected regret of the learner on one sequence, computed by stepping; nothing is sampled."""
    player = learner.start(0)
    own = 0.0
    for row in losses:
        own += float(player.distribution() @ row)
        player.observe(player.act(), row)
    return own - float(losses.sum(axis=0).min())


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("smoothing", [hn.Entropy(), hn.Exponential(), hn.Tsallis(0.5)])
@pytest.mark.parametrize("tuning", [hn.Horizon(150), hn.Anytime(), hn.SelfConfident()])
def test_greedy_never_exceeds_the_bound_and_beats_every_other_adversary(n, smoothing, tuning):
    rounds = 150
    learner = hn.Experts(n, smoothing, tuning=tuning)
    losses = greedy(learner, rounds)
    assert losses.shape == (rounds, n)
    assert set(np.unique(losses)) <= {0.0, 1.0}
    regret = exact_regret(learner, losses)
    assert regret <= learner.bound(rounds=rounds, best_loss=losses.sum(axis=0).min()).value + 1e-9
    for name in ALL:
        assert regret >= exact_regret(learner, all_adversaries()[name](rounds, n)) - 1e-9, name


def test_greedy_comes_close_to_the_bound_of_hedge():
    learner = hn.Experts(10, hn.Entropy(), tuning=hn.Horizon(300))
    regret = exact_regret(learner, greedy(learner, 300))
    assert 0.95 * learner.bound(rounds=300).value < regret <= learner.bound(rounds=300).value


def test_greedy_uses_the_units_of_the_learner():
    plain = greedy(hn.Experts(3, hn.Entropy(), tuning=hn.Fixed(2.0)), 40)
    wide = greedy(hn.Experts(3, hn.Entropy(), tuning=hn.Fixed(2.0), loss_range=(-1, 3)), 40)
    gains = greedy(hn.Experts(3, hn.Entropy(), tuning=hn.Fixed(2.0), loss_range=(-1, 3), gains=True), 40)
    assert np.array_equal(wide, 4.0 * plain - 1.0)
    assert np.array_equal(gains, 3.0 - 4.0 * plain)


def test_greedy_uses_the_prior():
    learner = hn.Experts(3, hn.Entropy(), tuning=hn.Fixed(2.0), prior=(0.7, 0.2, 0.1))
    regret = exact_regret(learner, greedy(learner, 60))
    uniform = greedy(hn.Experts(3, hn.Entropy(), tuning=hn.Fixed(2.0)), 60)
    assert regret > exact_regret(learner, uniform)


def test_greedy_needs_full_information():
    rejected(lambda: greedy(hn.Bandit(3), 10), "greedy", "learner")
