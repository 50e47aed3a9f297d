"""The engine of `combine`: rows of forecasts in, answers out, and a learner that settles what has a target.

The forecast of a row is a function of the rows before it and of the row's own forecasts; its target is looked at
afterwards. A row whose target is empty is answered like any other; its target may come in a later row with the
same time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.learners.adahedge import AdaHedge, Seen
from hannan.learners.experts import Experts
from hannan.mathematics.bounds import Bound
from hannan.players.certificate import Certificate
from hannan.refusals import Array
from hannan.tables.combine.answers import Answers, Forecast, Tally, Work, joined
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.trouble import trouble_of
from hannan.tables.curves import Trace
from hannan.tables.read.table import BadTable, clipped
from hannan.tables.read.times import Clock

#: Rows that wait for their target, at the most.
WAITING = 100_000
#: Forecasts without a target that a summary tells, the last ones.
TOLD = 100
#: With more experts than this, curves of single experts are not kept.
CURVES = 500
#: What the kernel notes of a player at a point of the curves.
MARKS = 7


@dataclass
class _Waiting:
    """A row that was answered and not settled."""

    row: int
    time: str
    forecasts: Array
    weights: Array
    forecast: float
    settled_before: int


class Combiner:
    """Answers rows of forecasts and learns from their targets.

    `learner` is `Experts` (its loss_range is that of the losses) or `AdaHedge`, with one expert for each name.
    """

    def __init__(
        self, names: Sequence[str], loss: PointLoss, learner: Experts | AdaHedge, seed: int = 0,
        time: str | None = None, source: str = "the table",
    ) -> None:  # fmt: skip
        self.names, self.loss, self.learner, self.source = list(names), loss, learner, source
        if learner.n != len(self.names):
            raise ValueError(f"the learner must have {len(self.names)} experts, one for each column; got {learner!r}")
        if learner.gains:
            raise ValueError(f"the learner must take losses, which forecasts have; got {learner!r}")
        self.player = learner.start(seed)
        self._adaptive = isinstance(learner, AdaHedge)
        self._clock = None if time is None else Clock(time, source)
        self._waiting: dict[Any, _Waiting] = {}
        #: Without times no target can come later: of such rows only the forecast is kept.
        self._untimed: deque[Forecast] = deque(maxlen=TOLD)
        self.given_up = self.answered = self.late = 0
        #: (row answered, row that brought its target, target), rows counted from 1
        self.brought: list[tuple[int, int, float]] = []
        self.sum = Tally(learner.n)
        self.trace = Trace()
        self._last: Array = np.full(learner.n, 1.0 / learner.n)

    @property
    def settled(self) -> int:
        """Rows whose target is known."""
        return self.sum.settled

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
        return joined(done, self.learner.n)

    # Rows in order

    def _run(
        self, forecasts: Array, targets: Array, times: Sequence[str], stamps: Sequence[Any], first: int
    ) -> Answers:
        rows, before = len(forecasts), self.settled
        self._refuse_targets(targets, first)
        self.trace.expect(self.answered, rows)
        ends = self.trace.due(self.answered, rows) - self.answered
        work, points = Work.room(rows, self.learner.n), np.empty((len(ends), self._width))
        self._rows(forecasts, targets, work, ends, points, first)
        if self._clock is not None:
            known = ~np.isnan(targets)
            done = before + np.cumsum(known) - known
            for t in map(int, np.flatnonzero(~known)):
                row = forecasts[t].copy(), work.weights[t].copy(), float(work.mixed[t])
                self._wait(stamps[t], _Waiting(first + t, times[t], *row, int(done[t])))
        else:
            for t in map(int, np.flatnonzero(np.isnan(targets))[-TOLD:]):
                self._untimed.append(Forecast(first + t, None, float(work.mixed[t])))
        self.trace.extend(self.answered + ends, points)
        self.answered += rows
        if rows:
            self._last = work.weights[-1].copy()
        return Answers(np.arange(first, first + rows), list(times), work.mixed, work.played, work.weights)

    def _rows(
        self, forecasts: Array, targets: Array, work: Work, ends: NDArray[np.int64], points: Array, first: int
    ) -> None:
        """Answer, and settle where there is a target."""
        from hannan._engine import Trouble, combine_rows

        done, trouble, expert, losses = combine_rows(
            self.player, self.sum.sums, self.loss.price(), forecasts, targets, work.weights, work.mixed, work.played,
            ends, points,
        )  # fmt: skip
        if trouble != Trouble.none:
            row, target = forecasts[done], float(targets[done])
            raise self._refuse(trouble, int(expert), row, target, losses, first + done)

    # Rows that come back

    def _wait(self, stamp: Any, row: _Waiting) -> None:
        self._waiting[stamp] = row
        if len(self._waiting) > WAITING:
            del self._waiting[next(iter(self._waiting))]
            self.given_up += 1

    def _settle_late(self, stamp: Any, text: str, forecasts: Array, target: float, row: int) -> None:
        assert self._clock is not None
        open_ = self._waiting.get(stamp)
        if open_ is None:
            raise self._clock.out_of_order(text, stamp, row)
        if np.isnan(target):
            raise self._clock.refuse(row, f"{clipped(text)} was answered in row {open_.row}; it comes without a target")
        if not np.isnan(forecasts).all() and not np.array_equal(forecasts, open_.forecasts, equal_nan=True):
            raise self._clock.refuse(
                row, f"{clipped(text)} was answered in row {open_.row} for other forecasts: leave them empty or equal"
            )
        self._refuse_targets(np.array([target]), row)
        losses: Array = np.empty(self.learner.n)
        kind, expert = trouble_of(self.learner, self.loss, open_.forecasts, target, losses)
        if kind is not None:
            raise self._refuse(kind, expert, open_.forecasts, target, losses, row)
        awake = ~np.isnan(open_.forecasts)
        self._observe_late(open_, awake, losses)
        del self._waiting[stamp]
        self.brought.append((open_.row, row, target))
        own = float(open_.weights[awake] @ losses[awake])
        self.sum.add(losses, float(self.loss.value(open_.forecast, target)), own)

    def _observe_late(self, open_: _Waiting, awake: NDArray[np.bool_], losses: Array) -> None:
        """The step of the player with the weights that answered: a delay only where a loss came in between."""
        from hannan._engine import charge_sleepers

        player, row = self.player, losses.copy()
        if not awake.all():
            charge_sleepers(open_.weights, awake, row)
        delay = self.settled - open_.settled_before
        player._settle_untold(row, open_.weights if delay else None, delay)
        self.late += 1

    # Refusals

    def _refuse_targets(self, targets: Array, first: int) -> None:
        if not self.loss.refuse_target(0.5):
            return
        for t in np.flatnonzero(~np.isnan(targets)):
            reason = self.loss.refuse_target(float(targets[t]))
            if reason:
                raise BadTable(f"{self.source}, row {first + int(t)}: {reason}; got {targets[t]:g}")

    def _refuse(self, kind: Any, expert: int, row: Array, target: float, losses: Array, number: int) -> Exception:
        from hannan._engine import Trouble

        where = f"{self.source}, row {number}"
        if kind == Trouble.asleep:
            # Without times, a row that only brings a target looks like this one.
            late = "" if self._clock else ", or name a column of times (--time) if it brings an earlier row's target"
            return BadTable(f"{where}: at least one expert must have a forecast; all are asleep. Remove the row{late}")
        if kind == Trouble.outside:
            low, high = self.learner.loss_range
            return BadTable(
                f"{where}, column {self.names[expert]!r}: a loss must be in the stated range {low:g}:{high:g}; got "
                f"{losses[expert]:g} ({self.loss.name}, forecast {row[expert]:g}, target {target:g})"
            )
        if kind == Trouble.infinite:
            return BadTable(
                f"{where}, column {self.names[expert]!r}: the {self.loss.name} loss of forecast {row[expert]:g} at "
                f"target {target:g} must be finite; a probability must be in [0, 1], and not 0 or 1 when it is wrong"
            )
        return self.player._failed()

    # What is known so far

    @property
    def _width(self) -> int:
        """Numbers of a point of the curves: settled rows, loss and regret of the mixture; the player's mark; and, of
        each expert, its weight, its loss, and the mixture's loss in the same rows."""
        return 3 + MARKS + (3 * self.learner.n if self.learner.n <= CURVES else 0)

    def close(self) -> None:
        """The last point of the curves."""
        from hannan._engine import note

        point: Array = np.empty(self._width)
        note(self.player, self.sum.sums, self._last, point)
        if self.answered:
            self.trace.add(self.answered, point)

    def rejoin(self, targets: Array) -> Array:
        """Targets of all rows read, each late one put into the row that it belongs to; changes them in place."""
        for row, by, target in self.brought:
            targets[row - 1], targets[by - 1] = target, np.nan
        return targets

    def certificate(self) -> Certificate:
        """What the player may say of itself."""
        # The answer is the mixture: nothing is drawn, and a seed gives nothing away.
        return replace(self.player.certificate(), seeded=False)

    def bound_at(self, rounds: int, mark: Array) -> Bound | None:
        """The bound at a point of the curves; None where it is withheld."""
        if self.player._largest_delay or rounds == 0:
            return None
        try:
            if isinstance(self.learner, AdaHedge):
                return self.learner.observed_bound(Seen(rounds, *map(float, mark[1:])))
            return self.learner.bound(rounds, self.learner.in_units(float(mark[1]), rounds))
        except ValueError:
            return None
