"""The one loop of every game: a runner advances by blocks of rounds, in jobs that are short, on any number of threads.

Ctrl-C is heard between jobs, and a job takes some 20 ms: a game stops within 50 ms, but for a round that alone takes
longer. On the way out, whatever it is, no thread is left and the terminal is as it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hannan.games.progress import Progress
from hannan.games.runners import Job, Runner

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: What a job should take, and a block on each thread.
JOB_SECONDS = 0.02
#: A block is at most so many times longer than what the one before it promised.
FASTER = 64.0
#: A block of fewer numbers, all runs together, is not worth a thread.
THREAD_NUMBERS = 1 << 16


class Pace:
    """How many rounds come next, and in how many jobs: from what a round of a run has cost so far."""

    def __init__(self, runner: Runner, threads: int) -> None:
        self._runner, self._threads = runner, threads
        self._cost = runner.guess * runner.numbers
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
    pool: ThreadPoolExecutor | None = None
    try:
        while True:
            before = runner.taken
            rounds, parts = pace.next()
            jobs = runner.advance(rounds, parts)
            if jobs is None:
                return
            played = runner.taken - before
            alone = len(jobs) == 1 or threads == 1 or played * runner.abreast * runner.numbers < THREAD_NUMBERS
            if alone:
                for job in jobs:
                    job()
            else:
                if pool is None:
                    from concurrent.futures import ThreadPoolExecutor  # not for a short game

                    pool = ThreadPoolExecutor(max_workers=threads - 1)
                _together(pool, jobs, threads)
            progress.update(runner.taken)
            pace.learn(played, 1 if alone else min(threads, len(jobs)))
    finally:
        try:
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)
        finally:
            progress.close()


def _together(pool: ThreadPoolExecutor, jobs: list[Job], threads: int) -> None:
    """The jobs on this thread and on the pool's; of their errors the first job's is raised."""
    left = enumerate(jobs)  # one iterator for all: each takes the next job
    failed: list[tuple[int, Exception]] = []
    others = [pool.submit(_work, left, failed) for _ in range(min(threads, len(jobs)) - 1)]
    try:
        _work(left, failed)
    except BaseException:
        for _ in left:  # Ctrl-C: what nobody has begun is dropped
            pass
        raise
    finally:
        for other in others:
            other.result()
    if failed:
        raise min(failed, key=lambda pair: pair[0])[1]


def _work(left: Iterator[tuple[int, Job]], failed: list[tuple[int, Exception]]) -> None:
    for number, job in left:
        if failed:
            return
        try:
            job()
        except Exception as error:
            failed.append((number, error))
