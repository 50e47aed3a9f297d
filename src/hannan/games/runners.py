"""Runners: the state of a game while the driver plays it, block by block.

A job plays some runs through a block. Runs never share what they write, so a game gives the same record on any number
of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.games import feeds
from hannan.games.checkpoints import Checkpoints, Positions
from hannan.learners.learner import Learner
from hannan.mathematics import streams
from hannan.mathematics.bounds import Units
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis
from hannan.validation import Array


class Request(NamedTuple):
    """Arguments of `play`.

    `threads` is None by default, which means all cores. `at_most` means that stepped games run on one thread instead of
    raising an error: `compare` plays many games with one number of threads.
    """

    runs: int
    seed: int
    advice: Any
    threads: int | None
    everything: bool
    rounds: int | None
    fictitious: bool
    at_most: bool = False

    @classmethod
    def checked(
        cls, *, runs: Any, seed: Any, advice: Any, threads: Any, keep: Any, rounds: Any, fictitious: Any
    ) -> Self:
        """Validate every argument of `play`."""
        if keep not in ("checkpoints", "all"):
            raise ValueError(f'keep must be "checkpoints" or "all"; got {keep!r}')
        if not isinstance(fictitious, bool):
            raise ValueError(f"fictitious must be True or False; got {fictitious!r}")
        return cls(
            runs=validation.count(runs, "runs"),
            seed=validation.count(seed, "seed", least=0),
            advice=advice,
            threads=None if threads is None else validation.count(threads, "threads"),
            everything=keep == "all",
            rounds=None if rounds is None else validation.count(rounds, "rounds"),
            fictitious=fictitious,
        )

    @property
    def cores(self) -> int:
        """Largest number of threads."""
        if self.threads is not None:
            return self.threads
        if hasattr(os, "sched_getaffinity"):
            return max(1, len(os.sched_getaffinity(0)))
        return os.cpu_count() or 1

    def no_advice(self, learner: Any) -> None:
        """Raise ValueError if there is advice: the learner does not take advice."""
        if self.advice is not None:
            raise ValueError(
                f"advice must be None for {type(learner).__name__}, which does not take advice; got advice"
            )

    def not_fictitious(self, learner: Any) -> None:
        """Raise ValueError if the fictitious player was requested: the engine does not play it for this learner."""
        if self.fictitious:
            raise ValueError(
                "fictitious must be False unless the engine plays the learner, every loss is observed and the loss "
                f"range is known; got {learner!r}"
            )

    def one_thread(self, learner: Any) -> None:
        """Raise ValueError if more than one thread was requested for a game that Python steps."""
        if self.threads is not None and self.threads > 1 and not self.at_most:
            raise ValueError(
                f"threads must be 1 or omitted for {type(learner).__name__}, whose rounds are stepped in Python; "
                f"got {self.threads}"
            )


Job = Callable[[], None]
#: Largest number of losses in a block, so that a block stays in cache between runs.
BLOCK_NUMBERS = 1 << 19
#: Estimated seconds per loss where the engine is fast, or fastest (Entropy with AVX2). A short game is then one block.
QUICK, QUICKEST = 2e-8, 3e-9
_QUICK = (Entropy(), Tsallis(0.5), LogBarrier(), Exponential())


class Result(NamedTuple):
    """Result of a game, in the units of the losses."""

    rounds: int
    checkpoints: Positions
    regret: Array
    #: Own loss (or gain) of every run at each checkpoint.
    loss: Array
    best_loss: float | Array
    counts: NDArray[np.int64]
    #: Object whose `bound` gives the bound of the record.
    source: Any
    actions: NDArray[Any] | None = None
    expected_regret: Array | None = None
    estimated_regret: Array | None = None
    note: str = ""
    adaptive: bool = False
    iid: bool = False
    fictitious: bool = False


class Runner:
    """A game in progress. The constructor takes the learner, the losses and the request."""

    #: Name of the setting in the record.
    setting: str
    #: Number of rounds that the driver plays, or None if unknown. A setting that plays run after run counts the rounds
    #: of each run.
    total: int | None
    #: Largest number of rounds in a block, number of runs played side by side, and losses per round and run.
    most: int = 1 << 20
    abreast: int = 1
    numbers: float = 1.0
    #: Estimated seconds per loss before the first measurement: the slowest perturbation distribution of the engine.
    guess: float = 2e-5

    #: True if the rounds are stepped in Python, on one thread.
    stepped = False

    @property
    def taken(self) -> int:
        """Number of rounds that the driver has played."""
        raise NotImplementedError

    def threads(self, request: Request) -> int:
        """Return the largest number of threads."""
        return 1 if self.stepped else request.cores

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        """Return about `parts` independent jobs that play the next rounds, at most `limit`; None at the end."""
        raise NotImplementedError

    def result(self) -> Result:
        """Return the result of the rounds played."""
        raise NotImplementedError


def setup_of(learner: Any, losses: Any) -> Any:
    """Return the setup of a learner of the package, or the attributes that a user-defined learner states."""
    if isinstance(learner, Learner):
        return learner.setup()
    from hannan.games.stepped import stated

    return stated(learner, losses)


def is_stepped(learner: Any) -> bool:
    """Return True if games step the players of a learner in Python."""
    return learner.stepped if isinstance(learner, Learner) else True


def units_of(setup: Any) -> Units:
    """Return the units between the user's losses and those that are played."""
    return Units(0.0, 1.0, setup.gains) if setup.as_they_are else Units.of((setup.low, setup.high), setup.gains)


