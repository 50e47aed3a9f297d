"""Section 3.2: the noise of Algorithm 1. How stable is a move after one more loss, forward and backward?"""

from __future__ import annotations

import math

import numpy as np

from hannan.divergences import max_divergence
from hannan.noise import GaussianNoise
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, broken, holds
from hannan.paper.corrections import correct, form
from hannan.refusals import Array
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "Noise of Algorithm 1",
    "Objective perturbation adds ⟨b, x⟩ to the losses. The printed Gaussian covariance is too small; the density of "
    "the Gamma case is twice as wide as the regret needs.",
)

#: (beta, eps, delta) of the cases worked out in the text.
CASES = ((10.0, 1.0, 1e-3), (10.0, 1.0, 1e-6), (10.0, 1.0, 1e-10), (1.0, 0.1, 1e-10), (0.1, 1.0, 1e-6))

correct(
    "gaussian-sigma",
    "alg:oco",
    "σ from the exact δ(ε) = Φ(μ/2 − ε/μ) − e^{ε} Φ(−μ/2 − ε/μ), μ = β/σ; the printed σ² = (β² log(2/δ) + 4ε)/ε² is "
    "too small",
    corrected=lambda eps, beta, delta: GaussianNoise(delta).sigma(eps, beta),
    printed=lambda eps, beta, delta: GaussianNoise(delta, "paper").sigma(eps, beta),
)


@CHAPTER.claim("gaussian-covariance-printed", "alg:oco", "exact", when="linear losses, ‖ℓ‖ ≤ β; as printed")
def _covariance(effort: Effort) -> Verdict:
    """Σ = (β² log(2/δ) + 4ε)/ε² I gives D_{∞}^{δ}(x_{t}, x_{t+1}) ≤ ε."""
    numbers, rows = {}, []
    for beta, eps, delta in CASES:
        noise = GaussianNoise(delta, "paper")
        sigma = noise.sigma(eps, beta)
        numbers[f"β = {beta:g}, ε = {eps:g}, δ = {delta:g}: really δ"] = noise.delta_of(eps, beta, sigma)
        numbers[f"β = {beta:g}, ε = {eps:g}, δ = {delta:g}: really ε"] = noise.epsilon_of(beta, sigma)
    for delta in np.geomspace(1e-12, 1e-1, 45):
        for beta in (0.1, 1.0, 10.0):
            noise = GaussianNoise(float(delta), "paper")
            really = noise.epsilon_of(beta, noise.sigma(1.0, beta))
            rows.append({"x": float(delta), "y": really, "β": f"printed, β = {beta:g}"})
        kifer = GaussianNoise(float(delta), "kifer")
        rows.append({"x": float(delta), "y": kifer.epsilon_of(1.0, kifer.sigma(1.0, 1.0)), "β": "Kifer et al., any β"})
    picture = Picture(
        "The Gaussian covariance that breaks: level really achieved where ε = 1 was asked",
        "δ",
        "ε achieved",
        (Layer("line", tuple(rows), series="β"), Layer("rule", ({"y": 1.0, "label": "asked"},))),
        alt="For β = 10 the printed covariance exceeds ε = 1 for every δ below about 1e-4; for β = 0.1 it is far too "
        "cautious; the covariance of Kifer, Smith and Thakurta stays below for every β.",
        x_log=True,
    )
    noise = GaussianNoise(1e-6, "paper")
    value = noise.delta_of(1.0, 10.0, noise.sigma(1.0, 10.0))
    uneven = noise.sigma(1.0, 10.0) / (100.0 * noise.sigma(1.0, 0.1))
    return broken(
        value > 5e-6 and abs(uneven - 1.0) > 0.1,
        value,
        1e-6,
        numbers={**numbers, "σ(10)/(100 σ(0.1)), 1 if homogeneous": uneven},
        pictures=(picture,),
        what="δ at β = 10, ε = 1, σ printed for 1e-6",
        note="The printed form lost the 8 of Kifer, Smith and Thakurta, whose σ² is β²(8 log(2/δ) + 4ε)/ε².",
    )


