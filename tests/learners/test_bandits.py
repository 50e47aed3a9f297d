"""Bandits: reduced variance, unavailable arms, and regret within the bounds."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from plays import bandit_regret

import hannan as hn
from hannan.learners.estimators import Drawn

ADVERSARIES = hn.adversaries.all_adversaries()


def reduced_variance_by_hand(n, losses, seed, scale_of):
    """Return the estimate by definition, with the solver of FTRL and the moves of the player."""
    player = hn.tsallis_inf(n).start(seed)
    L = np.zeros(n)
    for t, row in enumerate(losses, start=1):
        scale = scale_of(t)
        p = hn.FTRL(hn.Tsallis(0.5), scale).gradient(L)
        np.testing.assert_allclose(player.distribution(), p, rtol=1e-9, atol=1e-13)
        move = player.act()
        B = np.where(p >= 4.0 / scale**2, 0.5, 0.0)
        L += B
        L[move.action] += (row[move.action] - B[move.action]) / p[move.action]
        player.observe(move, float(row[move.action]))
    np.testing.assert_allclose(player.losses, L, rtol=1e-6, atol=1e-6)


def test_reduced_variance_follows_its_definition():
    losses = hn.adversaries.stochastic(300, 4, seed=1, gap=0.5)
    reduced_variance_by_hand(4, losses, 5, lambda t: math.sqrt(t) / 2)


def test_reduced_variance_is_unbiased():
    """E lhat = l over the draw of the arm, exactly: sum_i p_i lhat^(i)."""
    p, row, scale = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.9, 0.0, 1.0]), 4.0
    mean = np.zeros(4)
    for i in range(4):
        drawn = Drawn(i, p, np.zeros(4), scale)
        B = hn.ReducedVariance().baselines(drawn)
        lhat = B.copy()
        lhat[i] += (row[i] - B[i]) * hn.ReducedVariance().weight(drawn, lambda: 0.5)
        mean += p[i] * lhat
    np.testing.assert_allclose(mean, row, atol=1e-15)


def test_late_loss_uses_the_baselines_of_its_ticket():
    learner = hn.tsallis_inf(3)
    player = learner.start(2)
    for _ in range(100):
        move = player.act()
        player.observe(move, 0.0 if move.action == 0 else 1.0)
    first = player.act()
    before = player.state()["baselines"]
    held = [player.act() for _ in range(3)]
    for move in held:
        player.observe(move, 1.0)
    after = player.losses
    player.observe(first, 0.25)
    expected = after + before
    expected[first.action] += (0.25 - before[first.action]) / first.probability
    np.testing.assert_allclose(player.losses, expected, rtol=1e-12)


@pytest.mark.parametrize("n", [2, 8])
@pytest.mark.parametrize("adversary", ["stochastic", "cyclic", "alternating_leader", "small_best_loss"])
def test_bandit_bounds_are_above_the_lower_end_of_the_interval(n, adversary):
    losses = ADVERSARIES[adversary](2000, n, seed=5)
    for learner in (
        hn.tsallis_inf(n), hn.tsallis_inf(n, False), hn.exp3_ix(n, 2000), hn.exp3_s(n, 2000), hn.TsallisShannon(n)
    ):  # fmt: skip
        record = hn.play(learner, losses, runs=16, seed=3)
        # 0.999999: a true bound is contradicted once in a million.
        assert record.interval(0.999999)[0][-1] <= record.bound.value


def test_regret_is_logarithmic_in_both_published_settings():
    """8 arms, gap 1/8, 10,000 rounds: far below the regret of Exp3 (1e-6: intervals of 24 runs at 0.999999)."""
    for means in (
        hn.adversaries.stochastic_means(10_000, 8, 0.125),
        hn.adversaries.stochastically_constrained_means(10_000, 8, 0.125),
    ):
        reduced = hn.play(hn.tsallis_inf(8), means, runs=24, seed=2)
        exp3 = hn.play(hn.exp3(8), means, runs=24, seed=2)
        assert reduced.interval(0.999999)[1][-1] < exp3.interval(0.999999)[0][-1]


@pytest.mark.parametrize(
    "learner",
    [
        hn.Bandit(4, hn.Tsallis(0.5)),
        hn.exp3(4),
        hn.exp3(4, 500),
        hn.Bandit(4, hn.Exponential(), hn.Fixed(9.0)),
        hn.exp3(70, 500),
    ],
    ids=repr,
)
def test_sleeping_arms(learner, tmp_path):
    """Only available arms are drawn; unavailable ones are charged the observed loss; pending moves survive a
    restart.
    """
    player, rng, n = learner.start(3), np.random.default_rng(0), learner.n
    L = np.zeros(n)
    for t in range(120):
        awake = rng.random(n) < 0.6
        awake[t % n] = True
        p = player.distribution(awake=awake)
        full = player.distribution()
        np.testing.assert_allclose(p, np.where(awake, full, 0.0) / full[awake].sum(), rtol=1e-9)
        move = player.act(awake=awake)
        assert awake[move.action]
        assert move.probability == pytest.approx(p[move.action], rel=1e-12)
        if t == 60:
            player.save(tmp_path / "player.json")
            player = hn.load(tmp_path / "player.json", resume="exact")
        loss = float(rng.random())
        player.observe(move, loss)
        if not awake.all():
            L[~awake] += loss
        L[move.action] += loss / move.probability
        np.testing.assert_allclose(player.losses, L, rtol=1e-9)
    certificate = player.certificate()
    assert certificate.bound is not None
    if certificate.claimed_rate is not None:
        assert certificate.realised_level <= certificate.claimed_rate * (1 + 1e-6) + 1e-9


def test_unavailable_arms_are_rejected_without_a_proof():
    mask = np.array([True, False, True])
    for learner in (
        hn.tsallis_inf(3), hn.exp3_ix(3, 100), hn.LBInf(3, 100), hn.exp3_s(3, 100), hn.TsallisShannon(3),
        hn.Bandit(3, hn.LogBarrier(), hn.SelfConfident(100)), hn.Dropout(3), hn.RandomWalk(3),
        hn.Bandit(3, hn.Exponential(), hn.Anytime(), hn.GeometricResampling(9)),
    ):  # fmt: skip
        player = learner.start(0)
        before = json.dumps(player.content())
        with pytest.raises(ValueError, match="awake"):
            player.act(awake=mask)
        assert json.dumps(player.content()) == before
    for learner in (hn.ExpertBandit(3, 3), hn.MYGA(3, 3, 100)):
        with pytest.raises(ValueError, match="awake"):
            learner.start(0).act([0, 1, 2], awake=mask)


def test_default_bandit_names_a_learner_for_unavailable_arms():
    with pytest.raises(ValueError, match=r"awake=.*Bandit\(3, hn\.Tsallis\(0\.5\)\)"):
        hn.Bandit(3).start(0).act(awake=np.array([True, False, True]))
    assert hn.Bandit(3, hn.Tsallis(0.5)).start(0).act(awake=np.array([False, True, False])).action == 1


def test_bounds_hold_over_the_rounds_in_which_an_arm_is_available():
    """Regret against arm i over the rounds in which it was available: lower end of the mean over 60 runs at
    0.999999.
    """
    rounds, n = 400, 3
    rng = np.random.default_rng(5)
    losses, masks = rng.random((rounds, n)) * [0.3, 1.0, 1.0], rng.random((rounds, n)) < 0.7
    masks[~masks.any(axis=1), 0] = True
    learner = hn.exp3(n, rounds)
    regrets = np.zeros((60, n))
    for run in range(60):
        player = learner.start(run)
        for row, awake in zip(losses, masks, strict=True):
            move = player.act(awake=awake)
            regrets[run] += np.where(awake, row[move.action] - row, 0.0)
            player.observe(move, float(row[move.action]))
    low = regrets.mean(axis=0) - 4.9 * regrets.std(axis=0, ddof=1) / math.sqrt(60)
    assert (low <= learner.bound(rounds).value).all()


def test_bandit_without_arguments_is_tsallis_inf():
    """All three parts omitted: Tsallis-INF with reduced variance. One part given: the others are those of the smallest
    bound.
    """
    half, exact = hn.Tsallis(0.5), hn.ImportanceWeighted()
    units = {"loss_range": (-1.0, 3.0), "gains": True}
    silent = hn.Bandit(4, **units)
    assert (silent.smoothing, silent.tuning, silent.estimator) == (half, hn.Anytime(0.5), hn.ReducedVariance())
    assert silent == hn.tsallis_inf(4, **units) == hn.Bandit(4, None, None, None, **units)
    for said, parts in (
        ({"smoothing": half}, (half, hn.Anytime(), exact)),
        ({"smoothing": hn.Entropy()}, (hn.Entropy(), hn.Anytime(), exact)),
        ({"tuning": hn.Anytime(0.5)}, (half, hn.Anytime(0.5), exact)),
        ({"tuning": hn.Horizon(9)}, (half, hn.Horizon(9), hn.ReducedVariance())),
        ({"smoothing": half, "tuning": hn.Horizon(9)}, (half, hn.Horizon(9), exact)),
        ({"estimator": exact}, (half, hn.Anytime(), exact)),
        ({"estimator": hn.ReducedVariance()}, (half, hn.Anytime(), hn.ReducedVariance())),
    ):
        learner = hn.Bandit(4, **said)
        assert (learner.smoothing, learner.tuning, learner.estimator) == parts
        assert eval(repr(learner), vars(hn) | {name: getattr(hn, name) for name in hn.__all__}) == learner
    # The bound of the default is the smaller one in long games, the other in short ones.
    short, long = (hn.Bandit(8).bound(t).value / hn.Bandit(8, half).bound(t).value for t in (500, 10_000))
    assert long < 1.0 < short


BANDITS = [
    hn.Bandit(4),
    hn.Bandit(4, hn.Entropy(), hn.Horizon(400)),
    hn.Bandit(4, hn.Exponential(), hn.Horizon(400)),
    hn.Bandit(4, hn.Exponential(), hn.Horizon(400), hn.GeometricResampling(40)),
    hn.Bandit(4, hn.Exponential(), hn.Horizon(400), hn.ConditionalResampling(40)),
    hn.Bandit(4, hn.LogBarrier(), hn.SelfConfident(400)),
    hn.Bandit(4, hn.LogBarrier(), hn.BestLoss(40, rounds=400)),
]


@pytest.mark.parametrize("learner", BANDITS, ids=repr)
def test_bandit_mean_regret_is_below_the_bound_and_the_estimate_above_it(learner):
    """One arm loses 0.1, the others 0.5; 40 runs. Margins of 5.2 standard errors, 14 tests: about 3e-6."""
    rng = np.random.default_rng(1)
    losses = (rng.random((400, 4)) < np.array([0.5, 0.1, 0.5, 0.5])).astype(float)
    best = losses.sum(axis=0).min()
    runs = [bandit_regret(learner, losses, seed) for seed in range(40)]
    regret = np.array([own - best for own, _ in runs])
    bound = learner.bound(400, best if best <= 40 else None).value
    assert regret.mean() + 5.2 * regret.std() / math.sqrt(40) < bound
    gap = np.array([estimate for _, estimate in runs]) - regret
    assert gap.mean() > -5.2 * gap.std() / math.sqrt(40) - 1e-9
