"""What every command but `serve` shares: --json, --seed, --out, and how a result leaves the program."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hannan import extras

Command = TypeVar("Command", bound=Callable[..., Any])


def shared(out: str, seed: str | bool = True) -> Callable[[Command], Command]:
    """--json, --seed and --out; `out` says what --out holds, `seed` what is shown as the default where it is not 0."""

    def add(function: Command) -> Command:
        function = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, nothing else.")(
            function
        )
        function = click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=seed, help="Starts every random stream."
        )(function)
        return click.option(
            "--out", type=click.Path(path_type=Path, file_okay=False), default=None, metavar="DIR", help=out
        )(function)

    return add


def fits(needed: float, what: str) -> None:
    """Refuse what cannot fit in memory before any of it is asked for: the system would kill us in the midst."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return
    if needed > there:
        raise ValueError(f"{what} must fit in memory, {there / 2**30:.3g} GiB; got {needed / 2**30:.3g} GiB")


def emit(data: dict[str, Any], text: str, as_json: bool) -> None:
    """JSON, or the text."""
    click.echo(to_text(data) if as_json else text)


def to_text(data: Any, indent: int | None = 2) -> str:
    """JSON text; imported when there is something to say, since --help needs no NumPy."""
    from hannan.saving.result import to_text

    return to_text(data, indent)


def written(data: dict[str, Any], path: Path) -> Path:
    """Write JSON, whole or not at all."""
    from hannan.saving.output import write

    return write(path, to_text(data) + "\n")


def paged(out: Path, page: Callable[[], Any], files: Callable[[Any, str | None], None]) -> tuple[str | None, str]:
    """A folder with index.html and what `files(outbox, report)` writes, all or nothing.

    Gives where the page is, or will be, and a line to say so; None where the page needs [report]: the numbers are
    kept all the same.
    """
    from hannan.report.page import PAGE, drawable
    from hannan.saving.output import Outbox

    report = str((out / PAGE).resolve()) if drawable() else None
    with Outbox(out) as outbox:
        if report is not None:
            page().write(outbox.path(PAGE))
        files(outbox, report)
    if report is not None:
        return report, f"report: {report}"
    return None, f"{out}: the numbers, and no page: {extras.command('report')}"


def rows(pairs: list[tuple[str, str]]) -> str:
    """Names and values in two columns."""
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in pairs)