@CHAPTER.claim("gaussian-covariance", "alg:oco", "exact", when="linear losses, ‖ℓ‖ ≤ β", corrects="gaussian-sigma")
def _exact_sigma(effort: Effort) -> Verdict:
    """The σ solved from the exact δ(ε) gives D_{∞}^{δ} ≤ ε and no more noise than that needs."""
    worst, least, rows = -math.inf, math.inf, []
    for beta, eps, delta in CASES:
        sigma = form("gaussian-sigma")(eps, beta, delta)
        really = GaussianNoise(delta).delta_of(eps, beta, sigma) / delta
        worst, least = max(worst, really), min(least, really)
        case = f"β={beta:g} ε={eps:g} δ={delta:g}"
        for name in ("analytic", "paper", "kifer"):
            rows.append({"x": case, "y": GaussianNoise(delta, name).sigma(eps, beta) / beta, "σ": name})
    picture = Picture(
        "σ/β by three calibrations",
        "",
        "σ/β",
        (Layer("bars", tuple(rows), series="σ"),),
        alt="The exact σ is about a third of Kifer's; the printed one is below what is needed in three of five cases.",
        x_kind="nominal",
        y_log=False,
    )
    return holds(
        at_most(worst, 1.0) and least > 0.999,
        worst,
        1.0,
        corrected=True,
        numbers={"least δ/target": least},
        pictures=(picture,),
        what="largest δ/target",
    )


@CHAPTER.claim("gaussian-inside", "alg:oco", "exact", when="d = 1, X = [0, 1], β = 10, ε = 1, δ = 10^{−6}, L = 140.49")
def _inside(effort: Effort) -> Verdict:
    """Inside the algorithm the printed covariance keeps D_{∞}^{δ}(x_{t}, x_{t+1}) ≤ ε."""
    from scipy.special import ndtr

    sigma, L = GaussianNoise(1e-6, "paper").sigma(1.0, 10.0), 140.49
    before, after = float(ndtr(-L / sigma)), float(ndtr(-(L + 10.0) / sigma))
    value = float(max_divergence([before, 1.0 - before], [after, 1.0 - after], 1e-6))
    return broken(
        value > 1.0,
        value,
        1.0,
        numbers={"P(x_{t} = 1)": before, "P(x_{t+1} = 1)": after},
        what="D_{∞}^{δ} found",
    )


def _sigmoid(u: Array) -> Array:
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
            g = 2.0 * ridge * x - _sigmoid(-z @ x) @ z
            H = 2.0 * ridge * np.eye(d) + (z.T * (_sigmoid(z @ x) * _sigmoid(-z @ x))) @ z
            step = -weight * _sigmoid(-axes @ x) @ axes
            J = H + weight * (axes.T * (_sigmoid(axes @ x) * _sigmoid(-axes @ x))) @ axes
            density = float(0.5 * eps * (np.linalg.norm(g + step) - np.linalg.norm(g)))
            jacobian = float(np.linalg.slogdet(H)[1] - np.linalg.slogdet(J)[1])
            forward, backward = max(forward, density + jacobian), max(backward, -density - jacobian)
    return forward, backward


correct(
    "forward-noise",
    "thm:oco",
    "the direction that the regret uses has level ε/2 at the printed density, with no ridge and no rank condition",
    corrected=lambda eps: 0.5 * eps,
    printed=lambda eps: eps,
)


@CHAPTER.claim(
    "forward-noise", "thm:oco", "search", when="convex, β-Lipschitz; any ridge, any rank", corrects="forward-noise"
)
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
    picture = Picture(
        "Largest log density ratio over ε, logistic losses",
        "",
        "log ratio / ε",
        (
            Layer("points", tuple(rows), series="way"),
            Layer("rule", ({"y": 1.0, "label": "ε"}, {"y": 0.5, "label": "ε/2"})),
        ),
        alt="Forward the ratio never exceeds ε/2. Backward it stays below ε only with the ridge and rank one, and is "
        "many times ε without the ridge.",
        x_kind="nominal",
        y_log=True,
    )
    return holds(
        at_most(worst, 1.0) and least > 0.8,
        worst,
        1.0,
        corrected=True,
        runs=effort.pick(5000, 50_000),
        numbers={"least forward/claimed": least},
        pictures=(picture,),
        what="largest forward ratio/claimed",
    )


