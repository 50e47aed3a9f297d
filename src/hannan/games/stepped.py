"""Games of what the engine does not know, a user's own learner: stepped, same record."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np

from hannan import refusals
from hannan.games.asked import Asked
from hannan.games.bandits import BanditRunner, ExpertBanditRunner
from hannan.games.checkpoints import Positions
from hannan.games.feeds import Block
from hannan.games.runners import Job
from hannan.mathematics.units import Units
from hannan.players.seeds import run_seed


def started(learner: Any, seed: int, run: int) -> Any:
    """The player of a run."""
    if "run" in inspect.signature(learner.start).parameters:
        return learner.start(seed, run=run)
    return learner.start(run_seed(seed, run))


class Apart:
    """Refuses an object that serves two runs: what it learnt in one it would take into the other."""

    def __init__(self, whose: Any) -> None:
        self._whose, self._seen = whose, dict[int, tuple[int, Any]]()

    def check(self, run: int, made: Any) -> Any:
        """What `start` made for a run, if it made it for no other."""
        before, _ = self._seen.setdefault(id(made), (run, made))  # kept, so that no other can have its id
        if before != run:
            raise ValueError(
                f"start must make a new object for every run; that of {self._whose!r} gave the same for runs {before} "
                f"and {run}"
            )
        return made


def stranger(learner: Any, losses: Any) -> Any:
    """The program of a learner that is not of this package: what it says of itself, else what the losses say."""
    n = getattr(learner, "n", None)
    if n is None:
        shape = np.shape(losses.means if hasattr(losses, "means") else losses)
        n = shape[-1] if shape else 0
    given = refusals.loss_range(getattr(learner, "loss_range", (0.0, 1.0)))
    gains = bool(getattr(learner, "gains", False))
    return SimpleNamespace(
        setting=getattr(learner, "setting", "stranger"), n=n, actions=getattr(learner, "actions", n), stepped=True,
        low=given[0], high=given[1], loss_range=given, gains=gains, units=Units.of(given, gains), own_noise=False,
        as_they_are=False,
    )  # fmt: skip


class SteppedRunner(BanditRunner):
    """Players made by `learner.start`, moved one round at a time.

    A player has act() -> move, observe(move, loss); `sees_all` says whether its loss is the whole row. A move is
    a number, or has `.action`. Where it also has distribution(), <p, l> is kept as well.
    """

    stepped = True

    def _begin(self, asked: Asked) -> None:
        asked.one_thread(self.learner)
        apart = Apart(self.learner)
        self.players = [apart.check(run, started(self.learner, asked.seed, run)) for run in range(self.runs)]
        self.sees_all = bool(getattr(self.players[0], "sees_all", False))
        self.advised = self.feed.advice is not None
        self.own, self.mean = np.zeros(self.runs), np.zeros(self.runs)
        self.expects = self.sees_all and hasattr(self.players[0], "distribution")
        if self.expects:
            self.curves["mean"] = np.zeros((self.runs, self.marks.columns))

    def jobs(self, block: Block, ends: Positions, columns: Positions, parts: int) -> list[Job]:
        moves = self._moves(block.rounds)
        survey = ExpertBanditRunner._survey if self.advised else BanditRunner._survey

        def job() -> None:
            for run in range(self.runs) if self.feed.per_run else [None]:
                survey(self, block, ends, columns, run)  # type: ignore[arg-type]
            for run in range(self.runs):
                self._play(run, block, ends, columns, moves)

        return [job]

    def _rows(self, run: int, block: Block) -> Any:
        n = self.feed.n
        if self.feed.drawn:
            from hannan._engine import toss

            out = toss(self.coins[run], block.losses, 0 if self.feed.steady else n, block.rounds, n)
            return out.reshape(block.rounds, n)
        first = run * block.rounds * n if self.feed.per_run else 0
        return block.losses[first : first + block.rounds * n].reshape(block.rounds, n)

    def _play(self, run: int, block: Block, ends: Positions, columns: Positions, moves: Any) -> None:
        player, rows = self.players[run], self._rows(run, block)
        units = self.program.units
        shape = (block.rounds, self.program.n) + ((self.feed.n,) if block.mixed else ())
        heard = block.advice.reshape(shape) if self.advised else None
        marks = iter(zip(ends.tolist(), columns.tolist(), strict=True))
        end, column = next(marks, (0, 0))
        for t in range(block.rounds):
            if self.expects:
                self.mean[run] += units.normal(float(player.distribution() @ rows[t]), 1)
            move = player.act() if heard is None else player.act(heard[t])
            action = int(getattr(move, "action", move))
            player.observe(move, rows[t] if self.sees_all else float(rows[t, action]))
            self.own[run] += units.normal(float(rows[t, action]), 1)
            self.counts[run, action] += 1
            if self.everything:
                moves[run, t] = action
            if t + 1 == end:
                self.curves["own"][run, column] = self.own[run]
                if self.expects:
                    self.curves["mean"][run, column] = self.mean[run]
                end, column = next(marks, (0, 0))

    def totals(self) -> dict[str, Any]:
        best = self._normal(self.sums.min(axis=1), self.sums.max(axis=1), self.feed.taken)
        return {"own": self.own.copy(), "best": best} | ({"mean": self.mean.copy()} if self.expects else {})

    def least_estimate(self) -> Any:
        return None
