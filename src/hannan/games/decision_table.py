"""Games over decisions against adversaries that look at past moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals
from hannan.games.adaptive import Table
from hannan.learners.decisions.learner import Combinatorial
from hannan.refusals import Array


class DecisionTable(Table):
    """A move is a row of 0s and 1s, a loss is a row, a number for each component."""

    setting = "decisions"
    kind = np.int8

    def __init__(self, learner: Combinatorial) -> None:
        super().__init__(learner)
        self.decisions, self.n, self.shape = learner.decisions, learner.n, (learner.n,)

    def shown(self, move: Any) -> Any:
        row = np.zeros(self.n, dtype=np.int8)
        row[list(move.action)] = 1
        return row

    def admit(self, loss: Any) -> Array:
        return refusals.row(loss, self.n, 0.0, 1.0)

    def settle(self, player: Any, move: Any, loss: Array) -> float:
        picked = list(move.action)
        player.observe(move, loss if player.sees_all else loss[picked])
        return float(loss[picked].sum())

    def best(self, losses: Any, marks: NDArray[np.int64]) -> Array:
        sums = np.cumsum(losses, axis=0)[marks - 1]
        return np.asarray((self.decisions.best_each(sums) * sums).sum(axis=1))

    def counted(self, moves: NDArray[Any]) -> NDArray[np.int64]:
        return np.asarray(moves.sum(axis=0, dtype=np.int64))
