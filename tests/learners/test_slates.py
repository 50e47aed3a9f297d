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
        items, shares, *_ = run.act()
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
        # The probabilities of the bandit are floats with rounding errors of their own, up to about 7 x 2^-52.
        assert np.abs(bandit.distribution() - slate).max() <= 2.0**-48
        bandit.observe(bandit.act(), float(rng.random()))
    assert hn.SlateBandit(8, 1).bound(10_000).value == hn.Bandit(8).bound(10_000).value


def test_probabilities_of_single_items_are_exact_up_to_rounding():
    """Against 40 digits: three units of 2^-52, of which `hn.Bandit` itself needs seven."""
    mpmath = pytest.importorskip("mpmath")
    rng, worst = np.random.default_rng(3), 0.0
    with mpmath.workdps(40):
        for _ in range(60):
            losses, scale = rng.random(6) * 10.0 ** rng.uniform(-1, 2), 10.0 ** rng.uniform(-0.3, 1)
            gaps = [mpmath.mpf(float(x)) - mpmath.mpf(float(losses.min())) for x in losses]

            def excess(mu, gaps=gaps, scale=scale):
                return sum((gap / mpmath.mpf(scale) + mu) ** -2 for gap in gaps) - 1

            mu = mpmath.findroot(excess, (1, 3), solver="anderson")
            exact = [(gap / mpmath.mpf(scale) + mu) ** -2 for gap in gaps]
            found = probabilities(losses, 1, scale)
            worst = max(worst, *(abs(float(e - mpmath.mpf(float(x)))) for e, x in zip(exact, found, strict=True)))
    assert worst <= 3.0 * 2.0**-52


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


# Implicit exploration without gamma.


def test_implicit_exploration_computes_gamma_from_the_horizon():
    learner = hn.SlateBandit(8, 2, hn.Horizon(10_000), hn.ImplicitExploration())
    assert learner == hn.SlateBandit.robust(8, 2, 10_000)
    assert learner.exploration == slates.implicit_gamma(8, 2, 10_000)
    assert hn.SlateBandit.from_json(learner.to_json()) == learner
    stated = hn.SlateBandit(8, 2, hn.Horizon(10_000), hn.ImplicitExploration(learner.exploration))
    assert stated.bound(against="adaptive").value == learner.bound(against="adaptive").value
    for call in (
        lambda: hn.SlateBandit(8, 2, estimator=hn.ImplicitExploration()),
        lambda: hn.Bandit(8, hn.Entropy(), hn.Horizon(100), hn.ImplicitExploration()),
    ):
        with pytest.raises(ValueError, match="gamma"):
            call()


@pytest.mark.parametrize(("n", "m"), [(6, 2), (5, 4)])
def test_bound_on_one_run_covers_its_regret(n, m):
    """300 runs of an adaptive game at delta = 0.2. The bound is conservative: more than 20% failures never occur."""
    rounds, delta, failures, runs = 300, 0.2, 0, 60
    for seed in range(runs):
        player, total, own = hn.SlateBandit.robust(n, m, rounds).start(seed=seed), np.zeros(n), 0.0
        rng = np.random.default_rng(seed)
        for _ in range(rounds):
            losses = (rng.random(n) < player.distribution()).astype(float)  # charges what the learner likes
            move = player.act()
            own += losses[list(move.actions)].sum()
            total += losses
            player.observe(move, losses[list(move.actions)])
        failures += own - np.sort(total)[:m].sum() > player.certificate(delta=delta).on_this_run
    assert failures <= 0.2 * runs + 4 * math.sqrt(0.16 * runs)
    assert "with probability" in str(player.certificate(delta=delta))


# Unavailable items.


def restricted_run(losses, m, scale, awake, estimator=0, gamma=0.0):
    run = run_of(len(losses), m, scale, estimator, gamma)
    run.restore(np.ascontiguousarray(losses, dtype=np.float64), 0)
    return run, run.probabilities(), run.probabilities(awake)


def test_restricted_probabilities_are_exact_and_not_smaller():
    rng = np.random.default_rng(0)
    for losses, m, scale in cases(rng, 500):
        awake = rng.random(len(losses)) < rng.uniform(0.1, 1.0)
        awake[rng.integers(len(losses))] = True
        _, full, x = restricted_run(losses, m, scale, awake)
        exact = x * WHOLE
        assert (exact == np.round(exact)).all()
        assert (x[~awake] == 0.0).all()
        assert sum(int(share) for share in exact) == min(m, awake.sum()) * WHOLE
        assert x.max() <= 1.0
        # Equal up to the rounding of the sum, which goes to one item.
        assert (x[awake] >= full[awake] - len(losses) * 2.0**-50).all()
        assert (x[awake] > 0.0).all()


