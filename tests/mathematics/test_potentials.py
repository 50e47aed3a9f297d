"""FTPL: against references with 30 digits, a dense quadrature, closed forms, and its own derivatives."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import naive
import numpy as np
import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st
from plays import LAWS, assert_play, each, potential, slope

import hannan as hn

calm = settings(deadline=None, max_examples=100, derandomize=True)


# --- against references ---------------------------------------------------------------------------------


@pytest.mark.parametrize("row", references.load(), ids=lambda r: f"{r['law']}{r['parameters']}{r['L']}")
def test_potentials_equal_the_references(row: dict[str, Any]) -> None:
    phi = hn.FTPL(getattr(hn, row["law"])(*row["parameters"]), 1.0)
    assert_play(phi.gradient(row["L"]), [float(x) for x in row["p"]])
    curvature = [float(x) for x in row["curvature"]]
    np.testing.assert_allclose(-np.diagonal(phi.hessian(row["L"])), curvature, rtol=1e-8)
    assert phi.value(row["L"]) == pytest.approx(float(row["value"]), rel=1e-9, abs=1e-12)


def test_references_equal_the_oracle() -> None:
    """Three of them are recomputed here; the slow test recomputes the others."""
    for row in (references.load()[2], references.load()[9], references.load()[-2]):
        again = references.reference(row["law"], tuple(row["parameters"]), row["L"])
        for key in ("p", "curvature"):
            np.testing.assert_allclose([float(x) for x in again[key]], [float(x) for x in row[key]], rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("row", references.load(), ids=lambda r: f"{r['law']}{r['parameters']}{r['L']}")
def test_every_reference_equals_the_oracle(row: dict[str, Any]) -> None:
    again = references.reference(row["law"], tuple(row["parameters"]), row["L"])
    for key in ("p", "curvature"):
        np.testing.assert_allclose([float(x) for x in again[key]], [float(x) for x in row[key]], rtol=1e-14)


# --- against the dense rule, on random laws and gaps ---------------------------------------------------------

parameter = {
    hn.Gamma: st.floats(0.12, 300.0),
    hn.Weibull: st.floats(0.12, 15.0),
    hn.Frechet: st.floats(0.3, 60.0),
    hn.Pareto: st.floats(0.3, 60.0),
}
laws = st.one_of(
    st.sampled_from([hn.Exponential(), hn.Laplace(), hn.Gaussian(), hn.Gumbel()]),
    *(st.builds(kind, value) for kind, value in parameter.items()),
    st.builds(hn.Weibull, st.floats(0.05, 15.0), st.just(True)),
)
#: Gaps of all sizes, ties and near ties.
gaps = st.one_of(st.just(0.0), st.just(1.0), st.floats(-12.0, 7.0).map(lambda x: 10.0**x))


@calm
@given(laws, st.lists(gaps, min_size=1, max_size=5), st.sampled_from([1e-6, 0.3, 1.0, 1e12]))
def test_any_law_at_any_gaps(law: hn.Law, others: list[float], scale: float) -> None:
    L = scale * np.array([0.0, *others])
    phi, dense = hn.FTPL(law, scale), naive.Dense(law, L, scale)
    play = dense.play()
    if abs(play.sum() - 1.0) < 1e-12:  # check of the oracle itself
        assert_play(phi.gradient(L), play)
        found, right = -np.diagonal(phi.hessian(L)), dense.curvature()
        # Two tied arms of power a have a finite entry for 2a > 1 only, and the dense rule resolves it from 1.2 on.
        power = {hn.Gamma: "shape", hn.Weibull: "k"}.get(type(law))
        plain = not getattr(law, "conditioned", False)
        known = (right > 1e-80 / scale) & (found < np.inf)
        if power and plain and getattr(law, power) < 1.0:
            tied = (L == 0.0).sum()
            known &= (L > 0.0) | (tied == 1) | (tied * getattr(law, power) > 1.2)
        np.testing.assert_allclose(found[known], right[known], rtol=1e-8)
    value = phi.value(L)
    assert value == -math.inf if math.isinf(law.mean) else math.isfinite(value)


# --- its own derivatives ----------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_gradient_and_hessian_are_derivatives(smoothing: Any, scale: float) -> None:
    phi = potential(smoothing, scale)
    for seed in range(3):
        L = scale * np.random.default_rng(seed).uniform(0.0, 3.0, 4)
        p, H = phi.gradient(L), phi.hessian(L)
        for i in range(4):
            step = 2e-3 * scale
            np.testing.assert_allclose(slope(phi.value, L, i, step), p[i], rtol=2e-6, atol=2e-8)
            np.testing.assert_allclose(slope(phi.gradient, L, i, step), H[i], rtol=2e-4, atol=2e-7 / scale)


@each
def test_hessian_is_negative_semidefinite_with_zero_row_sums(smoothing: Any) -> None:
    phi = potential(smoothing, 0.7)
    L = np.array([0.2, 1.9, 0.6, 0.9, 14.0])
    H = phi.hessian(L)
    np.testing.assert_allclose(H, H.T, rtol=1e-12)
    np.testing.assert_allclose(H.sum(axis=1), 0.0, atol=1e-15)
    assert (H[~np.eye(5, dtype=bool)] >= 0.0).all()
    assert np.linalg.eigvalsh(H).max() <= 1e-14
    assert phi.is_pod(L)


# --- symmetries -------------------------------------------------------------------------------------------


@each
def test_shifts_permutations_and_units(smoothing: Any) -> None:
    phi = potential(smoothing, 2.0)
    L = np.array([0.25, 4.0, 0.0, 1.5, 0.25])
    p, value, H = phi.gradient(L), phi.value(L), phi.hessian(L)
    np.testing.assert_allclose(phi.gradient(L + 1024.0), p, rtol=1e-13)
    np.testing.assert_allclose(phi.hessian(L - 64.0), H, rtol=1e-12)
    assert phi.value(L + 1024.0) == pytest.approx(value + 1024.0, rel=1e-14) or value == -math.inf
    order = np.array([3, 0, 4, 2, 1])
    np.testing.assert_allclose(phi.gradient(L[order]), p[order], rtol=1e-13)
    np.testing.assert_allclose(phi.hessian(L[order]), H[np.ix_(order, order)], rtol=1e-11)
    assert p[0] == pytest.approx(p[4], rel=1e-14)
    wide = potential(smoothing, 2.0 * 512.0)
    np.testing.assert_allclose(wide.gradient(512.0 * L), p, rtol=1e-13)
    np.testing.assert_allclose(wide.hessian(512.0 * L) * 512.0, H, rtol=1e-12)
    assert wide.value(512.0 * L) == pytest.approx(512.0 * value, rel=1e-13)


@each
def test_batches_are_rows(smoothing: Any) -> None:
    phi = potential(smoothing, 1.0)
    L = np.random.default_rng(0).uniform(0.0, 5.0, (2, 3, 4))
    kept = L.copy()
    p, value, H = phi.gradient(L), phi.value(L), phi.hessian(L)
    assert (p.shape, value.shape, H.shape) == ((2, 3, 4), (2, 3), (2, 3, 4, 4))
    assert (p[1, 2] == phi.gradient(L[1, 2])).all()
    assert value[1, 2] == phi.value(L[1, 2])
    assert (H[1, 2] == phi.hessian(L[1, 2])).all()
    assert (kept == L).all()
    assert np.ndim(phi.value([0, 1])) == 0  # integers and lists are losses too
    assert phi.gradient(np.asfortranarray(L[0]))[1, 3] == p[0, 1, 3]


# --- one potential under several names --------------------------------------------------------------------


@calm
@given(st.lists(st.floats(0.0, 60.0), min_size=1, max_size=8), st.sampled_from([0.01, 1.0, 1e5]))
def test_gumbel_is_entropy_and_the_exponential_has_three_names(L: list[float], scale: float) -> None:
    one, two = hn.FTPL(hn.Gumbel(), scale), hn.FTRL(hn.Entropy(), scale)
    np.testing.assert_array_equal(one.gradient(L), two.gradient(L))
    np.testing.assert_allclose(one.hessian(L), two.hessian(L), rtol=1e-13)
    assert one.value(L) + scale * hn.Gumbel().mean == pytest.approx(two.value(L), rel=1e-13, abs=1e-13 * scale)
    phi = hn.FTPL(hn.Exponential(), scale)
    for law in (hn.Gamma(1.0), hn.Weibull(1.0), hn.Weibull(1.0, conditioned=True)):
        other = hn.FTPL(law, scale)
        assert_play(other.gradient(L), phi.gradient(L))
        assert other.value(L) == pytest.approx(phi.value(L), rel=1e-12, abs=1e-12 * scale)
        found, right = np.diagonal(other.hessian(L)), np.diagonal(phi.hessian(L))
        np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-80)


def test_two_arms_in_closed_form() -> None:
    for d in (0.0, 1e-9, 0.3, 4.0, 41.0, 184.0):
        e = mp.exp(-mp.mpf(d))
        right = {
            hn.Exponential(): e / 2,
            hn.Laplace(): e * (2 + mp.mpf(d)) / 4,
            hn.Gaussian(): mp.ncdf(-mp.mpf(d) / mp.sqrt(2)),
            hn.Gumbel(): e / (1 + e),
        }
        for law, p in right.items():
            found = hn.FTPL(law, 1.0).gradient([0.0, d])[1]
            assert found == pytest.approx(float(p), rel=1e-10 if p > 1e-12 else 1e-6)


def test_all_arms_tied_in_closed_form() -> None:
    """-Phi(0) = E max and p = 1/n; every quadrature must resolve the n-th power of the cdf."""
    for law in LAWS:
        for n in (1, 2, 3, 10, 1000):
            phi = hn.FTPL(law, 2.0)
            np.testing.assert_allclose(phi.gradient(np.full(n, 7.0)), 1.0 / n, rtol=1e-13)
            assert phi.value(np.full(n, 7.0)) == pytest.approx(7.0 - 2.0 * law.expected_max(n), rel=1e-9, abs=1e-12)


# --- draws ------------------------------------------------------------------------------------------------


@each
def test_draws_follow_the_gradient(smoothing: Any) -> None:
    """Hoeffding: P(|frequency - p| > t) <= 2 exp(-2 m t^2) for each of 4 arms; false alarms at 1e-6 in total."""
    phi, L, m = potential(smoothing, 2.0), np.array([0.0, 1.0, 1.0, 6.0]), 40_000
    draws = phi.sample(L, np.random.default_rng(11), m)
    frequency = np.bincount(draws, minlength=4) / m
    assert np.abs(frequency - phi.gradient(L)).max() <= math.sqrt(math.log(2 * 4 / 1e-6) / (2 * m))


def test_draws_have_the_requested_shape_and_stream() -> None:
    for phi in (hn.FTPL(hn.Exponential(), 1.0), hn.FTRL(hn.Tsallis(0.5), 1.0)):
        one = phi.sample([0.0, 1.0, 2.0], np.random.default_rng(5))
        assert type(one) is int
        many = phi.sample([0.0, 1.0, 2.0], np.random.default_rng(5), (3, 4))
        assert many.shape == (3, 4)
        assert (many == phi.sample([0.0, 1.0, 2.0], np.random.default_rng(5), (3, 4))).all()
        assert set(np.unique(phi.sample([0.0, 1e9, 0.0], np.random.default_rng(5), 50))) == {0, 2}


def test_draws_do_not_round_small_perturbations_away() -> None:
    """Losses of 1e12 with a scale of 1e-6: two tied leaders still have equal probabilities."""
    draws = hn.FTPL(hn.Exponential(), 1e-6).sample([1e12, 1e12, 2e12], np.random.default_rng(0), 2000)
    # Hoeffding at 1e-6.
    assert abs((draws == 0).mean() - 0.5) <= math.sqrt(math.log(2e6) / 4000)


# --- descriptions of a potential ----------------------------------------------------------------------------


@each
def test_measured_consistency_is_below_the_rate(smoothing: Any) -> None:
    """max_i -Hess_ii / p_i^gamma is the rate at a point; the claim is its supremum."""
    scale = 0.8
    phi = potential(smoothing, scale)
    claim = phi.stability(4)
    rng = np.random.default_rng(0)
    seen = [phi.consistency(scale * rng.exponential(size=4) * 10.0 ** rng.uniform(-2, 1.3)) for _ in range(60)]
    assert max(seen) <= claim.rate * (1.0 + 1e-9)
    if not isinstance(smoothing, hn.Law):
        assert max(seen) >= 0.9 * claim.rate  # -Hess_ii / p_i^gamma = (1 - w_i / sum w) rate


def test_consistency_of_a_nearly_underflowing_distribution() -> None:
    phi = hn.FTPL(hn.Exponential(), 1.0)
    assert phi.consistency([0.0, 500.0], gamma=1.5) == pytest.approx(math.sqrt(2.0) * math.exp(250.0), rel=1e-9)
    assert phi.consistency([0.0, 500.0]) == pytest.approx(1.0, rel=1e-9)  # the far arm attains the rate
    assert phi.consistency([3.0]) == 0.0


def test_potentials_compare_by_value() -> None:
    phi = hn.FTPL(hn.Gamma(2.0), 3)
    assert phi == hn.FTPL(hn.Gamma(2.0), 3.0) != hn.FTPL(hn.Gamma(2.0), 4.0)
    assert repr(phi) == "FTPL(law=Gamma(shape=2.0), scale=3.0)"
    assert hash(phi) == hash(hn.FTPL(law=hn.Gamma(2.0), scale=3.0))
    assert hn.FTRL(hn.Entropy(), 1.0) == hn.FTRL(regularizer=hn.Entropy(), scale=1.0)
    assert phi.smoothing == hn.Gamma(2.0)
