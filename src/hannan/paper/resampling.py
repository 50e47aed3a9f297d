"""Claims of Section 4.1 on geometric resampling: bias, cost and variance."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hannan import adversaries
from hannan.games.play import play
from hannan.learners.bandits import Bandit
from hannan.learners.estimators import ConditionalResampling, Drawn, Estimator, GeometricResampling, ImportanceWeighted
from hannan.learners.tuning import BestLoss, Horizon
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.regularizers import LogBarrier
from hannan.paper.bandit_lemmas import spared
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, broken, correct, form, holds, upper
from hannan.report import Layer, Picture
from hannan.validation import Array

CHAPTER = Chapter(
    "Geometric resampling",
    "FTPL can draw an arm without computing its probability p, but needs 1/p for the estimate. The number of "
    "further draws until the same arm comes up again estimates 1/p.",
)

correct(
    "resampling-bias",
    "thm:gbpa_bandits",
    "a cap of M draws costs at most N/(eM) per round, so that M ≥ √(NT) is needed instead of M = √T",
    corrected=lambda n, cap: n / (math.e * cap),
    printed=lambda n, cap: n / cap,
)


def _mean(estimator: Estimator, p: float, power: int = 1, draws: int = 4000) -> float:
    """Return the mean of a power of the weight of an arm with probability p, by integration over a fine grid."""
    drawn = Drawn(0, np.array([p, 1.0 - p]), np.zeros(2), 1.0)
    grid = iter((np.arange(draws) + 0.5) / draws)
    return math.fsum(estimator.weight(drawn, lambda: float(next(grid))) ** power for _ in range(draws)) / draws


@CHAPTER.claim("resampling-bias")
def _bias(effort: Effort) -> Verdict:
    """A cap of M draws lowers E ℓ̂ by (1 − p)^{M} ℓ, which costs at most N/(eM) per round. The cost is nearly attained
    at p = 1/M."""
    rows, worst, best, gap = [], -math.inf, 0.0, 0.0
    for p, cap in ((0.5, 4), (0.2, 5), (0.05, 20)):
        # The mean weight of the estimator is (1 − (1−p)^M)/p.
        gap = max(gap, abs(p * _mean(GeometricResampling(cap), p) - (1.0 - (1.0 - p) ** cap)))
    for n in (2, 10, 50):
        for cap in (n, 3 * n, 10 * n, 100 * n):
            # sum_i p_i (1-p_i)^M is largest if all arms but one have probability 1/(M+1).
            small = min(1.0 / (cap + 1.0), 1.0 / n)
            cost = (n - 1) * small * (1.0 - small) ** cap + (1.0 - (n - 1) * small) * ((n - 1) * small) ** cap
            for p_ in effort.rng("bias").dirichlet(np.full(n, 0.3), 200):
                cost = max(cost, float((p_ * (1.0 - p_) ** cap).sum()))
            ratio = cost / form("resampling-bias")(n, cap)
            worst, best = max(worst, ratio), max(best, ratio)
            rows.append({"x": cap, "y": cost * math.e * cap / n, "arms": f"N = {n}"})
    picture = Picture(
        "Largest cost of a cap, divided by N/(eM)",
        "cap M",
        "cost × eM/N",
        (Layer("line", tuple(rows), series="arms"), Layer("rule", ({"y": 1.0, "label": "N/(eM)"},))),
        alt="The cost of a cap approaches N/(eM) as N grows and does not exceed it.",
        x_log=True,
    )
    return holds(
        at_most(worst, 1.0) and best > 0.9 and gap < 1e-2,
        worst,
        1.0,
        numbers={"the estimator's mean against its formula": gap},
        pictures=(picture,),
        what="largest cost/claimed",
    )


@CHAPTER.claim("resampling-cap")
def _cap(effort: Effort) -> Verdict:
    """A cap of M = √T does not affect the order √(NT log N) of the bound, in T or in N."""
    rows: list[dict[str, Any]] = []
    T, n = 100_000_000, 1024
    for arms in (4, 16, 64, 256, n):
        order = math.sqrt(arms * T * math.log(arms))
        for name, cap in (("M = √T", math.isqrt(T)), ("M = √(NT)", math.isqrt(arms * T))):
            learner = Bandit(arms, Exponential(), Horizon(T), GeometricResampling(cap))
            bias = learner.bound(rounds=T).terms["resampling bias"]
            rows.append({"x": arms, "y": bias / order, "cap": name})
    last = rows[-2 if not effort.broken else -1]["y"]
    picture = Picture(
        "Cost of the cap divided by √(NT log N), T = 10⁸",
        "N",
        "bias / √(NT log N)",
        (Layer("line", tuple(rows), series="cap"),),
        alt="With M = √T the cost grows relative to √(NT log N); with M = √(NT) it stays small.",
        x_log=True,
        y_log=True,
    )
    return broken(
        last > 4.0,
        last,
        1.0,
        numbers={"N": n, "T": T},
        pictures=(picture,),
        note="NT/M = N√T exceeds √(NT log N) if N is large. The order in T alone is not affected.",
        what="bias/√(NT log N) at M = √T",
    )


@CHAPTER.claim("resampling-first-order")
def _first_order(effort: Effort) -> Verdict:
    """With M = T the log-barrier keeps its first-order bound up to a constant factor, for every T. The regret in
    simulations stays below the bound."""
    ratios, rows, n, best = [], [], 4, 100.0
    for T in (1000, 100_000, 10_000_000):
        cap = effort.turn(T, math.isqrt(T))
        capped = Bandit(n, LogBarrier(), BestLoss(best, rounds=T), GeometricResampling(cap)).bound(rounds=T).value
        ratios.append(capped / Bandit(n, LogBarrier(), BestLoss(best, rounds=T)).bound(rounds=T).value)
        rows.append({"x": T, "y": ratios[-1]})
    T, runs = 1000, effort.pick(400, 1000)
    learner = Bandit(n, LogBarrier(), BestLoss(best, rounds=T), GeometricResampling(T))
    record = play(learner, spared(T, n, best / T), runs=runs, seed=effort.seed, threads=1)
    played = upper(record) / learner.bound(rounds=T).value
    picture = Picture(
        "Bound with M = T divided by the bound with exact weights, N = 4, L* = 100",
        "T",
        "ratio",
        (Layer("line", tuple(rows)),),
        alt="The bound with a cap of T is at most a constant multiple of that with exact weights, up to T = 10⁷.",
        x_log=True,
    )
    return holds(
        max(ratios) <= 2.0 and at_most(played, 1.0),
        max(ratios),
        2.0,
        runs=runs,
        numbers={"regret in play, upper end/bound": played},
        pictures=(picture,),
        what="largest bound/bound with exact weights",
    )


@CHAPTER.claim("resampling-cost")
def _cost(effort: Effort) -> Verdict:
    """The expected number of samples per round is at most N, and equal to N if every arm has positive probability: it
    is constant in T, but not in N."""
    rows: list[dict[str, Any]] = []
    worst = -math.inf
    for n in (2, 5, 10, 20):
        for p in (np.full(n, 1.0 / n), effort.rng("cost").dirichlet(np.full(n, 3.0))):
            # The arm drawn needs 1/p draws to come up again, and is drawn with probability p.
            draws = math.fsum(float(q) * _mean(GeometricResampling(10**6), float(q)) for q in p)
            worst = max(worst, draws / effort.turn(n, 2.0))
        rows.append({"x": n, "y": draws, "estimator": "geometric"})
        harmonic = math.fsum(1.0 / i for i in range(1, n + 1))
        rows.append({"x": n, "y": harmonic, "estimator": "conditional: at most H_N"})
    picture = Picture(
        "Expected draws per round",
        "N",
        "draws",
        (Layer("line", tuple(rows), series="estimator"),),
        alt="Geometric resampling needs N draws per round, conditional resampling at most H_N.",
        x_log=True,
        y_log=True,
    )
    return holds(
        at_most(worst, 1.0, slack=1e-3) and rows[-2]["y"] > 19.0,
        worst,
        1.0,
        runs=8,
        pictures=(picture,),
        what="largest draws/claimed",
    )


@CHAPTER.claim("resampling-variance")
def _variance(effort: Effort) -> Verdict:
    """Resampling replaces N by 2N − 1 in the second moment of the estimates: E Σ p_{i} · p_{i} K_{i}² = 2N − 1."""
    worst, gap, rng = -math.inf, 0.0, effort.rng("variance")
    for p in (0.6, 0.2, 0.05):
        # E K^2 = (2-p)/p^2 for the estimator of the library.
        second = _mean(GeometricResampling(10**6), p, power=2, draws=effort.pick(20_000, 200_000))
        gap = max(gap, abs(second * p**2 / (2.0 - p) - 1.0))
    for n in (2, 10, 50):
        second = float((2.0 - rng.dirichlet(np.full(n, 2.0))).sum())
        worst = max(worst, second / effort.turn(2 * n - 1, n))
    return holds(
        at_most(worst, 1.0) and gap < 0.01,
        worst,
        1.0,
        runs=6,
        numbers={"the estimator's second moment against (2 − p)/p²": gap},
        what="second moment/claimed",
    )


@CHAPTER.claim("resampling-bound")
def _bound(effort: Effort) -> Verdict:
    """With resampled weights that are capped at M, the regret is at most √(2c'(2N − 1)T) + NT/(eM)."""
    n, T, runs, worst, rows = 6, effort.pick(1500, 10_000), effort.pick(300, 600), -math.inf, []
    losses = spared(T, n)
    for cap in (40, 160, 640):
        for name, estimator in (("geometric", GeometricResampling(cap)), ("conditional", ConditionalResampling(cap))):
            learner = Bandit(n, Exponential(), Horizon(T), estimator=estimator)
            played = effort.turn(learner, replace(learner, estimator=GeometricResampling(1)))
            record = play(played, losses, runs=runs, seed=effort.seed, threads=1)
            worst = max(worst, upper(record) / learner.bound().value)
            rows += [
                {"x": f"M = {cap}", "y": float(record.mean_regret[-1]), "what": name},
                {"x": f"M = {cap}", "y": learner.bound().value, "what": f"{name}, bound"},
            ]
    picture = Picture(
        f"Resampled weights, N = {n}, T = {T}",
        "",
        "regret",
        (Layer("bars", tuple(rows), series="what"),),
        alt="The regret with capped weights is below the bound for each cap.",
        x_kind="nominal",
    )
    return holds(
        at_most(worst, 1.0), worst, 1.0, runs=6 * runs, pictures=(picture,), what="largest upper confidence limit/bound"
    )


OBSERVABLE = Chapter(
    "Observable regret",
    "A bandit never sees the losses of the other arms. It can still compute a number whose expectation is at least "
    "its expected regret.",
)


@OBSERVABLE.claim("observable-certificate")
def _observable(effort: Effort) -> Verdict:
    """E[learner's loss − min_{i} L̂_{i}] ≥ E Regret, also if the weights are capped. C + Σ D_{t} does not have this
    property with a cap."""
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
        # The lower 99.9 % confidence limit of the mean difference must not be above zero.
        worst = max(worst, float(gap.mean() - 3.3 * gap.std(ddof=1) / math.sqrt(runs)))
        rows += [
            {"x": name, "y": float(record.mean_regret[-1]), "what": "regret"},
            {"x": name, "y": float(record.estimated_regret.mean()), "what": "learner's loss − min L̂"},
        ]
    hedge = _capped_hedge(losses, 5, effort)
    rows += [
        {"x": "cap 5, Hedge", "y": hedge["regret"], "what": "regret"},
        {"x": "cap 5, Hedge", "y": hedge["drift"], "what": "C + Σ D"},
    ]
    picture = Picture(
        f"Observable regret estimates, N = {n}, T = {T}",
        "estimator",
        "mean",
        (Layer("bars", tuple(rows), series="what"),),
        alt="On average the learner's loss minus the smallest estimate is above the regret; with a cap, C plus the "
        "drift is not.",
        x_kind="nominal",
    )
    worst = effort.turn(worst, hedge["regret"] - hedge["drift"])
    return holds(
        worst <= 0.0,
        worst,
        0.0,
        runs=3 * runs,
        numbers={"Hedge, cap 5: regret": hedge["regret"], "Hedge, cap 5: C + Σ D": hedge["drift"]},
        pictures=(picture,),
        what="largest regret − estimated regret, lower confidence limit",
    )


def _capped_hedge(losses: Array, cap: int, effort: Effort) -> dict[str, float]:
    """Return the mean regret of Exp3 with weights min(K, cap), and C + the sum of D_t."""
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
