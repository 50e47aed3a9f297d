"""Claims of Section 3.3.1: one-step stability, and the exact level of every smoothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan.audits.audit import audit
from hannan.learners.experts import Experts
from hannan.learners.tuning import Fixed
from hannan.mathematics.divergences import max_divergence, tsallis_divergence
from hannan.mathematics.laws.heavy import Frechet, Pareto
from hannan.mathematics.laws.light import Exponential, Gamma, Gaussian, Gumbel, Laplace
from hannan.mathematics.potentials import FTPL, potential
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis, kappa
from hannan.mathematics.smoothing import Smoothing
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, bars, broken, holds
from hannan.report import Layer, Picture
from hannan.validation import Array

CHAPTER = Chapter(
    "Stability",
    "Differential consistency of the potential gives a rate, and a rate gives one-step stability. Every level below "
    "is measured by an exact audit, not estimated.",
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
    """Return random cumulative losses, from close together to far apart."""
    rng = effort.rng(name)
    return rng.random((count, n)) * 10.0 ** rng.uniform(-1.5, 1.2, (count, 1))


def _plays(smoothing: Smoothing, scale: float, L: Array, loss: Array) -> tuple[Array, Array]:
    """Return the distributions of a player with cumulative losses L, before and after one more loss."""
    unit = max(1.0, float(L.max()))  # The scale is in units of the loss range.
    player = Experts(len(L), smoothing, Fixed(scale / unit), loss_range=(0.0, unit)).start(0)
    player.observe(player.act(), L)
    before = player.distribution()
    player.observe(player.act(), loss)
    return before, player.distribution()


@CHAPTER.claim("diffstable")
def _diffstable(effort: Effort) -> Verdict:
    """Each smoothing is DiffStable at its claimed level in both directions, D(p(L), p(L + ℓ)) and D(p(L + ℓ), p(L))."""
    rows, worst, runs = [], -math.inf, 0
    for name, smoothing in SMOOTHINGS:
        for scale in effort.pick((1.0, 4.0), (0.5, 1.0, 4.0, 20.0)):
            phi = potential(smoothing, scale)
            finding = audit(phi, 4, seed=effort.seed)
            backward = played = 0.0
            rng = effort.rng("backward")
            for L in points(effort, "backward-L", 4, effort.pick(40, 200)):
                loss = (rng.random(4) < 0.5).astype(float)
                # The implementation: a player with cumulative losses L, before and after one more round.
                p, q = _plays(smoothing, scale, L, loss)
                backward = max(backward, float(tsallis_divergence(q, p, finding.claim.gamma)))
                played = max(played, float(tsallis_divergence(p, q, finding.claim.gamma)))
            # Backward the cumulative losses change by -loss, which is a loss up to a constant: the same rate.
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
        "Largest one-step divergence found at scale 1, and the claimed level",
        "smoothing",
        "level",
        (Layer("bars", tuple(rows), series="direction"),),
        alt="For every smoothing the largest divergence found, forward or backward, is at most the claimed level.",
        x_kind="nominal",
        order=tuple(name for name, _ in SMOOTHINGS),
    )
    return holds(
        at_most(worst, 1.0, slack=1e-8), worst, 1.0, runs=runs, pictures=(picture,), what="largest found/claimed"
    )


@CHAPTER.claim("diffstable-norm")
def _norm(effort: Effort) -> Verdict:
    """D_{∞,γ}(p(L), p(L + cℓ)) ≤ rate · c: the divergence grows at most linearly in the size of the loss."""
    rows, worst, runs = [], -math.inf, 0
    for name, smoothing in SMOOTHINGS:
        phi, gamma = potential(smoothing, 1.0), smoothing.gamma
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
        "Divergence divided by rate, as a function of the size of the loss",
        "size c of the loss",
        "divergence / rate",
        (
            Layer("line", tuple(rows), series="smoothing"),
            Layer("bound", tuple({"x": c, "y": c} for c in (0.1, 1.0, 10.0))),
        ),
        alt="The divergence of one step is at most the rate times the size of the loss, and smaller for heavy tails.",
        x_log=True,
        y_log=True,
    )
    return holds(
        at_most(worst, 1.0, slack=1e-8),
        worst,
        1.0,
        runs=runs,
        pictures=(picture,),
        what="largest divergence/(rate · c)",
    )


@CHAPTER.claim("privacy-remark")
def _privacy(effort: Effort) -> Verdict:
    """Differential privacy implies one-step stability at the same level: take a zero loss as the last item. The privacy
    level can be up to twice the stability level if one loss is replaced by another."""
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
        at_most(worst, 1.0) and most <= 2.0 + 1e-6,
        worst,
        1.0,
        runs=4 * effort.pick(60, 400),
        numbers={"largest private/stable level": most},
        what="largest stable/private level",
    )


LEVELS_CHAPTER = Chapter(
    "Levels",
    "The level is the largest divergence of one whole step; regret bounds use the rate. Every level is measured by "
    "an exact audit.",
)


@LEVELS_CHAPTER.claim("tuned-level")
def _tuned_level(effort: Effort) -> Verdict:
    """With ε = min(√(log N/L*), 1) and level 2ε, the hypothesis “level ≤ 1” of the key lemma is satisfied."""
    n, best = 10, 5.0
    eps = min(math.sqrt(math.log(n) / best), 1.0)
    really = FTPL(Exponential(), 1.0 / eps).stability(n).level
    level = effort.turn(2.0 * eps, really)
    return broken(
        level > 1.0,
        level,
        1.0,
        numbers={"N": n, "L*": best, "the level is really": really},
        note="This has no consequence if the level is ε instead of 2ε: the corrected bounds do not need ε ≤ 1.",
        what="level",
    )


# Exact one-step levels: (name, smoothing, gamma, scale * level, share of it that the audit must find).
LEVELS: tuple[tuple[str, Smoothing, float, float, float], ...] = (
    ("Hedge, D∞", Entropy(), 1.0, 1.0, 0.99),
    ("Gumbel, D∞", Gumbel(), 1.0, 1.0, 0.99),
    ("Exponential, D∞", Exponential(), 1.0, 1.0, 0.999999),
    ("Laplace, D∞", Laplace(), 1.0, 1.0, 0.99),
    ("Tsallis(¼), D∞,7/4", Tsallis(0.25), 1.75, 4.0, 0.9),
    ("Tsallis(½), D∞,3/2", Tsallis(0.5), 1.5, 2.0, 0.9),
    ("LogBarrier, D∞,2", LogBarrier(), 2.0, 1.0, 0.9),
)


@LEVELS_CHAPTER.claim("exact-levels")
def _levels(effort: Effort) -> Verdict:
    """scale × level is 1 for Hedge, exponential and Laplace perturbations in D_{∞}, 1/α for Tsallis in D_{∞,2−α}, and 1
    for the log-barrier in D_{∞,2}. Each value is attained or approached."""
    worst, least, off, rows = -math.inf, math.inf, 0.0, []
    for name, smoothing, gamma, level, share in LEVELS:
        for scale in effort.pick((2.0,), (0.5, 2.0, 10.0)):
            phi = potential(smoothing, scale)
            found = scale * audit(phi, 3, gamma=gamma, seed=effort.seed).measured
            stated = effort.turn(1.0, 0.9) * scale * phi.stability(3, gamma).level
            worst, off = max(worst, found / stated), max(off, abs(stated / level - 1.0))
            least = min(least, found / level / share)
            rows.append({"x": name, "y": found, "what": "found"})
            rows.append({"x": name, "y": level, "what": "exact level"})
    picture = bars(
        "Scale × level: found by the audit, and exact",
        rows[: 2 * len(LEVELS)],
        y="scale × level",
        alt="The audit finds at least nine tenths of every exact level, and never more than the level.",
        order=tuple(row[0] for row in LEVELS),
    )
    return holds(
        at_most(worst, 1.0, slack=1e-7) and least >= 1.0 and off <= 1e-9,
        worst,
        1.0,
        numbers={"smallest found/exact": least, "largest distance of stated from exact level": off},
        pictures=(picture,),
        what="largest found/stated",
    )


def _max_level(smoothing: Smoothing, n: int, scale: float, effort: Effort) -> float:
    """Return scale * the largest D_inf found if one arm loses 1 and the others have equal losses, at any gap."""
    phi, found, loss = potential(smoothing, scale), 0.0, np.eye(n)[0]
    for gap in scale * np.concatenate([-np.geomspace(1e-2, 60.0, 60), [0.0], np.geomspace(1e-2, 60.0, 60)]):
        p, q = phi.gradient(gap * loss), phi.gradient(gap * loss + loss)
        found = max(found, float(max_divergence(p, q)))
    return scale * found


@LEVELS_CHAPTER.claim("tsallis-max-level")
def _kappa(effort: Effort) -> Verdict:
    """In D_{∞} the level of Tsallis(α) is at most κ_{α}/(α·scale), and that of the log-barrier is at most
    0.276953/scale. Both are below the values that D_{∞,γ} would give."""
    rows, worst = [], -math.inf
    for alpha in (0.0, 0.25, 0.5, 0.75):
        smoothing: Smoothing = LogBarrier() if alpha == 0.0 else Tsallis(alpha)
        claimed = effort.turn(1.0, 0.9) * kappa(alpha) / (alpha or 1.0)
        for n in effort.pick((2, 10), (2, 3, 10, 100)):
            found = _max_level(smoothing, n, 20.0, effort)
            worst = max(worst, found / claimed)
            rows.append({"x": f"{alpha:g}", "y": found, "what": f"found, N = {n}"})
        rows.append({"x": f"{alpha:g}", "y": claimed, "what": "κ/α"})
    picture = Picture(
        "Scale × level in D∞ of Tsallis(α); α = 0 is the log-barrier",
        "α",
        "scale × level",
        (Layer("bars", tuple(rows), series="what"),),
        alt="The level found stays below κ/α, and is closest to it with two arms.",
        x_kind="ordinal",
    )
    six = [round(kappa(a), 6) for a in (0.0, 0.25, 0.5, 0.75)]
    return holds(
        at_most(worst, 1.0) and six == [0.276953, 0.340424, 0.427916, 0.568456],
        worst,
        1.0,
        numbers={f"κ at α = {a:g}": kappa(a) for a in (0.0, 0.25, 0.5, 0.75)},
        pictures=(picture,),
        what="largest found/proved",
    )


@LEVELS_CHAPTER.claim("heavy-tail-levels")
def _heavy(effort: Effort) -> Verdict:
    """The level of Pareto(α) perturbations is at most α log(1 + 1/scale), and that of Fréchet(α) is at most sup_{y}
    log(S(y)/S(y + 1/scale)), where S is the survival function."""
    worst = -math.inf
    rows: list[dict[str, Any]] = []
    for name, law in (("Pareto(2)", Pareto(2.0)), ("Pareto(4)", Pareto(4.0)), ("Fréchet(2)", Frechet(2.0))):
        for scale in (0.5, 1.0, 3.0, 10.0):
            claimed = effort.turn(1.0, 0.8) * FTPL(law, scale).stability(3).level
            found = audit(FTPL(law, scale), 3, seed=effort.seed).measured
            worst = max(worst, found / claimed)
            rows += [
                {"x": scale, "y": scale * found, "distribution": name},
                {"x": scale, "y": scale * claimed, "distribution": f"{name}, proved"},
            ]
    picture = Picture(
        "Scale × level of heavy-tailed perturbations",
        "scale",
        "scale × level",
        (
            Layer("line", tuple(r for r in rows if "proved" not in r["distribution"]), series="distribution"),
            Layer("bound", tuple(r for r in rows if "proved" in r["distribution"]), series="distribution"),
        ),
        alt="The levels found by the audit stay below the proved ones, which grow with the scale towards the hazard.",
        x_log=True,
    )
    at = {f"Fréchet(2) at scale {s:g}": s * FTPL(Frechet(2.0), s).stability(3).level for s in (1.0, 10.0)}
    right = [round(v, 4) for v in at.values()] == [1.0929, 1.1693]
    return holds(
        at_most(worst, 1.0) and right, worst, 1.0, numbers=at, pictures=(picture,), what="largest found/proved"
    )


@LEVELS_CHAPTER.claim("rate-and-level")
def _rate(effort: Effort) -> Verdict:
    """A bound may use the rate, but not the level of a whole step: Pareto(4) at scale 1 has level 2.77 and rate 4, and
    a quarter of a step changes log p by more than a quarter of the level."""
    phi = FTPL(Pareto(4.0), 1.0)
    claim = phi.stability(2)
    epsilon = effort.turn(claim.rate, claim.level)
    worst, rows = -math.inf, []
    for s in (0.1, 0.25, 0.5, 0.75, 1.0):
        moved = -float(Pareto(4.0).log_survival(1.0 + s))
        # The supremum of the change in log p_0 is approached if the other arm is far ahead.
        found = max(
            float(np.log(phi.gradient([g, 0.0])[0] / phi.gradient([g + s, 0.0])[0]))
            for g in np.linspace(-2.0, 40.0, 85)
        )
        worst = max(worst, found / (epsilon * s))
        rows += [{"x": s, "y": found, "what": "two arms, found"}, {"x": s, "y": moved, "what": "sup log S(y)/S(y+s)"}]
        rows += [{"x": s, "y": claim.level * s, "what": "s × level"}, {"x": s, "y": claim.rate * s, "what": "s × rate"}]
    quarter = -float(Pareto(4.0).log_survival(1.25))
    picture = Picture(
        "Pareto(4) at scale 1: change of log p in a fraction s of a step",
        "s",
        "decrease of log p",
        (Layer("line", tuple(rows), series="what"),),
        alt="A fraction s of a step can change log p by more than s times the level, but never by more than s times "
        "the rate.",
    )
    above = quarter / (epsilon * 0.25)
    return holds(
        at_most(max(worst, above), 1.0),
        max(worst, above),
        1.0,
        numbers={"s = ¼: log S ratio": quarter, "level/4": claim.level / 4.0, "rate/4": claim.rate / 4.0},
        pictures=(picture,),
        what="largest change of log p/(rate · s)",
    )


@LEVELS_CHAPTER.claim("worst-loss")
def _worst_loss(effort: Effort) -> Verdict:
    """The loss vector in [0, 1]^{N} that lowers p_{i} most is e_{i}."""
    rng, worst, runs = effort.rng("worst"), -math.inf, 0
    for _, smoothing in SMOOTHINGS:
        phi = potential(smoothing, 1.5)
        for L in points(effort, "worst-L", 4, effort.pick(15, 150)):
            alone = phi.gradient(L + effort.turn(1.0, 0.9) * np.eye(4)[0])
            for _ in range(4):
                loss = rng.random(4) if rng.random() < 0.5 else rng.integers(0, 2, 4).astype(float)
                worst = max(worst, float(np.log(alone[0] / phi.gradient(L + loss)[0])))
                runs += 1
    return holds(worst <= 1e-9, worst, 0.0, runs=runs, what="largest log(p_{i} after e_{i}/p_{i} after another loss)")


@LEVELS_CHAPTER.claim("gaussian-level")
def _gaussian(effort: Effort) -> Verdict:
    """FTPL with Gaussian perturbations has no finite level with δ = 0. It satisfies D_{∞}^{δ} ≤ ε with the exact δ(ε)
    of a Gaussian shift by μ = √N/(2·scale)."""
    phi, worst, rows = FTPL(Gaussian(), 2.0), -math.inf, []
    for delta in (1e-2, 1e-4, 1e-6):
        claim = phi.stability(4, delta=delta)
        found = audit(phi, 4, delta=delta, seed=effort.seed).measured
        worst = max(worst, found / (effort.turn(1.0, 1.0 / 3.0) * claim.level))
        rows += [
            {"x": f"{delta:g}", "y": found, "what": "found"},
            {"x": f"{delta:g}", "y": claim.level, "what": "proved"},
        ]
    pure = phi.stability(4).level
    growing = [float(max_divergence(phi.gradient([g, 0.0]), phi.gradient([g + 1.0, 0.0]))) for g in (0.0, 5.0, 20.0)]
    picture = Picture(
        "Gaussian FTPL, N = 4, scale 2: one-step level for several δ",
        "δ",
        "level",
        (Layer("bars", tuple(rows), series="what"),),
        alt="The level found grows as δ decreases and stays below the proved one.",
        x_kind="ordinal",
    )
    return holds(
        at_most(worst, 1.0) and math.isinf(pure) and growing[0] < growing[1] < growing[2],
        worst,
        1.0,
        numbers={f"D∞ at gap {g}": v for g, v in zip((0, 5, 20), growing, strict=True)},
        pictures=(picture,),
        what="largest found/proved",
    )
