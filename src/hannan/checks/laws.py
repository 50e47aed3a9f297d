"""Checks of perturbation distributions: consistency of the functions, constants, samples and plays."""

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

#: Values of P(Z > z) at which both tails are accurate, even for a distribution defined by its cdf only.
_LEVELS = np.concatenate(
    [1.0 - np.geomspace(1e-6, 0.02, 40), np.linspace(0.96, 0.04, 24), np.geomspace(0.03, 1e-6, 24)]
)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FORMS = ("density", "cdf", "survival", "log_density", "log_cdf", "log_survival")


def quantiles(law: Law) -> Array:
    """Return points of the support in increasing order, from one tail to the other."""
    z = np.unique(np.asarray(law.survival_quantile(_LEVELS), dtype=np.float64))
    return z[np.isfinite(z)]


def pieces(law: Law) -> Iterator[tuple[float, float, Array, Array]]:
    """Yield (left, right, nodes, weights) between neighboring quantiles, split at the kinks of the density."""
    cuts = np.unique(np.concatenate([quantiles(law), np.asarray(law.kinks, dtype=np.float64)]))
    for left, right in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        half = 0.5 * (right - left)
        yield left, right, left + half * (1.0 + _NODES), half * _WEIGHTS


def functions_accept_numbers_and_arrays(law: Law) -> None:
    """Check that a number gives a number, an array an array of its shape, and NaN NaN, without errors far out."""
    inside = float(np.median(quantiles(law)))
    for name in _FORMS:
        form = getattr(law, name)
        with np.errstate(all="ignore"):
            hold(np.ndim(form(inside)) == 0, f"{name} of a number must be a number; got {form(inside)!r}")
            shape = np.shape(form(np.full((2, 3), inside)))
            hold(shape == (2, 3), f"{name} of an array of shape (2, 3) must have the same shape; got {shape}")
            hold(math.isnan(form(math.nan)), f"{name} of NaN must be NaN; got {form(math.nan)!r}")
            far = np.asarray(form(np.array([-1e300, 1e300])))
            hold(not np.isnan(far).any(), f"{name} must not be NaN far out; got {far} at -1e300 and 1e300")


def cdf_is_a_distribution_function(law: Law) -> None:
    """Check that the cdf rises from 0 to 1, and that the density is 0 outside of the support."""
    low, high = law.support
    hold(low < high, f"the support must be an interval (low, high); got {law.support}")
    rising = np.diff(np.asarray(law.cdf(quantiles(law))))
    hold((rising >= 0.0).all(), f"a cdf must not decrease; it decreases by {-rising.min():.3g}")
    with np.errstate(all="ignore"):
        ends = float(law.cdf(-math.inf)), float(law.cdf(math.inf))
        hold(ends == (0.0, 1.0), f"a cdf must go from 0 to 1; got {ends}")
        for end, right in ((low, 0.0), (high, 1.0)):
            if math.isfinite(end):
                beyond = end + (0.5 if right else -0.5) * (1.0 + abs(end))
                found = float(law.cdf(beyond)), float(law.density(beyond))
                hold(
                    found == (right, 0.0),
                    f"cdf and density at {beyond:g}, outside of the support, must be {right}, 0; got {found}",
                )


def survival_is_one_minus_cdf(law: Law) -> None:
    """Check that cdf + survival = 1."""
    z = quantiles(law)
    gap = np.abs(np.asarray(law.cdf(z)) + np.asarray(law.survival(z)) - 1.0).max()
    hold(gap < 1e-12, f"cdf + survival must be 1; the largest error is {gap:.3g}")


def log_functions_match(law: Law) -> None:
    """Check log_density, log_cdf and log_survival against the functions without logarithm, where these exceed 1e-7."""
    z = quantiles(law)
    for name in _FORMS[:3]:
        plain, logs = np.asarray(getattr(law, name)(z)), np.asarray(getattr(law, f"log_{name}")(z))
        kept = plain > 1e-7
        gap = np.abs(np.log(plain[kept]) - logs[kept]).max(initial=0.0)
        hold(gap < 1e-8, f"log_{name} must be the logarithm of {name}; they differ by {gap:.3g}")


