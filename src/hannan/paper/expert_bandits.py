"""Section 4.2 and Appendix C.4: bandits with experts, with and without clipping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.games.play import play
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.tuning import Fixed, Horizon
from hannan.mathematics.laws.table import Exponential, Frechet, Gamma, Gumbel, Pareto, Weibull
from hannan.mathematics.potentials import FTPL, FTRL
from hannan.mathematics.regularizers import Entropy
from hannan.mathematics.stability import range_constant
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, broken, holds
from hannan.paper.corrections import correct, form
from hannan.paper.growth import upper
from hannan.paper.pictures import bars
from hannan.paper.trees import spared, walked
from hannan.refusals import Array
from hannan.report import Layer, Picture

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


@CHAPTER.claim("advice-duality")
def _duality(effort: Effort) -> Verdict:
    """The player is the algorithm: it draws j with probability q_{j} = ψ(p)_{j}, charges those who advised it
    ℓ/q_{j}, and ⟨ψ(p), ℓ̂⟩ = ⟨p, φ(ℓ̂)⟩: experts and actions lose the same."""
    rng, worst, rounds, n, K, scale = effort.rng("duality"), 0.0, effort.pick(150, 1500), 9, 4, 6.0
    player, total = ExpertBandit(K, n, Entropy(), Fixed(scale)).start(effort.seed), np.zeros(n)
    phi = FTRL(Entropy(), scale)
    for _ in range(rounds):
        advice, p = rng.integers(0, K, n), player.distribution()
        worst = max(worst, float(np.abs(p - phi.gradient(total)).max()))
        move, loss = player.act(advice), float(rng.random())
        agree = advice == move.action
        q = effort.turn(float(p[agree].sum()), float(p[agree][0]))
        estimate = np.where(np.arange(K) == move.action, loss / move.probability, 0.0)
        lift = estimate[advice]
        worst = max(worst, abs(q - move.probability), abs(float(p @ lift) - q * loss / move.probability))
        total += lift
        player.observe(move, loss)
    return holds(worst <= 1e-9, worst, 1e-9, runs=rounds, what="largest difference")


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
                {"p": p, "after": phi.gradient(total + lift), "q": float(q[j]), "estimate": estimate, "lift": lift,
                "sum": total + lift, }
            )  # fmt: skip
    return seen


correct(
    "increment", "lem:gammastability_bwe",
    "the increment φ_{t}(ℓ̂_{t}) stands where the lemmas print the running sum φ̄_{t}",
    corrected=lambda row: row["lift"], printed=lambda row: row["sum"],
)  # fmt: skip


@CHAPTER.claim("advice-drift")
def _advice_drift(effort: Effort) -> Verdict:
    """⟨p_{t} − p_{t+1}, φ_{t}(ℓ̂_{t})⟩ ≤ ε ℓ̂² q_{j}."""
    pick, worst = form("increment"), -math.inf
    rows = _step(effort, "advice-drift")
    for row in rows:
        left = float((row["p"] - row["after"]) @ pick(row))
        worst = max(worst, left / (0.2 * row["estimate"] ** 2 * row["q"]))
    return holds(at_most(worst, 1.0), worst, 1.0, runs=len(rows), what="largest left/right")


@CHAPTER.claim("advice-drift-printed")
def _advice_printed(effort: Effort) -> Verdict:
    """⟨p_{t} − p_{t+1}, φ̄_{t}⟩ ≤ ε ℓ̂² q_{j}."""
    rows = _step(effort, "advice-drift")
    what = effort.turn("sum", "lift")
    values = [float((row["p"] - row["after"]) @ row[what]) / (0.2 * row["estimate"] ** 2 * row["q"]) for row in rows]
    return broken(
        max(values) > 1.0, max(values), 1.0, runs=len(rows), what="largest left/right",
        note="With the sum in place of the increment the left side grows with everything lost before; "
        "i_{t}, p_{t} stand for j_{t}, q_{t} in the same lemmas.",
    )  # fmt: skip


@CHAPTER.claim("advice-abel")
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
                sides = walked(phi, losses, advice)
                right = sides.moved_sum + effort.turn(scale * cost, 0.0)
                worst, runs = max(worst, sides.regret - right), runs + 1
    return holds(worst <= 1e-9, worst, 0.0, runs=runs, what="largest left − right")


def by_arm(rounds: int, actions: int, more: int, effort: Effort) -> NDArray[np.uint8]:
    """Experts who each stay with an action, and `more` who guess: the bandit's hard game, advised."""
    guesses = effort.rng(f"guesses-{rounds}-{actions}-{more}").integers(0, actions, (rounds, more))
    return np.hstack([np.tile(np.arange(actions), (rounds, 1)), guesses]).astype(np.uint8)


