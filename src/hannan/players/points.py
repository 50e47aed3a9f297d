"""Tickets of moves in a convex set, and what players that hand them out have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hannan import _engine
from hannan.mathematics.convex.loss import Loss, RankOne
from hannan.players.descriptions import OfPoints
from hannan.players.tickets import Book, Written
from hannan.refusals import Array
from hannan.saving import fields


class PointTicket(NamedTuple):
    """What a point says."""

    player: str
    round: int
    action: tuple[float, ...]
    distance: float


class Point(Written, PointTicket):
    """The ticket of one move in a convex set, and `distance`: how far at most it is from the exact argmin."""

    __slots__ = ()


class PointPlayer(_engine.Book, Book):
    """Points out, loss functions in."""

    learner: OfPoints
    _move = Point

    def __init__(self) -> None:
        super().__init__("", Point)
        #: Losses of the user's own, whose functions no file holds.
        self._seen: list[Loss] = []

    def _admitted(self, move: Point, loss: Any) -> tuple[int, Loss, Array]:
        """(the round of an open move, its loss, the point played); anything else is refused."""
        number, loss = self._ticket(move), self.learner.admit(loss)
        if loss.is_sequence:
            raise ValueError(f"the loss of a move must be one loss; got a sequence of {len(loss)}")
        return number, loss, np.array(move.action)

    def _remember(self, loss: Loss) -> None:
        """Keep a loss of the user's own."""
        if isinstance(loss, RankOne):
            self._seen.append(loss)

    def _refuse_own_losses(self) -> None:
        """No file can hold a player that met them."""
        if self._seen:
            raise ValueError("a saved player must have losses of the package; a file cannot hold functions of your own")

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        action, distance = rest
        numbers = fields.items(action, "move", self.learner.domain.d)
        place = tuple(fields.number(x, "open move", -fields.LARGE, fields.LARGE) for x in numbers)
        return place, fields.number(distance, "distance", 0.0, fields.LARGE)
