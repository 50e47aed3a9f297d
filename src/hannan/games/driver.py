"""The one loop of every game: a runner advances by blocks of rounds, in jobs that are short, on any number of threads.

Ctrl-C is heard between jobs, and a job takes some 20 ms: a game stops within 50 ms, but for a round that alone takes
longer. On the way out, whatever it is, no thread is left and the terminal is as it was.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Iterator
from queue import SimpleQueue

from hannan.games.progress import Progress
from hannan.games.runners import Job, Runner

#: What a job should take, and a block on each thread.
JOB_SECONDS = 0.02
#: Before anything was measured, a round is taken for no quicker than this, in seconds.
QUICK_ROUND = 1e-7
#: A block is at most so many times longer than what the one before it promised.
FASTER = 64.0
#: A block of fewer numbers, all runs together, is not worth a thread.
THREAD_NUMBERS = 1 << 16


class Pace:
    """How many rounds come next, and in how many jobs: from what a round of a run has cost so far."""

    def __init__(self, runner: Runner, threads: int) -> None:
        self._runner, self._threads = runner, threads
        self._cost = max(runner.guess * runner.numbers, QUICK_ROUND)
        self._began = 0.0

    def next(self) -> tuple[int, int]:
        """(rounds, jobs) of the next block."""
        runner, self._began = self._runner, time.perf_counter()
        whole = self._cost * runner.abreast
        rounds = max(1, min(runner.most, int(self._threads * JOB_SECONDS / whole)))
        return rounds, max(self._threads, int(rounds * whole / JOB_SECONDS))

    def learn(self, rounds: int, threads: int) -> None:
        """So many rounds were played, on so many threads."""
        spent = (time.perf_counter() - self._began) * threads
        self._cost = max(spent / (max(1, rounds) * self._runner.abreast), self._cost / FASTER, 1e-10)


def run(runner: Runner, threads: int) -> None:
    """Block after block, until the runner has no more."""
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
    """The jobs on this thread and on others, all of which have ended then; the first job's error of all is raised."""
    left = enumerate(jobs)  # one iterator for all: each takes the next job
    failed: list[tuple[int, Exception]] = []
    running: list[None] = []
    ended: SimpleQueue[None] = SimpleQueue()
    stopped: KeyboardInterrupt | None = None
    try:
        # Not `threading.Thread`, whose start waits until the other runs, and that may take long.
        for _ in range(threads - 1):
            # Counted before it runs, and not by a call: right after a call Ctrl-C may come.
            running += (None,)
            try:
                _thread.start_new_thread(_beside, (left, failed, running, ended))
            except RuntimeError:  # no more threads are to be had: the jobs are done all the same
                running.pop()
        _work(left, failed)
    finally:
        for _ in left:  # after Ctrl-C: what nobody has begun is dropped
            pass
        while running:  # they write into what is ours: Ctrl-C is heard, and passed on when they have ended
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
