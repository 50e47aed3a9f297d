"""`combine`: forecasts of several experts in, one forecast with a guarantee out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.saving.files import Outbox, write
from hannan.saving.result import Result, Shown, library_of
from hannan.saving.result import frame_of as made_frame
from hannan.tables.combine.calibration import quantiled
from hannan.tables.combine.hindsight import hindsight
from hannan.tables.combine.long_table import horizon_of
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.quantiles import Grid, QuantileLoss, columns_for, loss_of
from hannan.tables.combine.run import Rows, joined
from hannan.tables.combine.summary import Summary, summarise
from hannan.tables.learner import for_forecasts
from hannan.tables.read.frames import frame_of
from hannan.tables.write import RowWriter
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.tables.combine.panels import Panel
    from hannan.tables.combine.run import Options

_CHUNK = 1 << 16


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
    _close: Callable[[], Summary] = field(hash=False, repr=False, compare=False)
    #: The column of times.
    time: str | None = None
    #: Of quantiles: the levels, and what their columns are called.
    levels: tuple[float, ...] = ()
    written: tuple[str, ...] = ("forecast",)
    #: Library of the table that was combined: "pandas", "polars", "pyarrow" or "".
    library: str = ""

    @cached_property
    def summary(self) -> Summary:
        """What it came to; the best fixed combination in hindsight is searched for when this is first asked."""
        return self._close()

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
            with Sheets(out, self.experts, self.time, self.played is not None, self.written) as sheets:
                sheets.write(self.rows + 1, self.times, self.forecast, self.played, self.weights)
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
    """The two files with a line for each answer: combined.csv and weights.csv."""

    def __init__(self, out: Outbox, experts: Sequence[str], time: str | None, draws: bool = False,
                 written: Sequence[str] = ("forecast",)) -> None:  # fmt: skip
        self._experts, self._timed = list(experts), time is not None
        first = key_of(time, [*experts, *written])
        self._combined = RowWriter(out.path("combined.csv"), [first, *written, *(["played"] if draws else [])])
        self._weights = RowWriter(out.path("weights.csv"), [first, *experts])

    def write(self, rows: NDArray[np.int64], times: list[str], forecast: Array, played: NDArray[np.int64] | None,
              weights: Array) -> None:  # fmt: skip
        """Some answers; rows counted from 1."""
        if not len(rows):
            return
        key: Any = times if self._timed else rows
        drawn = [] if played is None else [[self._experts[i] for i in played.tolist()]]
        self._combined.write([key, *columns_of_answers(forecast), *drawn])
        self._weights.write([key, *np.ascontiguousarray(weights.T)])

    def __enter__(self) -> Sheets:
        return self

    def __exit__(self, *error: object) -> None:
        self._combined.close()
        self._weights.close()


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
    time = one_time(time, target_time, issued, by is not None)
    if by is not None:
        from hannan.tables.combine.panels import panel_of

        asked = (by,) if isinstance(by, str) else tuple(by)
        levels = quantiles, per_quantile, crossing
        return panel_of(
            frame,
            target,
            asked,
            (loss, cap, *levels),
            learner,
            loss_range,
            experts,
            time,
            issued,
            horizon,
            pooled,
            prior,
        )
    if pooled or isinstance(prior, str):
        raise ValueError("pooled and prior='pool' are of tables with many series: name their column with `by`")
    ahead = horizon_of(horizon, issued)
    data = frame_of(frame, target, experts, time, issued)
    kept, left = columns_for(data.experts, experts is not None, loss, cap, quantiles)
    if left:
        places = [data.experts.index(name) for name in kept]
        data = replace(data, experts=kept, forecasts=np.take(data.forecasts, places, axis=1))
    cost, grid = loss_of(data.experts, loss, cap, quantiles, per_quantile, crossing)
    names = data.experts if grid is None else list(grid.models)
    table, crossed = (
        (data.forecasts, 0) if grid is None else grid.take(data.forecasts, lambda t: f"the table, row {t + 1}")
    )
    chosen = for_forecasts(learner, len(names), cost, loss_range, len(data.targets))
    rows = Rows(names, cost, chosen, seed, data.time, horizon=ahead, prior=prior, issued=issued)
    rows.left_out = left
    parts = [
        rows.answer(table[t : t + _CHUNK], data.targets[t : t + _CHUNK], data.times[t : t + _CHUNK], t + 1,
                    data.issued[t : t + _CHUNK])
        for t in range(0, len(data.targets), _CHUNK)
    ]  # fmt: skip
    told = joined(parts, len(names), len(rows.levels))

    def close() -> Summary:
        targets = rows.rejoin(data.targets.copy())
        return close_books(rows, table, targets, grid, crossed, (told.rows, told.forecast))

    answers = told.rows - 1, told.times, told.forecast, told.played, told.weights
    written = ("forecast",) if grid is None else grid.written
    return Combined(tuple(names), *answers, close, data.time, rows.levels, written, library_of(frame))


def close_books(
    rows: Rows, table: Array, targets: Array, grid: Grid | None, crossed: int, answers: tuple[Any, Array]
) -> Summary:
    """The second look at a table that has been played: the best in hindsight, and of quantiles how they fared.

    `answers`: the numbers of their rows, from 1, and the answers; needed of quantiles alone.
    """
    rows.close()
    found, told = hindsight(rows.loss, table, targets), None
    if grid is not None and isinstance(rows.loss, QuantileLoss):
        by_level = rows.mixer.by_level() if rows.loss.apart else None
        told = quantiled(rows.loss, grid, crossed, by_level, answers, table, targets, rows.recent)
    return summarise(rows, found.oracle, found.median, found.course, told)


def one_time(time: str | None, target_time: str | None, issued: str | None, many: bool) -> str | None:
    """The column of times: those of the targets, by either name; issue times need it."""
    if target_time is not None and time not in (None, target_time):
        raise ValueError(f"the times of the targets must be one column; got {time!r} and {target_time!r}")
    time = target_time if time is None else time
    if not many and ((issued is not None and time is None) or (target_time is not None and issued is None)):
        raise ValueError(
            "issued and target_time must be told together: when a row was made, and when its target is known; got "
            f"issued {issued!r} and target_time {target_time!r}"
        )
    return time
