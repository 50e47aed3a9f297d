"""Numbers on which a user may rely, computed a second time: each of these tests fails for a factor of 1.2 or a sign.

Bounds of learners with their own proofs, schedules, the values in certificates and records, and the content of a file.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn
from hannan.learners import bandits
from hannan.learners.adahedge import Seen
from hannan.learners.fixed_share import path_cost
from hannan.learners.tuning import ClippedSchedule, Schedule
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Withheld
from hannan.saving.formatting import ceiling


def near(bound, value):
    """Equal, rounded up."""
    return value * (1 - 1e-15) <= bound.value <= value * (1 + 1e-10)


# Bounds


def test_fixed_share_and_exp3_s():
    n, rounds, switches, share, scale = 6, 4000, 3, 0.002, 25.0
    path = (
        (switches + 1) * math.log(n)
        + switches * math.log(1 / share)
        + (rounds - 1 - switches) * math.log(1 / (1 - share))
    )
    assert path_cost(n, rounds, switches, share) == pytest.approx(path, rel=1e-12)
    experts = hn.FixedShare(n, scale, share).bound(rounds, switches=switches)
    assert near(experts, scale * path + rounds / (8 * scale))
    bandit = hn.Exp3S(n, 100.0, share).bound(rounds, switches=switches)
    assert near(bandit, min(100.0 * path + n * rounds / 200.0, rounds))
    alone = hn.FixedShare(n, scale, share).bound(rounds)
    assert near(alone, scale * (math.log(n) - (rounds - 1) * math.log(1 - share)) + rounds / (8 * scale))
    tuned = hn.fixed_share(n, rounds, switches)
    share = switches / (rounds - 1)
    path = path_cost(n, rounds, switches, share)
    assert tuned.share == pytest.approx(share)
    assert tuned.scale == pytest.approx(math.sqrt(rounds / (8 * path)), rel=1e-12)
    assert near(tuned.bound(rounds, switches=switches), math.sqrt(rounds * path / 2))
    bandit = hn.exp3_s(n, 10**5, switches)
    path = path_cost(n, 10**5, switches, switches / (10**5 - 1))
    assert near(bandit.bound(10**5, switches=switches), math.sqrt(2 * n * 10**5 * path))


def test_the_prior_of_fixed_share_is_not_above_that_of_the_paths():
    """Computed directly: 2 experts, 3 rounds, a switch; the share may also return to the same expert."""
    a, n = 0.3, 2
    stay, move = 1 - a + a / n, a / n
    for switches, weight in ((0, stay**2 / n), (1, stay * move / n), (2, move**2 / n)):
        assert path_cost(n, 3, switches, a) >= -math.log(weight)
        assert path_cost(n, 3, switches, a) <= -math.log(weight) + 2 * math.log(stay / (1 - a)) + 1e-12


def test_adahedge_in_both_forms():
    n, log = 7, math.log(7)
    seen = Seen(rounds=900, best=300.0, least=100.0, most=800.0, span=2.0, variance=50.0, gap=20.0)
    around = (300 - 100) * (800 - 300) / (800 - 100)
    by_best = 2 * math.sqrt(2.0 * log * around) + 2.0 * (16 / 3 * log + 2)
    by_variance = 2 * math.sqrt(50.0 * log) + 2.0 * (4 / 3 * log + 2)
    assert by_variance < by_best
    assert near(hn.AdaHedge(n).observed_bound(seen), by_variance)
    loud = Seen(rounds=900, best=101.0, least=100.0, most=800.0, span=2.0, variance=500.0, gap=20.0)
    around = (101 - 100) * (800 - 101) / (800 - 100)
    assert near(hn.AdaHedge(n).observed_bound(loud), 2 * math.sqrt(2.0 * log * around) + 2.0 * (16 / 3 * log + 2))
    before = hn.AdaHedge(n).bound(10_000, spread=2.0)
    assert near(before, 2 * math.sqrt(2.0 * log * 2.0 * 10_000 / 4) + 2.0 * (16 / 3 * log + 2))
    ranged = hn.AdaHedge(n, loss_range=(0.0, 1.0)).bound(10_000, best_loss=100.0)
    assert near(ranged, 2 * math.sqrt(log * 100 * (1 - 0.01)) + 16 / 3 * log + 2)


def test_the_mixability_gap_is_small_next_to_the_variance():
    """gap/eta <= v/2 + span gap/3, the step behind 4/3 and 16/3; 1/3 cannot be replaced by 1/4, nor v/2 by 0.4 v."""
    rng, least = np.random.default_rng(0), {"third": math.inf, "half": math.inf}
    for _ in range(4000):
        eta, q = 10 ** rng.uniform(-2, 2), rng.random() ** 3
        # Two losses, 0 and 1, the latter with probability 1 - q: v = q(1-q), the largest for a given mean.
        gap = (1 - q) + math.log(q + (1 - q) * math.exp(-eta)) / eta
        v = q * (1 - q)
        assert gap / eta <= v / 2 + gap / 3 + 1e-12
        least["third"] = min(least["third"], v / 2 + gap / 4 - gap / eta)
        least["half"] = min(least["half"], 0.4 * v + gap / 3 - gap / eta)
    assert max(least.values()) < 0.0


def test_fpl():
    sets = hn.MSets(6, 2)  # d = 6, A = 6, R = 2, D = 4
    assert (sets.d, sets.most, sets.diameter) == (6, 2, 4)
    rounds = 10**5
    uniform = hn.FPL(sets, scale=500.0).bound(rounds)
    assert near(uniform, 2 * 6 * rounds / 500.0 + 4 * 500.0)
    tuned = hn.FPL.tuned(sets, rounds)
    assert tuned.scale == pytest.approx(math.sqrt(2 * 6 * rounds / 4), rel=1e-12)
    assert near(tuned.bound(rounds), 2 * math.sqrt(4 * 2 * 6 * rounds))
    grown = math.exp(6 / 500.0)
    one_sided = hn.FPL(sets, 500.0, "exponential").bound(rounds, best_loss=1000.0)
    assert near(one_sided, (grown - 1) * 1000.0 + grown * 4 * 500.0 * (1 + math.log(6)))
    c = 6 * 4 * (1 + math.log(6))
    assert hn.FPL.tuned(sets, rounds, "exponential").scale == pytest.approx(
        6 * (1 + math.sqrt(1 + 4 * 2 * rounds / c)) / 2, rel=1e-12
    )


def test_gradient_descent():
    learner = hn.OnlineGradientDescent(hn.Ball(4, 2.5), lipschitz=1.5)
    assert learner.bound(400).value == pytest.approx(3 * 2.5 * 1.5 * 20, rel=1e-12)
    step = learner.next(np.zeros(4), np.zeros(4), np.array([0.3, 0, 0, 0]), 25, np.empty(0))
    assert step[0] == pytest.approx(-2 * 2.5 / (1.5 * 5) * 0.3, rel=1e-12)


def test_published_numbers():
    n, T = 9, 5000
    assert sum(bandits.tsallis_inf(n, T).values()) == pytest.approx(4 * math.sqrt(n * T) + 1, rel=1e-12)
    c = 2.0
    right = (12 * c * math.sqrt(math.pi) + 3.7 / c) * math.sqrt(n * T) + 10 * c + math.sqrt(math.pi * n) / c
    assert sum(bandits.frechet(n, T, c).values()) == pytest.approx(right, rel=1e-12)
    # The bound that a learner may claim, and that it is the smaller one: 4 sqrt(nT) - 2 sqrt(T) is proved here.
    assert near(hn.tsallis_inf(n, False).bound(T), 4 * math.sqrt(n * T) - 2 * math.sqrt(T))
    frechet = hn.frechet_ftpl(n, 0.2).bound(10**6)
    right = (12 * 0.2 * math.sqrt(math.pi) + 3.7 / 0.2) * math.sqrt(n * 10**6) + 2 + math.sqrt(math.pi * n) / 0.2
    assert frechet.value <= right * (1 + 1e-12)
    late = hn.TsallisShannon(n).bound(10**5, missing=3000)
    assert near(late, 4 * math.sqrt(n * 10**5) + math.sqrt(8 * 3000 * math.log(n)))
    a, best, many = 0.3, 500.0, math.log(3 * n)
    dropped = (4 * math.sqrt(2 * best * many) + 3 * math.log(1 + best)) / (a * a * (1 - a))
    dropped += many / (a * (1 - a) ** 2) + 3 / a
    assert near(hn.Dropout(n, drop=a).bound(10**7, best), dropped)
    walk = 8 * math.sqrt(2 * 10**6 * math.log(n)) + 16 * math.log(10**6) + 16
    assert near(hn.RandomWalk(n).bound(10**6), walk)


def test_expert_bandits_and_bandits_in_their_fixed_scale():
    n, rounds, scale, c = 5, 3000, 40.0, sum(1 / k for k in range(2, 6))
    assert near(hn.Bandit(n, hn.Exponential(), hn.Fixed(scale)).bound(rounds), scale * c + n * rounds / (2 * scale))
    advised = hn.ExpertBandit(3, n, hn.Exponential(), hn.Fixed(scale)).bound(rounds)
    assert near(advised, scale * c + 3 * rounds / (2 * scale))
    G = (n**0.4 - 1) / 0.4
    tsallis = hn.Bandit(n, hn.Tsallis(0.6), hn.Anytime(1.3)).bound(rounds)
    assert near(tsallis, math.sqrt(rounds) * (1.3 * G + n**0.6 / 0.6 / 1.3))
    capped = hn.Bandit(n, hn.Exponential(), hn.Fixed(scale), hn.GeometricResampling(500)).bound(rounds)
    assert near(capped, scale * c + (2 * n - 1) * rounds / (2 * scale) + n * rounds / (math.e * 500))


def test_noise_of_fpl_has_the_stated_scale():
    """Means of 10,000 draws within six standard errors (1 in 5e8)."""
    rng = np.random.default_rng(12)
    for noise, mean, deviation in (("uniform", 3.5, 7 / math.sqrt(12)), ("exponential", -7.0, 7.0)):
        drawn = hn.FPL(hn.MSets(6, 2), 7.0, noise).noise_of(rng, (10_000,))
        assert abs(drawn.mean() - mean) < 6 * deviation / 100
    assert hn.FPL(hn.MSets(6, 2), 7.0).noise_of(rng, (1000,)).min() >= 0.0


# Schedules


def test_schedules():
    assert Schedule(2.0, a=1.0, b=3.0, d=5.0).scale(7, 11.0) == pytest.approx(2 * math.sqrt(1 + 21 + 55))
    schedule = ClippedSchedule(kappa=1.1, rate=2.0, others=3)
    for own in (0.0, 20.0, 5000.0):
        a = min(0.5, 1.1 * (1 + own) ** (-1 / 3))
        assert schedule.rho(own) == pytest.approx(a / 3, rel=1e-14)
        assert schedule.scale(1, own) == pytest.approx(2.0 * 3 / (2 * a * a), rel=1e-14)
    confident = hn.Experts(4, hn.Entropy()).schedule()
    assert confident.scale(9, 24.0) == pytest.approx(math.sqrt(25 / math.log(4)), rel=1e-12)


def test_a_clipped_player_follows_its_schedule():
    """Hedge over experts of one action each: p, clipped at rho_t and drawn from.

    The scale and rho are computed directly.
    """
    actions, rounds = 3, 120
    learner = hn.ExpertBandit(actions, actions, hn.Entropy(), clip="tuned")
    kappa = (math.log(actions) * (actions - 1) / 3) ** (1 / 3)
    player, estimates, own, cut = learner.start(seed=1), np.zeros(actions), 0.0, 0
    for t in range(rounds):
        a = min(0.5, kappa * (1 + own) ** (-1 / 3))
        scale, rho = (actions - 1) / (2 * a * a), a / (actions - 1)
        p = np.exp(-(estimates - estimates.min()) / scale)
        p /= p.sum()
        assert player.distribution() == pytest.approx(p, rel=1e-9)
        q = np.where(p >= rho, p, 0.0)
        cut += int((p < rho).any())
        q /= q.sum()
        move = player.act([0, 1, 2])
        assert move.probability == pytest.approx(q[move.action], rel=1e-9)
        loss = 1.0 if move.action != 2 else 0.25 * (t % 2)
        player.observe(move, loss)
        estimates[move.action] += loss / q[move.action]
        own += loss
    assert cut > 10
    assert kappa * (1 + own) ** (-1 / 3) < 0.5  # the scale did decay


# Certificates and records


def test_certificate_distinguishes_regret_from_loss():
    player = hn.Experts(3, hn.Entropy()).start(0)
    own, total = 0.0, np.zeros(3)
    for row in np.random.default_rng(2).random((50, 3)):
        own, total = own + float(player.distribution() @ row), total + row
        player.observe(player.act(), row)
    told = player.certificate()
    assert told.own_loss == pytest.approx(own, rel=1e-9)
    assert told.best_loss == pytest.approx(total.min(), rel=1e-12)
    assert told.regret == pytest.approx(own - total.min(), rel=1e-9)
    assert told.regret < 0.5 * told.own_loss
    assert told.bound.value == hn.Experts(3, hn.Entropy()).bound(50, float(total.min())).value
    said = {name.strip(): text for name, text in told.rows()}
    assert said["regret"].partition(" ")[0] == f"{told.regret:.4g}" != f"{told.own_loss:.4g}"
    assert f"regret <= {ceiling(told.bound.value)}, " in said["bound"]


def test_certificate_of_adahedge_distinguishes_regret_from_loss():
    player, own, total = hn.AdaHedge(3).start(0), 0.0, np.zeros(3)
    for row in np.random.default_rng(6).random((50, 3)) * [0.5, 1.0, 2.0]:
        own, total = own + float(player.distribution() @ row), total + row
        player.observe(player.act(), row)
    told = player.certificate()
    assert told.own_loss == pytest.approx(own, rel=1e-9)
    assert told.regret == pytest.approx(own - total.min(), rel=1e-9)


@pytest.mark.parametrize("learner", [hn.Squint(3), hn.AdaNormalHedge(3), hn.MLPoly(3)], ids=repr)
def test_second_order_certificate_uses_the_squares_of_the_best_expert(learner):
    rng, player = np.random.default_rng(3), learner.start(0)
    seen, total = np.zeros(3), np.zeros(3)
    for t in range(4000):
        row = rng.random(3) * [1.0, 0.6, 0.05]
        row[2] += 0.3 * (t < 50)
        p = player.distribution()
        r = p @ row - row
        seen += np.abs(r) if isinstance(learner, hn.AdaNormalHedge) else r * r
        total += row
        player.observe(player.act(), row)
    best = int(total.argmin())
    assert best == 2
    assert min(seen[:2]) > 1.5 * seen[2]
    right = learner.observed(4000, float(seen[best])).value
    wrong = learner.observed(4000, float(seen[1])).value
    assert player.certificate().bound.value == pytest.approx(right, rel=1e-9)
    assert wrong > 1.1 * right


def test_bound_of_a_record_uses_the_largest_best_loss_of_a_run():
    rng = np.random.default_rng(4)
    losses = rng.random((3, 60, 2)) * np.array([0.1, 0.5, 1.0])[:, None, None]
    learner = hn.Experts(2)
    record = hn.play(learner, losses, runs=3, seed=0)
    best = losses.sum(axis=1).min(axis=1)
    assert record.best_loss == pytest.approx(best)
    assert record.bound.value == pytest.approx(learner.bound(60, float(best.max())).value, rel=1e-12)
    assert record.bound.value > 1.2 * learner.bound(60, float(best.min())).value
    gains = hn.Experts(2, gains=True)
    record = hn.play(gains, 1.0 - losses, runs=3, seed=0)
    assert record.bound.value == pytest.approx(learner.bound(60, float(best.max())).value, rel=1e-9)


# Gains, late feedback, files


def test_myga_has_the_stated_learning_rate():
    learner = hn.MYGA(5, 40, rounds=3000, best_loss=200.0)
    assert learner.eta == pytest.approx(math.sqrt(math.log(3040) / (5 * 200.0)), rel=1e-12)
    assert learner.gamma == pytest.approx(learner.eta / 2, rel=1e-12)
    assert hn.MYGA(5, 40, rounds=3000, best_loss=1.0).eta == 1 / 5
    assert hn.MYGA(5, 40, rounds=3000).eta == pytest.approx(math.sqrt(math.log(3040) / (5 * 3000.0)), rel=1e-12)


def test_myga_converts_gains_to_losses():
    losing = hn.MYGA(3, 4, rounds=60, loss_range=(-1.0, 3.0)).start(5)
    winning = hn.MYGA(3, 4, rounds=60, loss_range=(-1.0, 3.0), gains=True).start(5)
    rng = np.random.default_rng(5)
    for _ in range(60):
        advice, losses = rng.integers(0, 3, 4), rng.uniform(-1.0, 3.0, 3)
        one, two = losing.act(advice), winning.act(advice)
        assert (one.action, one.probability) == (two.action, two.probability)
        losing.observe(one, losses[one.action])
        winning.observe(two, 2.0 - losses[two.action])  # -1 <-> 3
        assert winning.distribution() == pytest.approx(losing.distribution(), rel=1e-9)
    assert losing.distribution() != pytest.approx(np.full(4, 0.25), abs=0.05)


def test_late_losses_of_the_default_bandit_use_the_baselines_of_their_ticket(tmp_path):
    """Every distribution computed directly, with losses up to twelve moves late and out of order.

    Baselines of open tickets differ, and a file preserves them.
    """
    n = 3
    player, rng = hn.Bandit(n).start(7), np.random.default_rng(7)
    estimates, waiting, differed = np.zeros(n), [], 0
    for t in range(1, 201):
        scale = math.sqrt(t) / 2
        p = hn.FTRL(hn.Tsallis(0.5), scale).gradient(estimates - estimates.min())
        assert player.distribution() == pytest.approx(p, rel=1e-7)
        if t % 5 == 0:
            player.save(tmp_path / "player.json")
            player = hn.load(tmp_path / "player.json", resume="exact")
        B = np.where(p >= 4 / scale**2, 0.5, 0.0)
        waiting.append((player.act(), p, B))
        while waiting and (len(waiting) > 12 or rng.random() < 0.45):
            move, drawn, own = waiting.pop(int(rng.integers(len(waiting))))
            differed += any((own != other[2]).any() for other in waiting)
            loss = float(rng.random() < (0.2, 0.5, 0.6)[move.action])
            player.observe(move, loss)
            estimates += own
            estimates[move.action] += (loss - own[move.action]) / drawn[move.action]
    assert differed > 10


def test_file_keeps_rounds_with_unavailable_arms_and_delays(tmp_path):
    sleeper = hn.Bandit(4, hn.Exponential()).start(1)
    for t in range(6):
        sleeper.observe(sleeper.act(awake=[True, True, t % 2 == 0, True]), 0.5)
    late = hn.Experts(3, hn.Entropy(), hn.Fixed(4.0)).start(1)
    moves = [late.act() for _ in range(5)]
    for move in moves:
        late.observe(move, [0.1, 0.5, 0.9])
    forgetful = hn.Experts(3).start(1)
    forgetful.forget(forgetful.act())
    late_bandit = hn.Bandit(3, hn.Tsallis(0.5)).start(1)
    for move in [late_bandit.act(), late_bandit.act()]:
        late_bandit.observe(move, 0.5)
    mixture = hn.MYGA(3, 4, rounds=60).start(1)
    for move in [mixture.act([0, 1, 2, 0]), mixture.act([0, 1, 2, 0])]:
        mixture.observe(move, 0.5)
    assert mixture.certificate().largest_delay == 1
    for k, player in enumerate((sleeper, late, forgetful, late_bandit, mixture)):
        path = tmp_path / f"{k}.json"
        player.save(path)
        before, after = player.certificate(), hn.load(path).certificate()
        for name in ("rounds", "largest_delay", "forgotten", "open_moves", "withheld", "own_loss", "regret"):
            assert getattr(after, name) == getattr(before, name), name
        assert after.bound == before.bound
    # Only a published bound does not cover unavailable arms; then the number of such rounds withholds it.
    assert hn.load(tmp_path / "0.json").content()["slept"] == sleeper.content()["slept"] == 3
    assert late.certificate().largest_delay == 4
    assert late.certificate().bound.value == hn.Experts(3, hn.Entropy(), hn.Fixed(4.0)).bound(5, 0.5, delay=4).value
    assert "1 move was dropped" in forgetful.certificate().withheld
    assert late_bandit.certificate().bound is None


def test_bound_is_withheld_if_none_is_proved():
    for learner in (
        hn.Bandit(4, hn.Exponential(), hn.Anytime(), hn.GeometricResampling(50)),
        hn.Bandit(4, hn.Tsallis(0.5), hn.Horizon(100), hn.GeometricResampling(50)),
        hn.Bandit(4, hn.Exponential(), hn.Horizon(100), hn.ReducedVariance()),
        hn.Bandit(4, hn.Tsallis(0.5), hn.Anytime(0.6), hn.ReducedVariance()),
    ):
        with pytest.raises(Withheld, match="no proved bound"):
            learner.bound(100)


def test_delayed_bound_of_the_log_barrier_includes_its_bias():
    n, rounds, scale, best, d = 4, 300, 5.0, 20.0, 2
    eps = hn.LogBarrier().rate / scale
    C, c = scale * hn.LogBarrier().range_constant(n, rounds), (n - 1) / n
    late = hn.Experts(n, hn.LogBarrier(), hn.Fixed(scale)).bound(rounds, best, delay=d)
    assert near(late, math.exp(eps * d) * eps / (1 - math.exp(-eps)) * (best + C + c) - best)


# The log-barrier before its horizon, and clipped bounds: the range is that of the tuned rounds, and the bias counts


def barrier_range(n, rounds):
    """Range of the log-barrier at scale 1, to the point that keeps 1/(n T) on each arm but one."""
    tau = 1 / (n * rounds)
    return (n - 1) * math.log(1 / tau) - math.log(1 - (n - 1) * tau) - n * math.log(n)


def largest_root(f, low, high):
    """Root of f by bisection, f < 0 above it and f > 0 below it."""
    assert f(low) > 0 > f(high)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return high


def clipped_root(c, actions, best, bias):
    kappa, constant = (c * (actions - 1) / 3) ** (1 / 3), 2 * c * (actions - 1)
    return largest_root(lambda R: 4.5 * kappa * (1 + best + bias + R) ** (2 / 3) + constant - R, 0.0, 1e12)


@pytest.mark.parametrize(
    ("c", "actions", "best", "bias"),
    [(1.5, 4, 1000.0, 0.0), (0.01, 2, 0.0, 0.0), (30.0, 50, 1.0, 0.0), (200.0, 3000, 0.0, 0.9), (2.0, 5, 1e7, 0.5)],
)
def test_clipped_bound_solves_its_equation(c, actions, best, bias):
    """Also if the constants are large and the losses small, where an iteration could start below the root."""
    terms = bounds.clipped_self_confident(c, actions, best, bias)
    assert sum(terms.values()) - bias == pytest.approx(clipped_root(c, actions, best, bias), rel=1e-9)
    assert terms.get("bias", 0.0) == bias


def test_log_barrier_bandit_before_its_horizon_has_the_range_of_the_horizon():
    """The scale is tuned to the horizon, so a bound with the smaller range of fewer rounds is not proved."""
    n, horizon, played, best = 2, 10_000, 2_000, 100.0
    A, c = barrier_range(n, horizon), (n - 1) / n
    assert barrier_range(n, played) < 0.85 * A
    tuned = hn.Bandit(n, hn.LogBarrier(), hn.BestLoss(best, rounds=horizon)).bound(played)
    assert near(tuned, math.sqrt(2 * A * (best + c)) + A / 2 + c)
    rounds = hn.Bandit(n, hn.LogBarrier(), hn.Horizon(horizon)).bound(played)
    assert near(rounds, math.sqrt(2 * A * (horizon + c)) + A / 2 + c)
    confident = hn.Bandit(n, hn.LogBarrier(), hn.SelfConfident(horizon)).bound(played, best)
    assert near(confident, 2 * A + 2 * math.sqrt(A * (A + best + 1 + c)) + c)
    # Control: a scale that was not tuned to any horizon has the range of the rounds played.
    scale, A = 3.0, barrier_range(n, played)
    kept = scale * math.log(1 + 1 / scale)
    assert near(
        hn.Bandit(n, hn.LogBarrier(), hn.Fixed(scale)).bound(played, best), (best + scale * A + c) / kept - best
    )


def test_clipped_log_barrier_before_its_horizon():
    actions, experts, horizon, played, best = 3, 4, 10**7, 10**5, 1000.0
    c, bias = hn.LogBarrier().rate * barrier_range(experts, horizon), (experts - 1) / experts
    confident = hn.ExpertBandit(actions, experts, hn.LogBarrier(), hn.SelfConfident(horizon), clip="tuned")
    assert near(confident.bound(played, best), clipped_root(c, actions, best, bias) + bias)
    tuned = hn.ExpertBandit(actions, experts, hn.LogBarrier(), hn.BestLoss(best, rounds=horizon), clip="tuned")
    a = (c * (actions - 1) / (2 * (best + bias))) ** (1 / 3)
    epsilon, rho = 2 * a * a / (actions - 1), a / (actions - 1)
    assert (hn.LogBarrier().rate / tuned.schedule().scale(1, 0.0), tuned.rho) == pytest.approx((epsilon, rho))
    kept = (1 - (actions - 1) * rho) * (1 - math.exp(-epsilon / rho)) / (epsilon / rho)
    assert near(tuned.bound(played), (best + c / epsilon + bias) / kept - best)


def test_clipped_bound_at_a_fixed_scale_counts_the_bias_of_the_log_barrier():
    actions, experts, scale, rho, rounds, best = 3, 5, 6.0, 0.1, 5000, 40.0
    x, A = hn.LogBarrier().rate / scale / rho, barrier_range(experts, rounds)
    kept = (1 - (actions - 1) * rho) * (1 - math.exp(-x)) / x
    learner = hn.ExpertBandit(actions, experts, hn.LogBarrier(), hn.Fixed(scale), clip=rho)
    bias = (experts - 1) / experts
    assert near(learner.bound(rounds, best), (best + scale * A + bias) / kept - best)
    # Control: the entropy has no comparator to pay for.
    entropy = hn.ExpertBandit(actions, experts, hn.Entropy(), hn.Fixed(scale), clip=rho).bound(rounds, best)
    x = 1 / scale / rho
    kept = (1 - (actions - 1) * rho) * (1 - math.exp(-x)) / x
    assert near(entropy, (best + scale * math.log(experts)) / kept - best)