def test_restricted_draws_take_each_item_with_its_probability():
    """Five standard errors per item: a false alarm in 6e-7 of the tests."""
    rng, draws = np.random.default_rng(3), 40_000
    losses, awake = rng.random(9) * 4.0, np.array([1, 0, 1, 1, 0, 1, 1, 0, 1], dtype=bool)
    run, _, x = restricted_run(losses, 4, 1.5, awake)
    counts = np.zeros(9)
    for _ in range(draws):
        items, shares, *_ = run.act(awake)
        assert len(set(items)) == 4
        assert shares == tuple(x[list(items)])
        counts[list(items)] += 1
    assert (np.abs(counts - draws * x) <= 5.0 * np.sqrt(draws * x * (1.0 - x)) + 1e-9).all()
    few = np.arange(9) < 3
    items, shares, *_ = run.act(few)
    assert sorted(items) == [0, 1, 2]
    assert shares == (1.0, 1.0, 1.0)


def restricted_drift(losses, loss, m, scale, awake):
    """Return (E D of a round with unavailable items, mean charge, its definition, own loss, <x, z>)."""
    n = len(losses)
    _, full, x = restricted_run(losses, m, scale, awake)
    before, total, charge = potential(losses, m, scale), 0.0, 0.0
    away = full[~awake].sum()
    places = np.flatnonzero(awake)
    count = min(m, len(places))
    extra = np.maximum(x - full, 0.0) * awake
    for slate, chance in chances_of_slates(x[places], count).items():
        shown = np.zeros(n, dtype=bool)
        shown[places[list(slate)]] = True
        estimate = np.where(shown, loss / np.where(x > 0.0, x, 1.0), 0.0)
        estimate[~awake] = (extra * estimate).sum() / away
        total += chance * (full @ estimate - potential(losses + estimate, m, scale) + before)
        charge += chance * estimate[~awake][0]
    return total, charge, (extra * loss).sum() / away, x @ loss, full[awake] @ loss[awake] + away * charge


def test_cost_of_a_round_with_unavailable_items_stays_below_the_claim():
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(60):
        n = int(rng.integers(3, 7))
        m = int(rng.integers(1, n))
        losses, scale = rng.random(n) * rng.choice([0.3, 3.0, 30.0]), float(rng.uniform(0.5, 8.0))
        awake = rng.random(n) < 0.6
        awake[0], awake[1] = True, False
        loss = rng.choice([0.0, 1.0, rng.random()], n)
        found, charge, defined, own, planned = restricted_drift(losses, loss, m, scale, awake)
        assert charge == pytest.approx(defined, abs=1e-9)
        assert own == pytest.approx(planned, abs=1e-9)  # the charge makes the full play cost what the slate costs
        worst = max(worst, found / ((slates.root(n, m) + m) / scale))
    assert 0.1 < worst <= 1.0


def test_player_charges_unavailable_items_as_the_proof_does():
    player, rng = hn.SlateBandit(5, 2, hn.Fixed(3.0), hn.ImportanceWeighted()).start(seed=0), np.random.default_rng(0)
    awake = np.array([True, False, True, True, False])
    for _ in range(50):
        before, full, x = player.losses, player.distribution(), player.distribution(awake)
        move, losses = player.act(awake), rng.random(5)
        shown = list(move.actions)
        player.observe(move, losses[shown])
        estimate = np.zeros(5)
        estimate[shown] = losses[shown] / x[shown]
        estimate[~awake] = ((x - full) * estimate)[awake].sum() / full[~awake].sum()
        np.testing.assert_allclose(player.losses, before + estimate, rtol=1e-12)


def test_items_that_come_and_go_stay_below_the_bound():
    """The measured regret of 8 games against the comparator of the theorem; the bound exceeds it by far."""
    rounds, n, m = 2000, 6, 2
    rng = np.random.default_rng(1)
    losses = (rng.random((rounds, n)) < [0.2, 0.3, 0.5, 0.5, 0.6, 0.7]).astype(float)
    masks = rng.random((rounds, n)) < 0.8
    masks[:, 5] = True
    regrets = []
    for seed in range(8):
        player, own, slate = hn.SlateBandit(n, m).start(seed=seed), 0.0, 0.0
        for loss, awake in zip(losses, masks, strict=True):
            full, x = player.distribution(), player.distribution(awake)
            move = player.act(awake)
            own += loss[list(move.actions)].sum()
            charge = (np.maximum(x - full, 0.0) @ loss) / full[~awake].sum() if not awake.all() else 0.0
            slate += sum(loss[i] if awake[i] else charge for i in (0, 1))
            player.observe(move, loss[list(move.actions)])
        regrets.append(own - slate)
    certificate = player.certificate()
    assert np.mean(regrets) <= certificate.bound.value < rounds * m
    assert certificate.bound.value > hn.SlateBandit(n, m).bound(rounds).value
    assert "items were unavailable" in str(certificate)
    assert certificate.bound.sense == "available_slate"


