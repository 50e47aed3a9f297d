"""Claims that extend the paper's theorems to slates: m of n items per round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hannan.games.play import play
from hannan.learners.slates import SlateBandit, SlateExperts
from hannan.learners.tuning import BestLoss, Fixed, Horizon, SelfConfident
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.regularizers import Entropy
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, bars, holds
from hannan.validation import Array

CHAPTER = Chapter(
    "Slates",
    "The paper plays one of N experts or arms. With m of n items per round, the leaders under exponential noise keep "
    "the rate of the law, so that its theorems hold for slates (docs/proofs/slates.md).",
)


def _inclusion(losses: Array, size: int, scale: float) -> Array:
    """Return the inclusion probabilities that a player has after these losses."""
    unit = max(1.0, float(losses.max()))  # The scale is in units of the loss range.
    learner = SlateExperts(len(losses), size, Exponential(), Fixed(scale / unit), loss_range=(0.0, unit))
    player = learner.start(0)
    player.observe(player.act(), losses)
    return player.distribution()


@CHAPTER.claim("slates-rate")
def _rate(effort: Effort) -> Verdict:
    """A loss vector ℓ lowers the log of the probability that item i is among the m leaders by at most ℓ_{i}/η: the
    level of one expert, for slates of every size."""
    rng, rows, worst, runs = effort.rng("slates-rate"), [], 0.0, 0
    for n, size in ((2, 1), (6, 2), (6, 5), (12, 4)):
        largest = 0.0
        for _ in range(effort.pick(25, 150)):
            losses, scale = rng.random(n) * 10.0 ** rng.uniform(-1.0, 1.2), 10.0 ** rng.uniform(-0.3, 1.0)
            loss = np.where(rng.random(n) < 0.4, rng.random(n), 0.0)
            loss[rng.integers(n)] = 1.0
            fall = np.log(_inclusion(losses, size, scale) / _inclusion(losses + loss, size, scale)) * scale
            # Items without a loss must not fall.
            allowed = effort.turn(1.0, 0.8) * loss
            largest = max(largest, float((fall[loss > 0.0] / allowed[loss > 0.0]).max()))
            if (loss == 0.0).any():
                largest = max(largest, 1.0 + float(fall[loss == 0.0].max()) - 1e-9)
            runs += 1
        rows.append({"what": f"n = {n}, m = {size}", "y": largest})
        worst = max(worst, largest)
    picture = bars(
        "Largest fall of a log probability, divided by ℓ/η",
        rows,
        "The fall is at most ℓ/η for every size.",
        rules={"1": 1.0},
    )
    return holds(
        at_most(worst, 1.0, slack=1e-7), worst, 1.0, runs=runs, pictures=(picture,),
        what="largest fall of the log of an inclusion probability, divided by ℓ_{i}/η",
    )  # fmt: skip


def _charged(learner: Any, rounds: int, best: float, charge: Callable[[Array, Array], Array]) -> tuple[float, float]:
    """Return (regret of the mean play, L*) of a game in which losses depend on the play, until L* reaches `best`."""
    player, total, mean = learner.start(0), np.zeros(learner.n), 0.0
    for _ in range(rounds):
        x = player.distribution()
        loss = charge(x, total)
        if np.sort(total + loss)[: learner.size].sum() > best:
            break
        mean += float(x @ loss)
        total += loss
        player.observe(player.act(), loss)
    smallest = float(np.sort(total)[: learner.size].sum())
    return mean - smallest, smallest


def _likely(count: int) -> Callable[[Array, Array], Array]:
    """Return the adversary that charges the most likely items."""

    def charge(x: Array, total: Array) -> Array:
        loss = np.zeros(len(x))
        loss[np.argsort(-x, kind="stable")[:count]] = 1.0
        return loss

    return charge


@CHAPTER.claim("slates-experts")
def _experts(effort: Effort) -> Verdict:
    """The regret of the mean play is at most √(2c'L*) + c' for BestLoss(L*) and 2c' + 2√(c'² + c'(L* + m)) for
    SelfConfident, even if losses depend on the play; c' = m(H_{n} − H_{m}) for exponential perturbations, m ln(n/m) for
    capped entropy and ln C(n, m) for Hedge over all slates."""
    ratios: dict[str, float] = {}
    worst, runs = 0.0, 0
    plays: tuple[tuple[str, Any, Any], ...] = (
        ("leaders", Exponential(), "items"),
        ("capped entropy", Entropy(), "items"),
        ("Hedge", Entropy(), "slates"),
    )
    rounds = effort.pick(600, 4000)
    for (n, size), (name, smoothing, over) in itertools.product(((4, 1), (6, 2), (6, 4)), plays):
        for tuning in (BestLoss(60.0), SelfConfident()):
            learner = SlateExperts(n, size, smoothing, tuning, over=over)
            tuned = learner.schedule()
            # The control ignores the tuning, so that the play follows the leaders.
            player = effort.turn(learner, SlateExperts(n, size, smoothing, Fixed(0.02 * tuned.c), over=over))
            for count in (1, size, n - size):
                regret, best = _charged(player, rounds, 60.0, _likely(count))
                ratio = regret / learner.bound(rounds, best_loss=best).value
                what = f"{name}, {type(tuning).__name__}, {size} of {n}"
                ratios[what] = max(ratios.get(what, 0.0), ratio)
                worst, runs = max(worst, ratio), runs + 1
    shown = [{"what": what, "y": y} for what, y in ratios.items()]
    picture = bars(
        "Regret of the mean play, divided by the bound",
        shown,
        "Every game stays below its bound.",
        rules={"bound": 1.0},
    )
    return holds(
        at_most(worst, 1.0) and worst > 0.1, worst, 1.0, runs=runs, pictures=(picture,),
        what="largest regret of the mean play, divided by its bound",
    )  # fmt: skip


@CHAPTER.claim("slates-bandit")
def _bandit(effort: Effort) -> Verdict:
    """FTPL with exponential perturbations, which observes the losses of the shown items only, has expected regret at
    most √(2m(H_{n} − H_{m})nT)."""
    n, size, rounds, worst, rows = 8, 2, effort.pick(2000, 10_000), 0.0, []
    rng = effort.rng("slates-bandit")
    gap = np.where(np.arange(n) < size, 0.4, 0.6)
    drift = np.where(np.arange(rounds)[:, None] < rounds / 3, gap, gap[::-1])
    tables = {"stochastic": np.broadcast_to(gap, (rounds, n)), "turn": drift, "level": drift * 0.5}
    learner = SlateBandit(n, size, Horizon(rounds), smoothing=Exponential())
    player = effort.turn(learner, SlateBandit(n, size, Fixed(1e6), smoothing=Exponential()))
    bound = learner.bound().value
    runs = effort.pick(6, 20)
    for name, means in tables.items():
        losses = (rng.random((rounds, n)) < means).astype(float)
        regret = float(play(player, losses, runs=runs, seed=effort.seed).mean_regret[-1])
        rows.append({"what": name, "y": regret / bound})
        worst = max(worst, regret / bound)
    expected = math.sqrt(2.0 * size * sum(1.0 / j for j in range(size + 1, n + 1)) * n * rounds)
    picture = bars("Mean regret, divided by the bound", rows, "Every game stays below the bound.", rules={"bound": 1.0})
    return holds(
        at_most(worst, 1.0) and abs(bound / expected - 1.0) < 1e-9, worst, 1.0, runs=3 * runs, pictures=(picture,),
        what="largest mean regret of a game, divided by the bound", numbers={"bound": bound},
    )  # fmt: skip


@CHAPTER.claim("slates-positions")
def _positions(effort: Effort) -> Verdict:
    """With position weights a_{1} ≥ … ≥ a_{m}, the smallest weighted sum of m of n numbers is Σ(a_{j} − a_{j+1}) times
    the sum of the j smallest: the potential of sorted leaders is a sum of potentials of slates."""
    rng, worst, runs = effort.rng("slates-positions"), 0.0, effort.pick(60, 400)
    for _ in range(runs):
        n = int(rng.integers(2, 7))
        size = int(rng.integers(1, n + 1))
        values, weights = np.sort(rng.normal(size=n)), np.sort(rng.random(size))[:: effort.turn(-1, 1)]
        falls = weights - np.append(weights[1:], 0.0)
        parts = float(falls @ np.cumsum(values[:size]))
        least = min(float(np.array(order) @ weights) for order in itertools.permutations(values, size))
        worst = max(worst, abs(parts - least))
    return holds(at_most(worst, 0.0, slack=1e-12), worst, 0.0, runs=runs, what="largest difference of the two sides")
