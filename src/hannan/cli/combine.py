"""`hannan combine`: forecasts of several experts in, one forecast with a guarantee out."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan import extras
from hannan.cli.options import listed, opened, separator, shared, to_text, watched

if TYPE_CHECKING:
    from hannan.tables.combine.quantiles import Grid
    from hannan.tables.combine.run import Answers, Rows
    from hannan.tables.combine.summary import Summary


class Stream:
    """Rows of a table, through rows at play, to sheets and standard output."""

    def __init__(
        self, rows: Rows, grid: Grid | None, time: str | None, issued: str | None, live: bool, as_json: bool
    ) -> None:
        self.rows, self.grid, self.time, self.issued, self.live, self.as_json = rows, grid, time, issued, live, as_json
        self.written = ("forecast",) if grid is None else grid.written
        self.crossed = 0

    def run(self, table: Any, goal: int, columns: list[int], sheets: Any) -> Summary:
        """Read, answer, keep and print; then look at all of it a second time."""
        from hannan.tables.combine.function import close_books
        from hannan.tables.write import Spool

        rows, head = self.rows, self.live and not self.as_json
        # The second look needs the rows: they wait on disk, not in memory. Of quantiles, the answers too.
        width = len(rows.names) * rows.loss.depth
        kept, goals, told = Spool(width), Spool(1), Spool(1 + len(rows.levels))
        try:
            for forecasts, targets, times, issued, first in self._parts(table, goal, columns):
                answers = rows.answer(forecasts, targets, times, first, issued)
                kept.add(forecasts)
                goals.add(targets[:, None])
                if self.grid is not None:
                    told.add(_numbered(answers))
                if sheets is not None:
                    sheets.write(answers.rows, answers.times, answers.forecast, answers.played, answers.weights)
                if self.live:
                    self._print(answers, head)
                    head = False
            targets, answered = rows.rejoin(goals.array()[:, 0]), told.array()
            return close_books(rows, kept.array(), targets, self.grid, self.crossed, (answered[:, 0], answered[:, 1:]))
        finally:
            for spool in (kept, goals, told):
                spool.close()

    def _parts(self, table: Any, goal: int, columns: list[int]) -> Any:
        """(forecasts, targets, times, issue times, first row) of each chunk."""
        import numpy as np

        for chunk in watched(table, 1 if self.live else None, not self.as_json):
            times, issued = (chunk.texts.get(name, []) if name else [] for name in (self.time, self.issued))
            forecasts, first = np.take(chunk.numbers, columns, axis=1), chunk.first
            if self.grid is not None:
                forecasts, crossed = self.grid.take(forecasts, partial(_place, table.source, first))
                self.crossed += crossed
            yield forecasts, chunk.numbers[:, goal], times, issued, first

    def _print(self, answers: Answers, head: bool) -> None:
        """One line for each answer, at once."""
        from hannan.tables.combine.function import key_of
        from hannan.tables.write import line

        rows, time = self.rows, self.time
        # The names of the JSON are ours, whatever the table calls its times.
        key = "row" if time is None else "time"
        if head:
            drawn = ["played"] if rows.mixer.draws else []
            first = key_of(time, [*rows.names, *self.written])
            click.echo(line([first, *self.written, *drawn, *rows.names]), nl=False)
        for t in range(len(answers)):
            at = answers.times[t] if answers.times else int(answers.rows[t])
            played = [] if answers.played is None else [rows.names[answers.played[t]]]
            weights, mixed = answers.weights[t].tolist(), answers.forecast[t].tolist()
            if self.as_json:
                named = dict(zip(rows.names, weights, strict=True))
                also = {"played": played[0]} if played else {}
                forecast = (
                    mixed if self.grid is None else {f"{q:g}": x for q, x in zip(rows.levels, mixed, strict=True)}
                )
                told = {key: at, "forecast": forecast, **also, "weights": named}
                click.echo(json.dumps(told, ensure_ascii=False))
            else:
                click.echo(line([at, *(mixed if self.grid is not None else [mixed]), *played, *weights]), nl=False)
        sys.stdout.flush()


def _place(source: str, first: int, t: int) -> str:
    return f"{source}, row {first + t}"


def _numbered(answers: Answers) -> Any:
    """Answers behind the numbers of their rows."""
    import numpy as np

    return np.column_stack([answers.rows, answers.forecast])


if TYPE_CHECKING:
    from hannan.tables.combine.summary import Summary

EPILOG = """\b
Examples:
  hannan combine forecasts.csv --target y --out combined
  hannan combine forecasts.csv --target y --loss squared --range 0:100 --time date
  tail -f rows.csv | hannan combine - --target y --time date
  hannan combine panel.parquet --target y --by unique_id --time ds --out combined
  hannan combine quantiles.csv --target y --time day --quantiles "{model}_p{percent}" --out combined
