"""Bandits with late feedback: equality with Tsallis-INF without delay, and the stated minimizer."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn


def test_player_equals_tsallis_inf_without_delay():
    losses = np.random.default_rng(1).random((300, 5))
    late, prompt = hn.TsallisShannon(5).start(4), hn.tsallis_inf(5, False).start(4)
    for row in losses:
        np.testing.assert_allclose(late.distribution(), prompt.distribution(), rtol=1e-9)
        move = late.act()
        assert move.action == prompt.act().action
        late.observe(move, float(row[move.action]))
        prompt.observe(prompt.open_moves[0], float(row[move.action]))
    assert late.missing == 0


def test_distribution_minimizes_the_stated_objective():
    """Stationarity of <L, x> - 2 sqrt t sum sqrt x + theta sum x log x: one multiplier for all arms."""
    n, delay = 4, 7
    player, queue = hn.TsallisShannon(n).start(0), []
    rng, missing = np.random.default_rng(0), 0
    for t in range(1, 200):
        p, L = player.distribution(), player.losses
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
    assert f"D = {missing}" in player.certificate().bound.source or player.certificate().bound.sense == "run"


def test_prompt_bound_is_that_of_tsallis_inf():
    """4 sqrt(n T) - 2 sqrt T if no loss was late; one late loss is enough for the larger bound."""
    n, T = 8, 10_000
    bound = hn.TsallisShannon(n).bound(T)
    assert bound.value == pytest.approx(4 * math.sqrt(n * T) - 2 * math.sqrt(T), rel=1e-12)
    assert bound.value == pytest.approx(hn.tsallis_inf(n, False).bound(T).value, rel=1e-12)
    assert (bound.proof, bound.condition, bound.against) == ("whole", "if no loss is late", "oblivious")
    late = hn.TsallisShannon(n).bound(T, missing=1)
    assert late.value > 4 * math.sqrt(n * T)
    assert late.proof == "published"
    assert hn.TsallisShannon(n, (0.0, 2.0)).bound(T).value == pytest.approx(2 * bound.value, rel=1e-12)
    assert hn.TsallisShannon(n).bound(5).condition == ""  # no regret exceeds the number of rounds


def test_certificate_after_one_late_loss_has_the_larger_bound():
    player = hn.TsallisShannon(2).start(seed=0)
    for _ in range(100):
        player.observe(player.act(), 0.5)
    prompt = player.certificate().bound
    assert prompt.value == pytest.approx(4 * math.sqrt(200) - 20, rel=1e-12)
    assert prompt.condition == ""  # the player observed that no loss was late
    first, second = player.act(), player.act()
    player.observe(first, 0.5)
    player.observe(second, 0.5)
    late = player.certificate().bound
    assert late.value == pytest.approx(4 * math.sqrt(204) + math.sqrt(8 * math.log(2)), rel=1e-12)
    assert late.condition == "if delays depend neither on your moves nor on their losses"


@pytest.mark.parametrize("gains", [False, True])
def test_certificate_counts_each_missing_loss_in_other_units(gains):
    """R <= width (4 sqrt(n T) + sqrt(8 D ln n)), D the number of losses missing at each move, summed over the moves.

    D is checked after every call: a move counts when it is drawn, and the loss of a move arrives only after.
    """
    n, rounds, rng = 2, 600, np.random.default_rng(3)
    player = hn.TsallisShannon(n, loss_range=(-2.0, 3.0), gains=gains).start(1)
    waiting, missing = [], 0
    for _ in range(rounds):
        missing += len(waiting)
        waiting.append(player.act())
        assert player.missing == missing
        while len(waiting) > rng.integers(1, 8):
            player.observe(waiting.pop(int(rng.integers(len(waiting)))), float(rng.uniform(-2.0, 3.0)))
            assert player.missing == missing
    assert player.certificate().bound.terms["sqrt(8 D ln n)"] > 0.0  # pending moves are covered
    for move in waiting:
        player.observe(move, 0.5)
    bound, prompt = player.certificate().bound, 4.0 * math.sqrt(n * rounds)
    late = math.sqrt(8.0 * missing * math.log(n))
    assert late > 60.0
    assert bound.value == pytest.approx(5.0 * (prompt + late), rel=1e-12)
    assert bound.value < 5.0 * rounds
    assert bound.terms["sqrt(8 D ln n)"] == pytest.approx(5.0 * late, rel=1e-12)


# A largest delay


def hybrid(L, root, theta):
    """Play of two arms: argmin <L, x> - 2 root sum sqrt(x) + theta sum x log x, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(200):
        p = 0.5 * (low + high)
        slope = L[0] - L[1] - root * (p**-0.5 - (1 - p) ** -0.5) + theta * math.log(p / (1 - p))
        low, high = (low, p) if slope > 0.0 else (p, high)
    return np.array([p, 1.0 - p])


