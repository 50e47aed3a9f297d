"""Algorithms and environments of your own: a plain class plays, and nothing is carried from run to run."""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn

LOSSES = np.tile([0.5, 0.25, 1.0], (60, 1))


class Turns:
    """Takes turns; told n and the seed."""

    def __init__(self, n: int, seed: int) -> None:
        self.n, self.seed, self.t = n, seed, -1

    def act(self) -> int:
        self.t += 1
        return self.t % self.n

    def observe(self, move: int, loss: float) -> None:
        assert loss == LOSSES[0, move]


@pytest.mark.parametrize("losses", [LOSSES, np.stack([LOSSES] * 4), LOSSES.tolist()])
def test_a_class_plays_anew_in_every_run(losses: object) -> None:
    record = hn.play(Turns, losses, runs=4)
    assert record.learner == "Turns"
    assert (record.counts == 20).all()
    assert record.regret[:, -1].tolist() == [20 * (0.5 + 0.25 + 1.0) - 60 * 0.25] * 4
    assert record.bound_withheld == "Turns gives no bound"


def test_a_class_against_coins_and_adversaries() -> None:
    class Last:
        n = 3

        def act(self) -> int:
            return 2

        def observe(self, move: int, loss: float) -> None:
            assert loss in (0.0, 1.0)

    assert hn.play(Last, hn.adversaries.Bernoulli([0.0, 1.0, 1.0], 30)).regret[0, -1] == 30.0
    assert hn.play(Last, lambda t, past: [0.0, 1.0, 1.0], rounds=30).regret[0, -1] == 30.0
    with pytest.raises(ValueError, match="Turns must have n, the number of its choices"):
        hn.play(Turns, lambda t, past: [0.0, 1.0], rounds=30)
    with pytest.raises(ValueError, match="learner must be a learner, built, not its class; got Bandit"):
        hn.play(hn.Bandit, LOSSES)


class Shared:
    """Its start always gives the one player that it has: what it learnt in a run it would take into the next."""

    n = 3

    def __init__(self, players: int) -> None:
        self._players = [Turns(3, 0) for _ in range(players)]
        self._given = -1

    def start(self, seed: int) -> Turns:
        self._given += 1
        return self._players[self._given % len(self._players)]

    def __repr__(self) -> str:
        return "Shared()"


@pytest.mark.parametrize("players", [1, 2])
def test_one_player_for_two_runs_is_refused(players: int) -> None:
    words = rf"start must make a new object for every run; that of Shared\(\) gave the same for runs 0 and {players}"
    with pytest.raises(ValueError, match=words):
        hn.play(Shared(players), LOSSES, runs=3)
    with pytest.raises(ValueError, match=words):
        hn.play(Shared(players), lambda t, past: LOSSES[0], runs=3, rounds=10)
    with pytest.raises(ValueError, match=words):
        hn.compare({"s": Shared(players)}, {"e": LOSSES}, runs=3)
    hn.play(Shared(3), LOSSES, runs=3)


def test_one_adversary_for_two_runs_is_refused() -> None:
    class Same:
        def start(self, n: int, rounds: int) -> Same:
            return self

        def loss(self, t: int, past: hn.adversaries.Past) -> list[float]:
            return [0.0, 1.0]

        def __repr__(self) -> str:
            return "Same()"

    with pytest.raises(ValueError, match=r"that of Same\(\) gave the same for runs 0 and 1"):
        hn.play(hn.Bandit(2), Same(), rounds=5, runs=2)
    assert hn.play(hn.Bandit(2), Same(), rounds=5).rounds == 5


@pytest.mark.parametrize(
    "row", [[0.5, 1.0], np.array([0.5, 1.0]), (0.5, 1.0), [0.5, 1], np.array([0.5, 1.0], np.float32)]
)
def test_rows_of_an_adversary_in_any_form(row: object) -> None:
    record = hn.play(hn.Bandit(2), lambda t, past: row, rounds=9)
    assert record.best_loss.tolist() == [4.5]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0.5, float("nan")], "losses must be finite; got nan at index 1"),
        ([0.5, 1.5], r"losses must be in \[0, 1\]; got 1.5 at index 1"),
        (np.array([-0.5, 1.0]), r"losses must be in \[0, 1\]; got -0.5 at index 0"),
        ([0.5], r"losses must be 2 numbers; got shape \(1,\)"),
        ([True, False], "losses must be real numbers; got bool"),
        (["a", "b"], "losses must be real numbers"),
    ],
)
def test_bad_rows_are_refused_as_before(row: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hn.play(hn.Bandit(2), lambda t, past: row, rounds=3)


def test_the_row_that_is_kept_is_a_copy() -> None:
    row = np.array([0.5, 1.0])

    def changing(t: int, past: hn.adversaries.Past) -> np.ndarray:
        row[0] = 0.25 if t > 1 else 0.5
        return row

    assert hn.play(hn.Bandit(2), changing, rounds=3).best_loss.tolist() == [1.0]
