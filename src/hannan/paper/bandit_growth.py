"""Section 4.1: how the regret of bandits grows with T and with L*, and that no bandit does better."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan.games.play import play
from hannan.learners.bandits import Bandit
from hannan.learners.tuning import BestLoss, Fixed, Horizon
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.paper.growth import exponent, upper
from hannan.paper.trees import spared
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "How bandits grow",
    "Uniform play loses T of these games, and a zero-order learner does not see that L* is small.",
)


@CHAPTER.claim("bandits-growth-rounds")
def _growth_rounds(effort: Effort) -> Verdict:
    """The regret of Tsallis(½) and of Exp3 grows like T^{1/2}, below its bound, where that of uniform play grows like
    T."""
    rounds, runs = effort.pick((500, 2000, 8000), (500, 2000, 8000, 32_000)), effort.pick(100, 400)
    rows, slopes, over = [], {}, -math.inf
    for name, smoothing in (("Tsallis(½)", Tsallis(0.5)), ("Exp3", Entropy())):
        means = []
        for T in rounds:
            learner = Bandit(6, smoothing, Horizon(T))
            played = effort.turn(learner, Bandit(6, smoothing, Fixed(1e9)))
            record = play(played, spared(T, 6), runs=runs, seed=effort.seed, threads=1)
            means.append(float(record.mean_regret[-1]))
            over = max(over, upper(record) / learner.bound().value)
            rows.append({"x": T, "y": means[-1], "learner": name})
        slopes[name] = exponent(rounds, means)
    bound = tuple({"x": T, "y": Bandit(6, Tsallis(0.5), Horizon(T)).bound().value} for T in rounds)
    picture = Picture(
        "Regret against T, N = 6, an arm spared late", "T", "regret", (Layer("line", tuple(rows), series="learner"),
        Layer("bound", bound)),
        alt=f"On logarithmic axes the slopes are {', '.join(f'{s:.2f}' for s in slopes.values())}.", x_log=True,
        y_log=True,
    )  # fmt: skip
    worst = max(abs(s - 0.5) for s in slopes.values())
    return holds(
        worst <= 0.1 and at_most(over, 1.0), max(slopes.values()), 0.6, runs=2 * runs * len(rounds),
        numbers={**{f"slope, {k}": v for k, v in slopes.items()}, "largest upper end/bound": over}, pictures=(picture,
        ), what="largest fitted exponent",
    )  # fmt: skip


@CHAPTER.claim("bandits-growth-best")
def _growth_best(effort: Effort) -> Verdict:
    """The regret of the log-barrier is first-order: it grows like L*^{1/2} at a T that does not change."""
    T, n, runs = effort.pick(30_000, 100_000), 2, effort.pick(60, 200)
    bests, rows = (100.0, 400.0, 1600.0, 6400.0), []
    means: list[float] = []
    over = -math.inf
    for best in bests:
        learner = Bandit(n, LogBarrier(), BestLoss(best, rounds=T))
        played = effort.turn(learner, Bandit(n, Tsallis(0.5), Horizon(T)))
        record = play(played, spared(T, n, best / T), runs=runs, seed=effort.seed, threads=1)
        means.append(float(record.mean_regret[-1]))
        over = max(over, upper(record) / learner.bound().value)
        rows.append({"x": best, "y": means[-1]})
    slope = exponent(bests, means)
    bound = tuple({"x": b, "y": Bandit(n, LogBarrier(), BestLoss(b, rounds=T)).bound().value} for b in bests)
    picture = Picture(
        f"Regret of the log-barrier against L*, N = {n}, T = {T}", "L*", "regret", (Layer("line", tuple(rows)),
        Layer("bound", bound)), alt=f"The regret of the log-barrier grows with slope {slope:.2f} on logarithmic axes.",
        x_log=True, y_log=True,
    )  # fmt: skip
    return holds(
        abs(slope - 0.5) <= 0.12 and at_most(over, 1.0), slope, 0.62, runs=runs * len(bests),
        numbers={"largest upper end/bound": over}, pictures=(picture, ), what="fitted exponent",
    )  # fmt: skip


def _least(n: int, rounds: int) -> float:
    """What every bandit loses on some of N coins, one better by Δ: ΔT(1 − 1/N − √(KL T/(2N))), Δ at its best.

    By Pinsker the better arm is pulled at most T/N + T√(KL T/(2N)) times on average over which one it is.
    """
    gaps = np.geomspace(1e-6, 0.25, 4000)
    relative = -0.5 * np.log1p(-4.0 * gaps**2)
    return float((gaps * rounds * (1.0 - 1.0 / n - np.sqrt(relative * rounds / (2.0 * n)))).max())


@CHAPTER.claim("bandits-optimal")
def _optimal(effort: Effort) -> Verdict:
    """On coins every bandit loses a constant share of Tsallis(½)'s bound, the same up to a quarter for N = 10, 100 and
    1,000 and T = 10⁶ and 10⁷. For fewer arms or rounds the share varies more."""
    smoothing = effort.turn(Tsallis(0.5), Entropy())
    rows: list[dict[str, Any]] = []
    for n in (10, 100, 1000):
        for T in (1_000_000, 10_000_000):
            ratio = Bandit(n, smoothing, Horizon(T)).bound().value / _least(n, T)
            rows.append({"x": n, "y": ratio, "T": f"T = {T:,}"})
    ratios = [row["y"] for row in rows]
    picture = Picture(
        "The bound over what every bandit loses on coins", "N", "bound / least regret", (Layer("line", tuple(rows),
        series="T"), ),
        alt="The bound is the same multiple of the lower bound, up to a quarter, for 10 arms as for 1000.", x_log=True,
    )  # fmt: skip
    spread = max(ratios) / min(ratios)
    return holds(
        spread <= 1.25, spread, 1.25, runs=len(rows), numbers={"largest bound/lower bound": max(ratios)},
        pictures=(picture, ), what="largest ratio over the least",
    )  # fmt: skip
