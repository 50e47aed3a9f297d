"""One-step differential stability: what a potential may claim of itself (def:OSDS, def:OSDSnorm).

Two numbers, never to be mixed. The *rate* is sup of -d log p_i along a loss in [0,1]^n; every regret bound
uses it. The *level* is the largest divergence between the plays before and after one whole loss; an audit
measures it. A level can be smaller than the rate.

For a law, one coordinate moving by c moves p_i by at most sup_y S(y)/S(y + c/scale), and e_i is the worst
loss of [0,1]^n, because the play ignores constants and other arms' losses help arm i. So the rate is
hazard/scale, and the level is read off the survival function.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hannan.mathematics.laws.gaussian import Gaussian
from hannan.mathematics.laws.heavy import Frechet, Pareto
from hannan.mathematics.laws.law import Law
from hannan.mathematics.laws.light import Exponential, Gamma, Gumbel, Laplace, Weibull
from hannan.mathematics.quadrature import least_between
from hannan.mathematics.regularizers import Entropy, LogBarrier, Regularizer, Tsallis
from hannan.saving import frozen
from hannan.saving.formatting import figure
from hannan.saving.result import Result, Shown
from hannan.validation import Array

Smoothing = Law | Regularizer


@frozen
class Stability(Result):
    """How little one loss can change a play: a claim that `hannan.audit` measures.

    D(p(L), p(L + l)) <= level for every L and every l in [0,1]^n: DiffStable of the paper.

    `level`: the largest divergence of one whole step. `rate`: what a bound uses, the largest change a unit of loss, of
    the same divergence; inf where there is none. `gamma` and `delta` say which divergence D is: D_inf,gamma, or
    D_inf^delta when delta > 0. `source`: where it is proved. `exact`: the level is the supremum itself; otherwise it is
    a proved upper bound.

    >>> import hannan as hn
    >>> claim = hn.FTPL(hn.Exponential(), scale=2.0).stability(n=3)
    >>> claim.level, claim.rate, claim.exact
    (0.5, 0.5, True)
    """

    level: float
    rate: float
    gamma: float
    delta: float
    source: str
    exact: bool

    @property
    def divergence(self) -> str:
        """Which one it is about."""
        return divergence_name(self.gamma, self.delta)

    def shown(self) -> Shown:
        """Level, rate, and where they come from."""
        sense = "the supremum itself" if self.exact else "a proved upper bound"
        rows = [
            ("level", f"{figure(self.level)}, {sense}"),
            ("rate", figure(self.rate) if math.isfinite(self.rate) else "none exists"),
            ("divergence", self.divergence),
            ("source", self.source),
        ]
        return Shown(f"one-step stability: level {figure(self.level)}", rows)


def divergence_name(gamma: float, delta: float = 0.0) -> str:
    """D_inf with what it is of.

    >>> divergence_name(1.0), divergence_name(0.5), divergence_name(1.0, 1e-6)
    ('D_inf', 'D_inf,0.5', 'D_inf^1e-06')
    """
    return ("D_inf" if gamma == 1.0 else f"D_inf,{gamma:g}") + (f"^{delta:g}" if delta > 0.0 else "")


@lru_cache(maxsize=256)
def kappa(alpha: float) -> float:
    """kappa_a = max_p p^(1-a) (1-p)^(2-a) / (p^(2-a) + (1-p)^(2-a)), 0 <= a < 1.

    The D_inf rate of Tsallis(a) is kappa_a/(a scale), of the log-barrier kappa_0/scale.

    >>> [round(kappa(a), 6) for a in (0.0, 0.25, 0.5, 0.75)]
    [0.276953, 0.340424, 0.427916, 0.568456]
    """

    def objective(p: float) -> float:
        a, b = p ** (2.0 - alpha), (1.0 - p) ** (2.0 - alpha)
        return float(p ** (1.0 - alpha) * b / (a + b))

    # The maximum is flat: the value is right to rounding although p is only to 1e-8. Rounded up.
    return objective(least_between(lambda p: -objective(p), 0.0, 1.0, 120)) * (1.0 + 4e-16)


def rate_constant(smoothing: Smoothing) -> float:
    """h with rate = h/scale in D_inf; inf where the smoothing has no rate.

    >>> from hannan.mathematics.regularizers import Tsallis
    >>> rate_constant(Exponential()), round(rate_constant(Tsallis(0.5)), 6), rate_constant(Gaussian())
    (1.0, 0.855832, inf)
    """
    if isinstance(smoothing, Law):
        return float(smoothing.hazard)
    if isinstance(smoothing, Entropy):
        return 1.0
    if isinstance(smoothing, Tsallis):
        return kappa(smoothing.alpha) / smoothing.alpha
    if isinstance(smoothing, LogBarrier):
        return kappa(0.0)
    raise ValueError(f"a rate is known for the package's laws and regularizers only; got {smoothing!r}")


def range_constant(smoothing: Smoothing, n: int, rounds: int | None = None) -> float:
    """C/scale, the range of the smoothing: what be-the-leader costs, for a comparator fixed in advance.

    E max_n Z - E Z for a law; log n; (n^(1-a) - 1)/(1 - a); for the log-barrier, whose range is unbounded,
    A = (n-1) log(1/tau) - log(1 - (n-1) tau) - n log n at tau = 1/(n rounds).

    >>> range_constant(Exponential(), 2)
    0.5
    """
    if isinstance(smoothing, Law):
        mean, most = smoothing.mean, smoothing.expected_max(n)
        if not (math.isfinite(mean) and math.isfinite(most)):
            raise ValueError(
                f"a regret constant needs a law with a finite mean; got {smoothing!r}, whose mean is infinite"
            )
        return most - mean if n > 1 else 0.0
    if isinstance(smoothing, Entropy):
        return math.log(n)
    if isinstance(smoothing, Tsallis):
        return math.expm1((1.0 - smoothing.alpha) * math.log(n)) / (1.0 - smoothing.alpha)
    if isinstance(smoothing, LogBarrier):
        if rounds is None:
            raise ValueError("the range of the log-barrier depends on the number of rounds; got rounds=None")
        if n == 1:
            return 0.0
        tau = 1.0 / (n * rounds)
        return (n - 1) * math.log(1.0 / tau) - math.log1p(-(n - 1) * tau) - n * math.log(n)
    raise ValueError(f"a range is known for the package's laws and regularizers only; got {smoothing!r}")


def variance_constant(smoothing: Smoothing, n: int) -> float:
    """v with D_t <= v/(2 scale) for every L and every loss of [0, 1]^n: what one round of n experts may cost.

    1/4 for Hedge (Hoeffding); 2^(a-3)/a for Tsallis(a), 1/8 for the log-barrier (the variance of a loss under the
    curvatures); for a law h/2, from a rate that is two-sided, or if log f is concave half of
    E psi(max_n Z) = n(n-1) int f^2 F^(n-2), psi = -f'/f. inf if neither exists. The integral is numerical: bounds use
    `proved_variance_constant`.

    >>> variance_constant(Exponential(), 10), variance_constant(Gumbel(), 10), variance_constant(Laplace(), 2)
    (0.5, 0.25, 0.25)
    >>> 0 < variance_constant(Gaussian(), 10) / Gaussian().expected_max(10) - 0.5 < 1e-12
    True
    """
    if isinstance(smoothing, Entropy | Gumbel):
        return 0.25
    if isinstance(smoothing, Tsallis):
        return float(2.0 ** (smoothing.alpha - 3.0) / smoothing.alpha * (1.0 + 4e-16))
    if isinstance(smoothing, LogBarrier):
        return 0.125
    if isinstance(smoothing, Exponential):
        return 0.5
    if isinstance(smoothing, Laplace):
        return 0.5 * (1.0 - 2.0 ** (1 - n))
    half = rate_constant(smoothing) / 2.0
    return min(half, _mean_score(smoothing, n) / 2.0) if isinstance(smoothing, Law) and smoothing.log_concave else half


def proved_variance_constant(smoothing: Smoothing, n: int) -> float:
    """Return an upper bound on the variance constant, for the bounds; `variance_constant` is for the tunings.

    They differ for log-concave laws without a closed form, whose mean score is an integral (docs/proofs/experts.md, 3).

    >>> v = proved_variance_constant(Gaussian(), 10)
    >>> 0 < v / variance_constant(Gaussian(), 10) - 1 < 1e-8
    True
    """
    exact = isinstance(smoothing, Entropy | Gumbel | Tsallis | LogBarrier | Exponential | Laplace)
    if exact or not (isinstance(smoothing, Law) and smoothing.log_concave):
        return variance_constant(smoothing, n)
    return min(rate_constant(smoothing) / 2.0, mean_score_bound(smoothing, n) / 2.0)


#: Relative widths of the cells of `mean_score_bound`, where the weight is and elsewhere.
_FINE, _COARSE = 1.0 / 8192.0, 1.0 / 256.0


@lru_cache(maxsize=256)
def mean_score_bound(law: Law, n: int) -> float:
    """Return an upper bound on E psi(max_n Z) = int_0^1 g(s) w(s) ds, g(s) = f(S^-1(s)), w(s) = n(n-1)(1-s)^(n-2).

    g is concave because f is log-concave. So the integral over a cell is at most the mass of the cell times g at its
    center of mass (Jensen). The sum is an upper bound whatever the cells are.
    """
    if n < 2:
        return 0.0
    first, last = 1e-4 / n, min(0.5, 50.0 / n)
    near = _FINE if n <= 100 else _COARSE
    edges = np.concatenate(
        [
            [0.0],
            _geometric(1e-14 / n, first, _COARSE),
            _geometric(first, last, _FINE),
            _geometric(last, 0.5, _COARSE),
            1.0 - _geometric(1e-4, 0.5, near)[::-1],
            1.0 - _geometric(1e-9, 1e-4, _COARSE)[::-1],
            [1.0],
        ]
    )
    a, b = edges[:-1], edges[1:]
    h, rest = b - a, (1.0 - b) ** (n - 1)
    with np.errstate(divide="ignore"):
        lost = -np.expm1((n - 1) * np.log1p(-h / (1.0 - a))) * (1.0 - a) ** (n - 1)
    mass = n * lost
    moment = (1.0 - a) * lost - (n - 1) * h * rest  # int (s - a) w, by parts
    light, heavy = (0.5 * n * (n - 1) * h * h * (1.0 - x) ** (n - 2) for x in (b, a))
    kept = mass > 0.0  # in the others the weight is below the smallest number
    center = a[kept] + (np.clip(moment, light, heavy)[kept] / mass[kept])  # clipped: small cells cancel
    g = np.asarray(law.density(law.survival_quantile(np.clip(center, a[kept], b[kept]))), dtype=np.float64)
    return float(np.sum(mass[kept] * g)) * (1.0 + 1e-10) if np.isfinite(g).all() else math.inf


def _geometric(low: float, high: float, width: float) -> Array:
    """Return points from `low` up to `high`, without `high`, whose neighbors have a ratio of about e^width."""
    count = math.ceil(math.log(high / low) / width) if low < high else 0
    return np.asarray(low * np.exp(np.arange(count) * (math.log(high / low) / max(count, 1))))


def _mean_score(law: Law, n: int) -> float:
    """Return E psi(max_n Z) = (n-1) E f(M)/F(M), M the maximum, whose -n log F(M) is Exp(1), for the tunings.

    The trapezoidal rule after a double-exponential substitution. The difference of two steps is added, which is far
    above the error in practice and no proof; `mean_score_bound` is an upper bound.
    """
    sums = []
    for step in (1.0 / 32.0, 1.0 / 64.0):
        t = np.arange(-5.5, 4.2, step)
        v = np.exp(t - np.exp(-t))
        weight = np.exp(-v * (n - 1) / n) * v * (1.0 + np.exp(-t)) * step
        with np.errstate(divide="ignore"):
            density = np.asarray(law.density(law.survival_quantile(-np.expm1(-v / n))))
        kept = (weight > 0.0) & np.isfinite(density)
        sums.append((n - 1) * float((weight[kept] * density[kept]).sum()))
    return (sums[1] + abs(sums[1] - sums[0])) * (1.0 + 1e-13)


def natural_gamma(smoothing: Smoothing) -> float:
    """The divergence that the smoothing is made for: 1 for laws and entropy, 2 - alpha, 2."""
    return float(smoothing.gamma) if isinstance(smoothing, Regularizer) else 1.0


def stability(smoothing: Smoothing, scale: float, n: int, gamma: float, delta: float) -> Stability:
    """The claim of a smoothing at a scale; `Potential.stability` checks the arguments."""
    if n == 1:
        return Stability(0.0, 0.0, gamma, delta, "one arm: the play never moves", True)
    if isinstance(smoothing, Gaussian) and delta > 0.0:
        # The play is a function of L + scale Z, and of l only up to constants: |l - 1/2| <= sqrt(n)/2.
        shift = math.sqrt(n) / (2.0 * scale)
        level = gaussian_level(shift, delta)
        return Stability(
            level, math.inf, 1.0, delta, "Gaussian mechanism on L, exact for L itself; post-processing", False
        )
    own = natural_gamma(smoothing)
    if gamma > own:
        # A tail like z^-a gives p_i ~ d^-a, whose divergence stays bounded up to gamma = 1 + 1/a: not proved here.
        unbounded = not isinstance(smoothing, Law) or isinstance(
            smoothing, Exponential | Gamma | Gumbel | Weibull | Laplace | Gaussian
        )
        source = f"p_i -> 0 makes D_inf,gamma unbounded for gamma > {own:g}"
        source = source if unbounded else f"no level is proved in D_inf,gamma for gamma > {own:g}"
        return Stability(math.inf, math.inf, gamma, delta, source, unbounded)
    h = _constant(smoothing, own)
    if gamma < own and isinstance(smoothing, Regularizer) and gamma <= 1.0:
        rate = rate_constant(smoothing) / scale
        return Stability(rate, rate, gamma, delta, "prop:dc_to_dp in D_inf, corrected: kappa_a/(a scale)", False)
    exactly = gamma == own and delta == 0.0
    level, exact, source = _level(smoothing, scale, h)
    if gamma < own:
        source += "; D_inf,gamma grows with gamma (lem:increasing)"
    if math.isinf(level):
        source += "; give delta= for an (epsilon, delta) level" if isinstance(smoothing, Gaussian) else ""
    return Stability(level, h / scale, gamma, delta, source, exact and exactly)


def _constant(smoothing: Smoothing, gamma: float) -> float:
    """h with rate h/scale in the smoothing's own D_inf,gamma: its differential consistency."""
    if isinstance(smoothing, Tsallis):
        return 1.0 / smoothing.alpha
    if isinstance(smoothing, LogBarrier):
        return 1.0
    return rate_constant(smoothing)


