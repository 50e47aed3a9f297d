"""`hannan play`: repeated games of a learner against an adversary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import LearnerOptions, build_learner, emit, fits, learner_options, paged, shared, written

if TYPE_CHECKING:
    from hannan.games.record import Record
    from hannan.saving.files import Outbox

EPILOG = """\b
Examples:
  hannan play --learner bandit --smoothing tsallis --n 10 --rounds 100000 --adversary switching --runs 100
  hannan play --learner experts --n 10 --rounds 5000 --adversary alternating_leader --out game
"""


@click.command(epilog=EPILOG, short_help="Play a learner against an adversary; print its regret.")
@learner_options
@click.option("--rounds", type=click.IntRange(min=1), default=10_000, show_default=True, help="Number of rounds.")
@click.option("--adversary", default="switching", show_default=True, help="Loss sequence of hannan.adversaries.")
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True, help="Number of independent runs.")
@click.option("--best-loss", type=float, help="Upper bound on the best cumulative loss, for --tuning best-loss.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Number of threads (default: all cores). Results do not depend on it.",
)
@shared("Folder for record.npz, record.json and a page with the plot.")
def command(
    options: LearnerOptions, rounds: int, adversary: str, runs: int, best_loss: float | None, threads: int | None,
    as_json: bool, seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Play a learner against an adversary and print its regret with its bound."""
    import numpy as np

    from hannan import adversaries
    from hannan.games.play import play
    from hannan.validation import meant

    known = adversaries.all_adversaries()
    if adversary not in known:
        names = ", ".join(sorted(known))
        raise ValueError(f"--adversary must be one of {names}; got {adversary!r}{meant(adversary, known)}")
    learner, n, actions = build_learner(options, rounds, best_loss), options.n, options.actions
    width = actions or n
    # Losses, advice, and per run the counts and about 300 points of two curves.
    fits(8.0 * (rounds * (width + (n if actions else 0)) + runs * (n + 600.0)), f"{rounds} rounds and {runs} runs")
    if best_loss is not None and learner.tuning.told_best is None:
        raise ValueError(
            f"--best-loss requires a tuning by the best loss, such as --tuning best-loss; got --best-loss "
            f"{best_loss:g} with {learner!r}"
        )
    losses = known[adversary](rounds, actions if hasattr(learner, "experts") else n, seed=seed)
    advice = None
    if hasattr(learner, "experts"):
        # Random advice, except that the first expert always recommends the best action.
        advice = np.random.default_rng([seed, 5]).integers(0, actions, (rounds, n))
        advice[:, 0] = int(losses.sum(axis=0).argmin())
    record = play(learner, losses, runs=runs, seed=seed, advice=advice, threads=threads)
    data = _data(record, adversary)
    text = repr(record)
    if out is not None:

        def files(outbox: Outbox, report: str | None) -> None:
            record.save(outbox.path("record.npz"))
            data["report"] = report
            written(data, outbox.path("record.json"))

        text += "\n" + paged(out, lambda: _page(record, adversary), files)[1]
    emit(data, text, as_json)


def _data(record: Record, adversary: str) -> dict[str, Any]:
    from dataclasses import asdict

    low, high = record.interval() if record.runs > 1 else (record.mean_regret, record.mean_regret)
    return {
        "learner": record.learner,
        "adversary": adversary,
        "rounds": record.rounds,
        "runs": record.runs,
        "seed": record.seed,
        "regret": float(record.mean_regret[-1]),
        "interval": [float(low[-1]), float(high[-1])],
        "largest": float(record.regret[:, -1].max()),
        "best_loss": record.best_loss,
        "bound": None if record.bound is None else asdict(record.bound),
        "bound_withheld": record.bound_withheld or None,
        "checkpoints": record.checkpoints.tolist(),
        "mean_regret": record.mean_regret.tolist(),
        "seconds": record.seconds,
        "rounds_per_second": record.rounds_per_second,
    }


def _page(record: Record, adversary: str) -> Any:
    from hannan.games.record import regret_picture
    from hannan.mathematics.intervals import T_INTERVAL
    from hannan.paper.running import versions
    from hannan.report import Facts, Figure, Page, Section, Tile, Tiles
    from hannan.saving.formatting import ceiling, figure, short

    regret = figure(float(record.mean_regret[-1]))
    tiles = [Tile(regret, f"regret after {record.rounds} rounds", "good")]
    if record.bound is not None:
        tiles.append(Tile(ceiling(record.bound.value), "at most, in expectation"))
    if record.runs > 1:
        low, high = record.interval()
        tiles.append(Tile(figure(float(record.regret[:, -1].max())), f"largest regret of {record.runs} runs"))
        tiles.append(Tile(f"{figure(float(low[-1]))} .. {figure(float(high[-1]))}", f"mean regret: {T_INTERVAL}"))
    facts: dict[str, Any] = {
        "learner": record.learner,
        "best loss": float(record.best_loss) if isinstance(record.best_loss, float) else "differs by run",
        "bound": ceiling(record.bound.value) if record.bound is not None else record.bound_withheld,
        "source": record.bound.source if record.bound is not None else "–",
        "holds against": record.bound.holds if record.bound is not None else "–",
        "runs": record.runs,
        "rounds": record.rounds,
    }
    picture = regret_picture(record, f"Regret against {adversary.replace('_', ' ')} losses")
    sections = (Section("Regret", (Facts(facts), Figure(picture))),)
    many = "once" if record.runs == 1 else f"{record.runs} times"
    return Page(
        f"{short(record.learner)}: regret {regret} after {record.rounds} rounds",
        f"Played {many} against {adversary.replace('_', ' ')} losses.",
        (Tiles(tuple(tiles)),),
        sections,
        {"seed": str(record.seed), **versions()},
    )
