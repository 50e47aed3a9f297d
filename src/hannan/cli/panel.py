"""`hannan combine --by`: many series of one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hannan.cli.options import to_text
from hannan.cli.tables import separator


def combine_file(
    file: Path, target: str, by: Sequence[str], delimiter: str, asked: tuple[Any, ...], out: Path | None, as_json: bool
) -> None:
    """Read the whole file, combine every series, tell and keep what came of it."""
    from hannan.tables.combine.panels import panel_of, read_columns
    from hannan.tables.read.table import BadTable, named

    if str(file) == "-":
        raise BadTable("many series are read from a file; got standard input")
    cost, learner, loss_range, experts, time, issued, horizon, pooled, prior = asked
    texts = [*by, *(name for name in (time, issued) if name is not None)]
    needs = (target, *texts, *(experts or ()))
    # A column that is text and an expert too is read as text, and refused for its two roles.
    numeric = None if experts is None else [name for name in (*experts, target) if name not in texts]
    columns = read_columns(file, texts, separator(delimiter), needs, numeric, not as_json)
    with named(str(file)):
        panel = panel_of(
            columns, target, by, cost, learner, loss_range, experts, time, issued, horizon, pooled, prior, not as_json
        )
    parquet = _is_parquet(file)
    if out is not None:
        panel.save(out, parquet)
    if as_json:
        click.echo(to_text({**panel.summary.as_dict(), "out": None if out is None else str(out)}))
        return
    click.echo(str(panel.summary))
    kind = "parquet" if parquet else "csv"
    hint = "add --out DIR for the forecasts, the weights and the page"
    click.echo(f"\n{hint}" if out is None else f"\n{out}: combined.{kind}, weights.{kind}, summary.json, index.html")


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"
