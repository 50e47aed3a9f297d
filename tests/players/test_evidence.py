"""Anytime-valid evidence about the arms of a bandit: exact checks of its theorems, with negative controls.

The checks are exact or have fixed seeds. Coverage in many games is in test_evidence_coverage.py.
"""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import hannan as hn
from hannan import _engine
from hannan.players import evidence

BETS, HEAD, ROW = 16, 80, 164
LAMBDA = 2.0 ** -np.arange(BETS)
WEIGHTS = (1.0 / (np.arange(BETS) + 3)) / (1.0 / (np.arange(BETS) + 3)).sum()
#: Offsets of the rows of an arm: both sides of the main table, realized losses, both sides for fixed means.
MAIN, REGRET, FIXED = (0, 32), 64, (96, 128)


def arms_of(table):
    """Return the numbers of each arm of a table."""
    return np.frombuffer(table.to_bytes()[HEAD : HEAD + 8 * ROW * table.arms]).reshape(table.arms, ROW)


def row_of(table, arm, at):
    """Return W and C of one row."""
    numbers = arms_of(table)[arm]
    return numbers[at : at + BETS], numbers[at + BETS : at + 2 * BETS]


def table_with(centers):
    """Return a fresh table with these centers."""
    fresh = _engine.Evidence(len(centers)).to_bytes()
    return _engine.Evidence.from_bytes(fresh[: -8 * len(centers)] + np.asarray(centers, dtype=float).tobytes())


def played(p, x, centers):
    """Return the tables after one round, one per drawn arm, and the probabilities of the draws."""
    tables = []
    for arm in range(len(p)):
        table = table_with(centers)
        if p[arm] > 0.0:
            table.act(p, arm)
            table.settle(1, arm, p[arm], x[arm])
        tables.append(table)
    return tables


