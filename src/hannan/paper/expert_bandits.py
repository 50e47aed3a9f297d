"""Section 4.2 and Appendix C.4: bandits with experts, with and without clipping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.game import play
from hannan.laws import Exponential, Frechet, Gamma, Gumbel, Pareto, Weibull
from hannan.learners.expert_bandits import ExpertBandit
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, broken, holds
from hannan.paper.corrections import correct, form
from hannan.potentials import FTPL, FTRL
from hannan.refusals import Array
from hannan.regularizers import Entropy
from hannan.report import Layer, Picture
from hannan.stability import range_constant
from hannan.tuning import Horizon

CHAPTER = Chapter(
    "Bandits with experts",
    "K actions, N experts who each advise one; the regret is against the best expert. EXP4 is the entropy's version.",
)


def problem(
    actions: int, experts: int, rounds: int, effort: Effort, mean: float = 0.5, gap: float = 0.2
) -> tuple[Array, NDArray[np.uint8]]:
    """Losses and advice: one expert knows a good action of each round more often than the others."""
    rng = effort.rng(f"advice-{actions}-{experts}-{rounds}-{mean}")
    means = np.full((rounds, actions), mean + gap / 2.0)
    good = rng.integers(0, actions, rounds)
    means[np.arange(rounds), good] = mean - gap / 2.0
    losses = (rng.random((rounds, actions)) < means).astype(float)
    advice = rng.integers(0, actions, (rounds, experts)).astype(np.uint8)
    knows = rng.random(rounds) < 0.8
    advice[knows, 0] = good[knows].astype(np.uint8)
    return losses, advice


@CHAPTER.claim("advice-duality", "alg:gbpa_bwe", "exact", when="any p, any ℓ̂ ≥ 0, any advice")
def _duality(effort: Effort) -> Verdict:
    """⟨ψ_{t}(p), ℓ̂⟩ = ⟨p, φ_{t}(ℓ̂)⟩: experts and actions lose the same."""
    rng, worst = effort.rng("duality"), 0.0
    for _ in range(effort.pick(300, 3000)):
        p, estimate, advice = rng.dirichlet(np.ones(9)), rng.random(4) * 5.0, rng.integers(0, 4, 9)
        q = np.bincount(advice, p, 4)
        worst = max(worst, abs(float(q @ estimate) - float(p @ estimate[advice])))
    return holds(worst <= 1e-12, worst, 1e-12, runs=effort.pick(300, 3000), what="largest difference")


def _step(effort: Effort, name: str) -> list[dict[str, Any]]:
    """One round from many states: p, the play after, q, the estimate, its lift to experts and the running sum."""
    rng, seen = effort.rng(name), []
    for phi in (FTRL(Entropy(), 5.0), FTPL(Exponential(), 5.0)):
        for _ in range(effort.pick(80, 800)):
            n, k = 6, 3
            total, advice = rng.random(n) * 12.0, rng.integers(0, k, n)
            p = phi.gradient(total)
            q = np.bincount(advice, p, k)
            j = int(rng.choice(k, p=q / q.sum()))
            estimate = float(rng.random() / q[j])
            lift = np.where(advice == j, estimate, 0.0)
            seen.append(
                {
                    "p": p,
                    "after": phi.gradient(total + lift),
                    "q": float(q[j]),
                    "estimate": estimate,
                    "lift": lift,
                    "sum": total + lift,
                }
            )
    return seen


correct(
    "increment",
    "lem:gammastability_bwe",
    "the increment φ_{t}(ℓ̂_{t}) stands where the lemmas print the running sum φ̄_{t}",
    corrected=lambda row: row["lift"],
    printed=lambda row: row["sum"],
)


@CHAPTER.claim("advice-drift", "lem:gammastability_bwe", "search", when="level ε in D_{∞}", corrects="increment")
def _advice_drift(effort: Effort) -> Verdict:
    """⟨p_{t} − p_{t+1}, φ_{t}(ℓ̂_{t})⟩ ≤ ε ℓ̂² q_{j}."""
    pick, worst = form("increment"), -math.inf
    rows = _step(effort, "advice-drift")
    for row in rows:
        left = float((row["p"] - row["after"]) @ pick(row))
        worst = max(worst, left / (0.2 * row["estimate"] ** 2 * row["q"]))
    return holds(at_most(worst, 1.0), worst, 1.0, runs=len(rows), what="largest left/right")


@CHAPTER.claim(
    "advice-drift-printed",
    "lem:gammastability_bwe",
    "search",
    when="as printed, with the running sum φ̄_{t}",
    expected="fails as printed",
)
def _advice_printed(effort: Effort) -> Verdict:
    """⟨p_{t} − p_{t+1}, φ̄_{t}⟩ ≤ ε ℓ̂² q_{j}."""
    rows = _step(effort, "advice-drift")
    values = [float((row["p"] - row["after"]) @ row["sum"]) / (0.2 * row["estimate"] ** 2 * row["q"]) for row in rows]
    return broken(
        max(values) > 1.0,
        max(values),
        1.0,
        runs=len(rows),
        what="largest left/right",
        note="With the sum in place of the increment the left side grows with everything lost before; "
        "i_{t}, p_{t} stand for j_{t}, q_{t} in the same lemmas.",
    )


def _paths(phi: Any, losses: Array, advice: NDArray[np.uint8]) -> dict[str, float]:
    """Algorithm 3 without clipping over every path of actions, with its chance: both sides of Lemma C.6, exactly."""
    (T, K), n = losses.shape, advice.shape[1]
    total, chance, own, moved = np.zeros((1, n)), np.ones(1), 0.0, 0.0
    for t in range(T):
        p = phi.gradient(total)
        q = p @ np.eye(K)[advice[t]]
        # Each path goes on with each action j; its experts are charged l_j/q_j. Below 1e-12 a path adds nothing.
        q = np.where(q > 1e-12, q, 0.0)
        lifts = np.eye(K)[advice[t]].T[None] * (losses[t] / np.where(q > 0.0, q, 1.0))[:, :, None]
        after, odds = (total[:, None] + lifts).reshape(-1, n), (chance[:, None] * q).ravel()
        step = np.repeat(p, K, axis=0) - phi.gradient(after)
        own += float(chance @ (q @ losses[t]))
        moved += float(odds @ (step * after).sum(axis=1))
        total, chance = after, odds
    best = float(losses[np.arange(T)[:, None], advice].sum(axis=0).min())
    return {"regret": own - best, "moved": moved}


@CHAPTER.claim(
    "advice-abel",
    "lem:bweregret",
    "exact",
    when="no clipping; every path of actions, with its chance",
    control="the range E[max F − min F] left out",
)
def _abel(effort: Effort) -> Verdict:
    """E Σ ℓ_{t,j_t} − L* ≤ E Σ⟨p_{t} − p_{t+1}, φ̄_{t}⟩ + E[max F − min F], with the running sum φ̄_{t}, as printed: by
    Abel summation it says E⟨p_{T+1}, φ̄_{T}⟩ ≤ L* + range."""
    rng, worst, runs, n, K, T = effort.rng("abel"), -math.inf, 0, 3, 2, effort.pick(5, 8)
    for scale in (0.5, 2.0, 8.0):
        # For a law F(p, Z) = −⟨p, Z⟩: the range is E max Z − E min Z; E min of 3 exponentials is 1/3.
        cases = ((FTRL(Entropy(), scale), math.log(n)), (FTPL(Exponential(), scale), 11.0 / 6.0 - 1.0 / 3.0))
        for phi, cost in cases:
            for _ in range(effort.pick(8, 40)):
                losses, advice = rng.integers(0, 2, (T, K)).astype(float), rng.integers(0, K, (T, n))
                advice[:, :K] = np.arange(K)
                sides = _paths(phi, losses, advice.astype(np.uint8))
                right = sides["moved"] + effort.turn(scale * cost, 0.0)
                worst, runs = max(worst, sides["regret"] - right), runs + 1
    return holds(worst <= 1e-9, worst, 0.0, runs=runs, what="largest left − right")


@CHAPTER.claim("advice-lemma", "lem:regret_bwe", "simulation", when="no clipping, level ε in D_{∞}")
def _lemma(effort: Effort) -> Verdict:
    """E Regret ≤ ε E Σ ℓ̂² q_{j} + E[max F − min F], both sides measured; half of the first term is enough."""
    n, K, T, runs = 6, 3, effort.pick(150, 600), effort.pick(80, 400)
    losses, advice = problem(K, n, T, effort)
    best = float(losses[np.arange(T)[:, None], advice].sum(axis=0).min())
    rows, worst, index = [], -math.inf, np.arange(runs)
    cases: tuple[tuple[str, Any], ...] = (("EXP4", FTRL(Entropy(), 12.0)), ("Exponential", FTPL(Exponential(), 12.0)))
    for name, phi in cases:
        rng, L, own, second = effort.rng(f"advice-lemma-{name}"), np.zeros((runs, n)), 0.0, 0.0
        for t in range(T):
            p, mark = phi.gradient(L), np.eye(K)[advice[t]]
            q = p @ mark
            j = (np.cumsum(q, axis=1) > rng.random((runs, 1)) * q.sum(axis=1, keepdims=True)).argmax(axis=1)
            estimate = losses[t, j] / q[index, j]
            L += (advice[t][None, :] == j[:, None]) * estimate[:, None]
            own, second = own + float(losses[t, j].mean()), second + float((estimate**2 * q[index, j]).mean())
        cost = 12.0 * range_constant(phi.smoothing, n)
        sides = {
            "regret": own - best,
            "(ε/2) Σ ℓ̂²q + range": second / 24.0 + cost,
            "ε Σ ℓ̂²q + range, printed": second / 12.0 + cost,
        }
        worst = max(worst, sides["regret"] / sides["(ε/2) Σ ℓ̂²q + range"])
        rows += [{"x": name, "y": value, "what": what} for what, value in sides.items()]
    picture = Picture(
        f"Both sides of the lemma, K = {K}, N = {n}, T = {T}",
        "smoothing",
        "regret, or its bound",
        (Layer("bars", tuple(rows), series="what"),),
        alt="The regret is below both right sides for EXP4 and for the exponential law.",
        x_kind="nominal",
    )
    return holds(at_most(worst, 1.0), worst, 1.0, runs=2 * runs, pictures=(picture,), what="largest left/right")


def upper(record: Any) -> float:
    return float(record.interval(0.999)[1][-1])


@CHAPTER.claim("expert-bandits-part-1", "thm:gbpa_bwe", "simulation", when="part 1: no clipping, Horizon(T)")
def _part_1(effort: Effort) -> Verdict:
    """Without clipping the regret is at most √(2c'K'T), K' = min(K, N), for perturbations as for EXP4."""
    actions, experts, T, runs = 4, 12, effort.pick(1500, 6000), effort.pick(30, 60)
    losses, advice = problem(actions, experts, T, effort)
    rows, worst = [], -math.inf
    smoothings: tuple[tuple[str, Any], ...] = (
        ("EXP4", Entropy()),
        ("Gumbel", Gumbel()),
        ("Gamma(2)", Gamma(2.0)),
        ("Fréchet(7)", Frechet(7.0)),
        ("Weibull(1)", Weibull(1.0)),
        ("Pareto(7)", Pareto(7.0)),
    )
    for name, smoothing in smoothings:
        learner = ExpertBandit(actions, experts, smoothing, Horizon(T))
        record = play(learner, losses, runs=runs, seed=effort.seed, advice=advice, threads=1)
        bound = learner.bound().value
        worst = max(worst, upper(record) / bound)
        rows += [
            {"x": name, "y": float(record.mean_regret[-1]), "what": "regret"},
            {"x": name, "y": bound, "what": "bound"},
        ]
    few = ExpertBandit(20, 3, Exponential(), Horizon(T)).bound().value
    many = ExpertBandit(3, 3, Exponential(), Horizon(T)).bound().value
    picture = Picture(
        f"Perturbations beside EXP4, K = {actions}, N = {experts}, T = {T}",
        "smoothing",
        "regret",
        (Layer("bars", tuple(rows), series="what"),),
        alt="The five laws have regrets like that of EXP4, all below their bounds.",
        x_kind="nominal",
        order=tuple(name for name, _ in smoothings),
    )
    return holds(
        at_most(worst, 1.0) and abs(few - many) < 1e-9,
        worst,
        1.0,
        runs=runs * len(smoothings),
        numbers={"bound with K = 20, N = 3": few, "with K = 3, N = 3": many},
        pictures=(picture,),
        what="largest upper end/bound",
    )
