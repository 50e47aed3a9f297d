"""Run 0 of a game makes the moves of the live player, bit for bit, over 1,000 rounds."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import paths
import pytest

import hannan as hn

T = paths.ROUNDS
ROWS = paths.losses(6)
POINTS = np.random.default_rng(3).random((T, 3)) / 2.0 - 0.2
CONVEX = hn.Convex(hn.Ball(3), 1.0, hn.GammaNoise(), hn.Fixed(20.0), smooth=2.0, loss_bound=2.0)

#: Learners whose moves are not arms, with their losses.
OTHERS: dict[str, tuple[Any, Any]] = {
    "convex, linear": (hn.Convex(hn.Ball(3), 1.0, hn.GaussianNoise(), hn.Horizon(T)), hn.Linear(POINTS)),
    "convex, logistic": (CONVEX, hn.Logistic(POINTS, np.arange(T) % 2)),
    "private ball": (hn.PrivateBall(hn.Ball(3), 1.0, 1.0, rounds=T), hn.Linear(POINTS)),
    "optimistic descent": (hn.OptimisticDescent(hn.Ball(3), 1.0), hn.Linear(POINTS)),
    "smooth descent": (hn.SmoothDescent(hn.Ball(3), 4.0, 2.0), hn.Squared(POINTS, np.zeros(T))),
    "online newton": (hn.OnlineNewton(hn.Ball(3), 4.0, 0.1, 2.0), hn.Squared(POINTS, np.zeros(T))),
    "barrier": (hn.BarrierBandit(hn.Ball(3), 1.0, T), hn.Linear(POINTS)),
    "gradient descent": (hn.OnlineGradientDescent(hn.Ball(3), 1.0), hn.Linear(POINTS)),
    "exponentiated gradient": (hn.ExponentiatedGradient(hn.Simplex(3), 1.0), hn.Linear(POINTS)),
    "fpl": (hn.FPL(hn.MSets(6, 2), 9.0), ROWS),
    "fpl-trix": (hn.FPLTrix(hn.MSets(6, 2)), ROWS),
    "slates": (hn.SlateBandit(6, 2), ROWS),
    "slates of leaders": (hn.SlateBandit(6, 2, smoothing=hn.Exponential()), ROWS),
    "slates, all losses": (hn.SlateExperts(6, 2), ROWS),
    "slates, all losses, leaders": (hn.SlateExperts(6, 2, hn.Exponential(), hn.SelfConfident()), ROWS),
}
#: The game of a learner with reports is stepped in Python, on one thread.
STEPPED = {"locally private": (hn.LocallyPrivate(hn.Bandit(6), 1.0), {"losses": ROWS})}
TABLES = paths.tables() | paths.younger() | STEPPED


def test_every_public_learner_is_tested() -> None:
    public = [value for name in hn.__all__ if inspect.isclass(value := getattr(hn, name)) and hasattr(value, "start")]
    assert len(public) > 20
    assert set(public) == {type(learner) for learner, _ in (*TABLES.values(), *OTHERS.values())}


@pytest.mark.parametrize("name", TABLES)
def test_run_0_makes_the_moves_of_the_player(name: str) -> None:
    learner, given = TABLES[name]
    losses, advice = given["losses"], given.get("advice")
    record, player = hn.play(learner, **given, runs=2, seed=4, keep="all"), learner.start(4)
    moves = record.actions[0].tolist()
    assert len(moves) == (200 if name == "myga" else T)
    for t, action in enumerate(moves):
        move = player.act() if advice is None else player.act(advice[t])
        assert move.action == action, f"round {t}"
        player.observe(move, losses[t] if player.sees_all else float(losses[t, action]))


@pytest.mark.parametrize("name", OTHERS)
def test_run_0_makes_the_moves_of_the_player_in_other_sets(name: str) -> None:
    learner, losses = OTHERS[name]
    record, player = hn.play(learner, losses, runs=2, seed=4, keep="all"), learner.start(4)
    rows = record.actions[0]
    for t in range(T):
        move = player.act()
        if hasattr(learner, "decisions"):
            assert tuple(sorted(move.action)) == tuple(np.flatnonzero(rows[t])), f"round {t}"
            player.observe(move, losses[t] if player.sees_all else losses[t][list(move.action)])
        else:
            assert move.action == tuple(rows[t].tolist()), f"round {t}"
            player.observe(move, losses[t])


def test_another_seed_makes_other_moves() -> None:
    """The control."""
    learner, given = TABLES["bandit, tsallis half, anytime"]
    one, two = (hn.play(learner, **given, seed=seed, keep="all").actions.tolist() for seed in (4, 5))
    assert one != two
