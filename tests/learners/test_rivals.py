"""The rivals: compositions are what they say, the engine equals slow transcriptions, published bounds are kept."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import hannan as hn
from hannan import _engine
from hannan.learners import published
from hannan.learners.estimators import Drawn
from hannan.mathematics.convex.domains import Ball

WITHOUT_TUNING = [hn.Squint, hn.AdaNormalHedge, hn.MLPoly]
ADVERSARIES = hn.adversaries.all_adversaries()


# Compositions


def test_compositions_are_no_code_of_their_own():
    assert hn.hedge(5, 100) == hn.Experts(5, hn.Entropy(), hn.Horizon(100))
    assert hn.hedge(5) == hn.Experts(5, hn.Entropy(), hn.SelfConfident())
    assert hn.exp3(5) == hn.Bandit(5, hn.Entropy(), hn.Anytime())
    assert hn.exp4(3, 5, 100) == hn.ExpertBandit(3, 5, hn.Entropy(), hn.Horizon(100))
    assert hn.exp4_clipped(3, 5) == hn.ExpertBandit(3, 5, hn.Entropy(), hn.SelfConfident(), clip="tuned")
    assert hn.tsallis_inf(5, False) == hn.Bandit(5, hn.Tsallis(0.5), hn.Anytime(1.0))
    assert hn.frechet_ftpl(5, 4.0).schedule().scale(100, 0.0) == 2.5


def test_hedge_is_gumbel_and_the_textbook():
    losses = hn.adversaries.stochastic(200, 4, seed=3)
    learner = hn.hedge(4, 200)
    scale = learner.schedule().scale(1, 0.0)
    assert scale == pytest.approx(1.0 / math.sqrt(8.0 * math.log(4) / 200), rel=1e-15)
    gumbel = hn.Experts(4, hn.Gumbel(), hn.Horizon(200)).start(0)
    player, L = learner.start(0), np.zeros(4)
    for row in losses:
        w = np.exp(-(L - L.min()) / scale)
        np.testing.assert_allclose(player.distribution(), w / w.sum(), rtol=1e-10)
        assert (gumbel.distribution() == player.distribution()).all()
        move = player.act()
        assert gumbel.act()[1:] == move[1:]
        player.observe(move, row)
        gumbel.observe(gumbel.open_moves[0], row)
        L += row


def test_exp3_ix_weighs_by_p_plus_gamma():
    learner = hn.exp3_ix(4, 500)
    gamma = learner.estimator.gamma
    assert gamma == pytest.approx(math.sqrt(2 * math.log(4) / (4 * 500)) / 2, rel=1e-12)
    player, L = learner.start(1), np.zeros(4)
    for t in range(50):
        move = player.act()
        L[move.action] += (t % 3) / 2 / (move.probability + gamma)
        player.observe(move, (t % 3) / 2)
    np.testing.assert_allclose(player._losses, L, rtol=1e-12)


# Reduced variance


def reduced_variance_by_hand(n, losses, seed, scale_of):
    """The definition, with the solver of FTRL and the moves of the player."""
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
    np.testing.assert_allclose(player._losses, L, rtol=1e-6, atol=1e-6)


def test_reduced_variance_is_its_definition():
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


def test_a_late_loss_meets_the_baselines_of_its_ticket():
    learner = hn.tsallis_inf(3)
    player = learner.start(2)
    for _ in range(100):
        move = player.act()
        player.observe(move, 0.0 if move.action == 0 else 1.0)
    first = player.act()
    before = player._saved()["baselines"]
    held = [player.act() for _ in range(3)]
    for move in held:
        player.observe(move, 1.0)
    after = player._losses
    player.observe(first, 0.25)
    expected = after + before
    expected[first.action] += (0.25 - before[first.action]) / first.probability
    np.testing.assert_allclose(player._losses, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "learner",
    [
        hn.tsallis_inf(6), hn.tsallis_inf(6, False), hn.exp3_ix(6, 1000), hn.frechet_ftpl(6), hn.exp3_s(6, 1000, 3),
        hn.frechet_ftpl(6, 2.0, hn.ReducedVariance()), hn.LBInf(6, 1000), hn.TsallisShannon(6),
        hn.frechet_ftpl(6, 2.0, hn.ConditionalResampling(50)),
        hn.Bandit(6, hn.Entropy(), hn.Horizon(1000), hn.ReducedVariance()),
        hn.Squint(6), hn.AdaNormalHedge(6), hn.MLPoly(6), hn.fixed_share(6, 1000, 3), hn.Dropout(6), hn.RandomWalk(6),
    ],
    ids=repr,
)  # fmt: skip
def test_player_and_run_0_make_the_same_moves(learner):
    rounds = 200 if "Frechet" in repr(learner) else 1000
    losses = hn.adversaries.stochastic(rounds, 6, seed=9)
    record = hn.play(learner, losses, runs=3, seed=12, keep="all")
    player = learner.start(12)
    for t, row in enumerate(losses):
        move = player.act()
        assert move.action == record.actions[0, t]
        player.observe(move, row if player.sees_all else float(row[move.action]))
    again = hn.play(learner, losses, runs=3, seed=12, keep="all", threads=1)
    assert (again.actions == record.actions).all()
    assert (record.actions[0] != record.actions[1]).any()


# Squint, AdaNormalHedge, ML-Poly against slow transcriptions


def weights_by_hand(learner, R, V):
    if isinstance(learner, hn.Squint):
        w = [
            mpmath.quad(lambda e, r=r, v=v: mpmath.exp(e * r - e * e * v), [0, 0.25, 0.5])
            for r, v in zip(R, V, strict=True)
        ]
        return np.array([float(x / mpmath.fsum(w)) for x in w])
    if isinstance(learner, hn.AdaNormalHedge):
        w = [
            (mpmath.exp(max(r + 1, 0.0) ** 2 / (3 * (c + 1))) - mpmath.exp(max(r - 1, 0.0) ** 2 / (3 * (c + 1)))) / 2
            for r, c in zip(R, V, strict=True)
        ]
        return np.array([float(x / mpmath.fsum(w)) for x in w])
    w = np.maximum(R, 0.0) / (1.0 + V)
    return w / w.sum() if w.sum() > 0 else np.full(len(R), 1 / len(R))


@pytest.mark.parametrize("kind", WITHOUT_TUNING)
@pytest.mark.parametrize("adversary", ["stochastic", "small_best_loss", "alternating_leader"])
def test_second_order_weights_are_their_definitions(kind, adversary):
    learner, losses = kind(4), ADVERSARIES[adversary](120, 4, seed=2)
    player, R, V = learner.start(0), np.zeros(4), np.zeros(4)
    for row in losses:
        p = player.distribution()
        np.testing.assert_allclose(p, weights_by_hand(learner, R, V), rtol=1e-9, atol=1e-12)
        r = p @ row - row
        R += r
        V += np.abs(r) if kind is hn.AdaNormalHedge else r * r
        player.observe(player.act(), row)


@pytest.mark.parametrize(("R", "V"), [
    (0.0, 0.0), (1e-9, 1e-18), (1.9, 0.99), (2.1, 1e-6), (-2.1, 1e-6), (30.0, 0.3), (-500.0, 300.0), (900.0, 1000.0),
    (1000.0, 900.0), (-3.0, 1e5), (1e4, 1e5), (2e5, 1e6),
])  # fmt: skip
def test_the_evidence_of_squint(R, V):
    peak = min(max(R / (2 * V), 0.0), 0.5) if V > 0 else 0.5
    width = 1 / math.sqrt(2 * V) if V > 0 else 1.0
    cuts = sorted({0.0, 0.5, *(min(max(peak + k * width, 0.0), 0.5) for k in (-20, -5, -1, 0, 1, 5, 20))})
    with mpmath.workdps(30):
        top = mpmath.mpf(peak) * R - mpmath.mpf(peak) ** 2 * V
        whole = mpmath.quad(lambda e: mpmath.exp(e * R - e * e * V - top), cuts)
        exact = float(mpmath.log(whole) + top)
    assert _engine.log_evidence(R, V) == pytest.approx(exact, rel=1e-12, abs=1e-11)


def test_the_published_bound_of_squint_is_above_the_potentials():
    """sum_i g(R_i, V_i) <= 0, g = int (e^(eta R - eta^2 V) - 1)/eta, is exact; so g(R, V) <= (n-1) |g(-T, T)|."""

    def g(R, V):
        return float(mpmath.quad(lambda e: mpmath.expm1(e * R - e * e * V) / e, [0, 0.01, 0.1, 0.5]))

    for n in (2, 50):
        for rounds in (1, 30, 10**4):
            for V in (0.0, 1.0, 25.0, 1000.0):
                if rounds >= V:
                    regret = sum(hn.Squint(n).terms(rounds, V).values())
                    assert g(regret, V) >= (n - 1) * -g(-rounds, rounds)


@pytest.mark.parametrize("kind", WITHOUT_TUNING)
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("n", [2, 9])
def test_second_order_bounds_hold_in_exact_expectation(kind, adversary, n):
    """Full information: the expected regret is exact, and so is the comparison; in the V that was seen too."""
    learner, losses = kind(n), ADVERSARIES[adversary](800, n, seed=4)
    record = hn.play(learner, losses)
    assert record.expected_regret[-1] <= record.bound.value
    player = learner.start(0)
    for row in losses[:300]:
        player.observe(player.act(), row)
    certificate = player.certificate()
    assert certificate.regret <= certificate.bound.value


@pytest.mark.parametrize("kind", WITHOUT_TUNING)
def test_second_order_bounds_hold_against_the_greedy_adversary(kind):
    learner = kind(3)
    losses = hn.adversaries.greedy(learner, 300)
    record = hn.play(learner, losses)
    assert record.expected_regret[-1] <= record.bound.value


@pytest.mark.parametrize("kind", [*WITHOUT_TUNING, lambda n: hn.FixedShare(n, 4.0, 0.01)])
def test_sleepers_keep_their_regret(kind):
    player = kind(3).start(0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        player.observe(player.act(), rng.random(3))
    before = player._own - player._losses
    awake = np.array([True, True, False])
    move = player.act(awake=awake)
    assert move.action != 2
    player.observe(move, [0.3, 0.6, np.nan])
    after = player._own - player._losses
    assert after[2] == pytest.approx(before[2], abs=1e-12)


# Switching


def test_fixed_share_is_bayes_over_paths():
    """p_t is the posterior over all paths of the Markov prior, by enumeration."""
    n, rounds, scale, share = 2, 7, 1.5, 0.2
    losses = np.random.default_rng(0).random((rounds, n))
    player = hn.FixedShare(n, scale, share).start(0)
    for t in range(rounds):
        w = np.zeros(n)
        for path in np.ndindex(*(n,) * (t + 1)):
            prior = 1 / n
            for a, b in pairwise(path):
                prior *= share / n + (1 - share) * (a == b)
            w[path[-1]] += prior * math.exp(-sum(losses[s, i] for s, i in enumerate(path[:-1])) / scale)
        np.testing.assert_allclose(player.distribution(), w / w.sum(), rtol=1e-12)
        player.observe(player.act(), losses[t])


@pytest.mark.parametrize("switches", [1, 4])
def test_fixed_share_follows_a_best_expert_that_changes(switches):
    rounds, n = 1000, 5
    losses = hn.adversaries.switching(rounds, n, seed=1, phases=switches + 1, gap=0.8)
    learner = hn.fixed_share(n, rounds, switches)
    record = hn.play(learner, losses)
    own = record.expected_regret[-1] + losses.sum(axis=0).min()
    path = sum(part.sum(axis=0).min() for part in np.array_split(losses, switches + 1))
    assert own - path <= learner.bound(rounds, switches=switches).value
    assert record.expected_regret[-1] <= learner.bound(rounds).value
    hedge = hn.play(hn.hedge(n, rounds), losses)
    assert record.expected_regret[-1] < hedge.expected_regret[-1]


def test_exp3_s_beats_exp3_when_the_best_arm_changes():
    rounds, n = 6000, 4
    means = hn.adversaries.switching_means(rounds, n, seed=1, phases=3, gap=0.9)
    share = hn.play(hn.exp3_s(n, rounds, 2), means, runs=24, seed=1)
    plain = hn.play(hn.exp3(n, rounds), means, runs=24, seed=1)
    assert share.interval(0.9999)[1][-1] < plain.interval(0.9999)[0][-1]


def test_switches_are_refused_where_there_is_no_room():
    with pytest.raises(ValueError, match="switches must be fewer than"):
        hn.fixed_share(3, 10, 9)
    with pytest.raises(hn.Withheld, match="at most 9 switches"):
        hn.FixedShare(3, 1.0, 0.1).bound(10, switches=10)


# Bandits


def lb_inf_by_hand(learner, losses, seed):
    """The definition, solved by bisection."""
    n, log_t = learner.n, math.log(learner.rounds)
    g, m, S = np.full(n, 2.0), np.full(n, 0.5), np.zeros(n)
    player = learner.start(seed)
    for row in losses:
        d = S + m - (S + m).min()
        low, high = 0.0, g.sum()
        for _ in range(200):
            x = (low + high) / 2
            low, high = (x, high) if (g / (d + x)).sum() > 1 else (low, x)
        p = g / (d + high)
        np.testing.assert_allclose(player.distribution(), p, rtol=1e-8)
        move = player.act()
        i, loss = move.action, row[move.action]
        away = p.copy()
        away[i] = 1 - p[i]
        g += (loss - m[i]) ** 2 * away**2 / (2 * g * log_t)
        S += m
        S[i] += (loss - m[i]) / p[i]
        m[i] = 0.75 * m[i] + 0.25 * loss
        player.observe(move, float(loss))


def test_lb_inf_is_its_definition():
    lb_inf_by_hand(hn.LBInf(4, 500), np.random.default_rng(1).random((300, 4)) * [0.3, 1, 1, 1], 3)


def test_lb_inf_withholds_what_has_no_constants():
    record = hn.play(hn.lb_inf(3, 100), np.zeros((100, 3)))
    assert record.bound is None
    assert "order" in record.bound_withheld


def test_delayed_is_tsallis_inf_while_losses_are_prompt():
    losses = np.random.default_rng(1).random((300, 5))
    late, prompt = hn.TsallisShannon(5).start(4), hn.tsallis_inf(5, False).start(4)
    for row in losses:
        np.testing.assert_allclose(late.distribution(), prompt.distribution(), rtol=1e-9)
        move = late.act()
        assert move.action == prompt.act().action
        late.observe(move, float(row[move.action]))
        prompt.observe(prompt.open_moves[0], float(row[move.action]))
    assert late.missing == 0


def test_delayed_minimises_what_it_says():
    """Stationarity of <L, x> - 2 sqrt t sum sqrt x + theta sum x log x: one multiplier for all arms."""
    n, delay = 4, 7
    player, queue = hn.TsallisShannon(n).start(0), []
    rng, missing = np.random.default_rng(0), 0
    for t in range(1, 200):
        p, L = player.distribution(), player._losses
        theta = math.sqrt(2 * (missing + len(queue)) / math.log(n))
        slope = L - math.sqrt(t) / np.sqrt(p) + theta * np.log(p)
        assert np.ptp(slope) < 1e-7 * (1 + abs(slope).max())
        missing += len(queue)
        queue.append((player.act(), rng.random(n)))
        if len(queue) > delay:
            move, row = queue.pop(0)
            player.observe(move, float(row[move.action]))
    for move, row in queue:
        player.observe(move, float(row[move.action]))
    assert player.missing == missing
    assert f"D = {missing}" in player.certificate().bound.source or "rounds times" in player.certificate().bound.source


@pytest.mark.parametrize("n", [2, 8])
@pytest.mark.parametrize("adversary", ["stochastic", "cyclic", "alternating_leader", "small_best_loss"])
def test_bandit_bounds_are_above_the_lower_end_of_the_interval(n, adversary):
    losses = ADVERSARIES[adversary](2000, n, seed=5)
    for learner in (
        hn.tsallis_inf(n), hn.tsallis_inf(n, False), hn.exp3_ix(n, 2000), hn.exp3_s(n, 2000), hn.TsallisShannon(n)
    ):  # fmt: skip
        record = hn.play(learner, losses, runs=16, seed=3)
        # 0.999999: a bound that holds is contradicted once in a million.
        assert record.interval(0.999999)[0][-1] <= record.bound.value


def test_published_bounds():
    assert published.tsallis_inf_reduced(8, 10**6)["2 sqrt(n T)"] == pytest.approx(5656.854, rel=1e-6)
    # Our own proof for Tsallis at the same scale, 4 sqrt(nT) - 2 sqrt T, is the smaller one and is printed.
    assert hn.tsallis_inf(4, False).bound(10**4).value == pytest.approx(4 * 200 - 200, rel=1e-12)
    frechet = hn.frechet_ftpl(10**4).bound(10**9)
    assert frechet.source.startswith("Honda")
    assert frechet.value == pytest.approx(
        (24 * math.sqrt(math.pi) + 1.85) * math.sqrt(10**13) + 20 + math.sqrt(math.pi * 10**4) / 2, rel=1e-12
    )
    with pytest.raises(hn.Withheld):
        hn.frechet_ftpl(4, 2.0, hn.ReducedVariance()).bound(100)
    ix = hn.exp3_ix(10, 1000)
    exact = hn.exp3(10, 1000).bound(1000).value
    assert ix.bound(1000).value == pytest.approx(exact * 1.5, rel=1e-12)


def test_stochastic_regret_is_logarithmic_in_both_published_set_ups():
    """8 arms, gap 1/8, 10,000 rounds: far below what Exp3 pays (1e-6: intervals of 24 runs at 0.999999)."""
    for means in (
        hn.adversaries.stochastic_means(10_000, 8, 0.125),
        hn.adversaries.stochastically_constrained_means(10_000, 8, 0.125),
    ):
        reduced = hn.play(hn.tsallis_inf(8), means, runs=24, seed=2)
        exp3 = hn.play(hn.exp3(8), means, runs=24, seed=2)
        assert reduced.interval(0.999999)[1][-1] < exp3.interval(0.999999)[0][-1]


# Leaders of noisy sums


def test_dropout_hears_half_of_the_losses():
    """1,000 rounds of loss 1 on one arm: heard Binomial(1000, 1/2), within 5 sd (6e-7)."""
    player = hn.Dropout(2).start(0)
    for _ in range(1000):
        player.observe(player.act(), [1.0, 0.0])
    heard = player._memory[2:]  # behind the losses as last seen
    assert abs(heard[0] - 500) < 5 * math.sqrt(250)
    assert heard[1] == 0


@pytest.mark.parametrize("kind", [hn.Dropout, hn.RandomWalk])
@pytest.mark.parametrize("adversary", ["stochastic", "alternating_leader", "cyclic", "small_best_loss"])
def test_noisy_leaders_keep_their_bounds(kind, adversary):
    record = hn.play(kind(4), ADVERSARIES[adversary](2000, 4, seed=1), runs=40, seed=2)
    assert record.interval(0.999999)[0][-1] <= record.bound.value


def test_the_random_walk_is_not_first_order_and_dropout_is():
    """L* = 0: one expert never loses, the other in the second half only, which the walks of the first half hide."""
    regrets = {}
    for rounds in (400, 6400):
        losses = np.zeros((rounds, 2))
        losses[rounds // 2 :, 1] = 1.0
        for kind in (hn.RandomWalk, hn.Dropout):
            regrets[kind, rounds] = hn.play(kind(2), losses, runs=400, seed=1).mean_regret[-1]
    # Sixteen times the rounds, four times the regret: 2.5 is far outside the noise of 400 runs (below 1e-6).
    assert regrets[hn.RandomWalk, 6400] > 2.5 * regrets[hn.RandomWalk, 400]
    assert regrets[hn.Dropout, 6400] < 2.0


def test_the_random_walk_changes_its_mind_seldom():
    """O(sqrt(T log n)) switches, where following random draws would switch in most rounds."""
    losses = hn.adversaries.experts_lower_bound(4000, 4, seed=1)
    record = hn.play(hn.RandomWalk(4), losses, runs=8, seed=1, keep="all")
    switches = (np.diff(record.actions, axis=1) != 0).sum(axis=1)
    assert switches.max() < 10 * math.sqrt(4000 * math.log(4))


def test_bad_descriptions_are_refused():
    for build in (
        lambda: hn.Squint(0), lambda: hn.Squint(2, (1.0, 0.0)), lambda: hn.FixedShare(2, 0.0, 0.1),
        lambda: hn.FixedShare(2, 1.0, 0.0), lambda: hn.FixedShare(2, 1.0, 1.0), lambda: hn.LBInf(2, 1),
        lambda: hn.Dropout(2, 1.0), lambda: hn.frechet_ftpl(2, 0.0), lambda: hn.ImplicitExploration(0.0),
        lambda: hn.exp3_s(2, 3, 2), lambda: hn.TsallisShannon(2, gains="no"),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            build()


# MYGA


def small_loss_game(seed, rounds=400, actions=4, experts=16):
    """One expert is always right, the others advise at random."""
    rng = np.random.default_rng(seed)
    best = rng.integers(actions, size=rounds)
    losses = np.ones((rounds, actions))
    losses[np.arange(rounds), best] = 0.0
    advice = rng.integers(actions, size=(rounds, experts))
    advice[:, 0] = best
    return losses, advice.astype(np.uint8)


def test_myga_beats_exp4_where_the_best_loss_is_small():
    losses, advice = small_loss_game(0)
    myga = hn.play(hn.myga(4, 16, 400, best_loss=1.0), losses, runs=6, seed=1, advice=advice)
    for rival in (hn.exp4(4, 16, 400), hn.exp4(4, 16)):
        record = hn.play(rival, losses, runs=16, seed=1, advice=advice)
        assert myga.interval(0.9999)[1][-1] < record.interval(0.9999)[0][-1]


def test_the_mixture_of_myga_is_its_own_fixed_point():
    """q W = sum_e w_e E_e + sum_s w_s T_s q, with T_s written out; and p = T_gamma q."""
    learner, rng = hn.MYGA(4, 6, 60), np.random.default_rng(1)
    step = 0.5 / learner.rounds
    mixture = _engine.Myga(4, 6, learner.thresholds, learner.eta, learner.gamma, step)
    grid = learner.gamma + (np.arange(learner.thresholds) + 1) * step

    def moved(q, majority, s):
        out = np.where((majority == 0) & (q <= s), 0.0, q)
        return np.where(majority == 1, q * (1 + (1 - out.sum()) / q[majority == 1].sum()), out)

    for _ in range(60):
        advice = rng.dirichlet(np.full(4, 0.3), 6)
        L, A = mixture.losses, mixture.mistrust
        q, majority, p = mixture.mix(advice.ravel())
        base = min(L.min(), A.min())
        w, v = np.exp(-learner.eta * (L - base)), np.exp(-learner.eta * (A - base))
        whole = w @ advice + sum(x * moved(q, majority, s) for x, s in zip(v, grid, strict=True))
        np.testing.assert_allclose(whole / (w.sum() + v.sum()), q, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(p, moved(q, majority, learner.gamma), rtol=1e-9, atol=1e-15)
        arm = int(np.argmax(p))
        mixture.charge(advice.ravel(), q, majority, arm, float(rng.random()) / p[arm])


def test_gaussian_ftpl_is_the_corollary():
    learner = hn.gaussian_ftpl(Ball(4, 2.0), 900)
    assert learner.bound(900).value <= 1.264 * 4**0.25 * 2.0 * 30.0


# Arms that sleep


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
    """Only the awake are drawn; sleepers are charged what was seen; open moves survive a restart."""
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
        np.testing.assert_allclose(player._losses, L, rtol=1e-9)
    certificate = player.certificate()
    assert certificate.bound is not None
    if certificate.claimed_rate is not None:
        assert certificate.realised_level <= certificate.claimed_rate * (1 + 1e-6) + 1e-9


def test_sleep_is_refused_where_nothing_is_proved():
    mask = np.array([True, False, True])
    for learner in (
        hn.tsallis_inf(3), hn.exp3_ix(3, 100), hn.LBInf(3, 100), hn.exp3_s(3, 100), hn.TsallisShannon(3),
        hn.Bandit(3, hn.LogBarrier(), hn.SelfConfident(100)), hn.Dropout(3), hn.RandomWalk(3),
        hn.Bandit(3, hn.Exponential(), hn.Anytime(), hn.GeometricResampling(9)),
    ):  # fmt: skip
        player = learner.start(0)
        before = json.dumps(player._content())
        with pytest.raises(ValueError, match="sleep"):
            player.act(awake=mask)
        assert json.dumps(player._content()) == before
    for learner in (hn.ExpertBandit(3, 3), hn.MYGA(3, 3, 100)):
        with pytest.raises(ValueError, match="sleep"):
            learner.start(0).act([0, 1, 2], awake=mask)


def test_a_default_bandit_says_what_can_sleep():
    with pytest.raises(ValueError, match=r"Bandit\(3, Tsallis\(0\.5\)\)"):
        hn.Bandit(3).start(0).act(awake=np.array([True, False, True]))
    assert hn.Bandit(3, hn.Tsallis(0.5)).start(0).act(awake=np.array([False, True, False])).action == 1


def test_bounds_of_sleeping_arms_hold_over_their_waking_rounds():
    """Arm i against own loss over the rounds it was awake in: the mean over 60 runs, lower end at 0.999999."""
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
