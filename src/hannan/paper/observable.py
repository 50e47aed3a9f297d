"""What a bandit can see of its own regret: ours, beside Lemma 4.1."""

from __future__ import annotations

import math

import numpy as np

from hannan import adversaries
from hannan.games.play import play
from hannan.learners.bandits import Bandit
from hannan.learners.estimators import Estimator, GeometricResampling, ImportanceWeighted
from hannan.learners.tuning import Horizon
from hannan.mathematics.laws.table import Exponential
from hannan.paper.claim import Chapter, Effort, Verdict, holds
from hannan.refusals import Array
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "What a bandit sees",
    "A bandit never sees the other arms' losses, and still holds a number that bounds its regret in expectation.",
)


@CHAPTER.claim("observable-certificate")
def _observable(effort: Effort) -> Verdict:
    """E[own loss − min_{i} L̂_{i}] ≥ E Regret, also under a cap; C + Σ D_{t} is no such number under a cap."""
    n, T, runs = 10, 1000, effort.pick(200, 1000)
    losses = adversaries.small_best_loss(T, n, seed=effort.seed, best_loss=20.0)
    rows, worst = [], -math.inf
    estimators: tuple[tuple[str, Estimator], ...] = (
        ("exact 1/p", ImportanceWeighted()),
        ("cap 30", GeometricResampling(30)),
        ("cap 5", GeometricResampling(5)),
    )
    for name, estimator in estimators:
        learner = Bandit(n, Exponential(), Horizon(T), estimator)
        record = play(learner, losses, runs=runs, seed=effort.seed, threads=1)
        assert record.estimated_regret is not None
        gap = record.regret[:, -1] - record.estimated_regret
        # The mean of the difference, less its own 99.9 % error, must not be above zero.
        worst = max(worst, float(gap.mean() - 3.3 * gap.std(ddof=1) / math.sqrt(runs)))
        rows += [
            {"x": name, "y": float(record.mean_regret[-1]), "what": "regret"},
            {"x": name, "y": float(record.estimated_regret.mean()), "what": "own loss − min L̂"},
        ]
    hedge = _capped_hedge(losses, 5, effort)
    rows += [
        {"x": "cap 5, Hedge", "y": hedge["regret"], "what": "regret"},
        {"x": "cap 5, Hedge", "y": hedge["drift"], "what": "C + Σ D"},
    ]
    picture = Picture(
        f"What a bandit can see of its own regret, N = {n}, T = {T}", "estimator", "mean", (Layer("bars", tuple(rows),
        series="what"), ),
        alt="Own loss minus the least estimate is above the regret in the mean; C plus the drift is not, under a cap.",
        x_kind="nominal",
    )  # fmt: skip
    worst = effort.turn(worst, hedge["regret"] - hedge["drift"])
    return holds(
        worst <= 0.0, worst, 0.0, runs=3 * runs, numbers={"Hedge, cap 5: regret": hedge["regret"],
        "Hedge, cap 5: C + Σ D": hedge["drift"]}, pictures=(picture, ),
        what="largest regret − estimated regret, less its error",
    )  # fmt: skip


def _capped_hedge(losses: Array, cap: int, effort: Effort) -> dict[str, float]:
    """Exp3 with weights min(K, cap), many runs at once: its regret, and C + sum of D_t."""
    T, n = losses.shape
    runs, scale, rng = effort.pick(100, 400), math.sqrt(T * n / (2.0 * math.log(n))), effort.rng("capped")
    L, own, drift, index = np.zeros((runs, n)), np.zeros(runs), np.zeros(runs), np.arange(runs)

    def soft(A: Array) -> tuple[Array, Array]:
        w = np.exp(-(A - A.min(axis=1, keepdims=True)) / scale)
        return w / w.sum(axis=1, keepdims=True), A.min(axis=1) - scale * np.log(w.sum(axis=1))

    p, value = soft(L)
    for t in range(T):
        arm = np.minimum((np.cumsum(p, axis=1) > rng.random((runs, 1))).argmax(axis=1), n - 1)
        chance, loss = p[index, arm], losses[t, arm]
        weight = np.minimum(rng.geometric(chance), cap)
        before = value
        L[index, arm] += loss * weight
        kept = chance * loss * weight
        p, value = soft(L)
        own, drift = own + loss, drift + kept - (value - before)
    return {"regret": float(own.mean() - losses.sum(axis=0).min()), "drift": float(scale * math.log(n) + drift.mean())}
