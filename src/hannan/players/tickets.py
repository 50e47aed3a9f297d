"""Tickets."""

from __future__ import annotations

import functools
import json
from typing import Any, ClassVar, NamedTuple


class Ticket(NamedTuple):
    """What a move says."""

    player: str
    round: int
    action: int
    probability: float


class Move(Ticket):
    """The ticket of one decision: whose, which round, the action, and the probability it was drawn with.

    `arm` is the name of the action where the learner has names for them, else the action itself.

    >>> move = Move("p1", 3, 0, 0.25)
    >>> Move.from_json(move.to_json()) == move, move.arm
    (True, 0)
    """

    __slots__ = ()

    arms: ClassVar[tuple[str, ...]] = ()

    @property
    def arm(self) -> Any:
        """The action by its name."""
        return self.arms[self.action] if self.arms else self.action

    def __repr__(self) -> str:
        told = f"arm={self.arm!r}, " if self.arms else ""
        return f"Move(player={self[0]!r}, round={self[1]!r}, action={self[2]!r}, {told}probability={self[3]!r})"

    def to_json(self) -> str:
        """The ticket as JSON text: log it, and hand it back after a restart."""
        return json.dumps(self._asdict() | ({"arm": self.arm} if self.arms else {}))

    @classmethod
    def from_json(cls, text: str) -> Move:
        """The ticket of a JSON text."""
        try:
            fields = json.loads(text)
            fields.pop("arm", None)  # said by the action
            return cls(**fields)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"a move must be JSON with {', '.join(cls._fields)}: {error}") from None


@functools.lru_cache(maxsize=256)
def move_of(arms: tuple[str, ...]) -> type[Move]:
    """The moves of a learner whose actions have these names; plain ones where they have none.

    >>> move_of(("red", "blue"))("p1", 3, 1, 0.25).arm
    'blue'
    """
    return type("Move", (Move,), {"__slots__": (), "arms": arms}) if arms else Move
