"""Plays of slates with all losses observed, and leaders under noise: probabilities, costs of a round, bounds, games."""

import itertools
import math

import numpy as np
import pytest

import hannan as hn
from hannan import _engine, saving
from hannan.mathematics import slates
from tests.oracles import naive_slates
from tests.oracles.rejections import rejected

WORDS = np.array([1, 2, 3, 4], dtype=np.uint64)
TSALLIS, ENTROPY, LEFT_OUT, HEDGE, LEADERS = range(5)
SYSTEMATIC, CONDITIONAL, BY_NOISE = range(3)
#: Draw of each play, and its constants.
PLAYS = {
    ENTROPY: (SYSTEMATIC, slates.capped_entropy), LEFT_OUT: (SYSTEMATIC, slates.left_out),
    HEDGE: (CONDITIONAL, slates.hedge), LEADERS: (BY_NOISE, slates.leaders),
}  # fmt: skip


def run_of(losses, m, scale, play, ordered=False):
    losses = np.ascontiguousarray(losses, dtype=np.float64)
    run = _engine.Slates(
        n=len(losses), m=m, c=scale, a=1.0, b=0.0, estimator=0, gamma=0.0, words=WORDS, play=play,
        draw=PLAYS[play][0], all=not ordered, ordered=ordered,
    )  # fmt: skip
    run.restore(losses, 0)
    return run


def probabilities(losses, m, scale, play):
    return run_of(losses, m, scale, play).probabilities()


def expected(losses, m, scale, play):
    """Return the inclusion probabilities by the slow reference implementation."""
    if play in (ENTROPY, LEFT_OUT):
        return naive_slates.capped_entropy(losses, m, scale, play == LEFT_OUT)
    if play == HEDGE:
        return naive_slates.inclusion(naive_slates.hedge(losses, m, scale), len(losses))
    return naive_slates.leaders(losses, m, scale)


def cases(rng, count, most=8):
    for t in range(count):
        n = int(rng.integers(2, most))
        losses = rng.random(n) * 10.0 ** rng.uniform(-2, 1.5)
        yield np.round(losses) if t % 4 == 0 else losses, int(rng.integers(1, n)), 10.0 ** rng.uniform(-0.5, 1.5)


@pytest.mark.parametrize(("play", "count"), [(ENTROPY, 300), (LEFT_OUT, 300), (HEDGE, 200), (LEADERS, 40)])
def test_probabilities_equal_the_reference(play, count):
    for losses, m, scale in cases(np.random.default_rng(play), count):
        found = probabilities(losses, m, scale, play)
        assert found.sum() == pytest.approx(m, abs=1e-12)
        np.testing.assert_allclose(found, expected(losses, m, scale, play), rtol=1e-10, atol=4e-16)


@pytest.mark.parametrize("play", PLAYS)
def test_probabilities_at_extreme_losses_are_valid(play):
    """Gaps up to 1e12 scales, ties, sizes 1, n - 1 and n, and 1,000 items: finite, in (0, 1], with sum m."""
    rng = np.random.default_rng(0)
    for n, m in [(2, 1), (5, 4), (5, 5), (30, 7), (1000, 10)]:
        for exponent in (-8.0, 0.0, 4.0, 12.0):
            losses = rng.random(n) * 10.0**exponent
            for given in (losses, np.round(losses / losses.max() * 3.0) * losses.max(), np.full(n, 10.0**exponent)):
                run = run_of(given, m, 1.0, play)
                x = run.probabilities()
                assert x.sum() == pytest.approx(m, rel=1e-11)
                assert (x >= 0.0 if play == HEDGE else x > 0.0).all()  # Hedge: zero below 1e-308
                assert (x <= 1.0 + (1e-12 if play != ENTROPY else 0.0)).all()
                items, shares, *_ = run.act()
                assert len(set(items)) == m
                assert min(shares) > 0.0


