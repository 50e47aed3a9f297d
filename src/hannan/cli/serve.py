"""`hannan serve`: a store of decisions over HTTP."""

from __future__ import annotations

import math
import re
from pathlib import Path

import click

from hannan import extras
from hannan.cli.options import Grouped

EPILOG = """\b
Examples:
  hannan serve decisions.db
  hannan serve decisions.db --add banner=red,blue --add price=9.90,10.90
  hannan serve decisions.db --add banner=red,blue --wait 1h --default 0 --floor 0.05
  hannan serve decisions.db --host 0.0.0.0 --port 80 --keys keys.txt
  hannan serve postgresql://db.example/decisions --shard 0/2

\b
Requests:
  curl -X POST localhost:8414/v1/learners/banner/act
  curl --json '{"ticket": "...", "reward": 1}' localhost:8414/v1/observe
"""


#: Headings of `hannan serve --help`.
OPTIONS = {
    "Address and access": ("--host", "--port", "--keys", "--host-name"),
    "Learners": ("--add", "--wait", "--default", "--floor", "--ofrep-bulk"),
    "Storage": ("--keep", "--remember", "--shard", "--standby"),
    "Limits": ("--max-body", "--max-batch", "--max-queue", "--max-keys", "--head-timeout", "--body-timeout"),
}


