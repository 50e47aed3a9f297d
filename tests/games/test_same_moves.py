"""Games make the moves of the stepped player and of slow oracles."""

import itertools
import math

import naive_games as naive
import numpy as np
import pytest
from naive_games import losses_of

from hannan.games.play import play
from hannan.learners.bandits import Bandit
from hannan.learners.estimators import ConditionalResampling, GeometricResampling, ImportanceWeighted
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.tuning import Anytime, BestLoss, Fixed, Horizon, SelfConfident
from hannan.mathematics.laws.heavy import Frechet
from hannan.mathematics.laws.light import Exponential, Gumbel, Laplace
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis

ROUNDS = 1000


def built(make):
    """Return the learner, or None if this combination does not exist."""
    try:
        return make()
    except ValueError:
        return None


SMOOTHINGS = [Entropy(), Gumbel(), Tsallis(0.5), Tsallis(0.3), LogBarrier(), Exponential(), Laplace(), Frechet(3.0)]
TUNINGS = [Fixed(7.0), Horizon(ROUNDS), Anytime(), BestLoss(100.0, ROUNDS), SelfConfident(ROUNDS)]
ESTIMATORS = [ImportanceWeighted(), GeometricResampling(40), ConditionalResampling(40)]
BANDITS = [
    learner
    for smoothing, tuning, estimator in itertools.product(SMOOTHINGS, TUNINGS, ESTIMATORS)
    if (learner := built(lambda: Bandit(5, smoothing, tuning, estimator=estimator)))  # noqa: B023
] + [Bandit(100, Entropy(), Fixed(30.0)), Bandit(100, Entropy(), Anytime()), Bandit(1, Entropy(), Fixed(1.0))]
EXPERTS = [
    learner
    for smoothing, tuning in itertools.product(SMOOTHINGS, TUNINGS)
    if (learner := built(lambda: Experts(5, smoothing, tuning)))  # noqa: B023
] + [
    Experts(100, Entropy(), Fixed(30.0)),
    Experts(100, Entropy(), Fixed(3.0)),
    Experts(100, Entropy(), SelfConfident()),
    Experts(3, Entropy(), Fixed(4.0), prior=(0.7, 0.2, 0.1)),
    Experts(4, Entropy(), Anytime(), loss_range=(-1.0, 3.0), gains=True),
]


def moves_of(player, losses, advice=None):
    moves = []
    for t, row in enumerate(losses):
        move = player.act() if advice is None else player.act(advice[t])
        player.observe(move, row if player.sees_all else float(row[move.action]))
        moves.append(move.action)
    return moves


def in_units(learner, losses):
    low, high = learner.loss_range
    return low + (high - low) * losses


@pytest.mark.parametrize("learner", BANDITS, ids=repr)
def test_bandit_player_makes_the_moves_of_run_0(learner):
    rounds = 300 if not isinstance(learner.smoothing, Entropy | Tsallis) else ROUNDS
    losses = in_units(learner, losses_of(rounds, learner.n))
    player = learner.start(3)
    record = play(learner, losses, runs=1, seed=3, keep="all")
    assert record.actions[0].tolist() == moves_of(player, losses)
    own = losses[np.arange(rounds), record.actions[0]].cumsum()
    best = losses.cumsum(axis=0).min(axis=1)
    np.testing.assert_allclose(record.regret[0], own - best, atol=1e-9)
    certificate = player.certificate()
    assert record.estimated_regret[0] == pytest.approx(certificate.estimated_regret, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 10, 33, 64, 65])
@pytest.mark.parametrize("scale", [0.05, 5.0, 300.0])
def test_softmax_bandit_is_the_same_alone_in_lanes_and_stepped(n, scale):
    """Three implementations: a single run, lanes, and the player. At scale 0.05 the weights are often recomputed."""
    learner, losses = Bandit(n, Entropy(), Fixed(scale)), losses_of(ROUNDS, n, seed=n)
    stepped = moves_of(learner.start(2), losses)
    alone, many = (play(learner, losses, runs=runs, seed=2, keep="all") for runs in (1, 17))
    assert alone.actions[0].tolist() == stepped
    assert many.actions[0].tolist() == stepped
    np.testing.assert_array_equal(alone.regret[0], many.regret[0])


@pytest.mark.parametrize("learner", EXPERTS, ids=repr)
def test_experts_player_makes_the_moves_of_run_0(learner):
    rounds = 300 if not isinstance(learner.smoothing, Entropy | Tsallis) else ROUNDS
    losses = in_units(learner, losses_of(rounds, learner.n))
    player = learner.start(3)
    record = play(learner, losses, runs=3, seed=3, keep="all")
    assert record.actions[0].tolist() == moves_of(player, losses)
    sign = -1.0 if learner.gains else 1.0
    best = sign * (sign * losses).cumsum(axis=0).min(axis=1)
    for run in range(3):
        own = losses[np.arange(rounds), record.actions[run]].cumsum()
        np.testing.assert_allclose(record.regret[run], sign * (own - best), atol=1e-8)
    assert record.expected_regret[-1] == pytest.approx(player.certificate().regret, abs=1e-8)
    assert record.best_loss == pytest.approx(best[-1])


