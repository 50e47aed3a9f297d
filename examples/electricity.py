"""Electricity demand, half-hour by half-hour: nine naive forecasts, combined without tuning.

Each expert says: the demand will be what it was so many half-hours ago. The loss is the absolute error in
gigawatts, counted as 2 beyond 2, so that losses lie in [0, 2] (|e|/2 in [0, 1]). The best expert has a small loss,
which is where first-order bounds show: they grow with sqrt(L*), not with sqrt(T).
"""

from __future__ import annotations

import sys

import real_data

import hannan as hn
from hannan.report import Picture
from hannan.tables.combine.function import Combined
from hannan.tables.figures import curve, lines


def combined(learner: hn.Experts | None = None) -> Combined:
    """The mixture with default settings, or by a learner of your own."""
    table = real_data.electricity()
    experts = [name for name in table if name.startswith("lag")]
    return hn.combine(table, "y", "absolute", learner, cap=2.0, experts=experts)


def tuned_hedge() -> hn.Experts:
    """Hedge as textbooks tune it, knowing the number of rounds."""
    rounds = len(real_data.electricity()["y"])
    return hn.Experts(len(real_data.LAGS), hn.Entropy(), hn.Horizon(rounds), loss_range=(0.0, 2.0))


def picture() -> Picture:
    """Regret of the default and of the tuned Hedge, and the default's bound."""
    ours, hedge = combined().summary.curves, combined(tuned_hedge()).summary.curves
    rows = curve(ours.rows, ours.regret, "hannan, defaults") + curve(hedge.rows, hedge.regret, "Hedge, tuned to T")
    bound = curve(ours.rows, ours.bound, "bound")
    alt = f"Regret against the best naive forecast: {ours.regret[-1]:.1f}, tuned Hedge {hedge.regret[-1]:.1f}."
    return lines("Electricity demand: regret, and its bound (dashed)", "regret, GW", rows, alt, bound).picture


def main(folder: str | None = None) -> None:
    """Print what it came to; with a folder, also write the forecasts, the weights and the page there."""
    ours, hedge = combined(), combined(tuned_hedge())
    print(ours)
    best = ours.summary.best
    assert best is not None
    print(f"\nloss above the best expert's: {100 * ours.summary.regret / best.loss:.2f}%", end="")
    print(f"  (a Hedge tuned to the number of rounds: {100 * hedge.summary.regret / best.loss:.2f}%)")

    if folder is not None:
        print(f"page: {ours.save(folder).resolve() / 'report.html'}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