@click.command(
    cls=Grouped, groups=OPTIONS, epilog=EPILOG, short_help="Serve bandit decisions over HTTP from a durable store."
)
@click.argument("store", metavar="STORE")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8414,
    show_default=True,
    help="Port to listen on; 0 chooses a free port.",
)
@click.option(
    "--keys",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="File of bearer tokens, one ROLE:SECRET per line (roles: act, observe, admin). Also read from HANNAN_KEYS.",
)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    help="Host name accepted without tokens, in addition to those of this machine. Repeatable.",
)
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="NAME=ARM,ARM,...",
    help="Create a reward-maximizing bandit with these arms if it does not exist. If its arms differ, a new stage of "
    "it begins. Repeatable.",
)
@click.option(
    "--wait",
    metavar="TIME",
    help="Settle decisions of the --add learners without feedback after TIME, such as 45s, 30m, 1h or 7d, with "
    "--default.",
)
@click.option("--default", type=float, metavar="REWARD", help="Reward of a decision without feedback after --wait.")
@click.option(
    "--floor",
    metavar="SHARE",
    help="Exploration floor of the --add learners: a share of the decisions in which arms are drawn with equal "
    "probabilities, such as 0.05, or fourth-root (default: none).",
)
@click.option(
    "--ofrep-bulk",
    metavar="NAME,NAME,...",
    help="Learners drawn in bulk evaluations of OpenFeature clients, even if never shown (default: none).",
)
@click.option(
    "--max-body",
    type=click.IntRange(min=100),
    default=1 << 20,
    show_default=True,
    help="Maximum request size in bytes.",
)
@click.option(
    "--max-batch", type=click.IntRange(min=1), default=1000, show_default=True, help="Maximum decisions per request."
)
@click.option(
    "--max-queue",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Maximum events waiting for the disk; further requests get 503.",
)
@click.option(
    "--max-keys",
    type=click.IntRange(min=0),
    default=1_000_000,
    show_default=True,
    help="Maximum keys per learner; decisions for further keys get 409.",
)
@click.option(
    "--head-timeout",
    type=click.FloatRange(min=0.0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for receiving the head of a request.",
)
@click.option(
    "--body-timeout",
    type=click.FloatRange(min=0.0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for receiving the body of a request.",
)
@click.option(
    "--keep",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="DAYS",
    help="Delete events older than DAYS (default: keep everything). The log then begins after them.",
)
@click.option(
    "--remember",
    type=click.FloatRange(min=0.0, min_open=True),
    default=7.0,
    show_default=True,
    metavar="DAYS",
    help="Time for which ids of decisions are remembered; a person keeps the value of a flag for as long.",
)
@click.option("--shard", metavar="I/N", default="0/1", show_default=True, help="Shard I of N to own (I starts at 0).")
@click.option("--standby", is_flag=True, help="Wait for the current owner of the shard to exit, then take over.")
@click.option("--json", "as_json", is_flag=True, help="Log JSON lines on a terminal too.")
def command(
    store: str, host: str, port: int, keys: Path | None, host_names: tuple[str, ...], added: tuple[str, ...],
    wait: str | None, default: float | None, floor: str | None, ofrep_bulk: str | None, max_body: int, max_batch: int,
    max_queue: int, max_keys: int, head_timeout: float, body_timeout: float, keep: float | None, remember: float,
    shard: str, standby: bool, as_json: bool,
) -> None:  # fmt: skip
    """Serve bandit decisions over HTTP from STORE, a file (created if missing) or a postgresql:// URL.

    Responses are sent after the decision is durable on disk. On SIGTERM or Ctrl-C, pending requests are answered and
    the store is closed cleanly.
    """
    try:
        import uvicorn  # noqa: F401

        from hannan.serving.server import Settings, run
        from hannan.serving.service import Limits
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"hannan serve needs {missing.name}: {extras.command('serve')}") from None
    from hannan.cli.commands import restore_signals
    from hannan.serving.access import Access, is_loopback

    access = Access.of(keys, host_names)
    if not access.guarded and not is_loopback(host):
        raise ValueError(
            f"--keys is required if --host is not an address of this machine; got --host {host} without --keys"
        )
    restore_signals()
    limits = Limits(max_body, max_batch, max_queue, head_timeout, body_timeout)
    learners = [_bandit(text) for text in added]
    place, of = shard_of_text(shard)
    patience, kept = 1e9 if standby else 0.0, math.inf if keep is None else keep * 86400.0
    if (wait is None) != (default is None):
        raise ValueError(f"--wait and --default must be given together; got --wait {wait} and --default {default}")
    bulk = tuple(name.strip() for name in ofrep_bulk.split(",")) if ofrep_bulk else ()
    expiry = None if wait is None else _seconds(wait)
    run(
        Settings(
            store, host, port, access, limits, learners, as_json=as_json, shard=place, shards=of, patience=patience,
            keep=kept, max_keys=max_keys, wait=expiry, default=default, floor=_floor(floor),
            remember=remember * 86400.0, ofrep_bulk=bulk,
        )
    )  # fmt: skip


#: Seconds per unit of a time.
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(text: str) -> float:
    """Return a time in seconds.

    >>> [_seconds(text) for text in ("45s", "1.5h", "90")]
    [45.0, 5400.0, 90.0]
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if match is None or not float(match[1]):
        raise ValueError(f"--wait must be a positive time such as 45s, 30m, 1h or 7d; got {text!r}")
    return float(match[1]) * UNITS[match[2]]


def _floor(text: str | None) -> float | str:
    """Return a floor as a number, or as a word that the learner checks.

    >>> _floor(None), _floor("0.05"), _floor("fourth-root")
    (0.0, 0.05, 'fourth-root')
    """
    try:
        return 0.0 if text is None else float(text)
    except ValueError:
        return str(text)


def shard_of_text(text: str) -> tuple[int, int]:
    """Return (I, N) of a shard such as 0/4."""
    place, slash, of = text.partition("/")
    if not (slash and place.isdecimal() and of.isdecimal() and len(text) < 12):
        raise ValueError(f"--shard must be I/N with 0 <= I < N, such as 0/4; got {text!r}")
    return int(place), int(of)


def _bandit(text: str) -> tuple[str, list[str]]:
    name, equals, arms = text.partition("=")
    names = [arm.strip() for arm in arms.split(",")]
    if not equals or not all(names):
        raise ValueError(f"--add must be NAME=ARM,ARM,..., such as banner=red,blue; got {text!r}")
    return name, names
