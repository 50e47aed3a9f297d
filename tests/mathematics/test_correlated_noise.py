"""The correlated noise stream: exact factorization, closed forms, stored reference values, and private transcripts."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from hannan.mathematics.convex.noise import GaussianNoise
from hannan.mathematics.mechanisms import CorrelatedNoise

NOISE = CorrelatedNoise()


@dataclasses.dataclass(frozen=True)
class OneWeightChanged(CorrelatedNoise):
    """A control: one state of the noise has 1.001 times its weight."""

    @property
    def weights(self):
        return CorrelatedNoise().weights * np.where(np.arange(7) == 3, 1.001, 1.0)


def prefix_sum_error(noise, n=10_000):
    return np.abs(np.convolve(noise.rows(n), noise.columns(n))[:n] - 1.0).max()


def test_factors_multiply_to_the_prefix_sums():
    assert prefix_sum_error(NOISE) < 1e-12


def test_control_a_changed_weight_breaks_the_factorization():
    assert prefix_sum_error(OneWeightChanged()) > 1e-6


def test_states_reproduce_the_rows():
    states, impulse = np.zeros(7), []
    for t in range(200):
        states = NOISE.decay * states + (t == 0)
        impulse.append(NOISE.weights @ states)
    assert np.abs(np.array(impulse) - NOISE.rows(200)).max() < 1e-15


@pytest.mark.parametrize("n", [1, 2, 17, 9_999])
def test_closed_norms_equal_sums(n):
    assert NOISE.row_norm(n) == pytest.approx(math.sqrt((NOISE.rows(n) ** 2).sum()), rel=1e-12)
    assert NOISE.column_norm(n) == pytest.approx(math.sqrt((NOISE.columns(n) ** 2).sum()), rel=1e-12)


def test_weights_are_positive_and_sum_to_one():
    assert (NOISE.weights > 0).all()
    assert NOISE.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.diff(NOISE.row_norms(np.arange(100))) > 0)


@pytest.mark.parametrize(
    ("n", "cost"), [(999, 3.273), (9_999, 4.009), (99_999, 4.745), (999_999, 5.481), (9_999_999, 6.294)]
)
def test_cost_of_the_shipped_stream(n, cost):
    assert NOISE.cost(n) == pytest.approx(cost, abs=6e-4)
    nuclear = (0.5 / np.sin((2 * np.arange(1, n + 1) - 1) * np.pi / (4 * n + 2))).sum() / n
    assert nuclear < NOISE.cost(n) < math.sqrt(n)


def test_distance_of_a_shift_equals_the_column_norm():
    """A loss in round r shifts all later sums; the distance of that shift in units of the noise is ||C||_{n - r}."""
    n = 300
    rows = NOISE.rows(n)
    B = np.array([[rows[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])
    shifts = np.tril(np.ones((n, n)))
    distances = np.linalg.norm(np.linalg.solve(B, shifts), axis=0)
    norms = np.array([NOISE.column_norm(n - r) for r in range(n)])
    assert np.abs(distances / norms - 1.0).max() < 1e-12


# Exact transcripts: two experts, the leader of the noisy sums, up to three moves after the first.

NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)


def half_line(low, high):
    """Return nodes and weights of the normal density on intervals, cut at nine standard deviations."""
    low, high = np.clip(low, -9, 9), np.clip(high, -9, 9)
    z = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * NODES
    return z, (high - low)[:, None] / 2 * WEIGHTS * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def probability(factor, mean, signs):
    """Return P(sign of (mean + factor z)_t = signs_t for all t), for a lower triangular factor."""
    z, weight = np.zeros((1, 0)), np.ones(1)
    for t, sign in enumerate(signs):
        edge = -(mean[t] + z @ factor[t, :t]) / factor[t, t]
        if t + 1 == len(signs):
            return float(weight @ (ndtr(-edge) if sign > 0 else ndtr(edge)))
        found, share = half_line(*((edge, np.full_like(edge, 9.0)) if sign > 0 else (np.full_like(edge, -9.0), edge)))
        z = np.hstack([np.repeat(z, len(NODES), 0), found.reshape(-1, 1)])
        weight = (weight[:, None] * share).ravel()
    raise AssertionError


def transcripts(factor, losses, protected, value):
    """Return the probability of each transcript; `losses` is a tree over moves, `value` the protected difference."""
    n = len(factor)
    chances = {}
    for moves in itertools.product((1, -1), repeat=n):
        seen = [value if t == protected else losses[moves[:t]] for t in range(n)]
        chances[moves] = probability(factor, np.cumsum(seen), moves)
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-9)
    return chances


def exceeded(factor, claimed_mu, tries, epsilons, rng):
    """Return the largest ratio of the exact delta to the claimed delta over random adaptive losses."""
    n, worst = len(factor), 0.0
    for _ in range(tries):
        tree = {
            p: rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0]) for t in range(n) for p in itertools.product((1, -1), repeat=t)
        }
        for protected in range(n):
            mu = claimed_mu(n - protected)
            p, q = (transcripts(factor, tree, protected, value) for value in (1.0, 0.0))
            for epsilon in epsilons:
                lost = (sum(max(a[m] - math.exp(epsilon) * b[m], 0.0) for m in p) for a, b in ((p, q), (q, p)))
                worst = max(worst, max(lost) / GaussianNoise().delta_of(epsilon, mu, 1.0))
    return worst


def leader(n, sigma):
    rows = NOISE.rows(n)
    return math.sqrt(2.0) * sigma * np.array([[rows[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])


def claimed(sigma):
    return lambda left: math.sqrt(0.5) * NOISE.column_norm(left) / sigma


@pytest.mark.parametrize(("n", "tries"), [(1, 10), (2, 20), (3, 4)])
def test_exact_transcripts_stay_within_the_claimed_delta(n, tries):
    rng = np.random.default_rng(n)
    for sigma in (0.4, 0.8):
        assert exceeded(leader(n, sigma), claimed(sigma), tries, (0.0, 0.3, 1.0), rng) <= 1.0


def test_control_half_of_mu_is_exceeded():
    half = lambda left: 0.5 * claimed(0.8)(left)  # noqa: E731
    assert exceeded(leader(2, 0.8), half, 10, (0.3, 1.0), np.random.default_rng(0)) > 1.5


def test_control_fresh_noise_of_the_same_levels_is_exceeded():
    n, sigma = 3, 0.8
    levels = math.sqrt(2.0) * sigma * NOISE.row_norms(np.arange(1, n + 1))
    assert exceeded(np.diag(levels), claimed(sigma), 10, (0.0, 0.3), np.random.default_rng(1)) > 1.05


def test_control_without_noise_a_move_reveals_the_loss():
    """After losses (1, 0) the leader is certain; without them the tie is even: delta = 1/2 for every epsilon."""
    assert GaussianNoise().delta_of(0.5, 0.5, 1.0) < 0.5
    assert exceeded(1e-9 * np.eye(1), lambda left: 0.5, 5, (0.5,), np.random.default_rng(2)) > 1.0
