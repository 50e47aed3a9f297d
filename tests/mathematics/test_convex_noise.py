"""Noise: the exact Gaussian formula, its calibrations, and the compiled draws."""

from __future__ import annotations

import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import stats

from hannan import _engine
from hannan.mathematics import streams
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise

CASES = json.loads(Path(__file__).parents[1].joinpath("oracles", "golden.json").read_text())["cases"]
#: (beta, epsilon, delta, exact delta of the printed sigma, achieved epsilon, sigma/beta printed, needed, Kifer's)
PRINTED = [
    (10, 1, 1e-3, 5.05e-4, 0.919, 2.764, 2.575, 8.05),
    (10, 1, 1e-6, 6.87e-6, 1.117, 3.814, 4.225, 10.96),
    (10, 1, 1e-10, 3.50e-8, 1.213, 4.874, 5.868, 13.92),
    (1, 0.1, 1e-10, 1.84e-9, 0.111, 49.11, 54.21, 137.9),
    (0.1, 1, 1e-6, 7.6e-95, 0.186, 20.36, 4.225, 10.96),
]


@pytest.mark.parametrize("case", [c for c in CASES if c["family"] == "gaussian_delta"], ids=lambda c: c["id"])
def test_golden_delta(case):
    delta = GaussianNoise().delta_of(float(case["eps"]), float(case["beta"]), float(case["sigma"]))
    assert delta == pytest.approx(float(case["delta"]), rel=1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c["family"] == "gaussian_sigma"], ids=lambda c: c["id"])
def test_golden_sigma_is_rounded_up(case):
    sigma = GaussianNoise(float(case["delta"])).sigma(float(case["eps"]), float(case["beta"]))
    assert sigma == pytest.approx(float(case["sigma"]), rel=1e-12)
    assert sigma >= float(case["sigma"]) * (1 - 1e-15)


@pytest.mark.parametrize(("beta", "eps", "delta", "exact", "achieved", "printed", "needed", "kifer"), PRINTED)
def test_the_printed_covariance_is_wrong(beta, eps, delta, exact, achieved, printed, needed, kifer):
    """The table of the corrected form: the epsilon that sqrt(beta^2 log(2/delta) + 4 eps)/eps achieves."""
    noise, sigma = GaussianNoise(delta), GaussianNoise(delta, "paper").sigma(eps, beta)
    assert noise.delta_of(eps, beta, sigma) == pytest.approx(exact, rel=6e-3)
    assert noise.epsilon_of(beta, sigma) == pytest.approx(achieved, abs=6e-4)
    assert sigma / beta == pytest.approx(printed, rel=3e-4)
    assert noise.sigma(eps, beta) / beta == pytest.approx(needed, rel=3e-4)
    assert GaussianNoise(delta, "kifer").sigma(eps, beta) / beta == pytest.approx(kifer, rel=6e-4)
    for calibration in ("analytic", "kifer", "paper"):
        known = GaussianNoise(delta, calibration)
        assert known.claimed_epsilon(beta, known.sigma(eps, beta)) == pytest.approx(eps, rel=1e-9)


