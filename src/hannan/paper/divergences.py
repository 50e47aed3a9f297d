"""Claims of Section 2.2 and Appendix A: divergences, their computation and their behavior under maps."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hannan.mathematics.divergences import hockey_stick, max_divergence, tsallis_divergence, tsallis_log
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, broken, correct, form, holds
from hannan.report import Layer, Picture
from hannan.validation import Array

CHAPTER = Chapter(
    "Divergences",
    "Two divergences measure how far apart two distributions of a move are. Both have exact formulas on finite spaces.",
)


def pairs(effort: Effort, name: str, n: int, count: int) -> list[tuple[Array, Array]]:
    """Return random pairs of distributions: nearly equal, far apart, and with zeros."""
    rng = effort.rng(name)
    pairs = []
    for k in range(count):
        p, q = rng.dirichlet(np.full(n, 10.0 ** rng.uniform(-1, 1.5)), 2)
        if k % 5 == 0:
            p = p * (rng.random(n) < 0.8)
            p = p / p.sum() if p.sum() > 0 else np.full(n, 1.0 / n)
        # Keep q away from zero, so that logarithms stay comparable.
        pairs.append((p, (q + 1e-6) / (q + 1e-6).sum()))
    return pairs


def _subsets(p: Array, q: Array) -> tuple[Array, Array]:
    """Return (P(B), Q(B)) for every non-empty set B."""
    masks = np.array(list(itertools.product((0.0, 1.0), repeat=p.size)))[1:]
    return masks @ p, masks @ q


@CHAPTER.claim("max-divergence")
def _finite_max(effort: Effort) -> Verdict:
    """The supremum in D_{∞}^{δ}(P, Q) is attained at a likelihood-ratio set {P/Q > c}. Sorting the outcomes once by P/Q
    therefore gives the supremum over all sets."""
    worst, count = 0.0, effort.pick(200, 2000)
    for k, (p, q) in enumerate(pairs(effort, "finite-max", 7, count)):
        P, Q = _subsets(p, q)
        delta = (0.0, 0.01, 0.1, 0.3)[k % 4]
        inside = delta + 1e-12 < P
        brute = np.log((P[inside] - delta) / Q[inside]).max()
        single = np.log(np.maximum(p - delta, 1e-300) / q).max()
        worst = max(worst, abs(effort.turn(float(max_divergence(p, q, delta)), float(single)) - float(brute)))
    return holds(
        worst <= 1e-9, worst, 1e-9, runs=count, numbers={"sets compared with, each pair": 127}, what="largest error"
    )


@CHAPTER.claim("tsallis-divergence")
def _finite_tsallis(effort: Effort) -> Verdict:
    """The supremum in D_{∞,γ}(P, Q) is attained at a single outcome if γ ≥ 1. If γ < 1 it is attained at a
    likelihood-ratio set {P/Q > c}, and single outcomes are not enough."""
    worst, count, gap = 0.0, effort.pick(200, 2000), 0.0
    rows = []
    for k, (p, q) in enumerate(pairs(effort, "finite-tsallis", 7, count)):
        P, Q = _subsets(p, q)
        gamma = (0.25, 0.5, 0.9, 1.0, 1.3, 1.7, 2.0)[k % 7]
        every = tsallis_log(P, gamma) - tsallis_log(Q, gamma)
        brute, single = float(every.max()), float((tsallis_log(p, gamma) - tsallis_log(q, gamma)).max())
        found = effort.turn(float(tsallis_divergence(p, q, gamma)), max(single, 0.0))
        worst = max(worst, abs(found - max(brute, 0.0)) / max(1.0, abs(brute)))
        share = 1.0 - max(single, 0.0) / brute if brute > 1e-9 else 0.0
        gap = max(gap, share) if gamma < 1.0 else gap
        rows.append({"γ": gamma, "missed by singletons": max(0.0, share)})
    best: dict[float, float] = {}
    for row in rows:
        best[row["γ"]] = max(best.get(row["γ"], 0.0), row["missed by singletons"])
    picture = Picture(
        "Loss in the supremum if only single outcomes are considered",
        "γ",
        "largest relative loss",
        (Layer("bars", tuple({"x": f"{g:g}", "y": v} for g, v in sorted(best.items()))),),
        alt=f"For γ < 1 single outcomes miss up to {100 * gap:.0f} % of the divergence; for γ ≥ 1 they miss nothing.",
        x_kind="ordinal",
        height=200,
    )
    right = worst <= 1e-9 and gap > 0.05 and all(v < 1e-9 for g, v in best.items() if g >= 1.0)
    return holds(
        right,
        worst,
        1e-9,
        runs=count,
        numbers={"most that singletons miss, γ < 1": gap},
        pictures=(picture,),
        what="largest relative error",
    )


correct(
    "triangle",
    "eq:max_divergence",
    "the triangle inequality holds for D_{∞} and every D_{∞,γ}; it fails only for δ > 0",
    corrected=lambda delta: delta > 0.0,
    printed=lambda delta: True,
)


@CHAPTER.claim("triangle")
def _triangle(effort: Effort) -> Verdict:
    """D_{∞} and every D_{∞,γ} satisfy the triangle inequality. D_{∞}^{δ} with δ > 0 does not, and it can be
    negative."""
    # Maximize D(P, R) - D(P, Q) - D(Q, R) over triples, for each divergence.
    rng, count = effort.rng("triangle"), effort.pick(4000, 40000)
    P, Q, R = (rng.dirichlet(np.full(4, 0.7), count) + 1e-9 for _ in range(3))
    P, Q, R = (X / X.sum(axis=1, keepdims=True) for X in (P, Q, R))
    excess, deltas = {}, {"δ = 0.05": 0.05}
    for gamma in (0.5, 1.0, 1.5, 2.0):
        D = [tsallis_divergence(*pair, gamma) for pair in ((P, R), (P, Q), (Q, R))]
        excess[f"γ = {gamma:g}"] = float(((D[0] - D[1] - D[2]) / np.maximum(1.0, D[0])).max())
    near = rng.dirichlet(np.full(4, 60.0), (3, count))
    D = [max_divergence(*pair, 0.05) for pair in ((near[0], near[2]), (near[0], near[1]), (near[1], near[2]))]
    excess["δ = 0.05"] = float((D[0] - D[1] - D[2]).max())
    fails = form("triangle")
    agree = all((value > 1e-9) == fails(deltas.get(name, 0.0)) for name, value in excess.items())
    own = float(max_divergence([0.5, 0.5], [0.5, 0.5], 0.05))
    picture = Picture(
        "Largest excess of D(P,R) over D(P,Q) + D(Q,R)",
        "divergence",
        "excess",
        (Layer("bars", tuple({"x": k, "y": max(v, 0.0)} for k, v in excess.items())),),
        alt="For δ = 0 no triple of distributions violates the triangle inequality; for δ = 0.05 some do.",
        x_kind="nominal",
        order=tuple(excess),
        height=200,
    )
    pure = max(v for k, v in excess.items() if k not in deltas)
    return holds(
        agree and at_most(own, math.log(0.95)),
        pure,
        0.0,
        runs=5 * count,
        numbers={"excess at δ = 0.05": excess["δ = 0.05"], "D^{δ}(P, P)": own},
        pictures=(picture,),
        note="With δ > 0 the value can be negative: D_{∞}^{δ}(P, P) = log(1 − δ).",
        what="largest excess, δ = 0",
    )


@CHAPTER.claim("triangle-printed")
def _triangle_printed(effort: Effort) -> Verdict:
    """The max-divergence “does not satisfy the triangle inequality”."""
    steps = effort.pick(8, 12)
    grid = np.array([(a, b, steps - a - b) for a in range(1, steps) for b in range(1, steps - a)], dtype=float) / steps
    pairs = np.array(list(itertools.product(range(len(grid)), repeat=2)))
    D = np.asarray(max_divergence(grid[pairs[:, 0]], grid[pairs[:, 1]], effort.turn(0.0, 0.1)))
    D = D.reshape(len(grid), len(grid))
    # D(P, R) - D(P, Q) - D(Q, R) over every P, Q, R of the grid.
    excess = float((D[:, None, :] - D[:, :, None] - D[None, :, :]).max())
    return broken(
        excess <= 1e-12,
        excess,
        0.0,
        runs=len(grid) ** 3,
        note="sup log P/R ≤ sup log P/Q + sup log Q/R for each set: D_{∞} satisfies the triangle inequality, and no "
        "triple "
        "of the grid violates it.",
        what="largest D(P, R) − D(P, Q) − D(Q, R)",
    )


LEMMAS = Chapter(
    "Lemmas on divergences",
    "Equivalent forms of D_{∞}^{δ} ≤ ε, and the behavior of the divergences if outcomes are mapped.",
)


def _nearest(p: Array, q: Array, epsilon: float) -> Array:
    """Return Y' of the lemma: cap P at e^eps Q and move the excess to outcomes below the cap."""
    cap = math.exp(epsilon) * q
    cut = np.minimum(p, cap)
    room = cap - cut
    return np.asarray(cut + (1.0 - cut.sum()) * room / room.sum() if room.sum() > 0 else cut)


