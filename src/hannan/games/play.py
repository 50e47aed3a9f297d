"""Whole games: `play(learner, losses, runs)` -> `Record`, compiled, in blocks of rounds, on any number of threads."""

from __future__ import annotations

import inspect
import os
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan import refusals
from hannan.games import adaptive, feeds
from hannan.games.bandits import BanditRunner, ExpertBanditRunner
from hannan.games.checkpoints import Checkpoints
from hannan.games.experts import ExpertsRunner, NoisyRunner
from hannan.games.progress import Progress
from hannan.games.record import Record
from hannan.games.runners import Job, Runner

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: A block of rounds is at most so many numbers, so that it stays in cache between runs, and takes about so
#: long, so that Ctrl-C is prompt.
BLOCK_NUMBERS = 1 << 19
BLOCK_SECONDS = 0.03
#: A block of fewer numbers, all runs together, is not worth a thread.
THREAD_NUMBERS = 1 << 16


def play(
    learner: Any,
    losses: Any,
    runs: int = 1,
    seed: int = 0,
    advice: Any = None,
    threads: int | None = None,
    keep: str = "checkpoints",
    *,
    rounds: int | None = None,
    fictitious: bool = False,
) -> Record:
    """Play a learner against losses, `runs` times, and keep the record.

    `losses`: (T, n), one sequence a run (runs, T, n), a memory map, `hn.adversaries.Bernoulli(means, T)` (drawn
    inside), an iterator of blocks (t, n), or an adversary that looks at past moves (`hn.adversaries.adaptive`), which
    needs `rounds` and is stepped; for `ExpertBandit`, n is the number of actions, and `advice` is
    (T, experts) of whole numbers (uint8 is fastest) or (T, experts, actions) of distributions. Run r has the
    stream (seed, r), so the record does not depend on `threads`; run 0 makes the moves of
    `learner.start(seed)`. `keep="all"` keeps every round and the actions. `rounds` plays no more than so many.
    `fictitious=True` (full information) plays at t what the learner plays at t + 1, the A+ of the key lemma.

    >>> import numpy as np, hannan as hn
    >>> losses = np.tile([0.25, 0.75], (1000, 1))
    >>> record = play(hn.Experts(2, hn.Entropy(), hn.Horizon(1000)), losses, runs=4, seed=1)
    >>> record.best_loss, record.regret.shape[0], bool(record.expected_regret[-1] < record.bound.value)
    (250.0, 4, True)
    """
    began = time.perf_counter()
    runs = refusals.count(runs, "runs")
    seed = refusals.count(seed, "seed", least=0)
    rounds = None if rounds is None else refusals.count(rounds, "rounds")
    threads = _threads(threads)
    if keep not in ("checkpoints", "all"):
        raise ValueError(f'keep must be "checkpoints" or "all"; got {keep!r}')
    if isinstance(learner, type):
        raise ValueError(f"learner must be a learner, built, not its class; got {learner.__name__}")
    if adaptive.is_adversary(losses):
        return _against_an_adversary(learner, losses, runs, seed, rounds, advice, keep, fictitious)
    if hasattr(learner, "play"):
        # A learner whose losses are no table (functions on a convex set) plays its own games.
        return _own_game(learner, losses, rounds, advice, fictitious, runs=runs, seed=seed, threads=threads, keep=keep)
    if not hasattr(learner, "start"):
        raise ValueError(f"learner must be a learner, with a method start; got {learner!r}")
    program = learner.program() if hasattr(learner, "program") else _stranger(learner, losses)
    if fictitious and (program.setting != "experts" or program.stepped):
        raise ValueError(f"the fictitious player needs a compiled learner that sees every loss; got {learner!r}")
    advised = program.setting == "expert_bandit"
    columns = program.actions if advised else program.n
    feed = feeds.feed(losses, columns, runs, rounds, advice, program.n if advised else 0)
    marks = Checkpoints(feed.rounds if feed.blocks is None else rounds, keep == "all")
    if feed.blocks is not None:
        marks = Checkpoints(None, keep == "all")
    if keep == "all" and feed.rounds is not None and feed.blocks is None:
        marks.columns = feed.rounds
    runner = _runner(learner, program, feed, runs, seed, threads, marks, keep == "all", fictitious)
    _run(runner, marks, threads)
    if feed.taken == 0:
        raise ValueError("losses must have at least one round; got none")
    note = [part for part in ("fictitious player A+" if fictitious else "", ended(feed.taken, rounds)) if part]
    return _record(learner, runner, marks, seed, threads, began, "; ".join(note))


