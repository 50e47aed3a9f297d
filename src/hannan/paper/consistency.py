"""Claims of Section 3.3.1: differential consistency of the potential implies one-step stability."""

from __future__ import annotations

import math

import numpy as np

from hannan.mathematics.convex.domains import Simplex
from hannan.mathematics.divergences import tsallis_divergence
from hannan.mathematics.laws.heavy import Frechet
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.potentials import FTPL, FTRL, potential
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis
from hannan.mathematics.smoothing import Smoothing
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, bars, broken, correct, form, holds
from hannan.paper.stability import SMOOTHINGS, points
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "Differential consistency",
    "Differential consistency bounds the curvature of the potential by its gradient. The constant is a rate, and it "
    "implies "
    "one-step stability.",
)


correct(
    "pod-sign",
    "prop:POD",
    "∇²Φ is positive off-diagonal, not −∇²Φ",
    corrected=lambda hessian: hessian,
    printed=lambda hessian: -hessian,
)


@CHAPTER.claim("pod")
def _pod(effort: Effort) -> Verdict:
    """∇²Φ is positive off-diagonal (off-diagonal entries ≥ 0, diagonal entries ≤ 0), and its rows sum to zero."""
    sign, worst, runs = form("pod-sign"), -math.inf, 0
    for _, smoothing in SMOOTHINGS:
        phi = potential(smoothing, 1.3)
        for L in points(effort, "pod", 4, effort.pick(20, 200)):
            H = sign(phi.hessian(L))
            off = H - np.diag(np.diagonal(H))
            # The Hessian is also the derivative of the distribution played: compare with a finite difference.
            step = 1e-5
            slope = (phi.gradient(L + step * np.eye(4)[0]) - phi.gradient(L - step * np.eye(4)[0])) / (2.0 * step)
            worst = max(
                worst, float(-off.min()), float(np.diagonal(H).max()), float(np.abs(H[:, 0] - slope).max()) - 1e-5
            )
            runs += 1
    return holds(worst <= 1e-12, worst, 0.0, runs=runs, what="largest entry of the wrong sign")


@CHAPTER.claim("pod-conditions")
def _pod_conditions(effort: Effort) -> Verdict:
    """For every differentiable and strictly convex f, the stationary point in the proof, L_{i} + f'(p_{i}) + λ = 0, is
    the distribution that is played."""
    # f(p) = p^2/2 has f'(0+) = 0: the stationary point with sum p = 1 leaves the simplex if the losses differ by 2.
    L = np.array([0.0, 3.0])
    stationary, play = 0.5 - (L - L.mean()), Simplex(2).project(-L)
    if effort.broken:
        # f = p log p: p_i = exp(-L_i - 1 - λ), normalized.
        stationary, play = np.exp(-L) / np.exp(-L).sum(), FTRL(Entropy(), 1.0).gradient(L)
    gap = float(np.abs(stationary - play).max())
    return broken(
        gap > 1e-9,
        gap,
        0.0,
        numbers={"f": "p²/2", "L": "(0, 3)", "stationary point": str(stationary), "the play": str(play)},
        note="The proof needs f'(0+) = −∞ to keep p inside the simplex, and f'' > 0 to divide by it. The entropy, "
        "Tsallis "
        "and the log-barrier have both properties.",
        what="largest difference of stationary point and distribution played",
    )


correct(
    "consistency-level",
    "prop:dc_to_dp",
    "(γ, ε)-consistency gives level ε·span(ℓ) instead of 2ε‖ℓ‖: ε on [0, 1]^{N}, and 2ε only on [−1, 1]^{N}",
    corrected=lambda eps, low, high: eps * (high - low),
    printed=lambda eps, low, high: 2.0 * eps * max(abs(low), abs(high)),
)


def _largest(smoothing: Smoothing, n: int, low: float, effort: Effort) -> float:
    """Return the largest D_inf,gamma(p(L), p(L + l)) found if one arm loses 1 and the others lose `low`."""
    phi, gamma, found = potential(smoothing, 1.0), smoothing.gamma, 0.0
    loss = np.full(n, low)
    loss[0] = 1.0
    for gap in np.concatenate([[0.0], np.geomspace(1e-2, 30.0, effort.pick(24, 80))]):
        L = np.zeros(n)
        L[0] = gap
        found = max(found, float(tsallis_divergence(phi.gradient(L), phi.gradient(L + loss), gamma)))
    return found


@CHAPTER.claim("consistency-to-stability")
def _consistency(effort: Effort) -> Verdict:
    """(γ, ε)-differential consistency implies DiffStable(D_{∞,γ}) at level ε·span(ℓ), where span(ℓ) = max ℓ − min ℓ,
    and no smaller level: ε for losses in [0, 1]^{N}, 2ε for losses in [−1, 1]^{N}."""
    level, worst, least, rows = form("consistency-level"), -math.inf, math.inf, []
    cases = (
        ("Entropy", Entropy(), 1.0),
        ("Exponential", Exponential(), 1.0),
        ("Tsallis(½)", Tsallis(0.5), 2.0),
        ("LogBarrier", LogBarrier(), 1.0),
    )
    for name, smoothing, eps in cases:
        for low in (0.0, -1.0):
            found, claimed = _largest(smoothing, 3, low, effort), level(eps, low, 1.0)
            worst, least = max(worst, found / claimed), min(least, found / claimed)
            rows.append({"x": name, "y": found / eps, "losses in": "[0, 1]" if low == 0.0 else "[−1, 1]"})
    picture = bars(
        "Measured level divided by ε",
        rows,
        x="smoothing",
        y="level / ε",
        series="losses in",
        rules={"2ε, as printed": 2.0, "ε": 1.0},
        order=tuple(case[0] for case in cases),
        alt="For losses in [0, 1] every smoothing reaches level ε and no more; for losses in [−1, 1] it reaches 2ε.",
    )
    return holds(
        at_most(worst, 1.0, slack=1e-6) and least >= 0.9,
        worst,
        1.0,
        numbers={"least measured/claimed": least},
        pictures=(picture,),
        what="largest measured/claimed",
    )


