"""Slates: probabilities, draws, one-round costs, bounds, adaptive attacks, live players and games."""

import bisect
import itertools
import math

import numpy as np
import pytest

import hannan as hn
from hannan import _engine
from hannan.mathematics import slates

WORDS = np.array([1, 2, 3, 4], dtype=np.uint64)
WHOLE = 1 << 52


def run_of(n, m, scale=1.0, estimator=1, gamma=0.0):
    return _engine.Slates(n=n, m=m, c=scale, a=1.0, b=0.0, estimator=estimator, gamma=gamma, words=WORDS)


def probabilities(losses, m, scale):
    run = run_of(len(losses), m, scale)
    run.restore(np.ascontiguousarray(losses, dtype=np.float64), 0)
    return run.probabilities()


def cases(rng, count):
    for _ in range(count):
        n = int(rng.integers(2, 40))
        m = int(rng.integers(1, n + 1))
        losses = rng.random(n) * 10.0 ** rng.uniform(-8, 6)
        if rng.random() < 0.3:
            losses = np.round(losses * 3.0) / 3.0  # ties
        yield losses, m, 10.0 ** rng.uniform(-1, 2)


def test_probabilities_are_exact_multiples_that_sum_to_the_size():
    for losses, m, scale in cases(np.random.default_rng(0), 2000):
        exact = probabilities(losses, m, scale) * WHOLE
        assert (exact == np.round(exact)).all()
        assert exact.min() >= 1
        assert exact.max() <= WHOLE
        assert sum(int(x) for x in exact) == m * WHOLE


def test_probabilities_meet_the_conditions_of_the_minimum():
    """Free items share one multiplier; clamped items have a larger one, up to the rounding to 2^-52."""
    for losses, m, scale in cases(np.random.default_rng(1), 2000):
        x = probabilities(losses, m, scale)
        free = (x < 1.0) & (x > 1e-9)
        slope = (losses - losses.min()) / scale - x**-0.5
        if free.any():
            multiplier = slope[free]
            size = 1.0 + np.abs(losses - losses.min()).max() / scale
            tolerance = 1e-13 * size + 2.0**-51 * (x[free] ** -1.5).max()
            assert np.ptp(multiplier) <= tolerance + 1e-12 * np.abs(x[free] ** -0.5).max()
            assert (slope[x == 1.0] <= multiplier.min() + tolerance + 1e-9).all()


def test_control_without_clamping_a_probability_exceeds_one():
    losses, m, scale = np.array([0.0, 0.0, 100.0, 100.0]), 2, 1.0
    low, high = -1e6, 0.0  # the multiplier of the sum alone, by bisection
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ((scale / (losses - middle)) ** 2).sum() < m else (low, middle)
    x = (scale / (losses - low)) ** 2
    assert x.max() <= 1.0  # ties share the sum
    losses = np.array([0.0, 50.0, 100.0, 100.0])
    low, high = -1e6, 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ((scale / (losses - middle)) ** 2).sum() < m else (low, middle)
    assert ((scale / (losses - low)) ** 2).max() > 1.5
    assert probabilities(losses, m, scale).max() == 1.0


@pytest.mark.parametrize(("n", "m"), [(4, 2), (7, 3), (12, 4), (5, 4), (6, 6), (3, 1)])
def test_frequencies_equal_the_probabilities(n, m):
    """Five standard errors per item: a false alarm in 6e-7 of the tests, at most 3e-5 over all items and sizes."""
    draws = 40_000
    rng = np.random.default_rng(n)
    losses = rng.random(n) * 4.0
    run = run_of(n, m, 1.5, estimator=0)
    run.restore(losses, 0)
    x = run.probabilities()
    counts = np.zeros(n)
    for _ in range(draws):
        items, shares, _ = run.act()
        assert len(set(items)) == m
        assert shares == tuple(x[list(items)])
        counts[list(items)] += 1
    errors = np.sqrt(draws * x * (1.0 - x)) + 1e-9
    assert (np.abs(counts - draws * x) <= 5.0 * errors).all()


def test_control_drawing_without_replacement_misses_the_probabilities():
    rng, draws = np.random.default_rng(0), 40_000
    x = probabilities(np.array([0.0, 0.5, 3.0, 3.0]), 2, 1.5)
    counts = np.zeros(4)
    for _ in range(draws):
        counts[rng.choice(4, 2, replace=False, p=x / x.sum())] += 1
    assert (np.abs(counts - draws * x) > 5.0 * np.sqrt(draws * x * (1.0 - x)) + 1e-9).any()