@CHAPTER.claim("advice-lemma")
def _lemma(effort: Effort) -> Verdict:
    """E Regret ≤ ε E Σ ℓ̂² q_{j} + E[max F − min F], both sides measured; half of the first term is enough."""
    K, T, runs = 6, effort.pick(100, 400), effort.pick(200, 1000)
    n = K + 2
    losses, advice = spared(T, K), by_arm(T, K, 2, effort)
    best = float(losses[np.arange(T)[:, None], advice].sum(axis=0).min())
    rows, worst, sharp = [], -math.inf, -math.inf
    for name, smoothing in (("EXP4", Entropy()), ("Exponential", Exponential())):
        scale = math.sqrt(0.5 * K * T / range_constant(smoothing, n))
        learner, own, second = ExpertBandit(K, n, smoothing, Fixed(scale)), 0.0, 0.0
        for run in range(runs):
            player = learner.start(effort.seed + run)
            for t in range(T):
                move = player.act(advice[t])
                loss = float(losses[t, move.action])
                player.observe(move, loss)
                # ℓ̂² q of the action drawn: the estimate is ℓ/q.
                own, second = own + loss / runs, second + loss * loss / move.probability / runs
        cost = scale * range_constant(smoothing, n)
        sides = {
            "regret": own - best,
            "(ε/2) Σ ℓ̂²q + range": second / (2.0 * scale) + cost,
            "ε Σ ℓ̂²q + range, printed": second / scale + cost,
        }
        share = sides["regret"] / sides["(ε/2) Σ ℓ̂²q + range"]
        worst, sharp = max(worst, share / effort.turn(1.0, 0.5)), max(sharp, share)
        rows += [{"x": name, "y": value, "what": what} for what, value in sides.items()]
    picture = bars(
        f"Both sides of the lemma, K = {K}, N = {n}, T = {T}", rows, x="smoothing", y="regret, or its bound",
        alt="The regret is below both right sides for EXP4 and for the exponential law.",
    )  # fmt: skip
    return holds(
        at_most(worst, 1.0) and sharp > 0.55, worst, 1.0, runs=2 * runs, numbers={"largest regret/right side": sharp},
        pictures=(picture, ), what="largest left/right",
    )  # fmt: skip


@CHAPTER.claim("expert-bandits-part-1")
def _part_1(effort: Effort) -> Verdict:
    """Without clipping the regret is at most √(2c'K'T), K' = min(K, N), for perturbations as for EXP4, and each comes
    within half of it."""
    actions, T, runs = 6, effort.pick(200, 2000), effort.pick(120, 600)
    experts = actions + 2
    losses, advice = spared(T, actions), by_arm(T, actions, 2, effort)
    rows, worst, least = [], -math.inf, math.inf
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
        worst = max(worst, upper(record) / bound / effort.turn(1.0, 0.5))
        least = min(least, float(record.mean_regret[-1]) / bound)
        rows += [
            {"x": name, "y": float(record.mean_regret[-1]), "what": "regret"},
            {"x": name, "y": bound, "what": "bound"},
        ]
    few = ExpertBandit(20, 3, Exponential(), Horizon(T)).bound().value
    many = ExpertBandit(3, 3, Exponential(), Horizon(T)).bound().value
    picture = Picture(
        f"Perturbations beside EXP4, K = {actions}, N = {experts}, T = {T}", "smoothing", "regret", (Layer("bars",
        tuple(rows), series="what"), ), alt="The five laws have regrets like that of EXP4, all below their bounds.",
        x_kind="nominal", order=tuple(name for name, _ in smoothings),
    )  # fmt: skip
    return holds(
        at_most(worst, 1.0) and abs(few - many) < 1e-9 and least > 0.5, worst, 1.0, runs=runs * len(smoothings),
        numbers={"bound with K = 20, N = 3": few, "with K = 3, N = 3": many, "least mean/bound": least},
        pictures=(picture, ), what="largest upper end/bound",
    )  # fmt: skip