@CHAPTER.claim("stability-surface")
def _surface(effort: Effort) -> Verdict:
    """−∇²_{ii}Φ(L) ≤ ε p_{i}(L)^{γ} over the whole plane of losses of three arms: the potential is differentially
    consistent."""
    phi, side = FTPL(Frechet(3.0), 1.0), effort.pick(33, 65)
    grid = np.linspace(-4.0, 4.0, side)
    rows, worst, gap, step = [], -math.inf, 0.0, 1e-5
    for i, a in enumerate(grid):
        for j, b in enumerate(grid):
            L = np.array([0.0, a, b]) - min(0.0, a, b)
            value = phi.consistency(L)
            worst = max(worst, value)
            if i % 8 == j % 8 == 0:  # A finite difference does not use the formula of the Hessian.
                moved = [phi.gradient(L + s * step * np.eye(3)) for s in (1.0, -1.0)]
                slope = -np.diagonal(moved[0] - moved[1]) / (2.0 * step) / phi.gradient(L)
                gap = max(gap, abs(float(slope.max()) - value))
            rows.append({"x": round(float(a), 2), "y": round(float(b), 2), "value": value})
    limit = effort.turn(1.0, 2.0 / 3.0) * phi.stability(3).rate
    picture = Picture(
        "Fréchet(3): largest −∇²Φ/p over the arms, for losses (0, a, b)",
        "loss of arm 2",
        "loss of arm 3",
        (Layer("heat", tuple(rows)),),
        alt=f"Over the plane the ratio lies between {min(r['value'] for r in rows):.2f} and {worst:.2f}; "
        f"the hazard is {limit:.2f}.",
        legend="ratio",
        height=300,
    )
    return holds(
        at_most(worst, limit) and gap <= 1e-5 and worst > 0.7 * limit,
        worst,
        limit,
        runs=side * side,
        numbers={"consistency against slope": gap},
        pictures=(picture,),
        what="largest ratio",
    )


@CHAPTER.claim("log-barrier-consistency")
def _log_barrier(effort: Effort) -> Verdict:
    """The log-barrier potential is (2, 1/η)-consistent. Exactly, −∇²_{ii}Φ = w_{i}(1 − w_{i}/Σw), where w_{i} =
    p_{i}²/η."""
    worst, gap, runs = -math.inf, 0.0, 0
    for scale in (0.5, 2.0):
        phi = FTRL(LogBarrier(), scale)
        for L in points(effort, "logdc", 5, effort.pick(60, 600)):
            p, H = phi.gradient(L), phi.hessian(L)
            w = p**2 / scale
            worst = max(worst, float((-np.diagonal(H) / p**2).max()) * effort.turn(1.0, 1.1) * scale)
            # A finite difference does not use the formula.
            step = 1e-5 * scale
            slope = -(phi.gradient(L + step * np.eye(5)[2]) - phi.gradient(L - step * np.eye(5)[2]))[2] / (2.0 * step)
            gap = max(gap, abs(slope - w[2] * (1.0 - w[2] / w.sum())))
            runs += 1
    return holds(
        at_most(worst, 1.0) and gap <= 1e-6,
        worst,
        1.0,
        runs=runs,
        numbers={"formula against slope": gap},
        what="largest η·ratio",
    )


@CHAPTER.claim("tsallis-consistency")
def _tsallis(effort: Effort) -> Verdict:
    """The Tsallis potential is (2 − α, 1/(ηα))-consistent with range η(N^{1−α} − 1)/(1 − α). The limit α → 1 is the
    entropy; α → 0 with η = η'/α is the log-barrier."""
    worst, runs = -math.inf, 0
    for alpha in (0.1, 0.25, 0.5, 0.75, 0.9):
        phi = FTRL(Tsallis(alpha), 1.7)
        for L in points(effort, "tsallis", 5, effort.pick(20, 200)):
            worst, runs = max(worst, phi.consistency(L) * effort.turn(1.0, 1.1) * 1.7 * alpha), runs + 1
    L = np.array([0.0, 0.3, 1.0, 2.5])
    entropy = float(np.abs(FTRL(Tsallis(1.0 - 1e-6), 1.7).gradient(L) - FTRL(Entropy(), 1.7).gradient(L)).max())
    barrier = float(np.abs(FTRL(Tsallis(1e-6), 1.7e6).gradient(L) - FTRL(LogBarrier(), 1.7).gradient(L)).max())
    n, a = 7, 0.3
    # Without losses Φ = min F, and max F = 0 at the vertices.
    spread = float(FTRL(Tsallis(a), 1.0).value(np.zeros(n)))
    right = abs(spread + (n ** (1.0 - a) - 1.0) / (1.0 - a)) < 1e-9
    return holds(
        at_most(worst, 1.0) and entropy < 1e-5 and barrier < 1e-5 and right,
        worst,
        1.0,
        runs=runs,
        numbers={"α → 1 against entropy": entropy, "α → 0 against log-barrier": barrier},
        what="largest ηα·ratio",
    )