def test_leaders_of_one_item_equal_the_gradient_of_the_paper():
    rng = np.random.default_rng(2)
    for _ in range(50):
        losses, scale = rng.random(6) * 10.0 ** rng.uniform(-1, 1.5), 10.0 ** rng.uniform(-0.5, 1.5)
        wanted = hn.FTPL(hn.Exponential(), scale).gradient(losses)
        np.testing.assert_allclose(probabilities(losses, 1, scale, LEADERS), wanted, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(("play", "n", "m"), [(HEDGE, 5, 2), (HEDGE, 6, 4), (LEADERS, 5, 2), (LEADERS, 4, 3)])
def test_slates_are_drawn_with_the_reported_probabilities(play, n, m):
    """Five standard errors per slate, 40 slates in all: a false alarm in 3e-5 of the tests."""
    draws, counts, chances = 20_000, {}, {}
    run = run_of(np.linspace(0.0, 2.0, n), m, 1.0, play)
    for _ in range(draws):
        items, _, _, whole = run.act()
        slate = tuple(sorted(items))
        counts[slate] = counts.get(slate, 0) + 1
        assert chances.setdefault(slate, whole) == pytest.approx(whole, rel=1e-12)
    assert math.fsum(chances.values()) == pytest.approx(1.0, abs=1e-12)
    for slate, whole in chances.items():
        assert abs(counts[slate] - draws * whole) <= 5.0 * math.sqrt(draws * whole * (1.0 - whole))
    x, summed = run.probabilities(), naive_slates.inclusion(chances, n)
    np.testing.assert_allclose(x, summed, atol=1e-12)
    if play == HEDGE:
        wanted = naive_slates.hedge(np.linspace(0.0, 2.0, n), m, 1.0)
        for slate, whole in chances.items():
            assert whole == pytest.approx(wanted[slate], rel=1e-11)


def test_probability_of_a_slate_of_leaders_with_almost_equal_losses():
    """Losses that differ by one rounding error; at m = n - 1, the probability is that of the item that is omitted."""
    for n in (3, 12, 40, 300):
        losses = np.random.default_rng(n).integers(0, 1 if n == 300 else 3, n) * 0.1
        losses[::2] += 2.0**-54 * np.arange(len(losses[::2]))
        run = run_of(losses, n - 1, 1.0, LEADERS)
        x = run.probabilities()
        for _ in range(200 if n < 300 else 3):
            items, _, _, whole = run.act()
            (omitted,) = set(range(n)) - set(items)
            assert whole == pytest.approx(1.0 - x[omitted], abs=1e-12)


def test_leaders_have_the_rate_of_the_law():
    """Each probability falls at most by e^(-u z_i/s). Control: at 0.8 of the rate, one probability falls faster."""
    rng, worst = np.random.default_rng(4), 0.0
    for losses, m, scale in cases(rng, 60):
        z = rng.random(len(losses)) * rng.choice([0.1, 1.0, 3.0])
        before, after = (probabilities(given, m, scale, LEADERS) for given in (losses, losses + z))
        worst = max(worst, (np.log(before / after) * scale / z).max())
    assert 0.8 < worst <= 1.0 + 1e-9


# The cost of one round, D = <x, z> - Phi(L + z) + Phi(L).


def potential(losses, m, scale, play):
    if play == HEDGE:
        tops = [-losses[list(slate)].sum() / scale for slate in itertools.combinations(range(len(losses)), m)]
        return -scale * np.logaddexp.reduce(tops)
    x = probabilities(losses, m, scale, play)
    y = np.maximum(1.0 - x if play == LEFT_OUT else x, 1e-300)
    return float(losses @ x + scale * (y * np.log(y)).sum())


def cost(losses, z, m, scale, play):
    if play != LEADERS:
        before = probabilities(losses, m, scale, play) @ z
        return before - potential(losses + z, m, scale, play) + potential(losses, m, scale, play)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    x = probabilities(losses, m, scale, play)
    return 0.5 * sum(
        w * ((x - probabilities(losses + 0.5 * (u + 1.0) * z, m, scale, play)) @ z)
        for u, w in zip(nodes, weights, strict=True)
    )


#: Rounds whose cost is close to the claim: equal items, half of which lose; two slates for leaders.
SHARP = {
    ENTROPY: ([0.0] * 4, [1.0, 1.0, 0.0, 0.0], 2), LEFT_OUT: ([0.0] * 4, [1.0, 1.0, 0.0, 0.0], 2),
    HEDGE: ([0.0, 0.0], [1.0, 0.0], 1), LEADERS: ([0.0, 0.0], [1.0, 0.0], 1),
}  # fmt: skip


@pytest.mark.parametrize("play", PLAYS)
def test_cost_of_one_round_stays_below_the_claim_and_attains_it(play):
    """Control: nine tenths of the claim are exceeded."""
    rng, worst = np.random.default_rng(play), 0.0
    for losses, m, scale in cases(rng, 20 if play == LEADERS else 150):
        z = rng.choice([0.0, 1.0, rng.random()], len(losses))
        claim = PLAYS[play][1](len(losses), m).variance / (2.0 * scale)
        worst = max(worst, cost(losses, z, m, scale, play) / claim)
    assert worst <= 1.0
    losses, z, m = SHARP[play]
    claim = PLAYS[play][1](len(losses), m).variance / 40.0
    found = cost(np.array(losses), np.array(z), m, 20.0, play)
    assert 0.9 * claim < found <= claim


@pytest.mark.parametrize("play", PLAYS)
def test_range_constant_is_the_potential_of_no_losses(play):
    """Leaders: E of the sum of the m largest noises, minus m, by the formula of the order statistics."""
    for n, m in [(2, 1), (6, 2), (6, 5)]:
        spread = PLAYS[play][1](n, m).range
        if play == LEADERS:
            largest = sum(sum(1.0 / i for i in range(j, n + 1)) for j in range(1, m + 1))
            assert spread == pytest.approx(largest - m)
        else:
            assert spread == pytest.approx(-potential(np.zeros(n), m, 1.0, play), abs=1e-9)


# Bounds.


@pytest.mark.parametrize(
    ("learner", "value"),
    [
        (hn.SlateExperts(8, 2, tuning=hn.Horizon(10_000)), 166.6),
        (hn.SlateExperts(8, 6, tuning=hn.Horizon(10_000)), 166.6),
        (hn.SlateExperts(8, 2, tuning=hn.Horizon(10_000), over="slates"), 223.6),
        (hn.SlateExperts(8, 2, hn.Exponential(), hn.Horizon(10_000)), 220.8),
        (hn.SlateExperts(8, 2, tuning=hn.SelfConfident()), 476.6),
        (hn.SlateExperts(8, 2, tuning=hn.SelfConfident(), over="slates"), 523.1),
        (hn.SlateExperts(8, 2, hn.Exponential(), hn.SelfConfident()), 446.4),
    ],
)
def test_bounds_of_the_table(learner, value):
    bound = learner.bound(10_000, against="adaptive")
    assert value - 0.1 <= bound.value <= value
    assert bound.sense == "mean"


def test_bounds_of_leaders_with_losses_of_shown_items():
    learner = hn.SlateBandit(8, 2, hn.Horizon(10_000), smoothing=hn.Exponential())
    assert 624.0 < learner.bound().value <= 625.0
    large = hn.SlateBandit(1000, 10, hn.Horizon(10**6), smoothing=hn.Exponential())
    assert 301_877 < large.bound().value <= 301_878
    equal = hn.SlateBandit(8, 2, hn.Horizon(10_000), smoothing=hn.Exponential(), positions=[1.0, 1.0])
    assert equal.bound().value == pytest.approx(learner.bound().value)
    for given in (learner, large, equal):
        with pytest.raises(hn.Withheld):
            given.bound(against="adaptive")


def test_slates_of_one_item_have_the_bounds_of_experts():
    for smoothing in (hn.Entropy(), hn.Exponential()):
        for tuning in (hn.Horizon(1000), hn.Anytime(), hn.BestLoss(40.0), hn.SelfConfident()):
            one, other = hn.SlateExperts(6, 1, smoothing, tuning), hn.Experts(6, smoothing, tuning)
            assert one.bound(1000).value == pytest.approx(other.bound(1000).value, rel=1e-12)
            losses = np.random.default_rng(0).random((50, 6))
            players = one.start(seed=0), other.start(seed=0)
            for row in losses:
                for player in players:
                    player.observe(player.act(), row)
                np.testing.assert_allclose(players[0].distribution(), players[1].distribution(), atol=1e-11)


def test_first_order_bounds_use_the_best_loss():
    learner = hn.SlateExperts(8, 2, tuning=hn.SelfConfident())
    small = learner.bound(10_000, best_loss=100.0)
    assert small.value < 0.2 * learner.bound(10_000).value
    assert "100" in small.condition
    tuned = hn.SlateExperts(8, 2, tuning=hn.BestLoss(100.0))
    assert tuned.bound(10_000).value == pytest.approx(math.sqrt(2 * 100 * 2 * math.log(4)) + 2 * math.log(4))
    with pytest.raises(hn.Withheld, match=r"best_loss=101\.0"):
        tuned.bound(10_000, best_loss=101.0)
    gains = hn.SlateExperts(4, 2, tuning=hn.SelfConfident(), gains=True, loss_range=(0.0, 5.0))
    assert gains.bound(100, best_loss=990.0).value < gains.bound(100, best_loss=400.0).value
    rejected(lambda: gains.bound(100, best_loss=1001.0), "best_loss", "100", "1001.0")


def worst_case(player, m, rounds):
    """Losses charge the m most likely items; return the regret of the mean play."""
    total, mean = np.zeros(player.learner.n), 0.0
    for _ in range(rounds):
        x = player.distribution()
        row = np.zeros(len(x))
        row[np.argsort(x, kind="stable")[-m:]] = 1.0
        mean += x @ row
        total += row
        player.observe(player.act(), row)
    return mean - np.sort(total)[:m].sum()


LEARNERS = [
    hn.SlateExperts(6, 2), hn.SlateExperts(6, 5), hn.SlateExperts(6, 2, over="slates"),
    hn.SlateExperts(6, 2, hn.Exponential()), hn.SlateExperts(6, 2, tuning=hn.SelfConfident()),
    hn.SlateExperts(6, 2, tuning=hn.Horizon(800), draw="conditional"),
]  # fmt: skip


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_adaptive_adversary_stays_below_the_bound(learner):
    player = learner.start(seed=0)
    regret = worst_case(player, learner.size, 800)
    certificate = player.certificate()
    assert certificate.regret == pytest.approx(regret, abs=1e-8)
    assert 0.0 < regret <= certificate.bound.value
    assert certificate.bound.against == "any"


def test_control_a_scale_of_a_tenth_exceeds_the_bound_of_the_tuned_scale():
    tuned = hn.SlateExperts(6, 2, tuning=hn.Horizon(800))
    wrong = hn.SlateExperts(6, 2, tuning=hn.Fixed(tuned.schedule().scale(1, 0.0) / 40.0))
    assert worst_case(wrong.start(seed=0), 2, 800) > tuned.bound().value


# Positions.


def test_sorting_minimizes_the_weighted_loss():
    """Abel's identity of Theorem 10. Control: with increasing weights, sorting is not the minimum."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        y, weights = rng.normal(size=5), np.sort(rng.random(3))[::-1]
        falls = weights - np.append(weights[1:], 0.0)
        parts = (falls * np.cumsum(np.sort(y)[:3])).sum()
        orders = np.array(list(itertools.permutations(y, 3)))
        assert parts == pytest.approx((orders @ weights).min(), abs=1e-12)
        rising = np.sort(rng.random(3))
        assert np.sort(y)[:3] @ rising >= (orders @ rising).min() - 1e-12
    assert np.sort(y)[:3] @ [0.0, 0.0, 1.0] > (orders @ [0.0, 0.0, 1.0]).min() + 0.1


def test_positions_count_in_losses_games_and_certificates():
    weights = (1.0, 0.5, 0.25)
    learner = hn.SlateBandit(5, 3, smoothing=hn.Exponential(), positions=weights, loss_range=(-1.0, 3.0), gains=True)
    rewards = np.random.default_rng(0).uniform(-1.0, 3.0, (300, 5))
    record, player, own = hn.play(learner, rewards, seed=2, keep="all"), learner.start(seed=2), 0.0
    for t, row in enumerate(rewards):
        move = player.act()
        ranks = record.actions[0][t]
        assert [int(np.flatnonzero(ranks == k + 1)[0]) for k in range(3)] == list(move.actions)
        own += row[list(move.actions)] @ weights
        player.observe(move, reward=row[list(move.actions)])
    best = np.sort(rewards.sum(axis=0))[::-1][:3] @ weights
    assert record.loss[0, -1] == pytest.approx(own)
    assert record.best_loss == pytest.approx(best)
    assert record.regret[0, -1] == pytest.approx(best - own)
    assert record.counts[0].sum() == 900
    certificate = player.certificate()
    assert certificate.own_loss == pytest.approx(own)
    assert certificate.bound.value == learner.bound(300).value
    stepped = hn.play(learner, lambda t, past: rewards[t - 1], rounds=300, seed=2, keep="all")
    assert (stepped.actions == record.actions).all()
    assert stepped.regret[0, -1] == pytest.approx(best - own)


def test_positions_are_shown_in_the_order_of_the_perturbed_losses():
    """P(item at position j) is the difference of the inclusion probabilities of sizes j and j - 1. Five standard errors
    at 12 counts: a false alarm in 7e-6 of the tests.
    """
    losses, scale, draws = np.array([0.0, 0.5, 1.0, 2.0]), 1.5, 20_000
    run = run_of(losses, 3, scale, LEADERS, ordered=True)
    counts = np.zeros((3, 4))
    for _ in range(draws):
        for k, item in enumerate(run.act()[0]):
            counts[k, item] += 1
    sums = np.array([np.zeros(4), *(probabilities(losses, j, scale, LEADERS) for j in (1, 2, 3))])
    wanted = np.diff(sums, axis=0)
    assert (np.abs(counts - draws * wanted) <= 5.0 * np.sqrt(draws * wanted * (1.0 - wanted))).all()


def test_regret_with_positions_stays_below_the_bound():
    means = np.linspace(0.2, 0.8, 6)
    losses = (np.random.default_rng(0).random((3000, 6)) < means).astype(float)
    learner = hn.SlateBandit(6, 2, smoothing=hn.Exponential(), positions=[1.0, 0.3])
    record = hn.play(learner, losses, runs=6, seed=0)
    assert 0.0 < record.mean_regret[-1] < record.bound.value < 3000 * 1.3


def test_all_items_in_positions_still_have_regret():
    learner = hn.SlateBandit(3, 3, smoothing=hn.Exponential(), positions=[1.0, 0.5, 0.1])
    assert learner.bound(10_000).value > 0.0
    record = hn.play(learner, np.tile([1.0, 0.0, 0.5], (500, 1)), seed=0)
    assert 0.0 < record.regret[0, -1] <= learner.bound(500).value
    flat = hn.SlateBandit(3, 3, smoothing=hn.Exponential(), positions=[0.5, 0.5, 0.5])
    assert flat.bound(10_000).value == 0.0


# Descriptions, rejections, saving.


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: hn.SlateExperts(4, 2, hn.Tsallis()), ("smoothing", "Tsallis")),
        (lambda: hn.SlateExperts(4, 2, over="pairs"), ("over", "'pairs'")),
        (lambda: hn.SlateExperts(4, 2, hn.Exponential(), over="slates"), ("over", "Exponential()")),
        (lambda: hn.SlateExperts(4, 2, hn.Exponential(), draw="systematic"), ("draw", "'leaders'", "'systematic'")),
        (lambda: hn.SlateExperts(4, 2, over="slates", draw="systematic"), ("draw", "'conditional'", "'systematic'")),
        (lambda: hn.SlateExperts(4, 2, tuning=hn.BestLoss(5.0), loss_range=(-1, 1)), ("BestLoss", "rounds", "5.0")),
        (lambda: hn.SlateBandit(4, 2, smoothing=hn.Gumbel()), ("smoothing", "Gumbel")),
        (lambda: hn.SlateBandit(4, 2, draw="leaders"), ("draw", "Tsallis", "'leaders'")),
        (
            lambda: hn.SlateBandit(4, 2, estimator=hn.ReducedVariance(), smoothing=hn.Exponential()),
            ("estimator", "ReducedVariance"),
        ),
        (lambda: hn.SlateBandit(4, 2, positions=[1.0, 0.5]), ("positions", "Exponential")),
        (lambda: hn.SlateBandit(4, 2, smoothing=hn.Exponential(), positions=[0.5, 1.0]), ("positions", "[0.5, 1.0]")),
        (lambda: hn.SlateBandit(4, 2, smoothing=hn.Exponential(), positions=[1.0]), ("positions", "2", "[1.0]")),
        (lambda: hn.SlateBandit(4, 2, smoothing=hn.Exponential(), positions=[1.0, 0.0]), ("positions", "0.0")),
    ],
)
def test_rejects_invalid_descriptions(call, parts):
    rejected(call, *parts)


def test_rejects_invalid_losses_and_masks_before_a_change():
    player = hn.SlateExperts(4, 2).start(seed=0)
    move = player.act()
    rejected(lambda: player.observe(move, [0.0, 1.0]), "4", "(2,)")
    rejected(lambda: player.observe(move, [0.0, 1.0, math.nan, 0.0]), "nan")
    rejected(lambda: player.observe(move, reward=[0.0] * 4), "reward")
    rejected(lambda: player.act(awake=[True, True, True, False]), "awake")
    leaders = hn.SlateBandit(4, 2, smoothing=hn.Exponential()).start(seed=0)
    rejected(lambda: leaders.act(awake=[True, True, True, False]), "awake")
    player.observe(move, [0.0, 1.0, 0.5, 0.0])
    assert player.losses.tolist() == [0.0, 1.0, 0.5, 0.0]


SAVED = [
    *LEARNERS, hn.SlateBandit(5, 2, smoothing=hn.Exponential()), hn.SlateExperts(["a", "b", "c"], 3, gains=True),
    hn.SlateBandit(5, 2, smoothing=hn.Exponential(), positions=[1.0, 0.5]),
]  # fmt: skip


@pytest.mark.parametrize("learner", SAVED, ids=repr)
def test_saved_player_resumes_exactly(learner, tmp_path):
    assert type(learner).from_json(learner.to_json()) == learner
    player, rng = learner.start(seed=0), np.random.default_rng(0)

    def losses():
        return rng.random(learner.n if player.sees_all else learner.size)

    for _ in range(30):
        player.observe(player.act(), losses())
    pending = [player.act(), player.act()]
    player.save(tmp_path / "slates.json")
    other = hn.load(tmp_path / "slates.json", resume="exact")
    for move in reversed(pending):
        row = losses()
        for copy in (player, other):
            copy.observe(type(move).from_json(move.to_json()), row)
    assert [player.act() for _ in range(5)] == [other.act() for _ in range(5)]
    assert player.certificate().regret == other.certificate().regret
    assert "delayed" in player.certificate().withheld


def test_damaged_files_are_rejected(tmp_path):
    player = hn.SlateExperts(4, 2).start(seed=0)
    player.observe(player.act(), [0.0, 1.0, 0.5, 0.0])
    player.act()
    for change in ({"mean": 9.0}, {"mean": -1.0}, {"mean": "x"}):
        content = player.content()
        content["state"] |= change
        saving.write(tmp_path / "slates.json", content)
        with pytest.raises(ValueError, match="mean play"):
            hn.load(tmp_path / "slates.json")
    content = player.content()
    content["state"]["open"][0]["kept"]["hex"] = saving.to_hex(np.full(4, 2.0))
    saving.write(tmp_path / "slates.json", content)
    with pytest.raises(ValueError, match="inclusion probabilities"):
        hn.load(tmp_path / "slates.json")