correct(
    "delta-lemma",
    "lem:delta_pl",
    "the equivalence needs ε ≥ 0",
    corrected=lambda epsilon: max(epsilon, 0.0),
    printed=lambda epsilon: epsilon,
)


@LEMMAS.claim("delta-lemma")
def _delta_lemma(effort: Effort) -> Verdict:
    """D_{∞}^{δ}(Y, Z) ≤ ε if and only if some Y' satisfies TV(Y, Y') ≤ δ and D_{∞}(Y', Z) ≤ ε, where TV is the total
    variation distance. One direction is checked by constructing Y', the other on random Y'."""
    # Construct Y' at the smallest eps that the lemma allows: TV(Y, Y') <= delta and D(Y', Z) <= eps.
    count, worst, back, rng = effort.pick(600, 6000), -math.inf, -math.inf, effort.rng("delta-lemma-converse")
    shapes = [*pairs(effort, "delta-lemma", 6, count), (np.full(4, 0.25), np.full(4, 0.25))]
    least = form("delta-lemma")
    for k, (p, q) in enumerate(shapes):
        delta = (0.01, 0.05, 0.2)[k % 3]
        epsilon = float(least(float(max_divergence(p, q, delta))))
        other = _nearest(p, q, epsilon)
        moved = 0.5 * float(np.abs(p - other).sum())
        # Y' must be a distribution, near Y, and within e^eps of Z.
        ratio = float(np.log(np.maximum(other, 1e-300) / q).max()) - epsilon
        worst = max(worst, moved - delta, ratio, abs(float(other.sum()) - 1.0))
        # Converse: D^TV(Y, Z) <= D(Y', Z) for any Y'; near the Y' constructed above it is nearly an equality.
        near = other * np.exp(rng.normal(0.0, 0.05, other.size))
        near = near / near.sum()
        tv = 0.5 * float(np.abs(p - near).sum())
        back = max(back, float(max_divergence(p, q, tv)) - float(max_divergence(near, q)))
    return holds(
        worst <= 1e-9 and back <= 1e-9,
        max(worst, back),
        1e-9,
        runs=2 * count,
        numbers={"Y' built, largest excess": worst, "converse, largest excess": back},
        note="At ε < 0 no Y' exists: D_{∞}(Y', Z) ≥ 0 always, while D_{∞}^{δ}(Y, Y) = log(1 − δ) < 0.",
        what="largest excess",
    )


