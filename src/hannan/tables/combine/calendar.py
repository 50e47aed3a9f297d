"""When rows were issued and when their targets are known: rows in that order, and no target before its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hannan.tables.read.table import BadTable, clipped
from hannan.tables.read.times import Instants

#: Targets that are kept to be compared, about.
KEPT = 10_000


class Calendar:
    """Two columns of times: issue times must not go back, and within one of them target times ascend.

    >>> calendar = Calendar("made", "day", "the text")
    >>> calendar.rows(["1", "1", "2"], ["2", "3", "3"], [7.0, 8.0, 8.0], 1)
    [(1, 2), (1, 3), (2, 3)]
    """

    def __init__(self, issued: str, target_time: str, source: str) -> None:
        self._names, self._source = (issued, target_time), source
        self._issued, self._targets = Instants(issued, source), Instants(target_time, source)
        self._latest: tuple[Any, Any] | None = None
        #: Time -> (target, row) of those that later rows may ask for again.
        self._told: dict[Any, tuple[float, int]] = {}

    def rows(self, issued: Sequence[str], times: Sequence[str], targets: Any, first: int) -> list[tuple[Any, Any]]:
        """(when a row was issued, when its target is known), row by row."""
        told = []
        for t in range(len(issued)):
            pair = self._issued.read(issued[t], first + t), self._targets.read(times[t], first + t)
            self._check(pair, issued[t], times[t], first + t)
            if targets[t] == targets[t]:
                self._once(pair, float(targets[t]), first + t)
            told.append(pair)
        return told

    def _once(self, pair: tuple[Any, Any], target: float, row: int) -> None:
        """A time has one target, however many rows ask for it; of those that are past no row can ask again."""
        if len(self._told) > 2 * KEPT:
            self._told = {when: told for when, told in self._told.items() if when > pair[0]}
        before = self._told.setdefault(pair[1], (target, row))
        if before[0] != target:
            raise self._refuse(
                row, f"a target must be the same in all rows of its time ({self._names[1]!r}); got {target:g}, and "
                f"{before[0]:g} in row {before[1]}",
            )  # fmt: skip

    def _check(self, pair: tuple[Any, Any], issued: str, time: str, row: int) -> None:
        if self._issued.kind != self._targets.kind:
            raise self._refuse(
                row, f"times must be of one kind in {self._names[0]!r} and {self._names[1]!r}; got "
                f"{clipped(issued)} and {clipped(time)}",
            )  # fmt: skip
        if pair[1] <= pair[0]:
            raise self._refuse(
                row, f"the time of a target ({self._names[1]!r}) must be after its row was issued ({self._names[0]!r}"
                f"); got {clipped(time)} and {clipped(issued)}",
            )  # fmt: skip
        if self._latest is not None and pair <= self._latest:
            again = pair == self._latest
            rule = (
                "a target must be asked for once at an issue time"
                if again
                else "rows must be in the order of issue times"
            )
            raise self._refuse(
                row, f"{rule}, and then of target times; got {clipped(issued)} for {clipped(time)} after "
                f"{self._latest[0]} for {self._latest[1]}",
            )  # fmt: skip
        self._latest = pair

    def _refuse(self, row: int, reason: str) -> BadTable:
        return BadTable(f"{self._source}, row {row}: {reason}")