@CHAPTER.claim("ridge", "thm:oco", "search", when="rank-one Hessian, curvature ≤ γ, ridge (γ/ε)‖x‖²")
def _ridge(effort: Effort) -> Verdict:
    """For a two-sided (privacy) statement the ridge and the rank condition are needed, and with them the level is ε:
    half from the density, half from the Jacobian."""
    eps = 0.5
    within = max(_ratios(d, True, 0.25 / eps, eps, effort)[1] for d in (1, 2, 3, 5))
    full = _ratios(5, False, 0.25 / math.sqrt(5.0) / eps, eps, effort)[1]
    bare = _ratios(3, True, 1e-6, eps, effort)[1]
    return holds(
        at_most(within, eps) and full > within and bare > 3.0 * eps,
        within / eps,
        1.0,
        runs=effort.pick(6000, 60_000),
        numbers={"full rank, with the ridge": full / eps, "rank one, ridge 1e-6": bare / eps},
        what="largest backward ratio/ε",
    )


def _delta_of(ridge: float, sigma: float, eps: float) -> float:
    """sup_B P(x_t in B) - e^eps P(x_{t+1} in B) on the line, one logistic loss after a ridge ||x||^2: by quadrature."""
    # x = -b/(2 ridge) before the loss: fine where the loss bends, coarse as far as the noise reaches.
    reach = 60.0 + 10.0 * sigma / (2.0 * ridge)
    x = np.unique(np.concatenate([np.linspace(-60.0, 60.0, 60_001), np.linspace(-reach, reach, 60_001)]))
    g, h = 2.0 * ridge * x, 2.0 * ridge
    step, curve = _loss_slope(x)
    before = np.exp(-0.5 * (g / sigma) ** 2) * h
    after = np.exp(-0.5 * ((g + step) / sigma) ** 2) * (h + curve)
    excess = np.maximum(before - math.exp(eps) * after, 0.0)
    return float(np.trapezoid(excess, x) / (sigma * math.sqrt(2.0 * math.pi)))


def _loss_slope(x: Array) -> tuple[Array, Array]:
    """Gradient and curvature of the logistic loss log(1 + e^-x)."""
    return -_sigmoid(-x), _sigmoid(x) * _sigmoid(-x)


@CHAPTER.claim("gaussian-curved", "thm:oco", "quadrature", when="ℓ = φ(⟨z, x⟩), φ' of one sign; d = 1, logistic")
def _curved(effort: Effort) -> Verdict:
    """Gaussian noise on curved losses: δ ≤ Φ(−z), z = εσ/β − β/(2σ), for φ' of one sign, 2Φ(−z) for rank one and
    P(χ_{d} > z) in general."""
    noise, worst, linear, rows = GaussianNoise(1e-6), -math.inf, -math.inf, []
    for sigma in (1.0, 2.0, 4.0):
        for eps in (0.25, 0.5, 1.0):
            for ridge in (0.01, 0.2):
                found = _delta_of(ridge, sigma, eps)
                proved = noise.delta_of(eps, 1.0, sigma, "one-signed")
                worst, linear = max(worst, found / proved), max(linear, found / noise.delta_of(eps, 1.0, sigma))
                if ridge == 0.01 and sigma == 2.0:
                    rows += [
                        {"x": eps, "y": found, "what": "found"},
                        {"x": eps, "y": proved, "what": "Φ(−z)"},
                        {"x": eps, "y": noise.delta_of(eps, 1.0, sigma, "rank-one"), "what": "2Φ(−z)"},
                        {"x": eps, "y": noise.delta_of(eps, 1.0, sigma), "what": "exact for linear losses"},
                    ]
    picture = Picture(
        "δ(ε) of one logistic loss, σ = 2",
        "ε",
        "δ",
        (Layer("line", tuple(rows), series="what"),),
        alt="The δ found for a logistic loss lies below Φ(−z), and does not exceed the formula for linear losses.",
        y_log=True,
    )
    return holds(
        at_most(worst, 1.0),
        worst,
        1.0,
        corrected=True,
        runs=18,
        numbers={"found/linear formula": linear},
        pictures=(picture,),
        what="largest δ/proved",
        note="That one-signed losses obey the exact linear formula is a conjecture; it held in every case tried here.",
    )
