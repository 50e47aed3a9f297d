"""Private mechanisms: correlated Gaussian noise and randomized response.

Correlated noise keeps prefix sums of losses private. The prefix sums of a sequence are its product with the lower
triangular matrix of ones. That matrix is factored into B C, both lower triangular Toeplitz matrices with first columns
b and c whose convolution is (1, 1, 1, ...). The mechanism releases C losses + white noise. Every noisy prefix sum is B
times that, so its noise is B times the white noise.

Randomized response reports a number in [0, 1] as 0 or 1, with exact differential privacy for delta = 0. The probability
of a report is a multiple of 2^-53 between two limits whose ratio is at most e^epsilon. A report compares 53 random bits
with an integer, so that no rounding of floating-point numbers enters the guarantee.
"""

from __future__ import annotations

import functools
import math
import os
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.saving import frozen
from hannan.validation import Array

#: Number of decay rates of c; b has one more, the constant one.
STATES = 6
#: The largest and the smallest distance of a decay rate from 1, as -log(rate).
SLOWEST, FASTEST = 2e-7, 1.0


def _exponents() -> tuple[Array, Array]:
    """Return (x of lambda_1..k, x of nu_0..k) with rate = exp(-x), alternating in geometric progression."""
    points = SLOWEST * (FASTEST / SLOWEST) ** (np.arange(2 * STATES) / (2 * STATES - 1))
    return points[0::2], np.concatenate([[0.0], points[1::2]])


@frozen
class CorrelatedNoise:
    """Factorization of prefix sums that the package uses, and the corresponding stream of noise.

    The generating functions of b and c are rational,

        b(x) = prod_i (1 - lambda_i x)/prod_j (1 - nu_j x) = 1/((1 - x) c(x)),

    with interlacing rates 1 = nu_0 > lambda_1 > nu_1 > ... > lambda_k > nu_k > 0, so that b * c = (1, 1, ...) holds
    identically, for any choice of the rates: b_n = sum_j beta_j nu_j^n and c_n = sum_i a_i lambda_i^n for n >= 1. One
    coordinate of the noise therefore needs k + 1 numbers, u_j <- nu_j u_j + z with one standard normal z per round,
    and equals sigma sum_j beta_j u_j.

    Notes
    -----
    Dvijotham, McMahan, Pillutla, Steinke and Thakurta (2024) introduced factorizations of this form. Proofs are in
    docs/proofs/private.md.

    Examples
    --------
    >>> noise = CorrelatedNoise()
    >>> round(noise.cost(9_999), 3)  # sqrt(n) = 100 for noise that is drawn afresh in every round
    4.009
    >>> bool(abs(np.convolve(noise.rows(50), noise.columns(50))[:50] - 1.0).max() < 1e-13)
    True
    """

    @property
    def decay(self) -> Array:
        """Decay rates nu_0 = 1, nu_1, ..., nu_k of the states."""
        return np.exp(-_exponents()[1])

    @property
    def weights(self) -> Array:
        """Weights beta_0, ..., beta_k of the states; they are positive and sum to 1."""
        return _partial_fractions()[1]

    def rows(self, n: int) -> Array:
        """Return b_0, ..., b_{n-1}, the noise at each round for one unit of white noise in the first."""
        return np.power.outer(self.decay, np.arange(n)).T @ self.weights

    def columns(self, n: int) -> Array:
        """Return c_0, ..., c_{n-1}."""
        slow, _ = _exponents()
        rest = np.exp(-np.multiply.outer(np.arange(n, dtype=np.float64), slow)) @ _partial_fractions()[0]
        rest[:1] = 1.0
        return rest

    def row_norm(self, n: int) -> float:
        """Return ||B_n|| = sqrt(b_0^2 + ... + b_{n-1}^2): the standard deviation after n rounds, per unit of sigma."""
        return float(self.row_norms(np.array([validation.count(n, "n", least=0)]))[0])

    def row_norms(self, n: NDArray[np.int64]) -> Array:
        """Return ||B_n|| for an array of integers n >= 0."""
        beta, (_, nu) = self.weights, _exponents()
        return np.sqrt([_power_sums(beta, nu, float(count)) for count in n])

    def column_norm(self, n: float = math.inf) -> float:
        """Return ||C||_n = sqrt(c_0^2 + ... + c_{n-1}^2): sensitivity per unit; `n` may be infinite."""
        if n == 0:
            return 0.0
        slow, _ = _exponents()
        a = _partial_fractions()[0]
        return math.sqrt(1.0 + _power_sums(a * np.exp(-slow), slow, n - 1))

    def cost(self, n: int) -> float:
        """Return gamma_n = ||B_n|| ||C||_n, the standard deviation of the last noise if the whole game has mu = 1."""
        return self.row_norm(n) * self.column_norm(n)


