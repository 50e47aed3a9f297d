"""`hn.combine`: combine forecasts of several models into one, with bounds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.saving.files import Outbox, write
from hannan.saving.result import Result, Shown, library_of
from hannan.saving.result import frame_of as made_frame
from hannan.tables.combine.clip import factor_of
from hannan.tables.combine.coverage import Coverage
from hannan.tables.combine.coverage_certificate import CoverageCertificate
from hannan.tables.combine.coverage_report import columns_of
from hannan.tables.combine.long_table import order_of
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.quantiles import Pricing
from hannan.tables.combine.run import Run, Task
from hannan.tables.combine.summary import Summary
from hannan.tables.combine.timing import Answers, Timing
from hannan.tables.read.frames import frame_of, index_of, names_of
from hannan.tables.read.table import BadTable, one_role
from hannan.tables.write import RowWriter
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.tables.combine.panels import Panel
    from hannan.tables.combine.run import Options


@dataclass(frozen=True)
class Combined(Result):
    """Result of `hn.combine`: a forecast per row, the weights behind it, and a summary.

    Parameters
    ----------
    experts : tuple of str
        Columns that have weights.
    rows : array of int
        Numbers of the answered rows, counted from 0. A row that only supplies an earlier target is not answered.
    times : list of str
        Times of the answered rows; empty without a column of times.
    forecast : array
        Combined forecasts; with quantiles, shape (rows, levels).
    played : array of int or None
        Expert drawn in each row, if the learner draws one.
    weights : array
        Weights, shape (rows, experts).

    Examples
    --------
    >>> import numpy as np, hannan as hn
    >>> y = np.sin(np.arange(50.0))
    >>> combined = hn.combine({"low": y - 0.1, "high": y + 0.3, "y": y}, "y")
    >>> len(combined.rows), combined.weights.shape, combined.summary.best.name
    (50, (50, 2), 'low')
    """

    experts: tuple[str, ...]
    rows: NDArray[np.int64] = field(hash=False, repr=False)
    times: list[str] = field(hash=False, repr=False)
    forecast: Array = field(hash=False, repr=False)
    played: NDArray[np.int64] | None = field(hash=False, repr=False)
    weights: Array = field(hash=False, repr=False)
    _run: Run = field(hash=False, repr=False, compare=False)
    #: Library of the table that was combined: "pandas", "polars", "pyarrow" or "".
    library: str = ""
    #: Intervals of all requested coverages, (rows, coverages, 2); None if no coverage was requested.
    intervals: Array | None = field(default=None, hash=False, repr=False)
    #: Combined point forecasts, if quantiles are combined and the table has point forecasts of the same models.
    points: Array | None = field(default=None, hash=False, repr=False)

    @property
    def time(self) -> str | None:
        """The column of times."""
        return self._run.task.timing.time

    @property
    def levels(self) -> tuple[float, ...]:
        """Quantile levels of the forecast; empty for point forecasts."""
        return self._run.levels

    @property
    def written(self) -> tuple[str, ...]:
        """Names of the columns of the forecast."""
        return self._run.written

    @property
    def interval(self) -> Array:
        """Intervals with the largest requested coverage, (rows, 2).

        An interval with low > high is empty. In the first rows of point forecasts the interval is (-inf, inf).
        """
        if self.intervals is None:
            raise ValueError("no coverage was requested; pass coverage= to combine")
        told: Array = self.intervals[:, -1]
        return told

    @property
    def certificate(self) -> CoverageCertificate:
        """Certificate of the coverage of the intervals: exact counts, bounds and cost."""
        if self.summary.coverage is None:
            raise ValueError("no coverage was requested; pass coverage= to combine")
        return self.summary.coverage.certificate

    @property
    def summary(self) -> Summary:
        """Summary of losses and bounds; the best fixed weights in hindsight are computed at the first access."""
        return self._run.summary

    def __str__(self) -> str:
        return str(self.summary)

    def shown(self) -> Shown:
        """Return the summary for terminals and notebooks.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        return self.summary.shown()

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a dict for JSON; `to_frame` has the rows.

        Returns
        -------
        dict
            The summary.
        """
        return self.summary.as_dict()

    def plot(self, what: str = "losses") -> Any:
        """Return an Altair chart.

        Parameters
        ----------
        what : {"losses", "weights", "fan"}, default "losses"
            Mean losses of the combination and the experts, weights over time, or the last rows with their forecast
            and intervals.

        Returns
        -------
        altair.Chart
            Chart.

        Raises
        ------
        ValueError
            If there is nothing to draw: no row has a target.
        """
        from hannan.tables.combine.page import combined_page

        titles = {"losses": "Mean loss", "weights": "Weights over time", "fan": "The last "}
        if what not in titles:
            raise ValueError(f"what must be one of {', '.join(titles)}; got {what!r}{validation.meant(what, titles)}")
        found = [one for one in combined_page(self.summary).pictures() if one.title.startswith(titles[what])]
        if not found:
            raise ValueError("a picture needs rows whose targets are known; no row has one")
        return found[0].chart(460)

    def to_frame(self) -> Any:
        """Return the forecast, the expert played if one is drawn, and the weight of each expert, one row per answer.

        Quantiles have one column per level, named as those of the models. The frame belongs to the library of the table
        if that is polars or pyarrow, else to pandas, or to polars without pandas.

        Returns
        -------
        DataFrame
            One row per answer.
        """
        columns: dict[str, Any] = {"time": self.times} if self.times else {}
        columns |= self._run.table_of(self._answers())
        if self.played is not None:
            columns["played"] = [self.experts[i] for i in self.played.tolist()]
        columns |= {f"weight {name}": self.weights[:, i] for i, name in enumerate(self.experts)}
        return made_frame(columns, self.library, self.rows)

    def weights_frame(self) -> Any:
        """Return the last weights with the columns model_id and weight, as forecast hubs use them.

        Returns
        -------
        DataFrame
            One row per model.
        """
        weights = [one.weight for one in self.summary.experts]
        return made_frame({"model_id": list(self.experts), "weight": weights}, self.library)

    def _answers(self) -> Answers:
        told = self.rows + 1, self.times, self.forecast, self.played, self.weights, self.intervals, self.points
        return Answers(*told)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write combined.csv, weights.csv, summary.json and (with the extra [report]) index.html atomically.

        Parameters
        ----------
        folder : path
            Folder to create or replace.

        Returns
        -------
        Path
            The folder.
        """
        with Outbox(folder) as out:
            with Sheets(out, self._run) as sheets:
                sheets.write(self._answers())
            finish(out, self.summary)
        return Path(folder)


