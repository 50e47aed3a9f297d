"""`hannan store`: check, back up and upgrade a store, and erase a person from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import Command, emit, json_option

if TYPE_CHECKING:
    from hannan.serving.maintenance import Checked

EPILOG = """\b
Examples:
  hannan store check decisions.db
  hannan store backup decisions.db copy.db
  hannan store upgrade decisions.db
  hannan store forget-person decisions.db anna@example.com
"""


def _examples(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  hannan store {line}" for line in lines)


@click.group(epilog=EPILOG, short_help="Check, back up and upgrade a store of decisions.")
def command() -> None:
    """Check, back up and upgrade a store, and erase a person from it.

    STORE is an SQLite file or a postgresql:// URL. The commands check and backup read a file that a service may have
    open. The others need a store that no process has open.
    """


def _store(function: Command) -> Command:
    """Add the argument STORE and the options --shard and --json."""
    function = json_option(function)
    function = click.option(
        "--shard", metavar="I/N", default="0/1", show_default=True, help="Shard I of N of a store in PostgreSQL."
    )(function)
    return click.argument("store", metavar="STORE")(function)


def _place(text: str) -> tuple[int, int]:
    from hannan.cli.serve import shard_of_text

    return shard_of_text(text)


def _told(found: Checked, text: str, as_json: bool, **more: Any) -> None:
    words = (
        f"{text}: {found.learners} learners, {found.keys} keys, {found.decisions:,} decisions, "
        f"{found.pending:,} pending; "
        f"events {found.first:,} to {found.sequence:,}, {found.snapshots} snapshots, {found.replays} equal replays"
    )
    emit({**more, **found._asdict()}, words, as_json)


@command.command(
    epilog=_examples("check decisions.db", "check postgresql://db.example/decisions --shard 0/2"),
    short_help="Verify checksums, snapshots and the replay.",
)
@_store
def check(store: str, shard: str, as_json: bool) -> None:
    """Verify every checksum and snapshot, and that the journal reproduces every decision bit for bit.

    The exit code is 2 if the store is damaged.
    """
    from hannan.serving import maintenance

    _told(maintenance.check(store, *_place(shard)), f"{store}: no damage", as_json, store=store)


@command.command(
    epilog=_examples("backup decisions.db copy.db"), short_help="Copy a store that may be open, and verify the copy."
)
@click.argument("store", metavar="STORE")
@click.argument("copy", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def backup(store: str, copy: Path, as_json: bool) -> None:
    """Copy the SQLite file STORE to the new file COPY while a service may have STORE open, and verify the copy."""
    from hannan.serving import maintenance

    _told(maintenance.backup(store, copy), str(copy), as_json, copy=str(copy))


@command.command(epilog=_examples("upgrade decisions.db"), short_help="Convert a store to the format of this version.")
@_store
def upgrade(store: str, shard: str, as_json: bool) -> None:
    """Convert a store to the format of this version, and write a snapshot. Back it up before.

    Earlier versions cannot open the store afterwards.
    """
    from hannan.serving import maintenance

    _told(maintenance.upgrade(store, *_place(shard)), f"{store}: upgraded", as_json, store=store)


@command.command(
    "forget-person",
    epilog=_examples("forget-person decisions.db anna@example.com --yes"),
    short_help="Erase the name of a person from a store.",
)
@click.argument("store", metavar="STORE")
@click.argument("person")
@click.option("--shard", metavar="I/N", default="0/1", show_default=True, help="Shard I of N of a store in PostgreSQL.")
@click.option("--yes", is_flag=True, help="Erase without asking for confirmation.")
@json_option
def forget_person(store: str, person: str, shard: str, yes: bool, as_json: bool) -> None:
    """Erase PERSON from STORE, as a key, as the targeting key of flags, and as the id of decisions.

    The decisions stay, without a name. Backups, exported logs and tickets outside of the store are not changed.
    """
    from hannan.serving import maintenance

    if not yes:
        click.confirm(f"Erase {person!r} from {store}? This cannot be undone", abort=True, err=True)
    found = maintenance.forget_person(store, person, *_place(shard))
    where = f"erased as a key of {', '.join(found.learners)}" if found.learners else "not a key"
    emit({"store": store, **found._asdict()}, f"{store}: {where}; {found.ids} ids deleted", as_json)
