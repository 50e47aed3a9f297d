"""`hannan evidence`: which arm of a stored learner is best, and what the decisions have cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from hannan.cli.options import Choice, shared, to_text

EPILOG = """\b
Examples:
  hannan evidence decisions.db banner
  hannan evidence decisions.db banner --alpha 0.01 --json
  hannan evidence decisions.db banner --out panel
"""


@click.command(epilog=EPILOG, short_help="Report which arm of a stored learner is best.")
@click.argument("store", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("name")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Probability that any statement is wrong.")
@click.option(
    "--means",
    type=Choice(["any", "fixed"]),
    default="any",
    show_default=True,
    help="Assumption about the mean rewards: any (they may change) or fixed (constant; this is not verified).",
)
@shared("Folder for evidence.json and a page with the intervals.")
def command(store: Path, name: str, alpha: float, means: str, as_json: bool, seed: int, out: Path | None) -> None:
    """Print statements about the arms of a learner that are valid however often they are read.

    STORE is the SQLite file of a store, NAME a learner in it. The file is only read, also while a service has it open.
    The exit code is 0 whatever the statements are.
    """
    from hannan.players.evidence import Means, checked
    from hannan.saving.files import Outbox
    from hannan.serving.decisions import recovered
    from hannan.serving.evidence import of_shard
    from hannan.serving.sqlite import SQLiteReader

    alpha = checked(alpha, means)
    backend = SQLiteReader(store)
    try:
        stored = recovered(cast(Any, backend)).find(name)
        found = stored.stating(alpha, cast(Means, means), of_shard(backend.shard, backend.shards))()
    finally:
        backend.close()
    if out is not None:
        with Outbox(out) as outbox:
            found.save(outbox.path("evidence.json"))
            found.save(outbox.path("index.html"))
    if as_json:
        click.echo(to_text({"name": name, **found.to_dict(), "out": None if out is None else str(out)}))
        return
    click.echo(f"{name}: {found}")
    if out is not None:
        click.echo(f"\n{out}: evidence.json, index.html")
