"""The contract of laws: its forms agree, its numbers are those of its density, and it plays as it says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hannan.checks.learners import OF_VALUES
from hannan.checks.report import Check, Report, hold, named, run, skip
from hannan.mathematics.laws.law import Law
from hannan.mathematics.potentials import FTPL
from hannan.mathematics.quadrature import GeneralRule
from hannan.validation import Array

#: P(Z > z) from here to there: where a float still knows both tails of a law that states its cdf alone.
_LEVELS = np.concatenate(
    [1.0 - np.geomspace(1e-6, 0.02, 40), np.linspace(0.96, 0.04, 24), np.geomspace(0.03, 1e-6, 24)]
)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FORMS = ("density", "cdf", "survival", "log_density", "log_cdf", "log_survival")


def quantiles(law: Law) -> Array:
    """Points of the support, increasing, from the one tail into the other."""
    z = np.unique(np.asarray(law.survival_quantile(_LEVELS), dtype=np.float64))
    return z[np.isfinite(z)]


def pieces(law: Law) -> Iterator[tuple[float, float, Array, Array]]:
    """(left, right, nodes, weights) between neighbouring quantiles, cut where the law says that it has kinks."""
    cuts = np.unique(np.concatenate([quantiles(law), np.asarray(law.kinks, dtype=np.float64)]))
    for left, right in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        half = 0.5 * (right - left)
        yield left, right, left + half * (1.0 + _NODES), half * _WEIGHTS


def forms_take_numbers_and_arrays(law: Law) -> None:
    """A number gives a number, an array one of its shape; NaN stays NaN, and nothing is raised far out."""
    inside = float(np.median(quantiles(law)))
    for name in _FORMS:
        form = getattr(law, name)
        with np.errstate(all="ignore"):
            hold(np.ndim(form(inside)) == 0, f"{name} of a number must be a number; got {form(inside)!r}")
            shape = np.shape(form(np.full((2, 3), inside)))
            hold(shape == (2, 3), f"{name} of an array of shape (2, 3) must have that shape; got {shape}")
            hold(math.isnan(form(math.nan)), f"{name} of NaN must be NaN; got {form(math.nan)!r}")
            far = np.asarray(form(np.array([-1e300, 1e300])))
            hold(not np.isnan(far).any(), f"{name} must not be NaN far out; got {far} at -1e300 and 1e300")


def cdf_is_one_of_a_distribution(law: Law) -> None:
    """F rises from 0 to 1; outside the support it is 0 or 1, and the density is 0."""
    low, high = law.support
    hold(low < high, f"the support must be an interval (low, high); got {law.support}")
    rising = np.diff(np.asarray(law.cdf(quantiles(law))))
    hold((rising >= 0.0).all(), f"a cdf must not fall; it falls by {-rising.min():.3g}")
    with np.errstate(all="ignore"):
        ends = float(law.cdf(-math.inf)), float(law.cdf(math.inf))
        hold(ends == (0.0, 1.0), f"a cdf must go from 0 to 1; got {ends}")
        for end, right in ((low, 0.0), (high, 1.0)):
            if math.isfinite(end):
                beyond = end + (0.5 if right else -0.5) * (1.0 + abs(end))
                found = float(law.cdf(beyond)), float(law.density(beyond))
                hold(found == (right, 0.0), f"at {beyond:g}, outside, cdf and density must be {right}, 0; got {found}")


def survival_is_the_rest_of_the_cdf(law: Law) -> None:
    """F + S = 1."""
    z = quantiles(law)
    gap = np.abs(np.asarray(law.cdf(z)) + np.asarray(law.survival(z)) - 1.0).max()
    hold(gap < 1e-12, f"cdf and survival must sum to 1; they miss it by {gap:.3g}")


def logarithms_are_those_of_the_plain_forms(law: Law) -> None:
    """log_density, log_cdf and log_survival, where the plain forms are no smaller than 1e-7."""
    z = quantiles(law)
    for name in _FORMS[:3]:
        plain, logs = np.asarray(getattr(law, name)(z)), np.asarray(getattr(law, f"log_{name}")(z))
        kept = plain > 1e-7
        gap = np.abs(np.log(plain[kept]) - logs[kept]).max(initial=0.0)
        hold(gap < 1e-8, f"log_{name} must be the logarithm of {name}; they differ by {gap:.3g}")


def density_is_the_slope_of_the_cdf(law: Law) -> None:
    """Between neighbouring quantiles the density integrates to the growth of F, to 1e-6 of it."""
    for left, right, z, weights in pieces(law):
        mass, grown = float(weights @ np.asarray(law.density(z))), float(law.cdf(right)) - float(law.cdf(left))
        near = abs(mass - grown) <= 1e-6 * abs(grown) + 1e-12
        hold(near, f"the density must integrate to {grown:.9g} from {left:g} to {right:g}; got {mass:.9g}")
    hold((np.asarray(law.density(quantiles(law))) >= 0.0).all(), "a density must be >= 0")


def quantiles_invert_the_survival(law: Law) -> None:
    """S(S^-1(s)) = s."""
    s = np.array([1e-6, 1e-3, 0.2, 0.5, 0.9, 0.999])
    found = np.asarray(law.survival(law.survival_quantile(s)))
    gap = np.abs(found / s - 1.0).max()
    hold(gap < 1e-6, f"survival at survival_quantile(s) must be s; it is {found}, not {s}")


FORM_CHECKS: tuple[Check, ...] = (
    forms_take_numbers_and_arrays,
    cdf_is_one_of_a_distribution,
    survival_is_the_rest_of_the_cdf,
    logarithms_are_those_of_the_plain_forms,
    density_is_the_slope_of_the_cdf,
    quantiles_invert_the_survival,
)


def samples_follow_the_cdf(law: Law) -> None:
    """Kolmogorov and Smirnov's on 20,000 draws; false alarms once in 1e6, by Massart: P(D > d) <= 2 e^(-2 n d^2)."""
    n = 20_000
    cdf = np.asarray(law.cdf(np.sort(np.asarray(law.sample(np.random.default_rng(7), n)))))
    distance = max((np.arange(1, n + 1) / n - cdf).max(), (cdf - np.arange(n) / n).max())
    most = math.sqrt(math.log(2.0 / 1e-6) / (2.0 * n))
    hold(distance <= most, f"samples must follow the cdf: at most {most:.4f} from it; got {distance:.4f}")


