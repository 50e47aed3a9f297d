"""`hannan privacy`: which epsilon after so many rounds, which scale for a budget, and what it costs in regret."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from hannan.cli.options import emit, paged, shared, written

EPILOG = """\b
Examples:
  hannan privacy --d 10 --rounds 1000 --epsilon 1 --delta 1e-6 --noise gaussian
  hannan privacy --d 10 --rounds 1000 --scale 50 --json
  hannan privacy --d 10 --rounds 1000 --epsilon 1 --delta 1e-6 --noise gaussian --curve --out privacy
"""


@click.command(epilog=EPILOG)
@click.option("--d", type=click.IntRange(min=1), required=True, help="The dimension of the moves.")
@click.option("--domain", "kind", type=click.Choice(["ball", "box", "simplex"]), default="ball", show_default=True)
@click.option("--radius", type=float, default=1.0, show_default=True, help="Of the ball, or half the side of the box.")
@click.option("--lipschitz", type=float, default=1.0, show_default=True, help="The largest slope of a loss.")
@click.option("--noise", type=click.Choice(["gamma", "gaussian"]), default="gamma", show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), required=True, help="How many moves in a row.")
@click.option("--epsilon", type=float, help="The budget over all rounds: which scale?")
@click.option("--scale", type=float, help="The scale of the noise: which epsilon?")
@click.option("--delta", type=float, help="Over all rounds; Gaussian noise needs one.")
@click.option(
    "--smooth", type=float, default=0.0, show_default=True, help="The largest curvature of a loss; 0: linear."
)
@click.option("--accuracy", type=float, help="Of curved losses: how far from the argmin a move may be.")
@click.option("--loss-bound", type=float, help="The largest loss, where losses are at least 0.")
@click.option("--curve", is_flag=True, help="The bound on the regret by epsilon, too.")
@shared("Where privacy.json and index.html, with the curve, go.")
def command(
    d: int, kind: str, radius: float, lipschitz: float, noise: str, rounds: int, epsilon: float | None,
    scale: float | None, delta: float | None, smooth: float, accuracy: float | None, loss_bound: float | None,
    curve: bool, as_json: bool, seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Which epsilon do so many moves spend at a scale; which scale keeps them within a budget; what does it cost.

    Of hn.Convex with fresh noise and no seed. Every number is of the moves alone, with and without one observation; to
    change one is to take it away and to add another, and spends more.
    """
    if (epsilon is None) == (scale is None):
        got = "neither" if scale is None else f"--epsilon {epsilon:g} and --scale {scale:g}"
        raise ValueError(f"one of --epsilon and --scale must be given; got {got}")
    if smooth > 0.0 and accuracy is None:
        raise ValueError(
            "curved losses must have an --accuracy, the largest distance from the argmin that the solver may leave, to "
            f"which noise is added; got --smooth {smooth:g} alone"
        )
    learner = _learner(d, kind, radius, lipschitz, noise, delta, smooth, accuracy, loss_bound, scale or 1.0)
    told = delta or None
    if scale is None and epsilon is not None:
        scale = learner.scale_for(epsilon, told, rounds)
    from hannan.learners.convex.privacy import BETWEEN, private
    from hannan.saving.formatting import ceiling

    fixed: Any = private(learner, scale or 1.0)
    statement = fixed.privacy(rounds, told)
    try:
        bound, withheld = fixed.bound(rounds), ""
    except ValueError as reason:
        bound, withheld = None, str(reason)
    drawn = fixed.privacy_curve(rounds, told) if curve or out is not None else None
    data = {
        "learner": repr(fixed),
        "scale": scale,
        **statement.to_dict(),
        "between": BETWEEN,
        "bound": None if bound is None else bound.to_dict(),
        "bound_withheld": withheld,
        "curve": None if drawn is None else drawn.to_dict(),
    }
    # What is searched for is rounded up: a larger scale is within the budget too.
    said = ceiling(fixed.tuning.scale) if epsilon is not None else f"{scale:.15g}"
    proved = f"withheld: {withheld}" if bound is None else f"{bound.says}  ({bound.source})"
    text = f"{statement}\n  {'scale':<9}  {said}\n  {'bound':<9}  {proved}"
    if drawn is not None and curve:
        text += f"\n\n{drawn}"
    if out is not None:
        assert drawn is not None
        page = partial(_page, statement, drawn, said, bound)
        _, line = paged(out, page, lambda box, _: _keep(data, box.path("privacy.json")))
        text += f"\n\n{line}"
    emit(data, text, as_json)


def _learner(
    d: int, kind: str, radius: float, lipschitz: float, noise: str, delta: float | None, smooth: float,
    accuracy: float | None, loss_bound: float | None, scale: float,
) -> Any:  # fmt: skip
    import hannan as hn

    domain: Any = hn.Ball(d, radius) if kind == "ball" else hn.Simplex(d)
    if kind == "box":
        domain = hn.Box([-radius] * d, [radius] * d)
    if noise == "gaussian" and delta is None:
        raise ValueError("--noise gaussian must have a --delta, such as 1e-6; got none")
    drawn: Any = hn.GaussianNoise(delta) if noise == "gaussian" else hn.GammaNoise()
    return hn.Convex(
        domain, lipschitz, drawn, hn.Fixed(scale), loss_bound, smooth, guarantee="privacy", accuracy=accuracy
    )


def _keep(data: dict[str, Any], path: Path) -> None:
    written(data, path)


def _page(statement: Any, curve: Any, scale: str, bound: Any) -> Any:
    """The answer, the curve, its table, and what it rests on."""
    from hannan.learners.convex.privacy import BETWEEN
    from hannan.report import Facts, Figure, Page, Section, Table, Text, Tile, Tiles
    from hannan.saving.formatting import ceiling, chance

    shown = curve.shown()
    tiles = (
        Tile(ceiling(statement.epsilon), f"epsilon of {statement.rounds} moves", "good"),
        Tile(chance(statement.delta), "delta"),
        Tile(scale, "scale of the noise"),
        *(() if bound is None else (Tile(ceiling(bound.value), "bound on the expected regret"),)),
    )
    blocks: list[Any] = [Figure(curve.picture())] if any(b is not None for b in curve.bounds) else []
    blocks.append(Table(tuple(shown.columns), tuple(shown.table), "The least scale for each epsilon, and its bound."))
    sections = (
        Section("What privacy costs", tuple(blocks)),
        Section(
            "What it rests on",
            (Text(f"Between the moves {BETWEEN}."), Text(f"{statement.condition}."), Facts(dict(shown.rows))),
        ),
    )
    return Page("Private online learning", f"{statement.says}.", (Tiles(tiles),), sections)
