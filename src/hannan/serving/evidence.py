"""Evidence about the arms of a learner of a store, computed from its journal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hannan import _engine
from hannan.mathematics.bounds import Units
from hannan.players import evidence
from hannan.players.evidence import Evidence, Means
from hannan.serving import CONFLICT, Refused, journal
from hannan.serving.backend import Backend, complete_snapshots
from hannan.serving.journal import ACT, EXPIRE, OBSERVE, Damaged
from hannan.serving.log import Rebuilt, before, code_of
from hannan.serving.stored_learner import StoredLearner

#: Probabilities per call of the engine, which holds the interpreter lock meanwhile.
NUMBERS = 1 << 16
#: Why a panel has a start of its own.
PRUNED = (
    "start",
    "events before the start were deleted; each deletion begins new statements with a new error probability",
)
ADDED = ("start", "an arm was added at the start; each such change begins new statements with a new error probability")


class Counted(Rebuilt):
    """Contents that replay one stage of a learner and count its draws and feedback, in the order of the journal."""

    def watch(self, number: int) -> None:
        """Count this stage only."""
        self.numbers = [number]
        self._restart()

    def _restart(self) -> None:
        """Begin a new table: all arms are compared over the same draws."""
        self.table: Any = None
        self.since = self.sure_time = 0.0
        self.index: dict[int, int] = {}
        #: Number of the draw, arm and probability of each pending decision.
        self.pending: dict[int, tuple[int, int, float]] = {}

    def noted(self, note: dict[str, Any]) -> None:
        """Apply a note. A new arm begins a new table."""
        super().noted(note)
        if "arm" in note and note["learner"] in self.numbers:
            self._restart()

    def replay(self, groups: Iterator[tuple[int, bytes]]) -> None:
        """Replay the groups one by one, so that the time of each event is known."""
        for first, blob in groups:
            body, time = journal.opened(blob, first)
            if first != self.sequence:
                raise Damaged(f"corrupt journal: expected sequence {self.sequence}; found {first}")
            self._group(first, body, time)

    def _play(self, events: Any, time: float) -> None:
        events = events[events["learner"] == self.numbers[0]]
        if not len(events):
            return
        stored = self.learners[self.numbers[0]]
        changes = np.flatnonzero(np.diff(events["keyed"])) + 1
        most = max(1, NUMBERS // stored.n)
        for run in np.split(events, changes):
            for first in range(0, len(run), most):
                piece = run[first : first + most]
                wrong, p = stored.replay_probabilities(piece, int(piece["keyed"][0]))
                if wrong >= 0:
                    raise Damaged(f"an event of {stored.name!r} comes out differently")
                self._count(stored, piece, p, time)

    def _count(self, stored: StoredLearner, events: Any, p: Any, time: float) -> None:
        """Add draws and feedback to the table."""
        if self.table is None:
            self.index = {place: k for k, place in enumerate(places(stored))}
            self.table, self.since = _engine.Evidence(len(self.index)), time
        table, columns = self.table, list(self.index)
        units = Units.of(stored.learner.loss_range, stored.learner.gains)
        kinds, arms, values = events["kind"].tolist(), events["arm"].tolist(), events["value"].tolist()
        for k, code in enumerate(code_of(events).tolist()):
            if kinds[k] == ACT:
                arm = self.index[arms[k]]
                shares = p[k, columns]
                shares[arm] = values[k]
                table.act(shares, arm)
                self.pending[code] = (table.draws, arm, values[k])
            elif kinds[k] in (OBSERVE, EXPIRE) and code in self.pending:
                # Rounding may leave [0, 1] in the last bit.
                table.settle(*self.pending.pop(code), min(max(float(units.normal(values[k], 1)), 0.0), 1.0))
            else:
                continue
            was = table.sure_since
            table.watch()
            if table.sure_since != was:
                self.sure_time = time


def places(stored: StoredLearner) -> list[int]:
    """Return the places of a learner that have or had an arm."""
    names = stored.arms.names
    return list(range(stored.n)) if names is None else [place for place, name in enumerate(names) if name is not None]


def counted(backend: Backend, stored: StoredLearner, end: int) -> tuple[Counted, bool]:
    """Return the current stage of a learner before sequence `end` with its table, and whether events were deleted.

    The journal is replayed from its beginning; if its first events were deleted, from the oldest snapshot on.
    """
    for sequence in (0, *reversed(complete_snapshots(backend))):
        try:
            contents = Counted.restored(backend.snapshot(sequence)) if sequence else Counted()
            contents.watch(stored.number)
            contents.replay(before(backend, contents.sequence, end))
        except (ValueError, LookupError):
            continue
        return contents, bool(sequence)
    raise Refused(CONFLICT, f"no evidence: the journal of {stored.name!r} cannot be replayed")


def stated(contents: Counted, pruned: bool, alpha: float, means: Means) -> Evidence:
    """Return what the table states."""
    stored = contents.learners[contents.numbers[0]]
    arms = places(stored)
    table = _engine.Evidence(len(arms)) if contents.table is None else contents.table
    weights = None if stored.keys else [stored.weights()[place] for place in arms]
    came = any(" came after " in change for change in stored.arms.changes)
    return evidence.read(
        table,
        [str(stored.arms.label(place)) for place in arms],
        Units.of(stored.learner.loss_range, stored.learner.gains),
        alpha=alpha,
        means=means,
        probabilities=weights,
        since=_time(contents.since),
        sure_since=_time(contents.sure_time),
        assumed=[row for row, holds in ((PRUNED, pruned), (ADDED, came)) if holds],
    )


def _time(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if seconds else None
