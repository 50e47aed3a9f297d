"""The one loop of every game: a runner advances by blocks of rounds, in jobs that are short, on any number of threads.

Ctrl-C is heard between jobs, and a job takes some 20 ms: a game stops within 50 ms, but for a round that alone takes
longer. On the way out, whatever it is, no thread is left and the terminal is as it was.
"""

from __future__ import annotations

import _thread
import json
import sys
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

from hannan.games.runners import Job, Runner

DELAY = 1.0


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
        shown = sys.stderr  # a service may have closed it, or have none
        self._wanted = show and shown is not None and not getattr(shown, "closed", False) and shown.isatty()

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
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


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


def derived(seed: int, *words: str | int) -> int:
    """63 bits of a hash of the seed and the words: the same words give the same seed, on any machine.

    >>> derived(0, "learner", "exp3") == derived(0, "learner", "exp3") != derived(0, "learner", "hedge")
    True
    """
    text = json.dumps([seed, *words], ensure_ascii=False)
    import hashlib  # a game without a name needs none

    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
