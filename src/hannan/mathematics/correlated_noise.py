"""Gaussian noise that is correlated over rounds, so that prefix sums of losses stay private.

The prefix sums of a sequence are its product with the lower triangular matrix of ones. That matrix is factored into
B C, both lower triangular Toeplitz matrices with first columns b and c whose convolution is (1, 1, 1, ...). The
mechanism releases C losses + white noise. Every noisy prefix sum is B times that, so its noise is B times the white
noise.
"""

from __future__ import annotations

import functools
import math

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
    """The shipped factorization of prefix sums, and the noise stream that belongs to it.

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
        """Return gamma_n = ||B_n|| ||C||_n: standard deviation of the last noise when the whole game has mu = 1."""
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
