"""Runners of games that the engine plays in compiled code: experts, bandits and bandits with expert advice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.games.checkpoints import Positions
from hannan.games.feeds import Block
from hannan.games.runners import _NO_STREAMS, BLOCK_NUMBERS, Job, TableRunner, split
from hannan.mathematics import streams
from hannan.validation import Array


class BanditRunner(TableRunner):
    """Bandits: every run has a state of its own."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for name in ("least", "most"):
            self.curves[name] = np.zeros((self.kinds, self.marks.columns))

    def _survey(self, block: Block, ends: Positions, columns: Positions, run: int | None) -> None:
        from hannan._engine import survey

        n, row = self.feed.n, run or 0
        least, most, sums = self.curves["least"][row], self.curves["most"][row], self.sums[row]
        if self.feed.steady:
            first = self.feed.taken - block.rounds
            least[columns] = (first + ends) * block.losses.min()
            most[columns] = (first + ends) * block.losses.max()
            sums[:] = block.losses * self.feed.taken
            return
        start = row * block.rounds * n
        bad = survey(block.losses, start, block.rounds, n, *self._range, sums, ends, columns, least, most)
        if bad >= 0:
            raise self.refuse(int(bad), block, run)

    @property
    def _range(self) -> tuple[float, float]:
        """Of the numbers of a block: losses, or means."""
        return (0.0, 1.0) if self.feed.drawn else (self.program.low, self.program.high)

    def _alone(self, block: Block, ends: Positions, columns: Positions, moves: NDArray[np.int32]) -> None:
        """The one run looks at losses and plays them, some at a time."""
        curves = self.curves
        bad, status = self.states.bandit_alone(
            block.losses, self.coins, block.rounds, ends, columns, curves["own"], self.counts, moves, *self._range,
            self.sums[0], curves["least"][0], curves["most"][0],
        )  # fmt: skip
        if bad >= 0:
            raise self.refuse(int(bad), block, None)
        if status >= 0:
            raise self.failed(int(status))

    def _most(self) -> int:
        # Of steady means nothing else is held, whatever the rounds.
        return BLOCK_NUMBERS if self.feed.steady else super()._most()

    def jobs(self, block: Block, ends: Positions, columns: Positions, parts: int) -> list[Job]:
        moves = self._moves(block.rounds)
        if self.runs == 1 and not (self.feed.per_run or self.feed.steady):
            return [lambda: self._alone(block, ends, columns, moves)]
        if not self.feed.per_run:
            self._survey(block, ends, columns, None)
        return [self._job(block, ends, columns, moves, *part) for part in self._parts(parts)]

    def _parts(self, parts: int) -> list[tuple[int, int]]:
        """Runs that are played one after another; fewer than eight where the driver needs more jobs than threads."""
        return split(self.runs, parts, fine=parts > max(self.cores, self.runs // 8))

    def _job(
        self, block: Block, ends: Positions, columns: Positions, moves: NDArray[np.int32], first: int, last: int
    ) -> Job:
        def job() -> None:
            n = self.feed.n
            if self.feed.per_run:
                for run in range(first, last):
                    self._survey(block, ends, columns, run)
            status = self.states.bandit(
                first, last, block.losses, block.rounds * n if self.feed.per_run else 0,
                0 if self.feed.steady else n, self.coins, block.rounds, ends, columns, self.curves["own"],
                self.counts, moves, self._heard(block),
            )  # fmt: skip
            if status >= 0:
                raise self.failed(int(status))

        return job

    def _heard(self, block: Block) -> Any:
        return None

    def totals(self) -> dict[str, Array]:
        rounds = self.feed.taken
        best = self._normal(self.sums.min(axis=1), self.sums.max(axis=1), rounds)
        return {"own": self.states.own(), "best": best}

    def finish(self, at: Positions) -> None:
        """Turn least and most into best."""
        least, most = self.curves.pop("least"), self.curves.pop("most")
        k = len(at)
        self.curves["best"] = self._normal(least[:, :k], most[:, :k], at)

    def least_estimate(self) -> Array | None:
        least: Array | None = self.states.least() if self.program.estimates else None
        return least


class ExpertBanditRunner(BanditRunner):
    """Bandits with experts: the best expert is the comparator."""

    column = "action"
    reads_advice = True  # a look at every byte before anything is played would take a tenth of the time

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        if self.feed.advice is not None:
            self.numbers *= self.feed.advice.width

    def _survey(self, block: Block, ends: Positions, columns: Positions, run: int | None) -> None:
        from hannan._engine import expert_losses, survey

        actions, row = self.feed.n, run or 0
        start = row * block.rounds * actions
        none = np.empty(0, dtype=np.int64)
        try:
            expert_losses(
                block.losses, start, 0 if self.feed.steady else actions, block.advice, self.program.n, actions,
                block.rounds, self.sums[row], ends, columns, self.curves["least"][row], self.curves["most"][row],
            )  # fmt: skip
        except ValueError:
            if self.feed.advice is not None and not block.mixed:
                self.feed.advice.refuse(block.advice.reshape(block.rounds, -1), self.feed.taken - block.rounds)
            raise
        rounds = 1 if self.feed.steady else block.rounds
        bad = survey(
            block.losses, start, rounds, actions, *self._range, np.zeros(actions), none, none, np.empty(0), np.empty(0)
        )
        if bad >= 0:
            raise self.refuse(int(bad), block, run)

    def jobs(self, block: Block, ends: Positions, columns: Positions, parts: int) -> list[Job]:
        if self.feed.per_run:
            return super().jobs(block, ends, columns, parts)
        # To follow every expert costs as much as to play: a job of its own. First, for its refusals come first; what
        # was played meanwhile on another thread is then dropped.
        moves = self._moves(block.rounds)
        play = [self._job(block, ends, columns, moves, *part) for part in self._parts(parts)]
        return [lambda: self._survey(block, ends, columns, None), *play]

    def _heard(self, block: Block) -> Any:
        return block.advice


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
