"""The numbers that a law states, its samples and its play, held against its density and cdf."""

from __future__ import annotations

import math

import numpy as np

from hannan.checks.law_forms import pieces, quantiles
from hannan.checks.report import Check, hold, skip
from hannan.mathematics.laws.law import Law
from hannan.mathematics.potentials import FTPL
from hannan.mathematics.quadrature import GeneralRule


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


CHECKS: tuple[Check, ...] = (
    samples_follow_the_cdf,
    samples_come_of_the_stream,
    mean_is_that_of_the_density,
    expected_max_is_that_of_the_density,
    hazard_is_no_less_than_it_is,
    log_concave_is_no_more_than_it_is,
    play_is_that_of_the_density,
)