def _level(smoothing: Smoothing, scale: float, h: float) -> tuple[float, bool, str]:
    """(level, exact, source) in the smoothing's own divergence."""
    step = 1.0 / scale
    if isinstance(smoothing, Tsallis):
        return step / smoothing.alpha, True, "prop:dc_to_dp corrected: (2-alpha, 1/(alpha scale)) consistency"
    if isinstance(smoothing, LogBarrier):
        return step, True, "lem:logdc and prop:dc_to_dp corrected: (2, 1/scale) consistency"
    if isinstance(smoothing, Entropy | Gumbel):
        return step, True, "Hedge: p_i(L)/p_i(L + l) < e^(1/scale), a supremum"
    if isinstance(smoothing, Exponential):
        return step, True, "tab:dist corrected: constant hazard, attained"
    if isinstance(smoothing, Laplace):
        return step, True, "tab:dist corrected: hazard at most 1, a supremum"
    if isinstance(smoothing, Gamma) and smoothing.shape >= 1.0:
        return step, True, "tab:dist corrected: hazard increasing to 1, a supremum"
    if isinstance(smoothing, Weibull) and smoothing.k == 1.0:
        return step, True, "tab:dist corrected: constant hazard, attained"
    if isinstance(smoothing, Frechet):
        return _frechet_level(smoothing, step), False, "sup_y log S(y)/S(y + 1/scale)"
    at_the_end = "sup_y log S(y)/S(y + 1/scale), at the end of the support: the hazard falls"
    if isinstance(smoothing, Pareto):
        return smoothing.alpha * math.log1p(step), False, at_the_end
    if isinstance(smoothing, Gamma | Weibull) and _falls(smoothing):
        return -float(smoothing.log_survival(step)), False, at_the_end
    if math.isinf(h):
        return math.inf, isinstance(smoothing, Weibull | Gaussian), "unbounded hazard: no pure level"
    return h * step, False, "level <= rate, the rate being hazard/scale"


