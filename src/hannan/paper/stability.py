"""Section 3.3.1: from differential consistency to one-step stability, and the exact level of every smoothing."""

from __future__ import annotations

import math

import numpy as np

from hannan.audits.audit import audit
from hannan.learners.experts import Experts
from hannan.learners.tuning import Fixed
from hannan.mathematics.divergences import max_divergence, tsallis_divergence
from hannan.mathematics.laws.table import Exponential, Frechet, Gamma, Gumbel, Laplace, Pareto
from hannan.mathematics.potentials import potential
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis
from hannan.mathematics.stability import Smoothing, natural_gamma
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.refusals import Array
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "Stability",
    "Differential consistency of the potential is a rate; a rate is one-step stability. "
    "Every level below is measured by an exact audit, not estimated.",
)


SMOOTHINGS: tuple[tuple[str, Smoothing], ...] = (
    ("Entropy", Entropy()),
    ("Gumbel", Gumbel()),
    ("Exponential", Exponential()),
    ("Laplace", Laplace()),
    ("Gamma(2)", Gamma(2.0)),
    ("Fréchet(3)", Frechet(3.0)),
    ("Pareto(3)", Pareto(3.0)),
    ("Tsallis(½)", Tsallis(0.5)),
    ("LogBarrier", LogBarrier()),
)


def points(effort: Effort, name: str, n: int, count: int) -> Array:
    """Cumulative losses, close together and far apart."""
    rng = effort.rng(name)
    return rng.random((count, n)) * 10.0 ** rng.uniform(-1.5, 1.2, (count, 1))


def _plays(smoothing: Smoothing, scale: float, L: Array, loss: Array) -> tuple[Array, Array]:
    """Distributions of a player with cumulative losses L, before and after it observes one more loss."""
    unit = max(1.0, float(L.max()))  # a scale is in units of the loss range
    player = Experts(len(L), smoothing, Fixed(scale / unit), loss_range=(0.0, unit)).start(0)
    player.observe(player.act(), L)
    before = player.distribution()
    player.observe(player.act(), loss)
    return before, player.distribution()


@CHAPTER.claim("diffstable")
def _diffstable(effort: Effort) -> Verdict:
    """Each smoothing is DiffStable at its claimed level, in both directions: D(p(L), p(L+ℓ)) and D(p(L+ℓ), p(L))."""
    rows, worst, runs = [], -math.inf, 0
    for name, smoothing in SMOOTHINGS:
        for scale in effort.pick((1.0, 4.0), (0.5, 1.0, 4.0, 20.0)):
            phi = potential(smoothing, scale)
            finding = audit(phi, 4, seed=effort.seed)
            backward = played = 0.0
            rng = effort.rng("backward")
            for L in points(effort, "backward-L", 4, effort.pick(40, 200)):
                loss = (rng.random(4) < 0.5).astype(float)
                # The algorithm itself: a player that has seen L, before and after one more round.
                p, q = _plays(smoothing, scale, L, loss)
                backward = max(backward, float(tsallis_divergence(q, p, finding.claim.gamma)))
                played = max(played, float(tsallis_divergence(p, q, finding.claim.gamma)))
            # Backwards the play moves by -loss, which up to a constant is a loss again: the same rate.
            limit = max(finding.claim.level, finding.claim.rate)
            share = effort.turn(1.0, 0.9)
            worst = max(worst, finding.measured / finding.claim.level / share, backward / limit / share)
            worst = max(worst, played / finding.claim.level / share)
            runs += 3
            if scale == 1.0:
                rows += [
                    {"x": name, "y": finding.measured, "direction": "forward"},
                    {"x": name, "y": backward, "direction": "backward"},
                    {"x": name, "y": finding.claim.level, "direction": "claimed"},
                ]
    picture = Picture(
        "Largest one-step divergence found at scale 1, and the level claimed", "smoothing", "level", (Layer("bars",
        tuple(rows), series="direction"), ),
        alt="For every smoothing the largest divergence found, forward or backward, is at most the level claimed.",
        x_kind="nominal", order=tuple(name for name, _ in SMOOTHINGS),
    )  # fmt: skip
    return holds(
        at_most(worst, 1.0, slack=1e-8), worst, 1.0, runs=runs, pictures=(picture,), what="largest found/claimed"
    )


@CHAPTER.claim("diffstable-norm")
def _norm(effort: Effort) -> Verdict:
    """D_{∞,γ}(p(L), p(L + cℓ)) ≤ rate · c: the level grows with the loss no faster than the rate says."""
    rows, worst, runs = [], -math.inf, 0
    for name, smoothing in SMOOTHINGS:
        phi, gamma = potential(smoothing, 1.0), natural_gamma(smoothing)
        rate = effort.turn(1.0, 0.9) * phi.stability(4).rate
        for c in (0.1, 0.5, 1.0, 3.0, 10.0):
            found = 0.0
            for L in points(effort, "norm", 4, effort.pick(25, 150)):
                p, q = phi.gradient(L), phi.gradient(L + c * np.array([1.0, 0.0, 0.0, 0.0]))
                keep = p > 1e-200
                if gamma == 1.0:
                    found = max(found, float(np.log(p[keep] / q[keep]).max()))
                else:
                    found = max(found, float(tsallis_divergence(p, q, gamma)))
                runs += 1
            worst = max(worst, found / (rate * c))
            if name in ("Exponential", "Fréchet(3)", "Pareto(3)", "Tsallis(½)"):
                rows.append({"x": c, "y": found / rate, "smoothing": name})
    picture = Picture(
        "Divergence over rate, against the size of the loss", "size c of the loss", "divergence / rate", (Layer("line",
        tuple(rows), series="smoothing"), Layer("bound", tuple({"x": c, "y": c} for c in (0.1, 1.0, 10.0))), ),
        alt="The divergence of one step grows at most like rate times the size of the loss; heavy tails fall behind.",
        x_log=True, y_log=True,
    )  # fmt: skip
    return holds(
        at_most(worst, 1.0, slack=1e-8), worst, 1.0, runs=runs, pictures=(picture, ),
        what="largest divergence/(rate · c)",
    )  # fmt: skip


@CHAPTER.claim("privacy-remark")
def _privacy(effort: Effort) -> Verdict:
    """Differential privacy implies one-step stability at the same level, by a loss of zero for the last item; and the
    private level is up to twice the stable one, when a loss is exchanged for another."""
    worst, most, rng = -math.inf, 0.0, effort.rng("privacy")
    for _, smoothing in SMOOTHINGS[:4]:
        phi, stable, private = potential(smoothing, 2.0), 0.0, 0.0
        for L in 4.0 * points(effort, "privacy-L", 3, effort.pick(60, 400)):
            one, other = rng.integers(0, 2, (2, 3)).astype(float)
            for loss in (one, np.eye(3)[0]):
                without = phi.gradient(L)
                stable = max(stable, float(max_divergence(without, phi.gradient(L + loss))))
                for exchanged in (np.zeros(3), other, 1.0 - loss):
                    changed = phi.gradient(L + exchanged)
                    private = max(private, float(max_divergence(changed, phi.gradient(L + loss))))
        worst = max(worst, effort.turn(stable / private, private / stable))
        most = max(most, private / stable)
    return holds(
        at_most(worst, 1.0) and most <= 2.0 + 1e-6, worst, 1.0, runs=4 * effort.pick(60, 400),
        numbers={"largest private/stable level": most}, what="largest stable/private level",
    )  # fmt: skip
