"""`hannan sweep plan.toml --out folder`: a resumable grid of games, and its results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import emit, json_option, rows, shared

if TYPE_CHECKING:
    from hannan.games.sweep import Swept

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
  drift = {adversary = "drifting", step = 0.01}     # requires n = 10 above
  real = {file = "losses.parquet"}
"""


class _PlanFirst(click.Group):
    """Group that runs its first argument as a plan if it is not a command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            args = ["run", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Options may precede the plan.
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


def _shard(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    i, slash, n = value.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise click.BadParameter(f"must be i/n with 1 <= i <= n, such as 3/8; got {value!r}")
    return int(i), int(n)


@click.group(
    cls=_PlanFirst,
    epilog=EPILOG,
    options_metavar="PLAN [OPTIONS] |",
    subcommand_metavar="COMMAND FOLDER",
    short_help="Run a grid of experiments; resumable, sharded.",
)
def command() -> None:
    """Run a grid of experiments (learners x environments x n x rounds) into a folder. An interrupted run resumes.

    PLAN is a TOML file. Options of a run: --out DIR (required), --seed, --shard i/n, --workers N, --on ADDRESS, --json;
    see `hannan sweep run --help`.
    """


@command.command("run", epilog=EPILOG, short_help="Run a plan, or resume it.")
@click.argument("plan", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--shard", metavar="i/n", callback=_shard, help="Run only part i of n (i starts at 1).")
@click.option("--workers", type=click.IntRange(min=1), help="Number of worker processes (default: all cores).")
@click.option(
    "--on", metavar="ADDRESS", help="Dask scheduler, such as tcp://scheduler:8786 (default: run on this machine)."
)
@shared("Folder for the results (required). A run with earlier results in it resumes.", seed="the plan's, else 0")
def run(
    plan: Path, shard: tuple[int, int] | None, workers: int | None, on: str | None, as_json: bool, seed: int | None,
    out: Path | None,
) -> None:  # fmt: skip
    """Run a plan, or resume it if the folder contains results of it."""
    from hannan.games.sweep import SweepFailed, sweep

    if out is None:
        raise click.UsageError("--out is required: the folder for the results")
    given = click.get_current_context().get_parameter_source("seed")
    own_seed = seed if given is click.core.ParameterSource.COMMANDLINE else None
    try:
        swept = sweep(plan, out, on, shard=shard, workers=workers, seed=own_seed)
    except SweepFailed as failed:
        click.echo(f"hannan: {failed}", err=True)
        sys.exit(1)
    _print_status(swept, as_json)


def _print_status(swept: Swept, as_json: bool) -> None:
    from hannan.saving.formatting import figure

    status = swept.status
    pairs = [
        ("folder", str(swept.folder.path)), ("cells", str(status["cells"])), ("done", str(status["done"])),
        ("left", str(status["left"])), ("seconds of games", figure(status["seconds"])),
    ]  # fmt: skip
    emit({"folder": str(swept.folder.path), **status}, rows(pairs), as_json)


def _example(arguments: str) -> str:
    return f"\b\nExamples:\n  hannan sweep {arguments}\n"


def _folder(function: Any) -> Any:
    argument = click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
    return argument(json_option(function))


@command.command("status", epilog=_example("status results"))
@_folder
def status(folder: Path, as_json: bool) -> None:
    """Show how many cells are complete."""
    from hannan.games.sweep import Swept

    _print_status(Swept(folder), as_json)


@command.command("show", epilog=_example("show results"))
@_folder
def show(folder: Path, as_json: bool) -> None:
    """Show regret, intervals, bounds and differences."""
    from hannan.games.sweep import Swept

    swept = Swept(folder)
    if not swept.status["done"]:
        raise ValueError(f"no cell of {folder} is complete; run the plan first: hannan sweep PLAN --out {folder}")
    found = swept.comparison
    emit({**swept.status, "pairs": found.rows(), "differences": found.difference_rows()}, str(swept), as_json)


@command.command("export", epilog=_example("export results --out table.parquet"))
@_folder
@click.option(
    "--out",
    "to",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Output file, .parquet or .csv.",
)  # fmt: skip
def export(folder: Path, to: Path, as_json: bool) -> None:
    """Export one sorted table without timings.

    The file is byte-identical for identical plans.
    """
    from hannan.games.sweep import Swept

    count = Swept(folder).export(to)
    emit({"file": str(to), "rows": count}, f"{to}: {count} rows", as_json)