def key_of(time: str | None, experts: Sequence[str]) -> str:
    """Return the name of the first column: that of the times unless another column has the name.

    >>> key_of("day", ["a"]), key_of("forecast", ["a"]), key_of(None, ["a"])
    ('day', 'time', 'row')
    """
    if time is None:
        return "row"
    return "time" if time in ("forecast", "played", *experts) else time


class Sheets:
    """The two files with one line per answer: combined.csv and weights.csv."""

    def __init__(self, out: Outbox, run: Run) -> None:
        self._run, time, self._experts = run, run.task.timing.time, list(run.models)
        self._timed, first = time is not None, key_of(time, [*run.models, *run.heads])
        head = [first, *run.heads, *(["played"] if run.draws else [])]
        self._combined = RowWriter(out.path("combined.csv"), head)
        self._weights = RowWriter(out.path("weights.csv"), [first, *run.models])

    def write(self, answers: Answers) -> None:
        """Write answers; their rows are counted from 1."""
        if not len(answers):
            return
        key: Any = answers.times if self._timed else answers.rows
        drawn = [] if answers.played is None else [[self._experts[i] for i in answers.played.tolist()]]
        self._combined.write([key, *self._run.table_of(answers).values(), *drawn])
        self._weights.write([key, *np.ascontiguousarray(answers.weights.T)])

    def close(self) -> None:
        """Close both files."""
        self._combined.close()
        self._weights.close()

    def __enter__(self) -> Sheets:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def finish(out: Outbox, summary: Summary) -> bool:
    """Write summary.json and index.html; return False if the page needs the extra [report]."""
    write(out.path("summary.json"), summary.to_json() + "\n")
    from hannan.report.page import PAGE, drawable
    from hannan.tables.combine.page import combined_page

    if not drawable():
        return False
    combined_page(summary).write(out.path(PAGE))
    return True


