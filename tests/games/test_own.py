"""User-defined algorithms and environments: plain classes play, and no state is carried from run to run."""

from __future__ import annotations

import functools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.games.play import label
from hannan.games.sweep.plan import content

LOSSES = np.tile([0.5, 0.25, 1.0], (60, 1))


class Turns:
    """Plays the arms in turn; receives n and the seed."""

    def __init__(self, n: int, seed: int) -> None:
        self.n, self.seed, self.t = n, seed, -1

    def act(self) -> int:
        self.t += 1
        return self.t % self.n

    def observe(self, move: int, loss: float) -> None:
        assert loss == LOSSES[0, move]


@pytest.mark.parametrize("losses", [LOSSES, np.stack([LOSSES] * 4), LOSSES.tolist()])
def test_class_is_instantiated_for_every_run(losses: object) -> None:
    record = hn.play(Turns, losses, runs=4)
    assert record.learner == "Turns"
    assert (record.counts == 20).all()
    assert record.regret[:, -1].tolist() == [20 * (0.5 + 0.25 + 1.0) - 60 * 0.25] * 4
    assert record.bound_withheld == "Turns has no method bound"


def test_class_plays_bernoulli_losses_and_adversaries() -> None:
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
    with pytest.raises(ValueError, match=r"learner must be an instance.*Bandit"):
        hn.play(hn.Bandit, LOSSES)


class Shared:
    """Its start always returns the same player, which would carry its state to the next run."""

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
def test_shared_player_is_rejected(players: int) -> None:
    words = rf"start of Shared\(\).*new object for every run; got the same for runs 0 and {players}"
    with pytest.raises(ValueError, match=words):
        hn.play(Shared(players), LOSSES, runs=3)
    with pytest.raises(ValueError, match=words):
        hn.play(Shared(players), lambda t, past: LOSSES[0], runs=3, rounds=10)
    with pytest.raises(ValueError, match=words):
        hn.compare({"s": Shared(players)}, {"e": LOSSES}, runs=3)
    hn.play(Shared(3), LOSSES, runs=3)


