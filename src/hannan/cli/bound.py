"""`hannan bound`: the proved regret bound of a learner."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from hannan.cli.options import Choice, LearnerOptions, build_learner, emit, learner_options, shared, written

EPILOG = """\b
Examples:
  hannan bound --learner experts --n 10 --best-loss 100
  hannan bound --learner bandit --smoothing exponential --tuning horizon --n 10 --rounds 10000 --json
"""


@click.command(epilog=EPILOG, short_help="Print the proved regret bound of a learner.")
@learner_options
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    help="Number of rounds. May be omitted with --best-loss, or if the tuning fixes it.",
)
@click.option(
    "--best-loss",
    type=float,
    help="Cumulative loss of the best choice in hindsight, or an upper bound on it (default: the number of rounds).",
)
@click.option(
    "--against",
    type=Choice(["adaptive", "oblivious", "iid", "any"]),
    help="Smallest bound valid against this adversary (default: the smallest proved bound; the output names its "
    "adversary). any means adaptive.",
)
@shared("Folder for bound.json.")
def command(
    options: LearnerOptions, rounds: int | None, best_loss: float | None, against: str | None,
    as_json: bool, seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Print the proved regret bound of a learner.

    The output contains the bound on the expected regret with its terms, scale and theorem, and the bound that the
    paper prints, for comparison.
    """
    learner = build_learner(options, rounds, best_loss)
    try:
        bound = learner.bound(rounds=rounds, best_loss=best_loss, printed=True, against=against)
        why = ""
    except ValueError as reason:
        # Not every bound has a printed form.
        bound, why = learner.bound(rounds=rounds, best_loss=best_loss, against=against), str(reason)
    data: dict[str, Any] = {
        "learner": repr(learner),
        "bound": asdict(bound),
        "holds": bound.holds,
        "printed_withheld": why or None,
    }
    text = f"{learner!r}\n{bound}"
    if why:
        text += f"\n  as printed in the paper: none ({why})"
    if out is not None:
        written(data, out / "bound.json")
    emit(data, text, as_json)
