"""Section 3.3.2, continued: experts at their worst, late, asleep, and at the edges."""

from __future__ import annotations

import math

import numpy as np

from hannan.laws import Exponential, Frechet
from hannan.learners.experts import Experts
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.paper.corrections import correct, form
from hannan.paper.experts import hard, regret
from hannan.potentials import FTRL, potential
from hannan.regularizers import Entropy, LogBarrier, Tsallis
from hannan.report import Layer, Picture
from hannan.stability import Smoothing, range_constant, rate_constant
from hannan.tuning import Fixed, Horizon

CHAPTER = Chapter(
    "Experts, case by case",
    "Where bounds are attained, what the worst of all sequences does, and what delay and sleep cost.",
)


@CHAPTER.claim("experts-attained", "thm:analysis_experts", "exact", when="two experts, one never loses; any scale")
def _attained(effort: Effort) -> Verdict:
    """The bound of a fixed scale is attained with equality by the exponential law: no smaller bound is true."""
    ratios = {}
    for scale in (1.0, 3.0, 10.0):
        rounds = int(60 * scale)
        losses = np.tile([0.0, 1.0], (rounds, 1))
        learner = Experts(2, Exponential(), Fixed(scale))
        ratios[f"scale {scale:g}"] = regret(learner, losses, effort) / learner.bound(best_loss=0.0).value
    worst = max(ratios.values())
    return holds(
        at_most(worst, 1.0, slack=1e-7) and min(ratios.values()) > 0.999999,
        worst,
        1.0,
        numbers=ratios,
        what="largest regret/bound",
    )


@CHAPTER.claim("experts-delay", "thm:analysis_experts", "simulation", when="a fixed scale; at most d losses missing")
def _delay(effort: Effort) -> Verdict:
    """With feedback d rounds late the regret is at most e^{εd}(ε/(1 − e^{−ε}))(L* + C) − L*."""
    worst, rows, runs = -math.inf, [], 0
    for name, smoothing in (("Exponential", Exponential()), ("Hedge", Entropy())):
        for scale in (4.0, 20.0):
            phi, eps, cost = (
                potential(smoothing, scale),
                rate_constant(smoothing) / scale,
                scale * range_constant(smoothing, 4),
            )
            for late in (0, 1, 3, 10):
                for losses in hard(4, effort.pick(300, 3000), effort):
                    totals = np.vstack([np.zeros((late + 1, 4)), np.cumsum(losses, axis=0)])[: len(losses)]
                    own, best = float((phi.gradient(totals) * losses).sum()), float(losses.sum(axis=0).min())
                    bound = math.exp(eps * late) * eps / -math.expm1(-eps) * (best + cost) - best
                    ratio, runs = (own - best) / bound, runs + 1
                    worst = max(worst, ratio)
                    if scale == 20.0:
                        rows.append({"x": late, "y": ratio, "learner": name})
    picture = Picture(
        "Regret/bound under delay, scale 20",
        "rounds late",
        "regret / bound",
        (Layer("points", tuple(rows), series="learner"),),
        alt="Regret stays below the delay bound at every delay.",
    )
    return holds(at_most(worst, 1.0), worst, 1.0, runs=runs, pictures=(picture,), what="largest regret/bound")


@CHAPTER.claim("experts-sleeping", "thm:analysis_experts", "simulation", when="experts sleep; a fixed scale")
def _sleeping(effort: Effort) -> Verdict:
    """Playing p restricted to the awake, and charging sleepers the learner's own loss, the bound holds for each
    expert over its waking rounds."""
    rng, worst, runs, n = effort.rng("sleeping"), -math.inf, 0, 5
    for smoothing in (Entropy(), Exponential()):
        for scale in (3.0, 15.0):
            phi, eps, cost = (
                potential(smoothing, scale),
                rate_constant(smoothing) / scale,
                scale * range_constant(smoothing, n),
            )
            for _ in range(effort.pick(4, 30)):
                L, own, theirs = np.zeros(n), np.zeros(n), np.zeros(n)
                means = rng.random(n)
                for _t in range(effort.pick(300, 2000)):
                    awake = rng.random(n) < 0.6
                    awake[rng.integers(n)] = True
                    loss = (rng.random(n) < means).astype(float)
                    p = np.where(awake, phi.gradient(L), 0.0)
                    mine = float(p @ loss / p.sum())
                    own, theirs = own + awake * mine, theirs + awake * loss
                    L = L + np.where(awake, loss, mine)
                # An expert's own total, sleeping rounds charged at the learner's loss, is what the bound is about.
                charged = L
                bound = eps / -math.expm1(-eps) * (charged + cost) - charged
                worst, runs = max(worst, float(((own - theirs) / bound).max())), runs + 1
    return holds(at_most(worst, 1.0), worst, 1.0, runs=runs, what="largest regret/bound of any expert")


