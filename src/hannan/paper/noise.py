"""Section 3.2: the noise of Algorithm 1. How stable is a move after one more loss, forward and backward?"""

from __future__ import annotations

import math

import numpy as np

from hannan.audits.convex import audit_convex
from hannan.learners.convex.learner import Convex
from hannan.learners.tuning import Fixed
from hannan.mathematics.convex.domains import Box
from hannan.mathematics.convex.losses import Logistic
from hannan.mathematics.convex.noise import GammaNoise
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.paper.corrections import correct, form
from hannan.refusals import Array
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "Noise of Algorithm 1",
    "Objective perturbation adds ⟨b, x⟩ to the losses. The density of the Gamma case is twice as wide as the regret "
    "needs.",
)


def sigmoid(u: Array) -> Array:
    fall = np.exp(-np.abs(u))
    return np.where(u > 0.0, 1.0, fall) / (1.0 + fall)


def _ratios(d: int, rank_one: bool, ridge: float, eps: float, effort: Effort) -> tuple[float, float]:
    """sup of the forward and the backward log density ratio over points x, density exp(-eps ||b||/(2 beta)).

    Logistic losses with ||z|| = 1, so beta = 1 and the curvature is 1/4. At x the noise that leads there is
    b = -grad G(x), its density in x is f(b) det Hess G(x), and one more loss changes gradient and Hessian.
    """
    rng = effort.rng(f"density-{d}-{rank_one}-{ridge}")
    forward = backward = -math.inf
    for _ in range(effort.pick(40, 400)):
        z = rng.standard_normal((int(rng.integers(0, 4)), d))
        z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-300)
        # One more loss: a logistic one, or d of them along orthogonal axes with ||gradient|| <= 1.
        axes = np.linalg.qr(rng.standard_normal((d, d)))[0][: 1 if rank_one else d]
        weight = 1.0 / math.sqrt(len(axes))
        away = -axes.sum(axis=0)
        points = [
            *(rng.uniform(-2.0, 2.0, (20, d)) * 10.0 ** rng.uniform(-1, 1.3)),
            *(s * away for s in (0, 8, 20, 45)),
        ]
        for x in points:
            g = 2.0 * ridge * x - sigmoid(-z @ x) @ z
            H = 2.0 * ridge * np.eye(d) + (z.T * (sigmoid(z @ x) * sigmoid(-z @ x))) @ z
            step = -weight * sigmoid(-axes @ x) @ axes
            J = H + weight * (axes.T * (sigmoid(axes @ x) * sigmoid(-axes @ x))) @ axes
            density = float(0.5 * eps * (np.linalg.norm(g + step) - np.linalg.norm(g)))
            jacobian = float(np.linalg.slogdet(H)[1] - np.linalg.slogdet(J)[1])
            forward, backward = max(forward, density + jacobian), max(backward, -density - jacobian)
    return forward, backward


correct(
    "forward-noise", "thm:oco",
    "the direction that the regret uses has level ε/2 at the printed density, with no ridge and no rank condition",
    corrected=lambda eps: 0.5 * eps, printed=lambda eps: eps,
)  # fmt: skip


@CHAPTER.claim("forward-noise")
def _forward(effort: Effort) -> Verdict:
    """D_{∞}(x_{t}, x_{t+1}) ≤ rate(f)·β for any convex losses: with the printed density exp(−ε‖b‖/(2β)) half of ε, so
    half the noise is enough."""
    eps, rows, worst, least = 0.5, [], -math.inf, math.inf
    claimed = form("forward-noise")(eps)
    for d, rank_one, ridge, name in (
        (1, True, 0.25 / eps, "d=1, printed ridge"),
        (3, True, 0.25 / eps, "d=3, rank 1, printed ridge"),
        (3, False, 0.25 / eps, "d=3, full rank, printed ridge"),
        (3, True, 1e-6, "d=3, rank 1, ridge 1e-6"),
        (5, False, 1e-6, "d=5, full rank, ridge 1e-6"),
    ):
        forward, backward = _ratios(d, rank_one, ridge, eps, effort)
        worst, least = max(worst, forward / claimed), min(least, forward / claimed)
        rows += [{"x": name, "y": forward / eps, "way": "forward"}, {"x": name, "y": backward / eps, "way": "backward"}]
    # The learner itself, audited exactly: the printed density is the package's at scale 2β/ε.
    learner = Convex(Box([-20.0], [20.0]), 1.0, GammaNoise(), Fixed(2.0 / eps), loss_bound=21.0, smooth=0.25)
    audited = audit_convex(learner, Logistic([[0.5], [-1.0]], [1, 1]), Logistic([1.0], 1)).measured
    worst = max(worst, audited / claimed)
    picture = Picture(
        "Largest log density ratio over ε, logistic losses", "", "log ratio / ε", (Layer("points", tuple(rows),
        series="way"), Layer("rule", ({"y": 1.0, "label": "ε"}, {"y": 0.5, "label": "ε/2"})), ),
        alt="Forward the ratio never exceeds ε/2. Backward it stays below ε only with the ridge and rank one, and is "
        "many times ε without the ridge.", x_kind="nominal", y_log=True,
    )  # fmt: skip
    return holds(
        at_most(worst, 1.0) and least > 0.8, worst, 1.0, runs=effort.pick(5000, 50_000),
        numbers={"least forward/claimed": least, "the learner's audit/claimed": audited / claimed}, pictures=(picture,
        ), what="largest forward ratio/claimed",
    )  # fmt: skip


@CHAPTER.claim("ridge")
def _ridge(effort: Effort) -> Verdict:
    """For a two-sided (privacy) statement the ridge is needed; with it and Hessians of rank one the level is ε, half
    from the density and half from the Jacobian. Without the rank condition the level is larger, and finite."""
    eps = 0.5
    within = max(_ratios(d, True, effort.turn(0.25 / eps, 1e-6), eps, effort)[1] for d in (1, 2, 3, 5))
    full = _ratios(5, False, 0.25 / math.sqrt(5.0) / eps, eps, effort)[1]
    bare = _ratios(3, True, 1e-6, eps, effort)[1]
    return holds(
        at_most(within, eps) and full > within and bare > 3.0 * eps, within / eps, 1.0, runs=effort.pick(6000, 60_000),
        numbers={"full rank, with the ridge": full / eps, "rank one, ridge 1e-6": bare / eps},
        what="largest backward ratio/ε",
    )  # fmt: skip