"""


@click.command(epilog=EPILOG, short_help="Combine forecasts from a CSV or Parquet file.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--target", required=True, metavar="COLUMN", help="Column of the targets; a cell may be empty.")
@click.option(
    "--loss",
    default="absolute",
    show_default=True,
    help="absolute (MAE), squared (MSE, RMSE), pinball:Q, huber:W or log.",
)
@click.option("--range", "span", metavar="LOW:HIGH", help="Range of the losses: one outside it is refused.")
@click.option("--cap", type=float, metavar="LOSS", help="Count larger losses as this much.")
@click.option(
    "--learner",
    metavar="NAME",
    help="two-layers (the default), b, adahedge, adahedge:slopes, ml-poly, boa, squint, adanormalhedge, fixed-share, "
    "mean, median; or experts, hedge, ..., which need --range.",
)
@click.option("--time", metavar="COLUMN", help="Times of the rows, ascending; a later row may bring a target.")
@click.option(
    "--horizon", type=click.IntRange(1), default=1, show_default=True, metavar="H",
    help="The target of a row is known before the H-th row after it is answered, and no earlier.",
)  # fmt: skip
@click.option("--by", metavar="A,B", help="Columns that tell the series of a long table: each is combined on its own.")
@click.option("--issued", metavar="COLUMN",
              help="When rows were issued, with --target-time: a target is used by rows issued at its time or later. "
              "(With --by, cutoff is taken as this.)")  # fmt: skip
@click.option("--target-time", metavar="COLUMN", help="When the target of a row is known, with --issued.")
@click.option("--pooled", is_flag=True, help="With --by: one set of weights for all series, rows in the order of time.")
@click.option("--prior", type=click.Path(path_type=Path), metavar="FILE",
              help="Where weights start: CSV with model_id and weight, as a run with --by writes them; with --by also "
              "pool: what all series had taught when a series begins.")  # fmt: skip
@click.option("--quantiles", metavar="PATTERN",
              help="How columns of quantiles are named, such as {model}_p{percent}; fields {model}, {quantile}, "
              "{percent}, {lo}, {hi}; several between commas. {model}-lo-90, {model}-hi-90, {model}-q-0.1 and "
              "{model}-median are found without it; none: combine point forecasts, leave intervals out.")  # fmt: skip
@click.option("--per-quantile", is_flag=True, help="Weights for each quantile on its own; answers are sorted.")
@click.option("--crossing", type=click.Choice(["refuse", "sort"]), default="refuse", show_default=True,
              help="Quantiles of a model that cross in a row.")  # fmt: skip
@click.option("--experts", metavar="A,B,...", help="The columns that are experts; by default all others.")
@click.option("--delimiter", default=",", show_default=True, help="What separates the cells.")
@shared("Where combined.csv, weights.csv, summary.json and index.html go.")
def command(
    file: Path, target: str, loss: str, span: str | None, cap: float | None, learner: str | None, time: str | None,
    horizon: int, by: str | None, issued: str | None, target_time: str | None, pooled: bool, prior: Path | None,
    quantiles: str | None, per_quantile: bool, crossing: str, experts: str | None, delimiter: str, as_json: bool,
    seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Combine the forecasts in the columns of a CSV or Parquet FILE (- for standard input, row by row).

    Every row is answered from the rows before it. An expert without a number sleeps. With - each answer is
    printed at once, a line of CSV, and the summary goes to standard error; with --json the lines are JSON (JSON
    Lines), and the summary is the last line of standard output.
    """
    from hannan.saving.files import Outbox
    from hannan.tables.combine.function import Sheets, finish, one_time
    from hannan.tables.combine.long_table import horizon_of
    from hannan.tables.combine.losses import point_loss
    from hannan.tables.combine.quantiles import columns_for, loss_of
    from hannan.tables.combine.run import Rows
    from hannan.tables.learner import for_forecasts, parse_range
    from hannan.tables.read.table import Columns, forecast_roles

    point_loss(loss, cap)
    loss_range = None if span is None else parse_range(span)
    chosen = listed(experts) or None
    time = one_time(time, target_time, issued, by is not None)
    forecast_roles(target, time, chosen or (), issued)
    wanted = Columns(
        texts=tuple(name for name in (time, issued) if name is not None),
        numeric=None if chosen is None else (*chosen, target),
        needs=(target,),
        hint="Name a column of times with --time, and leave others out with --experts A,B",
    )
    live = str(file) == "-"
    priced = loss, cap, quantiles, per_quantile, crossing
    if prior is not None and str(prior) == "pool" and by is None and not prior.exists():
        raise ValueError("--prior pool is of tables with many series: name their column with --by")
    start = None if prior is None else str(prior) if by is not None and str(prior) == "pool" else _prior(prior)
    if by is not None:
        asked = priced, learner, loss_range, chosen, time, issued, horizon, pooled, start
        return combine_file(file, target, listed(by), delimiter, asked, out, as_json)
    if pooled:
        raise ValueError("--pooled is of tables with many series: name their column with --by")
    ahead = horizon_of(horizon, issued)
    with ExitStack() as stack:
        table = stack.enter_context(opened(file, wanted, delimiter))
        goal = table.names.index(target)
        names = [name for i, name in enumerate(table.names) if i != goal]
        if not names:
            raise ValueError(f"{table.source} must have columns of forecasts besides {target!r}; got none")
        names, left = columns_for(names, chosen is not None, loss, cap, quantiles)
        cost, grid = loss_of(names, *priced)
        models = names if grid is None else list(grid.models)
        chosen_learner = for_forecasts(learner, len(models), cost, loss_range, None)
        rows = Rows(models, cost, chosen_learner, seed, time, table.source, ahead, start, issued)
        rows.left_out = left
        written = ("forecast",) if grid is None else grid.written
        outbox = None if out is None else stack.enter_context(Outbox(out))
        sheets = None
        if outbox is not None:
            sheets = stack.enter_context(Sheets(outbox, models, time, rows.mixer.draws, written))
        stream = Stream(rows, grid, time, issued, live, as_json)
        summary = stream.run(table, goal, [table.names.index(name) for name in names], sheets)
        if sheets is not None:
            sheets.__exit__()
        drawn = outbox is not None and finish(outbox, summary)
    _tell(summary, out, drawn, live, as_json)


