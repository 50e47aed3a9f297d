"""Combinatorial decisions: the oracles, FPL and FPL-TRIX, and the contract of players of decisions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from decision_sets import decision_sets, learners

import hannan as hn
from hannan.games.decisions import Abreast, abreast


def settle(player, plan, row):
    player.observe(plan, row if player.sees_all else row[list(plan.action)])


def test_oracles_find_the_cheapest_decision():
    for decisions, count in zip(decision_sets(), (15, 6, 6), strict=True):
        choices = decisions.every()
        assert len(choices) == count
        # No decision is missing: the best decision for any costs is in the list.
        costs = np.random.default_rng(0).standard_normal((600, decisions.d))
        assert (np.unique(decisions.best_each(costs), axis=0) == np.unique(choices, axis=0)).all()
        assert choices.sum(axis=1).max() == decisions.most
        apart = np.abs(choices[:, None] - choices[None]).sum(axis=2).max()
        assert apart <= decisions.diameter
        for row, chosen in zip(costs, decisions.best_each(costs), strict=True):
            assert (decisions.best(row) == chosen).all()
            assert chosen @ row == pytest.approx((choices @ row).min(), abs=1e-12)


@pytest.mark.parametrize("kind", ["fpl", "trix"])
def test_players_of_decisions_save_load_and_reject(kind, tmp_path):
    for decisions in decision_sets():
        learner = hn.FPL.tuned(decisions, 100) if kind == "fpl" else hn.FPLTrix(decisions)
        assert type(learner).from_json(learner.to_json()) == learner
        never, killed = learner.start(3), learner.start(3)
        rng = np.random.default_rng(0)

        for _ in range(15):
            row = rng.random(decisions.d)
            for player in (never, killed):
                settle(player, player.act(), row)
        plans = [player.act() for player in (never, killed)]
        killed.save(tmp_path / "player.json")
        resumed = hn.load(tmp_path / "player.json", resume="exact")
        assert resumed.open_moves == killed.open_moves
        handed = type(plans[1]).from_json(plans[1].to_json())
        before = json.dumps(resumed.content())
        for bad in (None, 7, plans[0], handed._replace(action=()), handed._replace(round=99)):
            with pytest.raises(ValueError, match="move"):
                resumed.observe(bad, rng.random(decisions.d))
        for loss in ([2.0] * decisions.d, [np.nan] * decisions.d, [], "x"):
            with pytest.raises(ValueError):
                resumed.observe(handed, loss)
        assert json.dumps(resumed.content()) == before
        row = rng.random(decisions.d)
        settle(never, plans[0], row)
        settle(resumed, handed, row)
        for _ in range(10):
            row = rng.random(decisions.d)
            a, b = never.act(), resumed.act()
            assert a.action == b.action
            settle(never, a, row)
            settle(resumed, b, row)
        assert (never.losses == resumed.losses).all()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_game_makes_the_moves_of_its_players(which):
    """Blocks of rounds (FPL) and parallel runs (FPL-TRIX) equal stepped games bit for bit, and so does run 0."""
    decisions = decision_sets()[which]
    losses = np.random.default_rng(7).random((120, decisions.d))
    for learner in learners(decisions):
        quick, slow = abreast(learner, [3, 8, 2**70]), Abreast(learner, [3, 8, 2**70])
        assert type(quick) is not Abreast
        for rows in (losses[:50], losses[50:51], losses[51:]):
            assert (quick.advance(rows[None]) == slow.advance(rows[None])).all()
        if not learner.sees_all:
            np.testing.assert_allclose(quick.least_estimates(), slow.least_estimates(), rtol=1e-12)
        record, player, paid = hn.play(learner, losses, runs=2, seed=3, keep="all"), learner.start(3), []
        for row in losses:
            plan = player.act()
            paid.append(row[list(plan.action)].sum())
            settle(player, plan, row)
            assert tuple(np.flatnonzero(record.actions[0, len(paid) - 1])) == plan.action
        best = (decisions.every() @ losses.cumsum(axis=0).T).min(axis=0)
        np.testing.assert_allclose(record.regret[0], np.cumsum(paid) - best, atol=1e-9)
        again = hn.play(learner, losses, runs=2, seed=3, threads=1, keep="all")
        assert (again.regret == record.regret).all()
        assert (again.counts == record.counts).all()
        assert (again.actions == record.actions).all()
        blocks = hn.play(learner, iter([losses[:7], losses[7:90], losses[90:]]), runs=2, seed=3, keep="all")
        assert (blocks.regret == record.regret).all()
        if not learner.sees_all:
            told = learner.start(3)
            for row in losses:
                settle(told, told.act(), row)
            assert record.estimated_regret[0] == pytest.approx(told.certificate().estimated_regret, abs=1e-9)


def test_results_do_not_depend_on_blocks(monkeypatch):
    learner = hn.FPL.tuned(hn.MSets(5, 2), 700)
    losses = np.random.default_rng(1).random((700, 5))
    whole = hn.play(learner, losses, runs=3, seed=2)
    monkeypatch.setattr("hannan.games.decisions.BLOCK_NUMBERS", 200)
    cut = hn.play(learner, losses, runs=3, seed=2)
    assert (cut.counts == whole.counts).all()
    assert (cut.regret == whole.regret).all()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_players_of_decisions_keep_the_contract(which):
    """Moves are decisions; inputs are unchanged; the seed determines the moves; late and dropped feedback, ties and
    zeros are accepted.
    """
    decisions = decision_sets()[which]
    listed = {tuple(row) for row in decisions.every()}
    for learner in learners(decisions):
        assert eval(repr(learner), {name: getattr(hn, name) for name in hn.__all__}) == learner
        assert hash(learner) == hash(type(learner).from_json(learner.to_json()))
        assert learner.start(0).id != learner.start(0).id
        moves = []
        for seed in (7, 7, 8):
            player, made = learner.start(seed), []
            for t in range(40):
                row = np.random.default_rng([11, t]).random(decisions.d)
                keep = row.copy()
                row.setflags(write=False)
                plan = player.act()
                settle(player, plan, row)
                assert (row == keep).all()
                assert tuple(np.isin(range(decisions.d), plan.action).astype(float)) in listed
                made.append(plan.action)
            moves.append(made)
        assert moves[0] == moves[1] != moves[2]
        player = learner.start(1)
        plans = [player.act() for _ in range(4)]
        for k in (2, 0, 3, 1):
            settle(player, plans[k], np.random.default_rng(k).random(decisions.d))
        assert player.open_moves == ()
        assert "feedback was delayed" in player.certificate().withheld
        for value in (0.0, 1.0, 1e-300):
            player = learner.start(0)
            for _ in range(60):
                settle(player, player.act(), np.full(decisions.d, value))
            assert np.isfinite(player.losses).all()


def test_player_and_losses_of_one_seed_are_independent():
    """Losses drawn by default_rng(seed) and a player with the same seed share no randomness, so coin flips cannot be
    predicted.

    The expected loss of every decision is T m/2 = 1000, with standard deviation sqrt(T m/12) = 12.9; a loss below 1000
    - 5 standard deviations has probability 3e-7.
    """
    rounds, decisions = 1000, hn.MSets(8, 2)
    for seed in (0, 1):
        losses = np.random.default_rng(seed).random((rounds, 8))
        for learner in learners(decisions, rounds):
            record = hn.play(learner, losses, seed=seed)
            assert record.regret[0, -1] + record.best_loss > 1000 - 5 * np.sqrt(rounds * 2 / 12)


def test_records_of_decisions_are_saved(tmp_path):
    record = hn.play(hn.FPL.tuned(hn.MSets(5, 2), 200), np.random.default_rng(0).random((200, 5)), runs=3, seed=1)
    record.save(tmp_path / "record.npz")
    again = hn.Record.load(tmp_path / "record.npz")
    assert (again.regret == record.regret).all()
    assert again.bound == record.bound
    assert "FPL" in repr(record)
    assert record.interval(0.999999)[0][-1] <= record.bound.value


def test_games_of_decisions_reject_invalid_arguments():
    pytest.importorskip("networkx")
    for build in (
        lambda: hn.MSets(2, 3), lambda: hn.Assignments(0), lambda: hn.ShortestPaths((), "s", "t"),
        lambda: hn.ShortestPaths((("s", "t"), ("t", "s")), "s", "t"), lambda: hn.ShortestPaths((("s", "t"),), "t", "s"),
        lambda: hn.FPL(hn.MSets(3, 1), 0.0), lambda: hn.FPL(hn.MSets(3, 1), 1.0, "cauchy"), lambda: hn.FPLTrix(3),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            build()
