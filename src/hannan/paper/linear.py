"""Section 3.2, Corollary 3.3: regret of online linear optimisation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hannan.games.play import play
from hannan.learners.convex.learner import Convex
from hannan.learners.tuning import BestLoss, Fixed, Horizon, SelfConfident
from hannan.mathematics.convex.domain import Domain
from hannan.mathematics.convex.domains import Ball, Box, Simplex
from hannan.mathematics.convex.losses import Linear
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.paper.convex_games import by_turns, corner, measured
from hannan.paper.growth import exponent
from hannan.paper.pictures import bars
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "Linear optimisation",
    "The argmin is exact where losses are linear, and so are the levels. The games below are lost without noise.",
)


@CHAPTER.claim("olo-gamma")
def _olo_gamma(effort: Effort) -> Verdict:
    """Linear losses, Gamma noise: expected regret at most √(2c'L̃) + c', c' = β E‖b‖ · half the mean width of X, and
    2c' + 2√(c'² + c'(L* + B)) with SelfConfident; where one corner never loses it comes near."""
    T, runs = effort.pick(600, 6000), effort.pick(400, 2000)
    unit, pair, noise = Box([0.0], [1.0]), Simplex(2), GammaNoise()
    cases: list[tuple[str, Convex, Any]] = [
        ("one corner, L̃ = ¼", Convex(unit, 1.0, noise, BestLoss(0.25), loss_bound=1.0, smooth=0), corner(40)),
        ("by turns, BestLoss", Convex(pair, 1.0, noise, BestLoss(T / 2), loss_bound=1.0, smooth=0), by_turns(T)),
        ("by turns, own loss", Convex(pair, 1.0, noise, SelfConfident(), loss_bound=1.0, smooth=0), by_turns(T)),
    ]
    worst, sharp, rows = measured(cases, effort, runs)
    picture = bars("Linear losses, Gamma noise", rows, "The regret is below its bound on both sets.")
    return holds(
        at_most(worst, 1.0) and sharp > 0.6, worst, 1.0, runs=runs * len(cases), numbers={"largest mean/bound": sharp},
        pictures=(picture, ), what="largest upper end/bound",
    )  # fmt: skip


@CHAPTER.claim("olo-gaussian")
def _olo_gaussian(effort: Effort) -> Verdict:
    """Linear losses, Gaussian noise: zero-order, at most 1.264 d^{1/4} rβ√T, and first-order by the exact (ε, δ)."""
    T, runs, cases = effort.pick(400, 4000), effort.pick(300, 1000), []
    for d in (2, 8):
        # Away from the leader and back, and then one way: the drift is paid, then the range.
        z = np.zeros((T, d))
        z[:, 0] = np.where(np.arange(T) % 2 == 0, 1.0, -1.0)
        z[T // 2 :, 0] = 1.0
        learner = Convex(Ball(d), 1.0, GaussianNoise(), Horizon(T), smooth=0)
        cases.append((f"ball, d = {d}, any sign", learner, Linear(z)))
    unit, tuned = Box([0.0], [1.0]), BestLoss(1.0, rounds=40)
    cases.append(
        ("[0, 1], first order", Convex(unit, 1.0, GaussianNoise(), tuned, loss_bound=1.0, smooth=0), corner(40))
    )
    worst, sharp, rows = measured(cases, effort, runs)
    constant = max(
        Convex(Ball(d), 1.0, GaussianNoise(), Horizon(T), smooth=0).bound().value / (d**0.25 * math.sqrt(T))
        for d in (1, 2, 8, 50)
    )
    picture = bars(
        f"Linear losses, Gaussian noise, T = {T}", rows, "The regret is below the zero-order and first-order bounds."
    )
    return holds(
        at_most(worst, 1.0) and constant <= 1.264, worst, 1.0, runs=runs * len(cases),
        numbers={"zero-order constant": constant, "largest mean/bound": sharp}, pictures=(picture, ),
        what="largest upper end/bound",
    )  # fmt: skip


@CHAPTER.claim("olo-growth")
def _growth(effort: Effort) -> Verdict:
    """The regret of linear optimisation is first-order: it grows like L*^{1/2} while T stays, below its bound."""
    T, runs, rows, bests, means, bounds = effort.pick(20_000, 60_000), effort.pick(40, 200), [], [], [], []
    learner = Convex(Simplex(2), 1.0, GammaNoise(), SelfConfident(), loss_bound=1.0 / math.sqrt(2.0), smooth=0)
    played = effort.turn(learner, replace(learner, tuning=Fixed(1e5)))
    for best in (30, 120, 480, 1920):
        # Both bets lose 1/√2 a round, and then only the second.
        z = np.ones((T, 2)) / math.sqrt(2.0)
        z[int(best * math.sqrt(2.0)) :, 0] = 0.0
        record = play(played, Linear(z), runs=runs, seed=effort.seed, threads=1)
        bests.append(float(record.best_loss))
        means.append(float(record.mean_regret[-1]))
        bounds.append(learner.bound(rounds=T, best_loss=bests[-1]).value)
        rows.append({"x": bests[-1], "y": means[-1]})
    slope = exponent(bests, means)
    picture = Picture(
        f"Regret and bound against L*, two bets, T = {T}", "L*", "regret", (Layer("line", tuple(rows)), Layer("bound",
        tuple({"x": b, "y": v} for b, v in zip(bests, bounds, strict=True))), ),
        alt=f"The regret grows with slope {slope:.2f} on logarithmic axes, below the bound.", x_log=True, y_log=True,
    )  # fmt: skip
    return holds(
        all(at_most(m, b) for m, b in zip(means, bounds, strict=True)) and abs(slope - 0.5) < 0.1, slope, 0.6,
        runs=4 * runs, numbers={"slope of the bound": exponent(bests, bounds)}, pictures=(picture, ),
        what="fitted exponent",
    )  # fmt: skip


@CHAPTER.claim("loss-only")
def _loss_only(effort: Effort) -> Verdict:
    """⟨ℓ, x⟩ ≥ 0 on X allows only ℓ = 0 if X contains a neighbourhood of 0: the condition is checked, and refused."""
    domain: Domain = effort.turn(Ball(3), Box([0.0] * 3, [1.0] * 3))
    learner, refused = Convex(domain, 1.0, tuning=Fixed(1.0), loss_bound=2.0, smooth=0), 0
    trials = np.abs(effort.rng("loss-only").standard_normal((50, 3)))
    for z in trials / np.linalg.norm(trials, axis=1, keepdims=True):
        try:
            learner.admit(Linear(z))
        except ValueError:
            refused += 1
    learner.admit(Linear([0.0, 0.0, 0.0]))
    return holds(refused == 50, refused, 50, runs=50, what="losses refused")