@overload
def combine(
    frame: Any, target: Any = ..., loss: str | PointLoss = ..., learner: Any = ..., *, by: None = None,
    **options: Unpack[Options],
) -> Combined: ...  # fmt: skip
@overload
def combine(
    frame: Any, target: Any = ..., loss: str | PointLoss = ..., learner: Any = ..., *, by: str | Sequence[str],
    **options: Unpack[Options],
) -> Panel: ...  # fmt: skip
@overload
def combine(
    frame: Any, target: Any = ..., loss: str | PointLoss = ..., learner: Any = ..., *, by: str | Sequence[str] | None,
    **options: Unpack[Options],
) -> Combined | Panel: ...  # fmt: skip
def combine(
    frame: Any,
    target: Any = "y",
    loss: str | PointLoss = "absolute",
    learner: Any = None,
    *,
    loss_range: tuple[float, float] | None = None,
    cap: float | None = None,
    experts: Sequence[str] | None = None,
    time: str | None = None,
    horizon: int = 1,
    by: str | Sequence[str] | None = None,
    issued: str | None = None,
    target_time: str | None = None,
    pooled: bool | None = None,
    prior: Any = None,
    quantiles: str | bool | None = None,
    per_quantile: bool = False,
    crossing: str = "refuse",
    coverage: float | Sequence[float] | None = None,
    side: str = "both",
    groups: str | Sequence[str] | None = None,
    within: float | None = None,
    clip: float | None = None,
    seed: int = 0,
) -> Combined | Panel:
    """Combine columns of forecasts into one forecast, row by row.

    Each row is answered from targets that are known before it. The default rule has no parameters and works in any
    units. With `by`, every series of a long table is combined separately. Frames of `cross_validation` of
    statsforecast, mlforecast and neuralforecast need no other argument: `unique_id`, `ds`, `cutoff` and `y` are found
    by their names.

    Parameters
    ----------
    frame : DataFrame, mapping or array
        Table with one column per model: pandas, polars, pyarrow, a mapping of columns, or a NumPy array.
    target : str, int or array, default "y"
        Column of the targets, or an array. A row without a target is answered, and no weight is learned from it.
    loss : str, default "absolute"
        "absolute" (MAE), "squared" (MSE, RMSE), "pinball:q", "huber:w" or "log".
    learner : str, learner or object, optional
        Weighting rule: a name, a learner of experts, or an object with the methods `weights(awake)` and
        `settle(forecasts, weights, target)`. Default: "two-layers" (with `cap`: "adahedge").
    loss_range : tuple of float, optional
        Smallest and largest loss. A loss outside the range raises an error.
    cap : float, optional
        Clip losses at this value.
    experts : sequence of str, optional
        Columns of forecasts. Default: all columns without another role. NaN marks a missing forecast.
    time : str, optional
        Column of row times. Rows are sorted by it (by issue time and time with `issued`); answers are in the order of
        the input. If times repeat without issue times, they must ascend, and a later row with the same time may supply
        a missing target. Default: a column `ds` that has no other role.
    horizon : int, default 1
        The target of row t becomes available before row t + horizon is answered.
    by : str or sequence of str, optional
        Columns that identify a series in a long table. Rows are sorted by series, issue time and time; answers are in
        the order of the input. Default: `unique_id` if the table has columns `unique_id` and `ds` without another role.
    issued, target_time : str, optional
        Columns of issue times and target times. Only rows issued at or after a target time use the target. With `by`
        or a column `ds`, a column `cutoff` is the default of `issued`.
    pooled : bool, optional
        With `by`: True uses one set of weights for all series, with rows in the order of time; False combines each
        series on its own. Default: each series has separate weights, starts from the weights learned so far by all
        series, and has the pool of all series as a further member (with a column of times only).
    prior : mapping, sequence or "pool", optional
        Initial weights, such as `panel.prior()` of earlier series. With `by`, "pool" starts each series from the
        weights learned so far by all series, which is the default unless `pooled` is given.
    quantiles : str or bool, optional
        Pattern of the names of quantile columns, such as "{model}_p{percent}". Default: columns named `model-lo-90`,
        `model-hi-90`, `model-q-0.1` or `model-median` are quantiles if the loss is the default. False: combine point
        forecasts and leave out interval columns that `experts` does not name.
    per_quantile : bool, default False
        Use separate weights per quantile; forecasts are sorted to avoid crossing.
    crossing : {"refuse", "sort"}, default "refuse"
        What to do if the quantiles of a model cross: raise an error or sort them.
    coverage : float or sequence of float, optional
        Requested coverage of prediction intervals, such as 0.9, or several coverages for nested intervals. The base is
        the quantile columns, or residuals of the combined forecast.
    side : {"both", "lower", "upper"}, default "both"
        Ends of the intervals: both, or one with probability `coverage` on its side.
    groups : str or sequence of str, optional
        Groups of rows that the coverage holds for too: columns, or parts of the times ("hour", "weekday", "month",
        "quarter").
    within : float, optional
        Limit of the distances of targets from the base ends, in units, that is assumed before play.
    clip : float, optional
        Move a forecast that is farther than `clip` times (such as 10) the usual distance of its column from the median
        of the available columns to that distance, for models that fail in single rows. Needs three available columns
        and 20 earlier rows. Default: no forecast is changed.
    seed : int, default 0
        Random seed of a learner that draws an expert.

    Returns
    -------
    Combined or Panel
        Forecasts, weights and a summary with losses and bounds; with `by` or a column `unique_id`, a `Panel` of all
        series.

    Raises
    ------
    BadTable
        If the table is invalid; the message names row and column. With `by`, also if two rows of a series have the
        same times.
    ValueError
        If a parameter is invalid.

    See Also
    --------
    Combiner : Combine rows as they arrive.

    Notes
    -----
    The combined forecast is sum_i p_i f_i, and the weights p are learned from the slopes of the loss. The bounds are
    computed from the observed data and hold for convex losses, for any targets, forecasts and delays
    (docs/proofs/combine.md). Quantiles are combined under the mean of the pinball losses of their levels.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.sin(np.arange(200.0))
    >>> table = {"up": y + 0.5, "down": y - 0.4, "naive": np.roll(y, 1), "y": y}
    >>> combined = combine(table, "y")
    >>> combined.forecast.shape, combined.weights.shape
    ((200,), (200, 3))
    >>> combined.summary.best.name, combined.summary.own_regret < combined.summary.bound.value
    ('down', True)
    """
    from hannan.tables.combine.panels import panel_of, usual_roles

    validation.count(seed, "seed", least=0)
    taken = [*(experts or ()), *(name for name in (target, issued) if isinstance(name, str))]
    named = None if by is None else (by,) if isinstance(by, str) else tuple(by)
    many, _ = usual_roles([*index_of(frame), *names_of(frame)], Timing(time or target_time), taken, named)
    timing = Timing.of(time, target_time, issued, horizon, many is not None)
    if many is None:
        timing = usual_roles(names_of(frame), timing, taken, None)[1]
    requested = requested_coverage(coverage, groups, within, side)
    task = Task(
        columns=None if experts is None else tuple(experts),
        pricing=Pricing(loss, cap, quantiles, per_quantile, crossing),
        timing=timing,
        learner=learner,
        loss_range=loss_range,
        prior=prior,
        clip=None if clip is None else factor_of(clip),
        seed=seed,
        coverage=requested,
    )
    if many is not None:
        return panel_of(frame, target, many, task, pooled)
    if pooled is not None or isinstance(prior, str):
        raise ValueError("pooled and prior='pool' are for tables with many series; name their column with by=")
    columns: tuple[str, ...] = ()
    if requested is not None and requested.groups:
        columns = columns_of(requested.groups, names_of(frame), None if timing.time is None else str(timing.time))
    goal = [("the target", str(target))] if isinstance(target, (str, int)) else []
    one_role([*goal, *(("a group", name) for name in columns), *(("an expert", str(name)) for name in experts or ())])
    data = frame_of(frame, target, experts, timing.time, timing.issued, columns)
    timing = replace(timing, time=data.time)
    order = order_of(data, timing)
    if order is not None:
        data = data.taken(order)
    run = Run(replace(task, timing=timing, rounds=len(data.targets), group_columns=columns).on(data.experts))
    run.order = order
    chunks, kept = run.of_frame(data)
    try:
        run.through(chunks, kept)
    except BadTable as error:
        if order is None:
            raise
        raise BadTable(f"{error} (rows were sorted by {timing.time!r}, and are numbered in this order)") from None
    told = kept.all if order is None else kept.all.in_order(order)
    return Combined(
        experts=tuple(run.models),
        rows=told.rows - 1,
        times=told.times,
        forecast=told.forecast,
        played=told.played,
        weights=told.weights,
        _run=run,
        library=library_of(frame),
        intervals=told.intervals,
        points=told.points,
    )


def requested_coverage(coverage: Any, groups: Any, within: float | None, side: str = "both") -> Coverage | None:
    """Return the requested coverage, or None if there is none."""
    if coverage is None:
        for name, value, usual in (("groups", groups, None), ("within", within, None), ("side", side, "both")):
            if value != usual:
                raise ValueError(f"{name} needs a requested coverage; pass coverage= (--coverage); got {value!r}")
        return None
    return Coverage.of(coverage, side, groups or None, within)
