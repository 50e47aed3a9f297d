"""Two speeds, one meaning: run 0 of a game makes the moves of the player."""

from __future__ import annotations

from typing import Any

from hannan.checks.report import Check, hold
from hannan.checks.seats import AdvisedSeat, seat
from hannan.games.play import play


def run_0_of_a_game_is_the_player(learner: Any) -> None:
    """`play(learner, losses, seed=5)` makes the moves of `learner.start(5)`, and pays what they cost."""
    taken, rounds = seat(learner, 5), 90
    game = taken.game(rounds)
    record = play(learner, **game, runs=1, seed=5, threads=1, keep="all")
    own, actions = 0.0, []
    for t in range(rounds):
        move = taken.player.act(taken.advice(t)) if isinstance(taken, AdvisedSeat) else taken.player.act()
        losses = taken.losses(t)
        taken.observe(move, losses)
        own += taken.paid(move, losses)
        actions.append(taken.action(move))
    paid = float(record.loss[0, -1]) if record.loss is not None else own
    near = abs(paid - own) <= 1e-9 * rounds * max(1.0, abs(taken.low), abs(taken.high))
    hold(near, f"run 0 must pay what the player pays, {own!r}; got {paid!r}")
    if record.actions is not None and not taken.apart:
        same = record.actions[0].tolist() == actions
        hold(same, "run 0 must make the moves of the player; it made others")


CHECKS: tuple[Check, ...] = (run_0_of_a_game_is_the_player,)