correct(
    "barrier-bias",
    "thm:analysis_experts",
    "the log-barrier as experts pays c = (N−1)τT for its comparator as well",
    corrected=lambda bound, bias: bound + bias,
    printed=lambda bound, bias: bound,
)


@CHAPTER.claim(
    "experts-barrier",
    "thm:analysis_experts",
    "exact",
    when="log-barrier, N = 2, T = 2, Horizon(2)",
    corrects="barrier-bias",
)
def _barrier(effort: Effort) -> Verdict:
    """The log-barrier plays experts with bound √(c'T) + c: its range is finite only on a smaller simplex, and
    that costs c = (N − 1)τT."""
    spread, bias = range_constant(LogBarrier(), 2, 2), 0.5
    c = rate_constant(LogBarrier()) * spread
    # eps = 2 sqrt(c'/T), one expert never loses.
    phi = FTRL(LogBarrier(), rate_constant(LogBarrier()) / (2.0 * math.sqrt(c / 2.0)))
    lost = sum(float(phi.gradient([float(t), 0.0])[0]) for t in range(2))
    bound = form("barrier-bias")(math.sqrt(2.0 * c), bias)
    return holds(
        at_most(lost, bound),
        lost,
        bound,
        numbers={"√(c'T) alone": math.sqrt(2.0 * c), "c": bias},
        what="regret",
    )


def _worst_regret(smoothing: Smoothing, scale: float, rounds: int) -> float:
    """The largest expected regret that any losses in {0,1}^2 can cause, by dynamic programming over the gap."""
    gaps = np.arange(-rounds - 1, rounds + 2, dtype=float)
    # p of the first expert when it is g behind; regret against the first is own - l_1, plus max(0, gap) at the end.
    p = potential(smoothing, scale).gradient(np.stack([gaps, np.zeros_like(gaps)], axis=1))[:, 0]
    value = np.maximum(gaps, 0.0)
    for _ in range(rounds):
        behind, ahead = np.roll(value, -1) + p - 1.0, np.roll(value, 1) + 1.0 - p
        value[1:-1] = np.maximum(value, np.maximum(behind, ahead))[1:-1]
    return float(value[rounds + 1])


@CHAPTER.claim("experts-worst-case", "thm:analysis_experts", "exact", when="N = 2, every loss sequence in {0, 1}")
def _worst_case(effort: Effort) -> Verdict:
    """Against the worst of all loss sequences, found by dynamic programming, the regret of two experts stays within
    the horizon bound √(c'T), and comes close to it."""
    rows, worst = [], -math.inf
    smoothings: tuple[tuple[str, Smoothing], ...] = (
        ("Exponential", Exponential()),
        ("Hedge", Entropy()),
        ("Fréchet(7)", Frechet(7.0)),
        ("Tsallis(½)", Tsallis(0.5)),
    )
    for name, smoothing in smoothings:
        for rounds in effort.pick((4, 16, 64, 200), (4, 16, 64, 256, 1000)):
            learner = Experts(2, smoothing, Horizon(rounds))
            ratio = _worst_regret(smoothing, learner.schedule().scale(1, 0.0), rounds) / learner.bound().value
            worst = max(worst, ratio)
            rows.append({"x": rounds, "y": ratio, "smoothing": name})
    picture = Picture(
        "Worst regret over all sequences, as a share of the bound",
        "T",
        "worst regret / bound",
        (Layer("line", tuple(rows), series="smoothing"), Layer("rule", ({"y": 1.0, "label": "the bound"},))),
        alt=f"The worst regret is at most {worst:.2f} of the bound.",
        x_log=True,
    )
    return holds(at_most(worst, 1.0) and worst > 0.7, worst, 1.0, pictures=(picture,), what="largest regret/bound")


correct(
    "hedge-scale",
    "thm:analysis_experts",
    "Hedge's bound √(T ln N/2) belongs to its own ε = √(8 ln N/T), not to ε = 2√(c'/T)",
    corrected=lambda T: math.sqrt(T / (8.0 * math.log(2.0))),
    printed=lambda T: math.sqrt(T / math.log(2.0)) / 2.0,
)


@CHAPTER.claim(
    "experts-hedge-horizon", "thm:analysis_experts", "exact", when="entropy, N = 2, T = 120", corrects="hedge-scale"
)
def _hedge(effort: Effort) -> Verdict:
    """Hedge has a horizon bound of its own, √(T ln N/2), with ε = √(8 ln N/T); with the general ε it fails."""
    bound, rounds = math.sqrt(60.0 * math.log(2.0)), 120
    value = _worst_regret(Entropy(), form("hedge-scale")(rounds), rounds)
    general = _worst_regret(Entropy(), math.sqrt(rounds / math.log(2.0)) / 2.0, rounds)
    return holds(
        at_most(value, bound),
        value,
        bound,
        numbers={"worst regret at the general ε": general},
        what="worst regret over all sequences",
    )
