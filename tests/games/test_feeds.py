"""Sources of losses: tables, one table per run, blocks, memory maps, Bernoulli means and iterators."""

import math

import numpy as np
import pytest
from naive_games import losses_of

from hannan.adversaries import Bernoulli
from hannan.games.play import play
from hannan.learners.bandits import Bandit
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.tuning import Anytime, Fixed, SelfConfident
from hannan.mathematics.regularizers import Entropy, Tsallis


@pytest.mark.parametrize("n", [2, 10, 64])
def test_number_of_threads_does_not_change_a_game(n):
    learner, losses = Bandit(n, Entropy(), Fixed(20.0)), losses_of(20_000, n)
    one, two = (play(learner, losses, runs=32, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_array_equal(one.regret, two.regret)


def test_three_million_experts():
    """The memory for this number of experts is returned to the system when it is freed."""
    rng, n = np.random.default_rng(0), 3_000_000
    advice, losses = rng.integers(0, 4, (6, n), dtype=np.uint8), rng.random((6, 4))
    record = play(ExpertBandit(4, n, Entropy(), Fixed(100.0)), losses, advice=advice)
    assert record.best_loss == pytest.approx(losses[np.arange(6)[:, None], advice].sum(axis=0).min(), abs=1e-12)


def same(first, second):
    for name in ("regret", "counts", "checkpoints", "best_loss", "actions", "expected_regret", "estimated_regret"):
        a, b = getattr(first, name), getattr(second, name)
        assert (a is None and b is None) or np.array_equal(a, b), name


GAMES = [
    (Bandit(5, Entropy(), Fixed(9.0)), {}),
    (Bandit(5, Tsallis(0.5), Anytime()), {}),
    (Bandit(80, Entropy(), Fixed(9.0)), {}),
    (Experts(5, Entropy(), SelfConfident()), {}),
    (Experts(80, Entropy(), Fixed(20.0)), {}),
    (ExpertBandit(5, 30, Entropy(), Fixed(9.0)), {"experts": 30}),
]


@pytest.mark.parametrize(("learner", "more"), GAMES, ids=lambda x: repr(x) if not isinstance(x, dict) else "")
def test_record_is_the_same_for_all_threads_blocks_and_sources(learner, more, tmp_path, monkeypatch):
    n, runs, rounds = (5 if more else learner.n), 21, 700
    losses = losses_of(rounds, n)
    rng = np.random.default_rng(3)
    given = {"advice": rng.integers(0, n, (rounds, more["experts"]), dtype=np.uint8)} if more else {}
    whole = play(learner, losses, runs, 8, threads=1, keep="all", **given)
    same(whole, play(learner, losses, runs, 8, threads=2, keep="all", **given))
    same(whole, play(learner, losses, runs, 8, threads=5, keep="all", **given))
    tiled = play(learner, np.tile(losses, (runs, 1, 1)), runs, 8, keep="all", **given)
    assert np.array_equal(whole.actions, tiled.actions)
    assert np.array_equal(whole.regret, tiled.regret)
    path = tmp_path / "losses.npy"
    np.save(path, losses)
    same(whole, play(learner, np.load(path, mmap_mode="r"), runs, 8, keep="all", **given))
    same(whole, play(learner, np.asfortranarray(losses), runs, 8, keep="all", **given))
    blocks = play(learner, iter(np.array_split(losses, 13)), runs, 8, keep="all", **given)
    same(whole, blocks)
    monkeypatch.setattr("hannan.games.runners.BLOCK_NUMBERS", 37 * n)
    same(whole, play(learner, losses, runs, 8, keep="all", **given))
    few = play(learner, losses, runs, 8, **given)
    at = few.checkpoints - 1
    assert np.array_equal(few.regret, whole.regret[:, at])
    assert few.actions is None


def test_one_loss_sequence_per_run():
    rng = np.random.default_rng(0)
    losses = rng.random((9, 300, 4))
    for learner in (Bandit(4, Entropy(), Anytime()), Experts(4, Entropy(), Anytime())):
        record = play(learner, losses, runs=9, seed=2, keep="all", threads=2)
        np.testing.assert_allclose(record.best_loss, losses.sum(axis=1).min(axis=1))
        for run in (0, 8):
            own = losses[run, np.arange(300), record.actions[run]].cumsum()
            best = losses[run].cumsum(axis=0).min(axis=1)
            np.testing.assert_allclose(record.regret[run], own - best, atol=1e-10)
        alone = play(learner, losses[0], runs=1, seed=2, keep="all")
        assert np.array_equal(alone.actions[0], record.actions[0])


def test_bernoulli_losses_are_drawn_by_the_game():
    """Mean loss of a uniform player: 5 standard errors, 6e-7."""
    means = np.array([0.2, 0.5, 0.8])
    learner = Bandit(3, Entropy(), Fixed(1e9))
    record = play(learner, Bernoulli(means, 2000), runs=50, seed=1)
    own = record.regret[:, -1] + record.best_loss
    assert record.best_loss == pytest.approx(400.0)
    assert abs(own.mean() - 1000.0) < 5 * math.sqrt(2000 * 0.25 / 50)
    moving = np.tile(means, (2000, 1))
    again = play(learner, Bernoulli(moving, 2000), runs=50, seed=1, threads=2)
    assert np.array_equal(again.counts, record.counts)
    np.testing.assert_allclose(again.regret, record.regret, atol=1e-9)
    seen = play(Experts(3, Entropy(), Anytime()), Bernoulli(means, 500), runs=4, seed=1)
    assert seen.best_loss.shape == (4,)
    assert (np.abs(seen.best_loss - 100) < 5 * math.sqrt(500 * 0.16)).all()


def test_record_notes_that_losses_ended_early():
    losses = losses_of(300, 3)
    record = play(Bandit(3, Entropy(), Fixed(5.0)), iter([losses]), rounds=1000)
    assert record.rounds == 300
    assert "1000" in record.note
    assert "300" in record.note
    assert play(Bandit(3, Entropy(), Fixed(5.0)), losses, rounds=200).rounds == 200


def test_long_iterator_keeps_a_bounded_number_of_checkpoints():
    def blocks():
        for k in range(40):
            yield losses_of(500, 2, k)

    record = play(Bandit(2, Entropy(), Anytime()), blocks(), runs=2)
    assert record.rounds == 20_000
    assert 400 < len(record.checkpoints) <= 1001
    assert record.checkpoints[-1] == 20_000
    assert (np.diff(record.checkpoints) > 0).all()
    again = play(Bandit(2, Entropy(), Anytime()), np.concatenate(list(blocks())), runs=2, keep="all")
    assert np.array_equal(record.regret, again.regret[:, record.checkpoints - 1])
