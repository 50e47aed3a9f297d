"""What a game keeps while it is played: `Runner` is what the driver asks of every setting, `TableRunner` is that of
losses in a table.

A job plays some runs through a block; runs never share what they write, so a game gives the same record on any
number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.games.checkpoints import Checkpoints, Positions
from hannan.games.feeds import Block, Feed
from hannan.mathematics import streams
from hannan.mathematics.bounds import Units
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis
from hannan.validation import Array


class Asked(NamedTuple):
    """The arguments of `play`. `threads` is None where nobody asked: then as many as there are cores.

    `at_most`: where many games are asked for at once, of which some are stepped, those have one thread.
    """

    runs: int
    seed: int
    advice: Any
    threads: int | None
    everything: bool
    rounds: int | None
    fictitious: bool
    at_most: bool = False

    @property
    def cores(self) -> int:
        """How many threads there may be."""
        if self.threads is not None:
            return self.threads
        if hasattr(os, "sched_getaffinity"):
            return max(1, len(os.sched_getaffinity(0)))
        return os.cpu_count() or 1

    def no_advice(self, learner: Any) -> None:
        """Refuse advice for a learner that takes none."""
        if self.advice is not None:
            raise ValueError(f"advice must be None for {type(learner).__name__}, which takes none; got advice")

    def not_fictitious(self, learner: Any) -> None:
        """Refuse A+ where it is not built: its losses must be a table, of a known range, and seen whole."""
        if self.fictitious:
            raise ValueError(
                "the fictitious player needs a compiled learner that sees every loss, of a range that is known; "
                f"got {learner!r}"
            )

    def one_thread(self, learner: Any) -> None:
        """Refuse more threads than one where Python steps the rounds."""
        if self.threads is not None and self.threads > 1 and not self.at_most:
            raise ValueError(
                f"threads must be 1, or left out, for {type(learner).__name__}, whose rounds Python steps one by one; "
                f"got {self.threads}"
            )


def asked(
    runs: Any, seed: Any, advice: Any, threads: Any, keep: Any, rounds: Any, fictitious: Any
) -> Asked:  # fmt: skip
    """Every argument by its own rule."""
    if keep not in ("checkpoints", "all"):
        raise ValueError(f'keep must be "checkpoints" or "all"; got {keep!r}')
    if not isinstance(fictitious, bool):
        raise ValueError(f"fictitious must be True or False; got {fictitious!r}")
    return Asked(
        validation.count(runs, "runs"),
        validation.count(seed, "seed", least=0),
        advice,
        None if threads is None else validation.count(threads, "threads"),
        keep == "all",
        None if rounds is None else validation.count(rounds, "rounds"),
        fictitious,
    )


Job = Callable[[], None]
#: A block of rounds is at most so many numbers, so that it stays in cache between runs.
BLOCK_NUMBERS = 1 << 19
#: Seconds a number of a round where the engine is quick, or quickest (Entropy, AVX2): a short game is then one block.
QUICK, QUICKEST = 2e-8, 3e-9
_QUICK = (Entropy(), Tsallis(0.5), LogBarrier(), Exponential())
_NO_STREAMS: NDArray[np.uint64] = np.empty((0, 4), dtype=np.uint64)


class Outcome(NamedTuple):
    """What a game came to, in the units of the losses: what a record has beside who played and for how long."""

    rounds: int
    checkpoints: Positions
    regret: Array
    #: The own loss (or gain) of every run at each checkpoint.
    loss: Array
    best_loss: float | Array
    counts: NDArray[np.int64]
    #: What the record asks for its bound.
    source: Any
    actions: NDArray[Any] | None = None
    expected_regret: Array | None = None
    estimated_regret: Array | None = None
    note: str = ""
    adaptive: bool = False
    iid: bool = False
    fictitious: bool = False


class Runner:
    """A setting at play. It begins when it is built, from what `play` was asked for; the driver does the rest."""

    #: The setting, as the record names it.
    setting: str
    #: Rounds that the driver goes through; None: nobody knows. A setting that plays run after run goes through the
    #: rounds once for each.
    total: int | None
    #: The most rounds of a block, how many runs it plays abreast, and how many numbers a round of one of them has.
    most: int = 1 << 20
    abreast: int = 1
    numbers: float = 1.0
    #: What a number of a round may cost before anything was measured: as much as the slowest of the engine's laws.
    guess: float = 2e-5

    #: Whether Python steps the rounds, one by one, on one thread.
    stepped = False

    @property
    def taken(self) -> int:
        """How many rounds the driver went through."""
        raise NotImplementedError

    def threads(self, asked: Asked) -> int:
        """How many threads there may be."""
        return 1 if self.stepped else asked.cores

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        """The next rounds, at most `limit`, in some `parts` jobs that may be done at once; None at the end."""
        raise NotImplementedError

    def outcome(self) -> Outcome:
        """What the game came to."""
        raise NotImplementedError


class TableRunner(Runner):
    """States, streams, counts and curves of all runs, in normalised losses.

    `own` and `best` are curves; `best` (and `mean`, <p, l> summed, for experts) has one row where the runs see
    the same losses, else one per run.
    """

    #: What a column of the losses is.
    column = "arm"
    #: Whether bytes of advice are looked at by the engine as they are played.
    reads_advice = False

    def __init__(self, learner: Any, program: Any, feed: Feed, asked: Asked) -> None:
        self.learner, self.program, self.feed = learner, program, feed
        self.runs, self.everything, self.fictitious = asked.runs, asked.everything, asked.fictitious
        self.setting, self.total = program.setting, feed.rounds
        self.most, self.abreast, self.numbers = self._most(), self.runs, float(max(feed.n, program.n))
        if not program.stepped and program.smoothing in _QUICK:
            self.guess = QUICKEST if program.smoothing == Entropy() and with_wide_vectors() else QUICK
        self.marks = Checkpoints(None if feed.blocks is not None else feed.rounds, asked.everything)
        self.moves: list[NDArray[np.int32]] = []
        self.counts = np.zeros((self.runs, feed.n), dtype=np.int64)
        self.curves = {"own": np.zeros((self.runs, self.marks.columns))}
        self.sums = np.zeros((self.kinds, program.n))
        self.coins = _NO_STREAMS
        if feed.drawn:
            if not program.low <= 0.0 < 1.0 <= program.high:
                raise ValueError(f"Bernoulli losses are 0 or 1; got a loss range [{program.low:g}, {program.high:g}]")
            self.coins = streams.words_of_runs(asked.seed, self.runs, 1)
        self._begin(asked)

    def _begin(self, asked: Asked) -> None:
        """States and streams."""
        from hannan import _engine

        self.cores = asked.cores
        self.blocks = split(self.runs, self.cores)
        self.words = streams.words_of_runs(asked.seed, self.runs)
        self.states = self._states(_engine, asked.seed)

    # What the driver asks

    @property
    def taken(self) -> int:
        return self.feed.taken

    def _most(self) -> int:
        """The most rounds of a block."""
        feed = self.feed
        if feed.per_run:
            return max(1, 8 * BLOCK_NUMBERS // (feed.n * self.runs))
        # One run looks at its losses once: they need not stay in cache.
        numbers = BLOCK_NUMBERS * (4 if self.runs == 1 else 1)
        return 1 << 20 if feed.steady else max(1, numbers // max(1, feed.n))

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        first = self.feed.taken
        block = self.feed.take(limit)
        if block is None:
            return None
        make_room(self.curves, self.marks.room(first, block.rounds), self.marks.columns)
        return self.jobs(block, *self.marks.within(first, block.rounds), parts)

    def outcome(self) -> Outcome:
        """Curves at the checkpoints played, and at the very end; normalised losses become the user's units."""
        program, played = self.program, self.feed.taken
        at = self.marks.upto(played)
        self.finish(at)
        totals = self.totals()
        curves = {name: curve[..., : len(at)] for name, curve in self.curves.items()}
        if len(at) == 0 or at[-1] != played:
            at = np.append(at, played)
            curves = {name: np.concatenate([c, totals[name][:, None]], axis=1) for name, c in curves.items()}
        units, width = program.units, program.units.width
        best, least = units.total(totals["best"], played), self.least_estimate()
        expected = (curves["mean"] - curves["best"]) * width if "mean" in curves else None
        if expected is not None and len(expected) == 1:
            expected = expected[0]
        regret = curves["own"] - curves["best"]
        if not units.plain:
            regret *= width  # in place: of many runs it is large
        return Outcome(
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

    def source(self) -> Any:
        """What the record asks for its bound."""
        return self.learner

    def finish(self, at: Positions) -> None:
        """Make the curves whole, at the checkpoints played."""

    def _states(self, engine: Any, seed: int) -> Any:
        """A state a run."""
        noise = streams.words_of_runs(seed, self.runs, 2) if self.program.own_noise else _NO_STREAMS
        return engine.Runs(self.program.setup(), self.words, noise)

    @property
    def kinds(self) -> int:
        """How many loss sequences there are."""
        return self.runs if self.feed.per_run else 1

    def jobs(self, block: Block, ends: Positions, columns: Positions, parts: int) -> list[Job]:
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
        units = Units.of(self.program.loss_range, self.program.gains)
        return np.asarray(units.normal(most if units.gains else least, rounds))

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


def with_wide_vectors() -> bool:
    """Whether the engine plays by AVX2, many times as fast where all weights are made anew."""
    from hannan import _engine

    return _engine.instruction_set() != "base"


def make_room(curves: dict[str, Array], kept: NDArray[np.intp] | None, columns: int) -> None:
    """Move the kept columns of every curve to the front, in `columns` columns."""
    for name, curve in curves.items():
        if kept is not None:
            curve[..., : len(kept)] = curve[..., kept]
        if columns > curve.shape[-1]:
            wider = np.zeros((*curve.shape[:-1], columns))
            wider[..., : curve.shape[-1]] = curve
            curves[name] = wider


def split(runs: int, parts: int, fine: bool = False) -> list[tuple[int, int]]:
    """Runs in parts, in eights (four go abreast, some of those in turns); `fine` where rounds of eight take too long.

    >>> split(20, 2), split(3, 4), split(3, 4, fine=True)
    ([(0, 8), (8, 20)], [(0, 3)], [(0, 1), (1, 2), (2, 3)])
    """
    unit = 1 if fine else 8
    units = -(-runs // unit)
    parts = max(1, min(parts, units))
    return list(pairwise([unit * (units * k // parts) for k in range(parts)] + [runs]))