@LEMMAS.claim("hockey-stick")
def _hockey(effort: Effort) -> Verdict:
    """D_{∞}^{δ}(P, Q) ≤ ε if and only if Σ_{i} (P_{i} − e^{ε} Q_{i})_{+} ≤ δ."""
    count, worst = effort.pick(600, 6000), 0.0
    for k, (p, q) in enumerate(pairs(effort, "hockey", 6, count)):
        delta = (0.01, 0.05, 0.2)[k % 3]
        epsilon = float(max_divergence(p, q, delta))
        if epsilon < 1e-9:
            continue
        # At the smallest eps the sum equals delta; slightly below that eps it is larger.
        at, below = float(hockey_stick(p, q, epsilon)), float(hockey_stick(p, q, epsilon * 0.999))
        at = effort.turn(at, float((p - math.exp(epsilon) * q).sum()))
        worst = max(worst, abs(at - delta), 0.0 if below > delta else 1.0)
    return holds(worst <= 1e-9, worst, 1e-9, runs=count, what="largest error")


@LEMMAS.claim("dp-func")
def _dp_func(effort: Effort) -> Verdict:
    """E f(Y) ≤ e^{ε} E f(Z) + δF for every function f with values in [0, F]."""
    # E f(Y) - e^eps E f(Z) - delta F over functions into [0, F], including the worst f.
    count, worst, rng = effort.pick(600, 6000), -math.inf, effort.rng("dp-func-values")
    for k, (p, q) in enumerate(pairs(effort, "dp-func", 6, count)):
        delta = (0.0, 0.05, 0.2)[k % 3]
        epsilon = max(0.0, float(max_divergence(p, q, delta)))
        if not math.isfinite(epsilon):
            continue
        for values in (rng.random(6), (p > math.exp(epsilon) * q).astype(float), (p > q).astype(float)):
            right = math.exp(epsilon) * (values @ q) + effort.turn(1.0, 0.5) * delta
            worst = max(worst, float(values @ p - right))
    return holds(worst <= 1e-12, worst, 0.0, runs=3 * count, what="largest left side − right side")


