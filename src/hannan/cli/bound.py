"""`hannan bound`: what is proved of a learner before it plays."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from hannan.cli.options import Options, emit, learner_options, shared, written
from hannan.cli.options import learner as described

EPILOG = """\b
Examples:
  hannan bound --learner experts --n 10 --best-loss 100
  hannan bound --learner bandit --smoothing exponential --tuning horizon --n 10 --rounds 10000 --json
"""


@click.command(epilog=EPILOG)
@learner_options
@click.option("--rounds", type=click.IntRange(min=1), help="How many rounds are played.")
@click.option("--best-loss", type=float, help="The cumulative loss of the best choice in hindsight, or a bound on it.")
@click.option(
    "--against",
    type=click.Choice(["any", "oblivious", "iid"]),
    help="The least bound that holds against these losses; by default the least of all, which says of whom.",
)
@shared("Write bound.json here.")
def command(
    said: Options, rounds: int | None, best_loss: float | None, against: str | None,
    as_json: bool, seed: int, out: Path | None,
) -> None:  # fmt: skip
    """The proved bound on expected regret: value, terms, tuned scale and source, with the paper's own beside it."""
    learner = described(said, rounds, best_loss)
    try:
        bound = learner.bound(rounds=rounds, best_loss=best_loss, printed=True, against=against)
        why = ""
    except ValueError as reason:
        # Not every bound has a printed form beside it.
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
