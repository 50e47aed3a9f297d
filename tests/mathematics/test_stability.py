"""Claims of stability: the table of exact levels, rates, and the statements that each claim may and may not make."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import hannan as hn
from hannan.mathematics.laws.light import gaussian_delta, gaussian_level
from hannan.mathematics.regularizers import kappa

SCALES = [1e-6, 0.1, 1.0, 7.5, 1e3, 1e12]
each_scale = pytest.mark.parametrize("scale", SCALES)


@each_scale
@pytest.mark.parametrize(
    "law",
    [hn.Exponential(), hn.Gumbel(), hn.Laplace(), hn.Gamma(1.0), hn.Gamma(7.0), hn.Weibull(1.0), hn.Weibull(1.0, True)],
    ids=repr,
)
def test_laws_of_level_one_over_scale(law: hn.Law, scale: float) -> None:
    for n in (2, 3, 1000):
        claim = hn.FTPL(law, scale).stability(n)
        assert claim.level == claim.rate == pytest.approx(1.0 / scale, rel=1e-15)
        assert (claim.gamma, claim.delta, claim.exact) == (1.0, 0.0, True)
        assert claim.source


@each_scale
def test_hedge_and_the_regularizers_in_their_own_divergence(scale: float) -> None:
    claim = hn.FTRL(hn.Entropy(), scale).stability(4)
    assert (claim.level, claim.rate, claim.gamma, claim.exact) == (1.0 / scale, 1.0 / scale, 1.0, True)
    for alpha in (0.1, 0.5, 0.9):
        claim = hn.FTRL(hn.Tsallis(alpha), scale).stability(4)
        assert [claim.level, claim.rate] == pytest.approx([1.0 / (alpha * scale)] * 2, rel=1e-15)
        assert (claim.gamma, claim.exact) == (2.0 - alpha, True)
    claim = hn.FTRL(hn.LogBarrier(), scale).stability(4)
    assert (claim.level, claim.rate, claim.gamma, claim.exact) == (1.0 / scale, 1.0 / scale, 2.0, True)


@each_scale
def test_the_regularizers_in_the_max_divergence(scale: float) -> None:
    for alpha, right in ((0.25, 0.340424), (0.5, 0.427916), (0.75, 0.568456)):
        claim = hn.FTRL(hn.Tsallis(alpha), scale).stability(4, gamma=1.0)
        assert claim.rate * alpha * scale == pytest.approx(right, abs=6e-7)
        assert claim.level == claim.rate
        assert (claim.gamma, claim.exact) == (1.0, False)
    claim = hn.FTRL(hn.LogBarrier(), scale).stability(4, gamma=1.0)
    assert claim.rate * scale == pytest.approx(0.276953, abs=6e-7)
    assert not claim.exact


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.25, 0.5, 0.75, 0.99])
def test_kappa_is_the_maximum_and_errs_upwards(alpha: float) -> None:
    with mp.workdps(40):
        a = mp.mpf(alpha)

        def objective(p: Any) -> Any:
            return p ** (1 - a) * (1 - p) ** (2 - a) / (p ** (2 - a) + (1 - p) ** (2 - a))

        start = max((mp.mpf(k) / 1000 for k in range(1, 1000)), key=objective)
        low, high = start - mp.mpf(1) / 1000, start + mp.mpf(1) / 1000
        for _ in range(150):
            one, two = low + (high - low) / 3, high - (high - low) / 3
            low, high = (one, high) if objective(one) < objective(two) else (low, two)
        best = objective((low + high) / 2)
        assert kappa(alpha) == pytest.approx(float(best), rel=1e-14)
        assert mp.mpf(kappa(alpha)) >= best


@each_scale
def test_pareto_weibull_and_gamma_read_off_the_survival_function(scale: float) -> None:
    """sup_y log S(y)/S(y + c) is at the end of the support where the hazard falls."""
    with mp.workdps(60):
        c = 1 / mp.mpf(scale)
        right = {
            hn.Pareto(2.0): 2 * mp.log1p(c),
            hn.Pareto(0.5): mp.log1p(c) / 2,
            hn.Weibull(0.3): c ** mp.mpf(0.3),
            hn.Weibull(0.3, True): mp.expm1(mp.mpf(0.3) * mp.log1p(c)),
            hn.Gamma(0.4): -mp.log1p(-mp.gammainc(mp.mpf(0.4), 0, c, regularized=True))
            if c < 50
            else -mp.log(mp.gammainc(mp.mpf(0.4), c, mp.inf, regularized=True)),
        }
        right = {law: float(level) for law, level in right.items()}
    for law, level in right.items():
        claim = hn.FTPL(law, scale).stability(3)
        assert claim.level == pytest.approx(level, rel=1e-12), law
        assert claim.rate == pytest.approx(law.hazard / scale, rel=1e-15)
        assert claim.level <= claim.rate * (1.0 + 1e-12)
        assert not claim.exact
    assert hn.FTPL(hn.Weibull(0.3), scale).stability(3).level == pytest.approx(scale**-0.3, rel=1e-12)


@each_scale
@pytest.mark.parametrize("alpha", [0.3, 1.1, 2.0, 20.0])
def test_frechet_level_is_the_supremum(alpha: float, scale: float) -> None:
    claim = hn.FTPL(hn.Frechet(alpha), scale).stability(3)
    with mp.workdps(40):
        a, c = mp.mpf(alpha), 1 / mp.mpf(scale)

        def gain(x: Any) -> Any:
            y = mp.exp(x)
            return mp.log(mp.expm1(-(y**-a)) / mp.expm1(-((y + c) ** -a)))

        grid = [mp.mpf(k) / 8 / a for k in range(-60, 61)]
        best = max(grid, key=gain)
        low, high = best - 1 / (8 * a), best + 1 / (8 * a)
        for _ in range(60):
            one, two = low + (high - low) / 3, high - (high - low) / 3
            low, high = (one, high) if gain(one) < gain(two) else (low, two)
        level = float(gain((low + high) / 2))
    assert claim.level == pytest.approx(level, rel=1e-12)
    assert claim.level <= claim.rate * (1.0 + 1e-12)


def test_frechet_levels_of_the_table() -> None:
    assert hn.FTPL(hn.Frechet(2.0), 1.0).stability(2).level == pytest.approx(1.0929, abs=5e-5)
    assert hn.FTPL(hn.Frechet(2.0), 10.0).stability(2).level * 10 == pytest.approx(1.1693, abs=5e-5)


def test_a_level_can_be_below_the_rate_and_the_bounds_need_the_rate() -> None:
    """Pareto(4), scale 1, a quarter of a step: the log-ratio is .893, above a quarter of the level .693, below 1."""
    phi = hn.FTPL(hn.Pareto(4.0), 1.0)
    claim = phi.stability(2)
    assert claim.level == pytest.approx(4.0 * math.log(2.0))
    assert 0.25 * claim.level == pytest.approx(0.693, abs=5e-4)
    assert claim.rate == 4.0
    # One rival far ahead or far behind: p_i(L)/p_i(L + e_i/4).
    seen = max(
        math.log(phi.gradient([x, 0.0])[0] / phi.gradient([x + 0.25, 0.0])[0]) for x in np.linspace(-4.0, 4.0, 161)
    )
    assert seen <= 4.0 * math.log1p(0.25) * (1 + 1e-12)  # the finite-step level of a quarter: .893
    assert 4.0 * math.log1p(0.25) == pytest.approx(0.893, abs=5e-4)
    assert 0.25 * claim.level < seen


# --- no level -------------------------------------------------------------------------------------------


def test_gaussian_has_no_level_without_delta() -> None:
    claim = hn.FTPL(hn.Gaussian(), 3.0).stability(5)
    assert claim.level == claim.rate == math.inf
    assert claim.exact
    assert "no level for delta = 0" in claim.source
    assert "delta" in claim.source


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2, 0.999])
def test_the_gaussian_has_an_approximate_level(delta: float) -> None:
    claim = hn.FTPL(hn.Gaussian(), 3.0).stability(5, delta=delta)
    assert (claim.gamma, claim.delta, claim.exact, claim.rate) == (1.0, delta, False, math.inf)
    shift = math.sqrt(5) / 6.0
    if claim.level > 0.0:
        with mp.workdps(30):
            mu, eps = mp.mpf(shift), mp.mpf(claim.level)
            right = mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)
        assert float(right) == pytest.approx(delta, rel=1e-9)
    else:
        assert gaussian_delta(shift, 0.0) <= delta
    assert claim.level == gaussian_level(shift, delta)
    # More noise, fewer arms, more delta: the level never increases.
    assert hn.FTPL(hn.Gaussian(), 6.0).stability(5, delta=delta).level <= claim.level
    assert hn.FTPL(hn.Gaussian(), 3.0).stability(4, delta=delta).level <= claim.level


def test_the_gaussian_formula_against_mpmath() -> None:
    for shift in (1e-3, 0.1, 1.0, 8.0):
        for epsilon in (0.0, 1e-3, 1.0, 20.0):
            with mp.workdps(400):
                mu, eps = mp.mpf(shift), mp.mpf(epsilon)
                right = mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)
                right = float(right)
            assert gaussian_delta(shift, epsilon) == pytest.approx(right, rel=1e-9, abs=1e-300)
    assert gaussian_delta(0.0, 1.0) == 0.0


@pytest.mark.parametrize("law", [hn.Weibull(2.0), hn.Weibull(3.0, True)], ids=repr)
def test_an_unbounded_hazard_that_grows_has_no_level(law: hn.Law) -> None:
    claim = hn.FTPL(law, 1.0).stability(2)
    assert claim.level == claim.rate == math.inf
    assert claim.exact
    assert "hazard" in claim.source


def test_an_unbounded_hazard_that_falls_has_a_level_and_no_rate() -> None:
    for law in (hn.Weibull(0.5), hn.Gamma(0.5)):
        claim = hn.FTPL(law, 2.0).stability(2)
        assert claim.rate == math.inf
        assert 0.0 < claim.level < math.inf


# --- other divergences ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "smoothing",
    [hn.Exponential(), hn.Pareto(2.0), hn.Frechet(3.0), hn.Entropy(), hn.Tsallis(0.5), hn.LogBarrier()],
    ids=repr,
)
def test_a_claim_never_grows_when_gamma_or_delta_make_the_divergence_smaller(smoothing: Any) -> None:
    phi = hn.FTPL(smoothing, 1.3) if isinstance(smoothing, hn.Law) else hn.FTRL(smoothing, 1.3)
    own = phi.stability(3).gamma
    levels = [phi.stability(3, gamma=g).level for g in (0.2, 0.9, 1.0, (1.0 + own) / 2, own, own + 0.3)]
    assert levels == sorted(levels)
    assert all(not phi.stability(3, gamma=g).exact for g in (0.5, own - 1e-3))
    assert phi.stability(3, delta=0.1).level <= phi.stability(3, gamma=1.0).level
    assert phi.stability(3, delta=0.1).delta == 0.1
    assert phi.stability(3, delta=0.0) == phi.stability(3)


def test_no_claim_of_exactness_that_is_not_proved() -> None:
    """Above their own gamma, light tails are unbounded; a power tail d^-a is bounded up to gamma = 1 + 1/a."""
    claim = hn.FTPL(hn.Exponential(), 1.0).stability(2, gamma=1.5)
    assert claim.level == math.inf
    assert claim.exact
    claim = hn.FTPL(hn.Pareto(2.0), 1.0).stability(2, gamma=1.25)
    assert claim.level == math.inf
    assert not claim.exact
    phi = hn.FTPL(hn.Pareto(2.0), 1.0)
    far = [hn.tsallis_divergence(phi.gradient([d, 0.0]), phi.gradient([d + 1.0, 0.0]), 1.25) for d in (1e1, 1e3, 1e5)]
    assert far[2] < far[1] < far[0] < 4.0


def test_one_arm_is_perfectly_stable() -> None:
    for phi in (hn.FTPL(hn.Gaussian(), 1.0), hn.FTRL(hn.LogBarrier(), 1.0)):
        assert phi.stability(1).level == phi.stability(1).rate == 0.0
        assert phi.stability(1).exact


# --- the constants of the regret bounds -------------------------------------------------------------------


def test_rate_and_range_constants() -> None:
    assert hn.Exponential().rate == 1.0
    assert hn.Pareto(3.0).rate == 3.0
    assert hn.Tsallis(0.5).rate == pytest.approx(0.427916 * 2, abs=2e-6)
    assert hn.LogBarrier().rate == pytest.approx(0.276953, abs=1e-6)
    assert hn.Gaussian().rate == hn.Weibull(0.5).rate == math.inf
    assert hn.Exponential().range_constant(10) == pytest.approx(2.9289682539682538 - 1.0, rel=1e-14)
    assert hn.Gumbel().range_constant(10) == pytest.approx(math.log(10.0), rel=1e-14)
    assert hn.Entropy().range_constant(10) == math.log(10.0)
    assert hn.Tsallis(0.5).range_constant(9) == pytest.approx(4.0, rel=1e-14)
    assert hn.Tsallis(1.0 - 1e-12).range_constant(9) == pytest.approx(math.log(9.0), rel=1e-10)
    n, T = 4, 100
    tau = 1.0 / (n * T)
    right = (n - 1) * math.log(1 / tau) - math.log(1 - (n - 1) * tau) - n * math.log(n)
    assert hn.LogBarrier().range_constant(n, rounds=T) == pytest.approx(right, rel=1e-13)
    assert hn.LogBarrier().range_constant(4, rounds=1) == pytest.approx(0.0, abs=1e-12)
    for smoothing in (hn.Exponential(), hn.Gaussian(), hn.Entropy(), hn.Tsallis(0.3), hn.LogBarrier()):
        assert smoothing.range_constant(1, rounds=5) == 0.0


@pytest.mark.parametrize(
    ("law", "n", "right"),
    [
        (hn.Frechet(7.0), 2, 0.582),
        (hn.Frechet(15.0), 10, 2.122),
        (hn.Frechet(50.0), 100, 4.486),
        (hn.Frechet(math.log(3.0)), 3, 12.5),  # alpha = log n as in the paper: a mean that is hardly finite
        (hn.Pareto(math.log(3.0)), 3, 20.0),
    ],
    ids=repr,
)
def test_the_heavy_rows_of_the_paper_s_table(law: hn.Law, n: int, right: float) -> None:
    assert law.rate * law.range_constant(n) == pytest.approx(right, rel=6e-3)


@pytest.mark.parametrize("law", [hn.Frechet(1.0), hn.Frechet(0.5), hn.Pareto(1.0), hn.Pareto(0.2)], ids=repr)
def test_infinite_means_have_no_regret_constant(law: hn.Law) -> None:
    with pytest.raises(ValueError, match=r"finite mean; got .*whose mean is infinite"):
        law.range_constant(5)
    assert hn.FTPL(law, 1.0).stability(5).level < math.inf  # a law, and stable