def samples_come_of_the_stream(law: Law) -> None:
    """The same generator draws the same; a size is the shape, and without one it is a number."""
    one, two = (np.asarray(law.sample(np.random.default_rng(3), (4, 5))) for _ in range(2))
    hold(one.shape == (4, 5), f"a sample of size (4, 5) must have that shape; got {one.shape}")
    hold((one == two).all(), "the same stream must draw the same; it drew other numbers")
    hold(np.ndim(law.sample(np.random.default_rng(3))) == 0, "a sample without a size must be a number")


def mean_is_that_of_the_density(law: Law) -> None:
    """E Z = int z f(z) dz: between the outer quantiles by Gauss' rule, beyond them by the power that S falls with."""
    stated = float(law.mean)
    if math.isinf(stated):
        skip("its mean is infinite")
    _near(stated, _expected(law, 1), "mean")


def expected_max_is_that_of_the_density(law: Law) -> None:
    """E max_n = int z n F^(n-1) f dz for n = 1, 2 and 10; infinite together with the mean."""
    if math.isinf(float(law.mean)):
        hold(math.isinf(law.expected_max(10)), f"expected_max must be infinite as mean is; got {law.expected_max(10)}")
        return
    for n in (1, 2, 10):
        _near(law.expected_max(n), _expected(law, n), f"expected_max({n})")


def _expected(law: Law, n: int) -> tuple[float, float]:
    """(E max of n draws, how far at most it is off)."""
    total, size = 0.0, 0.0
    for _, _, z, weights in pieces(law):
        terms = weights * z * n * np.asarray(law.cdf(z)) ** (n - 1) * np.asarray(law.density(z))
        total, size = total + float(terms.sum()), size + float(np.abs(terms).sum())
    doubt = 1e-6 * size
    for level, inner in ((1e-6, 1e-5), (1.0 - 1e-6, 1.0 - 1e-5)):
        outer, near = (float(law.survival_quantile(np.array(s))) for s in (level, inner))
        mass = n * (level if level < 0.5 else (1.0 - level) ** n / n)
        # z ~ s^-power in a tail: int_0^a z ds = a z(a)/(1 - power).
        power = math.log(abs(outer / near)) / math.log(10.0) if outer * near > 0.0 else 0.0
        tail = mass * outer / (1.0 - min(max(power, 0.0), 0.99))
        total, doubt = total + tail, doubt + 0.3 * abs(tail)
    return total, doubt + 1e-9


