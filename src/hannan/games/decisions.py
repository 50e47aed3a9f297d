"""Games over combinatorial decisions: all runs side by side, in blocks of rounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.games import feeds
from hannan.games.checkpoints import Checkpoints, Positions
from hannan.games.runners import Job, Request, Result, Runner, make_room, split
from hannan.games.stepped import Table, read_only
from hannan.learners.fpl import FPL, Combinatorial, FPLTrix, RankedSets
from hannan.learners.slates import SlateLearner
from hannan.mathematics.bounds import Units
from hannan.mathematics.streams import words
from hannan.players.decisions import stream
from hannan.players.identity import run_seed
from hannan.validation import Array

#: Largest number of losses in a block, over all runs.
BLOCK_NUMBERS = 1 << 18
#: Cost per loss, relative to the engine.
SLOW = 0.2


class Abreast:
    """Runs of a user-defined learner, stepped in Python."""

    def __init__(self, learner: Any, seeds: list[int]) -> None:
        self.learner = learner
        self.players = [learner.start(seed) for seed in seeds]

    def advance(self, rows: Array) -> Array:
        """Play some rounds. Returns the decisions, (runs, rounds, d) of zeros and ones.

        Losses have shape (runs, rounds, d), or (1, rounds, d) if all runs have the same losses.
        """
        chosen = np.zeros((len(self.players), rows.shape[1], self.learner.n))
        for t in range(rows.shape[1]):
            for run, player in enumerate(self.players):
                row = rows[run % len(rows), t]
                plan = player.act()
                picked = list(plan.action)
                chosen[run, t, picked] = 1.0
                player.observe(plan, row if player.sees_all else row[picked])
        return chosen

    def least_estimates(self) -> Array | None:
        """Return min_v <Lhat, v> of every run, or None if losses are not estimated."""
        if self.players[0].sees_all:
            return None
        return np.array([player.least_estimate() for player in self.players])


class LeadersAbreast(Abreast):
    """Runs of `FPL`: all losses are observed, so that a whole block is played in one call."""

    learner: FPL

    def __init__(self, learner: FPL, seeds: list[int]) -> None:
        self.learner, self.streams, self.before = learner, [stream(seed) for seed in seeds], np.zeros((1, 1, learner.n))

    def advance(self, rows: Array) -> Array:
        before = np.broadcast_to(self.before, (len(rows), 1, self.learner.n))
        sums = np.cumsum(np.concatenate([before, rows], axis=1), axis=1)
        shape = rows.shape[1:]
        costs = [sums[run % len(rows), :-1] + self.learner.noise_of(rng, shape) for run, rng in enumerate(self.streams)]
        self.before = sums[:, -1:]
        return self.learner.decisions.best_each(np.concatenate(costs)).reshape(len(self.streams), *shape)

    def least_estimates(self) -> Array | None:
        return None


class ResampledAbreast(Abreast):
    """Runs of `FPLTrix`: one call per round for all runs."""

    learner: FPLTrix

    def __init__(self, learner: FPLTrix, seeds: list[int]) -> None:
        self.learner, self.streams = learner, [stream(seed) for seed in seeds]
        self.losses = np.zeros((len(seeds), learner.n))

    def advance(self, rows: Array) -> Array:
        moves = np.empty((len(self.streams), *rows.shape[1:]))
        for t in range(rows.shape[1]):
            moves[:, t], trials = self.learner.draw(self.losses, self.streams)
            self.losses = self.losses + rows[:, t] * trials
        return moves

    def least_estimates(self) -> Array | None:
        return np.asarray((self.learner.decisions.best_each(self.losses) * self.losses).sum(axis=1))


class SlatesAbreast(Abreast):
    """Runs of learners of slates: whole blocks of rounds in the engine."""

    learner: SlateLearner

    def __init__(self, learner: SlateLearner, seeds: list[int]) -> None:
        self.learner, self.at_play = learner, [learner.run(words(seed, 0)) for seed in seeds]

    def advance(self, rows: Array) -> Array:
        block = np.ascontiguousarray(rows)
        return np.stack([run.play(block[k % len(block)]) for k, run in enumerate(self.at_play)])

    def least_estimates(self) -> Array | None:
        if self.learner.sees_all:
            return None
        losses = np.array([run.losses for run in self.at_play])
        return np.asarray((self.learner.decisions.best_each(losses) * losses).sum(axis=1))


def abreast(learner: Any, seeds: list[int]) -> Abreast:
    """Return the runs of these seeds."""
    if type(learner) is FPL:
        return LeadersAbreast(learner, seeds)
    if isinstance(learner, SlateLearner):
        return SlatesAbreast(learner, seeds)
    return ResampledAbreast(learner, seeds) if type(learner) is FPLTrix else Abreast(learner, seeds)


def ranged(learner: Any) -> tuple[float, float]:
    """Return the loss range of a learner; [0, 1] if it has none."""
    low, high = getattr(learner, "loss_range", (0.0, 1.0))
    return float(low), float(high)


class DecisionsRunner(Runner):
    """Game over decisions: with `keep="all"`, `actions` are rows of zeros and ones, or of positions from 1."""

    setting = "decisions"

    def __init__(self, learner: Combinatorial, losses: Any, request: Request) -> None:
        request.no_advice(learner)
        request.not_fictitious(learner)
        self.learner, self.runs, self.everything = learner, request.runs, request.everything
        self.units = getattr(learner, "units", Units(0.0, 1.0, False))
        self.feed = feeds.feed(losses, learner.n, request, column="component")
        self.iid = self.feed.drawn and self.feed.steady
        if self.feed.drawn:
            low, high = ranged(learner)
            if not low <= 0.0 < 1.0 <= high:
                raise ValueError(f"loss_range must contain 0 and 1 for Bernoulli losses; got [{low:g}, {high:g}]")
            self.feed = feeds.feed(feeds.Tosses(losses, self.runs, request.seed), learner.n, request)
        self.parts = split(self.runs, request.cores)
        seeds = [run_seed(request.seed, run) for run in range(self.runs)]
        self.at_play = [abreast(learner, seeds[first:last]) for first, last in self.parts]
        self.stepped = type(self.at_play[0]) is Abreast
        if self.stepped:
            request.one_thread(learner)
        decisions = learner.decisions
        #: Weight of each position, from 1; None if positions do not matter.
        self.weights = np.array([0.0, *decisions.weights]) if isinstance(decisions, RankedSets) else None
        self.marks = Checkpoints(None if self.feed.blocks is not None else self.feed.rounds, self.everything)
        self.total, self.abreast, self.numbers = self.feed.rounds, self.runs, SLOW * learner.n
        self.most = max(1, BLOCK_NUMBERS // (self.runs * learner.n))
        sequences = self.runs if self.feed.per_run else 1
        self.sums, self.paid = np.zeros((sequences, 1, learner.n)), np.zeros((self.runs, 1))
        self.counts = np.zeros((self.runs, learner.n), dtype=np.int64)
        columns = self.marks.columns
        self.curves = {"own": np.zeros((self.runs, columns)), "best": np.zeros((sequences, columns))}
        self.moves: list[NDArray[np.int8]] = []

    @property
    def taken(self) -> int:
        return self.feed.taken

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        first = self.feed.taken
        block = self.feed.take(limit)
        if block is None:
            return None
        rows = block.losses.reshape(len(self.sums), block.rounds, self.learner.n)
        low, high = ranged(self.learner)
        bad = ~((rows >= low) & (rows <= high))
        if bad.any():
            run, t, i = (int(k) for k in np.argwhere(bad)[0])
            where = f"run {run}, " * self.feed.per_run + f"round {first + t}, component {i}"
            raise ValueError(f"losses must be finite and in [{low:g}, {high:g}]; got {rows[run, t, i]} at {where}")
        rows = np.clip(self.units.normal(rows, 1.0), 0.0, 1.0)
        make_room(self.curves, self.marks.room(first, block.rounds), self.marks.columns)
        ends, columns = self.marks.within(first, block.rounds)
        sums = np.cumsum(np.concatenate([self.sums, rows], axis=1), axis=1)
        for k, row in enumerate(sums):
            self.curves["best"][k, columns] = self._best(row[ends])
        self.sums = sums[:, -1:]
        moves = np.empty((self.runs, block.rounds if self.everything else 0, self.learner.n), dtype=np.int8)
        if self.everything:
            self.moves.append(moves)
        return [partial(self._play, k, rows, ends, columns, moves) for k in range(len(self.parts))]

    def _play(self, k: int, rows: Array, ends: Positions, columns: Positions, moves: NDArray[np.int8]) -> None:
        part = slice(*self.parts[k])
        rows = rows[part] if self.feed.per_run else rows
        chosen = self.at_play[k].advance(rows)
        # Sums are added in the order of the rounds, so that they do not depend on the blocks.
        counted = chosen if self.weights is None else self.weights[chosen]
        curve = np.cumsum(np.concatenate([self.paid[part], (counted * rows).sum(axis=2)], axis=1), axis=1)
        self.curves["own"][part, columns] = curve[:, ends]
        self.paid[part] = curve[:, -1:]
        self.counts[part] += (chosen > 0).sum(axis=1)
        if self.everything:
            moves[part] = chosen

    def _best(self, sums: Array) -> Array:
        """Return the loss of the best decision for each row of cumulative losses."""
        if not len(sums):
            return np.empty(0)
        return np.asarray((self.learner.decisions.best_each(sums) * sums).sum(axis=1))

    def result(self) -> Result:
        played = self.feed.taken
        at = self.marks.upto(played)
        own, best = (self.curves[name][:, : len(at)] for name in ("own", "best"))
        last = self._best(self.sums[:, 0])
        if len(at) == 0 or at[-1] != played:
            at, own = np.append(at, played), np.concatenate([own, self.paid], axis=1)
            best = np.concatenate([best, last[:, None]], axis=1)
        best_loss = self.units.total(last, self.learner.decisions.total_weight * played)
        least = [part.least_estimates() for part in self.at_play]
        width, chosen = self.units.width, self.learner.decisions.total_weight
        return Result(
            rounds=played,
            checkpoints=at,
            regret=width * (own - best),
            loss=self.units.total(own, chosen * at),
            best_loss=best_loss if self.feed.per_run else float(best_loss[0]),
            counts=self.counts,
            source=self.learner,
            actions=np.concatenate(self.moves, axis=1) if self.moves else None,
            estimated_regret=None if least[0] is None else width * (self.paid[:, 0] - np.concatenate(least)),  # type: ignore[arg-type]
            iid=self.iid,
        )


class DecisionTable(Table):
    """Decisions against an adversary: a move is a row of zeros and ones, a loss one number per component."""

    setting = "decisions"
    kind = np.int8

    def __init__(self, learner: Combinatorial, request: Request) -> None:
        super().__init__(learner, request)
        self.decisions, self.n, self.shape = learner.decisions, learner.n, (learner.n,)
        self.low, self.high = ranged(learner)
        self.gains = getattr(learner, "gains", False)

    def shown(self, move: Any) -> Any:
        row = np.zeros(self.n, dtype=np.int8)
        ranked = isinstance(self.decisions, RankedSets)
        row[list(move.action)] = range(1, len(move.action) + 1) if ranked else 1
        return row

    def distribution(self, player: Any, t: int) -> Array | None:
        """Return the inclusion probabilities of the next slate; None for learners without them."""
        asked = getattr(player, "distribution", None)
        return None if asked is None else read_only(asked())

    def admit(self, loss: Any) -> Array:
        return validation.row(loss, self.n, self.low, self.high)

    def settle(self, player: Any, move: Any, loss: Array) -> float:
        picked = list(move.action)
        player.observe(move, loss if player.sees_all else loss[picked])
        return float(self.decisions.paid(loss[picked]))

    def best(self, losses: Any, marks: NDArray[np.int64]) -> Array:
        sums = np.cumsum(losses, axis=0)[marks - 1]
        best = self.decisions.best_each(-sums if self.gains else sums)
        return np.asarray((best * sums).sum(axis=1))

    def counted(self, moves: NDArray[Any]) -> NDArray[np.int64]:
        return np.asarray((moves > 0).sum(axis=0, dtype=np.int64))