def _against_an_adversary(
    learner: Any, adversary: Any, runs: int, seed: int, rounds: int | None, advice: Any, keep: str, fictitious: bool
) -> Record:
    """A game of losses that answer past moves, stepped; what cannot be honoured is refused."""
    name = type(learner).__name__
    if fictitious:
        raise ValueError(
            f"the fictitious player sees the losses before it moves, which {name} cannot; got an adversary"
        )
    if hasattr(learner, "play") and not hasattr(learner, "table"):
        raise ValueError(f"{name} plays its own games, and cannot be stepped against an adversary; got {learner!r}")
    if not (hasattr(learner, "table") or hasattr(learner, "start")):
        raise ValueError(f"learner must be a learner, with a method start; got {learner!r}")
    if not (hasattr(learner, "table") or hasattr(learner, "program") or hasattr(learner, "n")):
        raise ValueError(f"{name} must have n, the number of its choices, to meet an adversary; got {learner!r}")
    table: adaptive.Table
    program = None
    if not hasattr(learner, "table"):
        program = learner.program() if hasattr(learner, "program") else _stranger(learner, None)
    if program is not None and program.setting == "expert_bandit":
        table = adaptive.AdvisedTable(learner, program, advice, rounds)
    elif advice is not None:
        raise ValueError(f"advice must be None for {name}, which takes none; got advice")
    else:
        table = learner.table() if program is None else adaptive.VectorTable(learner, program)
    return adaptive.play_adaptive(table, adversary, runs, seed, rounds, keep)


def _own_game(learner: Any, losses: Any, rounds: int | None, advice: Any, fictitious: bool, **given: Any) -> Record:
    """The game of a learner with a `play` of its own; what it cannot take is refused, never dropped."""
    name = type(learner).__name__
    if advice is not None:
        raise ValueError(f"advice must be None for {name}, which takes none; got advice")
    if fictitious:
        raise ValueError(f"the fictitious player needs a compiled learner that sees every loss; got {learner!r}")
    if rounds is not None:
        taken = inspect.signature(learner.play).parameters.values()
        if not any(p.name == "rounds" or p.kind is p.VAR_KEYWORD for p in taken):
            raise ValueError(f"rounds must be None for {name}, whose play takes no rounds; got {rounds}")
        given["rounds"] = rounds
    record: Record = learner.play(losses, **given)
    return record


def ended(played: int, rounds: int | None) -> str:
    """The note of a game whose losses ended before the rounds that were asked for; else nothing.

    >>> ended(10, 10), ended(10, 12)
    ('', '12 rounds were asked for and the losses ended after 10')
    """
    if rounds is None or played >= rounds:
        return ""
    return f"{rounds} rounds were asked for and the losses ended after {played}"


def _threads(threads: int | None) -> int:
    if threads is not None:
        return refusals.count(threads, "threads")
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _stranger(learner: Any, losses: Any) -> Any:
    """The program of a learner that is not of this package: what it says of itself, else what the losses say."""
    n = getattr(learner, "n", None)
    if n is None:
        shape = np.shape(losses.means if hasattr(losses, "means") else losses)
        n = shape[-1] if shape else 0
    low, high = refusals.loss_range(getattr(learner, "loss_range", (0.0, 1.0)))
    return SimpleNamespace(
        setting=getattr(learner, "setting", "stranger"), n=n, actions=getattr(learner, "actions", n), stepped=True,
        low=low, high=high, gains=bool(getattr(learner, "gains", False)), own_noise=False,
    )  # fmt: skip


def _runner(
    learner: Any, program: Any, feed: Any, runs: int, seed: int, threads: int, marks: Checkpoints, everything: bool,
    fictitious: bool,
) -> Runner:  # fmt: skip
    if program.stepped:
        from hannan.games.stepped import SteppedRunner

        return SteppedRunner(learner, program, feed, runs, seed, marks, everything)
    given = (program, feed, runs, seed, threads, marks, everything)
    if getattr(learner, "own_noise", False):
        return NoisyRunner(*given)
    if program.setting == "experts":
        return ExpertsRunner(*given, fictitious=fictitious)
    return (ExpertBanditRunner if program.setting == "expert_bandit" else BanditRunner)(*given)