def rounds(count, seed):
    """Yield random (p, x, centers) of one round, extreme ones among them."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        p = rng.dirichlet([0.2, 1.0, 1.0] if k % 2 else [1.0] * 3)
        if k % 10 == 0:
            p = rng.permutation([0.0, 0.3, 0.7])
        if k % 10 == 1:
            p = rng.permutation([1.0, 0.0, 0.0])
        if k % 10 == 3:
            p = rng.permutation([1e-7, 0.4, 0.6 - 1e-7])
        x = rng.random(3) if k % 3 else rng.integers(0, 2, 3).astype(float)
        yield p, x, rng.random(3)


# Exact checks of one round


def test_mean_of_every_factor_is_at_most_one():
    for p, x, centers in rounds(1000, 1):
        tables = played(p, x, centers)
        for arm in range(3):
            for side, loss in ((0, x[arm]), (1, 1.0 - x[arm])):
                rows = [row_of(table, arm, MAIN[side]) for table in tables]
                mean = sum(q * np.exp(W + LAMBDA * (C - loss)) for q, (W, C) in zip(p, rows, strict=True) if q > 0)
                assert (mean <= 1.0 + 1e-12).all()
            rows = [row_of(table, arm, REGRET) for table in tables]
            mu = 16.0 * LAMBDA
            mean = sum(q * np.exp(W + mu * (C - x[arm])) for q, (W, C) in zip(p, rows, strict=True) if q > 0)
            assert (mean <= 1.0 + 1e-9).all()
            if p[arm] >= 1e-6:  # the factor of a realized loss is exact
                assert mean == pytest.approx(np.ones(BETS), abs=1e-9)


def test_mean_of_every_pair_is_at_most_one():
    for p, x, centers in rounds(1000, 2):
        tables = played(p, x, centers)
        for a, b in itertools.permutations(range(3), 2):
            mean = 0.0
            for q, table in zip(p, tables, strict=True):
                (W, C), (V, D) = row_of(table, a, MAIN[0]), row_of(table, b, MAIN[1])
                mean = mean + (q * np.exp(W + V + LAMBDA * (C + D - x[a] - 1.0 + x[b])) if q > 0 else 0.0)
            assert (mean <= 1.0 + 1e-12).all()


def test_mean_of_fixed_factors_is_at_most_one():
    rng = np.random.default_rng(3)
    for p, x, centers in rounds(500, 3):
        if min(p) == 0.0:
            continue
        other, share = rng.random(3), rng.random()
        first, second = played(p, x, centers), played(p, other, centers)
        for arm in range(3):
            for side in range(2):
                low, high = (1 - x[arm], 1 - other[arm]) if side else (x[arm], other[arm])
                m = share * low + (1 - share) * high
                (W, C), (V, D) = row_of(first[arm], arm, FIXED[side]), row_of(second[arm], arm, FIXED[side])
                mean = share * np.exp(W + LAMBDA * (C - m)) + (1 - share) * np.exp(V + LAMBDA * (D - m))
                assert (mean <= 1.0 + 1e-12).all()


def test_control_a_center_above_the_limit_makes_a_factor_negative():
    p, lam = 0.3, 0.5
    assert 1.0 + lam * (0.0 - 1.1 * p / lam) / p < 0.0


def test_control_a_pair_of_an_arm_with_itself_violates_the_bound():
    largest = 0.0
    for p, x, centers in rounds(200, 4):
        mean = 0.0
        for q, table in zip(p, played(p, x, centers), strict=True):
            (W, C), (V, D) = row_of(table, 0, MAIN[0]), row_of(table, 0, MAIN[1])
            mean = mean + (q * np.exp(W + V + LAMBDA * (C + D - 1.0)) if q > 0 else 0.0)
        largest = max(largest, float(np.max(mean)))
    assert largest > 1.01


def test_control_a_center_chosen_after_the_draw_violates_the_bound():
    p, x = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.5, 0.5])
    drawn, other = played(p, x, [0.0] * 3)[0], played(p, x, [1.0] * 3)[1]
    mean = 0.0
    for q, table in ((p[0], drawn), (p[1], other)):
        W, C = row_of(table, 0, MAIN[0])
        mean = mean + q * np.exp(W + LAMBDA * (C - x[0]))
    assert mean.max() > 1.01


def total_weight(log_total):
    """Return whether the weights of a mixture sum to at most 1."""
    return log_total <= 1e-12


def test_weights_of_the_mixture_sum_to_at_most_one():
    twice = _engine.Evidence(2).fixed_product(0, 1, 0.0)  # two fresh capitals
    assert total_weight(twice / 2)
    assert not total_weight(twice / 2 + math.log(2.0))  # control: doubled weights


# Games


def test_best_adversary_of_four_rounds_misses_with_probability_at_most_alpha():
    alpha, threshold = 0.5, math.log(4.0 / 0.5)

    def missed(table, sums, t):
        for arm in range(2):
            low, high = table.arm_low(arm, 0, threshold), t - table.arm_low(arm, 1, threshold)
            if not low - 1e-9 <= sums[arm] <= high + 1e-9:
                return True
        return False

    def worst(saved, sums, t, last):
        if t == 4:
            return 0.0
        p = np.array([0.3, 0.7]) if last == 0 else np.array([0.8, 0.2])
        largest = 0.0
        for x in itertools.product((0.0, 1.0), repeat=2):
            value, after = 0.0, (sums[0] + x[0], sums[1] + x[1])
            for arm in range(2):
                table = _engine.Evidence.from_bytes(saved)
                table.act(p, arm)
                table.settle(t + 1, arm, p[arm], x[arm])
                miss = missed(table, after, t + 1)
                value += p[arm] * (1.0 if miss else worst(table.to_bytes(), after, t + 1, arm))
            largest = max(largest, value)
        return largest

    assert worst(_engine.Evidence(2).to_bytes(), (0.0, 0.0), 0, 0) <= alpha


def test_order_of_settlements_does_not_matter_and_each_one_narrows():
    rng = np.random.default_rng(5)
    moves = [(rng.dirichlet([1.0, 1.0]), int(rng.integers(2)), rng.random()) for _ in range(200)]
    found = []
    for order in (range(200), rng.permutation(200)):
        table = _engine.Evidence(2)
        for p, arm, _ in moves:
            table.act(p, arm)
        widths = [math.inf]
        for k in order:
            p, arm, loss = moves[k]
            table.settle(int(k) + 1, arm, p[arm], loss)
            if k % 20 == 0:
                widths.append(sum(200 - table.arm_low(a, 0, 4.0) - table.arm_low(a, 1, 4.0) for a in range(2)))
        assert (np.diff(widths) <= 1e-9).all()
        found.append(arms_of(table))
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_certificate_of_implicit_exploration_is_never_smaller():
    rng = np.random.default_rng(6)
    gamma, alpha, n = 0.05, 0.05, 3
    exact, linear, own = np.zeros(n), np.zeros(n), 0.0
    for _ in range(2000):
        p = rng.dirichlet([0.5] * n)
        arm, loss = int(rng.choice(n, p=p)), rng.random()
        q = max(p[arm], 1e-6)
        exact[arm] += math.log1p(math.expm1(2 * gamma * loss) / q) / (2 * gamma)
        linear[arm] += loss / (q + gamma)
        own += loss
        both = math.log(n / alpha) / (2 * gamma)
        assert own - exact.min() + both <= own - linear.min() + both + 1e-9


def test_realized_losses_of_an_arm_that_is_always_played_are_known():
    table, rng, total = _engine.Evidence(2), np.random.default_rng(7), 0.0
    for t in range(1, 1001):
        loss = rng.random()
        total += loss
        table.act(np.array([1.0, 0.0]), 0)
        table.settle(t, 0, 1.0, loss)
    low = table.regret_low(0, math.log(2 / 0.05))
    assert total - 10.0 < low <= total + 1e-9


@pytest.mark.parametrize(
    ("means", "published"), [((0.5, 0.6), (0.411, 0.221, 0.128)), ((0.05, 0.07), (0.225, 0.112, 0.062))]
)
def test_widths_of_differences_agree_with_the_published_ones(means, published):
    p, at = np.array([0.5, 0.5]), (300, 1000, 3000)
    found = []
    for game in range(15):
        rng, table = np.random.default_rng(game), _engine.Evidence(2)
        widths = []
        for t in range(1, 3001):
            arm = int(rng.integers(2))
            table.act(p, arm)
            table.settle(t, arm, 0.5, float(rng.random() < means[arm]))
            if t in at:
                threshold = math.log(2 / 0.05)
                widths.append(2.0 - (table.pair_low(0, 1, threshold) + table.pair_low(1, 0, threshold)) / t + 0.0)
        found.append(widths)
    assert np.median(found, axis=0) == pytest.approx(published, rel=0.1)


def declared(floor, games, rounds):
    """Return the round, or None, at which each game declares a best arm at the full level, for means .4, .5, .6."""
    found, threshold = [], math.log(3 * 2 / 0.05)
    for seed in range(games):
        rng, player = np.random.default_rng(seed), hn.Bandit(3, floor=floor).start(seed=seed, evidence=True)
        when = None
        for t in range(1, rounds + 1):
            move = player.act()
            player.observe(move, float(rng.random() < (0.4, 0.5, 0.6)[move.action]))
            table = player._evidence
            if t % 500 == 0 and all(table.pair_low(b, 0, threshold) > t for b in (1, 2)):
                when = t
                break
        assert player.evidence().best in (None, "0")
        found.append(when)
    return found


def test_best_arm_is_declared_within_8000_rounds_with_a_floor():
    found = declared("fourth-root", 9, 8000)
    assert sum(when is not None for when in found) >= 5
    assert declared(0.0, 3, 8000) == [None] * 3  # control


def capital(table, arm, at, theta):
    """Return the logarithm of a capital at theta, by a second implementation."""
    W, C = row_of(table, arm, at)
    x = np.log(WEIGHTS) + W + LAMBDA * (C - theta)
    return float(x.max() + np.log(np.exp(x - x.max()).sum()))


def test_minimum_over_equal_means_is_computed_not_sampled():
    table, p, count = _engine.Evidence(2), np.array([0.5, 0.5]), 200_000
    rng = np.random.default_rng(8)
    losses = (rng.permutation(2 * count) % 200 < 101).astype(float).tolist()  # mean 0.505
    for t, loss in enumerate(losses, 1):
        table.act(p, t % 2)
        table.settle(t, t % 2, 0.5, loss)
    threshold = math.log(1 / 0.05)
    assert table.fixed_product(0, 1, 0.0) <= threshold
    assert table.fixed_product(1, 0, 0.0) <= threshold
    grid = np.arange(1, 100) / 100  # control: the minimum over 99 values of m declares a best arm
    drawn = table.drawn(0)
    sampled = [capital(table, 0, FIXED[0], drawn * m) + capital(table, 1, FIXED[1], drawn * (1 - m)) for m in grid]
    assert min(sampled) > threshold


# Live players


def started(learner=None, **options):
    learner = hn.Bandit(["red", "blue", "green"], gains=True) if learner is None else learner
    return learner.start(seed=0, evidence=True, **options)


def test_moves_do_not_depend_on_evidence():
    for learner in (hn.Bandit(4), hn.Thompson(3), hn.TsallisShannon(3), hn.LBInf(2)):
        plain, watched = learner.start(seed=3), learner.start(seed=3, evidence=True)
        for _ in range(200):
            a, b = plain.act(), watched.act()
            assert a[1:] == b[1:]
            plain.observe(a, 0.25 * (a.action == 0)), watched.observe(b, 0.25 * (b.action == 0))
        assert plain.state()["losses"].tobytes() == watched.state()["losses"].tobytes()
        assert "evidence" not in plain.content()
        assert "evidence" in watched.content()


@pytest.mark.parametrize(
    "learner",
    [
        hn.Bandit(3, gains=True), hn.Bandit(3, floor=0.1), hn.Bandit(3, hn.Gumbel(), hn.Fixed(8.0)), hn.Thompson(3),
        hn.EpsilonGreedy(3, 0.2), hn.UCB1(3), hn.LBInf(3), hn.TsallisShannon(3, delay=4), hn.exp3_ix(3, 300),
        hn.frechet_ftpl(3, 2.0, hn.ConditionalResampling(20)),
    ],
    ids=repr,
)  # fmt: skip
def test_table_of_a_player_has_the_probabilities_of_the_draws(learner):
    player, table, waiting = started(learner), _engine.Evidence(3), []
    rng = np.random.default_rng(0)
    for t in range(1, 301):
        p = player.distribution()
        move = player.act()
        assert p[move.action] == pytest.approx(move.probability, rel=1e-9)
        p[move.action] = move.probability
        table.act(p, move.action)
        waiting.append((t, move))
        if len(waiting) > 3:
            at, move = waiting.pop(int(rng.integers(4)))
            value = float(rng.random() < 0.5)
            player.observe(move, value)
            table.settle(at, move.action, move.probability, 1.0 - value if learner.gains else value)
    assert arms_of(player._evidence) == pytest.approx(arms_of(table), rel=1e-9, abs=1e-9)


def test_deterministic_play_leaves_other_arms_unknown():
    """With probability 1 for one arm nothing is known about others, whatever the learner believes."""
    table = _engine.Evidence(2)
    for t in range(1, 1001):
        table.act(np.array([1.0, 0.0]), 0)
        table.settle(t, 0, 1.0, 0.3)
    found = evidence.read(table, ["a", "b"], evidence.Units.of((0.0, 1.0), False))
    assert found.best is None
    assert found.arms["b"].interval == (0.0, 1.0)
    assert found.arms["a"].interval[0] < 0.3 < found.arms["a"].interval[1]
    assert found.regret >= 300.0 - 1e-9  # the other arm may have had no loss


def test_dropped_moves_stay_pending():
    player = started()
    for _ in range(20):
        player.forget(player.act())
    found = player.evidence()
    assert (found.decisions, found.pending) == (20, 20)
    assert all(arm.interval[0] <= 0.01 and arm.interval[1] >= 0.99 for arm in found.arms.values())


def test_unavailable_arms_keep_valid_intervals():
    player = hn.Bandit(3, hn.Tsallis(0.5)).start(seed=0, evidence=True)
    rng, sums = np.random.default_rng(0), np.zeros(3)
    for t in range(400):
        mask = np.array([True, True, t % 2 == 0])
        losses = np.array([0.2, 0.5, 0.8 if mask[2] else 0.1])
        move = player.act(mask)
        player.observe(move, float(rng.random() < losses[move.action]))
        sums += losses
    found = list(player.evidence().arms.values())
    for arm, mean in zip(found, sums / 400, strict=True):
        assert arm.interval[0] <= mean <= arm.interval[1]


def test_feedback_outside_of_the_range_changes_nothing():
    player = started()
    move, before = player.act(), player._evidence.to_bytes()
    for bad in (1.5, -0.1, math.nan):
        with pytest.raises(ValueError, match="loss"):
            player.observe(move, bad)
    assert player._evidence.to_bytes() == before


def test_units_of_the_learner_are_used():
    player = started(hn.Bandit(2, loss_range=(-5.0, 5.0)))
    for _ in range(500):
        player.observe(player.act(), 3.0)
    shown = player.evidence().arms
    assert all(-5.0 <= arm.interval[0] <= 3.0 <= arm.interval[1] <= 5.0 for arm in shown.values())


def test_saved_evidence_is_loaded_bit_for_bit(tmp_path):
    player = started()
    for k in range(100):
        move = player.act()
        if k % 5:
            player.observe(move, 0.5)
    player.save(tmp_path / "player.json")
    loaded = hn.load(tmp_path / "player.json", resume="exact")
    assert loaded._evidence.to_bytes() == player._evidence.to_bytes()
    for one in (player, loaded):
        one.observe(one.open_moves[0], 1.0)
        one.observe(one.act(), 0.5)
    assert loaded._evidence.to_bytes() == player._evidence.to_bytes()


@pytest.mark.parametrize("change", ["short", "counts", "draws", "hex"])
def test_corrupt_evidence_is_rejected(tmp_path, change):
    from hannan.players.load import resumed

    player = started()
    for _ in range(10):
        player.observe(player.act(), 0.5)
    content = json.loads(json.dumps(player.content()))
    saved = bytearray.fromhex(content["evidence"])
    if change == "short":
        saved = saved[:-8]
    if change == "counts":
        saved[HEAD + 8 * 160 : HEAD + 8 * 161] = np.array([3.5]).tobytes()
    if change == "draws":
        other = started()
        other.act()
        saved = bytearray(other._evidence.to_bytes())
    content["evidence"] = "zz" if change == "hex" else saved.hex()
    with pytest.raises((ValueError, RuntimeError)):
        resumed(content)


def test_player_without_evidence_states_how_to_keep_it():
    with pytest.raises(ValueError, match=r"evidence=True"):
        hn.Bandit(2).start(seed=0).evidence()
    with pytest.raises(ValueError, match=r"evidence.*3"):
        hn.Bandit(2).start(evidence=3)
    with pytest.raises(ValueError, match=r"at least 2.*1"):
        hn.Bandit(1).start(evidence=True).evidence()


def decided():
    player = hn.EpsilonGreedy(["red", "blue"], 0.3, gains=True).start(seed=0, evidence=True)
    rng = np.random.default_rng(1)
    for _ in range(4000):
        move = player.act()
        player.observe(move, float(rng.random() < {"red": 0.7, "blue": 0.3}[move.arm]))
    return player


def test_best_arm_is_declared_with_its_start():
    player = decided()
    found = player.evidence()
    assert found.best == "red"
    assert found.within == ("red", 0.0)
    low, high = found.lead("red", "blue")
    assert 0.0 < low < 0.4 < high
    since = int(found.sure_since.removeprefix("decision ").replace(",", ""))
    assert 0 < since < 4000
    assert found.sure_since in str(found)
    assert player.evidence(alpha=0.01).sure_since is None
    assert player.evidence(means="fixed").best == "red"
    assert player.evidence(means="fixed").sure_since is None


def test_panel_does_not_overstate():
    for means in ("any", "fixed"):
        found = decided().evidence(means=means)
        for text in (str(found), found._repr_html_(), json.dumps(found.to_dict())):
            for word in ("significant", "probability that red is best", " will "):
                assert word not in text
        text = " ".join(str(found).split())
        for sentence in ("at most 0.05", "so far", "nothing is claimed about the future"):
            assert sentence in text


def test_picture_escapes_names():
    player = hn.Bandit(["<script>", "b"]).start(seed=0, evidence=True)
    assert "<script>" not in player.evidence()._repr_html_()
    assert "<svg" in player.evidence()._repr_html_()


def test_control_constant_means_are_wrong_under_drift():
    rng, threshold, missed = np.random.default_rng(9), math.log(4 / 0.05), 0
    for _ in range(10):
        table, total, wrong = _engine.Evidence(2), 0.0, [False, False]
        for t in range(1, 801):
            p, mean = (np.array([0.9, 0.1]), 0.1) if t <= 400 else (np.array([0.1, 0.9]), 0.9)
            arm = int(rng.random() < p[1])
            total += mean
            table.act(p, arm)
            table.settle(t, arm, p[arm], float(rng.random() < (mean if arm == 0 else 0.5)))
        wrong[0] = 1.0 - table.fixed_low(0, 1, threshold) / table.drawn(0) < total / 800
        wrong[1] = 800 - table.arm_low(0, 1, threshold) < total
        missed += wrong[0]
        assert not wrong[1]
    assert missed == 10


def test_shares_of_alpha_sum_to_one():
    assert sum(evidence.SHARES.values()) == pytest.approx(1.0)
