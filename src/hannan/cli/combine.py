"""`hannan combine`: forecasts of several experts in, one forecast with a guarantee out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import shared
from hannan.cli.tables import listed, opened, watched

if TYPE_CHECKING:
    from hannan.tables.combine.answers import Answers
    from hannan.tables.combine.rows import Rows
    from hannan.tables.combine.summary import Summary

EPILOG = """\b
Examples:
  hannan combine forecasts.csv --target y --out combined
  hannan combine forecasts.csv --target y --loss squared --range 0:100 --time date
  tail -f rows.csv | hannan combine - --target y --time date
  hannan combine panel.parquet --target y --by unique_id --time ds --out combined
"""


@click.command(epilog=EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--target", required=True, metavar="COLUMN", help="What is forecast. A row may leave it empty.")
@click.option("--loss", default="absolute", show_default=True, help="absolute, squared, pinball:Q, huber:W or log.")
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
@click.option("--issued", metavar="COLUMN", help="With --by: when rows were issued (cutoff is taken as this).")
@click.option("--pooled", is_flag=True, help="With --by: one set of weights for all series, rows in the order of time.")
@click.option("--prior", type=click.Path(path_type=Path), metavar="FILE",
              help="Where weights start: CSV with model_id and weight, as a run with --by writes them.")  # fmt: skip
@click.option("--experts", metavar="A,B,...", help="The columns that are experts; by default all others.")
@click.option("--delimiter", default=",", show_default=True, help="What separates the cells.")
@shared("Where combined.csv, weights.csv, summary.json and report.html go.")
def command(
    file: Path, target: str, loss: str, span: str | None, cap: float | None, learner: str | None, time: str | None,
    horizon: int, by: str | None, issued: str | None, pooled: bool, prior: Path | None, experts: str | None,
    delimiter: str, as_json: bool, seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Combine the forecasts in the columns of a CSV or Parquet FILE (- for standard input, row by row).

    Every row is answered from the rows before it. An expert without a number sleeps. With - each answer is
    printed at once, a line of CSV, and the summary goes to standard error; with --json the lines are JSON (JSON
    Lines), and the summary is the last line of standard output.
    """
    from hannan.saving.output import Outbox
    from hannan.tables.combine.function import Sheets, finish
    from hannan.tables.combine.losses import point_loss
    from hannan.tables.combine.rows import Rows
    from hannan.tables.learner import for_forecasts, parse_range
    from hannan.tables.read.roles import forecast_roles
    from hannan.tables.read.table import Columns

    cost = point_loss(loss, cap)
    loss_range = None if span is None else parse_range(span)
    chosen = listed(experts) or None
    forecast_roles(target, time, chosen or ())
    wanted = Columns(
        texts=() if time is None else (time,),
        numeric=None if chosen is None else (*chosen, target),
        needs=(target,),
        hint="Name a column of times with --time, and leave others out with --experts A,B",
    )
    live = str(file) == "-"
    start = None if prior is None else _prior(prior)
    if by is not None:
        from hannan.cli.panel import combine_file

        asked = cost, learner, loss_range, chosen, time, issued, horizon, pooled, start
        return combine_file(file, target, listed(by), delimiter, asked, out, as_json)
    if issued is not None or pooled:
        raise ValueError("--issued and --pooled are of tables with many series: name their column with --by")
    with ExitStack() as stack:
        table = stack.enter_context(opened(file, wanted, delimiter))
        goal = table.names.index(target)
        names = [name for i, name in enumerate(table.names) if i != goal]
        if not names:
            raise ValueError(f"{table.source} must have columns of forecasts besides {target!r}; got none")
        chosen_learner = for_forecasts(learner, len(names), cost, loss_range, None)
        rows = Rows(names, cost, chosen_learner, seed, time, table.source, horizon, start)
        outbox = None if out is None else stack.enter_context(Outbox(out))
        sheets = None if outbox is None else stack.enter_context(Sheets(outbox, names, time, rows.mixer.draws))
        summary = _answer(rows, _parts(table, goal, live), sheets, time, live, as_json)
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


def _parts(table: Any, goal: int, live: bool) -> Iterator[tuple[Any, Any, list[str], int]]:
    """(forecasts, targets, times, first row) of each chunk."""
    import numpy as np

    for chunk in watched(table, 1 if live else None):
        times = next(iter(chunk.texts.values()), [])
        yield np.delete(chunk.numbers, goal, axis=1), chunk.numbers[:, goal], times, chunk.first


def _answer(rows: Rows, parts: Any, sheets: Any, time: str | None, live: bool, as_json: bool) -> Summary:
    from hannan.tables.combine.books import summarise
    from hannan.tables.combine.hindsight import hindsight
    from hannan.tables.write import Spool

    # The oracle needs a second look at the rows: they wait on disk, not in memory.
    kept, goals = Spool(len(rows.names)), Spool(1)
    try:
        head = live and not as_json
        for forecasts, targets, times, first in parts:
            answers = rows.answer(forecasts, targets, times, first)
            kept.add(forecasts)
            goals.add(targets[:, None])
            if sheets is not None:
                sheets.write(answers.rows, answers.times, answers.forecast, answers.played, answers.weights)
            if live:
                _print(rows, answers, time, as_json, head)
                head = False
        targets = rows.rejoin(goals.array()[:, 0])
        found = hindsight(rows.loss, kept.array(), targets)
        return summarise(rows, found.oracle, found.median, found.course)
    finally:
        kept.close()
        goals.close()


def _print(rows: Rows, answers: Answers, time: str | None, as_json: bool, head: bool) -> None:
    """One line for each answer, at once."""
    from hannan.tables.combine.function import key_of
    from hannan.tables.write import line

    # The names of the JSON are ours, whatever the table calls its times.
    key = "row" if time is None else "time"
    if head:
        drawn = ["played"] if rows.mixer.draws else []
        click.echo(line([key_of(time, rows.names), "forecast", *drawn, *rows.names]), nl=False)
    for t in range(len(answers)):
        at = answers.times[t] if answers.times else int(answers.rows[t])
        played = [] if answers.played is None else [rows.names[answers.played[t]]]
        weights = answers.weights[t].tolist()
        if as_json:
            named = dict(zip(rows.names, weights, strict=True))
            also = {"played": played[0]} if played else {}
            told = {key: at, "forecast": float(answers.forecast[t]), **also, "weights": named}
            click.echo(json.dumps(told, ensure_ascii=False))
        else:
            click.echo(line([at, float(answers.forecast[t]), *played, *weights]), nl=False)
    sys.stdout.flush()


def _tell(summary: Summary, out: Path | None, drawn: bool, live: bool, as_json: bool) -> None:
    if as_json:
        told = {**summary.as_dict(), "out": None if out is None else str(out)}
        click.echo(json.dumps({"summary": told}, ensure_ascii=False) if live else json.dumps(told, indent=1))
        return
    click.echo(str(summary), err=live)
    if out is None:
        if not live:
            click.echo("\nadd --out DIR for the forecasts, the weights and the page")
        return
    page = "report.html" if drawn else "no page: pip install 'hannan[report]'"
    click.echo(f"\n{out}: combined.csv, weights.csv, summary.json, {page}", err=live)
