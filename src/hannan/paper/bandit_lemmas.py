"""Appendix C.1: the lemma behind the bandit theorems, both sides measured."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from hannan import adversaries
from hannan.estimators import Estimator, GeometricResampling, ImportanceWeighted
from hannan.game import play
from hannan.laws import Exponential
from hannan.learners.bandits import Bandit
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.paper.corrections import correct, form
from hannan.potentials import Potential, potential
from hannan.refusals import Array
from hannan.regularizers import Entropy, LogBarrier, Tsallis
from hannan.report import Layer, Picture
from hannan.stability import range_constant
from hannan.tuning import Fixed, Horizon

CHAPTER = Chapter(
    "Bandit lemmas",
    "Only the loss of the arm pulled is seen, and enters as ℓ/p. What that costs a round is its drift D_{t}.",
)


def _simulated(phi: Potential, losses: Array, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Algorithm 4 with exact weights, kept apart from the compiled games: each term of the lemma, in the mean."""
    T, n = losses.shape
    own = drift = crude = 0.0
    gamma = phi.stability(n).gamma
    L = np.zeros((runs, n))
    index = np.arange(runs)
    value = np.asarray(phi.value(L))
    for t in range(T):
        p = phi.gradient(L)
        arm = (np.cumsum(p, axis=1) > rng.random((runs, 1))).argmax(axis=1)
        chance = p[index, arm]
        loss = losses[t, arm]
        estimate = loss / chance
        L[index, arm] += estimate
        after = np.asarray(phi.value(L))
        own += float(loss.mean())
        # D_t = <p, lhat> - (Phi(L + lhat) - Phi(L)), exactly.
        drift += float((loss - (after - value)).mean())
        crude += float((estimate**2 * chance**gamma).mean())
        value = after
    return {"own": own, "drift": drift, "second": crude, "best": float(losses.sum(axis=0).min())}


@CHAPTER.claim("bandit-algorithm", "alg:gbpa_bandits", "exact", when="every smoothing; exact weights")
def _algorithm(effort: Effort) -> Verdict:
    """The player is the algorithm: it draws from ∇Φ(L̂), says with which probability, and adds ℓ/p to the arm pulled,
    so that E ℓ̂ = ℓ."""
    rng, worst, runs = effort.rng("algorithm"), 0.0, 0
    for _, smoothing, _constant in SMOOTHINGS:
        player, L, phi = Bandit(4, smoothing, Fixed(3.0)).start(effort.seed), np.zeros(4), potential(smoothing, 3.0)
        for _t in range(effort.pick(60, 600)):
            p, move, loss = phi.gradient(L), player.act(), float(rng.random())
            worst = max(worst, abs(move.probability - p[move.action]) / p[move.action])
            # With the player's own weight: rounding grows by 1/p a round, and two sums would part in the end.
            L[move.action] += loss / move.probability
            player.observe(move, loss)
            runs += 1
    return holds(worst <= 1e-8, worst, 1e-8, runs=runs, what="largest relative error of a stated probability")


correct(
    "half-drift",
    "lem:gammastability",
    "the drift of a round is at most (ε/2) p^{γ} ℓ̂², half of what is printed",
    corrected=lambda: 0.5,
    printed=lambda: 1.0,
)


SMOOTHINGS: tuple[tuple[str, Any, float], ...] = (
    # name, smoothing, eps * scale of its own divergence
    ("Exp3", Entropy(), 1.0),
    ("Exponential", Exponential(), 1.0),
    ("Tsallis(½)", Tsallis(0.5), 2.0),
    ("LogBarrier", LogBarrier(), 1.0),
)


