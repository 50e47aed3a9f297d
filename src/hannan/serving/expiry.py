"""Decisions whose feedback never comes: after a wait they are settled with a default.

A round is *due* when the time of its draw plus the wait has passed. Times are not kept round by round: a *mark*
(time, round) says that all rounds up to this one were drawn by then, and marks are a hundredth of the wait apart, so a
round is settled at most that much late, and never early.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from hannan import refusals


class Expiry:
    """After `wait` seconds without feedback a decision counts as `default`.

    >>> e = Expiry(10.0, 0.0)
    >>> e.drawn(1, 100.0); e.drawn(2, 100.05); e.drawn(3, 105.0)
    >>> list(e.due(109.0, 9)), list(e.due(110.05, 9)), round(e.pause(110.05), 6)
    ([], [1, 2], 4.95)
    """

    def __init__(self, wait: float, default: float) -> None:
        self.wait, self.default = wait, default
        #: How many were settled so, and up to which round all was looked at.
        self.count = self.done = 0
        self._marks: deque[list[float]] = deque()

    def drawn(self, number: int, now: float) -> None:
        """A round was drawn."""
        if self._marks and now - self._marks[-1][0] < self.wait / 100.0:
            self._marks[-1][1:] = now, number
        else:
            self._marks.append([now, now, number])

    def due(self, now: float, most: int) -> range:
        """At most so many rounds that are due and were not given before; those with feedback are among them."""
        first = last = self.done
        while self._marks and self._marks[0][1] + self.wait <= now and last - first < most:
            last = min(int(self._marks[0][2]), first + most)
            if last == self._marks[0][2]:
                self._marks.popleft()
        self.done = last
        return range(first + 1, last + 1)

    def pause(self, now: float) -> float:
        """Seconds until the next round is due."""
        return max(self._marks[0][1] + self.wait - now, 0.0) if self._marks else math.inf

    def state(self) -> dict[str, Any]:
        """For a snapshot."""
        return {"count": self.count, "done": self.done, "marks": [list(mark) for mark in self._marks]}

    def restore(self, state: dict[str, Any]) -> None:
        """From a snapshot."""
        self.count, self.done = state["count"], state["done"]
        self._marks = deque(list(mark) for mark in state["marks"])

    def says(self, settled: int, gains: bool) -> str:
        """What it means for a bound."""
        word = "rewards" if gains else "losses"
        return (
            f"{self.count} of {settled} rounds had no feedback within {self.wait:g} s and count as {self.default:g}: "
            f"bound and regret are of {word} counted so, for every arm; of feedback that comes later they say nothing"
        )


def checked(wait: Any, default: Any, low: float, high: float) -> Expiry | None:
    """Both or neither."""
    if wait is None and default is None:
        return None
    if wait is None or default is None:
        raise ValueError(f"expiry needs a wait and a default; got {wait!r} and {default!r}")
    if isinstance(default, bool):
        default = float(default)
    return Expiry(
        refusals.between(wait, 0.0, 1e10, "the wait", "(]"), refusals.between(default, low, high, "the default")
    )
