"""Bandits with late feedback: Tsallis-INF while losses are prompt, and the minimiser that it says."""

from __future__ import annotations

import math

import numpy as np

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
    assert f"D = {missing}" in player.certificate().bound.source or "rounds times" in player.certificate().bound.source
