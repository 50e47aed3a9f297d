"""What every command but `serve` shares: --json, --seed, --out, and how a result leaves the program."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hannan import extras
from hannan.learners.names import ALIASES, KINDS, OWN, SMOOTHINGS, TUNINGS, Numbers, number, parse
from hannan.learners.names import learner as named

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
    from hannan.saving.files import write

    return write(path, to_text(data) + "\n")


def paged(out: Path, page: Callable[[], Any], files: Callable[[Any, str | None], None]) -> tuple[str | None, str]:
    """A folder with index.html and what `files(outbox, report)` writes, all or nothing.

    Gives where the page is, or will be, and a line to say so; None where the page needs [report]: the numbers are
    kept all the same.
    """
    from hannan.report.page import PAGE, drawable
    from hannan.saving.files import Outbox

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


DEFAULT = "A bandit without smoothing, anytime or with --tuning horizon, is Tsallis-INF with reduced variance."


@dataclass(frozen=True)
class Options:
    """What the options say of a learner."""

    kind: str
    n: int
    actions: int | None = None
    smooth: str | None = None
    tuned: str | None = None
    scale: float | None = None
    clip: str | None = None


def learner(said: Options, rounds: int | None = None, best_loss: float | None = None) -> Any:
    """Return the learner of the options; what is not given is the learner's own default.

    hedge, exp3 and exp4 are the functions of these names, so a number of rounds tunes them.
    """
    name, n, actions, smooth, tuned, scale, clip = (getattr(said, field.name) for field in fields(said))
    if best_loss is not None and not math.isfinite(best_loss):
        raise ValueError(f"--best-loss must be a finite number; got {best_loss:g}")
    parts = parse(name)
    for option, given, named_so in (("--smoothing", smooth, parts.smoothing), ("--tuning", tuned, parts.tuning)):
        if given is not None and (named_so or parts.kind in OWN):
            raise ValueError(f"{option} must not say again what the learner's name says; got {given!r} and {name!r}")
    if scale is not None and (tuned or parts.tuning or "fixed").partition(":")[0].lower() != "fixed":
        raise ValueError(f"--scale is for a fixed tuning; got {scale!r} beside {tuned or name!r}")
    if name.strip().lower() in ALIASES and rounds is not None and (tuned, scale, best_loss, clip) == (None,) * 4:
        tuned = "horizon"  # as hn.exp3(n, rounds)
    parts = replace(parts, smoothing=smooth or parts.smoothing, tuning=tuned or parts.tuning)
    settings: dict[str, Any] = {}
    if clip is not None:
        if parts.kind != "expert-bandit":
            raise ValueError(f"--clip is for an expert-bandit; got {clip!r} for {name!r}")
        settings["clip"] = clip if clip == "tuned" else number(clip, clip)
    if actions is not None and parts.kind != "expert-bandit":
        raise ValueError(f"--actions is for an expert-bandit; got {actions!r} for {name!r}")
    if scale is not None and parts.kind in OWN:
        raise ValueError(f"{parts.kind} has no scale to set; got --scale {scale!r}")
    return named(parts, n, actions=actions, numbers=Numbers(rounds, best_loss, scale), **settings)


def learner_options(function: Any) -> Any:
    """--learner, --smoothing, --n and the rest of what describes a learner: the command gets them as `said`."""
    known = ", ".join((*KINDS, *ALIASES))
    options = (
        click.option(
            "--learner",
            "kind",
            metavar="NAME",
            default="experts",
            show_default=True,
            help=f"{known}; or with its smoothing and tuning: bandit:tsallis:0.5@horizon.",
        ),
        click.option("--n", type=click.IntRange(min=1), required=True, help="Experts, or arms."),
        click.option("--actions", type=click.IntRange(min=1), help="Actions of an expert-bandit."),
        click.option(
            "--smoothing", "smooth", metavar="NAME[:NUMBER]", help=f"One of {', '.join(SMOOTHINGS)}. {DEFAULT}"
        ),
        click.option("--tuning", "tuned", metavar="NAME[:NUMBER]", help=f"How the scale is set: {', '.join(TUNINGS)}."),
        click.option("--scale", type=float, help="The scale of --tuning fixed."),
        click.option("--clip", metavar="RHO|tuned", help="Clipping of an expert-bandit."),
    )

    @functools.wraps(function)
    def collected(**given: Any) -> Any:
        return function(Options(**{field.name: given.pop(field.name) for field in fields(Options)}), **given)

    command = collected
    for option in reversed(options):
        command = option(command)
    return command


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
    from hannan.games.driver import Progress

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
