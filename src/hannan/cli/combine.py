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
    from hannan.tables.combine.rows import Combiner
    from hannan.tables.combine.summary import Summary

EPILOG = """\b
Examples:
  hannan combine forecasts.csv --target y --out combined
  hannan combine forecasts.csv --target y --loss squared --range 0:100 --time date
  tail -f rows.csv | hannan combine - --target y --time date
"""


@click.command(epilog=EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--target", required=True, metavar="COLUMN", help="What is forecast. A row may leave it empty.")
@click.option("--loss", default="absolute", show_default=True, help="absolute, squared, pinball:Q, huber:W or log.")
@click.option("--range", "span", metavar="LOW:HIGH", help="Range of the losses: one outside it is refused.")
@click.option("--cap", type=float, metavar="LOSS", help="Count larger losses as this much.")
@click.option(
    "--learner", metavar="NAME", help="adahedge (the default), experts, hedge, ...; but for it they need --range."
)
@click.option("--time", metavar="COLUMN", help="Times of the rows, ascending; a later row may bring a target.")
@click.option("--experts", metavar="A,B,...", help="The columns that are experts; by default all others.")
@click.option("--delimiter", default=",", show_default=True, help="What separates the cells.")
@shared("Where combined.csv, weights.csv, summary.json and report.html go.")
def command(
    file: Path, target: str, loss: str, span: str | None, cap: float | None, learner: str | None, time: str | None,
    experts: str | None, delimiter: str, as_json: bool, seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Combine the forecasts in the columns of a CSV or Parquet FILE (- for standard input, row by row).

    Every row is answered from the rows before it. An expert without a number sleeps. With - each answer is
    printed at once, a line of CSV, and the summary goes to standard error; with --json the lines are JSON (JSON
    Lines), and the summary is the last line of standard output.
    """
    from hannan.saving.output import Outbox
    from hannan.tables.combine.function import Sheets, finish
    from hannan.tables.combine.losses import point_loss
    from hannan.tables.combine.rows import Combiner
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
    with ExitStack() as stack:
        table = stack.enter_context(opened(file, wanted, delimiter))
        goal = table.names.index(target)
        names = [name for i, name in enumerate(table.names) if i != goal]
        if not names:
            raise ValueError(f"{table.source} must have columns of forecasts besides {target!r}; got none")
        combiner = Combiner(
            names, cost, for_forecasts(learner, len(names), cost, loss_range, None), seed, time, table.source
        )
        outbox = None if out is None else stack.enter_context(Outbox(out))
        sheets = None if outbox is None else stack.enter_context(Sheets(outbox, names, time))
        summary = _answer(combiner, _parts(table, goal, live), sheets, time, live, as_json)
        if sheets is not None:
            sheets.__exit__()
        drawn = outbox is not None and finish(outbox, summary)
    _tell(summary, out, drawn, live, as_json)


def _parts(table: Any, goal: int, live: bool) -> Iterator[tuple[Any, Any, list[str], int]]:
    """(forecasts, targets, times, first row) of each chunk."""
    import numpy as np

    for chunk in watched(table, 1 if live else None):
        times = next(iter(chunk.texts.values()), [])
        yield np.delete(chunk.numbers, goal, axis=1), chunk.numbers[:, goal], times, chunk.first


def _answer(combiner: Combiner, parts: Any, sheets: Any, time: str | None, live: bool, as_json: bool) -> Summary:
    from hannan.tables.combine.hindsight import best_combination
    from hannan.tables.combine.summary import summarise
    from hannan.tables.write import Spool

    # The oracle needs a second look at the rows: they wait on disk, not in memory.
    kept, goals = Spool(len(combiner.names)), Spool(1)
    try:
        head = live and not as_json
        for forecasts, targets, times, first in parts:
            answers = combiner.answer(forecasts, targets, times, first)
            kept.add(forecasts)
            goals.add(targets[:, None])
            if sheets is not None:
                sheets.write(answers.rows, answers.times, answers.forecast, answers.played, answers.weights)
            if live:
                _print(combiner, answers, time, as_json, head)
                head = False
        targets = combiner.rejoin(goals.array()[:, 0])
        return summarise(combiner, best_combination(combiner.loss, kept.array(), targets))
    finally:
        kept.close()
        goals.close()


def _print(combiner: Combiner, answers: Answers, time: str | None, as_json: bool, head: bool) -> None:
    """One line for each answer, at once."""
    from hannan.tables.combine.function import key_of
    from hannan.tables.write import line

    # The names of the JSON are ours, whatever the table calls its times.
    key = "row" if time is None else "time"
    if head:
        click.echo(line([key_of(time, combiner.names), "forecast", "played", *combiner.names]), nl=False)
    for t in range(len(answers)):
        at = answers.times[t] if answers.times else int(answers.rows[t])
        played, weights = combiner.names[answers.played[t]], answers.weights[t].tolist()
        if as_json:
            named = dict(zip(combiner.names, weights, strict=True))
            told = {key: at, "forecast": float(answers.forecast[t]), "played": played, "weights": named}
            click.echo(json.dumps(told, ensure_ascii=False))
        else:
            click.echo(line([at, float(answers.forecast[t]), played, *weights]), nl=False)
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