def _prior(path: Path) -> dict[str, float]:
    """model_id -> the mean of its weights."""
    from hannan.tables.combine.panels import read_columns
    from hannan.tables.read.table import BadTable

    columns = read_columns(path, ("model_id",), needs=("model_id", "weight"), numeric=("weight",))
    found: dict[str, list[float]] = {}
    for name, weight in zip(map(str, columns["model_id"]), columns["weight"], strict=True):
        found.setdefault(name, []).append(float(weight))
    total = sum(sum(weights) for weights in found.values())
    if not total > 0.0:
        raise BadTable(f"{path}: weights of a prior must have a positive sum; got {total:g}")
    # What has no weight left could not come back: a tenth is even.
    return {name: 0.9 * sum(weights) / total + 0.1 / len(found) for name, weights in found.items()}


def _tell(summary: Summary, out: Path | None, drawn: bool, live: bool, as_json: bool) -> None:
    if as_json:
        told = {**summary.as_dict(), "out": None if out is None else str(out)}
        click.echo(to_text({"summary": told}, None) if live else to_text(told))
        return
    click.echo(str(summary), err=live)
    if out is None:
        if not live:
            click.echo("\nadd --out DIR for the forecasts, the weights and the page")
        return
    page = "index.html" if drawn else f"no page: {extras.command('report')}"
    click.echo(f"\n{out}: combined.csv, weights.csv, summary.json, {page}", err=live)


def combine_file(
    file: Path, target: str, by: Sequence[str], delimiter: str, asked: tuple[Any, ...], out: Path | None, as_json: bool
) -> None:
    """Read the whole file, combine every series, tell and keep what came of it."""
    from hannan.tables.combine.panels import panel_of, read_columns
    from hannan.tables.read.table import BadTable, named

    if str(file) == "-":
        raise BadTable("many series are read from a file; got standard input")
    cost, learner, loss_range, experts, time, issued, horizon, pooled, prior = asked
    texts = [*by, *(name for name in (time, issued) if name is not None)]
    needs = (target, *texts, *(experts or ()))
    # A column that is text and an expert too is read as text, and refused for its two roles.
    numeric = None if experts is None else [name for name in (*experts, target) if name not in texts]
    columns = read_columns(file, texts, separator(delimiter), needs, numeric, not as_json)
    with named(str(file)):
        panel = panel_of(
            columns, target, by, cost, learner, loss_range, experts, time, issued, horizon, pooled, prior, not as_json
        )
    parquet = _is_parquet(file)
    if out is not None:
        panel.save(out, parquet)
    if as_json:
        click.echo(to_text({**panel.summary.as_dict(), "out": None if out is None else str(out)}))
        return
    click.echo(str(panel.summary))
    kind = "parquet" if parquet else "csv"
    hint = "add --out DIR for the forecasts, the weights and the page"
    click.echo(f"\n{hint}" if out is None else f"\n{out}: combined.{kind}, weights.{kind}, summary.json, index.html")


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"