@CHAPTER.claim(
    "bandit-drift",
    "lem:gammastability",
    "search",
    when="one arm observed, γ in [1, 2], level ε",
    corrects="half-drift",
    expected="improved",
)
def _drift(effort: Effort) -> Verdict:
    """D_{t} = ∫_{0}^{ℓ̂} (p(0) − p(s)) ds ≤ (ε/2) p^{γ} ℓ̂², with equality for small ℓ̂; for γ = 2 also
    D_{t} ≤ ℓ − η log(1 + ℓ/η)."""
    rng, worst, least, barrier, runs = effort.rng("drift"), -math.inf, math.inf, -math.inf, 0
    for _, smoothing, constant in SMOOTHINGS:
        best = 0.0
        for _k in range(effort.pick(150, 1500)):
            scale = 10.0 ** rng.uniform(-0.3, 1.2)
            phi, gamma = potential(smoothing, scale), 1.0
            gamma = phi.stability(3).gamma
            L = scale * rng.random(3) * 10.0 ** rng.uniform(-1, 1)
            p = float(phi.gradient(L)[0])
            # The smallest losses lie where the two sides meet.
            loss = 10.0 ** rng.uniform(-2, 0)
            estimate = loss / p
            moved = L + np.array([estimate, 0.0, 0.0])
            D = loss - float(phi.value(moved) - phi.value(L))
            if 1e-9 * max(1.0, loss) > D:
                continue
            ratio = D / (constant / scale * p**gamma * estimate**2)
            best, runs = max(best, ratio), runs + 1
            if isinstance(smoothing, LogBarrier):
                barrier = max(barrier, D / (loss - scale * math.log1p(loss / scale)))
        worst, least = max(worst, best), min(least, best)
    factor = form("half-drift")()
    return holds(
        at_most(worst, factor, slack=1e-5) and least >= 0.7 * factor and at_most(barrier, 1.0, slack=1e-5),
        worst,
        factor,
        runs=runs,
        numbers={"least of the smoothings' largest": least, "log-barrier form": barrier},
        what="largest drift/(ε p^γ ℓ̂²)",
    )


@CHAPTER.claim("bandit-lemma", "lem:regret_bandit", "simulation", when="exact weights, oblivious, level ε in D_{∞,γ}")
def _lemma(effort: Effort) -> Verdict:
    """E Regret ≤ ε E Σ ℓ̂² p^{γ} + E[max F − min F]: both sides measured, and the sharper ones between."""
    rows, worst, n, T = [], -math.inf, 4, effort.pick(120, 400)
    runs = effort.pick(60, 400)
    losses = adversaries.switching(T, n, seed=effort.seed)
    for name, smoothing, constant in SMOOTHINGS:
        scale = 12.0 if constant == 1.0 else 8.0
        phi = potential(smoothing, scale)
        seen = _simulated(phi, losses, runs, effort.rng(f"lemma-{name}"))
        cost = scale * range_constant(smoothing, n, T)
        bias = (n - 1) / n if isinstance(smoothing, LogBarrier) else 0.0
        left = seen["own"] - seen["best"]
        sides = {
            "regret": left,
            "Σ D + range (exact drift)": seen["drift"] + cost + bias,
            "(ε/2) Σ ℓ̂²p^γ + range": 0.5 * constant / scale * seen["second"] + cost + bias,
            "ε Σ ℓ̂²p^γ + range, printed": constant / scale * seen["second"] + cost + bias,
        }
        ordered = list(sides.values())
        # Σ D ≤ (ε/2) Σ ... run by run; the regret is below in expectation.
        worst = max(worst, *(a / b for a, b in pairwise(ordered)))
        rows += [{"x": name, "y": value, "what": what} for what, value in sides.items()]
    picture = Picture(
        f"Both sides of the lemma, N = {n}, T = {T}, mean of {runs} runs",
        "smoothing",
        "regret, or its bound",
        (Layer("bars", tuple(rows), series="what"),),
        alt="For each smoothing the regret is below the exact drift plus range, and that below the printed right side.",
        x_kind="nominal",
        order=tuple(row[0] for row in SMOOTHINGS),
    )
    return holds(
        at_most(worst, 1.0, slack=1e-6), worst, 1.0, runs=runs * 4, pictures=(picture,), what="largest left/right"
    )


