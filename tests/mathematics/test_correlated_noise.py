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
    """After losses (1, 0) the leader is certain; without them both experts have probability 1/2.

    Therefore delta = 1/2 for every epsilon.
    """
    assert GaussianNoise().delta_of(0.5, 0.5, 1.0) < 0.5
    assert exceeded(1e-9 * np.eye(1), lambda left: 0.5, 5, (0.5,), np.random.default_rng(2)) > 1.0


# Reference implementations.

#: n: (sensitivity, root of the largest error variance) of the shipped rates, from jax-privacy 2.0.0 in 64 bits:
#: sensitivity_squared(strategy, n) and max_error(strategy.inverse(), n) of matrix_factorization.buffered_toeplitz.
JAX_PRIVACY = {
    9: (1.3235681965118595, 1.3295724501505413),
    99: (1.584216000916898, 1.5993120709424458),
    999: (1.7926171015673265, 1.8258063916799872),
    9_999: (1.9771323073496148, 2.027713837119427),
    99_999: (2.149754439593537, 2.207041238574461),
}
#: Sensitivity squared of the square-root factorization, from its optimal_max_error_strategy_coefs and toeplitz module.
JAX_ROOT = {999: 3.264684531884621, 9_999: 3.9979784576862647}


def relative_error(noise, n):
    columns, rows = JAX_PRIVACY[n]
    return abs(noise.column_norm(n) / columns - 1.0), abs(noise.row_norm(n) / rows - 1.0)


@pytest.mark.parametrize("n", JAX_PRIVACY)
def test_norms_equal_those_of_jax_privacy(n):
    columns, rows = relative_error(NOISE, n)
    assert columns < 1e-9
    # Its inverse is computed numerically, with an error of up to 4e-8 for these rates.
    assert rows < 1e-7


def test_control_another_stream_has_other_norms():
    assert abs(OneWeightChanged().row_norm(999) / JAX_PRIVACY[999][1] - 1.0) > 1e-6


@pytest.mark.parametrize("n", JAX_ROOT)
def test_cost_is_close_to_that_of_the_square_root(n):
    coefficients = np.cumprod(np.concatenate([[1.0], (np.arange(1, n) - 0.5) / np.arange(1, n)]))
    root = float((coefficients**2).sum())
    assert root == pytest.approx(JAX_ROOT[n], rel=1e-10)
    assert root < NOISE.cost(n) < 1.0033 * root


def test_increase_of_the_noise_covers_the_rounding_of_the_constants():
    """Factor the stream of the engine's doubles exactly; its sensitivity is that of the closed form in doubles."""
    import mpmath as mp

    from hannan.learners.game_privacy import ROUNDING

    with mp.workdps(60):
        nu, beta = ([mp.mpf(float(x)) for x in part] for part in (NOISE.decay, NOISE.weights))
        # With y = 1/x, b(x) = y f(y) and c(x) = 1/((y - 1) f(y)), f(y) = sum_j beta_j/(y - nu_j), whose zeros are the
        # decay rates of c.
        slow, slopes = [], []
        for i in range(6):
            y = mp.exp(-mp.mpf(2e-7) * (1 / mp.mpf(2e-7)) ** (mp.mpf(2 * i) / 11))
            for _ in range(6):  # Newton's method, from the rate before rounding
                slope = -mp.fsum(w / (y - x) ** 2 for w, x in zip(beta, nu, strict=True))
                y -= mp.fsum(w / (y - x) for w, x in zip(beta, nu, strict=True)) / slope
            slow.append(y)
            slopes.append(slope)
        a = [1 / ((y - 1) * slope * y) for y, slope in zip(slow, slopes, strict=True)]
        for n in (1, 2, 1000, 10**6, math.inf):
            total = 1 / mp.fsum(beta) ** 2
            for x, p in zip(a, slow, strict=True):
                for y, q in zip(a, slow, strict=True):
                    grown = mp.mpf(0) if n == math.inf else (p * q) ** (n - 1)
                    total += x * y * p * q * (1 - grown) / (1 - p * q)
            excess = float(mp.sqrt(total) / mp.mpf(NOISE.column_norm(float(n))) - 1)
            assert abs(excess) < 4e-12 < ROUNDING


# More exact transcripts: four moves, the worst tree by climbing, many moves without losses, and three experts.


def test_exact_transcripts_of_four_moves():
    """Random adaptive trees; fresh noise of the same levels exceeds the claim in the game without further losses."""
    n, sigma, epsilons = 4, 1.0, (0.0, 0.3)
    factor, rng = leader(n, sigma), np.random.default_rng(9)
    assert 0.6 < exceeded_at(factor, claimed(sigma)(n), rng, 2, epsilons) <= 1.0
    levels = math.sqrt(2.0) * sigma * NOISE.row_norms(np.arange(1, n + 1))
    assert exceeded_at(np.diag(levels), claimed(sigma)(n), rng, 1, epsilons) > 1.1


