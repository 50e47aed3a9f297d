"""Games with expert advice: one learner for all runs that see the same losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.games.checkpoints import Positions
from hannan.games.feeds import Block
from hannan.games.runners import _NO_STREAMS, Job, TableRunner
from hannan.mathematics import streams
from hannan.refusals import Array


class ExpertsRunner(TableRunner):
    """Experts: runs on the same losses share p_t and only draw; each job has its own copy of the state."""

    column = "expert"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        if self.kinds == 1:
            self.numbers = 1.0 + self.feed.n / self.runs  # a run has a draw of its own, and its part of p_t
        self.totals_of = [np.zeros(last - first + 1) for first, last in self.blocks]
        for name in ("mean", "best"):
            self.curves[name] = np.zeros((self.kinds, self.marks.columns))

    @property
    def kinds(self) -> int:
        return self.runs if self.feed.per_run or self.feed.drawn else 1

    def _states(self, engine: Any, seed: int) -> Any:
        """A state a block of runs: the streams of the runs are apart."""
        if self.kinds > 1:
            self.blocks = [(r, r + 1) for r in range(self.runs)]
        noise = streams.words_of_runs(seed, len(self.blocks), 2) if self.program.own_noise else _NO_STREAMS
        return engine.Runs(self.program.setup(), self.words[: len(self.blocks)].copy(), noise)

    def jobs(self, block: Block, ends: Positions, columns: Positions, parts: int) -> list[Job]:
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
            status = self.states.experts(
                k, losses, start, self.words, first, last, self.totals_of[k], block.rounds, ends, columns,
                self.curves["own"], mean, best, self.counts, moves, self.fictitious,
            )  # fmt: skip
            if status >= 0:
                raise self.refuse(int(status), block, first if self.feed.per_run else None)
            if status < -1:
                raise self.failed(-2 - int(status))

        return job

    def _toss(self, block: Block, run: int) -> Array:
        from hannan._engine import toss

        n = self.feed.n
        drawn: Array = toss(self.coins[run], block.losses, 0 if self.feed.steady else n, block.rounds, n)
        return drawn

    def totals(self) -> dict[str, Array]:
        count = len(self.totals_of) if self.kinds > 1 else 1
        return {
            "own": np.concatenate([t[:-1] for t in self.totals_of]),
            "mean": np.array([t[-1] for t in self.totals_of[:count]]),
            "best": self.states.least()[:count],
        }


class NoisyRunner(ExpertsRunner):
    """Learners with noise of their own: p_t is given that noise, so every run has a state of its own."""

    @property
    def kinds(self) -> int:
        return self.runs

    def totals(self) -> dict[str, Array]:
        told = super().totals()
        if not (self.feed.per_run or self.feed.drawn):
            # The losses are the same for all, whatever the noise: so is the best expert.
            told["best"], self.curves["best"] = told["best"][:1], self.curves["best"][:1]
        return told