class TableRunner(Runner):
    """Losses in a table, one column per choice: states, counts and curves of all runs, in normalized losses.

    The curves `best` and, for experts, `mean` (sum of <p_t, l_t>) have one row per loss sequence.
    """

    #: Name of a column of the losses.
    column = "arm"
    #: True if the engine checks advice in bytes while it plays.
    checks_advice = False

    def __init__(self, learner: Any, losses: Any, request: Request) -> None:
        self.learner, self.setup, stepped = learner, setup_of(learner, losses), is_stepped(learner)
        setup = self.setup
        advised = setup.setting == "expert_bandit"
        if not advised:
            request.no_advice(learner)
        if setup.setting != "experts" or stepped or setup.as_they_are:
            request.not_fictitious(learner)
        self.feed = feed = feeds.feed(
            losses,
            setup.actions if advised else setup.n,
            request,
            experts=setup.n if advised else 0,
            unread=self.checks_advice,
        )
        self.runs, self.everything, self.fictitious = request.runs, request.everything, request.fictitious
        self.setting, self.total = setup.setting, feed.rounds
        self.most, self.abreast, self.numbers = self._most(), self.runs, float(max(feed.n, setup.n))
        smoothing = getattr(learner, "smoothing", None)
        if not stepped and smoothing in _QUICK:
            self.guess = QUICKEST if smoothing == Entropy() and with_wide_vectors() else QUICK
        if feed.drawn:
            if not setup.low <= 0.0 < 1.0 <= setup.high:
                raise ValueError(
                    f"loss_range must contain 0 and 1 for Bernoulli losses; got [{setup.low:g}, {setup.high:g}]"
                )
            feed.coins = streams.words_of_runs(request.seed, self.runs, 1)
        self.marks = Checkpoints(None if feed.blocks is not None else feed.rounds, request.everything)
        self.moves: list[NDArray[np.int32]] = []
        self.counts = np.zeros((self.runs, feed.n), dtype=np.int64)
        self.curves = {
            "own": np.zeros((self.runs, self.marks.columns)),
            "best": np.zeros((self.sequences, self.marks.columns)),
        }
        self.start(request)

    def start(self, request: Request) -> None:
        """Create the states of the runs."""
        raise NotImplementedError

    @property
    def sequences(self) -> int:
        """Number of loss sequences."""
        return self.runs if self.feed.per_run else 1

    @property
    def taken(self) -> int:
        return self.feed.taken

    def _most(self) -> int:
        """Return the largest number of rounds in a block."""
        feed = self.feed
        if feed.per_run:
            return max(1, 8 * BLOCK_NUMBERS // (feed.n * self.runs))
        # A single run reads its losses once: they need not stay in cache.
        numbers = BLOCK_NUMBERS * (4 if self.runs == 1 else 1)
        return 1 << 20 if feed.steady else max(1, numbers // max(1, feed.n))

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        from hannan._engine import Curves, Marks

        first = self.feed.taken
        block = self.feed.take(limit)
        if block is None:
            return None
        make_room(self.curves, self.marks.room(first, block.rounds), self.marks.columns)
        moves = np.empty((self.runs, block.rounds if self.everything else 0), dtype=np.int32)
        if self.everything:
            self.moves.append(moves)
        marks = Marks(*self.marks.within(first, block.rounds))
        return self.jobs(block, marks, Curves(**self.curves, counts=self.counts, moves=moves), parts)

    def jobs(self, block: Any, marks: Any, curves: Any, parts: int) -> list[Job]:
        """Return jobs that check the losses of a block and play it. The error of the first job is raised."""
        raise NotImplementedError

    def totals(self) -> dict[str, Array]:
        """Return the current value of every curve."""
        raise NotImplementedError

    def min_estimates(self) -> Array | None:
        """Return the smallest cumulative loss estimate of every run, or None if losses are not estimated."""
        return None

    def source(self) -> Any:
        """Return the object whose `bound` gives the bound of the record."""
        return self.learner

    def result(self) -> Result:
        setup, played = self.setup, self.feed.taken
        at = self.marks.upto(played)
        totals = self.totals()
        curves = {name: curve[: len(totals[name]), : len(at)] for name, curve in self.curves.items()}
        if len(at) == 0 or at[-1] != played:
            at = np.append(at, played)
            curves = {name: np.concatenate([c, totals[name][:, None]], axis=1) for name, c in curves.items()}
        units = units_of(setup)
        width = units.width
        best, least = units.total(totals["best"], played), self.min_estimates()
        expected = (curves["mean"] - curves["best"]) * width if "mean" in curves else None
        if expected is not None and len(expected) == 1:
            expected = expected[0]
        regret = curves["own"] - curves["best"]
        if not units.plain:
            regret *= width  # in place, because the array is large if there are many runs
        return Result(
            rounds=played,
            checkpoints=at,
            regret=regret,
            loss=units.total(curves["own"], at),
            best_loss=float(best[0]) if len(best) == 1 else best,
            counts=self.counts,
            source=self.source(),
            actions=np.concatenate(self.moves, axis=1) if self.moves else None,
            expected_regret=expected,
            estimated_regret=None if least is None else (totals["own"] - least) * width,
            note="fictitious player A+" if self.fictitious else "",
            iid=self.feed.drawn and self.feed.steady,
            fictitious=self.fictitious,
        )

    def judge(self, outcome: Any, block: Any) -> None:
        """Raise the error that ended a block early, if any."""
        if not outcome:
            return
        kind, t, column = outcome.kind.name, outcome.round, outcome.column
        at = f"round {self.feed.taken - block.rounds + t}"
        if kind == "failed":
            raise ArithmeticError(f"the smoothing has no solution at {at}, run {outcome.run}")
        if kind == "bad_advice":
            value, last = block.advice[t * self.setup.n + column], self.feed.n - 1
            raise ValueError(f"advice must be actions in 0..{last}; got {value} at {at}, expert {column}")
        value = block.losses[block.per_run * outcome.run + block.per_round * t + column]
        where = f"run {outcome.run}, {at}" if self.feed.per_run else at
        low, high = self.setup.low, self.setup.high
        raise ValueError(
            f"losses must be finite and in [{low:g}, {high:g}]; got {value} at {where}, {self.column} {column}"
        )


class BanditRunner(TableRunner):
    """Bandits: every run has its own state."""

    def start(self, request: Request) -> None:
        from hannan import _engine

        seed, setup = request.seed, self.setup
        noise = streams.words_of_runs(seed, self.runs, 2) if setup.own_noise else None
        self.cores, self.hindsight = request.cores, self.comparators()
        self.states = _engine.Runs(setup, streams.words_of_runs(seed, self.runs), noise)

    def comparators(self) -> Any:
        """Return the cumulative losses of all fixed choices."""
        from hannan._engine import Hindsight

        setup = self.setup
        experts = setup.n if setup.setting == "expert_bandit" else 0
        return Hindsight(self.feed.n, experts, setup.low, setup.high, setup.gains, self.sequences)

    def _most(self) -> int:
        # Constant means need no memory, however many the rounds are.
        return BLOCK_NUMBERS if self.feed.steady else super()._most()

    def jobs(self, block: Any, marks: Any, curves: Any, parts: int) -> list[Job]:
        if self.runs == 1 and not (self.feed.per_run or self.feed.drawn):
            return [lambda: self.judge(self.states.play(0, 1, block, marks, curves, self.hindsight), block)]
        if not self.feed.per_run:
            self.look(0, block, marks, curves)
        return self.play_jobs(block, marks, curves, parts)

    def look(self, sequence: int, block: Any, marks: Any, curves: Any) -> None:
        """Check the losses of a sequence, and add them to those of the fixed choices."""
        self.judge(self.hindsight.take(sequence, block, marks, curves), block)

    def play_jobs(self, block: Any, marks: Any, curves: Any, parts: int) -> list[Job]:
        """Return jobs that play some runs each: fewer than eight if there would be fewer jobs than threads."""

        def job(first: int, last: int) -> Job:
            def play() -> None:
                if self.feed.per_run:
                    for run in range(first, last):
                        self.look(run, block, marks, curves)
                self.judge(self.states.play(first, last, block, marks, curves), block)

            return play

        return [job(*part) for part in split(self.runs, parts, fine=parts > max(self.cores, self.runs // 8))]

    def totals(self) -> dict[str, Array]:
        return {"own": self.states.own(), "best": self.hindsight.best()}

    def min_estimates(self) -> Array | None:
        least: Array | None = self.states.min_losses() if self.setup.estimates else None
        return least


class ExpertBanditRunner(BanditRunner):
    """Bandits with expert advice: the regret is against the best expert."""

    column = "action"
    checks_advice = True  # a separate check of every byte would take a tenth of the time

    def start(self, request: Request) -> None:
        super().start(request)
        if self.feed.advice is not None:
            self.numbers *= self.feed.advice.width

    def jobs(self, block: Any, marks: Any, curves: Any, parts: int) -> list[Job]:
        play = self.play_jobs(block, marks, curves, parts)
        if self.feed.per_run:
            return play
        # Adding up the losses of every expert costs as much as playing, so it is a separate job. It comes first, so
        # that its error is the one that is raised.
        return [lambda: self.look(0, block, marks, curves), *play]


class ExpertsRunner(TableRunner):
    """Experts: runs that see the same losses have the same p_t; each job has its own copy of that state."""

    column = "expert"

    @property
    def sequences(self) -> int:
        # A learner with noise of its own has another p_t in every run, even if the losses are the same.
        return self.runs if self.feed.per_run or self.feed.drawn or self.setup.own_noise else 1

    def start(self, request: Request) -> None:
        from hannan import _engine

        seed, apart = request.seed, self.sequences > 1
        if not apart:
            self.numbers = 1.0 + self.feed.n / self.runs  # each run draws, and has its share of p_t
        self.blocks = [(r, r + 1) for r in range(self.runs)] if apart else split(self.runs, request.cores)
        noise = streams.words_of_runs(seed, len(self.blocks), 2) if self.setup.own_noise else None
        firsts = np.array([first for first, _ in self.blocks])
        words = streams.words_of_runs(seed, self.runs)
        self.states = _engine.Runs(self.setup, words, noise, firsts, self.fictitious)
        self.curves["mean"] = np.zeros((self.sequences, self.marks.columns))

    def jobs(self, block: Any, marks: Any, curves: Any, parts: int) -> list[Job]:
        def job(first: int, last: int) -> Job:
            return lambda: self.judge(self.states.play(first, last, block, marks, curves), block)

        return [job(*part) for part in self.blocks]

    def totals(self) -> dict[str, Array]:
        rows = self.sequences
        # On the same losses, the best expert is the same for all runs, whatever the noise of the learner.
        shared = not (self.feed.per_run or self.feed.drawn)
        best = self.states.min_losses()[: 1 if shared else rows]
        return {"own": self.states.own(), "mean": self.states.mean()[:rows], "best": best}

    def source(self) -> Any:
        if not self.setup.as_they_are:
            return self.learner
        from hannan.games.stepped import with_range

        return with_range(self.learner, self.states.largest_span())


def with_wide_vectors() -> bool:
    """Return True if the engine uses AVX2."""
    from hannan import _engine

    return _engine.instruction_set() != "base"


def make_room(curves: dict[str, Array], kept: NDArray[np.intp] | None, columns: int) -> None:
    """Move the kept columns of every curve to the front, and give every curve `columns` columns."""
    for name, curve in curves.items():
        if kept is not None:
            curve[..., : len(kept)] = curve[..., kept]
        if columns > curve.shape[-1]:
            wider = np.zeros((*curve.shape[:-1], columns))
            wider[..., : curve.shape[-1]] = curve
            curves[name] = wider


def split(runs: int, parts: int, fine: bool = False) -> list[tuple[int, int]]:
    """Split runs into at most `parts` ranges: multiples of eight runs, or of one if `fine`.

    The engine plays four runs per vector and two vectors in turns.

    >>> split(20, 2), split(3, 4), split(3, 4, fine=True)
    ([(0, 8), (8, 20)], [(0, 3)], [(0, 1), (1, 2), (2, 3)])
    """
    unit = 1 if fine else 8
    units = -(-runs // unit)
    parts = max(1, min(parts, units))
    return list(pairwise([unit * (units * k // parts) for k in range(parts)] + [runs]))
