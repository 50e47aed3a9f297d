"""The options that describe a learner, and the learner they describe; the words are those of `learners.names`."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, fields, replace
from typing import Any

import click

from hannan.learners.names import ALIASES, KINDS, OWN, SMOOTHINGS, TUNINGS, Numbers, number, parse
from hannan.learners.names import learner as named

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
