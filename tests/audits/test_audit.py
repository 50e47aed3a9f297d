"""The audit of a potential finds exact levels, disproves false claims, and never disproves a true claim."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from rejections import rejected

import hannan as hn

EXACT = [hn.Exponential(), hn.Gumbel(), hn.Entropy(), hn.Tsallis(0.5), hn.LogBarrier()]
OTHERS = [
    hn.Laplace(),
    hn.Gamma(0.3),
    hn.Gamma(2.0),
    hn.Weibull(0.2),
    hn.Weibull(0.5, conditioned=True),
    hn.Frechet(0.7),
    hn.Frechet(2.0),
    hn.Pareto(0.5),
    hn.Pareto(2.0),
    hn.Tsallis(0.05),
    hn.Tsallis(0.95),
]


def potential(smoothing: Any, scale: float) -> hn.Potential:
    return hn.FTPL(smoothing, scale) if isinstance(smoothing, hn.Law) else hn.FTRL(smoothing, scale)


def divergence(phi: hn.Potential, finding: hn.Finding) -> float:
    """Return the divergence at the witness, computed again from the definition."""
    L, loss = finding.witness
    assert loss.shape == L.shape
    assert ((loss >= 0.0) & (loss <= 1.0)).all()
    before, after = phi.gradient(L), phi.gradient(L + loss)
    if finding.claim.delta > 0.0:
        return float(hn.max_divergence(before, after, finding.claim.delta))
    return float(hn.tsallis_divergence(before, after, finding.claim.gamma))


def check(phi: hn.Potential, n: int, **options: Any) -> hn.Finding:
    finding = hn.audit(phi, n, **options)
    assert finding.verdict == "holds", (phi, n, options, finding)
    assert finding.measured <= finding.claim.level * (1.0 + 1e-12)
    assert finding.claim == phi.stability(n, options.get("gamma"), options.get("delta"))
    return finding


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("smoothing", EXACT, ids=repr)
def test_audit_finds_the_exact_level(smoothing: Any, n: int) -> None:
    phi = potential(smoothing, 2.0)
    finding = check(phi, n)
    assert finding.claim.exact
    assert 0.95 * finding.claim.level <= finding.measured
    # The measured level is a lower bound on the divergence at the witness, and close to it.
    assert finding.measured <= divergence(phi, finding) <= finding.measured + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("scale", [0.1, 0.5, 1.0, 20.0, 1e4])
@pytest.mark.parametrize("smoothing", EXACT, ids=repr)
def test_audit_finds_the_exact_level_at_every_scale(smoothing: Any, scale: float, n: int) -> None:
    finding = check(potential(smoothing, scale), n)
    assert 0.95 * finding.claim.level <= finding.measured


@pytest.mark.parametrize("smoothing", OTHERS, ids=repr)
def test_no_claim_is_exceeded(smoothing: Any) -> None:
    phi = potential(smoothing, 1.0)
    finding = check(phi, 3)
    assert finding.measured >= 0.3 * finding.claim.level
    if not isinstance(smoothing, hn.Law):
        check(phi, 3, gamma=1.0)


@pytest.mark.parametrize(
    ("smoothing", "scale"),
    [
        (hn.Exponential(), 1e-3),  # the probabilities after the step are below the smallest float
        (hn.Gumbel(), 1e12),  # the level is below the accuracy of the distribution
        (hn.Frechet(2.0), 1e12),
        (hn.Frechet(20.0), 1e-6),
        (hn.Pareto(2.0), 1e6),
        (hn.LogBarrier(), 1e9),
    ],
    ids=repr,
)
def test_no_claim_is_exceeded_at_the_ends_of_the_scale(smoothing: Any, scale: float) -> None:
    check(potential(smoothing, scale), 2)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.1, 10.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("smoothing", [*EXACT, *OTHERS], ids=repr)
def test_no_claim_is_exceeded_anywhere(smoothing: Any, scale: float) -> None:
    for n in (2, 3, 10):
        phi = potential(smoothing, scale)
        check(phi, n)
        if not isinstance(smoothing, hn.Law):
            check(phi, n, gamma=1.0)


def test_gaussian_level_with_delta_is_not_exceeded() -> None:
    phi = hn.FTPL(hn.Gaussian(), 1.0)
    finding = check(phi, 3, delta=0.01)
    assert 0.3 * finding.claim.level < finding.measured
    assert finding.measured <= divergence(phi, finding) <= finding.measured + 1e-6
    # The level for delta = 0 is infinite, and the measured level is far above that of a law with a rate.
    assert hn.audit(phi, 2).measured > 10.0


@dataclasses.dataclass(frozen=True)
class Boaster(hn.FTPL):
    """Claims one hundredth less than the true level."""

    def __init__(self, law: hn.Law, scale: float) -> None:
        super().__init__(law, scale)

    def stability(self, n: int, gamma: float | None = None, delta: float | None = None) -> hn.Stability:
        claim = super().stability(n, gamma, delta)
        return dataclasses.replace(claim, level=0.99 * claim.level)


def test_false_claim_is_disproved_by_the_witness() -> None:
    phi = Boaster(hn.Exponential(), 2.0)
    finding = hn.audit(phi, 3)
    assert finding.verdict == "exceeded"
    assert finding.claim.level == 0.495
    assert divergence(phi, finding) == pytest.approx(0.5, abs=1e-9)


def test_printed_level_of_hedge_is_twice_the_exact_level() -> None:
    """The paper claims 2/scale; no level above 1/scale exists."""
    phi = hn.FTRL(hn.Entropy(), 1.0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        L, loss = rng.exponential(3.0, 5), rng.integers(0, 2, 5).astype(float)
        assert hn.max_divergence(phi.gradient(L), phi.gradient(L + loss)) < 1.0


def test_equal_seeds_give_equal_findings() -> None:
    phi = hn.FTPL(hn.Frechet(2.0), 1.0)
    one, two, other = (hn.audit(phi, 2, seed=seed) for seed in (4, 4, 5))
    assert one.measured == two.measured
    assert (one.witness[0] == two.witness[0]).all()
    assert other.measured == pytest.approx(one.measured, rel=0.02)


def test_an_infinite_claim_is_printed_as_infinite() -> None:
    """The verdict "holds" alone would suggest that a finite level was proved."""
    infinite, finite = hn.audit(hn.FTPL(hn.Gaussian(), 2.0), 3), hn.audit(hn.FTPL(hn.Gumbel(), 2.0), 3)
    assert (infinite.verdict, finite.verdict) == ("holds", "holds")
    assert "inf" in str(infinite).splitlines()[0]
    assert "inf" not in str(finite).splitlines()[0]


def test_level_of_one_arm_is_zero() -> None:
    finding = hn.audit(hn.FTRL(hn.LogBarrier(), 1.0), 1)
    assert (finding.measured, finding.claim.level, finding.verdict) == (0.0, 0.0, "holds")


def test_invalid_arguments_are_rejected() -> None:
    phi = hn.FTPL(hn.Exponential(), 1.0)
    rejected(lambda: hn.audit(phi), "n", "None")
    rejected(lambda: hn.audit(phi, 0), "n", 0)
    rejected(lambda: hn.audit(phi, 2, gamma=-1.0), "gamma", -1.0)
    assert math.isinf(hn.audit(hn.FTPL(hn.Weibull(2.0), 1.0), 2).claim.level)