def test_size_one_equals_the_bandit():
    bandit, rng = hn.Bandit(6).start(seed=0), np.random.default_rng(0)
    for t in range(1, 300):
        slate = probabilities(bandit.losses, 1, 0.5 * math.sqrt(t))
        assert np.abs(bandit.distribution() - slate).max() <= 2.0**-45
        bandit.observe(bandit.act(), float(rng.random()))
    assert hn.SlateBandit(8, 1).bound(10_000).value == hn.Bandit(8).bound(10_000).value


@pytest.mark.parametrize(
    ("learner", "value", "against"),
    [
        (hn.SlateBandit(8, 2), 672.3, None),
        (hn.SlateBandit(8, 2, hn.Horizon(10_000)), 423.9, None),
        (hn.SlateBandit(8, 2, hn.Horizon(10_000), hn.ImportanceWeighted()), 800.0, None),
        (hn.SlateBandit.robust(8, 2, 10_000), 1466.1, "any"),
    ],
)
def test_bounds_of_the_table(learner, value, against):
    assert learner.bound(10_000, against=against).value == pytest.approx(value, abs=0.11)


def test_bounds_of_many_items():
    rounds = 10**6
    assert hn.SlateBandit(1000, 10).bound(rounds).value == pytest.approx(224_976, abs=2.0)
    assert hn.SlateBandit(1000, 10, hn.Horizon(rounds)).bound().value == pytest.approx(139_706, abs=2.0)


def test_bound_against_adaptive_adversary_is_withheld_without_implicit_exploration():
    with pytest.raises(hn.Withheld):
        hn.SlateBandit(8, 2).bound(10_000, against="any")


# The cost of one round, exactly over all slates.


def potential(losses, m, scale):
    """Return min over x of <L, x> + s F(x), F(x) = 2 (m - sum sqrt(x_i))."""
    x = probabilities(losses, m, scale)
    return float(losses @ x + 2.0 * scale * (m - np.sqrt(x).sum()))


def chances_of_slates(x, m):
    """Return the probability of each slate under systematic sampling in random order, by enumeration of all orders."""
    n, found = len(x), {}
    exact = [int(share) for share in x * WHOLE]
    for order in itertools.permutations(range(n)):
        ends = [0, *itertools.accumulate(exact[item] for item in order)]
        cuts = sorted({0, WHOLE, *(end % WHOLE for end in ends)})
        for left, right in itertools.pairwise(cuts):
            points = [left + k * WHOLE for k in range(m)]
            slate = frozenset(order[bisect.bisect_right(ends, point) - 1] for point in points)
            found[slate] = found.get(slate, 0) + right - left
    return {slate: share / WHOLE / math.factorial(n) for slate, share in found.items()}


def drift(losses, loss, m, scale, estimator):
    """Return E D over the draw, and the claimed bound of one round."""
    n, x = len(losses), probabilities(losses, m, scale)
    before, total = potential(losses, m, scale), 0.0
    baseline = np.where((scale * scale > 4.0) & (x * scale * scale >= 4.0), 0.5, 0.0) if estimator == 1 else np.zeros(n)
    for slate, chance in chances_of_slates(x, m).items():
        shown = np.isin(np.arange(n), list(slate))
        estimate = baseline + np.where(shown, (loss - baseline) / x, 0.0)
        total += chance * (x @ estimate - potential(losses + estimate, m, scale) + before)
    r = slates.root(n, m)
    if estimator == 0:
        return total, r / scale
    square = scale * scale
    if square > 4.0:
        return total, r / (4.0 * scale) + n * (5.0 / (6.0 * square) + 2.0 / (square * (square - 1.0)))
    return total, m / (1.0 + scale * math.sqrt(m / n))


@pytest.mark.parametrize("estimator", [0, 1])
def test_cost_of_one_round_stays_below_the_claim(estimator):
    rng, worst = np.random.default_rng(estimator), 0.0
    for _ in range(60):
        n = int(rng.integers(2, 6))
        m = int(rng.integers(1, n))
        losses, scale = rng.random(n) * rng.choice([0.3, 3.0, 30.0]), float(rng.uniform(0.5, 8.0))
        found, claim = drift(losses, rng.choice([0.0, 1.0, rng.random()], n), m, scale, estimator)
        worst = max(worst, found / claim)
    assert 0.3 < worst <= 1.0


