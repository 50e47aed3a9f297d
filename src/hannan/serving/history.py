"""Weights over time: sampled now and then, thinned when there are many."""

from __future__ import annotations

from typing import Any

from hannan.serving.bodies import History
from hannan.serving.desk import Desk

#: Samples of a learner that are kept; at twice as many every second one goes.
KEPT = 256


class Histories:
    """The weights of every learner since this process began."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        #: By the number of the current stage: another stage may have other arms.
        self._kept: dict[int, list[tuple[float, int, list[float]]]] = {}

    def sample(self) -> None:
        """Look at every learner; one that was not played since is left."""
        for name in list(self._desk.contents.by_name):
            seen = self._kept.setdefault(self._desk.contents.by_name[name].number, [])
            now, rounds, weights = self._now(name)
            if not seen or seen[-1][1] != rounds:
                seen.append((now, rounds, weights))
            if len(seen) >= 2 * KEPT:
                del seen[1:-1:2]

    def _now(self, name: str) -> tuple[float, int, list[float]]:
        with self._desk.lock:
            resident = self._desk.contents.find(name)
            return self._desk.journal.clock.now(), resident.drawn, resident.weights()

    def of(self, name: str) -> History:
        """The samples of a learner, and now."""
        with self._desk.lock:
            resident = self._desk.contents.find(name)
            seen = [*self._kept.get(resident.number, []), self._now(name)]
        arms: list[Any] = resident.arms.labels
        times, rounds, weights = (list(column) for column in zip(*seen, strict=True))
        return History(arms, times, rounds, weights)
