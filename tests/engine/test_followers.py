"""Experts that follow an action are listed 64 at a time: games against the definition, at every boundary."""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn

ROUNDS, ACTIONS, SCALE = 300, 10, 12.0
SIZES = [5, 8, 63, 64, 65, 71, 72, 127, 128, 129, 200, 1000, 1024, 1030]


def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.random((ROUNDS, ACTIONS)), rng.integers(0, ACTIONS, (ROUNDS, n), dtype=np.uint8)


def learner(n: int) -> hn.ExpertBandit:
    return hn.ExpertBandit(ACTIONS, n, hn.Entropy(), hn.Fixed(SCALE))


@pytest.mark.parametrize("n", SIZES)
def test_moves_follow_the_definition(n):
    """q_j is the weight of the experts that advise j, and only these are charged: L_i += loss/q_j, p =
    softmax(-L/scale).
    """
    losses, advice = drawn(n)
    player = learner(n).start(3)
    estimates, moves = np.zeros(n), []
    for row, heard in zip(losses, advice, strict=True):
        p = np.exp((estimates.min() - estimates) / SCALE)
        p /= p.sum()
        np.testing.assert_allclose(player.distribution(), p, rtol=1e-11, atol=0.0)
        move = player.act(heard)
        follow = heard == move.action
        assert move.probability == pytest.approx(p[follow].sum(), rel=1e-11)
        player.observe(move, row[move.action])
        estimates[follow] += row[move.action] / p[follow].sum()
        moves.append(move.action)
    # Advice as bytes and as integers gives the same moves in a game.
    for given in (advice, advice.astype(np.int64)):
        record = hn.play(learner(n), losses, seed=3, advice=given, keep="all")
        assert record.actions[0].tolist() == moves
        assert record.estimated_regret[0] == pytest.approx(record.loss[0, -1] - estimates.min(), rel=1e-10)


@pytest.mark.parametrize("n", [64, 65, 1000])
@pytest.mark.parametrize("who", ["nobody else", "all"])
def test_action_advised_by_one_or_by_all_experts(n, who):
    """An action that one expert advises, and one that all experts advise: lists of length 1 and n."""
    losses, _ = drawn(n)
    advice = np.zeros((ROUNDS, n), dtype=np.uint8)
    if who == "nobody else":
        advice[np.arange(ROUNDS), np.random.default_rng(n).integers(0, n, ROUNDS)] = 7
    record = hn.play(learner(n), losses, seed=1, advice=advice, keep="all")
    assert set(record.actions[0].tolist()) <= {0, 7}
    if who == "all":
        assert record.regret[0, -1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("n", [65, 256, 1000, 1024, 1025, 16_400, 20_000])
def test_tree_draws_arms_in_proportion_to_weights(n):
    """Partial sums at the top of the tree and below: each of eight parts of the arms is drawn in proportion to its
    weight.

    Chi-square with 7 degrees of freedom exceeds 40.5 once in 1e6 runs.
    """
    row = np.linspace(0.0, 1.0, n)
    record = hn.play(hn.Experts(n, hn.Entropy(), hn.Fixed(0.5)), np.vstack([row, row]), runs=20_000, seed=5, keep="all")
    p = np.exp(-row / 0.5)
    parts = np.array_split(p / p.sum(), 8)
    ends = np.cumsum([len(part) for part in parts])
    expected = 20_000 * np.array([part.sum() for part in parts])
    found = np.bincount(np.searchsorted(ends, record.actions[:, 1], side="right"), minlength=8)
    assert ((found - expected) ** 2 / expected).sum() < 40.5
