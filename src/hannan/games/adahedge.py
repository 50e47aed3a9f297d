"""Whole games of AdaHedge: the runner of experts, losses in the user's own units."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan.games import feeds, play
from hannan.games.adaptive import VectorTable
from hannan.games.checkpoints import Checkpoints
from hannan.games.experts import ExpertsRunner
from hannan.games.record import Record
from hannan.mathematics.bounds import Bound
from hannan.refusals import Array

if TYPE_CHECKING:
    from hannan.learners.adahedge import AdaHedge


class AdaHedgeTable(VectorTable):
    """Losses in whatever units; the bound is in the largest span that was seen."""

    def __init__(self, learner: AdaHedge) -> None:
        low, high = learner.loss_range
        super().__init__(
            learner, SimpleNamespace(setting="experts", n=learner.n, low=low, high=high, gains=learner.gains)
        )
        self._span = 0.0

    def admit(self, loss: Any) -> Array:
        row = super().admit(loss)
        self._span = max(self._span, float(np.ptp(row)))
        return row

    def source(self, players: Any, losses: Any) -> Any:
        return Played(self.learner, self._span) if self._span > 0.0 else self.learner


@dataclass(frozen=True)
class Played:
    """A learner with the largest span that a game showed: what its bound needs to know."""

    learner: AdaHedge
    spread: float

    @property
    def gains(self) -> bool:
        return self.learner.gains

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """The learner's bound for the rounds, in the span observed."""
        return self.learner.bound(rounds, best_loss, spread=self.spread, against=against)


def play_adahedge(
    learner: AdaHedge, losses: Any, runs: int, seed: int, threads: int, keep: str, rounds: int | None = None
) -> Record:
    """The game of AdaHedge: the record is in the units of the losses."""
    began = time.perf_counter()
    everything, program = keep == "all", learner.program()
    feed = feeds.feed(losses, learner.n, runs, rounds, None, 0)
    marks = Checkpoints(feed.rounds if feed.blocks is None else None, everything)
    runner = ExpertsRunner(program, feed, runs, seed, threads, marks, everything)
    play._run(runner, marks, threads)
    if feed.taken == 0:
        raise ValueError("losses must have at least one round; got none")
    record = play._record(learner, runner, marks, seed, threads, began, play.ended(feed.taken, rounds))
    span = runner.states.largest_span()
    return dataclasses.replace(record, source=Played(learner, span) if span > 0.0 else learner)
