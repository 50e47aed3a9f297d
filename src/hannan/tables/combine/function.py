"""`combine`: forecasts of several experts in, one forecast with a guarantee out."""

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
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.quantiles import Pricing
from hannan.tables.combine.run import Run, Task
from hannan.tables.combine.summary import Summary
from hannan.tables.combine.timing import Answers, Timing
from hannan.tables.read.frames import frame_of
from hannan.tables.write import RowWriter
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.tables.combine.panels import Panel
    from hannan.tables.combine.run import Options


@dataclass(frozen=True)
class Combined(Result):
    """What `hannan.combine` gives back: a forecast for each row, the weights behind it, and what it came to.

    `forecast` is the combination sum_i p_i f_i, of quantiles (rows, levels), `levels` says which; `played` is an expert
    drawn from p (its column), where the learner is one that draws, else None. A row that only brought the target of an
    earlier one is not answered again, so there may be fewer answers than rows: `rows` says which, counted from 0.

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
    def summary(self) -> Summary:
        """What it came to; the best fixed combination in hindsight is searched for when this is first asked."""
        return self._run.summary

    def __str__(self) -> str:
        return str(self.summary)

    def shown(self) -> Shown:
        """What it came to."""
        return Shown(self.summary.headline, self.summary.rows())

    def to_dict(self) -> dict[str, Any]:
        """What it came to, as JSON knows it; the rows are in `to_frame()`."""
        return self.summary.as_dict()

    def plot(self, what: str = "losses") -> Any:
        """An Altair chart: the mean "losses" of the combination and the experts, their "weights" over time, or of
        quantiles the "fan" of the last rows."""
        from hannan.tables.combine.page import combined_page

        titles = {"losses": "Mean loss", "weights": "Weights over time", "fan": "The last "}
        if what not in titles:
            raise ValueError(f"what must be one of {', '.join(titles)}; got {what!r}{validation.meant(what, titles)}")
        found = [one for one in combined_page(self.summary).pictures() if one.title.startswith(titles[what])]
        if not found:
            needs = "quantiles; these are points" if what == "fan" else "rows whose targets are known; no row has one"
            raise ValueError(f"a picture needs {needs}")
        return found[0].chart(460)

    def to_frame(self) -> Any:
        """Return the forecast, the expert played if one is drawn, and the weight of each expert, one row per answer.

        Quantiles have one column per level, named as those of the models. A polars or pyarrow table gives a frame of
        its own library, anything else a pandas (else polars) frame.
        """
        columns: dict[str, Any] = {"time": self.times} if self.times else {}
        columns |= dict(zip(self.written, columns_of_answers(self.forecast), strict=True))
        if self.played is not None:
            columns["played"] = [self.experts[i] for i in self.played.tolist()]
        columns |= {f"weight {name}": self.weights[:, i] for i, name in enumerate(self.experts)}
        return made_frame(columns, self.library, self.rows)

    def weights_frame(self) -> Any:
        """Return the weights at the end as forecast hubs take them: model_id, weight."""
        weights = [one.weight for one in self.summary.experts]
        return made_frame({"model_id": list(self.experts), "weight": weights}, self.library)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """combined.csv, weights.csv, summary.json and (with the extra [report]) index.html, all or nothing."""
        with Outbox(folder) as out:
            with Sheets(out, self._run) as sheets:
                sheets.write(Answers(self.rows + 1, self.times, self.forecast, self.played, self.weights))
            finish(out, self.summary)
        return Path(folder)


def columns_of_answers(forecast: Array) -> list[Array]:
    """One column, or of quantiles one a level."""
    return [forecast] if forecast.ndim == 1 else list(np.ascontiguousarray(forecast.T))


def key_of(time: str | None, experts: Sequence[str]) -> str:
    """The name of the first column: the user's own for the times, unless another column has it.

    >>> key_of("day", ["a"]), key_of("forecast", ["a"]), key_of(None, ["a"])
    ('day', 'time', 'row')
    """
    if time is None:
        return "row"
    return "time" if time in ("forecast", "played", *experts) else time


class Sheets:
    """The two files with one line per answer: combined.csv and weights.csv."""

    def __init__(self, out: Outbox, run: Run) -> None:
        time, written, self._experts = run.task.timing.time, run.written, list(run.models)
        self._timed, first = time is not None, key_of(time, [*run.models, *run.written])
        self._combined = RowWriter(out.path("combined.csv"), [first, *written, *(["played"] if run.draws else [])])
        self._weights = RowWriter(out.path("weights.csv"), [first, *run.models])

    def write(self, answers: Answers) -> None:
        """Write answers; their rows are counted from 1."""
        if not len(answers):
            return
        key: Any = answers.times if self._timed else answers.rows
        drawn = [] if answers.played is None else [[self._experts[i] for i in answers.played.tolist()]]
        self._combined.write([key, *columns_of_answers(answers.forecast), *drawn])
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
    """summary.json and index.html into a folder in the making; False where the page needs [report]."""
    write(out.path("summary.json"), summary.to_json() + "\n")
    from hannan.report.page import PAGE, drawable
    from hannan.tables.combine.page import combined_page

    if not drawable():
        return False
    combined_page(summary).write(out.path(PAGE))
    return True


@overload
def combine(
    frame: Any, target: Any, loss: str | PointLoss = ..., learner: Any = ..., *, by: None = None,
    **options: Unpack[Options],
) -> Combined: ...  # fmt: skip
@overload
def combine(
    frame: Any, target: Any, loss: str | PointLoss = ..., learner: Any = ..., *, by: str | Sequence[str],
    **options: Unpack[Options],
) -> Panel: ...  # fmt: skip
@overload
def combine(
    frame: Any, target: Any, loss: str | PointLoss = ..., learner: Any = ..., *, by: str | Sequence[str] | None,
    **options: Unpack[Options],
) -> Combined | Panel: ...  # fmt: skip
def combine(
    frame: Any,
    target: Any,
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
    pooled: bool = False,
    prior: Any = None,
    quantiles: str | bool | None = None,
    per_quantile: bool = False,
    crossing: str = "refuse",
    seed: int = 0,
) -> Combined | Panel:
    """Combine columns of forecasts into one, row by row, each row knowing only the targets known before it.

    `frame`: pandas, polars, a mapping of columns or a NumPy array; `target`: a column, or an array. Every other column
    (or those of `experts`) is an expert; one without a number in a row sleeps in it. `loss`: absolute (MAE), squared
    (MSE; also for RMSE, whose minimizer is the same), pinball:q, huber:w or log. The default plays two layers
    (`hn.Combiner`), whatever the units; with `loss_range`, the least and greatest loss, a loss outside it is refused.
    `cap` counts larger losses as that much. `learner` is another rule or learner, or its name, as for `hn.Combiner`. A
    row without a target is only answered; with `time`, a later row of the same time may bring the target. With
    `horizon=h`, the target of row t is known before row t + h is answered, and no earlier row has seen it. With columns
    of issue and target times, `issued` and `target_time`, a target is used only by rows that were issued at its time or
    later.

    Columns named `model-lo-90`, `model-hi-90`, `model-q-0.1` or `model-median` are quantiles, and so is what a pattern
    `quantiles` says, such as "{model}_p{percent}". With `quantiles=False`, or another loss, point forecasts are
    combined and columns named `-lo-`, `-hi-` or `-q-` are left out, unless `experts` names them. A quantile forecast
    has a number a level, under the mean of the pinball losses, with weights common to the levels, or `per_quantile`
    with answers sorted. Quantiles of a model that cross in a row are refused, or with `crossing="sort"` sorted there,
    and counted.

    With `by`, a long table as statsforecast and mlforecast write it: the column (or columns) that tell the series. Each
    series is combined on its own, on all cores, and a `Panel` comes back: a forecast for each row, the weights and sums
    of each series. Rows may be in any order: they are sorted by series, `cutoff` (taken as `issued`) and `time`, and
    answers are in the order of the input. Two rows of a series with the same times raise BadTable. `pooled` combines
    all series with one set of weights, rows in the order of time. `prior` is where weights start, such as
    `panel.prior()` of earlier series; with "pool" each series starts from what the pool of all had learnt by the time
    it begins. `seed` is for a learner that draws.

    >>> import numpy as np
    >>> y = np.sin(np.arange(200.0))
    >>> table = {"up": y + 0.5, "down": y - 0.4, "naive": np.roll(y, 1), "y": y}
    >>> combined = combine(table, "y")
    >>> combined.forecast.shape, combined.weights.shape
    ((200,), (200, 3))
    >>> combined.summary.best.name, combined.summary.own_regret < combined.summary.bound.value
    ('down', True)
    """
    validation.count(seed, "seed", least=0)
    timing = Timing.of(time, target_time, issued, horizon, by is not None)
    task = Task(
        None if experts is None else tuple(experts), Pricing(loss, cap, quantiles, per_quantile, crossing), timing,
        learner, loss_range, prior, seed,
    )  # fmt: skip
    if by is not None:
        from hannan.tables.combine.panels import panel_of

        return panel_of(frame, target, (by,) if isinstance(by, str) else tuple(by), task, pooled)
    if pooled or isinstance(prior, str):
        raise ValueError("pooled and prior='pool' are of tables with many series: name their column with `by`")
    data = frame_of(frame, target, experts, timing.time, issued)
    timing = replace(timing, time=data.time)
    run = Run(replace(task, timing=timing, rounds=len(data.targets)).on(data.experts))
    chunks, kept = run.of_frame(data)
    run.through(chunks, kept)
    told = kept.all
    return Combined(
        tuple(run.models), told.rows - 1, told.times, told.forecast, told.played, told.weights, run, library_of(frame)
    )
