"""Section 2.2 on finite spaces: against enumeration of all sets, and the properties that the section claims."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath as mp
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hannan as hn

calm = settings(deadline=None, max_examples=60, derandomize=True)


@st.composite
def pairs(draw: Any, most: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Two distributions on one space, with zeros in either or both, and masses down to 1e-12."""
    n = draw(st.integers(1, most))
    mass = st.one_of(st.just(0.0), st.floats(1e-12, 1.0), st.sampled_from([1.0, 0.25]))
    found = []
    for _ in range(2):
        p = np.array(draw(st.lists(mass, min_size=n, max_size=n)))
        if p.sum() == 0.0:
            p[draw(st.integers(0, n - 1))] = 1.0
        found.append(p / p.sum())
    return found[0], found[1]


gammas = st.sampled_from([0.05, 0.3, 0.5, 0.9, 0.999, 1.0, 1.001, 1.25, 1.5, 2.0, 3.7])


@calm
@given(pairs(), gammas)
def test_tsallis_divergence_equals_brute_force_over_all_sets(pair: Any, gamma: float) -> None:
    p, q = pair
    oracle, found = float(naive.tsallis_divergence(p, q, gamma)), float(hn.tsallis_divergence(p, q, gamma))
    assert found == oracle or abs(found - oracle) <= 1e-10 * max(1.0, abs(oracle))


@calm
@given(pairs(), st.sampled_from([0.0, 1e-9, 0.01, 0.1, 0.3, 0.7, 0.99]))
def test_max_divergence_equals_brute_force_over_all_sets(pair: Any, delta: float) -> None:
    p, q = pair
    oracle = float(naive.max_divergence(p, q, delta))
    found = float(hn.max_divergence(p, q, delta))
    # A set with P(B) - delta at the rounding of a sum of floats has no stable logarithm.
    near = delta > 0.0 and any(abs(sum(p[list(B)]) - delta) < 1e-13 for B in naive.subsets(p.size))
    assert near or found == oracle or abs(found - oracle) <= 1e-10 * max(1.0, abs(oracle))


@calm
@given(pairs(), st.floats(0.0, 5.0))
def test_hockey_stick_equals_brute_force_over_all_sets(pair: Any, epsilon: float) -> None:
    p, q = pair
    assert float(hn.hockey_stick(p, q, epsilon)) == pytest.approx(naive.hockey_stick(p, q, epsilon), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_brute_force_on_ten_outcomes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(10, 0.5)), rng.dirichlet(np.full(10, 0.5))
    p[0], q[1] = 0.0, 0.0
    p, q = p / p.sum(), q / q.sum()
    member = np.array(list(itertools.product([False, True], repeat=10)))[1:]
    P, Q = member @ p, member @ q
    for delta in (0.05, 0.3, 0.6):
        inside = delta < P
        with np.errstate(divide="ignore"):
            oracle = np.log((P[inside] - delta) / Q[inside]).max()
        assert hn.max_divergence(p, q, delta) == pytest.approx(oracle, rel=1e-10)
    for gamma in (0.2, 0.5, 0.8):
        oracle = ((P ** (1 - gamma) - Q ** (1 - gamma)) / (1 - gamma)).max()
        assert hn.tsallis_divergence(p, q, gamma) == pytest.approx(oracle, rel=1e-10)
    assert hn.max_divergence(p, q) == math.inf
    assert hn.tsallis_divergence(p, q, 1.5) == math.inf
    # Without the outcome of probability 0 under Q, gamma >= 1 is finite.
    p, q, member = np.delete(p, 1), np.delete(q, 1), member[:511, 1:]
    p, q, P, Q = p / p.sum(), q / q.sum(), member @ (p / p.sum()), member @ (q / q.sum())
    for gamma in (1.3, 2.0):
        with np.errstate(divide="ignore"):
            terms = (P[P > 0] ** (1 - gamma) - Q[P > 0] ** (1 - gamma)) / (1 - gamma)
        assert hn.tsallis_divergence(p, q, gamma) == pytest.approx(terms.max(), rel=1e-10)


