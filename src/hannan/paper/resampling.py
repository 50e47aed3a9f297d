"""Section 4.1, on geometric resampling: its bias, its cost and its variance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan import adversaries
from hannan.estimators import ConditionalResampling, GeometricResampling
from hannan.game import play
from hannan.laws import Exponential
from hannan.learners.bandits import Bandit
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, broken, holds
from hannan.paper.corrections import correct, form
from hannan.report import Layer, Picture
from hannan.tuning import Horizon

CHAPTER = Chapter(
    "Geometric resampling",
    "FTPL can draw its arm without computing p, and then needs 1/p: the number of draws until the arm comes again "
    "estimates it.",
)

correct(
    "resampling-bias",
    "thm:gbpa_bandits",
    "a cap M costs at most N/(eM) a round, so M ≥ √(NT); not M = √T",
    corrected=lambda n, cap: n / (math.e * cap),
    printed=lambda n, cap: n / cap,
)


@CHAPTER.claim(
    "resampling-bias",
    "thm:gbpa_bandits",
    "exact",
    when="weights min(K, M)",
    corrects="resampling-bias",
    expected="improved",
)
def _bias(effort: Effort) -> Verdict:
    """A cap of M lowers E ℓ̂ by (1 − p)^{M} ℓ, which costs at most N/(eM) a round, nearly attained at p = 1/M."""
    rows, worst, best = [], -math.inf, 0.0
    for n in (2, 10, 50):
        for cap in (n, 3 * n, 10 * n, 100 * n):
            # sum_i p_i (1-p_i)^M, at its largest: all but one arm at 1/(M+1).
            small = min(1.0 / (cap + 1.0), 1.0 / n)
            cost = (n - 1) * small * (1.0 - small) ** cap + (1.0 - (n - 1) * small) * ((n - 1) * small) ** cap
            for p in effort.rng("bias").dirichlet(np.full(n, 0.3), 200):
                cost = max(cost, float((p * (1.0 - p) ** cap).sum()))
            ratio = cost / form("resampling-bias")(n, cap)
            worst, best = max(worst, ratio), max(best, ratio)
            rows.append({"x": cap, "y": cost * math.e * cap / n, "arms": f"N = {n}"})
    picture = Picture(
        "Largest cost of a cap over N/(eM)",
        "cap M",
        "cost × eM/N",
        (Layer("line", tuple(rows), series="arms"), Layer("rule", ({"y": 1.0, "label": "N/(eM)"},))),
        alt="The cost of a cap approaches N/(eM) as N grows, and does not exceed it.",
        x_log=True,
    )
    return holds(at_most(worst, 1.0) and best > 0.9, worst, 1.0, pictures=(picture,), what="largest cost/claimed")


@CHAPTER.claim("resampling-cap", "thm:gbpa_bandits", "exact", when="M = Θ(√T), as printed", expected="fails as printed")
def _cap(effort: Effort) -> Verdict:
    """M = √T does not affect the order √(NT) of the bound."""
    rows: list[dict[str, Any]] = []
    T = 10_000
    for n in (4, 16, 64, 256, 1024):
        order = math.sqrt(n * T)
        rows.append({"x": n, "y": n * T / (math.e * math.sqrt(T)) / order, "cap": "M = √T"})
        rows.append({"x": n, "y": n * T / (math.e * math.sqrt(n * T)) / order, "cap": "M = √(NT)"})
    last = rows[-2]["y"]
    picture = Picture(
        "Cost of the cap over √(NT), T = 10,000",
        "N",
        "bias / √(NT)",
        (Layer("line", tuple(rows), series="cap"),),
        alt="With M = √T the bias grows like √N relative to √(NT); with M = √(NT) it stays at 1/e.",
        x_log=True,
        y_log=True,
    )
    return broken(last > 5.0, last, 1.0, numbers={"N": 1024}, pictures=(picture,), what="bias/√(NT) at M = √T")


@CHAPTER.claim(
    "resampling-cost",
    "thm:gbpa_bandits",
    "exact",
    when="“the expected number of samples is constant per round”",
    expected="fails as printed",
)
def _cost(effort: Effort) -> Verdict:
    """The expected number of samples a round is constant."""
    rows: list[dict[str, Any]] = []
    for n in (2, 10, 100, 1000):
        cap, p = 100 * n, np.full(n, 1.0 / n)
        draws = float((p * (1.0 - (1.0 - p) ** cap) / p).sum())
        rows.append({"x": n, "y": draws, "estimator": "geometric"})
        harmonic = math.fsum(1.0 / i for i in range(1, n + 1))
        rows.append({"x": n, "y": harmonic, "estimator": "conditional: at most H_N"})
    picture = Picture(
        "Expected draws a round at the uniform play",
        "N",
        "draws",
        (Layer("line", tuple(rows), series="estimator"),),
        alt="Geometric resampling needs N draws a round; conditional resampling at most the harmonic number.",
        x_log=True,
        y_log=True,
    )
    return broken(
        rows[-2]["y"] > 900.0,
        rows[-2]["y"],
        1.0,
        numbers={"N": 1000},
        pictures=(picture,),
        what="draws a round at N = 1000",
    )


correct(
    "resampling-variance",
    "thm:gbpa_bandits",
    "1/p resampled has E[p K²] ≤ 2N − 1, not N",
    corrected=lambda n: 2 * n - 1,
    printed=lambda n: n,
)


@CHAPTER.claim(
    "resampling-variance",
    "thm:gbpa_bandits",
    "simulation",
    when="no cap; K geometric(p)",
    corrects="resampling-variance",
)
def _variance(effort: Effort) -> Verdict:
    """The second moment of resampling makes N into 2N − 1: E Σ p_{i} · p_{i} K_{i}² = 2N − 1."""
    worst, rng, runs = -math.inf, effort.rng("variance"), effort.pick(200_000, 2_000_000)
    for n in (2, 10, 50):
        p = rng.dirichlet(np.full(n, 2.0))
        # E K^2 = (2-p)/p^2, so the sum of p_i * p_i E K_i^2 is the sum of 2 - p_i; a simulation beside it.
        exact = float((2.0 - p).sum())
        arm = rng.choice(n, size=runs, p=p)
        seen = float((p[arm] * rng.geometric(p[arm]).astype(float) ** 2).mean())
        worst = max(worst, exact / form("resampling-variance")(n), abs(seen / exact - 1.0) / 0.05)
    return holds(at_most(worst, 1.0), worst, 1.0, runs=3 * runs, what="second moment/claimed")


@CHAPTER.claim("resampling-bound", "thm:gbpa_bandits", "simulation", when="exponential law, Horizon(T), cap M")
def _bound(effort: Effort) -> Verdict:
    """With weights resampled and capped at M the regret is at most √(2c'(2N − 1)T) + NT/(eM)."""
    n, T, runs, worst, rows = 6, effort.pick(2000, 20_000), effort.pick(40, 200), -math.inf, []
    losses = adversaries.switching(T, n, seed=effort.seed)
    for cap in (10, 40, 160):
        for name, estimator in (("geometric", GeometricResampling(cap)), ("conditional", ConditionalResampling(cap))):
            learner = Bandit(n, Exponential(), Horizon(T), estimator=estimator)
            record = play(learner, losses, runs=runs, seed=effort.seed, threads=1)
            worst = max(worst, float(record.interval(0.999)[1][-1]) / learner.bound().value)
            rows += [
                {"x": f"M = {cap}", "y": float(record.mean_regret[-1]), "what": name},
                {"x": f"M = {cap}", "y": learner.bound().value, "what": f"{name}, bound"},
            ]
    picture = Picture(
        f"Resampled weights, N = {n}, T = {T}",
        "",
        "regret",
        (Layer("bars", tuple(rows), series="what"),),
        alt="The regret with capped weights is below the bound at each cap.",
        x_kind="nominal",
    )
    return holds(at_most(worst, 1.0), worst, 1.0, runs=6 * runs, pictures=(picture,), what="largest upper end/bound")
