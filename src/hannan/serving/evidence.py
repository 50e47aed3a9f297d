"""Evidence about the arms of a learner of a store, counted in the engine in the order of the journal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

import numpy as np

from hannan import _engine
from hannan.players.fleet import Fleet

#: Largest number of arms of a learner whose evidence is counted: each draw updates the rows of all arms.
MAX_ARMS = 1024
#: Times of events that a table remembers; the newest ones are those of its verdict.
TIMES = 8
#: Meaning of a start after a change of arms.
RESTARTED = "each such change begins new statements with a new error probability"
#: Reasons why the evidence does not begin with the first decision of a learner.
STARTS = {
    "": "",
    "added": f"an arm was added at the start; {RESTARTED}",
    "deleted": "decisions before the start are not counted: their events were deleted before this version first opened "
    "the store",
    "version": "decisions before the start are not counted: another version wrote their events, and this version "
    "cannot replay them",
}


def of_shard(shard: int, shards: int) -> list[tuple[str, str]]:
    """Return what a panel about one of several shards assumes.

    >>> of_shard(0, 1)
    []
    """
    says = f"decisions of shard {shard} of {shards} only: the draws of several shards have no common order"
    return [("shard", says)] if shards > 1 else []


class Counted(NamedTuple):
    """Copy of a table at one moment, with the times of its events."""

    engine: Any
    times: dict[int, float]

    def since(self) -> str | None:
        """Return the time of the first decision, when it is on the disk."""
        return _time(self.times.get(self.engine.began))

    def sure_since(self) -> str | None:
        """Return the time from which on the best arm has been sure, when it is on the disk."""
        return _time(self.times.get(self.engine.sure_sequence))


class EvidenceTable:
    """Table of evidence of one stage of a learner, in which the fleets with and without keys count.

    Parameters
    ----------
    arms : list of int
        Arms of the learner that the table compares.
    start : {"", "added", "deleted", "version"}
        Reason why earlier decisions of the stage are not counted.
    """

    def __init__(self, arms: list[int], start: str = "") -> None:
        self.arms, self.start = arms, start
        self.engine: Any = _engine.Evidence(len(arms))
        #: Places in the table of arms that retired.
        self.retired: set[int] = set()
        #: Time of the group of each of the last events that a verdict refers to, by sequence.
        self.times: dict[int, float] = {}

    def attach(self, fleet: Fleet | None, fresh: bool) -> None:
        """Count the draws of a fleet from now on; with `fresh`, pending decisions are not counted."""
        if fleet is not None:
            fleet._count_in(self.engine, np.array(self.arms, dtype=np.int64), fresh)

    def leave_out(self, available: list[int]) -> None:
        """Leave the arms of the table that are not available out of the comparison of the best arm."""
        self.retired = {place for place, arm in enumerate(self.arms) if arm not in available}
        for place in self.retired:
            self.engine.retire(place)

    def stamp(self, time_of: Callable[[int], float]) -> None:
        """Record the time of the events at which the table began and became sure."""
        for sequence in (self.engine.began, self.engine.sure_sequence):
            if sequence and sequence not in self.times:
                self.times[sequence] = time_of(sequence)
        while len(self.times) > TIMES:
            self.times.pop(next(one for one in self.times if one != self.engine.began))

    def copy(self) -> Counted:
        """Return a copy of the table, whose newest events may still wait for the disk."""
        return Counted(_engine.Evidence.from_bytes(self.engine.to_bytes()), self.times)

    def state(self) -> tuple[dict[str, Any], bytes]:
        """Return the state for a snapshot as JSON and bytes."""
        current = [(at, self.times[at]) for at in (self.engine.began, self.engine.sure_sequence) if at in self.times]
        return {"arms": self.arms, "start": self.start, "times": current}, self.engine.to_bytes()

    @classmethod
    def restored(cls, state: dict[str, Any], blob: bytes) -> Self:
        """Return the table of a snapshot; raise ValueError if it is corrupt."""
        found = cls(state["arms"], state["start"])
        found.engine = _engine.Evidence.from_bytes(blob)
        found.times = {int(sequence): float(time) for sequence, time in state["times"]}
        if found.start not in STARTS or found.engine.arms != len(found.arms):
            raise ValueError(f"corrupt evidence: expected {len(found.arms)} arms; found {found.engine.arms}")
        return found


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
