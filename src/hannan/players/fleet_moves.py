"""The tickets of a batch of decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.players.tickets import Move, move_of
from hannan.refusals import Array


@dataclass(frozen=True, eq=False)
class Moves:
    """A batch of decisions of a fleet, as arrays.

    A batch of decisions of a fleet, as arrays: whose, which round of its learner, the action, its probability, the
    ticket to settle it with.

    `moves[mask]`, `moves[2:5]` and `moves[[3, 1]]` are some of them, which may be settled apart; `list(moves)` are
    single `Move`s. `arm` has the names of the actions where the learner has any.

    >>> import hannan as hn
    >>> moves = hn.Fleet(hn.Bandit(3), seed=0).act([7, 8, 7])
    >>> moves.key.tolist(), moves.round.tolist(), len(moves[:2])
    ([7, 8, 7], [1, 1, 2], 2)
    """

    #: The id of the fleet that drew them.
    fleet: str
    key: Any
    round: NDArray[np.int64]
    action: NDArray[np.int64]
    probability: Array
    ticket: NDArray[np.int64]
    arms: tuple[str, ...] = ()

    @property
    def arm(self) -> Any:
        """The actions by their names."""
        return np.array(self.arms, dtype=object)[self.action] if self.arms else self.action

    def __len__(self) -> int:
        return len(self.ticket)

    def __getitem__(self, chosen: Any) -> Moves:
        places = np.arange(len(self))[chosen]
        if places.ndim != 1:
            raise IndexError(f"moves must be chosen by a slice, a mask or a list of places; got {chosen!r}")
        key = [self.key[k] for k in places.tolist()] if isinstance(self.key, list) else self.key[places]
        return Moves(
            self.fleet,
            key,
            self.round[places],
            self.action[places],
            self.probability[places],
            self.ticket[places],
            self.arms,
        )

    def __iter__(self) -> Iterator[Move]:
        made = move_of(self.arms)
        keys = self.key if isinstance(self.key, list) else self.key.tolist()
        columns = (keys, self.round.tolist(), self.action.tolist(), self.probability.tolist())
        for key, number, action, probability in zip(*columns, strict=True):
            yield made(f"{self.fleet}/{key}", number, action, probability)

    def __repr__(self) -> str:
        return f"<{len(self)} moves of fleet {self.fleet}>"