@pytest.mark.parametrize("delay", [1, 5, 40])
def test_scale_with_a_largest_delay_does_not_depend_on_the_feedback(delay):
    player, rng, waiting = hn.TsallisShannon(2, delay=delay).start(seed=0), np.random.default_rng(0), []
    for t in range(1, 120):
        missing = sum(min(u - 1, delay) for u in range(1, t + 1))
        p = hybrid(player.losses, math.sqrt(t), math.sqrt(2 * missing / math.log(2)))
        np.testing.assert_allclose(player.distribution(), p, rtol=1e-7)
        waiting.append(player.act())
        assert player.missing == missing
        while len(waiting) > rng.integers(1, delay + 1):
            player.observe(waiting.pop(int(rng.integers(len(waiting)))), float(rng.random()))


def test_bound_with_a_largest_delay_covers_pending_moves():
    learner = hn.TsallisShannon(["red", "blue"], gains=True, delay=30)
    player, waiting = learner.start(seed=0), []
    for _ in range(2000):
        waiting.append(player.act())
        if len(waiting) > 20:
            player.observe(waiting.pop(0), 1.0)
    found = player.certificate()
    missing = 30 * 31 // 2 + (1999 - 30) * 30
    assert player.missing == missing
    assert found.open_moves == 20
    assert found.bound == learner.bound(2000)
    assert found.bound.value == pytest.approx(
        4 * math.sqrt(4000) - 2 * math.sqrt(2000) + math.sqrt(8 * missing * math.log(2))
    )
    assert (found.bound.proof, found.bound.against) == ("whole", "oblivious")
    text = " ".join(str(found).split())
    assert "at most 30 moves are drawn between a move and its loss" in text
    assert "the bound covers all moves" in text
    assert "covers settled rounds only; for sampled moves" not in text
    with pytest.raises(hn.Withheld):
        learner.bound(2000, against="adaptive")
    assert "nothing is proved" in text  # against an adaptive adversary


def test_bound_without_a_largest_delay_covers_pending_moves():
    player, waiting = hn.TsallisShannon(2).start(seed=0), []
    for _ in range(2000):
        waiting.append(player.act())
        if len(waiting) > 10:
            player.observe(waiting.pop(0), 1.0)
    found = player.certificate()
    assert found.open_moves == 10
    assert found.bound == hn.TsallisShannon(2).bound(2000, missing=player.missing)
    assert "the bound covers all moves" in " ".join(str(found).split())


def test_bound_is_withheld_if_a_loss_is_later_than_stated():
    player = hn.TsallisShannon(2, delay=3).start(seed=0)
    first = player.act()
    for _ in range(3):
        player.observe(player.act(), 0.5)
    assert player.certificate().bound is not None
    player.observe(player.act(), 0.5)
    assert player.certificate().bound is None
    assert "delay=3" in player.certificate().withheld
    player.observe(first, 0.5)


def test_bound_stays_withheld_if_more_moves_were_pending_than_stated():
    player = hn.TsallisShannon(2, delay=3).start(seed=0)
    moves = [player.act() for _ in range(5)]
    for move in moves:
        player.observe(move, 0.5)
    assert "delay=3" in player.certificate().withheld


def test_fleet_and_player_have_the_same_bound_with_a_largest_delay():
    learner = hn.TsallisShannon(2, delay=10)
    fleet, waiting = hn.Fleet(learner, seed=0), []
    for _ in range(1000):
        waiting.append(fleet.act(["a", "b"]))
        if len(waiting) > 5:
            fleet.observe(waiting.pop(0), [0.5, 0.5])
    found = fleet.certificate()
    assert found.bound.value == pytest.approx(2 * learner.bound(1000).value)
    assert "the bound covers all moves" in " ".join(str(found).split())
    late = hn.Fleet(hn.TsallisShannon(2, delay=3), seed=0)
    moves = [late.act(["a"]) for _ in range(5)]
    late.observe(moves[0], [0.5])
    assert late.certificate().vacuous == 1


