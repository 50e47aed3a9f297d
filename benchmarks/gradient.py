"""The exact play, `phi.gradient(L)`, against alternatives: quadrature per arm, sampling, a root finder.

FTPL: p_i = int f(z) prod_{j != i} F(z + (L_j - L_i)/scale) dz, by `scipy.integrate.quad` for each arm, and by
10,000 draws of the perturbations. FTRL: the multiplier by `scipy.optimize.brentq`. The error is the largest
relative error over a few probed arms (the best, a middle one, the worst), against a reference that shares no
code with either: composite Gauss-Legendre quadrature in y = -log S(z), or 200 bisections of the multiplier.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize, special
from timing import ratio, seconds_a_call, shown, table

import hannan as hn

Array = NDArray[np.float64]
SCALE = 5.0
SPREAD = 20.0
DRAWS = 10_000
MANY = 10_000  # from here on quad and sampling are timed on a part and scaled
LAWS = (
    hn.Exponential(),
    hn.Gamma(2.0),
    hn.Gumbel(),
    hn.Weibull(0.5, conditioned=True),
    hn.Frechet(2.0),
    hn.Pareto(2.0),
    hn.Laplace(),
    hn.Gaussian(),
)
EXPLANATION = f"""All N probabilities of one play: L uniform on [0, {SPREAD:g}], scale {SCALE:g}.
`quad` is timed on the probed arms and scaled to N arms; sampling is {DRAWS:,} draws (at N = 100,000
timed on 20 draws, scaled, without an error). Both are shown as ratios to the time of `gradient`.
Error: largest relative error over the probed arms."""
# Density and cdf as a user would write them for quad, with no checks: the rival at its fastest.
LEAN: dict[type, tuple[Callable[[float], float], Callable[[Array], Array]]] = {
    hn.Exponential: (lambda z: math.exp(-z), lambda x: -np.expm1(-x)),
    hn.Gamma: (lambda z: z * math.exp(-z), lambda x: special.gammainc(2.0, x)),
    hn.Gumbel: (
        lambda z: math.exp(-z - math.exp(-z)) if z > -700.0 else 0.0,
        lambda x: np.exp(-np.exp(-x)),
    ),
    hn.Weibull: (
        lambda z: 0.5 / math.sqrt(1.0 + z) * math.exp(1.0 - math.sqrt(1.0 + z)),
        lambda x: -np.expm1(1.0 - np.sqrt(1.0 + x)),
    ),
    hn.Frechet: (
        lambda z: 2.0 * z**-3.0 * math.exp(-(z**-2.0)) if z > 0.03 else 0.0,
        lambda x: np.exp(-(x**-2.0)),
    ),
    hn.Pareto: (lambda z: 2.0 * z**-3.0, lambda x: 1.0 - x**-2.0),
    hn.Laplace: (
        lambda z: 0.5 * math.exp(-abs(z)),
        lambda x: np.where(x < 0.0, 0.5 * np.exp(-np.abs(x)), 1.0 - 0.5 * np.exp(-np.abs(x))),
    ),
    hn.Gaussian: (lambda z: math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi), special.ndtr),
}
REGULARIZERS = (hn.Entropy(), hn.Tsallis(0.5), hn.Tsallis(0.25), hn.LogBarrier())


def run(quick: bool = False) -> str:
    """Two Markdown tables."""
    sizes = (10, 100) if quick else (10, 100, 1000, 100_000)
    laws = [_law_row(law, n) for law in LAWS for n in sizes]
    regularizers = [_regularizer_row(reg, n) for reg in REGULARIZERS for n in sizes]
    columns = ["law", "N", "gradient", "quad", "sampling", "error", "quad's error", "sampling's error"]
    return "\n\n".join(
        [
            EXPLANATION,
            table(columns, laws),
            table(["regularizer", "N", "gradient", "brentq", "error", "brentq's error"], regularizers),
        ]
    )


def _case(n: int) -> tuple[Array, list[int]]:
    L = np.random.default_rng(n).uniform(0.0, SPREAD, n)
    order = np.argsort(L)
    return L, [int(order[0])] if n > MANY else [int(order[0]), int(order[n // 2]), int(order[-1])]


def _law_row(law: Any, n: int) -> list[object]:
    L, probes = _case(n)
    phi = hn.FTPL(law, SCALE)
    ours = seconds_a_call(lambda: phi.gradient(L), least=2)
    p = np.asarray(phi.gradient(L))
    true = np.array([_reference(law, L, i) for i in probes])
    found = np.zeros(len(probes))

    def by_quad() -> None:
        found[:] = [_quad(law, L, i) for i in probes]

    quad = seconds_a_call(by_quad, 0.05, 1, warm=n <= MANY) * n / len(probes)
    draws = DRAWS if n <= MANY else 20
    counts = np.zeros(n)
    sampling = seconds_a_call(lambda: _sample(law, L, draws, counts), 0.0, 1, warm=False) * DRAWS / draws
    sampled = np.abs(counts[probes] / draws / true - 1.0).max()
    return [
        law,
        f"{n:,}",
        shown(ours),
        ratio(quad / ours),
        ratio(sampling / ours),
        f"{np.abs(p[probes] / true - 1.0).max():.1e}",
        f"{np.abs(found / true - 1.0).max():.1e}",
        f"{sampled:.1e}" if n <= MANY else "",
    ]


def _quad(law: Any, L: Array, i: int) -> float:
    density, cdf = LEAN[type(law)]
    gaps = np.delete(L - L[i], i) / SCALE
    low, high = law.support
    # Left of this point the integrand is zero; a user who does not say so gets wrong answers from quad.
    low = max(low, low - gaps.min())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, _ = integrate.quad(
            lambda z: density(z) * cdf(z + gaps).prod(), low, high, epsabs=0.0, epsrel=1e-8, limit=200
        )
    return float(value)


def _sample(law: Any, L: Array, draws: int, counts: Array) -> None:
    rng = np.random.default_rng(draws)
    counts[:] = 0.0
    block = min(draws, 1000)
    for _ in range(draws // block):
        winners = np.argmin(L - SCALE * law.sample(rng, (block, len(L))), axis=1)
        counts += np.bincount(winners, minlength=len(L))


def _reference(law: Any, L: Array, i: int) -> float:
    """p_i = int_0^inf e^-y prod_{j != i} F(z(y) + gap_j) dy, z(y) = S^-1(e^-y), panels cut at kinks."""
    n = len(L)
    gaps = np.delete(L - L[i], i) / SCALE
    low = law.support[0]
    start = -float(law.log_survival(max(low, low - gaps.min()))) if np.isfinite(low) else 0.0
    top = start + (70.0 if n <= MANY else 35.0) + np.log(n)
    # Panels shrink towards the start, where the integrand may be a power; with many arms it vanishes there.
    shrinking = start + 2.0 ** np.arange(-60.0 if n <= MANY else -2.0, 0.0)
    edges = np.concatenate([[start], shrinking, np.linspace(start + 1.0, top, 140 if n <= MANY else 60)])
    kinks = np.array([kink - gap for kink in law.kinks for gap in (0.0, *gaps)])
    if len(kinks) and n <= MANY:
        cuts = -np.asarray(law.log_survival(kinks))
        edges = np.concatenate([edges, cuts[(cuts > start) & (cuts < top)]])
    # With many arms the only one probed is the leader, where F is near 1 and its plain form is as good.
    log_cdf = law.log_cdf if n <= MANY else lambda x: np.log(LEAN[type(law)][1](x))
    nodes, weights = np.polynomial.legendre.leggauss(8 if n > MANY else 16)
    total = 0.0
    for a, b in itertools.pairwise(np.unique(edges)):
        y = 0.5 * (a + b) + 0.5 * (b - a) * nodes
        with np.errstate(divide="ignore"):  # e^-y rounds to 1 in the first panels, where nothing is lost
            z = np.asarray(law.survival_quantile(np.exp(-y)))
        product = np.exp(np.asarray(log_cdf(z[:, None] + gaps[None, :])).sum(axis=1) - y)
        total += 0.5 * (b - a) * float(weights @ product)
    return total


def _regularizer_row(reg: Any, n: int) -> list[object]:
    L, probes = _case(n)
    phi = hn.FTRL(reg, SCALE)
    ours = seconds_a_call(lambda: phi.gradient(L), least=2)
    p = np.asarray(phi.gradient(L))
    play, low, high = _multiplier(reg, L)
    rival = np.zeros(n)

    def by_brentq() -> None:
        rival[:] = play(optimize.brentq(lambda x: float(play(x).sum()) - 1.0, low, high, xtol=1e-300, rtol=1e-15))

    theirs = seconds_a_call(by_brentq)
    a, b = low, high
    for _ in range(200):
        middle = 0.5 * (a + b)
        a, b = (middle, b) if play(middle).sum() < 1.0 else (a, middle)
    true = play(0.5 * (a + b))
    true /= true.sum()
    return [
        reg,
        f"{n:,}",
        shown(ours),
        ratio(theirs / ours),
        f"{np.abs(p[probes] / true[probes] - 1.0).max():.1e}",
        f"{np.abs(rival[probes] / true[probes] - 1.0).max():.1e}",
    ]


def _multiplier(reg: Any, L: Array) -> tuple[Callable[[float], Array], float, float]:
    """p(x), increasing in x, whose sum is 1 at the root; and a bracket of the root."""
    gaps = (L - L.min()) / SCALE
    n = float(len(L))
    if isinstance(reg, hn.Entropy):
        return lambda x: np.exp(x - gaps), -np.log(n) - 1.0, 1.0
    if isinstance(reg, hn.LogBarrier):
        return lambda x: 1.0 / (gaps - x), -n - 1.0, -0.5
    alpha = reg.alpha
    c = alpha / (1.0 - alpha)
    # f'(p) = -c p^(alpha-1), so p = (c/(gap - x))^(1/(1-alpha)); the leader's lies between 1/n and 1.
    return lambda x: (c / (gaps - x)) ** (1.0 / (1.0 - alpha)), -c * n ** (1.0 - alpha) - 1.0, -0.5 * c