def density_is_the_derivative_of_the_cdf(law: Law) -> None:
    """Check that the density integrates to the increase of the cdf between quantiles, with relative error 1e-6."""
    for left, right, z, weights in pieces(law):
        mass, grown = float(weights @ np.asarray(law.density(z))), float(law.cdf(right)) - float(law.cdf(left))
        near = abs(mass - grown) <= 1e-6 * abs(grown) + 1e-12
        hold(near, f"the density must integrate to {grown:.9g} from {left:g} to {right:g}; got {mass:.9g}")
    hold((np.asarray(law.density(quantiles(law))) >= 0.0).all(), "a density must be >= 0")


def quantiles_invert_the_survival_function(law: Law) -> None:
    """Check that survival(survival_quantile(s)) = s."""
    s = np.array([1e-6, 1e-3, 0.2, 0.5, 0.9, 0.999])
    found = np.asarray(law.survival(law.survival_quantile(s)))
    gap = np.abs(found / s - 1.0).max()
    hold(gap < 1e-6, f"survival(survival_quantile(s)) must be {s}; got {found}")


FORM_CHECKS: tuple[Check, ...] = (
    functions_accept_numbers_and_arrays,
    cdf_is_a_distribution_function,
    survival_is_one_minus_cdf,
    log_functions_match,
    density_is_the_derivative_of_the_cdf,
    quantiles_invert_the_survival_function,
)


def samples_follow_the_cdf(law: Law) -> None:
    """Check 20,000 samples with a Kolmogorov-Smirnov test, whose false-alarm probability is 1e-6.

    By Massart's inequality P(D > d) <= 2 exp(-2 n d^2).
    """
    n = 20_000
    cdf = np.asarray(law.cdf(np.sort(np.asarray(law.sample(np.random.default_rng(7), n)))))
    distance = max((np.arange(1, n + 1) / n - cdf).max(), (cdf - np.arange(n) / n).max())
    most = math.sqrt(math.log(2.0 / 1e-6) / (2.0 * n))
    hold(distance <= most, f"distance of the samples from the cdf must be at most {most:.4f}; got {distance:.4f}")


def samples_depend_on_the_generator_only(law: Law) -> None:
    """Check that equal generators give equal samples, and that `size` is the shape of a sample."""
    one, two = (np.asarray(law.sample(np.random.default_rng(3), (4, 5))) for _ in range(2))
    hold(one.shape == (4, 5), f"a sample of size (4, 5) must have that shape; got {one.shape}")
    hold((one == two).all(), "equal generators must give equal samples; the samples differ")
    hold(np.ndim(law.sample(np.random.default_rng(3))) == 0, "a sample without a size must be a number")


def mean_matches_the_density(law: Law) -> None:
    """Check the mean against the integral of z f(z), by quadrature and a power-law extrapolation of the tails."""
    stated = float(law.mean)
    if math.isinf(stated):
        skip("the mean is infinite")
    _near(stated, _expected(law, 1), "mean")


def expected_max_matches_the_density(law: Law) -> None:
    """Check E max_n against the integral of z n F^(n-1) f for n = 1, 2, 10; it is infinite if the mean is."""
    if math.isinf(float(law.mean)):
        hold(
            math.isinf(law.expected_max(10)),
            f"expected_max must be infinite if the mean is; got {law.expected_max(10)}",
        )
        return
    for n in (1, 2, 10):
        _near(law.expected_max(n), _expected(law, n), f"expected_max({n})")


def _expected(law: Law, n: int) -> tuple[float, float]:
    """Return (E max of n samples, upper bound on its numerical error)."""
    total, size = 0.0, 0.0
    for _, _, z, weights in pieces(law):
        terms = weights * z * n * np.asarray(law.cdf(z)) ** (n - 1) * np.asarray(law.density(z))
        total, size = total + float(terms.sum()), size + float(np.abs(terms).sum())
    doubt = 1e-6 * size
    for level, inner in ((1e-6, 1e-5), (1.0 - 1e-6, 1.0 - 1e-5)):
        outer, near = (float(law.survival_quantile(np.array(s))) for s in (level, inner))
        mass = n * (level if level < 0.5 else (1.0 - level) ** n / n)
        # In a tail z ~ s^-power, so that int_0^a z ds = a z(a)/(1 - power).
        power = math.log(abs(outer / near)) / math.log(10.0) if outer * near > 0.0 else 0.0
        tail = mass * outer / (1.0 - min(max(power, 0.0), 0.99))
        total, doubt = total + tail, doubt + 0.3 * abs(tail)
    return total, doubt + 1e-9


