"""Table 1 of the paper, row by row, with the exact constants that it leaves to O(·)."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hannan.mathematics.laws.harmonic import EULER
from hannan.mathematics.laws.law import Law
from hannan.mathematics.laws.table import Frechet, Gamma, Gumbel, Laplace, Pareto, Weibull
from hannan.mathematics.potentials import FTPL
from hannan.mathematics.stability import range_constant, rate_constant
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.report import Layer, Picture

CHAPTER = Chapter(
    "Table 1",
    "Each law's hazard h is the rate of its potential, E max Z − E Z its range; their product c' is the constant of "
    "every regret bound.",
)


N = (2, 3, 10, 100)


def _expected_max(law: Law, n: int) -> float:
    """E max of n draws by quadrature of the survival function, knowing nothing of closed forms."""
    from scipy.integrate import quad

    low = law.support[0]
    start = low if math.isfinite(low) else 0.0
    log_cdf = law.log_cdf

    def above(z: float) -> float:
        return float(-np.expm1(n * log_cdf(z)))

    middle = float(law.survival_quantile(np.array(0.5 / n)))
    edges = [start, 0.5 * (start + middle), middle, 4.0 * abs(middle) + 4.0]
    upper = sum(quad(above, a, b, epsabs=1e-12, epsrel=1e-12, limit=200)[0] for a, b in pairwise(edges))
    # z = edge/u maps the tail to (0, 1], where a power law stays a power law.
    edge = edges[-1]
    upper += quad(lambda u: above(edge / u) * edge / u**2, 0.0, 1.0, epsabs=1e-12, epsrel=1e-12, limit=200)[0]
    lower = 0.0
    if not math.isfinite(low):
        lower = quad(lambda z: float(np.exp(n * log_cdf(z))), -60.0, 0.0, epsabs=1e-13, limit=200)[0]
    return float(start + upper - lower)


def _row(effort: Effort, law: Law, hazard: float, most: list[float], mean: float, title: str) -> Verdict:
    """hazard, E max_N for N of the list and mean: closed forms against quadrature, grid and Hessian."""
    hazard *= effort.turn(1.0, 1.1)
    z = np.asarray(
        law.survival_quantile(np.concatenate([np.geomspace(1e-12, 0.5, 4000), 1 - np.geomspace(1e-12, 0.5, 4000)]))
    )
    ratio = np.exp(np.asarray(law.log_density(z)) - np.asarray(law.log_survival(z)))
    found = float(ratio.max())
    measured = [_expected_max(law, n) for n in N]
    gap = max(abs(a - b) / abs(b) for a, b in zip(most, measured, strict=True))
    # The numbers that every bound uses.
    used = max(abs(law.expected_max(n) - top) / abs(top) for n, top in zip(N, most, strict=True))
    constant = max(
        abs(rate_constant(law) * range_constant(law, n) / (hazard * (top - mean)) - 1.0)
        for n, top in zip(N, most, strict=True)
    )
    phi, consistency = FTPL(law, 1.0), 0.0
    for L in effort.rng("table").random((effort.pick(25, 200), 4)) * 4.0:
        consistency = max(consistency, phi.consistency(L))
    rows = []
    for n, top in zip(N, most, strict=True):
        rows += [
            {"x": str(n), "y": hazard * (top - mean), "what": "c' = h(E max − E Z)"},
            {"x": str(n), "y": math.log(n), "what": "ln N (Hedge)"},
        ]
    picture = Picture(
        f"{title}: the regret constant c'", "N", "c'", (Layer("bars", tuple(rows), series="what"), ),
        alt=f"The constant c' of {title} beside ln N, for N = 2, 3, 10 and 100.", x_kind="ordinal",
        order=tuple(map(str, N)), height=200,
    )  # fmt: skip
    right = (
        max(gap, used, constant) < 1e-6
        and abs(found / hazard - 1.0) < 2e-3
        and at_most(consistency, hazard)
        and abs(law.hazard - hazard) < 1e-9
        and abs(law.mean - mean) < 1e-9
    )
    numbers = {
        "hazard h": hazard,
        "E Z": mean,
        **{f"c' at N = {n}": hazard * (t - mean) for n, t in zip(N, most, strict=True)},
    }
    return holds(
        right, consistency, hazard, runs=effort.pick(25, 200), numbers=numbers, pictures=(picture, ),
        what="largest −∇²Φ/p found",
    )  # fmt: skip


def harmonic(n: int) -> float:
    return math.fsum(1.0 / k for k in range(1, n + 1))


@CHAPTER.claim("table-gamma")
def _gamma(effort: Effort) -> Verdict:
    """Gamma(1, 1): (1, ε)-differentially consistent, hazard 1, E max_{N} = H_{N}, c' = H_{N} − 1."""
    return _row(effort, Gamma(1.0), 1.0, [harmonic(n) for n in N], 1.0, "Gamma(1, 1)")


@CHAPTER.claim("table-gumbel")
def _gumbel(effort: Effort) -> Verdict:
    """Gumbel(0, 1): (1, ε)-differentially consistent, hazard 1 (not attained), E max_{N} = ln N + 0.5772,
    c' = ln N: it is Hedge."""
    return _row(effort, Gumbel(), 1.0, [math.log(n) + EULER for n in N], EULER, "Gumbel(0, 1)")


def _frechet_hazard(a: float) -> float:
    """max_u a u^(1+1/a)/(e^u - 1), by its own stationarity (1+1/a)(1-e^-u) = u."""
    u = 1.0
    for _ in range(500):
        u = (1.0 + 1.0 / a) * -math.expm1(-u)
    return float(a * u ** (1.0 + 1.0 / a) / math.expm1(u))


@CHAPTER.claim("table-frechet")
def _frechet(effort: Effort) -> Verdict:
    """Fréchet(α): hazard max_{u} α u^{1+1/α}/(e^{u} − 1), E max_{N} = N^{1/α} Γ(1 − 1/α)."""
    g = math.gamma(2.0 / 3.0)
    return _row(effort, Frechet(3.0), _frechet_hazard(3.0), [n ** (1 / 3) * g for n in N], g, "Fréchet(3)")


@CHAPTER.claim("table-weibull")
def _weibull(effort: Effort) -> Verdict:
    """Weibull(1, 1): (1, ε)-differentially consistent with no modification; hazard 1, c' = H_{N} − 1."""
    return _row(effort, Weibull(1.0), 1.0, [harmonic(n) for n in N], 1.0, "Weibull(1, 1)")


@CHAPTER.claim("table-pareto")
def _pareto(effort: Effort) -> Verdict:
    """Pareto(1, α): hazard α at the end of the support, E max_{N} = N! Γ(1 − 1/α)/Γ(N + 1 − 1/α)."""
    a = 3.0
    most = [math.exp(math.lgamma(n + 1) + math.lgamma(1 - 1 / a) - math.lgamma(n + 1 - 1 / a)) for n in N]
    return _row(effort, Pareto(a), a, most, a / (a - 1.0), "Pareto(1, 3)")


@CHAPTER.claim("table-laplace")
def _laplace(effort: Effort) -> Verdict:
    """Laplace: hazard 1, E max_{N} = Σ_{k≤N} (1 − 2^{−k})/k − 2^{−N}/N."""
    most = [math.fsum((1 - 2.0**-k) / k for k in range(1, n + 1)) - 2.0**-n / n for n in N]
    return _row(effort, Laplace(), 1.0, most, 0.0, "Laplace")
