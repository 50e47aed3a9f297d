"""Convex games: every run in compiled code, on any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.games.checkpoints import Positions, spread
from hannan.games.runners import QUICK, Job, Request, Result, Runner, split
from hannan.games.stepped import Table
from hannan.learners.convex.gradient import Descent
from hannan.learners.convex.learner import Convex
from hannan.mathematics import streams
from hannan.mathematics.bounds import Bound, Withheld
from hannan.mathematics.convex.domains import Domain
from hannan.mathematics.convex.leader import Leader, best_in_hindsight, columns, judge, region_of
from hannan.mathematics.convex.losses import Loss, RankOne, assuming_convex, check_at
from hannan.players.convex import Walk, refuted
from hannan.players.identity import run_seed
from hannan.players.private_ball import NoisySums
from hannan.validation import Array

#: Cost of a round of losses that are not linear, which needs a solver, relative to a round of linear losses.
SOLVED = 20.0


@dataclass(frozen=True)
class Played:
    """A learner with the solver error of its moves, which its bound depends on."""

    learner: Convex
    cost: float
    losses: Loss

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Return the bound of the learner for losses of this shape, including solver error and ridge."""
        best = None if best_loss is None else max(best_loss, 0.0)
        bound = self.learner.bounded(rounds, best, bias=self.cost, shape=self.losses.shape).asked(against)
        return assuming_convex(bound, isinstance(self.losses, RankOne))


class PointRunner(Runner):
    """Game of points against a fixed sequence of losses.

    With `keep="all"`, `actions` are the moves, of shape (runs, T, d).
    """

    setting = "convex"

    def __init__(self, learner: Any, losses: Any, request: Request) -> None:
        request.no_advice(learner)
        request.not_fictitious(learner)
        if isinstance(losses, Loss) and losses.is_sequence:
            losses = losses[: request.rounds]
        self.learner, self.losses = learner, learner.admit(losses)
        if not self.losses.is_sequence:
            raise ValueError("losses must be a sequence: z needs a leading axis with one row per round; got one loss")
        self.runs, self.everything = request.runs, request.everything
        self.rounds, d = self.losses.z.shape
        self.marks = spread(self.rounds, self.everything)
        self.numbers = d * (1.0 if self.losses.shape == "linear" else SOLVED)
        self.done = 0

    @property
    def taken(self) -> int:
        return self.done

    def result(self) -> Result:
        best = hindsight(self.learner.domain, self.losses, self.marks)
        regret, moves = self.played(best)
        return Result(
            rounds=self.rounds,
            checkpoints=self.marks,
            regret=regret,
            loss=regret + best,
            best_loss=float(best[-1]),
            counts=np.zeros((self.runs, 0), dtype=np.int64),
            source=self.source(regret),
            actions=moves if self.everything else None,
        )

    def played(self, best: Array) -> tuple[Array, Array]:
        """Return (regret, moves) of all runs, given the best loss at each checkpoint."""
        raise NotImplementedError

    def source(self, regret: Array) -> Any:
        """Return the object whose `bound` gives the bound of the record."""
        raise NotImplementedError


