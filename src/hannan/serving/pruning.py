"""Old events let go: a journal is needed from its newest snapshot on; what is older is kept for the log alone.

Events go from the oldest on, whole groups, and no further than the first that is young, that no snapshot has in it, or
that drew a decision which is still open. So the log loses its first decisions, and none from the midst.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import _engine
from hannan.serving import log, records, shelf
from hannan.serving.desk import Desk
from hannan.serving.records import ACT

#: Groups that go at once: others wait for so long.
PIECE = 200


def prune(desk: Desk, age: float) -> int:
    """Let events go that are older than `age` seconds; how many slots."""
    end, before = desk.journal.read(lambda: _end(desk, desk.journal.clock.now() - age))
    gone = PIECE
    while gone == PIECE:
        gone = desk.journal.between(lambda: desk.shelf.drop(end, PIECE))
    return end - before


def _end(desk: Desk, youngest: float) -> tuple[int, int]:
    """(up to which sequence events may go, the first that is there)"""
    # The oldest snapshot that is kept is used if newer ones are damaged: the journal must reach back to it.
    whole, begin, end = min(shelf.whole(desk.shelf), default=0), -1, 0
    for first, blob in desk.shelf.groups(0):
        body, time = log.opened(desk.shelf, first, blob)
        begin = first if begin < 0 else begin
        end = first
        after = first + len(body) // records.SLOT
        if after > whole or time > youngest or _needed(desk, body):
            break
        end = after
    return end, max(begin, 0)


def _needed(desk: Desk, body: bytes) -> bool:
    """Whether a decision that was drawn here is open."""
    for _, part in records.parts(body):
        if not isinstance(part, np.ndarray):
            continue
        acts = part[part["kind"] == ACT]
        whose = acts["learner"].astype(np.int64) << 1 | acts["keyed"]
        for code in np.unique(whose).tolist():
            tickets: Any = np.ascontiguousarray(acts["round"][whose == code])
            with desk.lock:
                fleet = desk.contents.residents[code >> 1].fleets[code & 1]
                if fleet is not None and len(_engine.still_open(fleet, tickets)[0]):
                    return True
    return False
