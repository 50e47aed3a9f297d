"""A child process has a copy of every player: its random stream is new, except for players with a seed."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.learners.fpl import MSets

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes are not forked on this system"
)
STARTED: dict[str, Any] = {
    "experts": lambda seed: hn.Experts(2).start(seed),
    "bandit": lambda seed: hn.Bandit(2).start(seed),
    "decisions": lambda seed: hn.FPL(MSets(6, 2), 2.0).start(seed),
    "convex": lambda seed: hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0).start(seed),
    "fleet": lambda seed: hn.Fleet(hn.Bandit(2), seed=seed),
}


def moves(player: Any) -> list[Any]:
    """Forty moves, or points."""
    if isinstance(player, hn.Fleet):
        return [player.act([7]).action.tolist() for _ in range(40)]
    return [np.asarray(player.act()[2]).tolist() for _ in range(40)]


@pytest.mark.parametrize("kind", STARTED)
@pytest.mark.parametrize("seed", [None, 5])
def test_child_process_draws_other_moves(kind, seed):
    """Forty coins are equal with probability 1e-12.

    The control is a seed, with which all copies make the same moves.
    """
    player = STARTED[kind](seed)
    name = player.id
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def child() -> None:
        theirs.send((player.id, moves(player)))

    process = context.Process(target=child)
    process.start()
    other, drawn = ours.recv()
    process.join()
    own = moves(player)
    assert player.id == name
    assert (drawn == own, other == name) == ((False, False) if seed is None else (True, True))


def test_pending_moves_are_settled_once_by_each_process():
    player = hn.Bandit(3).start()
    move = player.act()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def child() -> None:
        player.observe(move, 0.5)
        theirs.send(player.certificate().rounds)

    process = context.Process(target=child)
    process.start()
    assert ours.recv() == 1
    process.join()
    player.observe(move, 0.25)
    assert player.certificate().own_loss == 0.25
