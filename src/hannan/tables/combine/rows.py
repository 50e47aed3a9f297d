"""Rows of a table in order: each answered from the rows before it, and settled when its target is known.

The forecast of a row is a function of the targets known before it and of the row's own forecasts. A row whose target
is empty is answered like any other; its target may come in a later row with the same time. With a horizon h, the
target of row t is used from row t + h on, and not before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array
from hannan.tables.combine.answers import Answers, Forecast, Work, joined
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.trouble import refusal
from hannan.tables.curves import Trace
from hannan.tables.read.table import BadTable, clipped
from hannan.tables.read.times import Clock

#: Rows that wait for their target, at the most.
WAITING = 100_000
#: Forecasts without a target that a summary tells, the last ones.
TOLD = 100
#: With more experts than this, curves of single experts are not kept.
CURVES = 500
#: Numbers of a point of the curves before those of the experts: settled rows, loss of the combination, regret to the
#: column most ahead, what is promised about and its bound, loss of the mean, and the bound to it.
MARKS = 7


@dataclass
class _Waiting:
    """A row that was answered and not settled."""

    row: int
    time: str
    forecast: float
    answered: int


class Rows:
    """Answers rows of forecasts and learns from their targets."""

    def __init__(
        self, names: Sequence[str], loss: PointLoss, learner: Any = None, seed: int = 0, time: str | None = None,
        source: str = "the table", horizon: int = 1, prior: Any = None,
    ) -> None:  # fmt: skip
        self.names, self.loss, self.source, self.horizon = list(names), loss, source, horizon
        self.combiner = Combiner(self.names, loss, learner, seed=seed, prior=prior)
        self.learner, self.mixer = self.combiner.learner, self.combiner.mixer
        self._clock = None if time is None else Clock(time, source)
        self._waiting: dict[Any, _Waiting] = {}
        #: With a horizon: rows whose target is in the table and not known yet, (row, target).
        self._due: deque[tuple[int, float]] = deque()
        #: Without times no target can come later: of such rows only the forecast is kept.
        self._untimed: deque[Forecast] = deque(maxlen=TOLD)
        self.given_up = self.late = 0
        #: (row answered, row that brought its target, target), rows counted from 1
        self.brought: list[tuple[int, int, float]] = []
        self.trace = Trace()
        self._last: Array = np.full(len(self.names), 1.0 / len(self.names))
        self._last_time = ""
        #: The times at which points of the curves were taken.
        self.times: dict[int, str] = {}

    @property
    def answered(self) -> int:
        """Rows answered so far."""
        return int(self.mixer.answered)

    @property
    def settled(self) -> int:
        """Rows whose target is known."""
        return int(self.mixer.settled)

    @property
    def waiting(self) -> int:
        """Rows that were answered and have no target yet."""
        return self.answered - self.settled

    def forecasts(self) -> tuple[Forecast, ...]:
        """The last rows that wait for their target, in order."""
        if self._clock is None:
            return tuple(self._untimed)
        last = islice(reversed(self._waiting.values()), TOLD)
        return tuple(Forecast(one.row, one.time, one.forecast) for one in last)[::-1]

    def answer(self, forecasts: Array, targets: Array, times: Sequence[str] = (), first: int = 1) -> Answers:
        """Answer rows and settle what has a target; `first` is the number of the first row, for messages."""
        forecasts = np.ascontiguousarray(forecasts, dtype=np.float64)
        targets = np.ascontiguousarray(targets, dtype=np.float64)
        if self._clock is None:
            return self._run(forecasts, targets, [], [], first)
        done: list[Answers] = []
        start, stamps = 0, []
        for t in range(len(forecasts) + 1):
            later = True
            if t < len(forecasts):
                stamp, later = self._clock.tick(times[t], first + t)
                stamps.append(stamp)
            if later and t < len(forecasts):
                continue
            if t > start:
                kept = slice(start, t)
                done.append(self._run(forecasts[kept], targets[kept], times[kept], stamps[kept], first + start))
            if not later:
                self._settle_late(stamps[t], times[t], forecasts[t], float(targets[t]), first + t)
            start = t + 1
        return joined(done, len(self.names))

    # Rows in order

    def _run(
        self, forecasts: Array, targets: Array, times: Sequence[str], stamps: Sequence[Any], first: int
    ) -> Answers:
        rows, before = len(forecasts), self.answered
        self._refuse_targets(targets, first)
        self.trace.expect(before, rows)
        work = Work.room(rows, len(self.names), self.mixer.draws)
        ends = (self.trace.due(before, rows) - before).tolist()
        start = 0
        for end in [*ends, rows]:
            if end > start:
                part = slice(start, end)
                self._stretch(forecasts[part], targets[part], work.part(part), times[part], stamps[part], first + start)
                self._last = work.weights[end - 1].copy()
                self._last_time = times[end - 1] if times else ""
            if end in ends and end > start:
                self._note()
            start = end
        return Answers(np.arange(first, first + rows), list(times), work.mixed, work.played, work.weights)

    def _stretch(
        self, forecasts: Array, targets: Array, work: Work, times: Sequence[str], stamps: Sequence[Any], first: int
    ) -> None:
        """Rows between two points of the curves."""
        if self.horizon > 1:
            self._ahead(forecasts, targets, work, first)
        elif self._clock is None:
            self._prompt(forecasts, targets, work, first)
        else:
            start = 0
            for t in [*np.flatnonzero(np.isnan(targets)).tolist(), len(targets)]:
                part = slice(start, t)
                self._prompt(forecasts[part], targets[part], work.part(part), first + start)
                if t < len(targets):
                    self._open(forecasts[t : t + 1], work.part(slice(t, t + 1)), first + t)
                    self._wait(stamps[t], _Waiting(first + t, times[t], float(work.mixed[t]), first + t))
                start = t + 1
        unknown = np.flatnonzero(np.isnan(targets))
        if self._clock is None:
            for t in map(int, unknown[-TOLD:]):
                self._untimed.append(Forecast(first + t, None, float(work.mixed[t])))
        elif self.horizon > 1:
            for t in map(int, unknown):
                self._wait(stamps[t], _Waiting(first + t, times[t], float(work.mixed[t]), first + t))

    def _prompt(self, forecasts: Array, targets: Array, work: Work, first: int) -> None:
        if not len(targets):
            return
        done, trouble, column = self.mixer.rows(forecasts, targets, work.mixed, work.weights)
        if work.played is not None:
            work.played[:] = self.mixer.played
        self._check(trouble, column, forecasts, targets, done, first)

    def _open(self, forecasts: Array, work: Work, row: int) -> None:
        """A row that waits, by its number."""
        nothing, order = np.full(1, np.nan), np.zeros(1, dtype=np.int64)
        _, trouble, column = self.mixer.events(forecasts, order, nothing, row, work.mixed, work.weights)
        if work.played is not None:
            work.played[:] = self.mixer.played
        self._check(trouble, column, forecasts, nothing, 0, row)

    def _ahead(self, forecasts: Array, targets: Array, work: Work, first: int) -> None:
        """Before row t is answered, what was due by then: the rows up to t - h."""
        order: list[int] = []
        told: list[float] = []
        for t, y in enumerate(targets.tolist()):
            while self._due and self._due[0][0] <= first + t - self.horizon:
                row, target = self._due.popleft()
                order.append(~row)
                told.append(target)
            order.append(t)
            told.append(np.nan)
            if y == y:
                self._due.append((first + t, y))
        events: NDArray[np.int64] = np.array(order, dtype=np.int64)
        done, trouble, column = self.mixer.events(forecasts, events, np.array(told), first, work.mixed, work.weights)
        if work.played is not None:
            work.played[:] = self.mixer.played
        if done < len(order):
            self._fail(trouble, column, order[done], told[done], first)
        if self._clock is None:
            for t in map(int, np.flatnonzero(np.isnan(targets))):
                self.mixer.forget(first + t)

    def _fail(self, trouble: Any, column: int, event: int, target: float, first: int) -> None:
        from hannan._engine import Trouble

        if trouble == Trouble.asleep:
            raise self._asleep(first + event)
        row = ~event
        raise BadTable(
            f"{self.source}, row {row}"
            + refusal(trouble, column, self.names, self.loss, self.mixer, self.mixer.waiting(row), target)
        )

    # Rows that come back

    def _wait(self, stamp: Any, row: _Waiting) -> None:
        self._waiting[stamp] = row
        if len(self._waiting) > WAITING:
            gone = self._waiting.pop(next(iter(self._waiting)))
            self.mixer.forget(gone.row)
            self.given_up += 1

    def _settle_late(self, stamp: Any, text: str, forecasts: Array, target: float, row: int) -> None:
        assert self._clock is not None
        open_ = self._waiting.get(stamp)
        if open_ is None:
            raise self._clock.out_of_order(text, stamp, row)
        if np.isnan(target):
            raise self._clock.refuse(row, f"{clipped(text)} was answered in row {open_.row}; it comes without a target")
        before = self.mixer.waiting(open_.row)
        if not np.isnan(forecasts).all() and not np.array_equal(forecasts, before, equal_nan=True):
            raise self._clock.refuse(
                row, f"{clipped(text)} was answered in row {open_.row} for other forecasts: leave them empty or equal"
            )
        self._refuse_targets(np.array([target]), row)
        trouble, column = self.mixer.settle(open_.row, target)
        why = refusal(trouble, column, self.names, self.loss, self.mixer, before, target)
        if why:
            raise BadTable(f"{self.source}, row {row}{why}")
        del self._waiting[stamp]
        self.brought.append((open_.row, row, target))
        self.late += 1

    # Refusals

    def _refuse_targets(self, targets: Array, first: int) -> None:
        if not self.loss.refuse_target(0.5):
            return
        for t in np.flatnonzero(~np.isnan(targets)):
            reason = self.loss.refuse_target(float(targets[t]))
            if reason:
                raise BadTable(f"{self.source}, row {first + int(t)}: {reason}; got {targets[t]:g}")

    def _asleep(self, number: int) -> BadTable:
        # Without times, a row that only brings a target looks like this one.
        late = "" if self._clock else ", or name a column of times (--time) if it brings an earlier row's target"
        return BadTable(
            f"{self.source}, row {number}: at least one expert must have a forecast; all are asleep. "
            f"Remove the row{late}"
        )

    def _check(self, trouble: Any, column: int, forecasts: Array, targets: Array, done: int, first: int) -> None:
        from hannan._engine import Trouble

        if trouble == Trouble.none:
            return
        if trouble == Trouble.asleep:
            raise self._asleep(first + done)
        if trouble == Trouble.failed:
            raise self.mixer.player._failed()
        row, target = forecasts[done], float(targets[done])
        raise BadTable(
            f"{self.source}, row {first + done}"
            + refusal(trouble, column, self.names, self.loss, self.mixer, row, target)
        )

    # What is known so far

    def _note(self) -> None:
        """A point of the curves."""
        mixer = self.mixer
        told, losses, beside = mixer.promises(), mixer.losses, mixer.beside
        awake = np.asarray(mixer.awake) > 0
        ahead = np.where(awake, beside - losses, -np.inf)
        best = int(np.argmax(ahead)) if awake.any() else 0
        bound, to_mean = told.column(best), told.mean
        marks = [
            mixer.settled, mixer.mixture, ahead[best] if awake.any() else 0.0, self._promised(told.realised, best),
            np.nan if bound is None else bound, mixer.mean_loss, np.nan if to_mean is None else to_mean,
        ]  # fmt: skip
        each = [self._last, losses, beside] if len(self.names) <= CURVES else []
        self.trace.add(self.answered, np.concatenate([np.array(marks, dtype=np.float64), *each]))
        self.times[self.answered] = self._last_time

    def _promised(self, realised: Array, best: int) -> float:
        """What the bound is about: of a player the regret of <p, l>."""
        certificate = self.mixer.certificate()
        return float(realised[best]) if certificate is None else (certificate.regret or 0.0)

    def close(self) -> None:
        """The table is over: with a horizon its last targets are known; the last point of the curves."""
        while self._due:
            row, target = self._due.popleft()
            trouble, column = self.mixer.settle(row, target)
            why = refusal(trouble, column, self.names, self.loss, self.mixer, self.mixer.waiting(row), target)
            if why:
                raise BadTable(f"{self.source}, row {row}{why}")
        if self.answered:
            self._note()

    def rejoin(self, targets: Array) -> Array:
        """Targets of all rows read, each late one put into the row that it belongs to; changes them in place."""
        for row, by, target in self.brought:
            targets[row - 1], targets[by - 1] = target, np.nan
        return targets
