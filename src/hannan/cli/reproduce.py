"""`hannan reproduce`: the paper, claim by claim."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import paged, shared, to_text, written

if TYPE_CHECKING:
    from hannan.paper.running import Result
    from hannan.saving.files import Outbox

COLOURS = {
    "holds": "green",
    "improved": "cyan",
    "holds as corrected": "blue",
    "fails as printed": "yellow",
    "fails": "bold red",
}

EPILOG = """\b
Examples:
  hannan reproduce --quick
  hannan reproduce --only lemma:regret_lstar
  hannan reproduce --quick --as-printed key-lemma   # the claim then fails
"""


@click.command(epilog=EPILOG)
@click.option("--quick", is_flag=True, help="The small grids: under 2 minutes on 2 cores instead of under 20.")
@click.option("--only", metavar="LABEL", help="Only the claims of this label of the paper, or of this name.")
@click.option(
    "--as-printed", "printed", multiple=True, metavar="NAME", help="Turn a correction back into the printed form."
)
@click.option("--jobs", type=click.IntRange(min=1), help="Processes to run claims in; the cores by default.")
@shared("Where the page and the results go; ./reproduction by default.")
def command(
    quick: bool,
    only: str | None,
    printed: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
    seed: int,
    out: Path | None,
) -> None:
    """Check every claim of the paper and write a page with the verdicts and the pictures.

    Each claim has an expected verdict and a control: the same check with a broken learner or a wrong constant, which
    must fail. The exit code is 1 if a verdict is not the expected one, or if a control does not fail.
    """
    from hannan.paper import Effort, claims
    from hannan.paper.claim import as_printed
    from hannan.paper.page import page
    from hannan.paper.running import run, versions

    chosen = claims(only)
    with as_printed(*printed):
        pass  # a name that is not known is refused before anything is shown
    order = {claim.name: k for k, claim in enumerate(chosen)}
    jobs = min(jobs or os.cpu_count() or 1, len(chosen))
    with _watched(len(chosen), as_json) as watch:
        results = sorted(watch(run(chosen, Effort(quick, seed), jobs, printed)), key=lambda r: order[r.claim.name])
    out = out or Path("reproduction")
    data: dict[str, Any] = {
        "claims": [result.as_json() for result in results],
        "summary": _summary(results),
        "controls": {
            "run": sum(result.control is not None for result in results),
            "failed": sum(result.control_failed is True for result in results),
        },
        "quick": quick,
        "seed": seed,
        "as_printed": list(printed),
        "versions": versions(),
    }

    def files(outbox: Outbox, report: str | None) -> None:
        data["report"] = report
        written(data, outbox.path("claims.json"))

    _, where = paged(out, lambda: page(results, quick=quick, seed=seed, printed=printed), files)
    failed = [result.claim.name for result in results if result.verdict.outcome != result.claim.expected]
    idle = [result.claim.name for result in results if result.control_failed is False]
    if as_json:
        click.echo(to_text(data))
    else:
        controls = data["controls"]
        click.echo("\n" + ", ".join(f"{count} {outcome}" for outcome, count in data["summary"].items()))
        click.echo(f"controls: {controls['failed']} of {controls['run']} fail, as they must")
        click.echo(where)
    if failed:
        click.echo(f"hannan: not the verdict expected: {', '.join(failed)}", err=True)
    if idle:
        click.echo(f"hannan: control does not fail: {', '.join(idle)}", err=True)
    if failed or idle:
        sys.exit(1)


def _summary(results: list[Result]) -> dict[str, int]:
    from hannan.paper import OUTCOMES

    return {outcome: sum(r.verdict.outcome == outcome for r in results) for outcome in OUTCOMES}


@contextmanager
def _watched(count: int, as_json: bool) -> Iterator[Any]:
    """A function that passes results through and shows them: lines as they come, and a bar with the time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    # With --json the screen is standard error, and only if someone is looking.
    console = Console(stderr=as_json, quiet=as_json and not sys.stderr.isatty(), highlight=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("claims", total=count)

        def watch(results: Iterable[Result]) -> Iterator[Result]:
            progress.console.print(_line("label", "verdict", "value", "bound", "control", "s", "claim", "bold"))
            for result in results:
                verdict = result.verdict
                progress.console.print(
                    _line(
                        result.claim.label,
                        verdict.outcome,
                        _number(verdict.value),
                        _number(verdict.bound),
                        _control(result),
                        f"{result.seconds:.1f}",
                        result.claim.name,
                        COLOURS[verdict.outcome],
                    )
                )
                progress.advance(task)
                yield result

        yield watch


def _line(label: str, outcome: str, value: str, bound: str, control: str, seconds: str, name: str, colour: str) -> str:
    return f"{label:<24} [{colour}]{outcome:<18}[/] {value:>10} {bound:>10}  {control:<8} {seconds:>6}  {name}"


def _control(result: Result) -> str:
    """How the control came out: it must fail."""
    return "" if result.control is None else "fails" if result.control_failed else "HOLDS"


def _number(value: float) -> str:
    from hannan.saving.formatting import number

    return number(value)
