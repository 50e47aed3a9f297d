"""Convex games against adversaries that look at past moves: the loss of a round is a loss function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hannan.games.adaptive import Table
from hannan.games.convex import Played, hindsight
from hannan.games.descent import Walked
from hannan.mathematics.convex.domain import Domain
from hannan.mathematics.convex.loss import Loss
from hannan.refusals import Array


class Seen(Sequence[Loss]):
    """The first so many losses of a run, read-only."""

    def __init__(self, losses: list[Loss], count: int) -> None:
        self._losses, self._count = losses, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, item: int) -> Loss: ...
    @overload
    def __getitem__(self, item: slice) -> Sequence[Loss]: ...
    def __getitem__(self, item: int | slice) -> Loss | Sequence[Loss]:
        at = range(self._count)[item]
        return self._losses[at] if isinstance(at, int) else [self._losses[k] for k in at]


class PointTable(Table):
    """A move is a point, a loss is a loss function; all losses of a game are of one kind, as those of a sequence."""

    setting = "convex"
    kind = np.float64

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)
        self.domain: Domain = learner.domain
        self.n, self.shape = self.domain.d, (self.domain.d,)
        self._first: Loss | None = None

    def shown(self, move: Any) -> Any:
        return getattr(move, "action", move)

    def admit(self, loss: Any) -> Loss:
        loss = self.learner.admit(loss)
        if loss.is_sequence:
            raise ValueError(f"the loss of a round must be one loss; got a sequence of {len(loss)}")
        if self._first is None:
            self._first = loss
        elif _kind(loss) != _kind(self._first):
            raise ValueError(f"losses of one game must be of one kind, as the first, {self._first!r}; got {loss!r}")
        return loss  # type: ignore[no-any-return]

    def settle(self, player: Any, move: Any, loss: Loss) -> float:
        player.observe(move, loss)
        return float(loss.value(self.shown(move)))

    def seen(self, rounds: int) -> tuple[Any, Callable[[int], Any]]:
        kept: list[Any] = [None] * rounds
        return kept, lambda t: Seen(kept, t)

    def best(self, losses: Any, marks: NDArray[np.int64]) -> Array:
        return hindsight(self.domain, stacked(losses), marks)

    def counted(self, moves: NDArray[Any]) -> NDArray[np.int64]:
        return np.zeros(0, dtype=np.int64)


class DescentTable(PointTable):
    """The table of a descent."""

    def source(self, players: Sequence[Any], losses: Sequence[Any]) -> Any:
        regrets = [player.certificate().regret for player in players]
        return Walked(self.learner, stacked(losses[0]), max(regrets))


class ConvexTable(PointTable):
    """The table of `Convex`, whose bound knows what solving for the moves cost."""

    def source(self, players: Sequence[Any], losses: Sequence[Any]) -> Any:
        costs = [player.solver_cost() for player in players]
        return Played(self.learner, max(costs), stacked(losses[0]))


def stacked(losses: Sequence[Loss]) -> Loss:
    """Losses of one kind as a sequence.

    >>> from hannan.mathematics.convex.losses import Linear
    >>> stacked([Linear([1.0, 0.0]), Linear([0.0, 1.0])]).z.shape
    (2, 2)
    """
    names = [field.name for field in fields(losses[0]) if field.name in ("z", "y")]
    return replace(losses[0], **{name: np.array([getattr(loss, name) for loss in losses]) for name in names})


def _kind(loss: Loss) -> tuple[Any, ...]:
    return type(loss), *(getattr(loss, field.name) for field in fields(loss) if field.name not in ("z", "y"))
