"""Numbers of decisions and feedback since a store was opened, per learner and arm.

The counts are taken where decisions are drawn, so that those of the service and those of `Store.act` are both included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Tally:
    """Counts of one arm of one learner: draws, settled decisions, and the sum of their rewards or losses."""

    __slots__ = ("draws", "settled", "sum")

    def __init__(self) -> None:
        self.draws = self.settled = 0
        self.sum = 0.0


class Counts:
    """Counts of a store. An arm is identified by its learner and its name, never by a key.

    Examples
    --------
    >>> counts = Counts()
    >>> counts.draw("banner", "red"); counts.draw_many("banner", ("red", "blue").__getitem__, np.array([1, 0, 1]))
    >>> counts.settle("banner", "red", 0.5); counts.feedback([True, False])
    >>> counts.decisions, counts.counted, counts.repeats
    (4, 1, 1)
    >>> [(*place, tally.draws, tally.sum) for place, tally in counts.arms.items()]
    [('banner', 'red', 2, 0.5), ('banner', 'blue', 2, 0.0)]
    """

    def __init__(self) -> None:
        self.decisions = self.counted = self.repeats = 0
        self.arms: dict[tuple[str, Any], Tally] = {}

    def tally(self, learner: str, arm: Any) -> Tally:
        """Return the counts of an arm."""
        found = self.arms.get((learner, arm))
        if found is None:
            found = self.arms[learner, arm] = Tally()
        return found

    def draw(self, learner: str, arm: Any) -> None:
        """Count one decision."""
        self.decisions += 1
        self.tally(learner, arm).draws += 1

    def draw_many(self, learner: str, label: Callable[[int], Any], arms: NDArray[Any]) -> None:
        """Count decisions, given the indices of their arms."""
        self.decisions += len(arms)
        for arm, count in enumerate(np.bincount(arms).tolist()):
            if count:
                self.tally(learner, label(arm)).draws += count

    def feedback(self, counted: list[bool]) -> None:
        """Count feedback: new (True) or repeated (False)."""
        new = sum(counted)
        self.counted += new
        self.repeats += len(counted) - new

    def settle(self, learner: str, arm: Any, value: float) -> None:
        """Count the reward or loss of one decision."""
        tally = self.tally(learner, arm)
        tally.settled += 1
        tally.sum += value

    def settle_many(self, learner: str, label: Callable[[int], Any], arms: NDArray[Any], values: NDArray[Any]) -> None:
        """Count rewards or losses, given the indices of their arms."""
        sums = np.bincount(arms, values).tolist()
        for arm, count in enumerate(np.bincount(arms).tolist()):
            if count:
                tally = self.tally(learner, label(arm))
                tally.settled += count
                tally.sum += sums[arm]
