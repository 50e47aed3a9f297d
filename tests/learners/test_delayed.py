"""Bandits with late feedback: Tsallis-INF while losses are prompt, and the minimiser that it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn


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
    """4 sqrt(n T) - 2 sqrt T while no loss was late; one late loss is enough for the larger bound."""
    n, T = 8, 10_000
    bound = hn.TsallisShannon(n).bound(T)
    assert bound.value == pytest.approx(4 * math.sqrt(n * T) - 2 * math.sqrt(T), rel=1e-12)
    assert bound.value == pytest.approx(hn.tsallis_inf(n, False).bound(T).value, rel=1e-12)
    assert (bound.proof, bound.condition, bound.against) == ("whole", "if no loss is late", "oblivious")
    late = hn.TsallisShannon(n).bound(T, missing=1)
    assert late.value > 4 * math.sqrt(n * T)
    assert late.proof == "published"
    assert hn.TsallisShannon(n, (0.0, 2.0)).bound(T).value == pytest.approx(2 * bound.value, rel=1e-12)
    assert hn.TsallisShannon(n).bound(5).condition == ""  # no regret exceeds the rounds


def test_certificate_after_one_late_loss_has_the_larger_bound():
    player = hn.TsallisShannon(2).start(seed=0)
    for _ in range(100):
        player.observe(player.act(), 0.5)
    prompt = player.certificate().bound
    assert prompt.value == pytest.approx(4 * math.sqrt(200) - 20, rel=1e-12)
    assert prompt.condition == ""  # the player saw that none was late
    first, second = player.act(), player.act()
    player.observe(first, 0.5)
    player.observe(second, 0.5)
    late = player.certificate().bound
    assert late.value == pytest.approx(4 * math.sqrt(204) + math.sqrt(8 * math.log(2)), rel=1e-12)
    assert late.condition == "if delays do not depend on your moves"


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
    assert player.certificate().bound is None
    for move in waiting:
        player.observe(move, 0.5)
    bound, prompt = player.certificate().bound, 4.0 * math.sqrt(n * rounds)
    late = math.sqrt(8.0 * missing * math.log(n))
    assert late > 60.0
    assert bound.value == pytest.approx(5.0 * (prompt + late), rel=1e-12)
    assert bound.value < 5.0 * rounds
    assert bound.terms["sqrt(8 D ln n)"] == pytest.approx(5.0 * late, rel=1e-12)