@calm
@given(pairs(), gammas, gammas)
def test_increasing_in_gamma(pair: Any, one: float, two: float) -> None:
    low, high = sorted((one, two))
    below, above = hn.tsallis_divergence(*pair, low), hn.tsallis_divergence(*pair, high)
    assert below <= above * (1.0 + 1e-12) + 1e-12


@calm
@given(pairs())
def test_gamma_one_is_the_max_divergence_and_its_limit(pair: Any) -> None:
    exact = hn.tsallis_divergence(*pair, 1.0)
    assert exact == max(hn.max_divergence(*pair), 0.0) or exact == pytest.approx(hn.max_divergence(*pair), abs=1e-15)
    if math.isfinite(exact):
        assert hn.tsallis_divergence(*pair, 1.0 + 1e-9) == pytest.approx(exact, rel=1e-6, abs=1e-9)


@calm
@given(pairs(), pairs(), gammas, st.integers(0, 2**30))
def test_triangle_inequality_without_delta(one: Any, two: Any, gamma: float, seed: int) -> None:
    p, q = one
    m = np.random.default_rng(seed).dirichlet(np.ones(p.size))
    through = hn.tsallis_divergence(p, m, gamma) + hn.tsallis_divergence(m, q, gamma)
    assert hn.tsallis_divergence(p, q, gamma) <= through * (1.0 + 1e-9) + 1e-9


def test_triangle_inequality_fails_with_delta() -> None:
    p, m, q = [0.1, 0.9], [0.0, 1.0], [0.0, 1.0]
    assert hn.max_divergence(p, q, 0.05) == math.inf
    p, m, q = [0.2, 0.8], [0.1, 0.9], [0.0, 1.0]
    assert hn.max_divergence(p, m, 0.1) + hn.max_divergence(m, q, 0.1) < hn.max_divergence(p, q, 0.1) == math.inf