CLIPS = [0.0, 0.1, "tuned"]


@pytest.mark.parametrize("smoothing", [Entropy(), Exponential(), Tsallis(0.5)], ids=repr)
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("experts", [6, 80])
def test_expert_bandit_player_makes_the_moves_of_run_0(smoothing, clip, mixed, experts):
    rng = np.random.default_rng(0)
    rounds = 200 if isinstance(smoothing, Exponential) else 600
    advice = rng.dirichlet(np.ones(4), (rounds, experts)) if mixed else rng.integers(0, 4, (rounds, experts))
    losses = losses_of(rounds, 4)
    tunings = [SelfConfident(), Anytime()] if clip == "tuned" else [Fixed(9.0), Anytime(), Horizon(rounds)]
    played = 0
    for tuning in tunings:
        learner = built(lambda: ExpertBandit(4, experts, smoothing, tuning, clip=clip))  # noqa: B023
        if learner is None:
            continue
        played += 1
        record = play(learner, losses, runs=1, seed=5, advice=advice, keep="all")
        assert record.actions[0].tolist() == moves_of(learner.start(5), losses, advice)
        share = advice if mixed else np.eye(4)[advice]
        best = np.einsum("tij,tj->ti", share, losses).cumsum(axis=0).min(axis=1)
        own = losses[np.arange(rounds), record.actions[0]].cumsum()
        np.testing.assert_allclose(record.regret[0], own - best, atol=1e-9)
    assert played or isinstance(smoothing, Tsallis)


def test_games_equal_slow_oracles():
    losses = losses_of(600, 5)
    for learner, oracle in [
        (Bandit(5, Entropy(), Fixed(6.0)), naive.softmax),
        (Bandit(5, Entropy(), Anytime(2.0)), naive.softmax),
        (Bandit(5, Tsallis(0.5), Anytime(1.0)), naive.tsallis_half),
    ]:
        schedule = learner.schedule()
        record = play(learner, losses, runs=2, seed=9, keep="all")
        for run in range(2):
            actions, _ = naive.bandit(oracle, schedule.scale, losses, 9, run)
            assert record.actions[run].tolist() == actions.tolist()
    for fictitious in (False, True):
        learner = Experts(5, Entropy(), SelfConfident())
        record = play(learner, losses, runs=2, seed=9, keep="all", fictitious=fictitious)
        for run in range(2):
            actions, own, mean = naive.experts(naive.softmax, learner.schedule().scale, losses, 9, run, fictitious)
            assert record.actions[run].tolist() == actions.tolist()
            best = losses.cumsum(axis=0).min(axis=1)
            np.testing.assert_allclose(record.regret[run], own - best, atol=1e-9)
            np.testing.assert_allclose(record.expected_regret, mean - best, atol=1e-9)
    assert "fictitious" in record.note
    assert record.bound is None
    rng = np.random.default_rng(1)
    losses = losses_of(600, 3)
    for clip, mixed in itertools.product([0.0, 0.2], [False, True]):
        advice = rng.dirichlet(np.ones(3), (600, 7)) if mixed else rng.integers(0, 3, (600, 7))
        learner = ExpertBandit(3, 7, Entropy(), Fixed(8.0), clip=clip)
        record = play(learner, losses, runs=2, seed=4, advice=advice, keep="all")
        for run in range(2):
            actions, _ = naive.expert_bandit(
                naive.softmax,
                lambda t, own: 8.0,
                losses,
                advice,
                4,
                run,
                lambda own: clip,  # noqa: B023
            )
            assert record.actions[run].tolist() == actions.tolist()


def test_players_and_games_have_the_same_mean_loss():
    """5,000 rounds of players and games with other seeds: mean own losses differ by less than 5 standard errors
    (Welch), a false alarm of 6e-7."""
    losses = losses_of(5000, 4)
    learner = Bandit(4, Entropy(), Anytime())
    game = play(learner, losses, runs=40, seed=0)
    stepped = []
    for seed in range(100, 112):
        player = learner.start(seed)
        stepped.append(sum(losses[t, a] for t, a in enumerate(moves_of(player, losses))))
    own = game.regret[:, -1] + game.best_loss
    error = math.sqrt(own.var(ddof=1) / 40 + np.var(stepped, ddof=1) / 12)
    assert abs(own.mean() - np.mean(stepped)) < 5 * error