class ConvexRunner(PointRunner):
    """Game of perturbed leaders.

    With linear losses all runs are played side by side. With other losses every run stores all its losses, so only as
    many runs are in memory as there are threads.
    """

    learner: Convex

    def __init__(self, learner: Convex, losses: Any, request: Request) -> None:
        super().__init__(learner, losses, request)
        losses = self.losses
        self.stepped = learner.domain.kernel == "other" or isinstance(losses, RankOne) or learner.accuracy is not None
        if self.stepped:
            request.one_thread(learner)
        linear = losses.shape == "linear" and learner.privacy_ridge() == 0.0 and not self.stepped
        self.together = linear and not self.everything
        self.guess = QUICK if linear else self.guess
        self.abreast = self.runs if self.together else min(self.runs, self.threads(request))
        self.total = self.rounds * -(-self.runs // self.abreast)
        self.seed, self.words = request.seed, streams.words_of_runs(request.seed, self.runs)
        self.phi, self.z, self.y = columns(losses)
        self.own, self.costs = np.zeros((self.runs, len(self.marks))), np.zeros(self.runs)
        self.moves = np.zeros((self.runs, self.rounds if self.everything else 0, learner.domain.d))
        self.leaders: list[Any] = []

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        batch, first = divmod(self.done, self.rounds)
        lowest = batch * self.abreast
        if first == 0:
            self._close(lowest - self.abreast)
            if lowest >= self.runs:
                return None
            self.leaders = [self._leader(run) for run in range(lowest, min(lowest + self.abreast, self.runs))]
        rows = slice(first, min(self.rounds, first + limit))
        self.done += rows.stop - first
        low, high = np.searchsorted(self.marks, (first, rows.stop), side="right")
        ends, places = self.marks[low:high] - first, slice(int(low), int(high))
        if self.together:
            return [partial(self._linear, part, rows, ends, places) for part in split(self.runs, parts)]
        job = self._step if self.stepped else self._solve
        return [partial(job, lowest + k, leader, rows, ends, places) for k, leader in enumerate(self.leaders)]

    def _leader(self, run: int) -> Any:
        learner = self.learner
        if self.stepped:
            return Leader(learner.domain, learner.rules(), self.seed, run, learner.output_scale())
        leader = _engine.Leader(region_of(learner.domain), learner.rules(), self.words[run])
        if not self.together:
            leader.prepare(self.phi, float(getattr(self.losses, "parameter", 0.0)), self.rounds)
        return leader

    def _close(self, lowest: int) -> None:
        """Store the solver error of the finished runs."""
        for run, leader in enumerate(self.leaders, lowest):
            state = leader.run if self.stepped else leader
            self.costs[run] = self.learner.solver_cost(state.ridge, state.distance)
        self.leaders = []

    def _linear(self, part: tuple[int, int], rows: slice, ends: Positions, places: slice) -> None:
        """Play a block of linear losses with some runs."""
        first, last = part
        room = np.zeros((last - first, len(ends)))
        _engine.play_linear(self.leaders[first:last], self.z[rows], ends, room)
        self.own[first:last, places] = room

    def _solve(self, run: int, leader: Any, rows: slice, ends: Positions, places: slice) -> None:
        """Play a block with one run in the engine."""
        moves = self.moves[run, rows] if self.everything else None
        status = leader.play(self.phi, self.z[rows], self.y[rows], ends, self.own[run, places], moves)
        judge(status, leader.last)

    def _step(self, run: int, leader: Leader, rows: slice, ends: Positions, places: slice) -> None:
        """Step a block with one run in Python, for sets and losses that the engine does not support."""
        learner, noted = self.learner, dict(zip(ends.tolist(), range(places.start, places.stop), strict=True))
        for t, loss in enumerate(self.losses[rows], 1):
            x, _ = leader.act()
            check_at(loss, x, learner.lipschitz, learner.loss_bound)
            leader.observe(x, loss)
            if t in noted:
                self.own[run, noted[t]] = leader.run.own
            if self.everything:
                self.moves[run, rows.start + t - 1] = x

    def played(self, best: Array) -> tuple[Array, NDArray[np.float64]]:
        return self.own - best, self.moves

    def source(self, regret: Array) -> Played:
        return Played(self.learner, float(self.costs.max()), self.losses)


def hindsight(domain: Domain, losses: Loss, marks: Any) -> Array:
    """Return the best loss in hindsight L* of the first t rounds, at each mark t."""
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


@dataclass(frozen=True)
class Walked:
    """Game of a gradient learner: a regret above the bound shows that the conditions of the bound are violated."""

    learner: Descent
    losses: Loss
    regret: float

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Return the bound of the learner. Raises Withheld if the regret of the game exceeds it."""
        bound = self.learner.bound(rounds, best_loss, against=against)
        if rounds == len(self.losses) and (wrong := refuted(self.regret, bound)):
            raise Withheld(wrong)
        return assuming_convex(bound, isinstance(self.losses, RankOne))


class DescentRunner(PointRunner):
    """Game of a deterministic gradient learner: all runs are equal, so it is played once."""

    stepped = True

    def __init__(self, learner: Descent, losses: Any, request: Request) -> None:
        super().__init__(learner, losses, request)
        request.one_thread(learner)
        self.total, self.walk = self.rounds, Walk(learner)
        self.own, self.moves = np.zeros(self.rounds), np.zeros((self.rounds, learner.domain.d))

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        first, last = self.done, min(self.rounds, self.done + limit)
        self.done = last
        return [lambda: self._step(first, last)] if first < last else None

    def _step(self, first: int, last: int) -> None:
        for t, loss in enumerate(self.losses[first:last], first):
            x = self.walk.x
            check_at(loss, x, self.learner.lipschitz, None)
            self.moves[t], self.own[t] = x, loss.value(x)
            self.walk.step(np.asarray(loss.gradient(x)))

    def played(self, best: Array) -> tuple[Array, Array]:
        regret = np.cumsum(self.own)[self.marks - 1] - best
        moves = np.tile(self.moves, (self.runs, 1, 1)) if self.everything else self.moves
        return np.tile(regret, (self.runs, 1)), moves

    def source(self, regret: Array) -> Walked:
        return Walked(self.learner, self.losses, float(regret[0, -1]))


class PrivateBallRunner(PointRunner):
    """Game of noisy sums on a ball, stepped in Python."""

    stepped = True

    def __init__(self, learner: Any, losses: Any, request: Request) -> None:
        super().__init__(learner, losses, request)
        request.one_thread(learner)
        if self.rounds > learner.rounds:
            raise ValueError(
                f"losses must have at most {learner.rounds} rounds, which epsilon covers; got {self.rounds}"
            )
        self.total = self.rounds
        self.sums = [NoisySums(learner, run_seed(request.seed, run)) for run in range(self.runs)]
        self.own = np.zeros((self.runs, self.rounds))
        self.moves = np.zeros((self.runs, self.rounds if self.everything else 0, learner.domain.d))

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        first, last = self.done, min(self.rounds, self.done + limit)
        self.done = last
        return [lambda: self._step(first, last)] if first < last else None

    def _step(self, first: int, last: int) -> None:
        for t, z in enumerate(self.losses.z[first:last], first):
            for run, sums in enumerate(self.sums):
                x = sums.move()
                self.own[run, t] = z @ x
                sums.add(z)
                if self.everything:
                    self.moves[run, t] = x

    def played(self, best: Array) -> tuple[Array, Array]:
        return np.cumsum(self.own, axis=1)[:, self.marks - 1] - best, self.moves

    def source(self, regret: Array) -> Any:
        return self.learner


class BarrierRunner(PointRunner):
    """Game of players that observe the loss of their point only, stepped in Python."""

    stepped = True

    def __init__(self, learner: Any, losses: Any, request: Request) -> None:
        super().__init__(learner, losses, request)
        request.one_thread(learner)
        self.total = self.rounds
        self.players = [learner.start(run_seed(request.seed, run)) for run in range(self.runs)]
        self.own = np.zeros((self.runs, self.rounds))
        self.moves = np.zeros((self.runs, self.rounds if self.everything else 0, learner.domain.d))

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        first, last = self.done, min(self.rounds, self.done + limit)
        self.done = last
        return [lambda: self._step(first, last)] if first < last else None

    def _step(self, first: int, last: int) -> None:
        for t, z in enumerate(self.losses.z[first:last], first):
            for run, player in enumerate(self.players):
                move = player.act()
                self.own[run, t] = paid = float(z @ move.action)
                player.observe(move, paid)
                if self.everything:
                    self.moves[run, t] = move.action

    def played(self, best: Array) -> tuple[Array, Array]:
        return np.cumsum(self.own, axis=1)[:, self.marks - 1] - best, self.moves

    def source(self, regret: Array) -> Any:
        return self.learner


class Seen(Sequence[Loss]):
    """Read-only view of the first losses of a run."""

    def __init__(self, losses: list[Loss], count: int) -> None:
        self._losses, self._count = losses, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, item: int) -> Loss: ...
    @overload
    def __getitem__(self, item: slice) -> Sequence[Loss]: ...
    def __getitem__(self, item: int | slice) -> Loss | Sequence[Loss]:
        at = range(self._count)[item]
        return self._losses[at] if isinstance(at, int) else [self._losses[k] for k in at]


class PointTable(Table):
    """Points against an adversary: every loss is a loss function, and all losses of a game are of one kind."""

    setting = "convex"
    kind = np.float64

    def __init__(self, learner: Any, request: Request) -> None:
        super().__init__(learner, request)
        self.domain: Domain = learner.domain
        self.n, self.shape = self.domain.d, (self.domain.d,)
        self._first: Loss | None = None

    def shown(self, move: Any) -> Any:
        return getattr(move, "action", move)

    def admit(self, loss: Any) -> Loss:
        loss = self.learner.admit(loss)
        if loss.is_sequence:
            raise ValueError(f"the loss of a round must be one loss; got a sequence of {len(loss)}")
        if self._first is None:
            self._first = loss
        elif _kind(loss) != _kind(self._first):
            raise ValueError(f"losses of one game must be of one kind, here that of {self._first!r}; got {loss!r}")
        return loss  # type: ignore[no-any-return]

    def settle(self, player: Any, move: Any, loss: Loss) -> float:
        player.observe(move, loss)
        return float(loss.value(self.shown(move)))

    def seen(self, rounds: int) -> tuple[Any, Callable[[int], Any]]:
        kept: list[Any] = [None] * rounds
        return kept, lambda t: Seen(kept, t)

    def best(self, losses: Any, marks: NDArray[np.int64]) -> Array:
        return hindsight(self.domain, stacked(losses), marks)

    def counted(self, moves: NDArray[Any]) -> NDArray[np.int64]:
        return np.zeros(0, dtype=np.int64)


class DescentTable(PointTable):
    """Gradient learners against an adversary."""

    def source(self, players: Sequence[Any], losses: Sequence[Any]) -> Any:
        regrets = [player.certificate().regret for player in players]
        return Walked(self.learner, stacked(losses[0]), max(regrets))


class ConvexTable(PointTable):
    """`Convex` against an adversary."""

    def source(self, players: Sequence[Any], losses: Sequence[Any]) -> Any:
        costs = [player.solver_cost() for player in players]
        return Played(self.learner, max(costs), stacked(losses[0]))


def stacked(losses: Sequence[Loss]) -> Loss:
    """Return losses of one kind as a sequence.

    >>> from hannan.mathematics.convex.losses import Linear
    >>> stacked([Linear([1.0, 0.0]), Linear([0.0, 1.0])]).z.shape
    (2, 2)
    """
    names = [field.name for field in fields(losses[0]) if field.name in ("z", "y")]
    return replace(losses[0], **{name: np.array([getattr(loss, name) for loss in losses]) for name in names})


def _kind(loss: Loss) -> tuple[Any, ...]:
    return type(loss), *(getattr(loss, field.name) for field in fields(loss) if field.name not in ("z", "y"))
