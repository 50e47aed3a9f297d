"""The command `hannan combine`: combine forecasts of several models into one."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan import extras
from hannan.cli.options import Choice, Grouped, listed, opened, separator, shared, to_text, watched

if TYPE_CHECKING:
    from hannan.tables.combine.run import Run, Task
    from hannan.tables.combine.summary import Summary
    from hannan.tables.combine.timing import Answers


class Lines:
    """One line per answer on standard output: CSV under a header, or JSON."""

    def __init__(self, run: Run, as_json: bool) -> None:
        self._run, self._as_json, self._headed = run, as_json, as_json
        self._time = run.task.timing.time

    def write(self, answers: Answers) -> None:
        """Print the answers and flush."""
        from hannan.tables.write import line

        if not self._headed:
            click.echo(line(self._head()), nl=False)
            self._headed = True
        for t in range(len(answers)):
            click.echo(self._object(answers, t) if self._as_json else line(self._cells(answers, t)), nl=self._as_json)
        sys.stdout.flush()

    def _head(self) -> list[str]:
        from hannan.tables.combine.function import key_of

        run = self._run
        first = key_of(self._time, [*run.models, *run.heads])
        return [first, *run.heads, *(["played"] if run.draws else []), *run.models]

    def _cells(self, answers: Answers, t: int) -> list[Any]:
        played = [] if answers.played is None else [self._run.models[answers.played[t]]]
        told = [float(column[t]) for column in self._run.table_of(answers).values()]
        return [self._place(answers, t), *told, *played, *answers.weights[t].tolist()]

    def _object(self, answers: Answers, t: int) -> str:
        run, mixed = self._run, answers.forecast[t].tolist()
        forecast = {f"{q:g}": x for q, x in zip(run.levels, mixed, strict=True)} if run.levels else mixed
        played = {} if answers.played is None else {"played": run.models[answers.played[t]]}
        weights = dict(zip(run.models, answers.weights[t].tolist(), strict=True))
        # The keys do not depend on the name of the column of times.
        key = "row" if self._time is None else "time"
        intervals = {name: end if isfinite(end) else None for name, end in self._ends(answers, t).items()}
        point = {} if answers.points is None else {"point": float(answers.points[t])}
        told = {key: self._place(answers, t), "forecast": forecast, **point, **intervals, **played, "weights": weights}
        return json.dumps(told, ensure_ascii=False)

    def _ends(self, answers: Answers, t: int) -> dict[str, float]:
        rows = None if answers.intervals is None else answers.intervals[t : t + 1]
        return {name: float(column[0]) for name, column in self._run.columns_of(rows).items()}

    def _place(self, answers: Answers, t: int) -> Any:
        return answers.times[t] if answers.times else int(answers.rows[t])


EPILOG = """\b
Examples:
  hannan combine forecasts.csv --target y --out combined
  hannan combine forecasts.csv --target y --loss squared --range 0:100 --time date
  tail -f rows.csv | hannan combine - --target y --time date
  hannan combine forecasts.csv --target y --time date --coverage 0.9 --groups weekday --out combined
  hannan combine cross_validation.parquet --coverage 0.9 --out combined
  hannan combine panel.parquet --target sales --by store,item --time week --out combined
  hannan combine quantiles.csv --target y --time day --quantiles "{model}_p{percent}" --out combined
