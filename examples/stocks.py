"""Ten stocks, five years: log-wealth on the simplex.

A portfolio x multiplies by <r, x> in a day whose ratios are r; its loss is -log <r, x>, convex in x. Hedge at scale 1
on the losses -log r_i holds each stock's share of the wealth: it buys ten equal parts and holds, and its log-wealth
is within log 10 of the best stock's, whatever happens. AdaHedge rebalances as the losses tell it. The perturbed
leader on the simplex (Algorithm 1 of the paper) follows the best portfolio so far, and pays for its noise.
"""

from __future__ import annotations

import math

import numpy as np
import real_data

import hannan as hn
from hannan.refusals import Array
from hannan.report import Picture
from hannan.tables.figures import curve, lines


def by_experts(learner: hn.Experts | hn.AdaHedge, ratios: Array) -> Array:
    """Log-wealth, day by day, of holding the learner's distribution."""
    player, wealth = learner.start(seed=0), []
    for row in ratios:
        wealth.append(math.log(player.distribution() @ row))
        player.observe(player.act(), -np.log(row))
    return np.cumsum(wealth)


def by_leader(ratios: Array, rounds: int | None = None) -> tuple[Array, float]:
    """(log-wealth of the perturbed leader on the simplex, log-wealth of the best fixed portfolio)."""
    ratios = ratios[:rounds]
    # Divided by the best stock of the day, losses are in [0, loss_bound]: the same portfolio is the best.
    top = ratios.max(axis=1)
    z = ratios / top[:, None]
    steepest = float((np.linalg.norm(z, axis=1) / z.min(axis=1)).max())
    learner = hn.Convex(hn.Simplex(ratios.shape[1]), steepest, loss_bound=float(-np.log(z.min())))
    losses = hn.RankOne(z, lambda u: -np.log(u), lambda u: -1.0 / u, second=lambda u: u**-2.0)
    record = hn.play(learner, losses, runs=1, seed=0, keep="all")
    assert record.actions is not None
    held = np.log((ratios * record.actions[0]).sum(axis=1))
    return np.cumsum(held), float(np.log(top).sum() - np.asarray(record.best_loss).max())


def learners(n: int) -> dict[str, hn.Experts | hn.AdaHedge]:
    """Who holds a portfolio."""
    # A scale is for losses divided by the width of their range: 1 in nats is 1/2 here.
    hold = hn.Experts(n, hn.Entropy(), hn.Fixed(0.5), loss_range=(-1.0, 1.0))
    return {"AdaHedge": hn.AdaHedge(n), "buy and hold (Hedge, scale 1)": hold}


def picture() -> Picture:
    """Wealth over the days."""
    ratios, names = real_data.stocks()
    days = np.arange(1, len(ratios) + 1)
    best = int(np.argmax(np.log(ratios).sum(axis=0)))
    rows = []
    for name, learner in learners(len(names)).items():
        rows += curve(days[::7], np.exp(by_experts(learner, ratios))[::7], name)
    rows += curve(days[::7], np.cumprod(ratios[:, best])[::7], f"{names[best]}, the best stock")
    alt = "What 1 became: " + ", ".join(
        f"{row['series']} {row['y']:.2f}" for row in rows if row["row"] >= days[::7][-1]
    )
    return lines("Stocks: wealth from 1", "wealth", rows, alt, x_title="trading day").picture


def main(rounds: int | None = None) -> None:
    """Print what 1 became."""
    ratios, names = real_data.stocks()
    ratios = ratios[:rounds]
    totals = np.log(ratios).sum(axis=0)
    best = int(np.argmax(totals))
    print(f"{names[best] + ', the best stock':<36} {math.exp(totals[best]):.3f}")
    for name, learner in learners(len(names)).items():
        wealth = by_experts(learner, ratios)[-1]
        print(f"{name:<36} {math.exp(wealth):.3f}  log-wealth behind the best stock: {totals[best] - wealth:.3f}")
    leader, fixed = by_leader(ratios)
    print(f"{'perturbed leader on the simplex':<36} {math.exp(leader[-1]):.3f}")
    print(f"{'best fixed portfolio in hindsight':<36} {math.exp(fixed):.3f}")


if __name__ == "__main__":
    main()
