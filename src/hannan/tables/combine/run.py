"""Rows of a table in order: each is answered from earlier rows and settled when its target is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from hannan.games.checkpoints import Trace
from hannan.saving.formatting import figure
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.losses import ASLEEP, PointLoss, refusal
from hannan.tables.combine.timing import Block, Calendar, Due, Events, Waiting
from hannan.tables.read.table import BadTable, clipped
from hannan.tables.read.times import Clock
from hannan.validation import Array


@dataclass(frozen=True)
class Answers:
    """Rows in order: their numbers and times as read, the mixture (of quantiles (rows, levels)), the expert drawn
    (None: none is), the weights."""

    rows: NDArray[np.int64] = field(hash=False)
    times: list[str] = field(hash=False)
    forecast: Array = field(hash=False)
    played: NDArray[np.int64] | None = field(hash=False)
    weights: Array = field(hash=False)

    def __len__(self) -> int:
        return len(self.forecast)


@dataclass(frozen=True)
class Forecast:
    """A row that waits for its target: its number, counted from 1, its time as read, and its forecast.

    Of quantiles the forecast is the middle one, and `quantiles` has all, (level, value).
    """

    row: int
    time: str | None
    forecast: float
    quantiles: tuple[tuple[float, float], ...] = ()

    @property
    def text(self) -> str:
        """The forecast, for people."""
        if len(self.quantiles) < 2:
            return figure(self.forecast)
        (low, least), (high, most) = self.quantiles[0], self.quantiles[-1]
        return f"{figure(self.forecast)} ({figure(least)} to {figure(most)}, quantiles {low:g} to {high:g})"

    @property
    def name(self) -> str:
        """Which row it is."""
        return f"row {self.row}" if self.time is None else f"{self.time} (row {self.row})"


def forecast_of(row: int, time: str | None, mixed: Any, levels: Sequence[float] = ()) -> Forecast:
    """A row that waits, from what it was answered with."""
    if not levels:
        return Forecast(row, time, float(mixed))
    values = [float(x) for x in mixed]
    return Forecast(row, time, values[(len(values) - 1) // 2], tuple(zip(levels, values, strict=True)))


@dataclass
class Work:
    """Room for the answers to some rows."""

    weights: Array
    mixed: Array
    played: NDArray[np.int64] | None

    @classmethod
    def room(cls, rows: int, n: int, draws: bool, levels: int = 0) -> Work:
        """Nothing written yet."""
        mixed = np.empty((rows, levels) if levels else rows)
        return cls(np.empty((rows, n)), mixed, np.empty(rows, dtype=np.int64) if draws else None)

    def part(self, rows: slice) -> Work:
        """The same room, some rows of it."""
        return Work(self.weights[rows], self.mixed[rows], None if self.played is None else self.played[rows])


def joined(parts: list[Answers], n: int, levels: int = 0) -> Answers:
    """Answers one after the other."""
    if len(parts) == 1:
        return parts[0]
    whole: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    rows = np.concatenate([whole, *(p.rows for p in parts)])
    forecast = np.concatenate([Work.room(0, n, False, levels).mixed, *(p.forecast for p in parts)])
    weights = np.concatenate([np.empty((0, n)), *(p.weights for p in parts)])
    drawn = [p.played for p in parts if p.played is not None]
    played = np.concatenate(drawn) if drawn else None
    return Answers(rows, [text for p in parts for text in p.times], forecast, played, weights)


class Options(TypedDict, total=False):
    """What `hn.combine` takes by name besides `by`, which says what comes back."""

    loss_range: tuple[float, float] | None
    cap: float | None
    experts: Sequence[str] | None
    time: str | None
    horizon: int
    issued: str | None
    target_time: str | None
    pooled: bool
    prior: Any
    quantiles: str | bool | None
    per_quantile: bool
    crossing: str
    seed: int


#: Rows that wait for their target, at the most.
WAITING = 100_000
#: Forecasts without a target that a summary tells, the last ones.
TOLD = 100
#: Rows that a picture of the last ones may show.
RECENT = 120
#: With more experts than this, curves of single experts are not kept.
CURVES = 500
#: Numbers of a point of the curves before those of the experts (`Moment.marks`).
MARKS = 7


class Rows:
    """Answers rows of forecasts and learns from their targets."""

    def __init__(
        self, names: Sequence[str], loss: PointLoss, learner: Any = None, seed: int = 0, time: str | None = None,
        source: str = "the table", horizon: int = 1, prior: Any = None, issued: str | None = None,
    ) -> None:  # fmt: skip
        self.names, self.loss, self.source, self.horizon = list(names), loss, source, horizon
        #: The quantile levels of an answer, or none.
        self.levels: tuple[float, ...] = getattr(loss, "levels", ())
        self.combiner = Combiner(self.names, loss, learner, seed=seed, prior=prior)
        #: Columns of quantiles that point forecasts are combined without.
        self.left_out: tuple[str, ...] = ()
        self.learner, self.mixer = self.combiner.learner, self.combiner.mixer
        self._calendar = None if issued is None or time is None else Calendar(issued, time, source)
        self._clock = None if time is None or issued is not None else Clock(time, source)
        self._waiting: dict[Any, Waiting] = {}
        #: With a horizon or issue times: rows whose target is in the table, and used later.
        self._due = Due(horizon)
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
        #: The last rows answered, with their times.
        self.recent: deque[tuple[int, str]] = deque(maxlen=RECENT)

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
        return tuple(forecast_of(one.row, one.time, one.forecast, self.levels) for one in last)[::-1]

    def answer(
        self, forecasts: Array, targets: Array, times: Sequence[str] = (), first: int = 1, issued: Sequence[str] = ()
    ) -> Answers:
        """Answer rows and settle what has a target; `first` is the number of the first row, for messages."""
        block = Block(
            np.ascontiguousarray(forecasts, dtype=np.float64),
            np.ascontiguousarray(targets, dtype=np.float64),
            times,
            first,
        )
        if self._calendar is not None:
            block.stamps = self._calendar.rows(issued, times, block.target, first)
        if self._clock is not None:
            self._arrive(block)
        answers = self._run(block)
        if block.refused is not None:
            raise block.refused
        return answers

    # Rows in order

    def _run(self, block: Block) -> Answers:
        before, rows = self.answered, len(block.targets) - len(block.brings)
        self._refuse_targets(block)
        self.trace.expect(before, rows)
        work = Work.room(len(block.targets), len(self.names), self.mixer.draws, len(self.levels))
        at = self.trace.due(before, rows)
        due = block.fresh[at - before - 1] + 1 if block.brings else at - before
        if getattr(self.mixer, "notes", False):
            self._noted(block, at, due, work)
        else:
            self._by_stretches(block, due.tolist(), work)
        self._remember(block, work)
        numbers, times = np.arange(block.first, block.first + rows), list(block.times)
        if block.brings:
            fresh = block.fresh
            work = Work(work.weights[fresh], work.mixed[fresh], None if work.played is None else work.played[fresh])
            numbers, times = fresh + block.first, [block.times[t] for t in fresh]
        self.recent.extend(zip(numbers[-RECENT:].tolist(), times[-RECENT:] or [""] * min(RECENT, rows), strict=True))
        return Answers(numbers, times, work.mixed, work.played, work.weights)

    def _prompt_throughout(self, block: Block) -> bool:
        """Whether every row is answered and then settled, or never to be."""
        return not (self._waits or block.brings or (self._clock is not None and bool(np.isnan(block.targets).any())))

    def _noted(self, block: Block, at: NDArray[np.int64], due: NDArray[np.int64], work: Work) -> None:
        """All rows at once; the engine notes the points of the curves on its way."""
        table, answers = block.forecasts, (work.mixed, work.weights)
        if self._prompt_throughout(block):
            done, trouble, column, moments = self.mixer.noted(table, block.targets, *answers, due)
            refused = partial(self._check, trouble, column, table, block.targets, done, block.first)
        else:
            events = self._events(block, slice(0, len(block.targets)))
            done, trouble, column, moments = self.mixer.noted_events(
                table, events.order, events.told, block.first, *answers, events.ends[due - 1], due - 1
            )
            refused = partial(self._check_event, trouble, column, events, done, block.first, block)
        work.played = self.mixer.played
        reached, ends = at[: len(moments)].tolist(), due[: len(moments)].tolist()
        self.trace.extend(reached, moments)
        self.times |= {row: block.times[end - 1] if block.times else "" for row, end in zip(reached, ends, strict=True)}
        refused()
        if len(block.targets) > len(block.brings):
            self._answered_last(int(block.fresh[-1]) if block.brings else -1, block, work)

    def _by_stretches(self, block: Block, due: list[int], work: Work) -> None:
        fresh, start = block.fresh, 0
        for end in [*due, len(block.targets)]:
            if end > start:
                self._stretch(block, slice(start, end), work.part(slice(start, end)))
            if last := int(np.searchsorted(fresh, end)):
                self._answered_last(int(fresh[last - 1]), block, work)
            if end in due and end > start:
                self._note()
            start = end

    def _answered_last(self, row: int, block: Block, work: Work) -> None:
        self._last, self._last_time = work.weights[row].copy(), block.times[row] if block.times else ""

    def _stretch(self, block: Block, rows: slice, work: Work) -> None:
        """Rows between two points of the curves."""
        open_ = self._clock is not None and bool(np.isnan(block.targets[rows]).any())
        if self._waits or open_ or block.brings_in(rows):
            self._in_order(block, rows, work)
        else:
            self._prompt(block.forecasts[rows], block.targets[rows], work, block.first + rows.start)

    def _remember(self, block: Block, work: Work) -> None:
        """The forecasts of rows that wait now, or that nobody will ask for again."""
        for row in reversed(self._waiting.values()):
            if row.row < block.first:
                break
            if row.row - block.first < len(work.mixed):
                row.forecast = work.mixed[row.row - block.first].copy()
        for gone in block.gone:
            self.mixer.forget(gone)
        unknown = np.flatnonzero(np.isnan(block.targets)).tolist() if self._clock is None else []
        for t in unknown[-TOLD:]:
            time = block.times[t] if self._calendar is not None else None
            self._untimed.append(forecast_of(block.first + t, time, work.mixed[t], self.levels))
        for t in unknown if self._waits else ():
            self.mixer.forget(block.first + t)

    def _prompt(self, forecasts: Array, targets: Array, work: Work, first: int) -> None:
        done, trouble, column = self.mixer.rows(forecasts, targets, work.mixed, work.weights)
        if work.played is not None:
            work.played[:] = self.mixer.played
        self._check(trouble, column, forecasts, targets, done, first)

    def _in_order(self, block: Block, rows: slice, work: Work) -> None:
        """Before row t is answered, what was known by then: with a horizon h the rows up to t - h. A row that only
        brings a target settles the one that waits for it."""
        first, events = block.first + rows.start, self._events(block, rows)
        done, trouble, column = self.mixer.events(
            block.forecasts[rows], events.order, events.told, first, work.mixed, work.weights
        )
        if work.played is not None:
            work.played[:] = self.mixer.played
        self._check_event(trouble, column, events, done, first, block)

    def _events(self, block: Block, rows: slice) -> Events:
        return self._due.events(block, rows) if self._waits else block.events(rows)

    @property
    def _waits(self) -> bool:
        """Whether targets of the table are used later than their rows."""
        return self.horizon > 1 or self._calendar is not None

    def _check_event(self, trouble: Any, column: int, events: Events, done: int, first: int, block: Block) -> None:
        from hannan._engine import Trouble

        if done == len(events.order):
            return
        event, target = int(events.order[done]), float(events.told[done])
        if trouble == Trouble.asleep:
            raise self._asleep(first + event)
        if trouble == Trouble.failed:
            raise self.mixer.player._failed()
        row = ~event
        by = next((block.first + t for t, waiting in block.brings.items() if waiting == row), row)
        raise BadTable(f"{self.source}, row {by}{self._why(trouble, column, self.mixer.waiting(row), target)}")

    # Rows that come back

    def _arrive(self, block: Block) -> None:
        """Which rows are answered, and which bring the target of one that waits; up to the first that is refused."""
        assert self._clock is not None
        tick, waiting, row = self._clock.tick, self._waiting, block.first
        try:
            for text, target in zip(block.times, block.target, strict=True):
                stamp, later = tick(text, row)
                if not later:
                    block.brings[row - block.first] = self._brought(stamp, text, row, target)
                elif target != target:
                    waiting[stamp] = Waiting(row, text)
                    if len(waiting) > WAITING:
                        block.gone.append(waiting.pop(next(iter(waiting))).row)
                        self.given_up += 1
                row += 1
        except BadTable as refused:
            block.refuse(row - block.first, refused)
        if other := block.others(self.mixer):
            t, row = other
            why = f"{clipped(block.times[t])} was answered in row {row} for other forecasts: leave them empty or equal"
            block.refuse(t, self._clock.refuse(block.first + t, why))

    def _brought(self, stamp: Any, text: str, row: int, target: float) -> int:
        """The number of the row that waits for this target; it waits no more."""
        assert self._clock is not None
        open_ = self._waiting.get(stamp)
        if open_ is None:
            raise self._clock.out_of_order(text, stamp, row)
        if target != target:
            raise self._clock.refuse(row, f"{clipped(text)} was answered in row {open_.row}; it comes without a target")
        del self._waiting[stamp]
        self.brought.append((open_.row, row, target))
        self.late += 1
        return open_.row

    # Refusals

    def _why(self, trouble: Any, column: int, row: Array, target: float) -> str:
        return refusal(trouble, column, self.names, self.loss, self.mixer, row, target)

    def _refuse_targets(self, block: Block) -> None:
        if not self.loss.refuse_target(0.5):
            return
        for t in [*block.fresh.tolist(), *block.brings]:
            y = block.target[t]
            reason = self.loss.refuse_target(y) if y == y else ""
            if reason:
                raise BadTable(f"{self.source}, row {block.first + t}: {reason}; got {y:g}")

    def _asleep(self, number: int) -> BadTable:
        # Without times, a row that only brings a target looks like this one.
        timed = self._clock is not None or self._calendar is not None
        late = "" if timed else ", or name a column of times (--time) if it brings an earlier row's target"
        return BadTable(f"{self.source}, row {number}: {ASLEEP}{late}")

    def _check(self, trouble: Any, column: int, forecasts: Array, targets: Array, done: int, first: int) -> None:
        from hannan._engine import Trouble

        if trouble == Trouble.none:
            return
        if trouble == Trouble.asleep:
            raise self._asleep(first + done)
        if trouble == Trouble.failed:
            raise self.mixer.player._failed()
        row, target = forecasts[done], float(targets[done])
        raise BadTable(f"{self.source}, row {first + done}{self._why(trouble, column, row, target)}")

    # What is known so far

    def _note(self) -> None:
        """A point of the curves."""
        self.trace.add(self.answered, self.mixer.moment(self._last))
        self.times[self.answered] = self._last_time

    def points(self) -> Array:
        """The points of the curves, a row each: the marks, then weights, losses of the experts, and the mixture's
        beside them."""
        wide = len(self.names) <= CURVES
        rows = [
            np.concatenate(
                [moment.marks(), *((moment.weights, moment.sums.losses, moment.sums.beside) if wide else ())]
            )
            for moment in self.trace.kept()
        ]
        return np.array(rows).reshape(len(rows), -1)

    def close(self) -> None:
        """The table is over: with a horizon its last targets are known; the last point of the curves."""
        for row, target in self._due.rest():
            trouble, column = self.mixer.settle(row, target)
            why = self._why(trouble, column, self.mixer.waiting(row), target)
            if why:
                raise BadTable(f"{self.source}, row {row}{why}")
        if self.answered:
            self._note()

    def rejoin(self, targets: Array) -> Array:
        """Targets of all rows read, each late one put into the row that it belongs to; changes them in place."""
        for row, by, target in self.brought:
            targets[row - 1], targets[by - 1] = target, np.nan
        return targets
