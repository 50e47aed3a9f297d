"""Options that several commands share, and the output of results."""

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

if TYPE_CHECKING:
    from hannan.tables.read.table import Chunk, Columns, Table

Command = TypeVar("Command", bound=Callable[..., Any])


class Grouped(click.Command):
    """Command whose help lists options under headings: `groups` maps a heading to names of options."""

    def __init__(self, *args: Any, groups: dict[str, tuple[str, ...]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section per heading, and the options without a heading last."""
        records = {
            parameter.opts[0]: record
            for parameter in self.get_params(ctx)
            if not isinstance(parameter, click.Argument) and (record := parameter.get_help_record(ctx)) is not None
        }
        sections = {heading: [records.pop(name) for name in names] for heading, names in self.groups.items()}
        for heading, rows in {**sections, "Other options": list(records.values())}.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


class Choice(click.Choice[str]):
    """One of several names; the error suggests the closest one."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the error: the names, the value and a suggestion."""
        from hannan.validation import meant  # imports NumPy, which --help does not need

        return f"must be one of {', '.join(self.choices)}; got {value!r}{meant(value, self.choices)}"


#: Option of all commands; `sweep` has commands of its own that take no other shared option.
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON only.")


def shared(out: str, seed: str | bool = True) -> Callable[[Command], Command]:
    """Add --json, --seed and --out; `out` is the help of --out, and `seed` the default shown if it is not 0."""

    def add(function: Command) -> Command:
        function = json_option(function)
        function = click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=seed, help="Random seed."
        )(function)
        return click.option(
            "--out", type=click.Path(path_type=Path, file_okay=False), default=None, metavar="DIR", help=out
        )(function)

    return add


def fits(needed: float, what: str) -> None:
    """Raise ValueError if `what` needs more bytes than the memory has, before any of it is allocated.

    On Linux an allocation succeeds beyond the memory, and the system kills the process later.
    """
    try:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return
    if needed > available:
        raise ValueError(
            f"{what} need {needed / 2**30:.3g} GiB of memory; this machine has {available / 2**30:.3g} GiB"
        )


def emit(data: dict[str, Any], text: str, as_json: bool) -> None:
    """Print the data as JSON, or the text."""
    click.echo(to_text(data) if as_json else text)


def to_text(data: Any, indent: int | None = 2) -> str:
    """Return JSON text."""
    from hannan.saving.result import to_text  # imports NumPy, which --help does not need

    return to_text(data, indent)


def written(data: dict[str, Any], path: Path) -> Path:
    """Write JSON to a file atomically and return its path."""
    from hannan.saving.files import write

    return write(path, to_text(data) + "\n")


def paged(out: Path, page: Callable[[], Any], files: Callable[[Any, str | None], None]) -> tuple[str | None, str]:
    """Write a folder with index.html and the files of `files(outbox, report)` atomically.

    Returns (path of the page, line to print). The path is None if the extra [report] is not installed; the other files
    are written all the same.
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
    return None, f"{out}: results saved, no page: {extras.command('report')}"


def rows(pairs: list[tuple[str, str]]) -> str:
    """Return names and values as text in two columns."""
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in pairs)


@dataclass(frozen=True)
class LearnerOptions:
    """Options that describe a learner."""

    kind: str
    n: int
    actions: int | None = None
    smooth: str | None = None
    tuned: str | None = None
    scale: float | None = None
    clip: str | None = None


def build_learner(options: LearnerOptions, rounds: int | None = None, best_loss: float | None = None) -> Any:
    """Return the learner of the options. Omitted options are the learner's own defaults.

    The names hedge, exp3 and exp4 stand for the functions of these names, so that a number of rounds tunes them.
    """
    name, n, actions, smooth, tuned, scale, clip = (getattr(options, field.name) for field in fields(options))
    if best_loss is not None and not math.isfinite(best_loss):
        raise ValueError(f"--best-loss must be a finite number; got {best_loss:g}")
    parts = parse(name)
    for option, given, in_name in (("--smoothing", smooth, parts.smoothing), ("--tuning", tuned, parts.tuning)):
        if given is None:
            continue
        if in_name:
            raise ValueError(f"{option} is already set by --learner {name}; got {option} {given}. Omit one of them")
        if parts.kind in OWN:
            raise ValueError(f"{option} does not apply to --learner {parts.kind}; got {option} {given}")
    if scale is not None and (tuned or parts.tuning or "fixed").partition(":")[0].lower() != "fixed":
        raise ValueError(f"--scale requires --tuning fixed; got --scale {scale:g} with tuning {tuned or parts.tuning}")
    if name.strip().lower() in ALIASES and rounds is not None and (tuned, scale, best_loss, clip) == (None,) * 4:
        tuned = "horizon"  # as hn.exp3(n, rounds)
    parts = replace(parts, smoothing=smooth or parts.smoothing, tuning=tuned or parts.tuning)
    settings: dict[str, Any] = {}
    if clip is not None:
        if parts.kind != "expert-bandit":
            raise ValueError(f"--clip requires --learner expert-bandit; got --clip {clip} with --learner {name}")
        settings["clip"] = clip if clip == "tuned" else number(clip, clip)
    if actions is not None and parts.kind != "expert-bandit":
        raise ValueError(f"--actions requires --learner expert-bandit; got --actions {actions} with --learner {name}")
    if scale is not None and parts.kind in OWN:
        raise ValueError(f"--scale does not apply to --learner {parts.kind}; got --scale {scale:g}")
    return named(parts, n, actions=actions, numbers=Numbers(rounds, best_loss, scale), **settings)


def learner_options(function: Any) -> Any:
    """Add the options that describe a learner. The command receives them as `options`."""
    options = (
        click.option(
            "--learner",
            "kind",
            metavar="NAME",
            default="experts",
            show_default=True,
            help=f"Learner: {', '.join((*KINDS, *ALIASES))}. May include smoothing and tuning, as in "
            "bandit:tsallis:0.5@horizon.",
        ),
        click.option("--n", type=click.IntRange(min=1), required=True, help="Number of experts or arms."),
        click.option("--actions", type=click.IntRange(min=1), help="Number of actions of an expert-bandit."),
        click.option(
            "--smoothing",
            "smooth",
            metavar="NAME[:NUMBER]",
            help=f"Regularizer or perturbation: {', '.join(SMOOTHINGS)} (default: that of the learner; for a bandit "
            "with tuning anytime or horizon, Tsallis-INF with reduced variance).",
        ),
        click.option(
            "--tuning",
            "tuned",
            metavar="NAME[:NUMBER]",
            help=f"Learning-rate schedule: {', '.join(TUNINGS)} (default: that of the learner).",
        ),
        click.option("--scale", type=float, help="Scale (1/learning rate) for --tuning fixed."),
        click.option("--clip", metavar="RHO|tuned", help="Clipping threshold for an expert-bandit."),
    )

    @functools.wraps(function)
    def collected(**given: Any) -> Any:
        names = [field.name for field in fields(LearnerOptions)]
        return function(LearnerOptions(**{name: given.pop(name) for name in names}), **given)

    command = collected
    for option in reversed(options):
        command = option(command)
    return command


def listed(text: str | None) -> tuple[str, ...]:
    """Return names separated by commas.

    >>> listed("a, b"), listed(None)
    (('a', 'b'), ())
    """
    if text is None:
        return ()
    if not text.strip():
        raise ValueError(f"expected names separated by commas; got {text!r}. Omit the option for its default")
    return tuple(name.strip() for name in text.split(","))


def separator(delimiter: str) -> str:
    """Return the character that separates cells, with a name for the tab.

    >>> separator("tab"), separator(";")
    ('\\t', ';')
    """
    return "\t" if delimiter in ("\\t", "tab") else delimiter


@contextmanager
def opened(file: Path, columns: Columns, delimiter: str) -> Iterator[Table]:
    """Open the table of a file, and close it at the end."""
    from hannan.tables.read.source import open_table

    table = open_table(file, columns, separator(delimiter))
    try:
        yield table
    finally:
        table.close()


def watched(table: Table, rows: int | None = None, show: bool = True) -> Iterator[Chunk]:
    """Yield the chunks of a table, with a progress bar on a terminal if `show` is true and the reading is slow."""
    from hannan.games.driver import Progress

    progress = Progress(table.size, "reading", show)
    try:
        for chunk in table.chunks(rows):
            yield chunk
            progress.update(table.position())
    finally:
        progress.close()


def save_and_print(result: Any, out: Path | None, as_json: bool) -> None:
    """Save a result in the folder `out`, if one is given, and print it as text or as JSON."""
    from hannan.report.page import drawable

    if out is not None:
        result.save(out)
    if as_json:
        click.echo(to_text({**result.to_dict(), "out": None if out is None else str(out)}))
        return
    click.echo(str(result))
    if out is not None:
        page = ", index.html" if drawable() else f", no page: {extras.command('report')}"
        click.echo(f"\n{out}: summary.json{page}")
