"""Tickets."""

from __future__ import annotations

import json
from typing import NamedTuple


class Move(NamedTuple):
    """The ticket of one decision: whose, which round, the action, and the probability it was drawn with.

    >>> move = Move("p1", 3, 0, 0.25)
    >>> Move.from_json(move.to_json()) == move
    True
    """

    player: str
    round: int
    action: int
    probability: float

    def to_json(self) -> str:
        """The ticket as JSON text: log it, and hand it back after a restart."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Move:
        """The ticket of a JSON text."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise ValueError(f"a move must be JSON with {', '.join(cls._fields)}: {error}") from None
