"""AdaHedge and unavailable experts, against slow implementations of the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hannan as hn
from hannan.learners.adahedge import AdaHedge, Seen


def naive(losses):
    """Return the weights of every round, Delta, V, and <p, l>, computed from the definitions."""
    n = losses.shape[1]
    L, gap, own, variance, weights, changes = np.zeros(n), 0.0, 0.0, 0.0, [], 0.0

    def phi(s):
        return L.min() - s * math.log(np.exp((L.min() - L) / s).sum()) if s > 0 else L.min()

    for row in losses:
        s = gap / math.log(n) if n > 1 else 0.0
        w = np.exp((L.min() - L) / s) if s > 0 else (L.min() == L).astype(float)
        p = w / w.sum()
        weights.append(p)
        h = p @ row
        if s > 0:
            after = L + row
            m = (after.min() - L.min()) - s * math.log(np.exp((after.min() - after) / s).sum() / w.sum())
        else:
            m = (L + row).min() - L.min()
        variance += p @ (row - h) ** 2
        gap += max(h - m, 0.0)
        own += h
        L = L + row
        changes += phi(s) - phi(gap / math.log(n) if n > 1 else 0.0)
    return np.array(weights), gap, variance, own, L, changes


def step(learner, losses, seed=0):
    player, weights = learner.start(seed), []
    for row in losses:
        weights.append(player.distribution())
        player.observe(player.act(), row)
    return player, np.array(weights)


SEQUENCES = {
    "uniform": np.random.default_rng(0).random((300, 5)),
    "coins": (np.random.default_rng(1).random((300, 3)) < [0.5, 0.4, 0.45]).astype(float),
    "two leaders": np.tile([[1.0, 0.0], [0.0, 1.0]], (100, 1)),
    "one that is bad": np.tile([0.0, 1.0, 1.0], (50, 1)),
    "ties": np.ones((20, 4)),
    "one expert": np.random.default_rng(2).random((20, 1)),
    "a jump": np.vstack(
        [np.random.default_rng(3).random((50, 3)) * 1e-6, np.random.default_rng(4).random((50, 3)) * 1e6]
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_player_follows_the_definition(name):
    losses = SEQUENCES[name]
    player, weights = step(AdaHedge(losses.shape[1]), losses)
    slow, gap, variance, own, L, changes = naive(losses)
    np.testing.assert_allclose(weights, slow, rtol=1e-9, atol=1e-12)
    certificate = player.certificate()
    seen = Seen.of(player)
    assert seen.gap == pytest.approx(gap, rel=1e-9, abs=1e-12)
    assert seen.variance == pytest.approx(variance, rel=1e-9, abs=1e-12)
    assert certificate.own_loss == pytest.approx(own, rel=1e-12)
    assert certificate.best_loss == pytest.approx(L.min(), rel=1e-12)
    assert certificate.identity["scale changes"] == pytest.approx(changes, rel=1e-7, abs=1e-9 * (1 + abs(own)))
    assert sum(certificate.identity.values()) == pytest.approx(certificate.regret, rel=1e-9, abs=1e-9 * (1 + abs(own)))


@pytest.mark.parametrize(("factor", "offset"), [(1e-200, 0.0), (1e6, -3e6), (1e-3, 17.0), (1.0, 1e6), (-1.0, 0.0)])
def test_weights_do_not_depend_on_units_and_offset(factor, offset):
    """Other units and another offset give the same weights; gains are reflected losses."""
    losses = np.random.default_rng(5).random((200, 4))
    _, weights = step(AdaHedge(4), losses)
    learner = AdaHedge(4, gains=factor < 0)
    other, scaled = step(learner, offset + factor * losses)
    np.testing.assert_allclose(scaled, weights, rtol=1e-5 if offset else 1e-9, atol=1e-9)
    plain, _ = step(AdaHedge(4), losses)
    a, b = plain.certificate(), other.certificate()
    assert b.regret == pytest.approx(abs(factor) * a.regret, rel=1e-6)
    # Squares of 1e-200 underflow: there only the form in the best loss is used, which is larger.
    assert b.bound.value >= abs(factor) * a.bound.value * (1 - 1e-6)
    if abs(factor) > 1e-100:
        assert b.bound.value == pytest.approx(abs(factor) * a.bound.value, rel=1e-6)


def worst(rng, rounds, n, tries):
    """Hill climbing to losses with a large regret relative to the bound; returns the largest ratios found."""
    losses = (rng.random((rounds, n)) < 0.5).astype(float)
    best, ratios = -1.0, []
    for _ in range(tries):
        t, i = rng.integers(rounds), rng.integers(n)
        old = losses[t, i]
        losses[t, i] = 1.0 - old if rng.random() < 0.7 else rng.random()
        player = AdaHedge(n).start(0)
        for row in losses:
            player.observe(player.act(), row)
        seen, regret = Seen.of(player), player.certificate().regret
        forms = AdaHedge(n).observed_bound(seen).value, 2 * seen.gap
        ratios.append((regret / max(forms[0], 1e-9), regret / max(forms[1], 1e-9)))
        if ratios[-1][0] >= best:
            best = ratios[-1][0]
        else:
            losses[t, i] = old
    return np.max(ratios, axis=0)


@pytest.mark.parametrize(("rounds", "n"), [(3, 2), (8, 2), (8, 3), (40, 2), (40, 4)])
def test_search_finds_no_losses_that_exceed_the_bounds(rounds, n):
    """An adversarial search: regret <= 2 Delta, and at most the printed bound."""
    ratios = worst(np.random.default_rng([rounds, n]), rounds, n, 300)
    assert (ratios <= 1.0 + 1e-9).all()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=1, max_size=30))
def test_the_bound_holds_for_any_losses(rows):
    losses = np.array(rows)
    player, weights = step(AdaHedge(3), losses)
    certificate = player.certificate()
    assert certificate.regret <= certificate.bound.value + 1e-9 * (1 + np.abs(losses).sum())
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


def test_play_makes_the_moves_of_the_player():
    losses = 5.0 * np.random.default_rng(6).random((1000, 4)) - 2.0
    record = hn.play(AdaHedge(4), losses, runs=3, seed=9, keep="all")
    player = AdaHedge(4).start(9)
    for t, row in enumerate(losses):
        move = player.act()
        assert move.action == record.actions[0, t]
        player.observe(move, row)
    certificate = player.certificate()
    assert record.expected_regret[-1] == pytest.approx(certificate.regret, rel=1e-9)
    assert record.best_loss == pytest.approx(losses.sum(axis=0).min())
    drawn = losses[np.arange(1000), record.actions[1]].sum()
    assert record.regret[1, -1] == pytest.approx(drawn - record.best_loss)
    assert record.expected_regret[-1] <= record.bound.value
    threads = hn.play(AdaHedge(4), losses, runs=3, seed=9, threads=2)
    assert (threads.regret[:, -1] == record.regret[:, -1]).all()


def test_play_supports_gains_bernoulli_losses_and_blocks():
    losses = np.random.default_rng(7).random((200, 3))
    plain = hn.play(AdaHedge(3), losses, runs=2)
    gains = hn.play(AdaHedge(3, gains=True), -losses, runs=2)
    assert gains.best_loss == -plain.best_loss
    assert (gains.regret == plain.regret).all()
    blocks = hn.play(AdaHedge(3), iter([losses[:77], losses[77:]]), runs=2)
    assert blocks.regret[:, -1].tolist() == plain.regret[:, -1].tolist()
    coins = hn.play(AdaHedge(2), hn.adversaries.Bernoulli(np.array([0.2, 0.8]), 100), runs=2)
    assert coins.rounds == 100
    with pytest.raises(ValueError, match=r"in \[0, 0.5\]; got 0\."):
        hn.play(AdaHedge(3, (0.0, 0.5)), losses)


def test_the_bound_before_play():
    with pytest.raises(ValueError, match="pass loss_range= or spread="):
        AdaHedge(3).bound(100)
    first = AdaHedge(3, (0.0, 2.0)).bound(1000, best_loss=20.0).value
    assert first < AdaHedge(3, (0.0, 2.0)).bound(1000).value == AdaHedge(3).bound(1000, spread=2.0).value
    assert AdaHedge(3, (0.0, 2.0)).bound(best_loss=20.0).value >= first
    shifted = AdaHedge(3, (1.0, 3.0)).bound(1000, best_loss=1020.0).value
    assert shifted == pytest.approx(first)
    assert AdaHedge(3, (0.0, 2.0), gains=True).bound(1000, best_loss=1980.0).value == pytest.approx(first)
    assert AdaHedge(1).bound(10).value == 0.0
    with pytest.raises(ValueError, match="possible total of 10 rounds"):
        AdaHedge(3, (0.0, 2.0)).bound(10, best_loss=30.0)
    with pytest.raises(ValueError, match="rounds is required"):
        AdaHedge(3).bound(spread=1.0)


def test_losses_outside_a_stated_range_are_rejected():
    player = AdaHedge(2, (0.0, 1.0)).start(0)
    move = player.act()
    for bad in ([0.0, 2.0], [np.nan, 0.0], [0.0], [np.inf, 0.0]):
        with pytest.raises(ValueError):
            player.observe(move, bad)
    far = AdaHedge(2).start(0)
    with pytest.raises(ValueError, match=r"1e\+150"):
        far.observe(far.act(), [0.0, 1e200])
    player.observe(move, [0.0, 1.0])


@pytest.mark.parametrize("delay", [1, 3, 20])
def test_late_losses_are_bounded_by_two_delta(delay):
    """Losses in any order and of very different sizes; 2 Delta is exact if the potential is, so only rounding is
    tolerated.
    """
    rng = np.random.default_rng(delay)
    for game in range(60):
        n = int(rng.integers(2, 6))
        player, waiting, losses = AdaHedge(n).start(game), [], rng.standard_cauchy((60, n))
        for row in losses:
            waiting.append((player.act(), row))
            while len(waiting) > rng.integers(0, delay + 1):
                player.observe(*waiting.pop(rng.integers(len(waiting))))
        certificate = player.certificate()
        if certificate.largest_delay:
            assert certificate.regret <= certificate.bound.value * (1 + 1e-9) + 1e-9 * abs(losses).sum()
            assert "late" in certificate.bound.source or "rounds times" in certificate.bound.source


# Sleeping

LEARNERS = [
    hn.Experts(4), hn.Experts(4, hn.Entropy()), hn.Experts(4, hn.Tsallis(), hn.Anytime()),
    hn.Experts(4, hn.Entropy(), hn.Fixed(2.0)), AdaHedge(4), AdaHedge(4, (0.0, 1.0)),
]  # fmt: skip


def masks(rounds, n, seed=0):
    rng = np.random.default_rng(seed)
    awake = rng.random((rounds, n)) < 0.6
    awake[np.arange(rounds), rng.integers(n, size=rounds)] = True
    return awake


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_unavailable_experts_are_charged_the_learners_loss(learner):
    """The same player that receives the charged losses has the same state; the regret in available rounds is within the
    bound.
    """
    rounds = 300
    losses, awake = np.random.default_rng(1).random((rounds, 4)), masks(rounds, 4)
    player, by_hand = learner.start(3), learner.start(3)
    waking = np.zeros(4)
    for t in range(rounds):
        p = player.distribution(awake[t])
        full = by_hand.distribution()
        expected = np.where(awake[t], full, 0.0)
        np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-12)
        move = player.act(awake=awake[t])
        assert awake[t][move.action]
        assert move.probability == p[move.action]
        own = p @ losses[t]
        waking += np.where(awake[t], own - losses[t], 0.0)
        player.observe(move, np.where(awake[t], losses[t], np.nan))
        by_hand.observe(by_hand.act(), np.where(awake[t], losses[t], np.clip(own, 0.0, 1.0)))
    np.testing.assert_allclose(player.distribution(), by_hand.distribution(), rtol=1e-9, atol=1e-13)
    certificate = player.certificate()
    assert certificate.regret == pytest.approx(waking.max(), abs=1e-9)
    if certificate.bound is not None:
        assert waking.max() <= certificate.bound.value


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_round_with_all_experts_available_is_ordinary(learner):
    losses = np.random.default_rng(2).random((50, 4))
    plain, masked = learner.start(1), learner.start(1)
    for row in losses:
        a, b = plain.act(), masked.act(awake=np.ones(4, dtype=bool))
        assert a[1:] == b[1:]
        plain.observe(a, row)
        masked.observe(b, row)
    assert (plain.distribution() == masked.distribution()).all()
    assert plain.certificate() == masked.certificate()


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_ticket_with_unavailable_experts_survives_a_restart(learner, tmp_path):
    losses, awake = np.random.default_rng(3).random((60, 4)), masks(60, 4)
    player = learner.start(5)
    for t in range(30):
        player.observe(player.act(awake[t]), losses[t])
    move = player.act(awake[30])
    player.save(tmp_path / "player.json")
    resumed = hn.load(tmp_path / "player.json", resume="exact")
    for one in (player, resumed):
        one.observe(hn.Move.from_json(move.to_json()), losses[30])
        for t in range(31, 60):
            one.observe(one.act(awake[t]), losses[t])
    assert (player.distribution() == resumed.distribution()).all()
    # All fields are equal, and both report that the stream is in a file.
    told = resumed.certificate()
    assert told.resumed
    assert player.certificate() == told


def test_available_experts_with_underflowing_weights_are_played():
    """If the available experts have underflowing weights, they are played by their losses; no number is NaN."""
    for learner in (hn.Experts(3, hn.Entropy(), hn.Fixed(0.01)), hn.Experts(3, tuning=hn.Fixed(0.01)), AdaHedge(3)):
        player = learner.start(0)
        for _ in range(200):
            player.observe(player.act(), [0.0, 1.0, 0.9])
        p = player.distribution([False, True, True])
        assert p[0] == 0.0
        assert p.sum() == pytest.approx(1.0)
        assert p[2] > p[1]
        assert player.act([False, True, True]).action in (1, 2)


def test_invalid_masks_are_rejected_without_a_change():
    player = hn.Experts(3).start(0)
    before = player.certificate()
    for mask in ([False] * 3, [True] * 2, [1, 0, 1], "aaa", [[True] * 3], []):
        with pytest.raises(ValueError, match="awake"):
            player.act(awake=mask)
        with pytest.raises(ValueError, match="awake"):
            player.distribution(mask)
    assert player.certificate() == before
    move = player.act([True, False, True])
    for losses in ([0.0, 0.0], [2.0, 0.0, 0.0], [np.nan, 0.0, 0.0]):
        with pytest.raises(ValueError):
            player.observe(move, losses)
    with pytest.raises(ValueError, match="index 2"):
        player.observe(move, [0.5, np.nan, 7.0])
    player.observe(move, [0.5, None, 0.7])
    assert player.certificate().rounds == 1


def test_draws_among_available_experts_have_their_probabilities():
    """10,000 draws; a deviation of 5 standard errors has a probability of about 6e-7 per expert."""
    learner = hn.Experts(3, hn.Entropy(), hn.Fixed(2.0))
    player = learner.start(11)
    player.observe(player.act(), [0.0, 0.5, 1.0])
    awake = np.array([True, False, True])
    p, counts, n = player.distribution(awake), np.zeros(3), 10_000
    for _ in range(n):
        move = player.act(awake)
        counts[move.action] += 1
        player.forget(move)
    error = np.sqrt(p * (1 - p) / n)
    assert (np.abs(counts / n - p) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("rounds", [1, 2, 50])
@pytest.mark.parametrize("base", [1.0, 1e100, -3.0, 5e-324])
def test_losses_one_ulp_apart(base, rounds):
    """(L* - L-)(L+ - L*)/(L+ - L-): if L+ - L- is lost by rounding, it is replaced by a quarter of the spans."""
    row = np.array([base, np.nextafter(base, np.inf)])
    player = hn.AdaHedge(2).start(0)
    for t in range(rounds):
        player.observe(player.act(), row[:: 1 if t % 2 else -1])
    told = player.certificate()
    assert told.bound is not None
    assert 0.0 < told.bound.value <= rounds * (row[1] - row[0])