def test_shared_adversary_is_rejected() -> None:
    class Same:
        def start(self, n: int, rounds: int) -> Same:
            return self

        def loss(self, t: int, past: hn.adversaries.Past) -> list[float]:
            return [0.0, 1.0]

        def __repr__(self) -> str:
            return "Same()"

    with pytest.raises(ValueError, match=r"Same\(\).*runs 0 and 1"):
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
        ([0.5], r"losses.*2 numbers.*shape \(1,\)"),
        ([True, False], "losses must be real numbers; got bool"),
        (["a", "b"], "losses must be real numbers"),
    ],
)
def test_invalid_rows_are_rejected(row: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hn.play(hn.Bandit(2), lambda t, past: row, rounds=3)


def test_stored_row_is_a_copy() -> None:
    row = np.array([0.5, 1.0])

    def changing(t: int, past: hn.adversaries.Past) -> np.ndarray:
        row[0] = 0.25 if t > 1 else 0.5
        return row

    assert hn.play(hn.Bandit(2), changing, rounds=3).best_loss.tolist() == [1.0]


class Stays:
    """Plays one arm; counts the players that were built."""

    built = 0

    def __init__(self, n: int, arm: int = 0, seed: int = -1) -> None:
        Stays.built += 1
        assert 0 <= arm < n
        self.arm, self.seed = arm, seed

    def act(self) -> int:
        return self.arm

    def observe(self, move: int, loss: float) -> None:
        pass


class Makes:
    """A callable object, or a method, that is a factory."""

    def __init__(self, arm: int) -> None:
        self.arm = arm

    def __call__(self, n: int) -> Stays:
        return Stays(n, self.arm)

    def player(self, n: int, seed: int) -> Stays:
        return Stays(n, self.arm, seed)


def makes_a_bandit(n: int, rounds: int) -> hn.Bandit:
    assert rounds == 60
    return hn.Bandit(n, tuning=hn.Horizon(rounds))


#: Factory -> (label in a list, label in a record, arm that it plays; None for a learner of the package).
FACTORIES: list[tuple[Any, str, str, int | None]] = [
    (functools.partial(Stays, arm=2), "Stays(arm=2)", "Stays(arm=2)", 2),
    (functools.partial(Stays, 3, 1), "Stays(3, 1)", "Stays(3, 1)", 1),
    (functools.partial(Stays, n=3, arm=1), "Stays(n=3, arm=1)", "Stays(n=3, arm=1)", 1),
    (lambda n: Stays(n, 2), "<lambda>", "<lambda>", 2),
    (lambda k, seed: Stays(k, 1, seed), "<lambda>", "<lambda>", 1),
    (lambda k, /: Stays(k, 1), "<lambda>", "<lambda>", 1),
    (lambda *sizes: Stays(sizes[0], sizes[1] - 59), "<lambda>", "<lambda>", 1),
    (lambda n, arm=2: Stays(n, arm), "<lambda>", "<lambda>", 2),
    (lambda: Stays(3, 2), "<lambda>", "<lambda>", 2),
    (lambda: Stays, "<lambda>", "Stays", 0),
    (Makes(2), "Makes", "Makes", 2),
    (Makes(1).player, "player", "player", 1),
    (makes_a_bandit, "makes_a_bandit", repr(hn.Bandit(3, tuning=hn.Horizon(60))), None),
    (lambda n: hn.Bandit(n), "<lambda>", repr(hn.Bandit(3)), None),
    (lambda: hn.Bandit(3), "<lambda>", repr(hn.Bandit(3)), None),
    (functools.partial(hn.Bandit, smoothing=hn.Entropy()), "Bandit(smoothing=Entropy())",
     repr(hn.Bandit(3, hn.Entropy())), None),
    (functools.partial(hn.MOSS), "MOSS()", repr(hn.MOSS(3, 60)), None),
]  # fmt: skip
LABELS = [f"{k}: {name}" for k, (_, name, _, _) in enumerate(FACTORIES)]


@pytest.mark.parametrize(("make", "name", "said", "arm"), FACTORIES, ids=LABELS)
def test_play_and_compare_take_factories(make: Any, name: str, said: str, arm: int | None) -> None:
    record = hn.play(make, LOSSES, runs=3)
    assert record.learner == said
    if arm is not None:
        assert record.counts.tolist() == [[60 * (i == arm) for i in range(3)]] * 3
    compared = hn.compare([make], {"e": LOSSES}, runs=3)
    assert [row["learner"] for row in compared.rows()] == [name]
    if arm is not None:
        assert compared.cell(name, "e").final.tolist() == [60 * (LOSSES[0, arm] - 0.25)] * 3


def test_factory_gives_the_game_of_its_learner() -> None:
    ours, theirs = (hn.play(who, LOSSES, runs=3, seed=5) for who in (lambda n: hn.Bandit(n), hn.Bandit(3)))
    assert np.array_equal(ours.regret, theirs.regret)
    assert ours.bound == theirs.bound


def test_factory_builds_one_player_per_run_with_its_own_seed() -> None:
    seeds: list[int] = []

    def make(n: int, seed: int) -> Stays:
        seeds.append(seed)
        return Stays(n, 0, seed)

    hn.play(make, LOSSES, runs=4)
    assert len(set(seeds[1:])) == len(seeds[1:]) == 4  # the first call determines what the factory returns
    shared = Stays(3)
    with pytest.raises(ValueError, match=r"<lambda>.*runs 0 and 1"):
        hn.play(lambda: shared, LOSSES, runs=2)


def test_factories_play_against_adversaries() -> None:
    def adversary(t: int, past: hn.adversaries.Past) -> list[float]:
        return [0.0, 1.0, 1.0]

    assert hn.play(functools.partial(Stays, n=3, arm=2), adversary, rounds=30).regret[0, -1] == 30.0
    assert hn.play(lambda: hn.Bandit(3), adversary, rounds=30).rounds == 30
    with pytest.raises(ValueError, match=r"<lambda> must have n.*functools\.partial"):
        hn.play(lambda n: Stays(n), adversary, rounds=30)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda n, rounds, rate: Stays(n), r"<lambda> must take no required.*'rate'"),
        (lambda n, *, rate: Stays(n), r"<lambda> must take no required.*'rate'"),
        (lambda n: 17, r"<lambda> must return a learner.*got 17"),
        (lambda n: hn.Bandit, r"<lambda> must return a learner.*Bandit"),
        (lambda n, seed: hn.Bandit(n), r"<lambda> must not take seed.*Bandit\(3"),
        (Stays(3), r"learner.*must be a learner.*Stays object.*Pass its class"),
    ],
)  # fmt: skip
def test_bad_factories_are_rejected_before_the_game(make: Any, words: str) -> None:
    for call in (lambda: hn.play(make, LOSSES), lambda: hn.compare({"x": make}, {"e": LOSSES}, runs=2)):
        with pytest.raises(ValueError, match=words):
            call()


