"""Whole games of gradient descent: nothing in them is random, so all runs on the same losses are equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan.games.asked import Asked
from hannan.games.convex import PointRunner
from hannan.games.runners import Job
from hannan.learners.convex.gradient import Descent
from hannan.mathematics.bounds import Bound, Withheld
from hannan.mathematics.convex.loss import Loss, RankOne
from hannan.mathematics.convex.own_phi import on_your_word, refuse_at
from hannan.players.descent import Walk, refuted
from hannan.refusals import Array


@dataclass(frozen=True)
class Walked:
    """A descent with the game that it played: its bound is one of every sequence, so a regret above it refutes."""

    learner: Descent
    losses: Loss
    regret: float

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """The learner's bound, unless the game contradicts it."""
        bound = self.learner.bound(rounds, best_loss, against=against)
        if rounds == len(self.losses) and (wrong := refuted(self.regret, bound)):
            raise Withheld(wrong)
        return on_your_word(bound, isinstance(self.losses, RankOne))


class DescentRunner(PointRunner):
    """One game, played once; its runs are copies of it."""

    stepped = True

    def __init__(self, learner: Descent, losses: Any, asked: Asked) -> None:
        super().__init__(learner, losses, asked)
        asked.one_thread(learner)
        self.total, self.walk = self.rounds, Walk(learner)
        self.own, self.moves = np.zeros(self.rounds), np.zeros((self.rounds, learner.domain.d))

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        first, last = self.done, min(self.rounds, self.done + limit)
        self.done = last
        return [lambda: self._step(first, last)] if first < last else None

    def _step(self, first: int, last: int) -> None:
        for t, loss in enumerate(self.losses[first:last], first):
            x = self.walk.x
            refuse_at(loss, x, self.learner.lipschitz, None)
            self.moves[t], self.own[t] = x, loss.value(x)
            self.walk.step(np.asarray(loss.gradient(x)))

    def played(self, best: Array) -> tuple[Array, Array]:
        regret = np.cumsum(self.own)[self.marks - 1] - best
        moves = np.tile(self.moves, (self.runs, 1, 1)) if self.everything else self.moves
        return np.tile(regret, (self.runs, 1)), moves

    def source(self, regret: Array) -> Walked:
        return Walked(self.learner, self.losses, float(regret[0, -1]))