def exceeded_at(factor, mu, rng, trees, epsilons):
    """Return the largest ratio of the exact delta to the claimed one if the first loss is protected."""
    n, worst = len(factor), 0.0
    for k in range(trees):
        tree = {
            p: rng.choice([-1.0, 0.0, 1.0]) if k else 0.0
            for t in range(n)
            for p in itertools.product((1, -1), repeat=t)
        }
        p, q = (transcripts(factor, tree, 0, value) for value in (1.0, 0.0))
        worst = max(worst, *(lost(p, q, epsilon) / GaussianNoise().delta_of(epsilon, mu, 1.0) for epsilon in epsilons))
    return worst


def lost(p, q, epsilon):
    """Return the exact delta at epsilon of two distributions of transcripts, in the worse direction."""
    return max(sum(max(a[m] - math.exp(epsilon) * b[m], 0.0) for m in p) for a, b in ((p, q), (q, p)))


@pytest.mark.slow
def test_no_climb_over_trees_of_losses_exceeds_the_claim():
    from scipy.optimize import minimize

    n, sigma, rng = 3, 0.8, np.random.default_rng(0)
    factor, nodes = leader(n, sigma), [p for t in range(n) for p in itertools.product((1, -1), repeat=t)]
    mu, found = claimed(sigma)(n), []

    def ratio(losses, epsilon):
        tree = dict(zip(nodes, np.clip(losses, -1.0, 1.0), strict=True))
        p, q = (transcripts(factor, tree, 0, value) for value in (1.0, 0.0))
        return lost(p, q, epsilon) / GaussianNoise().delta_of(epsilon, mu, 1.0)

    for epsilon in (0.0, 1.0):
        for _ in range(2):
            start = rng.uniform(-1.0, 1.0, len(nodes))
            climbed = minimize(
                lambda x, at=epsilon: -ratio(x, at), start, method="Nelder-Mead", options={"maxfev": 100}
            )
            found.append(-climbed.fun)
    assert 0.85 < max(found) <= 1.0


def binomial_delta(n, gap, epsilon):
    """Return the exact delta of n independent moves with probability Phi(-gap), compared with fair coins."""
    from scipy.stats import binom

    counts = np.arange(n + 1)
    p, q = (np.exp(binom.logpmf(counts, n, chance)) for chance in (ndtr(-gap), 0.5))
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum()) for a, b in ((p, q), (q, p)))


@pytest.mark.parametrize(("n", "ratio"), [(10, 1.7), (100, 4.8), (1000, 13.4), (10_000, 36.0)])
def test_control_fresh_noise_is_exceeded_more_in_longer_games(n, ratio):
    """Two experts, one loss (1, 0) and no further one: n moves with fresh noise of standard deviation sqrt(n + 1)/2."""
    level = math.sqrt(n + 1) / 2.0
    mu = math.sqrt(0.5) * NOISE.cost(n) / level
    found = binomial_delta(n, 1.0 / (math.sqrt(2.0) * level), mu / 2.0)
    assert found / GaussianNoise().delta_of(mu / 2.0, mu, 1.0) > ratio


def test_three_experts_and_one_move():
    """The sensitivity of three experts is sqrt(2/3), not sqrt(3)/2, and a smaller one is exceeded."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights, rng, worst = weights / weights.sum(), np.random.default_rng(9), np.zeros(2)

    def chances(losses, sigma):
        z = losses[:, None] + sigma * nodes
        return np.array([
            weights @ np.prod([ndtr(-(z[i] - losses[j]) / sigma) for j in range(3) if j != i], axis=0) for i in range(3)
        ])  # fmt: skip

    for sigma in (0.3, 0.6, 1.0, 2.0):
        for _ in range(150):
            losses = rng.uniform(-2.0, 2.0, 3)
            one = np.array([1.0, 0.0, 0.0]) if rng.random() < 0.5 else np.array([1.0, 1.0, 0.0])
            p, q = (dict(enumerate(chances(row, sigma))) for row in (losses, losses + one))
            for epsilon in (0.0, 0.5, 1.0):
                delta = lost(p, q, epsilon)
                for k, size in enumerate((math.sqrt(2.0 / 3.0), math.sqrt(0.5))):
                    worst[k] = max(worst[k], delta / GaussianNoise().delta_of(epsilon, size / sigma, 1.0))
    assert 0.9 < worst[0] <= 1.0 < worst[1]
