"""`hannan sweep plan.toml --out folder`: a grid of games that goes on where it was, and what its folder holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import emit, rows, shared

if TYPE_CHECKING:
    from hannan.games.sweep.sweep import Swept

EPILOG = """\b
Examples:
  hannan sweep plan.toml --out results
  hannan sweep plan.toml --out results --shard 3/8
  hannan sweep plan.toml --out results --on tcp://scheduler:8786
  hannan sweep status results
  hannan sweep show results
  hannan sweep export results --out table.parquet

\b
A plan:
  rounds = [1000, 10000]
  runs = 200
  [learners]
  ours = "bandit"
  Exp3 = "exp3"
  [environments]
  clicks = {means = [0.88, 0.95, 0.98]}
  drift = {adversary = "drifting", step = 0.01}     # with n = 10 above
  real = {file = "losses.parquet"}
"""


class _PlanFirst(click.Group):
    """A group whose first word may also be a plan: then it is run."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            args = ["run", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Options may come before the plan.
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


def _shard(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    i, slash, n = value.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise click.BadParameter(f"it must be i/n with 1 <= i <= n, as 3/8; got {value!r}")
    return int(i), int(n)


@click.group(cls=_PlanFirst, epilog=EPILOG, options_metavar="PLAN [OPTIONS] |", subcommand_metavar="COMMAND FOLDER")
def command() -> None:
    """Play a grid, learners x environments x n x rounds, into a folder; killed, it goes on where it was.

    PLAN is a TOML file. Options of a run: --out DIR (needed), --seed, --shard i/n, --workers N, --on ADDRESS, --json;
    see `hannan sweep run --help`.
    """


@command.command("run", epilog=EPILOG)
@click.argument("plan", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--shard", metavar="i/n", callback=_shard, help="Only the i-th of n parts of the grid, i from 1.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine; the cores by default.")
@click.option("--on", metavar="ADDRESS", help="A Dask scheduler, as tcp://scheduler:8786; this machine by default.")
@shared("Where the results are, and go; a folder that has some goes on.", seed="the plan's, else 0")
def run(
    plan: Path, shard: tuple[int, int] | None, workers: int | None, on: str | None, as_json: bool, seed: int | None,
    out: Path | None,
) -> None:  # fmt: skip
    """Run a plan, or go on with it."""
    from hannan.games.sweep.sweep import SweepFailed, sweep

    if out is None:
        raise click.UsageError("--out must say where the results go; got none")
    given = click.get_current_context().get_parameter_source("seed")
    own_seed = seed if given is click.core.ParameterSource.COMMANDLINE else None
    try:
        swept = sweep(plan, out, on, shard=shard, workers=workers, seed=own_seed)
    except SweepFailed as failed:
        click.echo(f"hannan: {failed}", err=True)
        sys.exit(1)
    _tell(swept, as_json)


def _tell(swept: Swept, as_json: bool) -> None:
    from hannan.saving.formatting import figure

    told = swept.status
    pairs = [
        ("folder", str(swept.folder.path)), ("cells", str(told["cells"])), ("done", str(told["done"])),
        ("left", str(told["left"])), ("seconds of games", figure(told["seconds"])),
    ]  # fmt: skip
    emit({"folder": str(swept.folder.path), **told}, rows(pairs), as_json)


def _folder(function: Any) -> Any:
    function = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, nothing else.")(
        function
    )
    return click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))(function)


@command.command("status")
@_folder
def status(folder: Path, as_json: bool) -> None:
    """How many cells are done, of how many."""
    from hannan.games.sweep.sweep import Swept

    _tell(Swept(folder), as_json)


@command.command("show")
@_folder
def show(folder: Path, as_json: bool) -> None:
    """Regret, intervals, bounds and differences of what is done."""
    from hannan.games.sweep.sweep import Swept

    swept = Swept(folder)
    if not swept.status["done"]:
        raise ValueError(f"{folder} must have cells that are done; it has none")
    found = swept.comparison
    emit({**swept.status, "pairs": found.rows(), "differences": found.difference_rows()}, str(swept), as_json)


@command.command("export")
@_folder
@click.option(
    "--out",
    "to",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="A .parquet or .csv file to write.",
)  # fmt: skip
def export(folder: Path, to: Path, as_json: bool) -> None:
    """The table, sorted by key and without times: the same bytes however it came about."""
    from hannan.games.sweep.sweep import Swept

    count = Swept(folder).export(to)
    emit({"file": str(to), "rows": count}, f"{to}: {count} rows", as_json)
