"""What a game keeps while it is played, one class a setting; how a block of rounds becomes jobs for threads.

A job plays some runs through a block; runs never share what they write, so a game gives the same record on any
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.games.checkpoints import Checkpoints, Positions
from hannan.games.feeds import Block, Feed
from hannan.mathematics import streams
from hannan.refusals import Array

Job = Callable[[], None]
_NO_STREAMS: NDArray[np.uint64] = np.empty((0, 4), dtype=np.uint64)


class Runner:
    """States, streams, counts and curves of all runs, in normalised losses.

    `own` and `best` are curves; `best` (and `mean`, <p, l> summed, for experts) has one row where the runs see
    the same losses, else one a run.
    """

    #: What a column of the losses is.
    column = "arm"

    def __init__(
        self, program: Any, feed: Feed, runs: int, seed: int, threads: int, marks: Checkpoints, everything: bool
    ) -> None:
        from hannan import _engine

        self.program, self.feed, self.runs = program, feed, runs
        self.everything = everything
        self.blocks = split(runs, threads)
        self.words = streams.words_of_runs(seed, runs)
        self.coins = _NO_STREAMS
        self.states = self._states(_engine, seed)
        if feed.drawn:
            if not program.low <= 0.0 < 1.0 <= program.high:
                raise ValueError(f"Bernoulli losses are 0 or 1; got a loss range [{program.low:g}, {program.high:g}]")
            self.coins = streams.words_of_runs(seed, runs, 1)
        self.counts = np.zeros((runs, feed.n), dtype=np.int64)
        self.moves: list[NDArray[np.int32]] = []
        self.curves = {"own": np.zeros((runs, marks.columns))}
        self.sums = np.zeros((self.kinds, program.n))

    def _states(self, engine: Any, seed: int) -> Any:
        """A state a run."""
        noise = streams.words_of_runs(seed, self.runs, 2) if self.program.own_noise else _NO_STREAMS
        return engine.Runs(self.program.setup(), self.words, noise)

    @property
    def kinds(self) -> int:
        """How many loss sequences there are."""
        return self.runs if self.feed.per_run else 1

    def make_room(self, kept: NDArray[np.intp] | None, columns: int) -> None:
        """Move the kept columns of every curve to the front, in `columns` columns."""
        for name, curve in self.curves.items():
            if kept is not None:
                curve[..., : len(kept)] = curve[..., kept]
            if columns > curve.shape[-1]:
                wider = np.zeros((*curve.shape[:-1], columns))
                wider[..., : curve.shape[-1]] = curve
                self.curves[name] = wider

    def jobs(self, block: Block, ends: Positions, columns: Positions) -> list[Job]:
        """Play a block, and check its losses: a refusal is raised by the first job that has one."""
        raise NotImplementedError

    def totals(self) -> dict[str, Array]:
        """The curves at this very moment: own (runs,), best (kinds,) and, for experts, mean."""
        raise NotImplementedError

    def least_estimate(self) -> Array | None:
        """min_i Lhat_i of every run, where losses are estimated."""
        return None

    def _moves(self, rounds: int) -> NDArray[np.int32]:
        moves = np.empty((self.runs, rounds if self.everything else 0), dtype=np.int32)
        if self.everything:
            self.moves.append(moves)
        return moves

    def _normal(self, least: Array, most: Array, rounds: Any) -> Array:
        """The best cumulative loss, normalised, from the least and the most of the user's."""
        low, high = self.program.low, self.program.high
        if self.program.gains:
            return np.asarray((high * rounds - most) / (high - low))
        return np.asarray((least - low * rounds) / (high - low))

    def refuse(self, position: int, block: Block, run: int | None) -> ValueError:
        """A bad loss at a flat position of a run's block."""
        t, i = divmod(position, self.feed.n)
        value = block.losses[(0 if run is None else run) * block.rounds * self.feed.n + position]
        where = f"round {self.feed.taken - block.rounds + t}, {self.column} {i}"
        if run is not None:
            where = f"run {run}, {where}"
        low, high = self.program.low, self.program.high
        return ValueError(f"losses must be finite and in [{low:g}, {high:g}]; got {value} at {where}")

    def failed(self, rounds: int) -> ArithmeticError:
        """The smoothing gave no distribution."""
        return ArithmeticError(f"the smoothing failed after {self.feed.taken} rounds at the latest ({rounds})")


def split(runs: int, threads: int) -> list[tuple[int, int]]:
    """Runs in blocks for threads, in eights (a game interleaves them).

    >>> split(20, 2), split(3, 4)
    ([(0, 8), (8, 20)], [(0, 3)])
    """
    eights = -(-runs // 8)
    parts = max(1, min(threads, eights))
    edges = [8 * (eights * k // parts) for k in range(parts)] + [runs]
    if parts > 1 and edges[1] == 0:
        edges[1] = 8
    return list(pairwise(edges))
