"""Plays at the extremes: many arms, large gaps, scales from 1e-6 to 1e12, unbounded densities and means."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import naive
import numpy as np
import pytest
from plays import assert_play, each, potential, slope

import hannan as hn


@each
@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_any_number_of_arms(smoothing: Any, n: int) -> None:
    phi = potential(smoothing, 2.0)
    L = np.random.default_rng(n).uniform(0.0, 30.0, n)
    p = phi.gradient(L)
    assert p.shape == (n,)
    assert abs(p.sum() - 1.0) <= 1e-12
    assert (np.argsort(L) == np.argsort(-p, kind="stable")).all() or len(np.unique(p)) < n
    if n == 1:
        assert p[0] == 1.0
        assert (phi.hessian(L) == 0.0).all()


@each
def test_a_hundred_thousand_arms(smoothing: Any) -> None:
    """Three groups: the play of each arm is known from a problem of three arms with powers."""
    n = 100_000
    counts = np.array([7, n // 2, n - 7 - n // 2])
    L = np.array([0.0, 3.0, 9.0])
    p = potential(smoothing, 1.5).gradient(np.repeat(L, counts))
    assert abs(p.sum() - 1.0) <= 1e-12
    ends = np.cumsum(counts)
    for group, (start, stop) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        spread = p[start:stop]
        assert spread.max() <= spread.min() * (1.0 + 1e-13), group
    if isinstance(smoothing, hn.Law):
        right = naive.Dense(smoothing, L, 1.5, counts).play()
        assert (right * counts).sum() == pytest.approx(1.0, abs=1e-11)
        np.testing.assert_allclose(p[ends - 1], right, rtol=1e-10)
    if not isinstance(smoothing, hn.Gaussian | hn.Gamma):  # slow cases
        np.testing.assert_allclose(potential(smoothing, 1.5).gradient(np.zeros(n)), 1.0 / n, rtol=1e-12)


@each
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e6, 1e12])
def test_gaps_of_a_million_scales(smoothing: Any, scale: float) -> None:
    phi = potential(smoothing, scale)
    for L in ([0.0, 1e6], [1e6, 0.0, 0.0], [0.0, 1e-6, 1.0, 1e3, 1e6], [0.0, 300.0, 5e5]):
        L = scale * np.array(L)
        p, H = phi.gradient(L), phi.hessian(L)
        assert np.isfinite(p).all()
        assert (p >= 0.0).all()
        assert abs(p.sum() - 1.0) <= 1e-12
        assert not np.isnan(H).any()
        assert math.isfinite(phi.value(L)) or math.isinf(getattr(smoothing, "mean", 0.0))
        assert (np.diff(p[np.argsort(L, kind="stable")]) <= 1e-15).all()


@pytest.mark.parametrize("kind", [hn.Frechet, hn.Pareto])
@pytest.mark.parametrize("alpha", [1.05, 2.0, 3.0, 30.0])
def test_far_arms_of_heavy_tails(kind: Any, alpha: float) -> None:
    """p_2 -> E[S(M + d)] at a large gap: S(d) to first order, and the next order is alpha E M / d."""
    law = kind(alpha)
    d = 1e9
    leading = law.survival(d) * (1.0 - alpha * law.mean / d)
    assert hn.FTPL(law, 1.0).gradient([0.0, d])[1] == pytest.approx(leading, rel=1e-10)


@pytest.mark.parametrize("kind", [hn.Frechet, hn.Pareto])
@pytest.mark.parametrize("alpha", [1.0001, 1.01, 1.2])
def test_values_of_means_that_are_hardly_finite(kind: Any, alpha: float) -> None:
    """Phi(0, d) - Phi(0, 0) = int_0^d p_2(s) ds, and Phi(0, 0) = -E max, which is 1e4 at alpha = 1.0001."""
    phi, d = hn.FTPL(kind(alpha), 1.0), 5.0
    assert phi.value([0.0, 0.0]) == pytest.approx(-kind(alpha).expected_max(2), rel=1e-12)
    x, weight = np.polynomial.legendre.leggauss(40)
    L = np.stack([np.zeros(40), 0.5 * d * (x + 1.0)], axis=1)
    gained = 0.5 * d * float(weight @ phi.gradient(L)[:, 1])
    assert phi.value([0.0, d]) - phi.value([0.0, 0.0]) == pytest.approx(gained, rel=1e-9, abs=1e-11)


def test_a_gamma_law_of_many_stages_is_nearly_gaussian() -> None:
    """Shapes to 1e4: two arms one standard deviation apart, against the normal law with its first correction."""
    for shape in (1e3, 1e4):
        d = math.sqrt(shape)
        dense = naive.Dense(hn.Gaussian(), [0.0, 1.0], 1.0).play()[1]
        assert hn.FTPL(hn.Gamma(shape), 1.0).gradient([0.0, d])[1] == pytest.approx(dense, abs=0.1 / shape)
        assert hn.FTPL(hn.Gamma(shape), 1.0).gradient([0.0, 0.0])[0] == pytest.approx(0.5, rel=1e-12)


def test_power_law_at_zero_has_mass_below_the_smallest_float() -> None:
    """F(z) = z^k: at k = 0.02 a millionth of the mass is below 1e-308; for two arms tied, k near 1/2 is also used."""
    for k in (0.5000001, 0.501, 0.52, 0.7, 0.95):
        with mp.workdps(30):
            half = 2 - 1 / mp.mpf(k)
            weibull = float(mp.mpf(k) * mp.gamma(half) * mp.mpf(2) ** -half)
            twice = 2 * mp.mpf(k) - 1
            gamma = float(mp.gamma(twice) * mp.mpf(2) ** -twice / mp.gamma(mp.mpf(k)) ** 2)
        assert -hn.FTPL(hn.Weibull(k), 1.0).hessian([0.0, 0.0])[0, 0] == pytest.approx(weibull, rel=1e-8)
        assert -hn.FTPL(hn.Gamma(k), 1.0).hessian([0.0, 0.0])[0, 0] == pytest.approx(gamma, rel=1e-8)
    for k in (0.01, 0.02, 0.05):
        # P(Z_2 > Z_1 + 1) = int e^-v exp(-(1 + v^(1/k))^k) dv
        with mp.workdps(25):
            points = [0, *(mp.mpf(2) ** (j * k) for j in range(-40, 41, 8)), 3, 10, 60]
            right = mp.quad(lambda v, k=k: mp.exp(-v - (1 + v ** (1 / mp.mpf(k))) ** k), sorted(points))
        assert hn.FTPL(hn.Weibull(k), 1.0).gradient([0.0, 1.0])[1] == pytest.approx(float(right), rel=1e-10)


def test_the_hessian_is_infinite_where_unbounded_densities_meet() -> None:
    for law in (hn.Weibull(0.4), hn.Gamma(0.2)):
        phi = hn.FTPL(law, 1.0)
        H = phi.hessian([0.0, 0.0, 1.0])
        assert H[0, 1] == H[1, 0] == math.inf
        assert H[0, 0] == H[1, 1] == -math.inf
        # The third row is finite, and it is the derivative of p_3.
        step = 1e-3
        change = slope(phi.gradient, np.array([0.0, 0.0, 1.0]), 2, step)[2]
        assert H[2, 2] == pytest.approx(change, rel=1e-7)
        assert H[2, 2] == -(H[2, 0] + H[2, 1])
        assert phi.consistency([0.0, 0.0, 1.0]) == math.inf
        assert phi.is_pod([0.0, 0.0, 1.0])
        # Also the near tie, whose row is finite and steep.
        dense = naive.Dense(law, [0.0, 1e-6, 1.0], 1.0)
        np.testing.assert_allclose(-np.diagonal(phi.hessian([0.0, 1e-6, 1.0])), dense.curvature(), rtol=1e-8)


def test_law_with_infinite_mean_plays_with_value_minus_infinity() -> None:
    for law in (hn.Frechet(0.7), hn.Pareto(1.0)):
        phi = hn.FTPL(law, 1.0)
        assert phi.value([0.0, 3.0]) == -math.inf
        assert_play(phi.gradient([0.0, 3.0]), naive.Dense(law, [0.0, 3.0], 1.0).play())
