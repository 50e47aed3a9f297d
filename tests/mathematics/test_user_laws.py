"""A law with only density and cdf plays through the general rule, to 1e-8, without other changes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import hannan as hn


@dataclass(frozen=True)
class Copy(hn.Law):
    """A law of the package with nothing but density and cdf."""

    law: hn.Law

    def density(self, z: Any) -> Any:
        return self.law.density(z)

    def cdf(self, z: Any) -> Any:
        return self.law.cdf(z)


@dataclass(frozen=True)
class Logistic(hn.Law):
    def density(self, z: Any) -> Any:
        return 0.25 / np.cosh(np.clip(np.asarray(z) / 2.0, -300.0, 300.0)) ** 2

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2.0)


@dataclass(frozen=True)
class Uniform(hn.Law):
    def density(self, z: Any) -> Any:
        return np.where((np.asarray(z) >= 0.0) & (np.asarray(z) <= 1.0), 1.0, 0.0)

    def cdf(self, z: Any) -> Any:
        return np.clip(np.asarray(z, dtype=float), 0.0, 1.0)


@dataclass(frozen=True)
class Triangular(hn.Law):
    def density(self, z: Any) -> Any:
        return np.maximum(0.0, 1.0 - np.abs(np.asarray(z)))

    def cdf(self, z: Any) -> Any:
        z = np.clip(np.asarray(z, dtype=float), -1.0, 1.0)
        return np.where(z < 0.0, 0.5 * (1.0 + z) ** 2, 1.0 - 0.5 * (1.0 - z) ** 2)


@dataclass(frozen=True)
class Student(hn.Law):
    """Two degrees of freedom: S(z) falls like z^-2 / 2."""

    def density(self, z: Any) -> Any:
        return (2.0 + np.asarray(z) ** 2) ** -1.5

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.asarray(z) / np.sqrt(2.0 + np.asarray(z) ** 2)


@dataclass(frozen=True)
class Cauchy(hn.Law):
    def density(self, z: Any) -> Any:
        return 1.0 / (math.pi * (1.0 + np.asarray(z) ** 2))

    def cdf(self, z: Any) -> Any:
        return 0.5 + np.arctan(z) / math.pi


COPIED = [
    hn.Exponential(),
    hn.Gumbel(),
    hn.Gamma(0.3),
    hn.Gamma(50.0),
    hn.Weibull(0.5),
    hn.Weibull(3.0),
    hn.Frechet(2.0),
    hn.Pareto(2.0),
    hn.Pareto(30.0),
    hn.Laplace(),
    hn.Gaussian(),
]


@pytest.mark.parametrize("law", COPIED, ids=repr)
def test_copy_of_a_law_plays_like_the_law(law: hn.Law) -> None:
    for L, scale in (
        ([0.3, 0.0, 1.7], 1.0),
        ([0.0, 1e-9, 25.0], 1.0),
        ([0.0, 1e6, 0.0], 1.0),
        ([0.0, 1.0], 1e12),
    ):
        own, copy = hn.FTPL(law, scale), hn.FTPL(Copy(law), scale)
        p = copy.gradient(L)
        np.testing.assert_allclose(p, own.gradient(L), atol=1e-8)
        assert abs(p.sum() - 1.0) <= 1e-12
        assert copy.value(L) == pytest.approx(own.value(L), rel=1e-8, abs=1e-8)
    assert hn.FTPL(Copy(law), 2.0).value([7.0]) == pytest.approx(7.0 - 2.0 * law.mean, rel=1e-8, abs=1e-8)
    assert (hn.FTPL(Copy(law), 2.0).gradient([7.0]) == [1.0]).all()
    L = [0.3, 0.0, 1.7]
    np.testing.assert_allclose(hn.FTPL(Copy(law), 2.0).hessian(L), hn.FTPL(law, 2.0).hessian(L), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("law", [Logistic(), Uniform(), Triangular(), Student(), Cauchy()], ids=repr)
def test_user_defined_law_equals_one_integral_per_arm(law: hn.Law) -> None:
    d = np.array([0.0, 0.3, 0.7])
    edges = sorted({e - x for x in d for e in (-1.0, 0.0, 1.0)})
    points = [-1e4, -50.0, *edges, 50.0, 1e4]

    def arm(i: int, w: float) -> float:
        others = [float(law.cdf(w + d[j])) for j in range(3) if j != i]
        return float(law.density(w + d[i])) * math.prod(others)

    pieces = [
        [quad(lambda w, i=i: arm(i, w), a, b, epsabs=1e-13, limit=400)[0] for a, b in itertools.pairwise(points)]
        for i in range(3)
    ]
    right = np.array([math.fsum(row) for row in pieces])
    right += (1.0 - right.sum()) / 3.0  # the mass beyond 1e4, for heavy tails
    tolerance = 1e-4 if isinstance(law, Cauchy) else 1e-7 if isinstance(law, Student) else 1e-8
    np.testing.assert_allclose(hn.FTPL(law, 1.0).gradient(d), right, atol=tolerance)


def test_closed_forms_of_two_arms() -> None:
    d = 0.4
    grown = math.exp(d)
    assert hn.FTPL(Logistic(), 1.0).gradient([0.0, d])[1] == pytest.approx(
        1.0 - grown * (grown - 1.0 - d) / (grown - 1.0) ** 2, abs=1e-8
    )
    assert hn.FTPL(Uniform(), 1.0).gradient([0.0, d])[1] == pytest.approx((1.0 - d) ** 2 / 2.0, abs=1e-8)
    assert hn.FTPL(Uniform(), 1.0).value([0.0, 0.0]) == pytest.approx(-2.0 / 3.0, abs=1e-8)
    assert hn.FTPL(Uniform(), 1.0).hessian([0.0, d])[0, 1] == pytest.approx(1.0 - d, abs=1e-8)
    assert (hn.FTPL(Uniform(), 1.0).gradient([0.0, 1.5]) == [1.0, 0.0]).all()
    assert hn.FTPL(Student(), 1.0).value([0.0, 0.0]) == pytest.approx(-math.pi / math.sqrt(8.0), abs=1e-8)
    # The difference of two Cauchy draws is a Cauchy draw times 2.
    p = hn.FTPL(Cauchy(), 3.0).gradient([0.0, 3.0 * d])[1]
    assert p == pytest.approx(0.5 - math.atan(d / 2.0) / math.pi, abs=1e-8)
    assert hn.FTPL(Cauchy(), 1.0).value([0.0, d]) == -math.inf


@pytest.mark.parametrize("law", [Logistic(), Triangular(), Student()], ids=repr)
def test_derivatives_and_symmetries_of_a_user_defined_law(law: hn.Law) -> None:
    phi = hn.FTPL(law, 2.0)
    L, step = np.array([0.0, 0.5, 1.1]), 1e-3
    p, H = phi.gradient(L), phi.hessian(L)
    for i, e in enumerate(np.eye(3) * step):
        assert (phi.value(L + e) - phi.value(L - e)) / (2 * step) == pytest.approx(p[i], abs=1e-6)
        np.testing.assert_allclose((phi.gradient(L + e) - phi.gradient(L - e)) / (2 * step), H[i], atol=1e-6)
    np.testing.assert_allclose(phi.gradient(L + 5.0), p, atol=1e-8)
    np.testing.assert_allclose(phi.gradient(L[::-1]), p[::-1], atol=1e-8)
    assert phi.is_pod(L)
    assert phi.gradient(np.stack([L, L])).shape == (2, 3)
    # Hoeffding, false alarm 1e-6 over three arms.
    frequency = np.bincount(phi.sample(L, np.random.default_rng(0), 4000), minlength=3) / 4000
    assert np.abs(frequency - p).max() <= math.sqrt(math.log(6e6) / 8000)


def test_fifty_arms_of_a_user_defined_law() -> None:
    L = np.linspace(0.0, 5.0, 50)
    p = hn.FTPL(Copy(hn.Gaussian()), 1.0).gradient(L)
    np.testing.assert_allclose(p, hn.FTPL(hn.Gaussian(), 1.0).gradient(L), atol=1e-8)


@dataclass(frozen=True)
class Known(Logistic):
    @property
    def hazard(self) -> float:
        return 1.0  # the hazard of the logistic law is its cdf


@pytest.mark.slow
def test_an_audit_allows_for_the_accuracy_of_the_general_rule() -> None:
    finding = hn.audit(hn.FTPL(Known(), 4.0), 2)
    assert finding.verdict == "holds"
    assert finding.measured >= 0.9 * 0.25


def test_a_stated_hazard_gives_a_rate() -> None:
    claim = hn.FTPL(Known(), 4.0).stability(3)
    assert (claim.rate, claim.level, claim.exact) == (0.25, 0.25, False)
    with pytest.raises(ValueError, match="Logistic must state its hazard"):
        hn.FTPL(Logistic(), 4.0).stability(3)


@pytest.mark.parametrize("build", [hn.Experts, hn.Bandit])
def test_player_without_a_hazard_withholds_its_bound(build: Any) -> None:
    player = build(3, Logistic(), hn.Fixed(5.0)).start(0)
    move = player.act()
    player.observe(move, [0.3, 0.1, 0.9] if build is hn.Experts else 0.3)
    certificate = player.certificate()
    assert certificate.bound is None
    assert certificate.claimed_rate is None
    assert "must state its hazard" in certificate.withheld
    assert "no claim" in str(certificate)


@dataclass(frozen=True)
class Far(Logistic):
    """So far from 0 that its last digits are rounding errors."""

    at: float = 1e13

    def density(self, z: Any) -> Any:
        return super().density(np.asarray(z) - self.at)

    def cdf(self, z: Any) -> Any:
        return super().cdf(np.asarray(z) - self.at)


def test_law_that_loses_its_digits_is_rejected_soon() -> None:
    """It took ten seconds per round. The control: less far away, the play equals that at 0."""
    calls = []

    class Counted(Far):
        def cdf(self, z: Any) -> Any:
            calls.append(1)
            return super().cdf(z)

    L = [0.0, 0.5, 1.5]
    with pytest.raises(ValueError, match=r"must sum to 1 within 1e-08; got"):
        hn.FTPL(Counted(), 1.0).gradient(L)
    assert len(calls) < 50_000
    near = hn.FTPL(Far(1e6), 1.0).gradient(L)
    np.testing.assert_allclose(near, hn.FTPL(Logistic(), 1.0).gradient(L), atol=1e-8)


@dataclass(frozen=True)
class Contradicted(Logistic):
    """A logistic law with a wrong formula; `turn` 0 is the control."""

    turn: int = 0

    def density(self, z: Any) -> Any:
        z = np.asarray(z, dtype=float)
        f = super().density(z)
        return {1: 2.0 * f, 2: np.where(z > 1.0, np.nan, f), 3: -f}.get(self.turn, f)

    def cdf(self, z: Any) -> Any:
        z = np.asarray(z, dtype=float)
        F = super().cdf(z)
        return {4: super().cdf(1.0001 * z), 5: 0.5 * F + 0.5 * (z >= 0.0), 6: np.full(z.shape, np.nan)}.get(
            self.turn, F
        )


@pytest.mark.parametrize("turn", range(7))
def test_law_that_contradicts_itself_is_rejected(turn: int) -> None:
    """Twice the density, none above 1, a negative one, a cdf slightly off, one with an atom, none.

    In the past, probabilities that do not sum to 1 were normalized.
    """
    law, L = Contradicted(turn), np.array([0.0, 0.5, 1.5])
    losses = np.zeros((2, 3))
    if turn == 0:
        assert hn.FTPL(law, 1.0).gradient(L) == pytest.approx(hn.FTPL(Logistic(), 1.0).gradient(L), abs=1e-9)
        assert law.expected_max(2) == pytest.approx(1.0, abs=1e-8)
        return
    for told in (
        lambda: hn.FTPL(law, 1.0).gradient(L),
        lambda: hn.Experts(3, law, hn.Fixed(1.0)).start(0),
        lambda: hn.play(hn.Bandit(3, law, hn.Fixed(1.0)), losses),
        lambda: law.expected_max(2),
    ):
        with pytest.raises(ValueError, match=r"must be the derivative of its cdf.*must sum to 1 within 1e-08; got"):
            told()
