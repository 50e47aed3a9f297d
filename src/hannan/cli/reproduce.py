"""`hannan reproduce`: check every claim of the paper."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import paged, shared, to_text, written

if TYPE_CHECKING:
    from hannan.paper.running import Result
    from hannan.saving.files import Outbox

#: Terminal colors of the tones of the page.
COLORS = {"good": "green", "note": "blue", "warn": "yellow", "bad": "bold red", "plain": "default"}

#: Headings of the lines that --verbose prints.
HEADS = ("label", "verdict", "value", "bound", "control", "s", "claim")

EPILOG = """\b
Examples:
  hannan reproduce --quick
  hannan reproduce --only lemma:regret_lstar --verbose
  hannan reproduce --quick --as-printed key-lemma   # exit code 1: the printed form fails
"""


@click.command(epilog=EPILOG)
@click.option("--quick", is_flag=True, help="Use small grids: under 2 minutes instead of under 20 on 2 cores.")
@click.option("--only", metavar="LABEL", help="Check only the claims with this label of the paper, or with this name.")
@click.option(
    "--as-printed",
    "printed",
    multiple=True,
    metavar="NAME",
    help="Check the paper's uncorrected statement instead of correction NAME. Repeatable.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Number of worker processes (default: all cores).")
@click.option("--verbose", is_flag=True, help="Print one line per claim.")
@shared("Folder for the report and the results (default: ./reproduction).")
def command(
    quick: bool,
    only: str | None,
    printed: tuple[str, ...],
    jobs: int | None,
    verbose: bool,
    as_json: bool,
    seed: int,
    out: Path | None,
) -> None:
    """Check every claim of the paper.

    Writes a report with the verdict, the numbers and the pictures of each claim. Each claim is checked together with
    a negative control: the same check on a deliberately broken variant, which must fail. Exit code 1 on any
    unexpected verdict, or if a control does not fail.
    """
    from hannan.paper import Effort, claims
    from hannan.paper.claim import as_printed
    from hannan.paper.page import page, summary
    from hannan.paper.running import run, versions
    from hannan.report.page import PAGE

    chosen = claims(only)
    with as_printed(*printed):
        pass  # Reject unknown names before any claim is checked.
    order = {claim.name: k for k, claim in enumerate(chosen)}
    jobs = min(jobs or os.cpu_count() or 1, len(chosen))
    start = time.monotonic()
    with _watched(len(chosen), as_json, verbose) as watch:
        results = sorted(watch(run(chosen, Effort(quick, seed), jobs, printed)), key=lambda r: order[r.claim.name])
    seconds = time.monotonic() - start
    out = out or Path("reproduction")
    data: dict[str, Any] = {
        "claims": [result.as_json() for result in results],
        "summary": _outcomes(results),
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

    report, without = paged(out, lambda: page(results, quick=quick, seed=seed, printed=printed), files)
    failed = [result.claim.name for result in results if result.verdict.outcome != result.claim.expected]
    idle = [result.claim.name for result in results if result.control_failed is False]
    if as_json:
        click.echo(to_text(data))
    else:
        click.echo(summary(results, seconds))
        click.echo(without if report is None else f"Report: {out / PAGE}")
    if failed:
        click.echo(f"hannan: unexpected verdict: {', '.join(failed)}", err=True)
    if idle:
        click.echo(f"hannan: negative control was not rejected: {', '.join(idle)}", err=True)
    if failed or idle:
        sys.exit(1)


def _outcomes(results: list[Result]) -> dict[str, int]:
    from hannan.paper import OUTCOMES

    return {outcome: sum(r.verdict.outcome == outcome for r in results) for outcome in OUTCOMES}


@contextmanager
def _watched(count: int, as_json: bool, verbose: bool) -> Iterator[Any]:
    """Yield a function that passes results through and shows progress.

    A terminal shows one progress line, which is erased at the end. With `verbose` each result is printed on a line.
    With `as_json` both go to standard error.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Checking claims", total=count)

        def watch(results: Iterable[Result]) -> Iterator[Result]:
            if verbose:
                console.print(_line(HEADS, "bold"))
            for result in results:
                if verbose:
                    console.print(_row(result))
                progress.advance(task)
                yield result

        yield watch


def _row(result: Result) -> str:
    """Return the line that --verbose prints for a result."""
    from hannan.paper.page import KINDS, kind
    from hannan.saving.formatting import number

    verdict, control = result.verdict, result.control_failed
    found = KINDS[kind(result.claim, verdict.outcome)]
    cells = (
        result.claim.label,
        found.label,
        number(verdict.value),
        number(verdict.bound),
        "" if control is None else "rejected" if control else "ACCEPTED",
        f"{result.seconds:.1f}",
        result.claim.name,
    )
    return _line(cells, COLORS[found.tone])


def _line(cells: tuple[str, ...], color: str) -> str:
    label, verdict, value, bound, control, seconds, name = cells
    return f"{label:<24} [{color}]{verdict:<18}[/] {value:>10} {bound:>10}  {control:<8} {seconds:>6}  {name}"
