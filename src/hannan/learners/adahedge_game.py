"""Whole games of AdaHedge: the runner of experts with AdaHedge's kernel, losses in the user's own units."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hannan import game
from hannan.bounds import Bound
from hannan.record import Record
from hannan.running import feeds
from hannan.running.checkpoints import Checkpoints, Positions
from hannan.running.experts import ExpertsRunner
from hannan.running.feeds import Block
from hannan.running.runners import Job
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

    def _job(self, block: Block, ends: Positions, columns: Positions, moves: NDArray[np.int32], k: int) -> Job:
        first, last = self.blocks[k]
        row = first if self.kinds > 1 else 0
        mean, best = self.curves["mean"][row], self.curves["best"][row]
        if self.kinds == 1 and k > 0:
            mean, best = np.empty_like(mean), np.empty_like(best)

        def job() -> None:
            from hannan.kernels import adahedge

            n, losses, start = self.feed.n, block.losses, 0
            if self.feed.drawn:
                losses = self._toss(block, first)
            elif self.feed.per_run:
                start = first * block.rounds * n
            status = adahedge.game(
                self.states[k], n, 0, losses, start, self.streams[first:last].reshape(-1), self.totals_of[k],
                block.rounds, ends, columns, self.curves["own"][first:last], mean, best,
                self.counts[first:last], moves[first:last], False,
            )  # fmt: skip
            if status >= 0:
                raise self.refuse(int(status), block, first if self.feed.per_run else None)

        return job


@dataclass(frozen=True)
class Played:
    """A learner with the largest span that a game showed: what its bound needs to know."""

    learner: AdaHedge
    spread: float

    @property
    def gains(self) -> bool:
        return self.learner.gains

    def bound(self, rounds: int | None = None, best_loss: float | None = None) -> Bound:
        """The learner's bound for the rounds, in the span observed."""
        return self.learner.bound(rounds, best_loss, spread=self.spread)


def play_adahedge(learner: AdaHedge, losses: Any, runs: int, seed: int, threads: int, keep: str) -> Record:
    """The game of AdaHedge: the record is in the units of the losses."""
    from hannan.kernels import steps
    from hannan.kernels.adahedge_round import SPAN

    began = time.perf_counter()
    everything = keep == "all"
    # Only n, and that losses are taken as they are, is read off this program.
    program = steps.program("experts", learner.n, learner.smoothing, Schedule.constant(1.0))
    feed = feeds.feed(losses, learner.n, runs, None, None, 0)
    marks = Checkpoints(feed.rounds if feed.blocks is None else None, everything)
    runner = AdaHedgeRunner(learner, seed, program, feed, runs, seed, threads, marks, everything)
    game._run(runner, marks, threads)
    if feed.taken == 0:
        raise ValueError("losses must have at least one round; got none")
    record = game._record(learner, runner, marks, seed, threads, began, "")
    span = max(float(state[SPAN]) for state in runner.states)
    best = np.asarray(record.best_loss) * (-1.0 if learner.gains else 1.0)
    source = Played(learner, span) if span > 0.0 else learner
    return dataclasses.replace(record, best_loss=float(best) if best.ndim == 0 else best, source=source)
