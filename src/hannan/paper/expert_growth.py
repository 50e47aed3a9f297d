"""Section 3.3.2: how the regret of experts grows with T and with L*, and that no learner does better."""

from __future__ import annotations

import math

import numpy as np

from hannan.learners.experts import Experts
from hannan.learners.tuning import BestLoss, Horizon
from hannan.mathematics.laws.table import Exponential, Frechet
from hannan.mathematics.regularizers import Entropy
from hannan.mathematics.stability import Smoothing
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.paper.growth import exponent
from hannan.paper.worst_case import first_order, regret, zero_order
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "How experts grow",
    "Against the worst of all sequences, found by dynamic programming. Uniform play grows like T.",
)


GROWERS: tuple[tuple[str, Smoothing], ...] = (
    ("Exponential", Exponential()),
    ("Hedge", Entropy()),
    ("Fréchet(7)", Frechet(7.0)),
)


@CHAPTER.claim("experts-growth-rounds")
def _growth_rounds(effort: Effort) -> Verdict:
    """Against the worst of all sequences the regret of experts grows like T^{1/2}; that of uniform play like T."""
    rounds, rows, slopes = effort.pick((64, 256, 1024), (64, 256, 1024, 4096)), [], {}
    off = 0.0
    for name, smoothing in GROWERS:
        means = []
        for T in rounds:
            learner = Experts(2, smoothing, Horizon(T))
            scale = learner.schedule().scale(1, 0.0)
            worst_found, losses = zero_order(smoothing, [effort.turn(scale, math.inf)] * T)
            means.append(worst_found)
            if not effort.broken:  # the learner itself, on the sequence that was found
                off = max(off, abs(regret(learner, losses, effort.seed) - worst_found))
            rows.append({"x": T, "y": means[-1], "learner": name})
        slopes[name] = exponent(rounds, means)
    bound = tuple({"x": T, "y": Experts(2, Exponential(), Horizon(T)).bound().value} for T in rounds)
    picture = Picture(
        "Worst regret against T, N = 2, and the bound of the exponential law", "T", "worst regret", (Layer("line",
        tuple(rows), series="learner"), Layer("bound", bound)),
        alt=f"On logarithmic axes the slopes are {', '.join(f'{s:.2f}' for s in slopes.values())}.", x_log=True,
        y_log=True,
    )  # fmt: skip
    worst = max(abs(s - 0.5) for s in slopes.values())
    return holds(
        worst <= 0.06 and off <= 1e-6, max(slopes.values()), 0.56, runs=3 * len(rounds),
        numbers={**{f"slope, {name}": s for name, s in slopes.items()}, "learner's regret against the search": off},
        pictures=(picture, ), what="largest fitted exponent",
    )  # fmt: skip


@CHAPTER.claim("experts-growth-best")
def _growth_best(effort: Effort) -> Verdict:
    """The regret of experts is first-order: whatever T, it grows like L*^{1/2} and stays below √(2c'L*) + c'."""
    bests, rows, slopes, over = effort.pick((25, 100, 400, 1600), (25, 100, 400, 1600, 6400)), [], {}, -math.inf
    for name, smoothing in GROWERS[:2]:
        found = []
        for best in bests:
            learner = Experts(2, smoothing, BestLoss(float(best)))
            played = effort.turn(learner, Experts(2, smoothing, Horizon(20_000)))
            found.append(first_order(smoothing, played.schedule().scale(1, 0.0), best)[0])
            over = max(over, found[-1] / learner.bound().value)
            rows.append({"x": best, "y": found[-1], "learner": name})
        slopes[name] = exponent(bests, found)
    bound = tuple({"x": b, "y": Experts(2, Exponential(), BestLoss(float(b))).bound().value} for b in bests)
    picture = Picture(
        "Worst regret against L*, N = 2, over all sequences", "L*", "worst regret", (Layer("line", tuple(rows),
        series="learner"), Layer("bound", bound)),
        alt=f"On logarithmic axes the regret grows with slopes {', '.join(f'{s:.2f}' for s in slopes.values())}.",
        x_log=True, y_log=True,
    )  # fmt: skip
    worst = max(abs(s - 0.5) for s in slopes.values())
    return holds(
        worst <= 0.06 and at_most(over, 1.0, slack=1e-7), max(slopes.values()), 0.56, runs=2 * len(bests),
        numbers={**{f"slope, {name}": s for name, s in slopes.items()}, "largest regret/bound": over},
        pictures=(picture, ), what="largest fitted exponent",
    )  # fmt: skip


def coins(n: int, rounds: int, chance: float) -> float:
    """What every learner loses more than the best of n coins, T p - E min of n binomials, exactly."""
    from scipy.stats import binom

    tail = binom.sf(np.arange(rounds), rounds, chance)
    return float(rounds * chance - (tail**n).sum())


@CHAPTER.claim("experts-optimal")
def _optimal(effort: Effort) -> Verdict:
    """On coins every learner loses at least half of the bound √(2c' L*) + c', for N = 2, 10, 100, 1,000 and 10,000 and
    an expected loss of 100 or 1,000 per expert. Where log N is large beside L*, the ratio is larger."""
    law, rows, worst = effort.turn(Exponential(), Frechet(2.0)), [], -math.inf
    for n in (2, 10, 100, 1000, 10_000):
        for mean in (100.0, 1000.0):
            rounds = int(effort.pick(10, 50) * mean)
            least = coins(n, rounds, mean / rounds)
            best = max(1.0, mean - least)
            ratio = Experts(n, law, BestLoss(best)).bound().value / least
            worst = max(worst, ratio)
            rows.append({"x": n, "y": ratio, "L*": f"{mean:g} a coin"})
    picture = Picture(
        "The bound over what every learner loses on coins", "N", "bound / least regret", (Layer("line", tuple(rows),
        series="L*"), ),
        alt="On this grid the bound is at most twice what no learner can avoid.", x_log=True,
    )  # fmt: skip
    return holds(worst <= 2.0, worst, 2.0, runs=len(rows), pictures=(picture,), what="largest bound/lower bound")
