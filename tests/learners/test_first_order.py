"""Green, Exp3Light and Exp3 in the loss of the best arm: definitions, every step of the proof, and the bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn

N = 4


def losses_of(kind, rounds=600, n=N):
    rng = np.random.default_rng(7)
    if kind == "coins":
        return (rng.random((rounds, n)) < np.r_[0.02, np.full(n - 1, 0.2)]).astype(float)
    if kind == "late":
        return np.where(np.arange(rounds)[:, None] < rounds // 2, np.arange(n) == 0, 0.5 * (np.arange(n) != 0)).astype(
            float
        )
    return rng.random((rounds, n)) ** np.r_[3.0, np.full(n - 1, 1.0)]


def epoch(low):
    r = 0
    while low > 4.0**r:
        r += 1
    return r


def plays(learner, losses, seed):
    """The definition, with the moves of the player: (p before dropping, estimates, scale, arm) of every round."""
    n, light = losses.shape[1], isinstance(learner, hn.Exp3Light)
    player, total, rows = learner.start(seed), np.zeros(n), []
    for row in losses:
        first = math.sqrt(3 * n / (8 * math.log(n)))
        scale = first * 2.0 ** epoch(total.min()) if light else learner.schedule().scale(1, 0.0)
        p = np.exp((total.min() - total) / scale)
        p /= p.sum()
        q = np.where(p < getattr(learner, "cutoff", 0.0), 0.0, p)
        q /= q.sum()
        np.testing.assert_allclose(player.distribution(), q, rtol=1e-9, atol=1e-300)
        move = player.act()
        lhat = np.zeros(n)
        lhat[move.action] = row[move.action] / move.probability
        player.observe(move, float(row[move.action]))
        total += lhat
        rows.append((p, lhat, scale, move.action))
    return [np.array(part) for part in zip(*rows, strict=True)]


LEARNERS = [
    hn.Green(N, scale=4.0, threshold=0.05),
    hn.Green(N, rounds=600, best_loss=12.0),
    hn.Exp3Light(N),
    hn.Bandit(N, hn.Entropy(), hn.BestLoss(12.0, rounds=600)),
]


@pytest.mark.parametrize("kind", ["coins", "late", "between"])
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_definition_and_every_step_of_the_proof(learner, kind):
    losses = losses_of(kind)
    p, lhat, scale, arms = plays(learner, losses, seed=3)
    rounds = np.arange(len(losses))
    drift = np.array([a @ b + s * math.log(a @ np.exp(-b / s)) for a, b, s in zip(p, lhat, scale, strict=True)])
    # (1) The identity: own <= Lhat_i + range + drift. (2) A round's drift is at most lhat/(2 scale), and at most 1.
    total = lhat.sum(axis=0)
    assert (p * lhat).sum() <= total.min() + scale[-1] * math.log(N) + drift.sum() + 1e-9
    assert (drift <= np.minimum(lhat.sum(axis=1) / (2 * scale), 1.0) + 1e-12).all()
    # (3) An arm with p >= g is at most scale ln(1/g) behind the best estimate.
    before = np.cumsum(lhat, axis=0) - lhat
    for g in (0.3, 0.05, 1e-3):
        likely = p >= g
        assert (before - before.min(axis=1)[:, None] <= (scale * math.log(1 / g))[:, None] + 1e-9)[likely].all()
        # (4) So its drift, at a constant scale, is at most (min Lhat + scale ln(1/g))/(2 scale) + 1.
        if np.ptp(scale) == 0.0:
            s = scale[0]
            for j in range(N):
                mine = (arms == j) & likely[rounds, j]
                assert drift[mine].sum() <= (total.min() + s * math.log(1 / g)) / (2 * s) + 1 + 1e-9
    # (5) Dropped arms never lose, and at most (n-1) thresholds of the loss are dropped.
    kept = 1 - (N - 1) * getattr(learner, "cutoff", 0.0)
    assert ((p * lhat).sum(axis=1) >= kept * losses[rounds, arms] - 1e-12).all()


def regret(losses, scale, cutoff=0.0, light=False):
    """Expected regret, exactly, over all draws."""

    def rest(t, total):
        if t == len(losses):
            return 0.0
        s = scale * 2.0 ** epoch(total.min()) if light else scale
        p = np.exp((total.min() - total) / s)
        p /= p.sum()
        q = np.where(p < cutoff, 0.0, p)
        q /= q.sum()
        lost = 0.0
        for i in np.flatnonzero(q > 1e-12):
            after = total.copy()
            after[i] += losses[t, i] / q[i]
            lost += q[i] * (losses[t, i] + rest(t + 1, after))
        return lost

    return rest(0, np.zeros(losses.shape[1])) - losses.sum(axis=0).min()


@pytest.mark.parametrize(("n", "rounds"), [(2, 8), (3, 5)])
def test_bounds_hold_in_exact_expectation(n, rounds):
    rng, worst = np.random.default_rng(n), 0.0
    for k in range(40):
        losses = (rng.random((rounds, n)) < rng.random(n)).astype(float) if k % 2 else rng.random((rounds, n)) ** 2
        best, scale, cutoff = losses.sum(axis=0).min(), 10 ** rng.uniform(-1.5, 0.8), rng.uniform(0.001, 0.9 / n)
        cases = (
            (hn.Green(n, scale, cutoff), regret(losses, scale, cutoff)),
            (hn.Exp3Light(n), regret(losses, math.sqrt(3 * n / (8 * math.log(n))), light=True)),
            (hn.Bandit(n, hn.Entropy(), hn.Fixed(scale)), regret(losses, scale)),
        )
        for learner, found in cases:
            bound = learner.bound(rounds, best_loss=best)
            assert found <= bound.value + 1e-9
            worst = max(worst, found / bound.value)
    assert worst > 0.3


def test_a_smaller_bound_is_exceeded():
    """Control: half of the term of unlikely arms is not enough when the best arm never loses."""
    n, rounds = 3, 7
    losses = np.tile([0.0, 1.0, 1.0], (rounds, 1))
    found = regret(losses, 0.05)
    terms = hn.Bandit(n, hn.Entropy(), hn.Fixed(0.05)).bound(rounds, best_loss=0).terms
    assert found <= sum(terms.values())
    assert found > terms["range"] + terms["n L*/(2 scale)"] + 0.2 * terms["(n-1) (ln(2T) + 3)/2"]


def test_bounds_in_numbers():
    n, T, L = 8, 10_000, 100
    scale = math.sqrt(n * L / (2 * math.log(n)))
    least = scale * math.log(n) + n * L / (2 * scale) + 0.5 * (n - 1) * (math.log(2 * T) + 3)
    exp3 = hn.Bandit(n, hn.Entropy(), hn.BestLoss(L, rounds=T))
    assert exp3.bound(T).value == pytest.approx(least)
    assert exp3.bound(T).value == pytest.approx(math.sqrt(2 * n * L * math.log(n)) + 45.2, abs=0.1)
    assert hn.exp3(n, T).bound(best_loss=L).value < 0.65 * hn.exp3(n, T).bound().value
    assert hn.exp3(n, T).bound().value == pytest.approx(math.sqrt(2 * n * T * math.log(n)))
    a = math.log(1 + 4 * L) / math.log(4)
    b, c = a / 4 + 0.5, math.sqrt(3 * n / (8 * math.log(n)))
    light = math.sqrt(6 * n * L * math.log(n)) + c * math.log(n) + n / (2 * c)
    light += n * (b * math.log(T / b) + b + a + 1)
    assert hn.Exp3Light(n).bound(T, best_loss=L).value == pytest.approx(light)
    green = hn.Green(n, rounds=T, best_loss=L).bound(T, best_loss=L)
    k = 1 - (n - 1) / (2 * T)
    exact = (L + scale * math.log(n) + n * L / (2 * scale) + (n - 1) * (0.5 * math.log(2 * T) + 1)) / k - L
    assert green.value == pytest.approx(exact)
    for learner in (exp3, hn.Green(n, rounds=T), hn.Exp3Light(n)):
        with pytest.raises(hn.Withheld):
            learner.bound(T, against="adaptive")
    # The comparison is with the log-barrier, whose bound is of the same order.
    assert exp3.bound(T).value < 0.75 * hn.Bandit(n, hn.LogBarrier(), hn.BestLoss(L, rounds=T)).bound().value


def test_units_and_gains():
    exact = hn.Green(3, rounds=500, best_loss=20).bound(500, best_loss=20).value
    gains = hn.Green(3, rounds=500, best_loss=4900, loss_range=(0, 10), gains=True)
    assert gains.schedule().c == pytest.approx(hn.Green(3, rounds=500, best_loss=10).schedule().c)
    assert hn.Green(3, rounds=500, best_loss=200, loss_range=(0, 10)).bound(500, best_loss=200).value == pytest.approx(
        10 * exact
    )


def test_best_loss_bound_is_withheld_after_unavailable_arms():
    learner = hn.Bandit(3, hn.Entropy(), hn.BestLoss(5.0, rounds=500))
    player = learner.start(seed=0)
    for _ in range(200):
        move = player.act()
        player.observe(move, 0.5 * (move.action > 0))
    assert player.certificate().bound.at_most == 5.0
    player.observe(player.act(awake=[True, True, False]), 0.0)
    assert player.certificate().bound is None
    assert "unavailable" in player.certificate().withheld


@pytest.mark.parametrize(
    ("build", "parts"),
    [
        (lambda: hn.Green(4), ("scale", "rounds")),
        (lambda: hn.Green(4, scale=1.0), ("threshold", "rounds")),
        (lambda: hn.Green(4, 1.0, 0.25), ("threshold", "0.25")),
        (lambda: hn.Green(4, 1.0, -0.1), ("threshold", "-0.1")),
        (lambda: hn.Green(4, rounds=100, best_loss=0.0), ("best_loss", "0.0")),
        (lambda: hn.Green(4, rounds=100, best_loss=101.0), ("best_loss", "101.0")),
        (lambda: hn.Bandit(4, hn.Exponential(), hn.BestLoss(9.0)), ("BestLoss", "Anytime")),
    ],
)
def test_bad_parameters_are_rejected(build, parts):
    with pytest.raises(ValueError) as caught:
        build()
    assert all(part in str(caught.value) for part in parts)


@pytest.mark.parametrize("kind", ["coins", "late", "between"])
def test_games_stay_below_the_bounds(kind):
    """24 runs: a mean above the bound has a probability far below 1e-9, because the bounds are 3 times the mean."""
    losses = losses_of(kind, 2000, 8)
    best = max(float(losses.sum(axis=0).min()), 1.0)
    tuned = [hn.Green(8, rounds=2000, best_loss=best), hn.Bandit(8, hn.Entropy(), hn.BestLoss(best, rounds=2000))]
    for learner in (*tuned, hn.Exp3Light(8)):
        assert hn.play(learner, losses, runs=24, seed=1).mean_regret[-1] <= learner.bound(2000, best_loss=best).value
