"""Weights of learners over time, sampled while the service runs."""

from __future__ import annotations

from typing import Any

from hannan.serving.decisions import DecisionQueue
from hannan.serving.schemas import History

#: Number of samples kept per learner; when there are twice as many, every second one is deleted.
KEPT = 256


class Histories:
    """Samples of the weights of every learner since the start of this process."""

    def __init__(self, queue: DecisionQueue) -> None:
        self._queue = queue
        #: Samples by number of the stage, because stages have different arms.
        self._kept: dict[int, list[tuple[float, int, list[float]]]] = {}

    def sample(self) -> None:
        """Sample the weights of every learner that was played since its last sample."""
        for name in list(self._queue.contents.by_name):
            seen = self._kept.setdefault(self._queue.contents.by_name[name].number, [])
            now, rounds, weights = self._now(name)
            if not seen or seen[-1][1] != rounds:
                seen.append((now, rounds, weights))
            if len(seen) >= 2 * KEPT:
                del seen[1:-1:2]

    def _now(self, name: str) -> tuple[float, int, list[float]]:
        with self._queue.lock:
            stored = self._queue.contents.find(name)
            return self._queue.journal.clock.now(), stored.drawn, stored.weights()

    def of(self, name: str) -> History:
        """Return the samples of a learner, the last one taken now."""
        with self._queue.lock:
            stored = self._queue.contents.find(name)
            seen = [*self._kept.get(stored.number, []), self._now(name)]
        arms: list[Any] = stored.arms.labels
        times, rounds, weights = (list(column) for column in zip(*seen, strict=True))
        return History(arms, times, rounds, weights)
