"""Whole convex games: every run in compiled code, on any number of threads, with one record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan import refusals
from hannan.bounds import Bound
from hannan.convexity.hindsight import best_in_hindsight
from hannan.convexity.leader import Leader, columns
from hannan.convexity.own_phi import ON_YOUR_WORD, refuse_at
from hannan.convexity.privacy import output_scale
from hannan.domains import Ball, Domain
from hannan.game import ended
from hannan.losses import Loss, RankOne
from hannan.record import Record
from hannan.refusals import Array
from hannan.running.checkpoints import spread

if TYPE_CHECKING:
    from hannan.learners.convex import Convex

#: Rounds between two looks at the keyboard; rounds of linear losses are quick, and 80 times as many.
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
    stepped = learner.domain.kernel_code < 0 or isinstance(losses, RankOne) or learner.accuracy is not None
    began = time.perf_counter()
    if losses.shape == "linear" and not stepped and learner.privacy_ridge() == 0.0:
        _linear(learner, losses, seed, threads, marks, own, moves)
    else:

        def job(run: int) -> None:
            costs[run] = _curved(learner, losses, seed, run, marks, own[run], moves[run])

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


def _linear(learner: Convex, losses: Loss, seed: int, threads: int, marks: Any, own: Array, moves: Array) -> None:
    """All runs of a game of linear losses, some at a time in one call."""
    from hannan.kernels import convex, convex_ball, streams

    leader = Leader(learner.domain, learner.rules(), seed)
    states = np.tile(leader.state, (len(own), 1))
    states[:, convex.STREAM : convex.STREAM + 4].view(np.uint64)[:] = streams.words_of_runs(seed, len(own))
    sums = np.zeros((len(own), losses.d))
    part = -(-len(own) // threads)

    def job(first: int) -> None:
        runs = slice(first, min(first + part, len(own)))
        for start, stop, here in _chunks(len(losses), marks, max(CHUNK, 80 * CHUNK // part)):
            room = np.zeros((runs.stop - first, len(here)))
            kept = np.zeros((len(room), stop - start if moves.shape[1] else 0, losses.d))
            played = (sums[runs], states[runs], losses.z[start:stop], here - start, room, kept)
            if isinstance(learner.domain, Ball):
                convex_ball.ball_games(leader.rules, leader.region.center, leader.region.radius, *played)
            else:
                convex.linear_games(leader.rules, leader.region, *played)
            own[runs, np.searchsorted(marks, here)] = room
            if moves.shape[1]:
                moves[runs, start:stop] = kept

    _spread_out(job, list(range(0, len(own), part)), threads)


def _curved(learner: Convex, losses: Loss, seed: int, run: int, marks: Any, own: Array, moves: Array) -> float:
    """One run of a game of any losses; what ridge and solver cost in it."""
    from hannan.kernels import convex

    leader = Leader(learner.domain, learner.rules(), seed, run, output_scale(learner))
    if leader.stepped or isinstance(losses, RankOne):
        for t, loss in enumerate(losses):
            x, _ = leader.act()
            refuse_at(loss, x, learner.lipschitz, learner.loss_bound)
            leader.observe(x, loss)
            own[marks == t + 1] = leader.state[convex.OWN_LOSS]
            if len(moves):
                moves[t] = x
    else:
        code, z, y = columns(losses)
        leader.prepare(losses, len(losses))
        for start, stop, here in _chunks(len(losses), marks):
            room = np.zeros(len(here))
            status = convex.curved_game(
                leader.rules, leader.region, leader.sums, leader.state, leader.model, code,
                z[start:stop], y[start:stop], here - start, room, moves[start:stop], True,
            )  # fmt: skip
            leader.judge(status, float(leader.state[convex.LAST]))
            own[np.searchsorted(marks, here)] = room
    return learner.solver_cost(float(leader.state[convex.RIDGE]), float(leader.state[convex.DISTANCE]))


def _chunks(rounds: int, marks: Any, size: int = CHUNK) -> Iterator[tuple[int, int, Any]]:
    for first in range(0, rounds, size):
        last = min(rounds, first + size)
        yield first, last, marks[(marks > first) & (marks <= last)]


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
