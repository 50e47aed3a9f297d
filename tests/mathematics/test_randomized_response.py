"""Randomized response: exact likelihood ratios, frequencies, estimates."""

import math
from fractions import Fraction

import numpy as np
import pytest
from rejections import rejected

from hannan.mathematics.mechanisms import BITS, RandomizedResponse


def exponential(epsilon):
    """Return a rational number below e^epsilon, from the series, for epsilon <= 64."""
    x, term, total = Fraction(epsilon), Fraction(1), Fraction(0)
    for k in range(1, 400):
        total += term
        term = term * x / k
    return total


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 2.0, 8.0, 20.0, 36.0, 40.0, 64.0])
def test_likelihood_ratio_is_at_most_e_to_epsilon_in_exact_arithmetic(epsilon):
    low, high = RandomizedResponse(epsilon).limits
    assert Fraction(high, low) <= exponential(epsilon)
    assert Fraction(2**BITS - low, 2**BITS - high) <= exponential(epsilon)
    # Tight: 1% more would exceed the level, unless a probability is one unit.
    assert low <= 200 or Fraction(high, low) * Fraction(101, 100) > exponential(epsilon)


def test_control_rounded_probabilities_of_floats_exceed_it():
    """tanh(20) rounds to 1, so that a report of 1 for a loss of 0 would be impossible."""
    tau = math.tanh(20.0)
    assert 0.5 + tau * (0.0 - 0.5) == 0.0
    assert RandomizedResponse(40.0).limits[0] >= 1


def test_factors_of_the_note():
    assert [round(RandomizedResponse(e).factor, 3) for e in (0.5, 1.0, 2.0)] == [4.083, 2.164, 1.313]


def test_reports_of_one_number_and_of_many_agree():
    response, rng = RandomizedResponse(1.3), np.random.default_rng(0)
    x, coins = rng.random(500), rng.integers(0, 2**64, 500, dtype=np.uint64)
    x[:2] = 0.0, 1.0
    many = response.reports(x, coins)
    assert many.tolist() == [response.report(a, int(b).to_bytes(8, "little")) for a, b in zip(x, coins, strict=True)]


def test_frequencies_and_estimates():
    """Coins of the operating system; 6 standard errors: false alarm in 1e-8 of the runs."""
    response, count = RandomizedResponse(1.0), 40_000
    for x in (0.0, 0.3, 1.0):
        reports = response.reports(np.full(count, x))
        right = 0.5 + response.contrast * (x - 0.5)
        assert abs(reports.mean() - right) <= 6.0 * math.sqrt(right * (1.0 - right) / count)
        estimate = response.estimate(reports.sum(), count) / count
        assert abs(estimate - x) <= 6.0 * response.factor * 0.5 / math.sqrt(count)


def test_epsilon_must_be_a_number_that_can_be_kept():
    rejected(lambda: RandomizedResponse(0.0), "epsilon", "0")
    rejected(lambda: RandomizedResponse(1e-7), "epsilon", "1e-07")