"""


#: Headings of `hannan combine --help`.
OPTIONS = {
    "Columns": ("--target", "--experts", "--time", "--delimiter"),
    "Method": ("--loss", "--learner", "--prior", "--range", "--cap", "--clip"),
    "Intervals": ("--coverage", "--side", "--groups", "--within"),
    "Many series and horizons": ("--by", "--pooled", "--horizon", "--issued", "--target-time"),
    "Quantile forecasts": ("--quantiles", "--per-quantile", "--crossing"),
    "Output": ("--out", "--json", "--seed"),
}


@click.command(cls=Grouped, groups=OPTIONS, epilog=EPILOG, short_help="Combine forecasts from a CSV or Parquet file.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--target", default="y", show_default=True, metavar="COLUMN", help="Column of the targets; cells may be empty."
)
@click.option("--experts", metavar="A,B,...", help="Columns of forecasts (default: all other columns).")
@click.option(
    "--loss",
    default="absolute",
    show_default=True,
    help="absolute (MAE), squared (MSE, RMSE), pinball:Q, huber:W or log.",
)
@click.option("--cap", type=float, metavar="LOSS", help="Clip losses at this value.")
@click.option("--range", "span", metavar="LOW:HIGH", help="Range of the losses; losses outside it are an error.")
@click.option(
    "--learner",
    metavar="NAME",
    help="two-layers (default), b, adahedge, adahedge:slopes, ml-poly, boa, squint, adanormalhedge, fixed-share, "
    "mean, median; or experts, hedge, ..., which need --range.",
)
@click.option(
    "--prior",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Initial weights: CSV with model_id and weight, as a run with --by writes them; with --by also pool (default: "
    "pool with --by, equal otherwise), the weights learned so far by all series.",
)
@click.option(
    "--time",
    metavar="COLUMN",
    help="Column of row times, ascending (default: ds). A later row with the same time may supply a missing target.",
)
@click.option(
    "--horizon",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="H",
    help="Forecast horizon: a target becomes available H rows later.",
)
@click.option(
    "--issued",
    metavar="COLUMN",
    help="Column of issue times, with --target-time: rows issued at or after a target time use the target "
    "(default: cutoff, with --by or ds).",
)
@click.option("--target-time", metavar="COLUMN", help="Column of target times, with --issued.")
@click.option(
    "--by",
    metavar="A,B",
    help="Columns that identify a series in a long table; each series is combined separately (default: unique_id, if "
    "the table has unique_id and ds).",
)
@click.option(
    "--pooled/--separate",
    default=None,
    help="With --by: one set of weights for all series, or each series alone (default: each series has separate "
    "weights and learns from the pool of all series, if there is a column of times).",
)
@click.option(
    "--quantiles",
    metavar="PATTERN",
    help="Names of quantile columns, such as {model}_p{percent}; fields {model}, {quantile}, {percent}, "
    "{lo}, {hi}; separate several patterns by commas. Default: {model}-lo-90, {model}-hi-90, {model}-q-0.1 and "
    "{model}-median. none: combine point forecasts and leave out interval columns.",
)
@click.option(
    "--per-quantile", is_flag=True, help="Separate weights per quantile; forecasts are sorted to avoid crossing."
)
@click.option(
    "--crossing",
    type=Choice(["refuse", "sort"]),
    default="refuse",
    show_default=True,
    help="Treatment of crossing quantiles of a model: raise an error or sort them.",
)
@click.option("--coverage", metavar="C,...", help="Coverage of prediction intervals, such as 0.9; several are nested.")
@click.option(
    "--groups",
    metavar="A,B",
    help="With --coverage: groups of rows to cover too: columns, or hour, weekday, month and quarter of --time.",
)
@click.option(
    "--side",
    type=click.Choice(["both", "lower", "upper"]),
    default="both",
    show_default=True,
    help="With --coverage: ends of the intervals.",
)
@click.option(
    "--within", type=float, metavar="UNITS", help="With --coverage: assumed limit of distances of targets, in units."
)
@click.option(
    "--clip",
    type=float,
    metavar="K",
    help="Move a forecast that is farther than K times the usual distance of its column from the median of its row, "
    "such as 10, to that distance (default: no forecast is changed).",
)
@click.option("--delimiter", default=",", show_default=True, help="Character between the cells.")
@shared("Folder for combined.csv, weights.csv, summary.json and index.html.")
def command(
    file: Path, target: str, loss: str, span: str | None, cap: float | None, learner: str | None, time: str | None,
    horizon: int, by: str | None, issued: str | None, target_time: str | None, pooled: bool | None, prior: Path | None,
    quantiles: str | None, per_quantile: bool, crossing: str, coverage: str | None, side: str, groups: str | None,
    within: float | None, clip: float | None, experts: str | None, delimiter: str, as_json: bool, seed: int,
    out: Path | None,
) -> None:  # fmt: skip
    """Combine the forecasts in the columns of a CSV or Parquet FILE (- for standard input, row by row).

    Each forecast uses earlier rows only. Missing forecasts are allowed. With -, each combined forecast is printed
    immediately as a line of CSV, and the summary goes to standard error; with --json, the lines are JSON objects, and
    the summary is the last line of standard output.
    """
    from hannan.tables.combine.clip import factor_of
    from hannan.tables.combine.function import requested_coverage
    from hannan.tables.combine.losses import point_loss
    from hannan.tables.combine.panels import header, usual_roles
    from hannan.tables.combine.quantiles import Pricing
    from hannan.tables.combine.run import Task
    from hannan.tables.combine.timing import Timing
    from hannan.tables.learner import parse_range
    from hannan.tables.read.table import forecast_roles

    point_loss(loss, cap)
    chosen, named = listed(experts) or None, None if by is None else tuple(listed(by))
    names = [] if str(file) == "-" else header(file, separator(delimiter))
    taken = [target, *(chosen or ()), *([] if issued is None else [issued])]
    series, _ = usual_roles(names, Timing(time or target_time), taken, named)
    many = series is not None
    timing = Timing.of(time, target_time, issued, horizon, many)
    if not many:
        timing = usual_roles(names, timing, taken, None)[1]
    task = Task(
        columns=None if chosen is None else tuple(chosen),
        pricing=Pricing(loss, cap, quantiles, per_quantile, crossing),
        timing=timing,
        learner=learner,
        loss_range=None if span is None else parse_range(span),
        prior=_prior(prior, many),
        clip=None if clip is None else factor_of(clip),
        seed=seed,
        coverage=requested_coverage(_levels(coverage), listed(groups) or None, within, side),
    )
    forecast_roles(target, timing.time, chosen or (), issued)
    shown = Shown(out, as_json, delimiter)
    if series is not None:
        combine_series(file, target, series, task, pooled, shown)
    elif pooled is not None:
        chosen_by = "--pooled" if pooled else "--separate"
        raise ValueError(f"{chosen_by} is for tables with many series; name their column with --by")
    else:
        combine_rows(file, target, task, shown)


@dataclass(frozen=True)
class Shown:
    """How a file is read and a result is written."""

    out: Path | None
    as_json: bool
    delimiter: str


def combine_rows(file: Path, target: str, task: Task, shown: Shown) -> None:
    """Combine the rows of a file or of standard input, print them if they are live, and write the results."""
    from hannan.saving.files import Outbox
    from hannan.tables.combine.function import Sheets, finish
    from hannan.tables.combine.run import OnDisk, Run
    from hannan.tables.read.table import Columns

    live, drawn, timing = str(file) == "-", False, task.timing
    task = replace(task, group_columns=_group_columns(file, target, task, shown.delimiter))
    times = (name for name in (timing.time, timing.issued) if name is not None)
    wanted = Columns(
        texts=tuple(dict.fromkeys((*times, *task.group_columns))),
        numeric=None if task.columns is None else (*task.columns, target),
        needs=(target,),
        hint="Name a column of times with --time, and choose columns with --experts A,B",
    )
    with ExitStack() as stack:
        table = stack.enter_context(opened(file, wanted, shown.delimiter))
        names = [name for name in table.names if name != target]
        if not names:
            raise ValueError(f"no column of forecasts in {table.source}; the only column is {target!r}")
        run = Run(replace(task, source=table.source).on(names))
        kept = stack.enter_context(OnDisk(run))
        outbox = None if shown.out is None else stack.enter_context(Outbox(shown.out))
        sheets = None if outbox is None else stack.enter_context(Sheets(outbox, run))
        lines = Lines(run, shown.as_json) if live else None
        chunks = run.of_file(watched(table, 1 if live else None, not shown.as_json), table.names, target)
        run.through(chunks, kept, [sink.write for sink in (sheets, lines) if sink is not None])
        summary = run.summary
        if outbox is not None and sheets is not None:
            sheets.close()
            drawn = finish(outbox, summary)
    _tell(summary, shown, drawn, live)


def _levels(text: str | None) -> list[float] | None:
    """Return the coverages of an option."""
    try:
        return None if text is None else [float(level) for level in text.split(",")]
    except ValueError:
        raise ValueError(f"--coverage must be numbers such as 0.9 or 0.8,0.95; got {text!r}") from None


def _group_columns(file: Path, target: str, task: Task, delimiter: str) -> tuple[str, ...]:
    """Return the groups that are columns of a file; of standard input, those that are not parts of the times."""
    from hannan.tables.combine.coverage_report import PARTS, columns_of
    from hannan.tables.combine.panels import header
    from hannan.tables.read.table import one_role

    asked = () if task.coverage is None else task.coverage.groups or ()
    names = [name for name in asked if name not in PARTS] if str(file) == "-" else header(file, separator(delimiter))
    found = columns_of(asked, names, task.timing.time)
    experts = [("an expert", name) for name in task.columns or ()]
    one_role([("the target", target), *(("a group", name) for name in found), *experts])
    return found


def _prior(path: Path | None, many: bool) -> dict[str, float] | str | None:
    """Return the prior of a file, model_id -> the mean of its weights; or "pool"."""
    from hannan.tables.combine.panels import read_columns
    from hannan.tables.read.table import BadTable

    if path is None:
        return None
    if str(path) == "pool":
        if many:
            return "pool"
        if not path.exists():
            raise ValueError("--prior pool is for tables with many series; name their column with --by")
    columns = read_columns(path, ("model_id",), needs=("model_id", "weight"), numeric=("weight",))
    found: dict[str, list[float]] = {}
    for name, weight in zip(map(str, columns["model_id"]), columns["weight"], strict=True):
        found.setdefault(name, []).append(float(weight))
    total = sum(sum(weights) for weights in found.values())
    if not total > 0.0:
        raise BadTable(f"{path}: the weights of a prior must have a positive sum; got {total:g}")
    # A model without weight could never recover: a tenth of the weight is even.
    return {name: 0.9 * sum(weights) / total + 0.1 / len(found) for name, weights in found.items()}


def _tell(summary: Summary, shown: Shown, drawn: bool, live: bool) -> None:
    out = shown.out
    if shown.as_json:
        told = {**summary.as_dict(), "out": None if out is None else str(out)}
        click.echo(to_text({"summary": told}, None) if live else to_text(told))
        return
    click.echo(str(summary), err=live)
    if out is None:
        if not live:
            click.echo("\nAdd --out DIR to write the forecasts, the weights and the page.")
        return
    page = "index.html" if drawn else f"no page: {extras.command('report')}"
    click.echo(f"\n{out}: combined.csv, weights.csv, summary.json, {page}", err=live)


def combine_series(file: Path, target: str, by: Sequence[str], task: Task, pooled: bool | None, shown: Shown) -> None:
    """Combine every series of a file, print the summary and write the results."""
    from hannan.tables.combine.panels import panel_of, read_columns
    from hannan.tables.read.table import BadTable, named

    if str(file) == "-":
        raise BadTable("--by needs a file; got standard input")
    timing, out = task.timing, shown.out
    texts = [*by, *(name for name in (timing.time, timing.issued) if name is not None)]
    texts += [name for name in _group_columns(file, target, task, shown.delimiter) if name not in texts]
    needs = (target, *texts, *(task.columns or ()))
    # A column that is both text and an expert is read as text; `panel_of` rejects its two roles.
    numeric = None if task.columns is None else [name for name in (*task.columns, target) if name not in texts]
    columns = read_columns(file, texts, separator(shown.delimiter), needs, numeric, not shown.as_json)
    with named(str(file)):
        panel = panel_of(columns, target, by, task, pooled, progress=not shown.as_json)
    parquet = _is_parquet(file)
    if out is not None:
        panel.save(out, parquet)
    if shown.as_json:
        click.echo(to_text({**panel.summary.as_dict(), "out": None if out is None else str(out)}))
        return
    click.echo(str(panel.summary))
    kind = "parquet" if parquet else "csv"
    hint = "Add --out DIR to write the forecasts, the weights and the page."
    click.echo(f"\n{hint}" if out is None else f"\n{out}: combined.{kind}, weights.{kind}, summary.json, index.html")


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"