@LEMMAS.claim("increasing")
def _increasing(effort: Effort) -> Verdict:
    """D_{∞,γ}(P, Q) is non-decreasing in γ."""
    gammas = np.linspace(0.1, 3.0, 30)
    rows: list[dict[str, Any]] = []
    worst, count = 0.0, effort.pick(60, 3000)
    for k, (p, q) in enumerate(pairs(effort, "increasing", 5, count)):
        values = np.array([float(tsallis_divergence(p, q, g)) for g in gammas])
        worst = max(worst, float((-np.diff(values[:: effort.turn(1, -1)]) / np.maximum(1.0, values[1:])).max()))
        if k % 5 != 0 and len(rows) < 120:
            rows += [
                {"x": float(g), "y": float(v), "pair": f"pair {len(rows) // 30 + 1}"}
                for g, v in zip(gammas, values, strict=True)
            ]
    picture = Picture(
        "D_{∞,γ} grows with γ",
        "γ",
        "D_{∞,γ}(P, Q)".replace("_{∞,γ}", "∞,γ"),
        (Layer("line", tuple(rows), series="pair"),),
        alt="For four pairs of distributions the divergence never decreases as γ grows from 0.1 to 3.",
        y_log=True,
    )
    return holds(worst <= 1e-12, worst, 0.0, runs=30 * count, pictures=(picture,), what="largest decrease")


@LEMMAS.claim("post-processing")
def _deterministic(effort: Effort) -> Verdict:
    """D_{∞,γ}(f(X), f(Y)) ≤ D_{∞,γ}(X, Y) for every deterministic map f."""
    count, worst, rng = effort.pick(500, 5000), -math.inf, effort.rng("maps")
    for k, (p, q) in enumerate(pairs(effort, "deterministic", 6, count)):
        gamma = (0.5, 1.0, 1.5, 2.0)[k % 4]
        into = rng.integers(0, 3, 6)
        fp, fq = np.bincount(into, p, 3), np.bincount(into, q, 3)
        if effort.broken:
            fp, fq = np.repeat(p / 2.0, 2), np.repeat(q / 2.0, 2)
        before = float(tsallis_divergence(p, q, gamma))
        worst = max(worst, (float(tsallis_divergence(fp, fq, gamma)) - before) / max(1.0, before))
    return holds(worst <= 1e-12, worst, 0.0, runs=count, what="largest increase")


@LEMMAS.claim("random-maps")
def _random_split(effort: Effort) -> Verdict:
    """For γ > 1 a randomized map can increase D_{∞,γ}: splitting an outcome at random into m parts multiplies its term
    by m^{γ−1}."""
    # P = (1/2, 1/2), Q = (1/4, 3/4); the first outcome is split at random into m parts.
    rows, worst = [], 0.0
    for gamma in (1.0, 1.5, 2.0):
        before = float(tsallis_divergence([0.5, 0.5], [0.25, 0.75], gamma))
        for m in (1, 2, 4, 8, 16):
            p, q = np.array([*[0.5 / m] * m, 0.5]), np.array([*[0.25 / m] * m, 0.75])
            after = float(tsallis_divergence(p, q, gamma))
            worst = max(worst, abs(after - effort.turn(m ** (gamma - 1.0), 1.0) * before) / before)
            rows.append({"x": m, "y": after, "divergence": f"γ = {gamma:g}"})
    picture = Picture(
        "Divergence after a random split of one outcome into m parts",
        "m",
        "divergence",
        (Layer("line", tuple(rows), series="divergence"),),
        alt="After a 4-way random split the divergence at γ = 2 is 8 instead of 2; at γ = 1 it does not change.",
        x_log=True,
        y_log=True,
    )
    at = float(tsallis_divergence(np.array([*[0.125] * 4, 0.5]), np.array([*[0.0625] * 4, 0.75]), 2.0))
    return holds(
        worst <= 1e-9,
        at,
        8.0,
        numbers={"before the split": 2.0, "after a 4-way split": at},
        pictures=(picture,),
        what="divergence after a 4-way split",
    )
