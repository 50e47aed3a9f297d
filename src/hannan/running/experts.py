"""Games with expert advice: one learner for all runs that see the same losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array
from hannan.running.checkpoints import Checkpoints, Positions
from hannan.running.feeds import Block
from hannan.running.runners import Job, Runner


class ExpertsRunner(Runner):
    """Experts: runs on the same losses share p_t and only draw; each job has its own copy of the state."""

    column = "expert"

    def __init__(self, *given: Any, fictitious: bool = False) -> None:
        super().__init__(*given)
        marks: Checkpoints = given[5]
        self.fictitious = fictitious
        if self.kinds > 1:
            self.blocks = [(r, r + 1) for r in range(self.runs)]
        self.states = [self.first_state.copy() for _ in self.blocks]
        self.totals_of = [np.zeros(last - first + 1) for first, last in self.blocks]
        for name in ("mean", "best"):
            self.curves[name] = np.zeros((self.kinds, marks.columns))
        self.streams = self.words.view(np.float64)

    @property
    def kinds(self) -> int:
        return self.runs if self.feed.per_run or self.feed.drawn else 1

    def jobs(self, block: Block, ends: Positions, columns: Positions) -> list[Job]:
        moves = self._moves(block.rounds)
        return [self._job(block, ends, columns, moves, k) for k in range(len(self.blocks))]

    def _job(self, block: Block, ends: Positions, columns: Positions, moves: NDArray[np.int32], k: int) -> Job:
        first, last = self.blocks[k]
        row = first if self.kinds > 1 else 0
        # Jobs on shared losses would all write the same mean and best: only the first one's are kept.
        mean, best = self.curves["mean"][row], self.curves["best"][row]
        if self.kinds == 1 and k > 0:
            mean, best = np.empty_like(mean), np.empty_like(best)

        def job() -> None:
            n, losses, start = self.feed.n, block.losses, 0
            if self.feed.drawn:
                losses = self._toss(block, first)
            elif self.feed.per_run:
                start = first * block.rounds * n
            status = self._kernel()(
                self.states[k], n, self.pointer, losses, start, self.streams[first:last].reshape(-1),
                self.totals_of[k], block.rounds, ends, columns, self.curves["own"][first:last], mean, best,
                self.counts[first:last], moves[first:last], self.fictitious,
            )  # fmt: skip
            if status >= 0:
                raise self.refuse(int(status), block, first if self.feed.per_run else None)
            if status < -1:
                raise self.failed(-2 - int(status))

        return job

    def _kernel(self) -> Any:
        from hannan.kernels import experts_game

        return experts_game.loop(self.program.path)

    def _toss(self, block: Block, run: int) -> Array:
        from hannan.kernels.survey import toss

        out = np.empty(block.rounds * self.feed.n)
        toss(self.coins[run], block.losses, 0 if self.feed.steady else self.feed.n, block.rounds, self.feed.n, out)
        out.flags.writeable = False
        return out

    def totals(self) -> dict[str, Array]:
        from hannan.kernels.state import HEADER

        n = self.program.n
        states = self.states if self.kinds > 1 else self.states[:1]
        return {
            "own": np.concatenate([t[:-1] for t in self.totals_of]),
            "mean": np.array([t[-1] for t in self.totals_of[: len(states)]]),
            "best": np.array([s[HEADER : HEADER + n].min() for s in states]),
        }


class NoisyRunner(ExpertsRunner):
    """Learners with noise of their own: p_t is given that noise, so every run has a state of its own."""

    def __init__(self, *given: Any) -> None:
        from hannan.kernels import steps

        super().__init__(*given)
        self.states = [steps.new_state(self.program, given[3], run) for run, _ in self.blocks]

    @property
    def kinds(self) -> int:
        return self.runs

    def totals(self) -> dict[str, Array]:
        told = super().totals()
        if not (self.feed.per_run or self.feed.drawn):
            # The losses are the same for all, whatever the noise: so is the best expert.
            told["best"], self.curves["best"] = told["best"][:1], self.curves["best"][:1]
        return told
