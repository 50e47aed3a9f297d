"""Files: a player that was saved plays on as one that never stopped, and two copies are two players."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hannan import saving
from hannan.checks.report import Check, hold, needs, refuses, skip
from hannan.checks.seats import Seat, seat, state, with_tickets
from hannan.players.load import load


def a_saved_player_resumes_exactly(learner: Any) -> None:
    """Killed at any round, with moves open, and loaded with resume="exact", it makes the moves that it would have."""
    _can_be_saved(learner)
    for cut in (0, 1, 37):
        never, killed = seat(learner, 4), seat(learner, 4)
        hold(never.run(0, cut) == killed.run(0, cut), "the same seed must make the same moves; it made others")
        kept = [never.act(t) for t in range(cut, cut + 3)]
        handed = [killed.act(t) for t in range(cut, cut + 3)]
        resumed = seat(learner, player=_through_a_file(killed.player, resume="exact"))
        hold(state(resumed.player) == state(killed.player), "a resumed player must be the one saved; the state differs")
        handed = [type(move).from_json(move.to_json()) if hasattr(move, "to_json") else move for move in handed]
        for i in (1, 0, 2):
            never.observe(kept[i], never.losses(i))
            resumed.observe(handed[i], resumed.losses(i))
        same = never.run(cut + 3, cut + 60) == resumed.run(cut + 3, cut + 60)
        hold(same, f"saved after {cut} rounds it must make the moves that it would have; it made others")
        if hasattr(never.player, "certificate"):
            _certifies_as(never.player, resumed.player, bool(getattr(learner, "draws", True)))


def _certifies_as(never: Any, resumed: Any, draws: bool) -> None:
    """The same certificate, and that there may be a twin: what is drawn from a file's stream, another can draw too."""
    told = resumed.certificate()
    says = getattr(told, "resumed", False)
    rule = "a certificate must say that there may be a twin, where moves are drawn and there alone"
    hold(says is draws, f'of resume="exact" {rule}; got resumed={says}, draws={draws}')
    same = never.certificate() == (dataclasses.replace(told, resumed=False) if draws else told)
    hold(same, "a resumed player must certify what it would have; the certificates differ")


def copies_are_players_of_their_own(learner: Any) -> None:
    """A plain load keeps all but the stream: two copies draw for themselves, honour the moves that were open once
    each, and refuse each other's."""
    _can_be_saved(learner)
    taken = seat(learner, 4)
    taken.run(0, 20)
    old = taken.act(20)
    one, two = (seat(learner, player=_through_a_file(taken.player)) for _ in range(2))
    names = {taken.player.id, one.player.id, two.player.id}
    hold(len(names) == 3, f"a copy must have an id of its own; got {sorted(names)}")
    if hasattr(taken.player, "distribution") and not taken.apart:
        same = (one.player.distribution() == taken.player.distribution()).all()
        hold(same, "a copy must stand where the player stood; p differs")
    new = one.act(21)
    for copy in (one, two):
        copy.observe(old, copy.losses(20))
        refuses(lambda copy=copy: copy.observe(old, copy.losses(20)), "a move settled already")  # type: ignore[misc]
    two.act(21)
    refuses(lambda: two.observe(new, two.losses(21)), "a move of another copy")
    one.observe(new, one.losses(21))
    _draw_for_themselves(one, two)


def _draw_for_themselves(one: Seat, two: Seat) -> None:
    """100 moves of two copies: by what p says they agree by chance at most once in 1e6."""
    if one.apart or one.advised:
        return
    chance, same = 0.0, True
    for t in range(100):
        chance += float(np.log(np.square(one.player.distribution()).sum()))
        same &= bool(one.action(one.act(t)) == two.action(two.act(t)))
    hold(not same or chance > np.log(1e-6), "copies must draw for themselves; two made the same 100 moves")


def _can_be_saved(learner: Any) -> None:
    taken = with_tickets(learner)
    needs(taken.player, "save")
    try:
        known = saving.build(saving.describe(learner))
    except ValueError as reason:
        skip(f"{reason} (hannan.register makes a class of your own known to load)")
    hold(known == learner, f"a learner must come back from its description; got {known!r} of {learner!r}")


def _through_a_file(player: Any, resume: str | None = None) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "player.json"
        player.save(path)
        return load(path, resume=resume)


CHECKS: tuple[Check, ...] = (a_saved_player_resumes_exactly, copies_are_players_of_their_own)
