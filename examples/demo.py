"""Demonstration: combine the forecasts of five pollsters, then run a bandit that reports when it may stop.

`make demo` runs this program and then checks the claims of the paper.

    python examples/demo.py [folder]        # with a folder: also writes tables and pages
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import real_data

import hannan as hn
from hannan.tables.combine.function import Combined

#: Length of the longest bar, in characters.
WIDE = 46
#: Simulated rates at which visitors click on each banner.
CLICKS = {"blue": 0.10, "red": 0.05, "green": 0.04}
VISITORS = 30_000


def combined(loss: str = "absolute") -> Combined:
    """Return the combined forecasts of five pollsters, day by day."""
    result: Combined = hn.combine(real_data.approval(), "y", loss, experts=real_data.POLLSTERS, time="day")
    return result


def bars(result: Combined) -> list[str]:
    """Return one line per forecast with its mean loss as a bar, the smallest loss first."""
    summary = result.summary
    losses = {expert.name: expert.loss for expert in summary.experts}
    losses |= {"COMBINATION": summary.mix_loss, "average of the five": summary.mean_loss}
    losses |= {"median of the five": summary.median_loss}
    largest = max(losses.values())
    return [
        f"  {name:<20} {'█' * round(WIDE * loss / largest):<{WIDE}} {loss / summary.settled:.2f}"
        for name, loss in sorted(losses.items(), key=lambda pair: pair[1])
    ]


def banners(seed: int = 0) -> hn.Evidence:
    """Return what a bandit knows after simulated visitors have clicked on three banners, or not."""
    rng = np.random.default_rng(seed)
    player = hn.EpsilonGreedy(list(CLICKS), 0.15, gains=True).start(seed=seed, evidence=True)
    for _ in range(VISITORS):
        move = player.act()
        player.observe(move, reward=float(rng.random() < CLICKS[move.arm]))
    return player.evidence()


def main(folder: str | None = None) -> None:
    """Print both results, and write their files."""
    result = combined()
    print("1. Combine forecasts: five pollsters and the approval of a president, day by day")
    print(f"   {result.summary.headline}.\n   Mean absolute error, in points of approval:\n")
    print("\n".join(bars(result)))
    if folder is not None:
        result.save(folder)
        print(f"\n  Page with the weights over time: {Path(folder) / 'index.html'}")
    print(f"\n2. Run a bandit: {VISITORS:,} simulated visitors, three banners, one decision per visitor\n")
    print("\n".join(f"  {line}" for line in str(banners()).split("\n\nAssumptions")[0].splitlines()))
    print("\n  These statements are valid however often you look, so you may stop when the best arm is sure.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
