"""Laws: every formula against mpmath in both tails, the constants against quadrature, the samples against the cdf."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import mpmath as mp
import naive
import numpy as np
import pytest

import hannan as hn

LAWS = [
    hn.Exponential(),
    hn.Gamma(0.3),
    hn.Gamma(2.5),
    hn.Gamma(50.0),
    hn.Gumbel(),
    hn.Weibull(0.2),
    hn.Weibull(3.0),
    hn.Weibull(0.6, conditioned=True),
    hn.Weibull(2.0, conditioned=True),
    hn.Frechet(1.1),
    hn.Frechet(20.0),
    hn.Pareto(1.05),
    hn.Pareto(30.0),
    hn.Laplace(),
    hn.Gaussian(),
]
each = pytest.mark.parametrize("law", LAWS, ids=repr)

#: Deep in both tails, where a plain cdf or survival function is rounded to 0 or 1.
POINTS: dict[type, list[float]] = {
    hn.Exponential: [1e-300, 1e-12, 0.5, 3.0, 50.0, 1e4],
    hn.Gamma: [1e-300, 1e-12, 0.5, 3.0, 60.0, 1e3, 1e5],
    hn.Gumbel: [-6.0, -2.0, 0.3, 5.0, 39.9, 40.1, 800.0],
    hn.Weibull: [1e-300, 1e-12, 0.5, 1.7, 6.0, 100.0],
    hn.Frechet: [0.05, 0.6, 1.3, 40.0, 1e10, 1e200],
    hn.Pareto: [1.0 + 2.0**-40, 1.5, 40.0, 1e10, 1e200],
    hn.Laplace: [-800.0, -40.0, -0.3, 0.0, 0.3, 40.0, 800.0],
    hn.Gaussian: [-1e5, -40.0, -5.0, -0.1, 0.3, 6.0, 20.0, 1e5],
}


@each
def test_log_forms_against_mpmath(law: hn.Law) -> None:
    oracle = naive.naive(law)
    for z in POINTS[type(law)]:
        with mp.workdps(32):
            F, S = oracle.cdf(mp.mpf(z)), oracle.sf(mp.mpf(z))
            log_F = mp.log1p(-S) if S < 0.5 else (mp.log(F) if F > 0 else -mp.inf)
            log_S = mp.log1p(-F) if F < 0.5 else mp.log(S)
            expected = [float(mp.log(oracle.pdf(mp.mpf(z)))), float(log_F), float(log_S)]
        found = [float(f(z)) for f in (law.log_density, law.log_cdf, law.log_survival)]
        for name, value, right in zip(("density", "cdf", "survival"), found, expected, strict=True):
            assert value == pytest.approx(right, rel=1e-11, abs=1e-300), (name, z)


@each
def test_plain_forms_are_the_exponentials_of_the_log_forms(law: hn.Law) -> None:
    z = np.concatenate([np.linspace(-8.0, 8.0, 33), [1e-6, 30.0, 500.0]])
    for plain, log in ((law.density, law.log_density), (law.cdf, law.log_cdf), (law.survival, law.log_survival)):
        np.testing.assert_allclose(plain(z), np.exp(log(z)), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(law.cdf(z) + law.survival(z), 1.0, rtol=1e-14)
    assert (np.diff(law.cdf(z[:33])) >= 0.0).all()


@each
def test_density_is_the_derivative_of_the_cdf(law: hn.Law) -> None:
    low = law.support[0]
    z = np.linspace(0.1, 3.0, 15) + (low if math.isfinite(low) else -1.55)
    step = 1e-6
    change = (np.asarray(law.cdf(z + step)) - np.asarray(law.cdf(z - step))) / (2 * step)
    np.testing.assert_allclose(law.density(z), change, rtol=2e-5, atol=1e-9)


@each
def test_outside_the_support_and_at_the_ends_of_the_line(law: hn.Law) -> None:
    low = law.support[0]
    if math.isfinite(low):
        z = np.array([low - 1e-9 - 1e-9 * abs(low), low - 5.0, -math.inf])
        assert (law.density(z) == 0.0).all()
        assert (law.cdf(z) == 0.0).all()
        assert (law.survival(z) == 1.0).all()
        assert (law.log_cdf(z) == -math.inf).all()
        assert (law.log_survival(z) == 0.0).all()
    assert (law.density(math.inf), law.cdf(math.inf), law.survival(math.inf)) == (0.0, 1.0, 0.0)
    assert law.log_density(math.inf) == law.log_survival(math.inf) == -math.inf
    assert (law.density(-math.inf), law.cdf(-math.inf), law.survival(-math.inf)) == (0.0, 0.0, 1.0)
    for form in (law.density, law.cdf, law.survival, law.log_density, law.log_cdf, law.log_survival):
        assert math.isnan(form(math.nan))
        assert np.ndim(form(0.5)) == 0
        assert form(np.full((2, 3), 0.5)).shape == (2, 3)
        with np.errstate(all="raise", under="ignore"):
            form(np.array([1e-320, 1e300, -1e300]))


@each
def test_expected_max_against_mpmath(law: hn.Law) -> None:
    assert law.mean == pytest.approx(law.expected_max(1), rel=1e-9, abs=1e-14)
    # Weibull and Gaussian are integrated at every n; the others have a closed form, or (Gamma) a slow reference.
    for n in (1, 50, 10**9) if isinstance(law, hn.Weibull | hn.Gaussian) else (10**9,):
        oracle = float(naive.expected_max(law, n))
        assert law.expected_max(n) == pytest.approx(oracle, rel=1e-9, abs=1e-14), n


def test_expected_max_closed_forms() -> None:
    for n in (1, 2, 99, 100, 101, 1000):
        harmonic = math.fsum(1.0 / k for k in range(1, n + 1))
        assert hn.Exponential().expected_max(n) == pytest.approx(harmonic, rel=1e-15)
        assert hn.Gamma(1.0).expected_max(n) == pytest.approx(harmonic, rel=1e-12)
        assert hn.Weibull(1.0, conditioned=True).expected_max(n) == pytest.approx(harmonic, rel=1e-12)
        laplace = math.fsum((1.0 - 0.5**k) / k for k in range(1, n + 1)) - 0.5**n / n
        assert hn.Laplace().expected_max(n) == pytest.approx(laplace, rel=1e-14, abs=1e-15)
        assert hn.Gumbel().expected_max(n) - hn.Gumbel().mean == pytest.approx(math.log(n), rel=1e-15, abs=1e-15)
    for n in (63, 64, 10**9):
        with mp.workdps(40):
            a = 1 / mp.mpf(2.5)
            oracle = float(mp.gammaprod([1 - a, n + 1], [n + 1 - a]))
        assert hn.Pareto(2.5).expected_max(n) == pytest.approx(oracle, rel=1e-13)
    assert hn.Weibull(0.001).mean == math.inf  # Gamma(1001): finite, but too large for a float


@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("kind", [hn.Frechet, hn.Pareto])
def test_infinite_mean(kind: Any, alpha: float) -> None:
    law = kind(alpha)
    assert law.mean == law.expected_max(1) == law.expected_max(5) == math.inf
    assert math.isfinite(law.hazard)
    assert law.cdf(1e300) == pytest.approx(1.0)


@each
def test_hazard_is_the_supremum(law: hn.Law) -> None:
    low = law.support[0]
    z = np.concatenate([np.geomspace(1e-12, 1e4, 40_001), np.linspace(0.0, 50.0, 40_001)[1:]])
    z = (low if math.isfinite(low) else 0.0) + z
    if math.isinf(low):
        z = np.concatenate([-z, z])
    hazard = np.exp(np.asarray(law.log_density(z)) - np.asarray(law.log_survival(z)))
    if math.isinf(law.hazard):
        assert hazard.max() > 1e3 or (isinstance(law, hn.Weibull) and hazard.max() > 100.0)
        return
    assert hazard.max() <= law.hazard * (1.0 + 1e-12)
    assert hazard.max() >= law.hazard * (1.0 - 1e-6) or isinstance(law, hn.Gamma)  # Gamma: 1 at infinity, like 1 - a/z
    assert hazard.max() >= 0.99 * law.hazard


def test_hazard_of_frechet() -> None:
    """The rows of the paper, and the ends of the range of alpha."""
    for alpha, right in ((2.0, 1.17021), (3.0, 1.84670), (math.log(10.0), 1.364707), (math.log(100.0), 3.069714)):
        assert hn.Frechet(alpha).hazard == pytest.approx(right, abs=6e-6 if alpha == int(alpha) else 6e-7)
    with mp.workdps(30):
        for alpha in (0.05, 0.5, 1.0, 7.5, 1e3, 1e6):
            slope = 1 + 1 / mp.mpf(alpha)
            u = mp.findroot(lambda x, s=slope: s * -mp.expm1(-x) - x, min(slope, 2 * (slope - 1)) or 1)
            assert hn.Frechet(alpha).hazard == pytest.approx(float(alpha * u**slope / mp.expm1(u)), rel=1e-12)
    assert hn.Frechet(0.001).hazard == math.inf  # 1e2557: finite, but too large for a float


@each
def test_samples_follow_the_cdf(law: hn.Law) -> None:
    """Kolmogorov and Smirnov's test; false alarms at 1e-6 each, by Massart's bound P(D > d) <= 2 exp(-2 n d^2)."""
    n = 20_000
    z = np.sort(law.sample(np.random.default_rng(7), n))
    cdf = np.asarray(law.cdf(z))
    distance = max((np.arange(1, n + 1) / n - cdf).max(), (cdf - np.arange(n) / n).max())
    assert distance <= math.sqrt(math.log(2.0 / 1e-6) / (2.0 * n))


@each
def test_samples_take_a_size_and_a_stream(law: hn.Law) -> None:
    one = law.sample(np.random.default_rng(3), (4, 5))
    assert one.shape == (4, 5)
    assert (one == law.sample(np.random.default_rng(3), (4, 5))).all()
    assert np.ndim(law.sample(np.random.default_rng(3))) == 0


@each
def test_survival_quantile_inverts_the_survival(law: hn.Law) -> None:
    s = np.array([1e-12, 1e-3, 0.2, 0.5, 0.9])
    np.testing.assert_allclose(law.survival(law.survival_quantile(s)), s, rtol=1e-9)


def test_conditioned_weibull_is_the_starred_law_of_the_paper() -> None:
    """Condition a draw on being above 1, then subtract 1."""
    plain, star = hn.Weibull(0.5), hn.Weibull(0.5, conditioned=True)
    z = np.array([0.0, 1e-9, 0.3, 4.0, 900.0])
    np.testing.assert_allclose(star.survival(z), plain.survival(1.0 + z) / plain.survival(1.0), rtol=1e-13)
    np.testing.assert_allclose(star.density(z), plain.density(1.0 + z) / plain.survival(1.0), rtol=1e-13)
    assert (plain.hazard, star.hazard) == (math.inf, 0.5)
    assert hn.Weibull(2.0, conditioned=True).hazard == math.inf


def test_one_law_has_three_names() -> None:
    z = np.array([-1.0, 0.0, 1e-9, 0.5, 3.0, 200.0])
    for law in (hn.Gamma(1.0), hn.Weibull(1.0), hn.Weibull(1.0, conditioned=True)):
        for form in ("density", "cdf", "survival", "log_survival"):
            np.testing.assert_allclose(getattr(law, form)(z), getattr(hn.Exponential(), form)(z), rtol=1e-13)
        assert law.hazard == law.mean == 1.0 or law.mean == pytest.approx(1.0, rel=1e-12)


def test_laws_compare_by_value() -> None:
    assert hn.Gamma(2.0) == hn.Gamma(2) != hn.Gamma(3.0)
    assert hash(hn.Weibull(0.5, True)) == hash(hn.Weibull(0.5, conditioned=True))
    assert repr(hn.Frechet(2)) == "Frechet(alpha=2.0)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        hn.Pareto(2.0).alpha = 3.0  # type: ignore[misc]


@dataclasses.dataclass(frozen=True)
class Uniform(hn.Law):
    """User-defined law: density and cdf, nothing else."""

    def density(self, z: Any) -> Any:
        return np.where((np.asarray(z) >= 0.0) & (np.asarray(z) <= 1.0), 1.0, 0.0)

    def cdf(self, z: Any) -> Any:
        return np.clip(np.asarray(z, dtype=float), 0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Student(hn.Law):
    """Two degrees of freedom: S(z) falls like z^-2."""

    def density(self, z: Any) -> Any:
        return (2.0 + np.asarray(z) ** 2) ** -1.5

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.asarray(z) / np.sqrt(2.0 + np.asarray(z) ** 2)


@dataclasses.dataclass(frozen=True)
class Cauchy(hn.Law):
    def density(self, z: Any) -> Any:
        return 1.0 / (math.pi * (1.0 + np.asarray(z) ** 2))

    def cdf(self, z: Any) -> Any:
        return 0.5 + np.arctan(z) / math.pi


def test_user_defined_law_derives_members_from_cdf_and_density() -> None:
    for n in (1, 2, 10, 1000):
        assert Uniform().expected_max(n) == pytest.approx(n / (n + 1), rel=1e-9)
    assert Uniform().mean == pytest.approx(0.5, rel=1e-9)
    assert Student().mean == pytest.approx(0.0, abs=1e-9)
    assert Student().expected_max(2) == pytest.approx(math.pi / math.sqrt(8.0), rel=1e-9)
    assert Cauchy().mean == Cauchy().expected_max(3) == math.inf
    z = np.sort(Student().sample(np.random.default_rng(1), 5000))
    cdf = Student().cdf(z)
    # False alarm 1e-6, as above.
    assert np.abs(cdf - np.arange(5000) / 5000).max() <= math.sqrt(math.log(2e6) / 1e4) + 1 / 5000
    np.testing.assert_allclose(Student().log_survival([0.0, 3.0]), np.log(1.0 - Student().cdf(np.array([0.0, 3.0]))))
    assert Student().kernel == ""


def test_user_defined_law_must_state_its_hazard() -> None:
    with pytest.raises(ValueError, match="Student must state its hazard"):
        _ = Student().hazard
    with pytest.raises(NotImplementedError, match="Law must define density"):
        hn.Law().density(0.0)
    with pytest.raises(NotImplementedError, match="Law must define cdf"):
        hn.Law().cdf(0.0)


def test_a_heavy_tail_with_its_own_survival_function_is_exact_far_out() -> None:
    @dataclasses.dataclass(frozen=True)
    class Copy(hn.Law):
        def density(self, z: Any) -> Any:
            return hn.Frechet(1.2).density(z)

        def cdf(self, z: Any) -> Any:
            return hn.Frechet(1.2).cdf(z)

        def survival(self, z: Any) -> Any:
            return hn.Frechet(1.2).survival(z)

    s = np.array([1e-100, 1e-9, 0.5])
    np.testing.assert_allclose(Copy().survival_quantile(s), hn.Frechet(1.2).survival_quantile(s), rtol=1e-11)
    for n in (1, 10**6):
        assert Copy().expected_max(n) == pytest.approx(hn.Frechet(1.2).expected_max(n), rel=1e-8)
