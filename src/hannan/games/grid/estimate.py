"""How long a sweep has still to go, from what its cells took, and what is not known of it."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import Any

from hannan.games.grid.plan import Place

#: A line this often where there is no terminal to draw a bar in.
LINE_SECONDS = 30.0


class Estimate:
    """Seconds left = sum over cells to come of the learner's seconds a round so far, over the workers at work.

    The rate of a learner that has not finished a cell is not known: the mean of the others stands in, and it is said.
    """

    def __init__(self, places: dict[str, Place], runs: int, workers: int) -> None:
        self._left, self._runs, self._workers = dict(places), runs, max(1, workers)
        self._spent: dict[str, float] = defaultdict(float)
        self._rounds: dict[str, float] = defaultdict(float)
        self._began, self._busy, self._done = time.monotonic(), 0.0, 0

    def done(self, key: str, seconds: float | None) -> None:
        """A cell took so many seconds; None where it failed."""
        place = self._left.pop(key)
        self._done += 1
        if seconds is not None:
            self._spent[place.learner] += seconds
            self._rounds[place.learner] += place.rounds * self._runs
            self._busy += seconds

    def seconds(self) -> tuple[float | None, list[str]]:
        """(seconds left, or None while nothing is known; the learners of which no cell is done)."""
        unseen = sorted({place.learner for place in self._left.values()} - self._spent.keys())
        if not self._spent:
            return None, unseen
        mean = sum(self._spent.values()) / max(1.0, sum(self._rounds.values()))
        work = 0.0
        for place in self._left.values():
            known = self._rounds[place.learner] > 0.0
            rate = self._spent[place.learner] / self._rounds[place.learner] if known else mean
            work += rate * place.rounds * self._runs
        # What passes on the clock for a second of games, overhead and idle workers included.
        passed = time.monotonic() - self._began
        stretch = max(passed / max(self._busy, 1e-9), 1.0 / self._workers)
        return work * stretch, unseen

    def text(self) -> str:
        """`12 of 60 cells, about 3 min left (thompson not yet timed)`."""
        left, unseen = self.seconds()
        told = f"{self._done} of {self._done + len(self._left)} cells"
        if not self._left:
            return told
        told += ", time left not yet known" if left is None else f", about {spell(left)} left"
        return told + (f" ({', '.join(unseen[:3])}{' ...' if len(unseen) > 3 else ''} not yet timed)" if unseen else "")


def spell(seconds: float) -> str:
    """Seconds in words.

    >>> spell(42), spell(200), spell(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Bar:
    """The estimate on standard error: a bar in a terminal, else a line now and then."""

    def __init__(self, estimate: Estimate, total: int, show: bool) -> None:
        self._estimate, self._task = estimate, 0
        self._bar: Any = None
        self._show, self._said = show and sys.stderr is not None, time.monotonic()
        if self._show and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task("", total=total)

    def update(self, done: int) -> None:
        """So many cells of this run are done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=self._estimate.text())
        elif self._show and time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            print(f"hannan sweep: {self._estimate.text()}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
