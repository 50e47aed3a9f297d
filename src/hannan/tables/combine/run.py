"""One run over a table: chunks of rows in, answers out, and a summary at the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import numpy as np

from hannan.tables.combine.calibration import CHOICE, FAN, Answered, Recent
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.coverage import Coverage, end_columns
from hannan.tables.combine.coverage_report import CertifiedTable
from hannan.tables.combine.guarantees import Course
from hannan.tables.combine.quantiles import Pricing, QuantileLoss
from hannan.tables.combine.timing import Answers, Chunk, Pending, Timing
from hannan.tables.learner import for_forecasts
from hannan.tables.read.table import UNNAMED
from hannan.tables.write import Spool
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.tables.combine.calibration import Quantiled
    from hannan.tables.combine.summary import Summary
    from hannan.tables.read.frames import Frame
    from hannan.tables.read.table import Chunk as FileChunk

#: Rows of a frame that are combined in one call.
CHUNK = 1 << 16


class Options(TypedDict, total=False):
    """Keyword arguments of `hn.combine` except `by`, which determines the type of the result."""

    loss_range: tuple[float, float] | None
    cap: float | None
    experts: Sequence[str] | None
    time: str | None
    horizon: int
    issued: str | None
    target_time: str | None
    pooled: bool | None
    prior: Any
    quantiles: str | bool | None
    per_quantile: bool
    crossing: str
    coverage: float | Sequence[float] | None
    side: str
    groups: str | Sequence[str] | None
    within: float | None
    clip: float | None
    seed: int


@dataclass(frozen=True)
class Task:
    """Description of a combination: columns, loss, times and weighting rule."""

    #: Columns of forecasts; None: all columns of the table without another role.
    columns: tuple[str, ...] | None = None
    pricing: Pricing = field(default_factory=Pricing)
    timing: Timing = field(default_factory=Timing)
    learner: Any = None
    loss_range: tuple[float, float] | None = None
    prior: Any = None
    #: Limit of the distances of forecasts from their median, as a factor; None: forecasts are not clipped.
    clip: float | None = None
    seed: int = 0
    #: Number of rows, if it is known; a tuning may need it.
    rounds: int | None = None
    #: Name of the table in error messages.
    source: str = UNNAMED
    #: Columns of quantiles that point forecasts are combined without.
    left_out: tuple[str, ...] = ()
    #: Requested coverage of intervals, and the kinds of groups that are columns of the table.
    coverage: Coverage | None = None
    group_columns: tuple[str, ...] = ()

    def on(self, names: Sequence[str]) -> Task:
        """Return the task with the columns chosen among these columns of forecasts."""
        kept, left = self.pricing.columns(names, self.columns is not None)
        return replace(self, columns=tuple(kept), left_out=left)


class Kept(Protocol):
    """Rows and answers that are kept for the second look at the table."""

    def add(self, chunk: Chunk, answers: Answers) -> None:
        """Keep a chunk and its answers."""

    @property
    def forecasts(self) -> Array:
        """Forecasts of all rows."""

    @property
    def targets(self) -> Array:
        """Targets of all rows, in a copy that may be changed."""

    def answers(self) -> tuple[Any, Array]:
        """Return the numbers of the answered rows, and their answers."""


class InMemory:
    """A table that is in memory, and the answers to its rows."""

    def __init__(self, forecasts: Array, targets: Array) -> None:
        self.forecasts, self._targets = forecasts, targets
        self._parts: list[Answers] = []

    def add(self, chunk: Chunk, answers: Answers) -> None:
        """Keep the answers; the chunk is part of the table."""
        self._parts.append(answers)

    @property
    def targets(self) -> Array:
        """Targets of all rows, in a copy that may be changed."""
        return self._targets.copy()

    @cached_property
    def all(self) -> Answers:
        """The answers to all rows."""
        return Answers.joined(self._parts)

    def answers(self) -> tuple[Any, Array]:
        """Return the numbers of the answered rows, and their answers."""
        return self.all.rows, self.all.forecast


class OnDisk:
    """Rows of a file, and the answers to them, in temporary files."""

    def __init__(self, run: Run) -> None:
        self._quantiles = run.grid is not None
        self._spools = Spool(len(run.models) * run.loss.depth), Spool(1), Spool(1 + max(1, len(run.levels)))

    def add(self, chunk: Chunk, answers: Answers) -> None:
        """Keep a chunk and its answers."""
        forecasts, targets, told = self._spools
        forecasts.add(chunk.forecasts)
        targets.add(chunk.targets[:, None])
        told.add(np.column_stack([answers.rows, answers.forecast]))

    @property
    def forecasts(self) -> Array:
        """Forecasts of all rows."""
        return self._spools[0].array()

    @property
    def targets(self) -> Array:
        """Targets of all rows, in a copy that may be changed."""
        targets: Array = self._spools[1].array()[:, 0]
        return targets

    def answers(self) -> tuple[Any, Array]:
        """Return the numbers of the answered rows, and their answers."""
        told = self._spools[2].array()
        return told[:, 0], told[:, 1:] if self._quantiles else told[:, 1]

    def __enter__(self) -> OnDisk:
        return self

    def __exit__(self, *error: object) -> None:
        for spool in self._spools:
            spool.close()


class Run:
    """A running task: every row is answered from earlier rows, and settled when its target is known."""

    def __init__(self, task: Task) -> None:
        columns = task.columns or ()
        self.task = task
        self.loss, self.grid = task.pricing.loss_of(columns)
        #: Columns that have weights: the columns of forecasts, or the models whose quantiles they are.
        self.models = columns if self.grid is None else self.grid.models
        self.levels: tuple[float, ...] = self.loss.levels if isinstance(self.loss, QuantileLoss) else ()
        #: Names of the columns of the combined forecast.
        self.written = ("forecast",) if self.grid is None else self.grid.written
        learner = for_forecasts(task.learner, len(self.models), self.loss, task.loss_range, task.rounds)
        self.combiner = Combiner(self.models, self.loss, learner, prior=task.prior, clip=task.clip, seed=task.seed)
        self.pending = Pending(task.timing, task.source, self.levels)
        #: Intervals, if they are requested.
        self.certified: CertifiedTable | None = None
        if task.coverage is not None:
            self.certified = CertifiedTable(task.coverage, self.levels, task.group_columns)
        self.course = Course(len(self.models))
        #: Row of the table of each row of the run, if rows were sorted by their times.
        self.order: Any = None
        #: The point forecasts of the same models, which are combined separately.
        self.points: Run | None = None
        if self.grid is not None and self.grid.left:
            known = isinstance(task.prior, Mapping) and set(task.prior) == set(self.grid.left)
            self.points = Run(replace(
                task, columns=self.grid.left, pricing=Pricing(quantiles=False), left_out=(), coverage=None,
                group_columns=(), prior=task.prior if known else None,
            ))  # fmt: skip
        #: Places in which the quantiles of a model crossed and were sorted.
        self.crossed = 0
        #: Number of the last rows answered that are kept, and these rows in pieces, with their issue times.
        self._most = FAN if task.timing.issued is None else CHOICE
        self._last: deque[tuple[Answers, list[str]]] = deque()
        self._held = 0
        self._kept: Kept | None = None

    @property
    def draws(self) -> bool:
        """True if an expert is drawn in each row."""
        return bool(self.combiner.mixer.draws)

    def of_frame(self, frame: Frame) -> tuple[Iterator[Chunk], InMemory]:
        """Return the chunks of a frame, and the values stored from it."""
        names, places = frame.experts, list(self.task.columns or ())
        forecasts, points = frame.forecasts, self._points_of(frame.forecasts, names)
        if places != names:
            forecasts = np.take(forecasts, [names.index(name) for name in places], axis=1)
        forecasts, targets = self._in_order(forecasts, 1), frame.targets
        if self.task.clip is not None:  # rows are clipped in place
            forecasts = np.array(forecasts, dtype=np.float64, order="C")

        def chunks() -> Iterator[Chunk]:
            for t in range(0, len(targets), CHUNK):
                part = slice(t, t + CHUNK)
                groups = [column[part] for column in frame.groups]
                some = None if points is None else points[part]
                yield Chunk(
                    forecasts[part], targets[part], frame.times[part], frame.issued[part], t + 1, groups, points=some
                )

        return chunks(), InMemory(forecasts, targets)

    def of_file(self, chunks: Iterable[FileChunk], names: Sequence[str], target: str) -> Iterator[Chunk]:
        """Yield the chunks of a file with these numeric columns."""
        places, timing = {name: i for i, name in enumerate(names)}, self.task.timing
        columns, goal = [places[name] for name in self.task.columns or ()], places[target]
        for chunk in chunks:
            times, issued = (chunk.texts.get(name, []) if name else [] for name in (timing.time, timing.issued))
            groups = [chunk.texts[name] for name in self.task.group_columns]
            forecasts = self._in_order(np.take(chunk.numbers, columns, axis=1), chunk.first)
            if self.task.clip is not None:  # rows are clipped in place
                forecasts = np.ascontiguousarray(forecasts, dtype=np.float64)
            some = self._points_of(chunk.numbers, names)
            yield Chunk(forecasts, chunk.numbers[:, goal], times, issued, chunk.first, groups, points=some)

    def _points_of(self, numbers: Array, names: Sequence[str]) -> Array | None:
        """Return the point forecasts of the models with quantiles; None if they are not combined."""
        if self.points is None:
            return None
        places = [list(names).index(name) for name in self.points.models]
        return np.ascontiguousarray(np.take(numbers, places, axis=1), dtype=np.float64)

    def _in_order(self, forecasts: Array, first: int) -> Array:
        """Return forecasts level by level if they are quantiles; `first` is the number of the first row."""
        if self.grid is None:
            return forecasts
        forecasts, crossed = self.grid.take(forecasts, lambda t: self.pending.place(first + t))
        self.crossed += crossed
        return forecasts

    def through(self, chunks: Iterable[Chunk], kept: Kept, sinks: Sequence[Callable[[Answers], None]] = ()) -> None:
        """Process all chunks; each answer is kept and passed to every sink."""
        for chunk in chunks:
            answers = self.take(chunk)
            kept.add(chunk, answers)
            for sink in sinks:
                sink(answers)
        self._kept = kept

    def take(self, chunk: Chunk) -> Answers:
        """Answer the rows of a chunk, and settle those whose targets are known."""
        if self.certified is not None:
            self.certified.check(chunk, self.pending.place)
        block = self.pending.arrange(chunk, self.combiner.waiting)
        work = self.combiner.take(block, self.course)
        self.pending.remember(block, work.mixed)
        intervals = None if self.certified is None else self.certified.take(block, chunk.groups, work.mixed)
        answers = block.answers(work, intervals)
        if self.points is not None and chunk.points is not None:
            told = self.points.take(replace(chunk, forecasts=chunk.points, groups=(), points=None))
            answers = replace(answers, points=told.forecast)
        self._remember(chunk, answers)
        if block.refused is not None:
            raise block.refused
        return answers

    def _remember(self, chunk: Chunk, answers: Answers) -> None:
        """Keep the last answers; rows are copied, so that no chunk stays in memory."""
        if not len(answers):
            return
        told = answers.last(self._most)
        issued = [chunk.issued[row - chunk.first] for row in told.rows.tolist()] if len(chunk.issued) else []
        self._last.append((told, issued))
        self._held += len(told)
        while self._held - len(self._last[0][0]) >= self._most:
            self._held -= len(self._last.popleft()[0])

    def recent(self) -> list[Answered]:
        """Return the last rows answered."""
        rows = [
            Answered(
                row,
                told.times[k] if told.times else "",
                issued[k] if issued else "",
                told.forecast[k],
                None if told.intervals is None else told.intervals[k],
                None if told.points is None else float(told.points[k]),
            )
            for told, issued in self._last
            for k, row in enumerate(told.rows.tolist())
        ]
        return rows[-self._most :]

    def close(self) -> None:
        """End the table: settle the rows whose targets are due after the last row, and end the curves."""
        rest = self.pending.rest()
        self.combiner.finish(rest, self.pending.place)
        if self.certified is not None:
            self.certified.finish(rest)
        if self.combiner.mixer.answered:
            self.course.add(self.combiner.mixer)
        if self.points is not None:
            self.points.close()

    @cached_property
    def summary(self) -> Summary:
        """Return the summary of the run, after a second pass over the table for the best choices in hindsight."""
        from hannan.tables.combine.hindsight import hindsight
        from hannan.tables.combine.summary import Points, summarize

        assert self._kept is not None
        self.close()
        table, targets = self._kept.forecasts, self.pending.rejoin(self._kept.targets)
        mixer, answers = self.combiner.mixer, self._kept.answers()
        ahead = np.where(np.asarray(mixer.awake) > 0, mixer.beside - mixer.losses, -np.inf)
        found = hindsight(self.loss, table, targets, answers, int(np.argmax(ahead)))
        quantiles = self._quantiles(answers, table, targets)
        covered = None if self.certified is None else self.certified.report()
        told = summarize(self.combiner, self.pending, self.course, found, quantiles, self.task.left_out)
        rows, levels = self.recent(), () if self.task.coverage is None else self.task.coverage.levels
        calibration = None if quantiles is None else quantiles.calibration
        recent = Recent.of(rows, np.array([targets[one.row - 1] for one in rows]), calibration, levels)
        ends = {one.row: one.intervals for one in rows}
        forecasts = tuple(one.within(levels, ends.get(one.row)) for one in told.forecasts)
        points = None
        if self.points is not None:
            points = Points.of(self.points.combiner)
            at = {one.row: one.forecast for one in self.points.pending.forecasts()}
            forecasts = tuple(replace(one, forecast=at.get(one.row, one.forecast)) for one in forecasts)
        if self.order is not None:
            forecasts = tuple(replace(one, row=int(self.order[one.row - 1]) + 1) for one in forecasts)
        by = () if self.order is None else tuple(filter(None, (self.task.timing.issued, self.task.timing.time)))
        return replace(told, coverage=covered, recent=recent, forecasts=forecasts, points=points, sorted_by=by)

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the columns of answers: point forecasts, quantiles, and ends of intervals."""
        return (*(() if self.points is None else self.points.written), *self.written, *self.ends)

    def table_of(self, answers: Answers) -> dict[str, Array]:
        """Return answers as columns by their names, those of `heads`."""
        forecast = [answers.forecast] if answers.forecast.ndim == 1 else list(np.ascontiguousarray(answers.forecast.T))
        columns = [*([] if answers.points is None else [answers.points]), *forecast]
        return dict(zip(self.heads, [*columns, *self.columns_of(answers.intervals).values()], strict=True))

    @property
    def ends(self) -> tuple[str, ...]:
        """Names of the columns of the ends of intervals."""
        return () if self.task.coverage is None else self.task.coverage.written

    def columns_of(self, intervals: Array | None) -> dict[str, Array]:
        """Return the requested ends of intervals (rows, coverages, 2) by the names of their columns."""
        if intervals is None or self.task.coverage is None:
            return {}
        return dict(zip(self.ends, end_columns(intervals, self.task.coverage.side), strict=True))

    def _quantiles(self, answers: tuple[Any, Array], table: Array, targets: Array) -> Quantiled | None:
        from hannan.tables.combine.calibration import Quantiled, calibrated

        if self.grid is None or not isinstance(self.loss, QuantileLoss):
            return None
        rows, forecasts = answers
        answered = rows.astype(np.int64), forecasts
        calibration = calibrated(self.loss, self.models, answered, table, targets)
        by_level = self.combiner.mixer.by_level() if self.loss.apart else None
        return Quantiled(calibration, by_level, self.grid, self.crossed)
