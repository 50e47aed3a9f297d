"""Whole convex games: every run in compiled code, on any number of threads, with one record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, refusals
from hannan.games.checkpoints import spread
from hannan.games.play import ended
from hannan.games.record import Record
from hannan.mathematics import streams
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.domain import Domain
from hannan.mathematics.convex.hindsight import best_in_hindsight
from hannan.mathematics.convex.leader import Leader, columns, judge, region_of
from hannan.mathematics.convex.loss import Loss, RankOne
from hannan.mathematics.convex.own_phi import ON_YOUR_WORD, refuse_at
from hannan.refusals import Array

if TYPE_CHECKING:
    from hannan.learners.convex.learner import Convex

#: Rounds between two looks at the keyboard; those of linear losses are quick, and 80 times as many.
CHUNK = 1000


@dataclass(frozen=True)
class Played:
    """A learner with what its moves cost to solve for: the bound of a game that was played."""

    learner: Convex
    cost: float
    losses: Loss

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """The learner's bound for losses of this shape, solver and ridge included."""
        best = None if best_loss is None else max(best_loss, 0.0)
        bound = self.learner.bounded(rounds, best, bias=self.cost, shape=self.losses.shape).asked(against)
        return replace(bound, condition=ON_YOUR_WORD) if isinstance(self.losses, RankOne) else bound


def play_convex(
    learner: Convex,
    losses: Any,
    runs: int = 1,
    seed: int = 0,
    *,
    threads: int | None = None,
    keep: str = "checkpoints",
    rounds: int | None = None,
) -> Record:
    """The game of a convex learner against a sequence of losses, fixed beforehand; no more than `rounds` of them.

    With keep="all" the record's `actions` are the moves, shape (runs, T, d).
    """
    losses, asked = learner.admit(losses), rounds
    if not losses.is_sequence:
        raise ValueError("losses must be a sequence: give z a leading axis, one row a round; got one loss")
    losses = losses[:asked]
    runs, seed = refusals.count(runs, "runs"), refusals.count(seed, "seed", least=0)
    threads = refusals.count(threads if threads is not None else os.cpu_count() or 1, "threads")
    if keep not in ("checkpoints", "all"):
        raise ValueError(f'keep must be "checkpoints" or "all"; got {keep!r}')
    rounds, d = losses.z.shape
    marks = spread(rounds, keep == "all")
    own = np.zeros((runs, len(marks)))
    moves = np.zeros((runs, rounds if keep == "all" else 0, d))
    costs = np.zeros(runs)
    stepped = learner.domain.kernel == "other" or isinstance(losses, RankOne) or learner.accuracy is not None
    began = time.perf_counter()
    region, rules, words = region_of(learner.domain), learner.rules(), streams.words_of_runs(seed, runs)
    quick = losses.shape == "linear" and learner.privacy_ridge() == 0.0
    chunks, (phi, z, y) = _chunks(rounds, marks, 80 * CHUNK if quick else CHUNK), columns(losses)
    parameter = float(getattr(losses, "parameter", 0.0))

    def job(run: int) -> None:
        if stepped:
            costs[run] = _stepped(learner, losses, seed, run, marks, own[run], moves[run])
        else:
            leader = _engine.Leader(region, rules, words[run])
            _played(leader, phi, parameter, z, y, chunks, own[run], moves[run])
            costs[run] = learner.solver_cost(leader.ridge, leader.distance)

    if quick and not stepped and keep != "all":
        part = -(-runs // threads)

        def together(first: int) -> None:
            leaders = [_engine.Leader(region, rules, words[run]) for run in range(first, min(first + part, runs))]
            for chunk in _chunks(rounds, marks, max(CHUNK, 80 * CHUNK // part)):
                room = np.zeros((len(leaders), len(chunk.marks)))
                _engine.play_linear(leaders, z[chunk.rows], chunk.marks, room)
                own[first : first + len(leaders), chunk.places] = room

        _spread_out(together, list(range(0, runs, part)), threads)
    else:
        _spread_out(job, list(range(runs)), 1 if stepped else threads)
    seconds = time.perf_counter() - began
    best = hindsight(learner.domain, losses, marks)
    return Record(
        learner=repr(learner),
        setting="convex",
        rounds=rounds,
        runs=runs,
        seed=seed,
        checkpoints=marks,
        regret=own - best,
        best_loss=float(best[-1]),
        counts=np.zeros((runs, 0), dtype=np.int64),
        seconds=seconds,
        threads=threads,
        actions=moves if keep == "all" else None,
        loss=own,
        note=ended(rounds, asked),
        source=Played(learner, float(costs.max()), losses),
    )


def _spread_out(job: Callable[[int], None], parts: list[int], threads: int) -> None:
    """Do the jobs, on threads if there are several; what one raises is raised."""
    if threads == 1 or len(parts) == 1:
        for part in parts:
            job(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            list(pool.map(job, parts))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _played(
    run: _engine.Leader,
    phi: _engine.Phi,
    parameter: float,
    z: Array,
    y: Array,
    chunks: list[Chunk],
    own: Array,
    moves: Array,
) -> None:
    """One run of a game in the engine."""
    run.prepare(phi, parameter, len(z))
    for chunk in chunks:
        rows = chunk.rows
        status = run.play(phi, z[rows], y[rows], chunk.marks, own[chunk.places], moves[rows] if len(moves) else None)
        judge(status, run.last)


def _stepped(learner: Convex, losses: Loss, seed: int, run: int, marks: Any, own: Array, moves: Array) -> float:
    """One run round by round, for sets, losses and noise that the engine does not serve alone."""
    leader = Leader(learner.domain, learner.rules(), seed, run, learner.output_scale())
    for t, loss in enumerate(losses):
        x, _ = leader.act()
        refuse_at(loss, x, learner.lipschitz, learner.loss_bound)
        leader.observe(x, loss)
        own[marks == t + 1] = leader.run.own
        if len(moves):
            moves[t] = x
    return learner.solver_cost(leader.run.ridge, leader.run.distance)


class Chunk(NamedTuple):
    """Rounds of a game, the marks among them counted from its first, and the places of these marks."""

    rows: slice
    marks: NDArray[np.int64]
    places: slice


def _chunks(rounds: int, marks: NDArray[np.int64], size: int) -> list[Chunk]:
    made = []
    for first in range(0, rounds, size):
        last = min(rounds, first + size)
        low, high = np.searchsorted(marks, (first, last), side="right")
        made.append(Chunk(slice(first, last), marks[low:high] - first, slice(int(low), int(high))))
    return made


def hindsight(domain: Domain, losses: Loss, marks: Any) -> Array:
    """L* of the first t rounds, at each mark t."""
    if losses.shape == "linear":
        sums = np.add.reduceat(losses.z, np.append(0, marks[:-1]), axis=0).cumsum(axis=0)
        return np.asarray(-domain.support(-sums))
    leader = Leader(domain)
    start, best, done = np.array(domain.center), np.zeros(len(marks)), 0
    for k, t in enumerate(marks):
        leader.absorb(losses[done:t])
        done = int(t)
        best[k] = best_in_hindsight(leader, losses[:done] if isinstance(losses, RankOne) else (), start)
    return best
