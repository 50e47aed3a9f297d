"""`hannan serve`: a store of decisions over HTTP."""

from __future__ import annotations

import math
from pathlib import Path

import click

from hannan import extras

EPILOG = """\b
Examples:
  hannan serve decisions.db
  hannan serve decisions.db --add banner=red,blue --add price=9.90,10.90
  hannan serve decisions.db --host 0.0.0.0 --port 80 --keys keys.txt
  hannan serve postgresql://db.example/decisions --shard 0/2

\b
  curl -X POST localhost:8414/v1/learners/banner/act
  curl --json '{"ticket": "...", "reward": 1}' localhost:8414/v1/observe
"""


@click.command(epilog=EPILOG)
@click.argument("store", metavar="STORE")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8414,
    show_default=True,
    help="Port to listen on; 0 chooses a free one.",
)
@click.option(
    "--keys",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Bearer keys, a line each, ROLE:SECRET; roles act, observe, admin. Also HANNAN_KEYS.",
)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    help="Host name to answer for without keys, besides those of this machine.",
)
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="NAME=ARM,ARM,...",
    help="Add a bandit for rewards; other arms than before begin a new stage of it.",
)
@click.option(
    "--max-body", type=click.IntRange(min=100), default=1 << 20, show_default=True, help="Bytes of a request."
)
@click.option("--max-batch", type=click.IntRange(min=1), default=1000, show_default=True, help="Decisions of one.")
@click.option(
    "--max-queue",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Events that may wait for the disk before requests are refused with 503.",
)
@click.option(
    "--max-keys",
    type=click.IntRange(min=0),
    default=1_000_000,
    show_default=True,
    help="Number of keys per learner. Decisions for further keys are rejected with 409.",
)
@click.option(
    "--head-timeout",
    type=click.FloatRange(min=0.0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Time in which the head of a request must arrive.",
)
@click.option(
    "--body-timeout",
    type=click.FloatRange(min=0.0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time in which the body of a request must arrive.",
)
@click.option(
    "--keep",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="DAYS",
    help="Let events go that are older: the log begins after them. Without it all are kept.",
)
@click.option("--shard", metavar="I/N", default="0/1", show_default=True, help="Own shard I of N, counted from 0.")
@click.option("--standby", is_flag=True, help="Wait until the owner of the shard is gone, and take its place.")
@click.option("--json", "as_json", is_flag=True, help="Log JSON lines, also on a terminal.")
def command(
    store: str, host: str, port: int, keys: Path | None, host_names: tuple[str, ...], added: tuple[str, ...],
    max_body: int, max_batch: int, max_queue: int, max_keys: int, head_timeout: float, body_timeout: float,
    keep: float | None, shard: str, standby: bool, as_json: bool,
) -> None:  # fmt: skip
    """Serve the decisions of STORE, a file (made if it is not there) or postgresql://..., over HTTP.

    An answer is given when what it says is on the disk. SIGTERM or Ctrl-C: what was asked is answered, all is written,
    and the store is closed.
    """
    try:
        import uvicorn  # noqa: F401

        from hannan.serving.server import Settings, run
        from hannan.serving.service import Limits
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"a service needs {missing.name}: {extras.command('serve')}") from None
    from hannan.cli.commands import let_be
    from hannan.serving.access import Access, is_loopback

    access = Access.of(keys, host_names)
    if not access.guarded and not is_loopback(host):
        raise ValueError(f"without keys a service must listen on this machine only; got host {host} and no --keys")
    let_be()
    limits = Limits(max_body, max_batch, max_queue, head_timeout, body_timeout)
    learners = [_bandit(text) for text in added]
    place, of = _shard(shard)
    patience, kept = 1e9 if standby else 0.0, math.inf if keep is None else keep * 86400.0
    run(Settings(store, host, port, access, limits, learners, as_json, place, of, patience, kept, max_keys))


def _shard(text: str) -> tuple[int, int]:
    place, slash, of = text.partition("/")
    if not (slash and place.isdecimal() and of.isdecimal() and len(text) < 12):
        raise ValueError(f"--shard must be I/N, such as 0/4; got {text!r}")
    return int(place), int(of)


def _bandit(text: str) -> tuple[str, list[str]]:
    name, equals, arms = text.partition("=")
    names = [arm.strip() for arm in arms.split(",")]
    if not equals or not all(names):
        raise ValueError(f"--add must be NAME=ARM,ARM,...; got {text!r}")
    return name, names
