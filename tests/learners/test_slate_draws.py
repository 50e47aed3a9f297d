"""Draws of slates with a known probability: the conditional draw, against the enumeration of all slates."""

import math

import numpy as np
import pytest

import hannan as hn
from hannan import _engine, saving
from tests.oracles import naive_slates

WORDS = np.array([1, 2, 3, 4], dtype=np.uint64)
TSALLIS, ENTROPY, LEFT_OUT, HEDGE, LEADERS = range(5)
SYSTEMATIC, CONDITIONAL, BY_NOISE = range(3)


def run_of(losses, m, scale, play=TSALLIS, draw=CONDITIONAL):
    losses = np.ascontiguousarray(losses, dtype=np.float64)
    run = _engine.Slates(
        n=len(losses), m=m, c=scale, a=1.0, b=0.0, estimator=0, gamma=0.0, words=WORDS, play=play, draw=draw,
        all=play != TSALLIS,
    )  # fmt: skip
    run.restore(losses, 0)
    return run


def cases(rng, count, most=8):
    for t in range(count):
        n = int(rng.integers(2, most))
        losses = rng.random(n) * 10.0 ** rng.uniform(-2, 1.5)
        yield np.round(losses) if t % 4 == 0 else losses, int(rng.integers(1, n)), 10.0 ** rng.uniform(-0.5, 1.5)


def test_conditional_draw_equals_the_distribution_of_maximum_entropy():
    for losses, m, scale in cases(np.random.default_rng(0), 150):
        x = run_of(losses, m, scale, draw=SYSTEMATIC).probabilities()
        run = run_of(losses, m, scale)
        items, shares, _, chance = run.act()
        np.testing.assert_allclose(run.probabilities(), x, rtol=2e-12)
        assert shares == tuple(run_of(losses, m, scale).probabilities()[list(items)])
        if x.min() > 1e-4 and x.max() < 1.0 - 1e-4:
            wanted = naive_slates.conditional(x, m)
            assert chance == pytest.approx(wanted[tuple(sorted(items))], rel=1e-9)


def test_conditional_fit_converges_for_probabilities_near_0_and_1():
    """Large gaps, ties, two items: updates of all weights at the same time would oscillate here."""
    rng = np.random.default_rng(1)
    for t in range(1500):
        n = int(rng.integers(2, 40))
        losses, scale = rng.random(n) * 10.0 ** rng.uniform(-8, 8), 10.0 ** rng.uniform(-1, 2)
        run = run_of(np.round(losses * 3.0) / 3.0 if t % 3 == 0 else losses, int(rng.integers(1, n)), scale)
        items, _, _, chance = run.act()
        assert run.deviation <= 1e-11
        assert 0.0 < chance <= 1.0
        assert len(set(items)) == len(items)


def test_control_weights_without_the_fit_miss_the_probabilities():
    x = run_of([0.0, 0.3, 0.9, 2.0], 2, 3.0, draw=SYSTEMATIC).probabilities()
    unfitted = naive_slates.inclusion(naive_slates.product(np.log(x / (1.0 - x)), 2), 4)
    assert np.abs(unfitted / x - 1.0).max() > 0.02


@pytest.mark.parametrize(("n", "m"), [(4, 2), (6, 3), (5, 4)])
def test_conditional_draws_occur_with_their_probabilities(n, m):
    """Five standard errors per slate, at most 20 slates and 3 sizes: a false alarm in 4e-5 of the tests."""
    draws, counts, chances = 20_000, {}, {}
    run = run_of(np.linspace(0.0, 2.0, n), m, 1.0)
    firsts = np.zeros(n)
    for _ in range(draws):
        items, _, _, chance = run.act()
        slate = tuple(sorted(items))
        counts[slate] = counts.get(slate, 0) + 1
        assert chances.setdefault(slate, chance) == pytest.approx(chance, rel=1e-10)
        firsts[items[0]] += 1
    assert math.fsum(chances.values()) == pytest.approx(1.0, abs=1e-9)
    for slate, chance in chances.items():
        assert abs(counts[slate] - draws * chance) <= 5.0 * math.sqrt(draws * chance * (1.0 - chance))
    # The order is uniform: each shown item is first with probability 1/m.
    x = run.probabilities() / m
    assert (np.abs(firsts - draws * x) <= 5.0 * np.sqrt(draws * x * (1.0 - x))).all()


def test_conditional_player_equals_its_game_and_reports_the_probability():
    learner = hn.SlateBandit(6, 2, draw="conditional")
    losses = np.random.default_rng(0).random((200, 6))
    record, player, own = hn.play(learner, losses, seed=3), learner.start(seed=3), 0.0
    for row in losses:
        move = player.act()
        assert 0.0 < move.probability <= min(move.probabilities) * (1.0 + 1e-12)
        own += row[list(move.actions)].sum()
        player.observe(type(move).from_json(move.to_json()), row[list(move.actions)])
    assert record.loss[0, -1] == pytest.approx(own, rel=1e-12)
    plain = hn.SlateBandit(6, 2)
    assert plain.start(seed=0).act().probability is None
    more = learner.bound(200).value - plain.bound(200).value
    assert 0.0 < more < 1e-5  # the cost of the fit
    assert hn.SlateBandit.from_json(learner.to_json()) == learner
    assert repr(learner) == "SlateBandit(6, 2, draw='conditional')"


def test_conditional_player_with_unavailable_items_resumes_exactly(tmp_path):
    player, rng = hn.SlateBandit(5, 3, draw="conditional").start(seed=0), np.random.default_rng(0)
    awake = np.array([True, True, False, True, True])
    for k in range(10):
        player.distribution(awake)  # a query does not change the moves
        player.observe(player.act(awake if k % 2 else None), rng.random(3))
    pending = [player.act(), player.act(awake)]
    assert 0.0 < pending[1].probability < 1.0
    player.save(tmp_path / "slates.json")
    other = hn.load(tmp_path / "slates.json", resume="exact")
    for copy in (player, other):
        for move in pending:
            copy.observe(move, [0.25, 1.0, 0.5])
    assert [player.act(awake) for _ in range(5)] == [other.act(awake) for _ in range(5)]


def test_queries_do_not_change_the_moves_of_a_conditional_player():
    players = [hn.SlateBandit(7, 3, draw="conditional").start(seed=1) for _ in range(2)]
    for t in range(60):
        if t % 3 == 0:
            players[0].distribution()
            players[0].distribution(np.arange(7) != t % 7)
        moves = [player.act() for player in players]
        assert moves[0][1:] == moves[1][1:]
        for player, move in zip(players, moves, strict=True):
            player.observe(move, [0.0, 0.5, 1.0])


def test_certificate_withholds_the_bound_if_the_draw_was_not_fitted(tmp_path):
    player = hn.SlateBandit(4, 2, draw="conditional").start(seed=0)
    player.observe(player.act(), [0.0, 1.0])
    assert player.certificate().bound is not None
    content = player.content()
    content["state"]["deviation"] = 1e-6
    saving.write(tmp_path / "slates.json", content)
    certificate = hn.load(tmp_path / "slates.json").certificate()
    assert certificate.bound is None
    assert "1.0e-06" in certificate.withheld


def test_rejects_an_unknown_draw():
    with pytest.raises(ValueError, match=r"draw.*'pivotal'"):
        hn.SlateBandit(4, 2, draw="pivotal")