def _near(stated: float, found: tuple[float, float], name: str) -> None:
    value, doubt = found
    hold(
        abs(stated - value) <= doubt,
        f"{name} must be {value:.8g} +- {doubt:.2g} according to the density; got {stated!r}",
    )


def hazard_is_an_upper_bound(law: Law) -> None:
    """Check that `hazard` is at least f/S at 90 quantiles, and that log S falls no faster between them.

    A larger value increases regret bounds but does not invalidate a proof. Values between the quantiles are not
    verified.
    """
    try:
        stated = float(law.hazard)
    except ValueError as reason:
        skip(str(reason))
    hold(stated > 0.0, f"a hazard must be > 0; got {stated!r}")
    z = quantiles(law)
    steep = np.asarray(law.density(z)) / np.asarray(law.survival(z))
    fall = -np.diff(np.log(np.asarray(law.survival(z)))) / np.diff(z)
    found = max(float(steep.max()), float(fall.max()))
    hold(
        found <= stated * (1.0 + 1e-6),
        f"hazard must be at least f/S, whose largest value found is {found:.8g}; got {stated!r}",
    )


def log_concavity_is_true(law: Law) -> None:
    """Check that the slope of log f does not increase between quantiles if `log_concave` is true."""
    if not law.log_concave:
        skip("log_concave is false")
    z = quantiles(law)
    slope = np.diff(np.asarray(law.log_density(z))) / np.diff(z)
    # Logarithms have errors up to 1e-10, and slopes that error divided by the gap.
    lost = 1e-10 / np.diff(z) + 1e-6 * np.abs(slope)
    rise = np.diff(slope) - lost[1:] - lost[:-1]
    hold(
        (rise <= 0.0).all(),
        f"log f must be concave (log_concave is true); the slope increases at {z[1 + int(rise.argmax())]:g}",
    )


def play_matches_the_density(law: Law) -> None:
    """Check the probabilities of the perturbed leader, compiled or tabulated, against quadrature of density and cdf."""
    for losses in (np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.5, 2.0]), np.array([1.0, 0.0, 1.0, 6.0])):
        found, right = FTPL(law, 1.0).gradient(losses), GeneralRule(law, losses - losses.min()).play()
        gap = float(np.abs(found - right).max())
        hold(gap < 1e-7, f"the play at L = {losses.tolist()} must be {right}; got {found}")


NUMBER_CHECKS: tuple[Check, ...] = (
    samples_follow_the_cdf,
    samples_depend_on_the_generator_only,
    mean_matches_the_density,
    expected_max_matches_the_density,
    hazard_is_an_upper_bound,
    log_concavity_is_true,
    play_matches_the_density,
)


CHECKS = (*OF_VALUES, *FORM_CHECKS, *NUMBER_CHECKS)


def law_checks(law: Law) -> Iterator[tuple[str, Callable[[], None]]]:
    """Return all checks of a perturbation distribution, for `pytest.mark.parametrize`.

    Parameters
    ----------
    law : Law
        Perturbation distribution.

    Returns
    -------
    iterator of tuple (str, callable)
        Name of each check, and a function without arguments, as for `learner_checks`.

    Examples
    --------
    >>> import hannan as hn
    >>> dict(law_checks(hn.Gumbel()))["samples_follow_the_cdf"]()
    """
    return named(CHECKS, law)


def check_law(law: Any) -> Report:
    """Run all checks of a perturbation distribution.

    Parameters
    ----------
    law : Law
        Perturbation distribution.

    Returns
    -------
    Report
        Checks that passed, and checks that were skipped with their reasons.

    Raises
    ------
    Failed
        If the distribution violates a rule; the message lists all violations.
    ValueError
        If `law` is not a `Law`.

    Examples
    --------
    >>> import hannan as hn
    >>> print(check_law(hn.Frechet(1.0)))
    Frechet(alpha=1.0): 15 checks passed, 2 skipped
      mean_matches_the_density: skipped, the mean is infinite
      log_concavity_is_true: skipped, log_concave is false
    """
    if not isinstance(law, Law):
        raise ValueError(f"law must be a Law object such as hn.Exponential(); got {law!r}")
    return run(law_checks(law), law)
