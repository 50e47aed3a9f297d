"""Density, cdf and survival: plain and in logarithms, they are those of one distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hannan.checks.report import Check, hold
from hannan.mathematics.laws.law import Law
from hannan.refusals import Array

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


CHECKS: tuple[Check, ...] = (
    forms_take_numbers_and_arrays,
    cdf_is_one_of_a_distribution,
    survival_is_the_rest_of_the_cdf,
    logarithms_are_those_of_the_plain_forms,
    density_is_the_slope_of_the_cdf,
    quantiles_invert_the_survival,
)
