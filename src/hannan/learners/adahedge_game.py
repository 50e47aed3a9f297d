"""Whole games of AdaHedge: the runner of experts with AdaHedge's kernel, losses in the user's own units."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan import game
from hannan.bounds import Bound
from hannan.record import Record
from hannan.refusals import Array
from hannan.running import feeds
from hannan.running.adaptive import VectorTable
from hannan.running.checkpoints import Checkpoints
from hannan.running.experts import ExpertsRunner
from hannan.running.feeds import Block
from hannan.tuning import Schedule

if TYPE_CHECKING:
    from hannan.learners.adahedge import AdaHedge


class AdaHedgeRunner(ExpertsRunner):
    """States of AdaHedge in the place of those of a smoothing."""

    def __init__(self, learner: AdaHedge, seed: int, *given: Any) -> None:
        from hannan.kernels import adahedge

        super().__init__(*given)
        self.range = learner.loss_range
        self.states = [adahedge.new_state(learner.n, *self.range, learner.gains, seed) for _ in self.blocks]

    def refuse(self, position: int, block: Block, run: int | None) -> ValueError:
        message = str(super().refuse(position, block, run))
        return ValueError(message.replace("[0, 1]", f"[{self.range[0]:g}, {self.range[1]:g}]"))

    def _kernel(self) -> Any:
        from hannan.kernels import adahedge

        return adahedge.game


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
    from hannan.kernels import steps
    from hannan.kernels.adahedge_round import SPAN

    began = time.perf_counter()
    everything = keep == "all"
    # Only n, and that losses are taken as they are, is read off this program.
    program = steps.program("experts", learner.n, learner.smoothing, Schedule.constant(1.0))
    feed = feeds.feed(losses, learner.n, runs, rounds, None, 0)
    marks = Checkpoints(feed.rounds if feed.blocks is None else None, everything)
    runner = AdaHedgeRunner(learner, seed, program, feed, runs, seed, threads, marks, everything)
    game._run(runner, marks, threads)
    if feed.taken == 0:
        raise ValueError("losses must have at least one round; got none")
    record = game._record(learner, runner, marks, seed, threads, began, game.ended(feed.taken, rounds))
    span = max(float(state[SPAN]) for state in runner.states)
    best = np.asarray(record.best_loss) * (-1.0 if learner.gains else 1.0)
    source = Played(learner, span) if span > 0.0 else learner
    return dataclasses.replace(record, best_loss=float(best) if best.ndim == 0 else best, source=source)
