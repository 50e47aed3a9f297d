"""Exploration floor of a bandit: play and estimates by definition, the bound of Theorem 7, and all ways to play."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from stores import crash

import hannan as hn
from hannan import saving
from hannan.mathematics import bounds

FLOORS = [0.1, "fourth-root"]
each_floor = pytest.mark.parametrize("floor", FLOORS)


def share(floor, t):
    """Share of uniform play in round t, written a second time."""
    return floor if isinstance(floor, float) else min(0.5, 1.0 / math.sqrt(math.sqrt(t)))


def half(L, scale):
    """Play of Tsallis(1/2): p_i = (scale/(L_i - x))^2, with x by bisection."""
    low, high = L.min() - scale * math.sqrt(len(L)) - 1e-9, L.min() - 1e-12
    for _ in range(200):
        middle = 0.5 * (low + high)
        if ((scale / (L - middle)) ** 2).sum() > 1.0:
            high = middle
        else:
            low = middle
    return (scale / (L - low)) ** 2


def hedge(L, scale):
    w = np.exp((L.min() - L) / scale)
    return w / w.sum()


SMOOTHINGS = [(hn.Tsallis(0.5), half), (hn.Entropy(), hedge)]


# The play


@each_floor
@pytest.mark.parametrize(("smoothing", "play"), SMOOTHINGS)
def test_play_and_estimates_are_those_of_the_definition(floor, smoothing, play):
    rng = np.random.default_rng(0)
    player = hn.Bandit(4, smoothing, hn.Anytime(2.0), floor=floor).start(seed=1, evidence=True)
    L = np.zeros(4)
    for t in range(1, 300):
        e = share(floor, t)
        p = (1.0 - e) * play(L, 2.0 * math.sqrt(t)) + e / 4.0
        np.testing.assert_allclose(player.distribution(), p, rtol=1e-9)
        move = player.act()
        assert move.probability == pytest.approx(p[move.action], rel=1e-9)
        assert move.probability >= e / 4.0 * (1.0 - 1e-12)
        loss = float(rng.random())
        player.observe(move, loss)
        L[move.action] += loss / p[move.action]
        np.testing.assert_allclose(player.losses, L, rtol=1e-9)
    found = player.evidence().arms
    assert min(arm.least_probability for arm in found.values()) >= share(floor, 300) / 4.0 * (1.0 - 1e-12)


@each_floor
def test_moves_have_the_stated_probabilities(floor):
    # A chi-square test of 20,000 first moves after 50 rounds; it fails by chance in less than one run of 10^6.
    made = hn.Bandit(3, floor=floor).start(seed=0)
    for _ in range(50):
        move = made.act()
        made.observe(move, [0.1, 0.5, 0.9][move.action])
    p = made.distribution()
    counts = np.zeros(3)
    for _ in range(20_000):
        counts[made.act().action] += 1
    # Without feedback the estimates stay the same, and the scale and the share change with the rounds.
    if floor == 0.1:
        later = made.distribution()
        assert np.all(counts / 20_000 >= np.minimum(p, later) - 0.03)
        assert np.all(counts / 20_000 <= np.maximum(p, later) + 0.03)
    assert counts.min() >= 20_000 * share(floor, 20_050) / 3.0 * 0.8


def test_control_a_learner_without_floor_shows_the_losing_arm_less():
    shown = {}
    for floor in (0.0, 0.1):
        record = hn.play(hn.Bandit(2, hn.Tsallis(0.5), floor=floor), np.tile([0.1, 0.9], (4000, 1)), seed=0)
        shown[floor] = float(record.counts.reshape(-1)[1])
    assert shown[0.1] > 170.0 > shown[0.0]


def test_unavailable_arms_share_the_floor_among_the_others():
    player = hn.Bandit(4, floor=0.2).start(seed=0)
    awake = np.array([True, False, True, True])
    for _ in range(200):
        move = player.act(awake)
        assert move.action != 1
        player.observe(move, [0.0, 0.0, 1.0, 1.0][move.action])
    p = player.distribution(awake)
    assert p[1] == 0.0
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert p[[0, 2, 3]].min() >= 0.2 / 3.0
    assert not player.certificate().bound.is_trivial or player.certificate().bound.value == 200.0


# Every way to play gives the same moves


@each_floor
@pytest.mark.parametrize("n", [3, 6, 20, 80])
def test_games_players_fleets_and_loaded_players_make_the_same_moves(tmp_path, floor, n):
    losses = np.random.default_rng(2).random((150, n))
    for smoothing in (hn.Tsallis(0.5), hn.Entropy(), hn.Tsallis(0.3), hn.Gumbel()):
        learner = hn.Bandit(n, smoothing, hn.Fixed(7.0), floor=floor)
        actions = hn.play(learner, losses, seed=3, keep="all").actions[0].tolist()
        player, fleet = learner.start(3), hn.Fleet(learner, seed=5)
        single = []
        for t, action in enumerate(actions):
            if t == 75:
                player.save(tmp_path / "player.json")
                player = hn.load(tmp_path / "player.json", resume="exact")
                fleet.save(tmp_path / "fleet.hnf")
                fleet = hn.Fleet.load(tmp_path / "fleet.hnf", resume="exact")
            move = player.act()
            assert move.action == action, f"round {t}"
            player.observe(move, float(losses[t, action]))
            moves = fleet.act(["a", "b"])
            single.append(moves.probability.tolist())
            assert min(single[-1]) >= share(floor, t + 1) / n * (1.0 - 1e-12)
            fleet.observe(moves, losses[t, moves.action])
        assert fleet.distribution("a").min() >= share(floor, 151) / n * (1.0 - 1e-12)


@each_floor
def test_store_replays_the_moves_and_the_evidence_after_a_crash(tmp_path, floor):
    path = tmp_path / "decisions.db"
    rng = np.random.default_rng(1)
    with hn.Store(path, snapshot_events=150) as store:
        store.add("banner", hn.Bandit(["red", "blue", "green"], floor=floor))
        for visitor in range(400):
            move = store.act("banner", None if visitor % 2 else visitor % 7)
            assert move.probability >= share(floor, 400) / 3.0 * (1.0 - 1e-12)
            if visitor % 3:
                store.observe(move.ticket, loss=float(rng.random() < 0.4))
        before = store.evidence("banner").to_dict()
        assert min(arm["least_probability"] for arm in before["arms"]) >= share(floor, 400) / 3.0 * (1.0 - 1e-12)
        crash(store)
    with hn.Store(path, snapshot_events=150) as store:
        assert store.evidence("banner").to_dict() == before


# Descriptions


def test_description_without_floor_is_that_of_earlier_versions():
    assert "floor" not in json.loads(hn.Bandit(3).to_json())
    for floor in (0.05, "fourth-root"):
        learner = hn.Bandit(["a", "b"], floor=floor)
        assert saving.from_json(learner.to_json()) == learner
        assert f"floor={floor!r}" in repr(learner)
        assert isinstance(learner.estimator, hn.ImportanceWeighted)


@pytest.mark.parametrize("floor", [-0.1, 1.0, math.nan, "third-root", None, [0.1]])
def test_invalid_floors_are_rejected(floor):
    with pytest.raises(ValueError, match="floor"):
        hn.Bandit(3, floor=floor)


def test_other_estimators_are_rejected():
    with pytest.raises(ValueError, match=r"floor.*ImportanceWeighted"):
        hn.Bandit(3, hn.Gumbel(), hn.Fixed(3.0), hn.GeometricResampling(50), floor=0.1)


@pytest.mark.parametrize(
    "learner",
    [
        hn.Bandit(3, estimator=hn.ReducedVariance(), floor=0.1),
        hn.Bandit(3, hn.LogBarrier(), hn.Horizon(100), floor=0.1),
    ],
    ids=["reduced variance", "log-barrier"],
)
def test_bound_is_withheld_where_the_theorem_does_not_apply(learner):
    with pytest.raises(hn.Withheld, match="exploration floor"):
        learner.bound(rounds=100)


# Theorem 7


@each_floor
@pytest.mark.parametrize("rounds", [1, 16, 4096, 5000, 50_000])
@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1.0, 0.0)])
def test_cost_is_the_sum_of_the_theorem(floor, rounds, a, b):
    t = np.arange(1, rounds + 1)
    e = np.array([share(floor, int(s)) for s in t])
    exact = 0.5 * 4.0 * (e / (1.0 - e) / (1.5 * np.sqrt(a + b * t))).sum() + 0.75 * e.sum()
    found = bounds.floor_cost(floor, 4, 4.0, (1.5, a, b, 0.0), rounds)
    assert exact <= found * (1.0 + 1e-12)
    # A constant floor counts the drift with an integral from 0, which is at most sqrt(rounds) + 1.5 terms larger.
    assert found <= 1.01 * exact + 1.0


def test_cost_is_one_line_of_the_bound():
    for smoothing in (hn.Tsallis(0.5), hn.Entropy(), hn.Gumbel()):
        plain = hn.Bandit(3, smoothing, floor=0.0).bound(rounds=10_000).terms
        if isinstance(smoothing, hn.Tsallis):
            found = hn.Bandit(3, smoothing, floor=0.05).bound(rounds=10_000).terms
            assert {name: found[name] for name in plain} == plain
            assert found["floor"] == pytest.approx(plain["drift"] * 0.05 / 0.95 + 2.0 / 3.0 * 0.05 * 10_000)
        bound = hn.Bandit(3, smoothing, floor=0.05).bound(rounds=10_000)
        assert set(bound.terms) == {"range", "drift", "floor"}
        assert bound.against == "oblivious"


def drift(L, scale, e, losses):
    """E D of one round for Tsallis(1/2) with a floor, over the exact distribution of the move."""

    def value(M):
        q = half(M, scale)
        return float(q @ M + 2.0 * scale * (1.0 - np.sqrt(q).sum()))

    q = half(L, scale)
    p = (1.0 - e) * q + e / len(L)
    found = 0.0
    for arm in range(len(L)):
        step = np.zeros(len(L))
        step[arm] = losses[arm] / p[arm]
        found += p[arm] * (q[arm] * step[arm] - (value(L + step) - value(L)))
    return found, q, p


def test_drift_grows_by_at_most_the_stated_factor():
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(300):
        n, scale, e = int(rng.integers(2, 12)), float(rng.uniform(0.3, 30.0)), float(rng.uniform(0.01, 0.7))
        found, q, _ = drift(rng.exponential(3.0 * scale, n), scale, e, rng.integers(0, 2, n).astype(float))
        assert found <= np.sqrt(q).sum() / scale / (1.0 - e) + 1e-9
        largest = max(largest, found * scale * (1.0 - e) / np.sqrt(q).sum())
    assert largest > 0.3


def test_control_the_factor_is_needed():
    # Ten likely arms of a thousand: their probabilities are nearly (1 - e) q.
    L = np.full(1000, 1e6)
    L[:10] = 0.0
    found, q, p = drift(L, 50.0, 0.5, np.ones(1000))
    plain, _, _ = drift(L, 50.0, 0.0, np.ones(1000))
    assert found > 1.5 * plain
    assert found <= plain / 0.5 * 1.1
    assert p[:10].max() < 0.52 * q[:10].max()


def expected_regret(losses, scale, e):
    """Expected regret against a fixed sequence, over all sequences of moves."""
    n = losses.shape[1]
    states, own = [(1.0, np.zeros(n))], 0.0
    for row in losses:
        grown = []
        for weight, L in states:
            p = (1.0 - e) * half(L, scale) + e / n
            own += weight * float(p @ row)
            for arm in range(n):
                then = L.copy()
                then[arm] += row[arm] / p[arm]
                grown.append((weight * p[arm], then))
        states = grown
    return own - losses.sum(axis=0).min()


def test_no_oblivious_adversary_of_six_rounds_exceeds_the_bound():
    e, scale, rounds = 0.3, 2.0, 6
    limit = bounds.root(2.0 * (math.sqrt(2.0) - 1.0), 2.0 * math.sqrt(2.0), (scale, 1.0, 0.0, 0.0), rounds)
    limit = sum(limit.values()) + bounds.floor_cost(e, 2, 2.0 * math.sqrt(2.0), (scale, 1.0, 0.0, 0.0), rounds)
    rows = [np.array(row) for row in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0))]
    worst = max(expected_regret(np.array(game), scale, e) for game in itertools.product(rows, repeat=rounds))
    assert 0.2 * limit < worst <= limit


def test_control_dividing_by_the_probability_without_floor_is_biased():
    L, e, losses = np.array([0.0, 30.0, 60.0]), 0.3, np.array([0.2, 0.9, 0.6])
    q = half(L, 4.0)
    p = (1.0 - e) * q + e / 3.0
    np.testing.assert_allclose(p * (losses / p), losses)
    assert (p * (losses / q)).max() > 3.0
    player = hn.Bandit(3, hn.Tsallis(0.5), hn.Fixed(4.0), floor=e).start(seed=0)
    move = player.act()
    player.observe(move, 0.5)
    assert player.losses[move.action] == pytest.approx(0.5 / move.probability, rel=1e-12)


def test_late_feedback_withholds_the_bound_and_keeps_the_probabilities():
    player = hn.Bandit(3, floor=0.1).start(seed=0)
    moves = [player.act() for _ in range(100)]
    for move in reversed(moves):
        player.observe(move, 0.5)
    assert player.certificate().bound is None
    assert "delayed" in player.certificate().withheld