def _run(runner: Runner, marks: Checkpoints, threads: int) -> None:
    """Block after block, until the losses end; Ctrl-C ends after the block at hand and leaves no thread."""
    feed = runner.feed
    kinds = runner.runs if feed.per_run else 1
    most = max(1, BLOCK_NUMBERS // max(1, feed.n))
    if feed.steady:
        most = 1 << 20
    if feed.per_run:
        most = max(1, 8 * BLOCK_NUMBERS // (feed.n * kinds))
    if feed.steady and type(runner) is BanditRunner:
        most = BLOCK_NUMBERS  # only the means are held, whatever the rounds
    size = min(most, max(16, 50_000 // runner.runs))
    with ExitStack() as stack:
        progress = Progress(feed.rounds)
        stack.callback(progress.close)
        pool: ThreadPoolExecutor | None = None
        while True:
            began = time.perf_counter()
            first = feed.taken
            block = feed.take(size)
            if block is None:
                return
            runner.make_room(marks.room(first, block.rounds), marks.columns)
            jobs = runner.jobs(block, *marks.within(first, block.rounds))
            numbers = max(block.losses.size, block.advice.size, block.rounds * feed.n) * runner.runs
            if len(jobs) == 1 or threads == 1 or numbers < THREAD_NUMBERS:
                for job in jobs:
                    job()
            else:
                if pool is None:
                    from concurrent.futures import ThreadPoolExecutor  # not for a short game

                    pool = ThreadPoolExecutor(max_workers=threads - 1)
                    # On any way out, Ctrl-C included: what waits is dropped, what runs is a block at most.
                    stack.callback(pool.shutdown, wait=True, cancel_futures=True)
                _together(pool, jobs)
            progress.update(feed.taken)
            spent = time.perf_counter() - began
            size = max(1, min(most, int(size * max(0.25, min(4.0, BLOCK_SECONDS / max(spent, 1e-9))))))


def _together(pool: ThreadPoolExecutor, jobs: list[Job]) -> None:
    """The last job on this thread, the others on the pool's; of their errors the first one's is raised."""
    futures = [pool.submit(job) for job in jobs[:-1]]
    error = None
    try:
        jobs[-1]()
    except Exception as raised:
        error = raised
    for future in futures:
        future.result()
    if error is not None:
        raise error


def _record(
    learner: Any, runner: Runner, marks: Checkpoints, seed: int, threads: int, began: float, note: str
) -> Record:
    """Curves at the checkpoints played, and at the very end; normalised losses become the user's units."""
    program, played = runner.program, runner.feed.taken
    at = marks.upto(played)
    if isinstance(runner, BanditRunner):
        runner.finish(at)
    totals = runner.totals()
    curves = {name: curve[..., : len(at)] for name, curve in runner.curves.items()}
    if len(at) == 0 or at[-1] != played:
        at = np.append(at, played)
        curves = {name: np.concatenate([c, totals[name][:, None]], axis=1) for name, c in curves.items()}
    width, best = program.high - program.low, totals["best"]
    zero = program.high if program.gains else program.low
    if getattr(program, "as_they_are", False):
        zero, width = 0.0, 1.0
    units = zero * played - best * width if program.gains else zero * played + best * width
    least = runner.least_estimate()
    own = curves["own"] * width
    expected = (curves["mean"] - curves["best"]) * width if "mean" in curves else None
    if expected is not None and len(expected) == 1:
        expected = expected[0]
    return Record(
        learner=repr(learner),
        setting=program.setting,
        rounds=played,
        runs=runner.runs,
        seed=seed,
        checkpoints=at,
        regret=(curves["own"] - curves["best"]) * width,
        best_loss=float(units[0]) if len(units) == 1 else units,
        counts=runner.counts,
        seconds=time.perf_counter() - began,
        threads=threads,
        actions=np.concatenate(runner.moves, axis=1) if runner.moves else None,
        expected_regret=expected,
        estimated_regret=None if least is None else (totals["own"] - least) * width,
        loss=zero * at - own if program.gains else zero * at + own,
        note=note,
        iid=runner.feed.drawn and runner.feed.steady,
        source=learner,
    )
