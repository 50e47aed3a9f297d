"""What the commands on a user's table share: opening it, watching it, and keeping what came out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan import extras
from hannan.cli.options import to_text

if TYPE_CHECKING:
    from hannan.tables.read.table import Chunk, Columns, Table


def listed(text: str | None) -> tuple[str, ...]:
    """Names between commas.

    >>> listed("a, b"), listed(None)
    (('a', 'b'), ())
    """
    if text is None:
        return ()
    if not text.strip():
        raise ValueError(f"names must be given, with commas between them, or the option left out; got {text!r}")
    return tuple(name.strip() for name in text.split(","))


def separator(delimiter: str) -> str:
    """What separates cells, as it is typed: a tab by its name too.

    >>> separator("tab"), separator(";")
    ('\\t', ';')
    """
    return "\t" if delimiter in ("\\t", "tab") else delimiter


@contextmanager
def opened(file: Path, columns: Columns, delimiter: str) -> Iterator[Table]:
    """The table of a file, closed at the end."""
    from hannan.tables.read.source import open_table

    table = open_table(file, columns, separator(delimiter))
    try:
        yield table
    finally:
        table.close()


def watched(table: Table, rows: int | None = None, show: bool = True) -> Iterator[Chunk]:
    """Yield the chunks of a table, with a bar on a terminal if `show` and if they take long."""
    from hannan.games.progress import Progress

    progress = Progress(table.size, "reading", show)
    try:
        for chunk in table.chunks(rows):
            yield chunk
            progress.update(table.position())
    finally:
        progress.close()


def told_and_kept(told: Any, out: Path | None, as_json: bool) -> None:
    """The end of a command on a table: its folder written, then what was found as text, or as JSON and nothing else."""
    from hannan.report.page import drawable

    if out is not None:
        told.save(out)
    if as_json:
        click.echo(to_text({**told.to_dict(), "out": None if out is None else str(out)}))
        return
    click.echo(str(told))
    if out is not None:
        page = ", index.html" if drawable() else f", no page: {extras.command('report')}"
        click.echo(f"\n{out}: summary.json{page}")
