"""The command `hannan route`: compare learners on a table of losses."""

from __future__ import annotations

from pathlib import Path

import click

from hannan.cli.options import fits, shared

EPILOG = """\b
Examples:
  hannan route table.csv
  hannan route table.csv --range 0:60 --learner bandit --learner bandit:log-barrier --runs 50 --out routed
"""


@click.command(epilog=EPILOG, short_help="Compare learners on your table of losses.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="NAME",
    help="Learner to run, repeatable (default: seven bandit and expert learners).",
)
@click.option("--range", "span", metavar="LOW:HIGH", default="0:1", show_default=True, help="Range of the losses.")
@click.option("--gains", is_flag=True, help="Values are rewards (larger is better).")
@click.option("--skip", metavar="A,B,...", help="Columns to ignore, e.g. a timestamp.")
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True, help="Number of runs per learner.")
@click.option(
    "--threads", type=click.IntRange(min=1), help="Number of threads (default: all cores). Results do not depend on it."
)
@click.option("--delimiter", default=",", show_default=True, help="Character between the cells.")
@shared("Folder for summary.json and index.html.")
def command(
    file: Path, learners: tuple[str, ...], span: str, gains: bool, skip: str | None, runs: int, threads: int | None,
    delimiter: str, as_json: bool, seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Compare learners on a table of losses: a CSV or Parquet FILE (- for standard input), one row per round.

    Each column is an arm. Bandit learners see only the loss of the chosen arm; expert learners see the whole row.
    """
    from hannan.cli.options import listed, opened, save_and_print, watched
    from hannan.tables.learner import parse_range
    from hannan.tables.read.table import Columns
    from hannan.tables.route import LEARNERS, compare
    from hannan.tables.write import Spool

    span_ = parse_range(span)
    fits(8.0 * 600.0 * runs, f"{runs} runs")
    wanted = Columns(texts=listed(skip), hint="Ignore columns that are not arms with --skip")
    with opened(file, wanted, delimiter) as table:
        if not table.names:
            raise ValueError(f"{table.source} has no column of losses: --skip {skip} ignores all columns")
        spool = Spool(len(table.names))
        try:
            for chunk in watched(table):
                spool.add(chunk.numbers)
            told = compare(
                spool.array(), table.names, learners or LEARNERS, loss_range=span_, gains=gains, runs=runs, seed=seed,
                threads=threads, source=table.source,
            )  # fmt: skip
        finally:
            spool.close()
    save_and_print(told, out, as_json)