def test_saved_player_keeps_its_largest_delay(tmp_path):
    player = hn.TsallisShannon(2, delay=7).start(seed=0)
    moves = [player.act() for _ in range(6)]
    player.observe(moves[2], 0.5)
    player.save(tmp_path / "player.json")
    loaded = hn.load(tmp_path / "player.json", resume="exact")
    assert loaded.learner == player.learner
    assert loaded.act().action == player.act().action
    assert "delay" not in hn.TsallisShannon(2).to_json()


@pytest.mark.parametrize("delay", [0, -1, 1.5, "many", True])
def test_invalid_delays_are_rejected(delay):
    with pytest.raises(ValueError, match="delay"):
        hn.TsallisShannon(2, delay=delay)


def test_missing_is_rejected_with_a_largest_delay():
    with pytest.raises(ValueError, match=r"missing.*delay=3.*5"):
        hn.TsallisShannon(2, delay=3).bound(100, missing=5)


def test_a_missing_loss_moves_its_arm_by_at_most_its_share():
    """p_A(L) - p_A(L + m e_A) <= m p_A(L)/theta, and larger losses of the other arm increase p_A."""
    rng, largest = np.random.default_rng(0), 0.0
    for _ in range(300):
        L, root, theta = rng.exponential(20.0, 2), rng.uniform(1.0, 30.0), rng.uniform(0.5, 30.0)
        m, other = rng.exponential(10.0), rng.exponential(10.0)
        p = hybrid(L, root, theta)
        moved = p[0] - hybrid([L[0] + m, L[1]], root, theta)[0]
        assert moved <= m * p[0] / theta + 1e-12
        assert hybrid([L[0] + m, L[1] + other], root, theta)[0] >= hybrid([L[0] + m, L[1]], root, theta)[0] - 1e-12
        largest = max(largest, moved * theta / (m * p[0]))
    assert largest > 0.3  # control: a bound of 0.3 m p_A/theta fails


@pytest.mark.parametrize("adaptive", [False, True])
def test_mean_influence_of_a_missing_loss_is_at_most_one(adaptive):
    """E[p_3(A_1)/p_1(A_1)] with loss 1 missing; an adversary that reacts to A_1 in round 2 exceeds it (control)."""
    total = 0.0
    for first in range(2):
        p1 = np.array([0.5, 0.5])
        for second in range(2):
            p2 = hybrid(np.zeros(2), math.sqrt(2.0), math.sqrt(2.0 / math.log(2)))
            losses = (np.arange(2) != first).astype(float) if adaptive else np.array([0.0, 1.0])
            L = np.zeros(2)
            L[second] = losses[second] / p2[second]
            p3 = hybrid(L, math.sqrt(3.0), math.sqrt(2.0 * 2.0 / math.log(2)))
            total += p1[first] * p2[second] * p3[first] / p1[first]
    assert (total > 1.05) == adaptive
    assert adaptive or total == pytest.approx(1.0)


def test_regret_of_clicks_that_come_before_refusals_stays_within_the_bound():
    """Losses of 0 are prompt and losses of 1 come 25 moves late; the mean of 40 runs is far below the bound."""
    rounds, delay, regrets = 800, 25, []
    for run in range(40):
        rng, player, waiting, own = np.random.default_rng(run), hn.TsallisShannon(2, delay=delay).start(seed=run), [], 0
        losses = (rng.random((rounds, 2)) < [0.7, 0.4]).astype(float)
        for t in range(rounds):
            move = player.act()
            own += losses[t, move.action]
            waiting.append((t + delay * losses[t, move.action], move))
            for due in [one for one in waiting if one[0] <= t]:
                waiting.remove(due)
                player.observe(due[1], losses[due[1].round - 1, due[1].action])
        assert player.certificate().bound is not None
        regrets.append(own - losses.sum(axis=0).min())
    assert np.mean(regrets) < hn.TsallisShannon(2, delay=delay).bound(rounds).value < rounds
