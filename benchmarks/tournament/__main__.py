"""Play every learner against every adversary and on tables of losses: `python -m benchmarks.tournament`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import paged, shared, to_text, written

if TYPE_CHECKING:
    from benchmarks.tournament.rules import Outcome, Setting
    from hannan.saving.files import Outbox

EPILOG = """\b
Examples:
  python -m benchmarks.tournament --quick
  python -m benchmarks.tournament --setting bandit --out tournament
"""


@click.command(epilog=EPILOG)
@click.option("--quick", is_flag=True, help="Play short games and few runs: about 1 minute instead of 15.")
@click.option(
    "--setting",
    type=click.Choice(["experts", "bandit", "expert-bandit", "combinatorial"]),
    multiple=True,
    help="Play only this setting. Repeatable.",
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME=FILE",
    help="CSV or Parquet file of losses in [0, 1], one column per arm. Repeatable.",
)
@shared("Folder for the report and the results (default: ./tournament).")
def command(
    quick: bool, setting: tuple[str, ...], tables: tuple[str, ...], as_json: bool, seed: int, out: Path | None
) -> None:
    """Play every learner against every adversary and on tables of losses.

    Writes a report with the standings. Exit code 1 if a bound is exceeded.
    """
    from benchmarks.tournament import contest
    from benchmarks.tournament.arenas import no_graphs
    from benchmarks.tournament.field import contestants
    from benchmarks.tournament.page import page, standings
    from benchmarks.tournament.rules import SETTINGS, Size
    from hannan import validation
    from hannan.paper.running import versions

    chosen: tuple[Setting, ...] = tuple(s for s in SETTINGS if not setting or s.replace("_", "-") in setting)
    promises = {s: {c.name: c.promise for c in contestants(s)} for s in chosen}
    size = Size.of(quick)
    given = [_losses(text) for text in tables]
    validation.once((name for name, _ in given), "tables")
    own = dict(given)
    outcomes = []
    for outcome in contest.hold(quick, seed, chosen, tables=own):
        outcomes.append(outcome)
        if sys.stderr.isatty():
            click.echo(f"\r{outcome.setting}: {outcome.learner}, {outcome.adversary:<30}\033[K", nl=False, err=True)
    if sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)
    out = out or Path("tournament")
    facts = {"effort": "quick" if quick else "full", "runs": str(size.runs), "seed": str(seed), **versions()}
    ranks = {s: standings([o for o in outcomes if o.setting == s], promises[s]) for s in chosen}
    data: dict[str, Any] = {
        "standings": ranks,
        "games": [_plain(o) for o in outcomes],
        "quick": quick,
        "seed": seed,
        "versions": versions(),
    }

    def files(outbox: Outbox, report: str | None) -> None:
        data["report"] = report
        written(data, outbox.path("tournament.json"))

    _, where = paged(out, lambda: page(outcomes, promises, facts, list(filter(None, [no_graphs()]))), files)
    if as_json:
        click.echo(to_text(data))
    else:
        for s in chosen:
            click.echo(f"\n{s.replace('_', ' ')}")
            click.echo(_text(ranks[s]))
        click.echo(f"\n{where}")
    broken = [f"{o.learner} on {o.adversary}" for o in outcomes if o.kept is False]
    if broken:
        click.echo(f"tournament: bounds exceeded: {', '.join(broken)}", err=True)
        sys.exit(1)


def _losses(given: str) -> tuple[str, Any]:
    """Return (name, losses) for NAME=FILE, or for FILE."""
    from hannan import validation
    from hannan.games.feeds import losses_of

    name, equals, file = given.partition("=")
    name, file = (name, file) if equals else (Path(given).stem, given)
    if not Path(file).exists():
        raise ValueError(f"--table must be NAME=FILE or FILE, with an existing file; got {given!r}")
    losses = validation.losses(losses_of(file), f"the losses of {file}")
    if losses.min() < 0.0 or losses.max() > 1.0:
        worst = losses.min() if losses.min() < 0.0 else losses.max()
        raise ValueError(f"the losses of {file} must be in [0, 1]; got {worst:g}")
    return name, losses


def _plain(o: Outcome) -> dict[str, Any]:
    low, high = o.interval()
    return {
        "setting": o.setting,
        "learner": o.learner,
        "adversary": o.adversary,
        "rounds": o.rounds,
        "runs": o.regrets.size,
        "regret": o.regret,
        "interval": [low, high],
        "largest": float(o.regrets.max()),
        "bound": o.bound,
        "source": o.source or None,
        "against": o.against or None,
        "withheld": o.withheld or None,
        "microseconds": o.microseconds,
    }


def _text(rows: list[dict[str, Any]]) -> str:
    from hannan.saving.formatting import ceiling, figure

    lines = [f"  {'learner':<38} {'regret/√T':>9} {'regret':>9} {'bound':>9} {'worst':>6} {'wins':>4} {'µs':>7}"]
    for row in rows:
        bound = "–" if row["bound"] is None else ceiling(row["bound"])
        worst = "–" if row["worst"] is None else f"{row['worst']:.2f}"
        lines.append(
            f"  {row['learner']:<38} {figure(row['share']):>9} {figure(row['regret']):>9} {bound:>9} {worst:>6} "
            f"{row['wins']:>4} {figure(row['microseconds'], 3):>7}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    command()
