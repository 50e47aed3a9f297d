"""`hannan combine`: forecasts of several experts in, one forecast with a guarantee out."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hannan import extras
from hannan.cli.combine_stream import Stream
from hannan.cli.options import shared, to_text
from hannan.cli.tables import listed, opened

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


@click.command(epilog=EPILOG)
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
    from hannan.saving.output import Outbox
    from hannan.tables.combine.function import Sheets, finish, one_time
    from hannan.tables.combine.long_table import horizon_of
    from hannan.tables.combine.losses import point_loss
    from hannan.tables.combine.quantile_loss import columns_for, loss_of
    from hannan.tables.combine.rows import Rows
    from hannan.tables.learner import for_forecasts, parse_range
    from hannan.tables.read.roles import forecast_roles
    from hannan.tables.read.table import Columns

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
        from hannan.cli.panel import combine_file

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
