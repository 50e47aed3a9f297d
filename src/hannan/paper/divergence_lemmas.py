"""Appendices A and B.1: lemmas on the divergences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan.mathematics.divergences import hockey_stick, max_divergence, tsallis_divergence
from hannan.paper.claim import Chapter, Effort, Verdict, holds
from hannan.paper.corrections import correct, form
from hannan.paper.divergences import pairs
from hannan.refusals import Array
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "Lemmas on divergences",
    "What D_{∞}^{δ} means for two laws, and what survives a map of the outcomes.",
)


def _nearest(p: Array, q: Array, epsilon: float) -> Array:
    """Y' of the lemma: cut P at e^eps Q and hand the excess to the outcomes with room."""
    cap = math.exp(epsilon) * q
    cut = np.minimum(p, cap)
    room = cap - cut
    return np.asarray(cut + (1.0 - cut.sum()) * room / room.sum() if room.sum() > 0 else cut)


correct(
    "delta-lemma", "lem:delta_pl", "the characterisation needs ε ≥ 0", corrected=lambda epsilon: max(epsilon, 0.0),
    printed=lambda epsilon: epsilon,
)  # fmt: skip


@CHAPTER.claim("delta-lemma")
def _delta_lemma(effort: Effort) -> Verdict:
    """D_{∞}^{δ}(Y, Z) ≤ ε exactly when some Y' has TV(Y, Y') ≤ δ and D_{∞}(Y', Z) ≤ ε: Y' is built, and of any Y' the
    converse is measured."""
    # Build Y' at the least eps that the lemma allows: TV(Y, Y') <= delta and D(Y', Z) <= eps.
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
        # The converse: whatever Y' is, D^TV(Y, Z) <= D(Y', Z); near the Y' that was built it is nearly an equality.
        near = other * np.exp(rng.normal(0.0, 0.05, other.size))
        near = near / near.sum()
        tv = 0.5 * float(np.abs(p - near).sum())
        back = max(back, float(max_divergence(p, q, tv)) - float(max_divergence(near, q)))
    return holds(
        worst <= 1e-9 and back <= 1e-9, max(worst, back), 1e-9, runs=2 * count,
        numbers={"Y' built, largest excess": worst, "converse, largest excess": back},
        note="At ε < 0 no Y' exists: D_{∞}(Y', Z) ≥ 0 always, while D_{∞}^{δ}(Y, Y) = log(1 − δ) < 0.",
        what="largest excess",
    )  # fmt: skip


@CHAPTER.claim("hockey-stick")
def _hockey(effort: Effort) -> Verdict:
    """D_{∞}^{δ}(P, Q) ≤ ε exactly when Σ_{i} (P_{i} − e^{ε} Q_{i})_{+} ≤ δ."""
    count, worst = effort.pick(600, 6000), 0.0
    for k, (p, q) in enumerate(pairs(effort, "hockey", 6, count)):
        delta = (0.01, 0.05, 0.2)[k % 3]
        epsilon = float(max_divergence(p, q, delta))
        if epsilon < 1e-9:
            continue
        # At the least eps the sum is delta; a little below it is more.
        at, below = float(hockey_stick(p, q, epsilon)), float(hockey_stick(p, q, epsilon * 0.999))
        at = effort.turn(at, float((p - math.exp(epsilon) * q).sum()))
        worst = max(worst, abs(at - delta), 0.0 if below > delta else 1.0)
    return holds(worst <= 1e-9, worst, 1e-9, runs=count, what="largest error")


@CHAPTER.claim("dp-func")
def _dp_func(effort: Effort) -> Verdict:
    """E f(Y) ≤ e^{ε} E f(Z) + δF for every f with values in [0, F]."""
    # E f(Y) - e^eps E f(Z) - delta F over functions into [0, F], the worst f included.
    count, worst, rng = effort.pick(600, 6000), -math.inf, effort.rng("dp-func-values")
    for k, (p, q) in enumerate(pairs(effort, "dp-func", 6, count)):
        delta = (0.0, 0.05, 0.2)[k % 3]
        epsilon = max(0.0, float(max_divergence(p, q, delta)))
        if not math.isfinite(epsilon):
            continue
        for values in (rng.random(6), (p > math.exp(epsilon) * q).astype(float), (p > q).astype(float)):
            right = math.exp(epsilon) * (values @ q) + effort.turn(1.0, 0.5) * delta
            worst = max(worst, float(values @ p - right))
    return holds(worst <= 1e-12, worst, 0.0, runs=3 * count, what="largest left − right")


@CHAPTER.claim("increasing")
def _increasing(effort: Effort) -> Verdict:
    """D_{∞,γ}(P, Q) does not fall as γ grows."""
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
        "D_{∞,γ} grows with γ", "γ", "D_{∞,γ}(P, Q)".replace("_{∞,γ}", "∞,γ"), (Layer("line", tuple(rows),
        series="pair"), ), alt="Four pairs of distributions: the divergence never falls as γ grows from 0.1 to 3.",
        y_log=True,
    )  # fmt: skip
    return holds(worst <= 1e-12, worst, 0.0, runs=30 * count, pictures=(picture,), what="largest fall")


@CHAPTER.claim("post-processing")
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
    return holds(worst <= 1e-12, worst, 0.0, runs=count, what="largest rise")


@CHAPTER.claim("random-maps")
def _random_split(effort: Effort) -> Verdict:
    """For γ > 1 a random map can increase D_{∞,γ}: splitting an outcome into m parts multiplies its term by
    m^{γ−1}."""
    # P = (1/2, 1/2), Q = (1/4, 3/4): split the first outcome at random into m parts.
    rows, worst = [], 0.0
    for gamma in (1.0, 1.5, 2.0):
        before = float(tsallis_divergence([0.5, 0.5], [0.25, 0.75], gamma))
        for m in (1, 2, 4, 8, 16):
            p, q = np.array([*[0.5 / m] * m, 0.5]), np.array([*[0.25 / m] * m, 0.75])
            after = float(tsallis_divergence(p, q, gamma))
            worst = max(worst, abs(after - effort.turn(m ** (gamma - 1.0), 1.0) * before) / before)
            rows.append({"x": m, "y": after, "divergence": f"γ = {gamma:g}"})
    picture = Picture(
        "A random m-way split of one outcome", "m", "divergence after", (Layer("line", tuple(rows),
        series="divergence"), ),
        alt="After a 4-way random split the divergence at γ = 2 is 8 instead of 2; at γ = 1 it does not change.",
        x_log=True, y_log=True,
    )  # fmt: skip
    at = float(tsallis_divergence(np.array([*[0.125] * 4, 0.5]), np.array([*[0.0625] * 4, 0.75]), 2.0))
    return holds(
        worst <= 1e-9, at, 8.0, numbers={"before the split": 2.0, "after a 4-way split": at}, pictures=(picture, ),
        what="after a 4-way split",
    )  # fmt: skip
