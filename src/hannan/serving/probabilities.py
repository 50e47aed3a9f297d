"""Smallest probabilities of past draws, computed again by replaying the journal bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hannan.serving.contents import Contents
from hannan.serving.records import ACT, Damaged
from hannan.serving.shelf import Shelf, whole

#: Events per call of the engine, which holds the interpreter lock meanwhile.
PIECE = 4096
#: A draw: its stage, its ticket with the flag of keys above it, and the smallest probability of any arm.
DRAW = np.dtype([("learner", "<u4"), ("code", "<u8"), ("smallest", "<f8")])


class Rebuilt(Contents):
    """Contents that replay the stages of one learner alone and record the smallest probability at each draw."""

    def __init__(self) -> None:
        super().__init__()
        #: Numbers of the stages, and the arms whose probabilities count.
        self.numbers: list[int] = []
        self.known: set[str] = set()
        self.draws: list[Any] = []

    def noted(self, note: dict[str, Any]) -> None:
        """Apply a note, unless it is a key of another learner."""
        if "key" not in note or note["learner"] in self.numbers:
            super().noted(note)

    def _play(self, events: Any, time: float) -> None:
        events = events[np.isin(events["learner"], self.numbers)]
        whose = events["learner"].astype(np.int64) << 1 | events["keyed"]
        for code in np.unique(whose).tolist():
            own = events[whose == code]
            for first in range(0, len(own), PIECE):
                self._piece(code >> 1, code & 1, own[first : first + PIECE])

    def _piece(self, number: int, keyed: int, events: Any) -> None:
        if number >= len(self.residents):
            raise Damaged(f"the journal names learner {number}; there are {len(self.residents)}")
        resident = self.residents[number]
        wrong, smallest = resident.replay_smallest(events, keyed, self.known)
        played = (events["kind"] == ACT) & ~np.isnan(smallest)
        draws = np.empty(int(played.sum()), DRAW)
        draws["learner"], draws["code"], draws["smallest"] = number, code_of(events[played]), smallest[played]
        self.draws.append(draws)
        if wrong >= 0:
            raise Damaged(f"an event of {resident.name!r} comes out differently")


def smallest_of(shelf: Shelf, numbers: list[int], known: set[str], end: int) -> Any:
    """Return the draws of the stages `numbers` before sequence `end` whose state can be rebuilt, as an array of DRAW.

    The state is rebuilt from the beginning of the journal. If its first events were deleted, or if another version
    wrote them and they come out differently, it is rebuilt from the snapshots instead.
    """
    found: list[Any] = [np.empty(0, DRAW)]
    for sequence in (0, *reversed(whole(shelf))):
        try:
            contents = Rebuilt.restored(shelf.snapshot(sequence)) if sequence else Rebuilt()
        except ValueError:
            continue
        contents.numbers, contents.known, contents.draws = numbers, known, found
        try:
            contents.replay(_before(shelf, contents.sequence, end))
            break
        except (ValueError, LookupError):
            continue
    return np.concatenate(found)


def code_of(events: Any) -> Any:
    """Return the tickets of events, with the flag of keys in the highest bit."""
    return events["round"] | events["keyed"].astype(np.uint64) << np.uint64(63)


def _before(shelf: Shelf, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    for first, blob in shelf.groups(start):
        if first >= end:
            return
        yield first, blob