def _power_sums(weights: Array, exponents: Array, n: float) -> float:
    """Return sum_{t < n} (sum_j weights_j e^(-exponents_j t))^2."""
    total = np.add.outer(exponents, exponents)
    if math.isinf(n):
        with np.errstate(divide="ignore"):
            sums = 1.0 / -np.expm1(-total)
    else:
        zero = total == 0.0
        sums = np.where(zero, float(n), np.expm1(-n * total) / np.expm1(-np.where(zero, 1.0, total)))
    return float(weights @ sums @ weights)


@functools.cache
def _partial_fractions() -> tuple[Array, Array]:
    """Return (a, beta). Differences of rates go through expm1: plain products would lose ten digits."""
    slow, fast = _exponents()

    def gap(x: float, y: Array) -> Array:
        # 1 - e^-y/e^-x, exact for nearly equal exponents.
        return -np.expm1(x - y)

    a = np.array([np.prod(gap(x, fast[1:])) / np.prod(gap(x, np.delete(slow, i))) for i, x in enumerate(slow)])
    beta = np.array([np.prod(gap(x, slow)) / np.prod(gap(x, np.delete(fast, j))) for j, x in enumerate(fast)])
    a.setflags(write=False)
    beta.setflags(write=False)
    return a, beta


#: Number of random bits per report.
BITS = 53
#: Smallest epsilon: below it, the two probabilities differ by too few multiples of 2^-53.
LEAST = 1e-6


@frozen
class RandomizedResponse:
    """Report x in [0, 1] as 1 with probability 1/2 + tau (x - 1/2), and as 0 otherwise, tau = tanh(epsilon/2).

    The likelihood ratio of two numbers is at most (1 + tau)/(1 - tau) = e^epsilon.

    Examples
    --------
    >>> response = RandomizedResponse(1.0)
    >>> round(response.factor, 3), response.limits[1] / response.limits[0] <= math.exp(1.0)
    (2.164, True)
    >>> sorted(set(response.reports(np.full(100, 0.5)).tolist()))
    [0.0, 1.0]
    """

    epsilon: float

    def __post_init__(self) -> None:
        epsilon = validation.positive(self.epsilon, "epsilon")
        if epsilon < LEAST:
            raise ValueError(f"epsilon must be at least {LEAST:g}; got {epsilon!r}")
        object.__setattr__(self, "epsilon", epsilon)

    @functools.cached_property
    def limits(self) -> tuple[int, int]:
        """Probabilities of a report of 1 for the numbers 0 and 1, in units of 2^-53."""
        # 2^53/(1 + e^epsilon), rounded up by more than the error of the exponential.
        least = Fraction(2**BITS) / (1 + Fraction(math.exp(min(self.epsilon, 700.0))) * Fraction(1 - 2.0**-48))
        return math.ceil(least), 2**BITS - math.ceil(least)

    @functools.cached_property
    def contrast(self) -> float:
        """Difference tau of the two probabilities."""
        low, high = self.limits
        return (high - low) * 2.0**-BITS

    @property
    def factor(self) -> float:
        """Factor 1/tau = coth(epsilon/2), by which bounds on the regret are multiplied."""
        return 1.0 / self.contrast

    def thresholds(self, x: Array) -> NDArray[np.int64]:
        """Return the probabilities of a report of 1, in units of 2^-53, for numbers in [0, 1]."""
        low, high = self.limits
        found = low + np.rint(x * (high - low)).astype(np.int64)
        return np.clip(found, low, high)

    def reports(self, x: Array, coins: NDArray[np.uint64] | None = None) -> Array:
        """Return reports of numbers in [0, 1]; `coins` are 64 random bits per number (default: operating system)."""
        if coins is None:
            coins = np.frombuffer(os.urandom(8 * len(x)), dtype="<u8")
        return np.where((coins >> np.uint64(64 - BITS)).astype(np.int64) < self.thresholds(x), 1.0, 0.0)

    def report(self, x: float, coin: bytes | None = None) -> float:
        """Return the report of one number in [0, 1]; `coin` has eight random bytes (default: operating system)."""
        low, high = self.limits
        drawn = int.from_bytes(os.urandom(8) if coin is None else coin, "little") >> (64 - BITS)
        return 1.0 if drawn < min(max(low + round(x * (high - low)), low), high) else 0.0

    def estimate(self, total: float, count: int) -> float:
        """Return the unbiased estimate of the sum of `count` numbers from the sum of their reports."""
        return 0.5 * count + (total - 0.5 * count) * self.factor
