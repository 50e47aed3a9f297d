"""Driver: the loop of every game. A runner advances by blocks of rounds, in short jobs, on any number of threads.

Ctrl-C is handled between jobs, which take about 20 ms, so a game stops within 50 ms unless one round takes longer. On
any exit, all threads have ended and the terminal is restored.
"""

from __future__ import annotations

import _thread
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

from hannan.games.runners import Job, Runner

DELAY = 1.0


#: False inside of `no_progress`.
_SHOWN: ContextVar[bool] = ContextVar("shown", default=True)


@contextmanager
def no_progress() -> Iterator[None]:
    """Show no bars inside a with block, for programs that show their own progress."""
    token = _SHOWN.set(False)
    try:
        yield
    finally:
        _SHOWN.reset(token)


class Progress:
    """Bar of the work done so far, on a terminal, if the work takes longer than DELAY.

    `rounds` is the total amount of work, None if unknown; `task` is the word before the bar. With `show=False` there is
    no bar.
    """

    def __init__(self, rounds: int | None, task: str = "playing", show: bool = True) -> None:
        self._rounds, self._name = rounds, task
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        shown = sys.stderr  # None or closed in some services
        self._wanted = (
            show and _SHOWN.get() and shown is not None and not getattr(shown, "closed", False) and shown.isatty()
        )

    def update(self, played: int) -> None:
        """Show the amount of work done so far."""
        if not self._wanted:
            return
        if self._bar is None:
            if time.monotonic() - self._began < DELAY:
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=self._rounds)
        self._bar.update(self._task, completed=played)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar and restore the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


#: Target duration of a job.
JOB_SECONDS = 0.02
#: Smallest estimate of the seconds per round before the first measurement.
QUICK_ROUND = 1e-7
#: Largest factor by which the measured speed may exceed the estimate of the previous block.
FASTER = 64.0
#: Smallest number of losses in a block, over all runs, that is split over threads.
THREAD_NUMBERS = 1 << 16


class Pace:
    """Size of the next block and number of its jobs, computed from the measured cost of a round."""

    def __init__(self, runner: Runner, threads: int) -> None:
        self._runner, self._threads = runner, threads
        self._cost = max(runner.guess * runner.numbers, QUICK_ROUND)
        self._began = 0.0

    def next(self) -> tuple[int, int]:
        """Return (rounds, jobs) of the next block."""
        runner, self._began = self._runner, time.perf_counter()
        whole = self._cost * runner.abreast
        rounds = max(1, min(runner.most, int(self._threads * JOB_SECONDS / whole)))
        return rounds, max(self._threads, int(rounds * whole / JOB_SECONDS))

    def learn(self, rounds: int, threads: int) -> None:
        """Update the cost of a round after a block."""
        spent = (time.perf_counter() - self._began) * threads
        self._cost = max(spent / (max(1, rounds) * self._runner.abreast), self._cost / FASTER, 1e-10)


def run(runner: Runner, threads: int) -> None:
    """Play a game to its end."""
    pace, progress = Pace(runner, threads), Progress(runner.total)
    try:
        while True:
            before = runner.taken
            rounds, parts = pace.next()
            jobs = runner.advance(rounds, parts)
            if jobs is None:
                return
            played = runner.taken - before
            together = 1 if played * runner.abreast * runner.numbers < THREAD_NUMBERS else min(threads, len(jobs))
            _do(jobs, together)
            progress.update(runner.taken)
            pace.learn(played, together)
    finally:
        progress.close()


def _do(jobs: list[Job], threads: int) -> None:
    """Run jobs on this thread and others, wait for all of them, and raise the error of the first failed job."""
    left = enumerate(jobs)  # shared by all threads: each takes the next job
    failed: list[tuple[int, Exception]] = []
    running: list[None] = []
    ended: SimpleQueue[None] = SimpleQueue()
    stopped: KeyboardInterrupt | None = None
    try:
        # threading.Thread.start would wait until the new thread runs, which may take long.
        for _ in range(threads - 1):
            # Counted before it starts and without a call, because Ctrl-C may be raised after a call.
            running += (None,)
            try:
                _thread.start_new_thread(_beside, (left, failed, running, ended))
            except RuntimeError:  # no more threads are available: the jobs run on the other threads
                running.pop()
        _work(left, failed)
    finally:
        for _ in left:  # after Ctrl-C: drop the jobs that have not begun
            pass
        while running:  # running jobs write into shared arrays: re-raise Ctrl-C after they have ended
            try:
                ended.get()
            except KeyboardInterrupt as heard:
                stopped = heard
    if stopped is not None:
        raise stopped
    if failed:
        raise min(failed, key=lambda pair: pair[0])[1]


def _beside(
    left: Iterator[tuple[int, Job]], failed: list[tuple[int, Exception]], running: list[None], ended: SimpleQueue[None]
) -> None:
    try:
        _work(left, failed)
    finally:
        running.pop()
        ended.put(None)


def _work(left: Iterator[tuple[int, Job]], failed: list[tuple[int, Exception]]) -> None:
    for number, job in left:
        if failed:
            return
        try:
            job()
        except Exception as error:
            failed.append((number, error))


def derived(seed: int, *words: str | int) -> int:
    """Return a seed of 63 bits from a hash of a seed and words, the same on every machine.

    >>> derived(0, "learner", "exp3") == derived(0, "learner", "exp3") != derived(0, "learner", "hedge")
    True
    """
    text = json.dumps([seed, *words], ensure_ascii=False)
    import hashlib  # most games do not need it

    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