@calm
@given(pairs(), gammas, st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_deterministic_post_processing_never_increases(pair: Any, gamma: float, labels: list[int]) -> None:
    p, q = pair
    image = np.zeros((2, 3))
    for i in range(p.size):
        image[:, labels[i]] += p[i], q[i]
    image /= image.sum(axis=1, keepdims=True)
    before = hn.tsallis_divergence(p, q, gamma)
    assert hn.tsallis_divergence(image[0], image[1], gamma) <= before * (1.0 + 1e-9) + 1e-9
    for delta in (0.0, 0.2):
        before = hn.max_divergence(p, q, delta)
        assert hn.max_divergence(image[0], image[1], delta) <= before + 1e-9


def test_random_post_processing_can_increase_the_divergence_for_gamma_above_one() -> None:
    """Each outcome is split at random into four equal parts: the terms grow by 4^(gamma-1)."""
    p, q = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    assert hn.tsallis_divergence(p, q, 2.0) == pytest.approx(2.0, rel=1e-14)
    assert hn.tsallis_divergence(np.repeat(p / 4, 4), np.repeat(q / 4, 4), 2.0) == pytest.approx(8.0, rel=1e-14)
    assert hn.tsallis_divergence(np.repeat(p / 4, 4), np.repeat(q / 4, 4), 1.5) == pytest.approx(
        2.0 * hn.tsallis_divergence(p, q, 1.5), rel=1e-14
    )
    # gamma <= 1: no increase.
    for gamma in (0.5, 1.0):
        split = hn.tsallis_divergence(np.repeat(p / 4, 4), np.repeat(q / 4, 4), gamma)
        assert split <= hn.tsallis_divergence(p, q, gamma) + 1e-14


@calm
@given(pairs(), st.floats(0.0, 0.9))
def test_hockey_stick_inverts_the_approximate_divergence(pair: Any, delta: float) -> None:
    """D_inf^delta <= eps iff the hockey stick at eps is at most delta, for eps >= 0."""
    p, q = pair
    epsilon = hn.max_divergence(p, q, delta)
    if 0.0 <= epsilon < 700.0:
        assert hn.hockey_stick(p, q, epsilon) == pytest.approx(delta, abs=1e-9)
        assert hn.hockey_stick(p, q, epsilon + 1e-3) <= delta + 1e-12
    elif epsilon < 0.0:
        assert hn.hockey_stick(p, q, 0.0) <= delta + 1e-12


def test_divergence_of_a_distribution_from_itself() -> None:
    p = np.array([0.2, 0.0, 0.8])
    for gamma in (0.3, 1.0, 2.0):
        assert hn.tsallis_divergence(p, p, gamma) == 0.0
    assert hn.max_divergence(p, p) == 0.0
    assert hn.max_divergence(p, p, 0.3) == pytest.approx(math.log(0.7), rel=1e-15)
    assert hn.hockey_stick(p, p, 0.0) == 0.0


def test_infinite_exactly_when_the_lost_mass_exceeds_delta() -> None:
    p, q = [0.25, 0.25, 0.5], [0.0, 0.5, 0.5]
    assert hn.max_divergence(p, q) == math.inf
    assert hn.max_divergence(p, q, 0.2499999) == math.inf
    assert hn.max_divergence(p, q, 0.25) == pytest.approx(0.0, abs=1e-15)  # B = {0, 2}: (0.75 - 0.25)/0.5
    assert hn.tsallis_divergence(p, q, 0.5) == pytest.approx(1.0, rel=1e-14)  # B = {0}: 2 (sqrt 0.25 - 0)


def test_tiny_masses_keep_their_digits() -> None:
    p, q = np.array([1e-200, 1.0 - 1e-200]), np.array([1e-201, 1.0 - 1e-201])
    assert hn.max_divergence(p, q) == pytest.approx(math.log(10.0), rel=1e-13)
    assert hn.tsallis_divergence(p, q, 2.0) == pytest.approx(9e200, rel=1e-13)
    # p^-2 overflows, and the divergence of a play from itself is still 0
    assert hn.tsallis_divergence(p, p, 3.0) == 0.0
    assert hn.tsallis_divergence(p, q, 3.0) == math.inf  # 4.95e401
    near = 0.3 * (1.0 + 1e-13)
    found = hn.max_divergence([near, 1.0 - near], [0.3, 0.7])
    assert found == pytest.approx(float(mp.log(mp.mpf(near) / mp.mpf(0.3))), rel=1e-12)


def test_batches_along_the_last_axis() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), size=(3, 2)), rng.dirichlet(np.ones(4), size=2)
    for function in (
        lambda a, b: hn.max_divergence(a, b, 0.1),
        lambda a, b: hn.max_divergence(a, b),
        lambda a, b: hn.tsallis_divergence(a, b, 0.4),
        lambda a, b: hn.tsallis_divergence(a, b, 2.0),
        lambda a, b: hn.hockey_stick(a, b, 0.2),
    ):
        batch = function(p, q)
        assert batch.shape == (3, 2)
        assert all(batch[i, j] == function(p[i, j], q[j]) for i in range(3) for j in range(2))
    assert np.ndim(hn.max_divergence(p[0, 0], q[0])) == 0


@pytest.mark.parametrize("gamma", [0.05, 0.5, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 1.5, 2.0, 7.0])
def test_tsallis_log_against_mpmath(gamma: float) -> None:
    x = np.array([1e-30, 1e-3, 0.5, 1.0 - 1e-12, 1.0, 3.0, 1e10])
    for value, found in zip(x, hn.tsallis_log(x, gamma), strict=True):
        assert found == pytest.approx(float(naive.tsallis_log(value, gamma)), rel=1e-13, abs=1e-25)


def test_tsallis_log_at_zero() -> None:
    assert hn.tsallis_log(0.0, 0.5) == -2.0
    assert hn.tsallis_log(0.0, 1.0) == -math.inf
    assert hn.tsallis_log(0.0, 2.0) == -math.inf