def _falls(law: Gamma | Weibull) -> bool:
    return law.shape < 1.0 if isinstance(law, Gamma) else law.k < 1.0


def _frechet_level(law: Frechet, step: float) -> float:
    """max_y log S(y) - log S(y + step), on a grid in log y refined around its best point.

    With x = y^-alpha and x' = (y + step)^-alpha it is log(1 + e^-x' (1 - e^(x'-x))/(1 - e^-x')), which does not
    cancel when the step is small.
    """
    centre, width = 0.0, 40.0 / min(law.alpha, 1.0) + abs(math.log(step))
    best = -math.inf
    for _ in range(12):
        logs = np.linspace(centre - width, centre + width, 401)
        logs = logs[np.abs(logs) < 690.0]
        y = np.exp(logs)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            x, after = y**-law.alpha, (y + step) ** -law.alpha
            apart = -x * np.expm1(-law.alpha * np.log1p(step / y))
            gain = np.log1p(np.exp(-after) * np.expm1(-apart) / np.expm1(-after))
        gain = np.where(np.isfinite(gain), gain, 0.0)
        at = int(np.argmax(gain))
        best, centre, width = max(best, float(gain[at])), float(logs[at]), width / 50.0
    return best


def gaussian_delta(shift: float, epsilon: float) -> float:
    """delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) for N(0,1) against N(mu,1), exact.

    >>> round(gaussian_delta(0.25, 1.0), 12)
    2.924272e-06
    """
    from scipy.special import log_ndtr

    if shift <= 0.0:
        return 0.0
    first = float(log_ndtr(0.5 * shift - epsilon / shift))
    second = epsilon + float(log_ndtr(-0.5 * shift - epsilon / shift))
    if second >= first:
        return 0.0
    return math.exp(first) * -math.expm1(second - first)


def gaussian_level(shift: float, delta: float) -> float:
    """The least epsilon >= 0 with gaussian_delta(shift, epsilon) <= delta, rounded to the safe side."""
    low, high = 0.0, 1.0
    if gaussian_delta(shift, 0.0) <= delta:
        return 0.0
    while gaussian_delta(shift, high) > delta:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if gaussian_delta(shift, middle) > delta:
            low = middle
        else:
            high = middle
    return high
