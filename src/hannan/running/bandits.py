"""Games of bandits, and of bandits with experts: a state a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array
from hannan.running.checkpoints import Checkpoints, Positions
from hannan.running.feeds import Block
from hannan.running.runners import Job, Runner


class BanditRunner(Runner):
    """Bandits: every run has a state of its own."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        marks: Checkpoints = given[5]
        self.size = self.first_state.size
        self.states = np.tile(self.first_state, self.runs)
        rows = self.states.view(np.uint64).reshape(self.runs, self.size)
        rows[:, 8:12] = self.words
        self.curves["least"] = np.zeros((self.kinds, marks.columns))
        self.curves["most"] = np.zeros((self.kinds, marks.columns))

    def _survey(self, block: Block, ends: Positions, columns: Positions, run: int | None) -> None:
        from hannan.kernels.survey import survey

        n, row = self.feed.n, run or 0
        least, most, sums = self.curves["least"][row], self.curves["most"][row], self.sums[row]
        if self.feed.steady:
            first = self.feed.taken - block.rounds
            least[columns] = (first + ends) * block.losses.min()
            most[columns] = (first + ends) * block.losses.max()
            sums[:] = block.losses * self.feed.taken
            return
        low, high = (0.0, 1.0) if self.feed.drawn else (self.program.low, self.program.high)
        start = row * block.rounds * n
        bad = survey(block.losses, start, block.rounds, n, low, high, sums, ends, columns, least, most)
        if bad >= 0:
            raise self.refuse(int(bad) - start, block, run)

    def jobs(self, block: Block, ends: Positions, columns: Positions) -> list[Job]:
        moves = self._moves(block.rounds)
        if not self.feed.per_run:
            self._survey(block, ends, columns, None)
        return [self._job(block, ends, columns, moves, *part) for part in self.blocks]

    def _strides(self, block: Block) -> NDArray[np.int64]:
        n = self.feed.n
        return np.array([block.rounds * n if self.feed.per_run else 0, 0 if self.feed.steady else n])

    def _job(
        self, block: Block, ends: Positions, columns: Positions, moves: NDArray[np.int32], first: int, last: int
    ) -> Job:
        def job() -> None:
            n, size = self.feed.n, self.size
            if self.feed.per_run:
                for run in range(first, last):
                    self._survey(block, ends, columns, run)
            start = first * block.rounds * n if self.feed.per_run else 0
            status = self._kernel()(
                self.states[first * size : last * size], size, last - first, *self._shape(), self.pointer,
                block.losses[start:], self._strides(block), self.coins[first:last].reshape(-1),
                *self._heard(block), block.rounds, ends, columns, self.curves["own"][first:last],
                self.counts[first:last], moves[first:last],
            )  # fmt: skip
            if status >= 0:
                raise self.failed(int(status))

        return job

    def _kernel(self) -> Any:
        from hannan.kernels import bandit_game

        return bandit_game.loop(self.first_state)

    def _shape(self) -> tuple[int, ...]:
        return (self.program.n,)

    def _heard(self, block: Block) -> tuple[Any, ...]:
        return ()

    def totals(self) -> dict[str, Array]:
        from hannan.kernels.state import OWN

        rounds = self.feed.taken
        best = self._normal(self.sums.min(axis=1), self.sums.max(axis=1), rounds)
        return {"own": self.states.reshape(self.runs, self.size)[:, OWN].copy(), "best": best}

    def finish(self, at: Positions) -> None:
        """Turn least and most into best."""
        least, most = self.curves.pop("least"), self.curves.pop("most")
        k = len(at)
        self.curves["best"] = self._normal(least[:, :k], most[:, :k], at)

    def least_estimate(self) -> Array | None:
        from hannan.kernels.state import HEADER

        rows = self.states.reshape(self.runs, self.size)
        return np.asarray(rows[:, HEADER : HEADER + self.program.n].min(axis=1))


class ExpertBanditRunner(BanditRunner):
    """Bandits with experts: the best expert is the comparator."""

    column = "action"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.spare = np.zeros(self.feed.n), np.zeros(0)

    def _survey(self, block: Block, ends: Positions, columns: Positions, run: int | None) -> None:
        from hannan.kernels.expert_losses import expert_losses
        from hannan.kernels.survey import survey

        actions, row = self.feed.n, run or 0
        start = row * block.rounds * actions
        low, high = (0.0, 1.0) if self.feed.drawn else (self.program.low, self.program.high)
        none = np.empty(0, dtype=np.int64)
        rounds = 1 if self.feed.steady else block.rounds
        bad = survey(
            block.losses, start, rounds, actions, low, high, np.zeros(actions), none, none, np.empty(0), np.empty(0)
        )
        if bad >= 0:
            raise self.refuse(int(bad) - start, block, run)
        expert_losses(
            block.losses, start, 0 if self.feed.steady else actions, block.advice, self.program.n, actions,
            block.mixed, block.rounds, self.sums[row], ends, columns, self.curves["least"][row],
            self.curves["most"][row],
        )  # fmt: skip

    def jobs(self, block: Block, ends: Positions, columns: Positions) -> list[Job]:
        if self.feed.per_run:
            return super().jobs(block, ends, columns)
        # To follow every expert costs as much as to play: a job of its own. First, for its refusals come first; what
        # was played meanwhile on another thread is then dropped.
        moves = self._moves(block.rounds)
        play = [self._job(block, ends, columns, moves, *part) for part in self.blocks]
        return [lambda: self._survey(block, ends, columns, None), *play]

    def _kernel(self) -> Any:
        from hannan.kernels import expert_bandit_game

        return expert_bandit_game.play

    def _shape(self) -> tuple[int, ...]:
        return self.program.n, self.program.actions

    def _heard(self, block: Block) -> tuple[Any, ...]:
        return block.advice, block.mixed