def test_fewer_items_than_the_size_are_all_shown():
    player = hn.SlateBandit(["a", "b", "c", "d"], 3).start(seed=0)
    move = player.act([True, False, True, False])
    assert sorted(move.arms) == ["a", "c"]
    assert move.probabilities == (1.0, 1.0)
    player.observe(move, [0.5, 1.0])
    assert player.certificate().own_loss == 1.5
    for awake, match in (([True, False], "4"), ([False] * 4, "False"), ([0.5] * 4, "booleans")):
        with pytest.raises(ValueError, match=match):
            player.act(awake)
    assert player.round == 1


def test_control_a_charge_of_zero_breaks_the_identity():
    losses, loss, awake = np.array([0.0, 1.0, 2.0, 2.0]), np.ones(4), np.array([True, False, True, True])
    _, charge, _, own, planned = restricted_drift(losses, loss, 2, 2.0, awake)
    _, full, _ = restricted_run(losses, 2, 2.0, awake)
    assert own == pytest.approx(planned, abs=1e-9)
    assert own - (planned - full[~awake].sum() * charge) > 0.1


# Missing feedback, names, saving.


def test_missing_feedback_counts_as_stated():
    player, twin = (hn.SlateBandit(4, 2, gains=True).start(seed=0) for _ in range(2))
    for k in range(20):
        move, same = player.act(), twin.act()
        with pytest.raises(ValueError, match="missing"):
            player.observe(move, reward=[1.0, None])
        player.observe(move, reward=[1.0, None if k % 2 else math.nan], missing=0.25)
        twin.observe(same, reward=[1.0, 0.25])
    assert (player.losses == twin.losses).all()
    assert "20 shown items had no feedback" in str(player.certificate())
    assert "no feedback" not in str(twin.certificate())
    with pytest.raises(ValueError, match=r"missing.*1\.5"):
        player.observe(player.act(), reward=[1.0, None], missing=1.5)


def test_moves_name_their_items():
    player = hn.SlateBandit(["a", "b", "c", "d"], 2).start(seed=0)
    move = player.act()
    assert move.arms == tuple("abcd"[i] for i in move.actions)
    assert '"arms"' in move.to_json()
    assert hn.SlateBandit(4, 2).start(seed=0).act().arms == move.actions
    copy = type(move).from_json(move.to_json())
    assert copy.arms == move.arms
    player.observe(copy, [0.5, 0.25])


@pytest.mark.parametrize("estimator", [hn.ReducedVariance(), hn.ImportanceWeighted(), hn.ImplicitExploration(0.01)])
def test_saved_player_settles_restricted_slates(tmp_path, estimator):
    player, rng = hn.SlateBandit(5, 3, hn.Horizon(100), estimator).start(seed=0), np.random.default_rng(0)
    awake = np.array([True, True, False, False, True])
    for k in range(10):
        player.observe(player.act(awake if k % 2 else None), rng.random(3))
    pending = [player.act(awake), player.act(), player.act(np.arange(5) < 2)]
    player.save(tmp_path / "slates.json")
    other = hn.load(tmp_path / "slates.json", resume="exact")
    for copy in (player, other):
        for move in reversed(pending):
            copy.observe(move, [0.25, 1.0, 0.5][: len(move.actions)])
    assert (player.losses == other.losses).all()
    assert player.act(awake) == other.act(awake)
    assert str(player.certificate()).replace(player.id, "") == str(other.certificate()).replace(other.id, "")


def test_late_feedback_withholds_the_bound_and_keeps_the_estimates_unbiased():
    player = hn.SlateBandit(4, 2).start(seed=0)
    moves = [player.act() for _ in range(5)]
    for move in reversed(moves):
        player.observe(move, [0.5, 0.5])
    certificate = player.certificate()
    assert certificate.bound is None
    assert "delayed" in certificate.withheld


def test_product_of_two_bets_on_one_slate_grows():
    """Why evidence is withheld: each bet is fair under inclusion probabilities, but the product of two is not."""
    x = 0.5
    pairs = chances_of_slates(np.array([x, x, x, x]), 2)
    assert sum(pairs.values()) == pytest.approx(1.0)
    for item in range(4):
        fair = sum(chance * (2.0 if item in slate else 0.0) for slate, chance in pairs.items())
        assert fair == pytest.approx(1.0)
    together = {frozenset({0, 1}): 0.5, frozenset({2, 3}): 0.5}  # a draw with the same inclusion probabilities
    bet = 0.5
    factor = {slate: (1 + bet * (2 * (0 in slate) - 1), 1 + bet * (2 * (1 in slate) - 1)) for slate in together}
    assert sum(chance * factor[slate][0] for slate, chance in together.items()) == 1.0
    assert sum(chance * factor[slate][0] * factor[slate][1] for slate, chance in together.items()) == 1.0 + bet**2
