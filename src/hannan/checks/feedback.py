"""Late feedback: losses in any order, each ticket once, and nobody else's."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.checks.report import Check, hold, needs, refuses
from hannan.checks.seats import seat, state, with_tickets


def losses_may_come_late(learner: Any) -> None:
    """In any order; the open moves are listed, and the bound says what it is then, or is withheld."""
    taken = with_tickets(learner)
    moves = [taken.act(t) for t in range(6)]
    for k, t in enumerate((3, 0, 5, 1, 4, 2)):
        if hasattr(taken.player, "open_moves"):
            opened = len(taken.player.open_moves)
            hold(opened == 6 - k, f"open_moves must list {6 - k} moves; got {opened}")
        taken.observe(moves[t], taken.losses(t))
    if hasattr(taken.player, "certificate"):
        said = taken.player.certificate()
        hold((said.rounds, said.open_moves) == (6, 0), f"6 rounds are settled and none open; got {said}")
        hold(said.largest_delay == 5, f"5 moves were open when the last was drawn; got {said.largest_delay}")
        hold(said.bound is None or said.bound.value >= 0.0, f"a bound must be >= 0; got {said.bound}")
    taken.run(6, 30)
    if hasattr(taken.player, "distribution") and not taken.apart:
        p = taken.player.distribution()
        hold(np.isfinite(p).all() and abs(p.sum() - 1.0) < 1e-9, f"p must sum to 1 after late losses; got {p}")


def a_forgotten_move_withholds_the_bound(learner: Any) -> None:
    """A move whose loss never comes can be closed; nothing is proved of what is left, and it says so."""
    taken = with_tickets(learner)
    needs(taken.player, "forget", "certificate")
    taken.run(0, 3)
    taken.player.forget(taken.act(3))
    taken.run(4, 8)
    said = taken.player.certificate()
    counts = (said.rounds, said.open_moves, said.forgotten)
    hold(counts == (7, 0, 1), f"7 rounds are settled, none open and 1 forgotten; got {counts}")
    hold(said.bound is None and "forgotten" in said.withheld, f"the bound must be withheld; got {said.bound}")


def tickets_count_once(learner: Any) -> None:
    """Settled, foreign, altered and made-up tickets are refused with a ValueError, and change nothing."""
    taken, stranger = with_tickets(learner), seat(learner)
    settled = taken.act(0)
    taken.observe(settled, taken.losses(0))
    stranger.step(0)
    move, foreign = taken.act(1), stranger.act(1)
    bad = [("a settled move", settled), ("a move of another player", foreign)]
    bad += [(f"the ticket {thing!r}", thing) for thing in ((), None, "ticket", 7)]
    if hasattr(move, "_replace"):
        bad += [("a move of a round to come", move._replace(round=99)), ("a move of round 0", move._replace(round=0))]
        bad.append(("a move of the round [1]", move._replace(round=[1])))
        if hasattr(move, "probability"):
            bad.append(("a move of another probability", move._replace(probability=move.probability / 2)))
        bad.append(("a move of another action", move._replace(action=_other(move.action))))
    losses, before = taken.told(move, taken.losses(1)), state(taken.player)
    for what, ticket in bad:
        refuses(lambda ticket=ticket: taken.player.observe(ticket, losses), what)  # type: ignore[misc]
        if hasattr(taken.player, "forget"):
            refuses(lambda ticket=ticket: taken.player.forget(ticket), what)  # type: ignore[misc]
    hold(state(taken.player) == before, "a refused ticket must change nothing; the state changed")
    taken.observe(move, taken.losses(1))
    refuses(lambda: taken.player.observe(move, losses), "a move that was settled just now")


def _other(action: Any) -> Any:
    return (*action, action[-1]) if isinstance(action, tuple) else action + 1


CHECKS: tuple[Check, ...] = (losses_may_come_late, a_forgotten_move_withholds_the_bound, tickets_count_once)
