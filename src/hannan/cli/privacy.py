"""`hannan privacy`: noise scale, privacy budget and regret bound of private online learning."""

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


@click.command(epilog=EPILOG, short_help="Convert between noise scale, epsilon and regret.")
@click.option("--d", type=click.IntRange(min=1), required=True, help="Dimension of the moves.")
@click.option(
    "--domain",
    "kind",
    type=click.Choice(["ball", "box", "simplex"]),
    default="ball",
    show_default=True,
    help="Domain of the moves.",
)
@click.option(
    "--radius", type=float, default=1.0, show_default=True, help="Radius of the ball, or half the side of the box."
)
@click.option("--lipschitz", type=float, default=1.0, show_default=True, help="Lipschitz constant of the losses.")
@click.option(
    "--noise",
    type=click.Choice(["gamma", "gaussian"]),
    default="gamma",
    show_default=True,
    help="Distribution of the noise; gaussian requires --delta.",
)
@click.option("--rounds", type=click.IntRange(min=1), required=True, help="Number of moves.")
@click.option("--epsilon", type=float, help="Privacy budget over all rounds (computes the scale).")
@click.option("--scale", type=float, help="Noise scale (computes epsilon).")
@click.option(
    "--delta", type=float, help="Delta of the privacy budget over all rounds; required with --noise gaussian."
)
@click.option(
    "--smooth", type=float, default=0.0, show_default=True, help="Smoothness constant of the losses; 0 for linear."
)
@click.option("--accuracy", type=float, help="For curved losses: maximum distance of a move from the exact minimizer.")
@click.option("--loss-bound", type=float, help="Maximum loss on the domain, for losses that are at least 0.")
@click.option("--curve", is_flag=True, help="Also print the regret bound as a function of epsilon.")
@shared("Folder for privacy.json and a page with the curve.")
def command(
    d: int, kind: str, radius: float, lipschitz: float, noise: str, rounds: int, epsilon: float | None,
    scale: float | None, delta: float | None, smooth: float, accuracy: float | None, loss_bound: float | None,
    curve: bool, as_json: bool, seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Compute epsilon for a noise scale, or the smallest scale for a privacy budget, and the resulting regret bound.

    The learner is hn.Convex with fresh noise in every round and no seed. Guarantees cover the moves only, and neighbors
    that differ by adding or removing one loss; replacing a loss costs more.
    """
    import hannan as hn

    if (epsilon is None) == (scale is None):
        got = "neither" if scale is None else f"--epsilon {epsilon:g} and --scale {scale:g}"
        raise ValueError(f"exactly one of --epsilon and --scale is required; got {got}")
    if smooth > 0.0 and accuracy is None:
        raise ValueError(
            "--accuracy is required for curved losses: the maximum distance of a move from the exact minimizer; "
            f"got --smooth {smooth:g} without --accuracy"
        )
    if noise == "gaussian" and delta is None:
        raise ValueError("--delta is required with --noise gaussian, for example --delta 1e-6")
    domain: Any = hn.Ball(d, radius) if kind == "ball" else hn.Simplex(d)
    if kind == "box":
        domain = hn.Box([-radius] * d, [radius] * d)
    distribution: Any = hn.GammaNoise() if noise == "gamma" else hn.GaussianNoise(delta)
    learner: Any = hn.Convex(
        domain, lipschitz, distribution, hn.Fixed(scale or 1.0), loss_bound, smooth,
        guarantee="privacy", accuracy=accuracy,
    )  # fmt: skip
    total = delta or None
    if scale is None and epsilon is not None:
        scale = learner.scale_for(epsilon, total, rounds)
    from hannan.learners.convex.privacy import BETWEEN, private
    from hannan.saving.formatting import ceiling
    from hannan.saving.result import as_text

    fixed: Any = private(learner, scale or 1.0)
    statement = fixed.privacy(rounds, total)
    try:
        bound, withheld = fixed.bound(rounds), ""
    except ValueError as reason:
        bound, withheld = None, str(reason)
    points = fixed.privacy_curve(rounds, total) if curve or out is not None else None
    data = {
        "learner": repr(fixed),
        "scale": scale,
        **statement.to_dict(),
        "between": BETWEEN,
        "bound": None if bound is None else bound.to_dict(),
        "bound_withheld": withheld,
        "curve": None if points is None else points.to_dict(),
    }
    # A computed scale is rounded up: a larger scale stays within the budget.
    shown = ceiling(fixed.tuning.scale) if epsilon is not None else f"{scale:.15g}"
    proved = f"none: {withheld}" if bound is None else bound.headline
    theorems = () if bound is None else (("bound by", bound.theorem),)
    content = statement.shown()
    content = content._replace(rows=[("scale", shown), ("bound", proved)], details=[*content.details, *theorems])
    text = as_text(content)
    if points is not None and curve:
        text += f"\n\n{points}"
    if out is not None:
        assert points is not None
        page = partial(_page, statement, points, shown, bound)
        _, line = paged(out, page, lambda box, _: _keep(data, box.path("privacy.json")))
        text += f"\n\n{line}"
    emit(data, text, as_json)


def _keep(data: dict[str, Any], path: Path) -> None:
    written(data, path)


def _page(statement: Any, curve: Any, scale: str, bound: Any) -> Any:
    """Return the page with the guarantee, the curve, its table and the conditions."""
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
    blocks.append(
        Table(tuple(shown.columns), tuple(shown.table), "Smallest scale for each epsilon, and its regret bound.")
    )
    sections = (
        Section("Regret bound by epsilon", tuple(blocks)),
        Section(
            "Conditions",
            (Text(f"Between the moves {BETWEEN}."), Text(f"{statement.condition}."), Facts(dict(shown.rows))),
        ),
    )
    return Page("Private online learning", f"{statement.says}.", (Tiles(tiles),), sections)
