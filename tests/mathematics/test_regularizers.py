"""FTRL: the play against bisection at 32 digits, the optimality conditions, and the limits of Tsallis."""

from __future__ import annotations

import math
from typing import Any

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hannan as hn

calm = settings(deadline=None, max_examples=60, derandomize=True)
REGULARIZERS = [
    hn.Entropy(),
    hn.Tsallis(0.01),
    hn.Tsallis(0.25),
    hn.Tsallis(0.5),
    hn.Tsallis(0.75),
    hn.Tsallis(0.999),
    hn.Tsallis(1.0 - 1e-6),
    hn.Tsallis(1.0 - 1e-9),
    hn.LogBarrier(),
]
each = pytest.mark.parametrize("regularizer", REGULARIZERS, ids=repr)
any_regularizer = st.one_of(st.sampled_from(REGULARIZERS), st.builds(hn.Tsallis, st.floats(0.001, 0.9999)))
gaps = st.one_of(st.just(0.0), st.just(1.0), st.floats(-12.0, 6.0).map(lambda x: 10.0**x))


@calm
@given(any_regularizer, st.lists(gaps, min_size=0, max_size=6), st.sampled_from([1e-6, 0.3, 1.0, 1e12]))
def test_play_value_and_hessian_against_bisection(reg: hn.Regularizer, others: list[float], scale: float) -> None:
    L = scale * np.array([0.0, *others])
    phi = hn.FTRL(reg, scale)
    p, right = phi.gradient(L), np.array([float(x) for x in naive.regularized_play(reg, L, scale)])
    assert abs(p.sum() - 1.0) <= 1e-12
    near, deep = right >= 1e-12, (right < 1e-12) & (right > 1e-80)
    np.testing.assert_allclose(p[near], right[near], rtol=1e-10)
    np.testing.assert_allclose(p[deep], right[deep], rtol=1e-6)
    value = float(naive.regularized_value(reg, L, scale))
    assert phi.value(L) == pytest.approx(value, rel=1e-9, abs=1e-9 * scale)
    curvature = np.array([float(x) for x in naive.regularized_curvature(reg, L, scale)])
    known = curvature * scale > 1e-80
    np.testing.assert_allclose(-np.diagonal(phi.hessian(L))[known], curvature[known], rtol=1e-8)