def test_control_half_of_the_claim_is_exceeded():
    found, claim = drift(np.zeros(4), np.ones(4), 1, 4.0, 0)
    assert found > 0.5 * claim


# Games.


def spare_the_unlikely(learner, rounds, share, seed):
    """Losses are 1 until a share of the game, then 0 for the items that the learner is least likely to show."""
    player, n, m = learner.start(seed=seed), learner.n, learner.size
    own, total, unlikely = 0.0, np.zeros(n), None
    for t in range(rounds):
        if t < share * rounds:
            losses = np.ones(n)
        else:
            if unlikely is None:
                unlikely = np.argsort(player.distribution(), kind="stable")[:m]
            losses = np.ones(n)
            losses[unlikely] = 0.0
        move = player.act()
        shown = list(move.actions)
        own += losses[shown].sum()
        total += losses
        player.observe(move, losses[shown])
    return own - np.sort(total)[:m].sum()


def test_adaptive_adversary_stays_below_the_robust_bound_and_exceeds_the_oblivious_one():
    rounds, runs = 4000, 12
    robust = hn.SlateBandit.robust(8, 2, rounds)
    plain = hn.SlateBandit(8, 2, hn.Horizon(rounds), hn.ImportanceWeighted())
    for learner, exceeds in ((robust, False), (plain, True)):
        bound = learner.bound(rounds).value
        worst = max(
            np.mean([spare_the_unlikely(learner, rounds, share, seed) for seed in range(runs)]) for share in (0.7, 0.8)
        )
        assert bool(worst > bound) is exceeds


@pytest.mark.parametrize(
    "learner",
    [
        hn.SlateBandit(6, 3),
        hn.SlateBandit(6, 6),
        hn.SlateBandit(6, 5, hn.Horizon(300)),
        hn.SlateBandit.robust(6, 2, 300),
        hn.SlateBandit(6, 2, loss_range=(-1.0, 3.0), gains=True),
    ],
)
def test_live_player_makes_the_moves_of_the_game(learner):
    low, high = learner.loss_range
    losses = low + (high - low) * np.random.default_rng(0).random((300, 6))
    record = hn.play(learner, losses, runs=1, seed=3)
    player, own = learner.start(seed=3), 0.0
    for row in losses:
        move = player.act()
        shown = row[list(move.actions)]
        own += shown.sum()
        player.observe(move, shown)
    assert record.loss[0, -1] == pytest.approx(own, rel=1e-12)


def test_regret_of_a_stochastic_game_is_far_below_the_bound():
    rng = np.random.default_rng(0)
    means = np.where(np.arange(8) < 2, 0.4, 0.6)
    losses = (rng.random((10_000, 8)) < means).astype(float)
    record = hn.play(hn.SlateBandit(8, 2), losses, runs=20, seed=0)
    assert record.mean_regret[-1] < 250 < hn.SlateBandit(8, 2).bound(10_000).value


def test_saved_player_resumes_exactly_with_pending_slates(tmp_path):
    player, rng = hn.SlateBandit(["a", "b", "c", "d"], 2).start(seed=0), np.random.default_rng(0)
    for _ in range(20):
        player.observe(player.act(), rng.random(2))
    pending = player.act()
    player.save(tmp_path / "slates.json")
    other = hn.load(tmp_path / "slates.json", resume="exact")
    for copy in (player, other):
        copy.observe(pending, [0.25, 1.0])
    assert player.act() == other.act()
    assert type(pending).from_json(pending.to_json()) == pending


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: hn.SlateBandit(3, 4), r"size.*3.*4"),
        (lambda: hn.SlateBandit(3, 0), r"size.*0"),
        (lambda: hn.SlateBandit(3, 2, hn.SelfConfident()), r"tuning.*SelfConfident"),
        (lambda: hn.SlateBandit(3, 2, estimator=hn.GeometricResampling(9)), r"estimator.*GeometricResampling"),
    ],
)
def test_rejects_invalid_descriptions(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_observe_rejects_bad_losses_and_keeps_the_state():
    player = hn.SlateBandit(4, 2).start(seed=0)
    move = player.act()
    before = player.distribution()
    for losses, match in (([0.5], "shape"), ([0.5, 1.5], "1.5"), ([0.5, math.nan], "nan")):
        with pytest.raises(ValueError, match=match):
            player.observe(move, losses)
    assert (player.distribution() == before).all()
    player.observe(move, [0.5, 1.0])
    with pytest.raises(ValueError, match="settled"):
        player.observe(move, [0.5, 1.0])