def test_labels_of_a_list_are_unique_and_the_same_in_every_process() -> None:
    def named(n: int) -> Stays:
        return Stays(n)

    again = functools.partial(named)
    learners = [lambda n: Stays(n), lambda n: Stays(n, 1), named, Makes(0), Makes(1), again, again]
    names = [row["learner"] for row in hn.compare(learners, {"e": LOSSES}, runs=2).rows()]
    assert names == ["<lambda>", "<lambda> 2", "named", "Makes", "Makes 2", "named()", "named() 2"]
    inner = functools.partial(Stays, arm=functools.partial(max, key=lambda x: x))
    assert label(inner) == "Stays(arm=max(key=<lambda>))"
    with pytest.raises(ValueError, match="'bandit' twice"):
        hn.compare(["bandit", "bandit"], {"e": LOSSES}, runs=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_sweep_takes_factories_in_one_process_and_in_many(tmp_path: Path, workers: int) -> None:
    pytest.importorskip("cloudpickle")
    pytest.importorskip("pyarrow")
    arm = 2
    learners: dict[str, Any] = {
        "lambda": lambda n: Stays(n, arm), "partial": functools.partial(Stays, arm=1), "method": Makes(1).player,
        "learner": lambda n, rounds: hn.Bandit(n), "text": lambda: "exp3", "class": Stays,
    }  # fmt: skip
    plan = {"learners": learners, "environments": {"e": LOSSES}, "runs": 2}
    swept = hn.sweep(plan, tmp_path / "out", workers=workers, progress=False)
    compared = hn.compare(learners, {"e": LOSSES}, runs=2)
    for name in learners:
        assert np.array_equal(swept.comparison.cell(name, "e").regret, compared.cell(name, "e").regret), name
    assert " at 0x" not in (tmp_path / "out" / "plan.json").read_text()
    assert hn.sweep(plan, tmp_path / "out", workers=workers, progress=False).status["left"] == 0


def test_sweep_rejects_a_lambda_that_cannot_be_sent_before_any_work(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")

    def plan(held: Any) -> dict[str, Any]:
        learners = {"a": "bandit", "held": lambda n: held and hn.Bandit(n)}
        return {"learners": learners, "environments": {"e": LOSSES}, "runs": 2}

    lock = threading.Lock()
    with pytest.raises(ValueError, match=r"learner 'held' must be something that can be sent.*lock.*workers=1"):
        hn.sweep(plan(lock), tmp_path / "out", workers=2, progress=False)
    assert not (tmp_path / "out").exists()
    assert hn.sweep(plan("control"), tmp_path / "out", workers=2, progress=False).status["done"] == 2
    assert hn.sweep(plan(lock), tmp_path / "here", workers=1, progress=False).status["done"] == 2


RATE = 1.0


def test_key_of_a_function_follows_the_values_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(n: int) -> Stays:
        return Stays(n, int(RATE))

    before = content(reads), content(functools.partial(Stays, arm=1))
    assert before == (content(reads), content(functools.partial(Stays, arm=1)))
    monkeypatch.setitem(globals(), "RATE", 2.0)
    assert content(reads) != before[0]
    assert content(functools.partial(Stays, arm=2)) != before[1]
    assert content([np, np.sqrt, len]) == content([np, np.sqrt, len]) != content([np, np.exp, len])