def _near(stated: float, found: tuple[float, float], name: str) -> None:
    value, doubt = found
    hold(abs(stated - value) <= doubt, f"{name} must be {value:.8g} to {doubt:.2g}, by the density; got {stated!r}")


def hazard_is_no_less_than_it_is(law: Law) -> None:
    """sup f/S <= hazard, at 90 quantiles, and log S falls nowhere faster between them. A hazard beyond it costs regret
    and breaks no proof; that none is missed between the points is on the law's word."""
    try:
        stated = float(law.hazard)
    except ValueError as reason:
        skip(str(reason))
    hold(stated > 0.0, f"a hazard must be > 0; got {stated!r}")
    z = quantiles(law)
    steep = np.asarray(law.density(z)) / np.asarray(law.survival(z))
    fall = -np.diff(np.log(np.asarray(law.survival(z)))) / np.diff(z)
    found = max(float(steep.max()), float(fall.max()))
    hold(found <= stated * (1.0 + 1e-6), f"hazard must be at least f/S, which reaches {found:.8g}; got {stated!r}")


def log_concave_is_no_more_than_it_is(law: Law) -> None:
    """If it says so, the slope of log f does not rise from quantile to quantile."""
    if not law.log_concave:
        skip("it does not say that it is log-concave")
    z = quantiles(law)
    slope = np.diff(np.asarray(law.log_density(z))) / np.diff(z)
    # Logarithms are right to 1e-10, and a slope to that over its gap.
    lost = 1e-10 / np.diff(z) + 1e-6 * np.abs(slope)
    rise = np.diff(slope) - lost[1:] - lost[:-1]
    hold(
        (rise <= 0.0).all(), f"log f must be concave, as the law says; its slope rises at {z[1 + int(rise.argmax())]:g}"
    )


def play_is_that_of_the_density(law: Law) -> None:
    """The perturbed leader's probabilities, compiled or tabulated, are those of quadrature on density and cdf."""
    for losses in (np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.5, 2.0]), np.array([1.0, 0.0, 1.0, 6.0])):
        found, right = FTPL(law, 1.0).gradient(losses), GeneralRule(law, losses - losses.min()).play()
        gap = float(np.abs(found - right).max())
        hold(gap < 1e-7, f"the play at L = {losses.tolist()} must be {right}; got {found}")


NUMBER_CHECKS: tuple[Check, ...] = (
    samples_follow_the_cdf,
    samples_come_of_the_stream,
    mean_is_that_of_the_density,
    expected_max_is_that_of_the_density,
    hazard_is_no_less_than_it_is,
    log_concave_is_no_more_than_it_is,
    play_is_that_of_the_density,
)


CHECKS = (*OF_VALUES, *FORM_CHECKS, *NUMBER_CHECKS)


def law_checks(law: Law) -> Iterator[tuple[str, Callable[[], None]]]:
    """(name, check) of every promise of the contract, for `pytest.mark.parametrize`; see `learner_checks`.

    >>> import hannan as hn
    >>> dict(law_checks(hn.Gumbel()))["samples_follow_the_cdf"]()
    """
    return named(CHECKS, law)


def check_law(law: Any) -> Report:
    """Hold a law to the whole contract: a report of what passed and what was skipped, or `Failed`.

    >>> import hannan as hn
    >>> print(check_law(hn.Frechet(1.0)))
    Frechet(alpha=1.0): 15 checks passed, 2 skipped
      mean_is_that_of_the_density: skipped, its mean is infinite
      log_concave_is_no_more_than_it_is: skipped, it does not say that it is log-concave
    """
    if not isinstance(law, Law):
        raise ValueError(f"law must be a hannan Law such as Exponential(); got {law!r}")
    return run(law_checks(law), law)