@each
@pytest.mark.parametrize("n", [1, 2, 1000, 100_000])
def test_many_arms_in_three_groups(regularizer: hn.Regularizer, n: int) -> None:
    counts = np.array([1, n // 3, n - 1 - n // 3])[: min(n, 3)]
    counts[-1] = n - counts[:-1].sum()
    L = np.array([0.0, 2.0, 7.0])[: counts.size]
    p = hn.FTRL(regularizer, 1.5).gradient(np.repeat(L, counts))
    right = [float(x) for x in naive.regularized_play(regularizer, L, 1.5, counts)]
    assert abs(p.sum() - 1.0) <= 1e-12
    np.testing.assert_allclose(p[np.cumsum(counts) - 1], right, rtol=1e-10)


@each
def test_distribution_is_the_minimizer(regularizer: hn.Regularizer) -> None:
    rng = np.random.default_rng(0)
    L, scale = np.array([0.3, 0.0, 2.0, 9.0]), 1.3
    phi = hn.FTRL(regularizer, scale)
    p, best = phi.gradient(L), phi.value(L)
    assert best == pytest.approx(float(L @ p + scale * regularizer.value(p)), rel=1e-12)
    for q in [*rng.dirichlet(np.ones(4), 200), *(0.999 * p + 0.001 * rng.dirichlet(np.ones(4), 50))]:
        assert L @ q + scale * regularizer.value(q) >= best - 1e-12 * abs(best)


@each
def test_curvature_is_the_inverse_second_derivative(regularizer: hn.Regularizer) -> None:
    for x in (0.07, 0.4, 0.8):
        step = 2e-4 * x

        def one(y: float) -> float:
            # F(y, 1-y) has f''(y) + f''(1-y) as its second derivative.
            return float(regularizer.value([y, 1.0 - y]))

        second = (one(x + step) - 2.0 * one(x) + one(x - step)) / step**2
        w = regularizer.curvature(np.array([x, 1.0 - x]))
        assert (1.0 / w).sum() == pytest.approx(second, rel=1e-5)


@each
def test_values_of_the_regularizer(regularizer: hn.Regularizer) -> None:
    p = np.array([[0.2, 0.3, 0.5], [1e-9, 1e-3, 1.0 - 1e-3 - 1e-9]])
    found = regularizer.value(p)
    assert found.shape == (2,)
    for row, value in zip(p, found, strict=True):
        assert value == pytest.approx(float(naive.regularizer_at(regularizer, row)), rel=1e-9, abs=1e-12)
    vertex = regularizer.value([0.0, 1.0, 0.0])
    assert vertex == (math.inf if isinstance(regularizer, hn.LogBarrier) else 0.0)


@calm
@given(st.lists(st.floats(0.0, 20.0), min_size=2, max_size=6))
def test_tsallis_tends_to_the_entropy(L: list[float]) -> None:
    """At alpha -> 1 the distance decreases with 1 - alpha."""
    p = hn.FTRL(hn.Entropy(), 2.0).gradient(L)
    apart = [np.abs(hn.FTRL(hn.Tsallis(1.0 - x), 2.0).gradient(L) - p).max() for x in (1e-3, 1e-4, 1e-7)]
    assert apart[2] <= 1e-5
    assert apart[1] <= 0.11 * apart[0] + 1e-12
    value, limit = hn.FTRL(hn.Tsallis(1.0 - 1e-10), 2.0).value(L), hn.FTRL(hn.Entropy(), 2.0).value(L)
    assert value == pytest.approx(limit, abs=1e-7)
    near, exact = (hn.FTRL(r, 2.0).hessian(L) for r in (hn.Tsallis(1.0 - 1e-9), hn.Entropy()))
    np.testing.assert_allclose(near, exact, atol=1e-7)


@calm
@given(st.lists(st.floats(0.0, 20.0), min_size=2, max_size=6))
def test_tsallis_tends_to_the_log_barrier(L: list[float]) -> None:
    """At alpha -> 0 with scale/alpha: (1 - sum p^alpha)/alpha is (1 - n)/alpha - sum log p to first order."""
    n, p = len(L), hn.FTRL(hn.LogBarrier(), 2.0).gradient(L)
    apart = [np.abs(hn.FTRL(hn.Tsallis(x), 2.0 / x).gradient(L) - p).max() for x in (1e-3, 1e-4, 1e-7)]
    assert apart[2] <= 1e-5
    assert apart[1] <= 0.11 * apart[0] + 1e-12
    x = 1e-5
    shifted = hn.FTRL(hn.Tsallis(x), 2.0 * (1.0 - x) / x).value(L) + 2.0 * (n - 1) / x
    assert shifted == pytest.approx(hn.FTRL(hn.LogBarrier(), 2.0).value(L), abs=2e-2)
    near, exact = (phi.hessian(L) for phi in (hn.FTRL(hn.Tsallis(1e-9), 2e9), hn.FTRL(hn.LogBarrier(), 2.0)))
    np.testing.assert_allclose(near, exact, rtol=1e-6)


def test_two_arms_of_the_log_barrier_in_closed_form() -> None:
    """eta/p - eta/(1-p) = d: p solves a quadratic."""
    for d in (0.0, 1e-6, 1.0, 1e6):
        p = 2.0 / (d + 2.0 + math.sqrt(d * d + 4.0))
        assert hn.FTRL(hn.LogBarrier(), 1.0).gradient([0.0, d])[1] == pytest.approx(p, rel=1e-14)


@each
def test_order_of_the_divergence_of_regularizers(regularizer: Any) -> None:
    alpha = getattr(regularizer, "alpha", {hn.Entropy: 1.0, hn.LogBarrier: 0.0}.get(type(regularizer)))
    assert regularizer.gamma == 2.0 - alpha