@pytest.mark.parametrize("eps", [0.0, 1e-3, 0.5, 5.0, 200.0])
@pytest.mark.parametrize("ratio", [0.05, 0.7, 3.0, 40.0, 1e3])
def test_delta_against_fifty_digits(eps, ratio):
    with mpmath.workdps(50):
        mu = 1 / mpmath.mpf(ratio)
        exact = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
        exact = float(exact) if exact > mpmath.mpf("1e-300") else 0.0
    assert GaussianNoise().delta_of(eps, 1.0, ratio) == pytest.approx(exact, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("shape", ["linear", "one-signed", "rank-one", "convex"])
def test_wider_shapes_need_a_larger_sigma(shape):
    noise = GaussianNoise(1e-5)
    sigma = noise.sigma(0.8, 2.0, shape, d=3)
    assert 0.99e-5 < noise.delta_of(0.8, 2.0, sigma, shape, d=3) <= 1e-5
    assert noise.delta_of(0.8, 2.0, sigma, "linear") <= noise.delta_of(0.8, 2.0, sigma, shape, d=3)


def test_delta_of_each_shape():
    """Losses of one sign as linear losses, of two signs twice that, any convex loss by an upper quadrature."""
    from scipy.integrate import quad

    noise = GaussianNoise()
    for epsilon, ratio in ((0.1, 0.7), (0.8, 2.0), (2.0, 1.0), (0.5, 6.0)):
        mu = 1.0 / ratio
        linear = noise.delta_of(epsilon, 1.0, ratio)
        assert noise.delta_of(epsilon, 1.0, ratio, "one-signed") == linear
        assert noise.delta_of(epsilon, 1.0, ratio, "rank-one") == min(1.0, 2.0 * linear)
        for d in (1, 2, 7):
            law, z = stats.chi(d), epsilon / mu - mu / 2
            start = max(z, 0.0)
            exact = quad(lambda x: -math.expm1(-mu * (x - z)) * law.pdf(x), start, start + 14.0, limit=400)[0]  # noqa: B023
            assert exact <= noise.delta_of(epsilon, 1.0, ratio, "convex", d) <= 1.002 * exact
    assert noise.delta_of(50.0, 1.0, 40.0, "convex", 3) == 0.0


def test_invalid_noise_is_rejected():
    for bad, message in [
        (lambda: GaussianNoise(0.0), r"delta must be in \(0, 1\)"),
        (lambda: GaussianNoise(0.1, "exact"), "calibration must be one of 'analytic', 'kifer', 'paper'; got 'exact'"),
        (lambda: GaussianNoise().sigma(1.0, 1.0), "delta is required for sigma"),
        (lambda: GaussianNoise(0.1).sigma(0.0, 1.0), "epsilon must be a finite number > 0"),
        (lambda: GaussianNoise(0.1).delta_of(-1.0, 1.0, 1.0), "epsilon must be in"),
        (lambda: GaussianNoise(0.1).delta_of(1.0, 1.0, 1.0, "cubic"), "shape must be one of"),
        (lambda: GammaNoise("exact"), "calibration must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            bad()


def test_noise_of_any_size_has_an_epsilon():
    # Very little noise: epsilon is about (beta/sigma)^2/2, and no exponential may overflow in the computation.
    for ratio in (1e-3, 1e-6, 1e-12, 1e-100):
        exact = 0.5 / ratio**2
        assert exact < GaussianNoise(1e-6).epsilon_of(1.0, ratio) < exact * (1 + 11 * ratio + 1e-12)
    assert GaussianNoise(1e-6).epsilon_of(1.0, 1e12) == 0.0


def test_mean_norms():
    rng = np.random.default_rng(0)
    for noise in (GammaNoise(), GaussianNoise()):
        for d in (1, 2, 7):
            norms = np.linalg.norm(noise.sample(rng, d, 20_000), axis=1)
            # Six standard errors: one false alarm in 5e8.
            assert abs(norms.mean() - noise.mean_norm(d)) < 6 * norms.std() / math.sqrt(len(norms))
    assert GaussianNoise().mean_norm(1) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-14)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 40])
def test_compiled_draws_have_the_distribution_of_the_noise(d):
    """Kolmogorov-Smirnov for the norm and one coordinate, each rejected at p < 1e-7: 20 tests, 2e-6 in total."""
    stream = streams.words(17 + d, 0).copy()
    for noise, norm in ((GammaNoise(), stats.gamma(d)), (GaussianNoise(), stats.chi(d))):
        out = _engine.noise_draws(getattr(_engine.NoiseKind, noise.kernel), stream, 50_000, d)
        assert stats.kstest(np.linalg.norm(out, axis=1), norm.cdf).pvalue > 1e-7
        other = noise.sample(np.random.default_rng(d), d, 50_000)
        assert stats.ks_2samp(out[:, -1], other[:, -1]).pvalue > 1e-7


def test_normals_far_into_the_tail():
    """Counts beyond 3.8 and 4.5 of 3e6 draws are Poisson: six standard deviations."""
    out = _engine.normals(streams.words(5, 0).copy(), 3_000_000)
    for edge in (1.0, 3.6541528853610088, 3.8, 4.5):
        expected = 2 * stats.norm.sf(edge) * out.size
        assert abs((np.abs(out) > edge).sum() - expected) < 6 * math.sqrt(expected)
    assert abs(out.mean()) < 6 / math.sqrt(out.size)
