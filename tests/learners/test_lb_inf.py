"""LB-INF: its definition, and every step of the proof of its bound (docs/mathematics.md) on paths."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn

CURVE = 4.0 * (math.log(2.0) - 0.5)


def drawn(player, L, g):
    """Return p of the log-barrier with one scale g_i per arm, by bisection, which must equal that of the player; its
    move; |e_i - p|.
    """
    d = L - L.min()
    low, high = 0.0, g.sum()
    for _ in range(200):
        x = (low + high) / 2
        low, high = (x, high) if (g / (d + x)).sum() > 1 else (low, x)
    p = g / (d + high)
    np.testing.assert_allclose(player.distribution(), p, rtol=1e-8)
    move = player.act()
    away = p.copy()
    away[move.action] = 1 - p[move.action]
    return p, move, away


def by_hand(losses, seed):
    """Return the definition, solved by bisection, with the moves of the player: p, lhat of each round, g, v of each
    round.
    """
    n = losses.shape[1]
    g, m, S, N = np.full(n, 2.0), np.full(n, 0.5), np.zeros(n), np.zeros(n)
    player = hn.LBInf(n).start(seed)
    plays, estimates, grown = [], [], []
    for t, row in enumerate(losses, start=1):
        p, move, away = drawn(player, S + m, g)
        i, loss = move.action, row[move.action]
        v = (loss - m[i]) ** 2 * away**2
        estimate = m.copy()
        estimate[i] += (loss - m[i]) / p[i]
        g = g + v / (2 * g * math.log(t + math.e - 1))
        S, N[i] = S + estimate, N[i] + 1
        m[i] += (loss - m[i]) / (N[i] + 1)
        player.observe(move, float(loss))
        plays.append(p)
        estimates.append(estimate)
        grown.append(v)
    return np.array(plays), np.array(estimates), g, np.array(grown)


@pytest.mark.parametrize("kind", ["clicks", "between", "turning"])
def test_every_step_of_the_proof_on_a_path(kind):
    rng = np.random.default_rng(5)
    rounds, n = 400, 4
    losses = {
        "clicks": (rng.random((rounds, n)) > [0.02, 0.05, 0.05, 0.12]).astype(float),
        "between": rng.random((rounds, n)) * [0.5, 0.6, 0.9, 1.0],
        "turning": (np.arange(rounds)[:, None] // 50 % n != np.arange(n)).astype(float),
    }[kind]
    p, estimates, g, v = by_hand(losses, seed=3)
    s = math.log(rounds + math.e - 1)
    # On the path, for every u: sum <lhat, p - u> <= sum g ln 1/u - 2 n ln n + 2 k s sum (g - 2).
    for u in (np.full(n, 1 / n), *(0.97 * np.eye(n) + 0.03 / n)):
        own = ((p - u) * estimates).sum()
        most = (g * np.log(1 / u)).sum() - 2 * n * math.log(n) + 2 * CURVE * s * (g - 2).sum()
        assert own <= most + 1e-9
    # A round adds at most 17/16 v/s to the sum of g^2, and sum_i v_i has mean at most 1 - sum p^2.
    logs = np.log(np.arange(1, rounds + 1) + math.e - 1)
    assert (g**2).sum() <= 4 * n + 17 / 16 * (v / logs[:, None]).sum()
    for row in p[::40]:
        mean = sum(q * ((1 - q) ** 2 + (row**2).sum() - q**2) for q in row)
        assert mean == pytest.approx(1 - (row**2).sum())
        assert mean <= 1 - 1 / n + 1e-12


def test_curvature_constant_is_attained():
    """x - log(1 + x) <= k x^2 for x >= -1/2, k = 4 (ln 2 - 1/2), with equality at the end."""
    x = np.linspace(-0.5, 3.0, 2000)
    assert (x - np.log1p(x) <= CURVE * x**2 + 1e-15).all()
    assert -0.5 - math.log(0.5) == pytest.approx(CURVE / 4)
    assert (-0.51 - math.log(0.49)) > CURVE * 0.51**2  # the control: beyond -1/2 the constant is too small


def test_the_bound_in_numbers():
    n, T = 8, 10_000
    logs = math.fsum(1 / math.log(t + math.e - 1) for t in range(1, T + 1))
    assert logs <= hn.LBInf.inverse_logs(T) <= 1.001 * logs
    s = math.log(T + math.e - 1)
    grown = math.sqrt(n * (4 * n + 17 / 16 * (1 - 1 / n) * hn.LBInf.inverse_logs(T)))
    b = grown / (n - 1)
    right = grown * (math.log(T / b) + 1) - 2 * n * math.log(n) + 2 * CURVE * s * (grown - 2 * n)
    told = hn.LBInf(n).bound(T)
    assert told.value == pytest.approx(right)
    assert (told.against, told.sense, told.proof) == ("oblivious", "arm", "whole")
    assert hn.LBInf(n, gains=True, loss_range=(0.0, 5.0)).bound(T).value == pytest.approx(5 * right)
    assert hn.LBInf(n).bound(20).sense == "run"


def test_bound_with_rounds_in_numbers():
    """lambda = ln(rounds) in every round: 1 + 1/(16 lambda) replaces 17/16, which needs lambda >= 1."""
    n, T = 8, 10_000
    for known in (T, 400):
        s = math.log(known)
        grown = math.sqrt(n * (4 * n + (1 + 1 / (16 * s)) * (1 - 1 / n) * T / s))
        b = grown / (n - 1)
        right = grown * (math.log(T / b) + 1) - 2 * n * math.log(n) + 2 * CURVE * s * (grown - 2 * n)
        bound = hn.LBInf(n, known).bound(T)
        assert right <= bound.value <= right * (1 + 1e-12)
        assert (bound.against, bound.sense, bound.proof) == ("oblivious", "arm", "whole")
    assert math.ceil(hn.LBInf(n, T).bound().value) == 1687 < math.ceil(hn.LBInf(n).bound(T).value)
    assert hn.LBInf(n, T, (0.0, 5.0), gains=True).bound().value == pytest.approx(5 * hn.LBInf(n, T).bound().value)
    with pytest.raises(ValueError, match="rounds"):
        hn.LBInf(n).bound()


@pytest.mark.parametrize("adversary", hn.adversaries.all_adversaries())
def test_regret_is_within_the_bound(adversary):
    """Means of 24 runs: none is close to its bound, so false alarms are negligible."""
    for n in (2, 6):
        losses = hn.adversaries.all_adversaries()[adversary](3000, n, seed=1)
        record = hn.play(hn.LBInf(n), losses, runs=24, seed=2)
        assert record.interval(0.9999)[1][-1] < record.bound.value


def test_regret_on_rare_clicks_is_close_to_thompson():
    """Ten means from .02 to .12, 10,000 rounds, 60 runs each: standard errors are about 6 of 120, so a ratio above 1.5
    is more than 6 standard errors away (1e-9).
    """
    rates = np.array([0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12])
    clicks = hn.adversaries.Bernoulli(1.0 - rates, 10_000)
    mine = hn.play(hn.LBInf(10), clicks, runs=60, seed=1).mean_regret[-1]
    thompson = hn.play(hn.Thompson(10), clicks, runs=60, seed=1).mean_regret[-1]
    default = hn.play(hn.Bandit(10), clicks, runs=60, seed=1).mean_regret[-1]
    assert mine < 1.5 * thompson
    assert mine < default


def test_names_and_files(tmp_path):
    from hannan import saving

    player = hn.LBInf(["a", "b", "c"], gains=True).start(seed=0)
    for _ in range(50):
        player.observe(player.act(), reward=0.25)
    assert player.act().arm in "abc"
    content = player.content()
    memory = saving.from_hex(content["state"]["memory"]["hex"]).copy()
    path = tmp_path / "player.json"
    for number, word in ((0, 1.5), (3, -0.1), (3, 1.1), (9, 0.5), (9, 1e9)):
        crafted = memory.copy()
        crafted[number] = word
        content["state"]["memory"]["hex"] = saving.to_hex(crafted)
        saving.write(path, content)
        with pytest.raises(ValueError, match=r"player\.json cannot be resumed: .*memory"):
            hn.load(path)


def lb_inf_by_hand(learner, losses, seed):
    """Return the definition, solved by bisection: p, lhat of each round, g, v of each round."""
    n, log_t = learner.n, math.log(learner.rounds)
    g, m, S = np.full(n, 2.0), np.full(n, 0.5), np.zeros(n)
    player = learner.start(seed)
    plays, estimates, grown = [], [], []
    for row in losses:
        p, move, away = drawn(player, S + m, g)
        i, loss = move.action, row[move.action]
        v = (loss - m[i]) ** 2 * away**2
        g = g + v / (2 * g * log_t)
        estimate = m.copy()
        estimate[i] += (loss - m[i]) / p[i]
        S = S + estimate
        m[i] = 0.75 * m[i] + 0.25 * loss
        player.observe(move, float(loss))
        plays.append(p)
        estimates.append(estimate)
        grown.append(v)
    return np.array(plays), np.array(estimates), g, np.array(grown)


@pytest.mark.parametrize("known", [2, 3, 500])
def test_every_step_of_the_proof_with_rounds(known):
    """On paths of 300 rounds, also beyond the given number of rounds; for two rounds lambda is below 1."""
    n, s = 4, math.log(known)
    losses = np.random.default_rng(1).random((300, n)) * [0.3, 1, 1, 1]
    p, estimates, g, v = lb_inf_by_hand(hn.LBInf(n, known), losses, 3)
    for u in (np.full(n, 1 / n), *(0.97 * np.eye(n) + 0.03 / n)):
        own = ((p - u) * estimates).sum()
        most = (g * np.log(1 / u)).sum() - 2 * n * math.log(n) + 2 * CURVE * s * (g - 2).sum()
        assert own <= most + 1e-9
    squares = (g**2).sum() - 4 * n
    assert squares <= (1 + 1 / (16 * s)) * v.sum() / s
    assert squares > v.sum() / s  # the control: without the term 1/(16 lambda) it is exceeded


@pytest.mark.parametrize("adversary", hn.adversaries.all_adversaries())
def test_regret_with_rounds_is_within_the_bound(adversary):
    """Means of 24 runs: none is close to its bound, so false alarms are negligible."""
    losses = hn.adversaries.all_adversaries()[adversary](3000, 6, seed=1)
    record = hn.play(hn.LBInf(6, 3000), losses, runs=24, seed=2)
    assert record.interval(0.9999)[1][-1] < record.bound.value
