"""Section 2.2 and Appendix A: the divergences, how to compute them, and what survives post-processing."""

from __future__ import annotations

import itertools
import math

import numpy as np

from hannan.mathematics.divergences import max_divergence, tsallis_divergence, tsallis_log
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, broken, holds
from hannan.paper.corrections import correct, form
from hannan.refusals import Array
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "Divergences",
    "How far apart are two plays? Two divergences measure it, and both have exact forms on a finite space.",
)


def pairs(effort: Effort, name: str, n: int, count: int) -> list[tuple[Array, Array]]:
    """Pairs of distributions, some nearly equal, some far apart, some with zeros."""
    rng = effort.rng(name)
    pairs = []
    for k in range(count):
        p, q = rng.dirichlet(np.full(n, 10.0 ** rng.uniform(-1, 1.5)), 2)
        if k % 5 == 0:
            p = p * (rng.random(n) < 0.8)
            p = p / p.sum() if p.sum() > 0 else np.full(n, 1.0 / n)
        # Away from zero, so that logarithms stay comparable.
        pairs.append((p, (q + 1e-6) / (q + 1e-6).sum()))
    return pairs


def _subsets(p: Array, q: Array) -> tuple[Array, Array]:
    """(P(B), Q(B)) of every non-empty set B."""
    masks = np.array(list(itertools.product((0.0, 1.0), repeat=p.size)))[1:]
    return masks @ p, masks @ q


@CHAPTER.claim("max-divergence")
def _finite_max(effort: Effort) -> Verdict:
    """D_{∞}^{δ}(P, Q) is attained at a likelihood-ratio set: one sort gives the supremum over all sets."""
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
    """D_{∞,γ}(P, Q) is attained at one outcome for γ ≥ 1, and at a likelihood-ratio set for γ < 1, where one
    outcome is not enough."""
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
        "What singletons miss of the supremum over all sets", "γ", "largest share missed", (Layer("bars",
        tuple({"x": f"{g:g}", "y": v} for g, v in sorted(best.items()))), ),
        alt=f"Singletons miss up to {100 * gap:.0f} % of the divergence for γ below 1, and nothing from γ = 1 on.",
        x_kind="ordinal", height=200,
    )  # fmt: skip
    right = worst <= 1e-9 and gap > 0.05 and all(v < 1e-9 for g, v in best.items() if g >= 1.0)
    return holds(
        right, worst, 1e-9, runs=count, numbers={"most that singletons miss, γ < 1": gap}, pictures=(picture, ),
        what="largest relative error",
    )  # fmt: skip


# Section 2.2 calls the max-divergence no metric "because it ... does not satisfy the triangle inequality".
correct(
    "triangle", "eq:max_divergence", "the triangle inequality holds for D∞ and every D∞,γ; it fails for δ > 0 only",
    corrected=lambda delta: delta > 0.0, printed=lambda delta: True,
)  # fmt: skip


@CHAPTER.claim("triangle")
def _triangle(effort: Effort) -> Verdict:
    """D_{∞} and every D_{∞,γ} obey the triangle inequality; D_{∞}^{δ} with δ > 0 does not, and may be
    negative."""
    # max of D(P,R) - D(P,Q) - D(Q,R) over triples, for each divergence.
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
        "Largest excess of D(P,R) over D(P,Q) + D(Q,R)", "divergence", "excess", (Layer("bars", tuple({"x": k,
        "y": max(v, 0.0)} for k, v in excess.items())), ),
        alt="No triple of distributions exceeds the triangle inequality for δ = 0; for δ = 0.05 some do.",
        x_kind="nominal", order=tuple(excess), height=200,
    )  # fmt: skip
    pure = max(v for k, v in excess.items() if k not in deltas)
    return holds(
        agree and at_most(own, math.log(0.95)), pure, 0.0, runs=5 * count,
        numbers={"excess at δ = 0.05": excess["δ = 0.05"], "D^{δ}(P, P)": own}, pictures=(picture, ),
        note="With δ > 0 the value can be negative: D_{∞}^{δ}(P, P) = log(1 − δ).", what="largest excess, δ = 0",
    )  # fmt: skip


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
        excess <= 1e-12, excess, 0.0, runs=len(grid) ** 3,
        note="sup log P/R ≤ sup log P/Q + sup log Q/R, set by set: the triangle inequality holds for D_{∞}, and no "
        "triple of the grid exceeds it.", what="largest D(P, R) − D(P, Q) − D(Q, R)",
    )  # fmt: skip