@CHAPTER.claim("bandit-identity", "lem:mabregret", "simulation", when="exact weights")
def _mabregret(effort: Effort) -> Verdict:
    """E Σ ℓ_{t,i_t} − L* ≤ E Σ ⟨p_{t} − p_{t+1}, ℓ̂_{t}⟩ + range, and already ≤ E Σ D_{t} + range, where
    D_{t} ≤ ⟨p_{t} − p_{t+1}, ℓ̂_{t}⟩."""
    rng, worst, runs = effort.rng("mab"), -math.inf, 0
    for _, smoothing, _constant in SMOOTHINGS:
        for _k in range(effort.pick(60, 600)):
            phi = potential(smoothing, 10.0 ** rng.uniform(0, 1.3))
            L = rng.random(4) * 10.0
            p, loss = phi.gradient(L), float(rng.random())
            arm = int(rng.integers(4))
            if p[arm] < 1e-6:
                continue
            moved = L.copy()
            moved[arm] += loss / p[arm]
            D = loss - float(phi.value(moved) - phi.value(L))
            step = float((p[arm] - phi.gradient(moved)[arm]) * loss / p[arm])
            worst, runs = max(worst, D - step), runs + 1
    return holds(worst <= 1e-8, worst, 0.0, runs=runs, what="largest D − ⟨p − p', ℓ̂⟩")


correct(
    "vertex",
    "lem:regret_bandit_full",
    "a vertex is 2(N−1)τ away from the smaller simplex in ‖·‖₁, not τN; the cost is (N−1)τT",
    corrected=lambda n, tau: (2.0 * (n - 1) * tau, (n - 1) * tau),
    printed=lambda n, tau: (n * tau, n * tau),
)


@CHAPTER.claim("bandit-vertex", "lem:regret_bandit_full", "exact", when="0 ≤ τ ≤ 1/N", corrects="vertex")
def _vertex(effort: Effort) -> Verdict:
    """For every p' of the simplex some p with p_{i} ≥ τ has ‖p' − p‖₁ ≤ 2(N − 1)τ, and a vertex needs that much;
    the loss of a round changes by at most (N − 1)τ."""
    worst, least, rng = -math.inf, math.inf, effort.rng("vertex")
    for n in (2, 3, 10):
        for tau in (1e-3, 0.5 / n):
            distance, cost = form("vertex")(n, tau)
            # The nearest point to a vertex moves τ to each other arm; mixing is as near for any p'.
            vertex = np.eye(n)[0]
            near = np.full(n, tau)
            near[0] = 1.0 - (n - 1) * tau
            worst = max(worst, float(np.abs(vertex - near).sum()) / distance, float((n - 1) * tau) / cost)
            least = min(least, float(np.abs(vertex - near).sum()) / distance)
            for p in rng.dirichlet(np.ones(n), 20):
                mixed = (1.0 - n * tau) * p + tau
                worst = max(worst, float(np.abs(p - mixed).sum()) / distance)
    return holds(at_most(worst, 1.0), worst, 1.0, numbers={"a vertex needs": least}, what="distance/claimed")


@CHAPTER.claim("observable-certificate", "lem:regret_bandit", "simulation", when="E ℓ̂ ≤ ℓ: exact, capped or clipped")
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
        f"What a bandit can see of its own regret, N = {n}, T = {T}",
        "estimator",
        "mean",
        (Layer("bars", tuple(rows), series="what"),),
        alt="Own loss minus the least estimate is above the regret in the mean; C plus the drift is not, under a cap.",
        x_kind="nominal",
    )
    return holds(
        worst <= 0.0 and hedge["drift"] < hedge["regret"],
        worst,
        0.0,
        runs=3 * runs,
        numbers={"Hedge, cap 5: regret": hedge["regret"], "Hedge, cap 5: C + Σ D": hedge["drift"]},
        pictures=(picture,),
        what="largest regret − estimated regret, less its error",
    )


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
