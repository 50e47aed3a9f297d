"""A fleet against a dict of single players, bit for bit; tickets, rejections, keys, random streams."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hannan as hn
from hannan import _engine
from hannan.mathematics.streams import words

LEARNERS = {
    "default": hn.Bandit(10),
    "two": hn.Bandit(2, gains=True, loss_range=(-1.0, 3.0)),
    "one": hn.Bandit(1),
    "many": hn.Bandit(130),
    "tsallis": hn.Bandit(5, hn.Tsallis(0.5)),
    "tsallis 0.3": hn.Bandit(5, hn.Tsallis(0.3)),
    "hedge": hn.Bandit(5, hn.Entropy(), hn.Horizon(1000)),
    "hedge of many": hn.Bandit(80, hn.Entropy(), hn.Horizon(1000)),
    "hedge anytime": hn.Bandit(5, hn.Entropy()),
    "log-barrier": hn.Bandit(5, hn.LogBarrier(), hn.SelfConfident(1000)),
    "exponential": hn.Bandit(5, hn.Exponential()),
    "frechet": hn.Bandit(3, hn.Frechet(2.0)),
    "geometric": hn.Bandit(5, hn.Entropy(), hn.Horizon(1000), hn.GeometricResampling(50)),
    "conditional": hn.Bandit(5, hn.Exponential(), hn.Horizon(1000), hn.ConditionalResampling(50)),
    "exp3-ix": hn.exp3_ix(5, 1000),
    "lb-inf": hn.LBInf(4, 1000),
    "green": hn.Green(4, 4.0, 0.05),
    "exp3-light": hn.Exp3Light(4),
    "delayed": hn.TsallisShannon(4),
    "exp3.s": hn.exp3_s(4, 1000, 3),
}


class Oracle:
    """One player per key, each with the random stream that the fleet gives its key."""

    def __init__(self, learner: Any, seed: int) -> None:
        self.learner, self.seed, self.players = learner, seed, dict[int, Any]()

    def player(self, key: int) -> Any:
        if key not in self.players:
            made = self.learner.start(self.seed)
            made._set_words(words(self.seed, key % (1 << 64)), made._words[1].copy())
            self.players[key] = made
        return self.players[key]


def in_range(learner: Any, x: float) -> float:
    low, high = learner.loss_range
    return float(low + x * (high - low))


def same(fleet: Any, key: int, player: Any) -> None:
    """The complete state of a player of this key, to the last bit."""
    mine = fleet._player(key).state()
    theirs = player.state()
    np.testing.assert_array_equal(mine["losses"], theirs["losses"])
    np.testing.assert_array_equal(mine["weights"], theirs["weights"])
    np.testing.assert_array_equal(mine["memory"], theirs["memory"])
    assert mine["stream"] == theirs["stream"]
    for name in ("drawn", "forgotten", "largest_delay"):
        assert mine[name] == theirs[name], name
    for name in ("own", "scale", "total", "base", "warm", "round"):
        assert mine["numbers"][name] == theirs["numbers"][name], name
    assert len(mine["open"]) == len(theirs["open"])


STEPS = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=0, max_size=5), st.integers(0, 2**32 - 1)), min_size=1, max_size=30
)


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=12, deadline=None)
@given(steps=STEPS, seed=st.sampled_from([0, 7, 2**40 + 1, 2**200 + 3]))
def test_any_interleaving_equals_single_players(name: str, steps: list[Any], seed: int) -> None:
    """Batches with repeated keys, feedback late, in any order, some forgotten."""
    learner: Any = LEARNERS[name]
    fleet, oracle = hn.Fleet(learner, seed=seed), Oracle(learner, seed)
    opened: list[tuple[int, int, Any]] = []
    for keys, luck in steps:
        rng = np.random.default_rng(luck)
        moves = fleet.act(keys)
        for k, key in enumerate(keys):
            move = oracle.player(key).act()
            assert (move.round, move.action) == (moves.round[k], moves.action[k])
            assert move.probability == moves.probability[k]
            opened.append((key, int(moves.ticket[k]), move))
        rng.shuffle(opened)  # type: ignore[arg-type]
        taken = [opened.pop() for _ in range(rng.integers(0, len(opened) + 1))]
        losses = [in_range(learner, x) for x in rng.random(len(taken))]
        for (key, _, move), loss in zip(taken, losses, strict=True):
            oracle.player(key).observe(move, loss)
        fleet.observe([ticket for _, ticket, _ in taken], losses)
        if opened and rng.random() < 0.1:
            key, ticket, move = opened.pop()
            oracle.player(key).forget(move)
            fleet.forget([ticket])
    for key, player in oracle.players.items():
        same(fleet, key, player)
        mine, theirs = fleet.certificate(key), player.certificate()
        assert (mine.bound, mine.withheld, mine.own_loss) == (theirs.bound, theirs.withheld, theirs.own_loss)
        assert (mine.estimated_regret, mine.realised_level) == (theirs.estimated_regret, None)
        np.testing.assert_array_equal(fleet.distribution(key), player.distribution())


def test_key_0_equals_the_player_and_key_k_equals_run_k() -> None:
    learner, rounds = hn.Bandit(4), 200
    losses = np.random.default_rng(0).random((rounds, 4))
    record: Any = hn.play(learner, losses, runs=3, seed=11, keep="all")
    fleet, player = hn.Fleet(learner, seed=11), learner.start(seed=11)
    for t in range(rounds):
        moves = fleet.act([0, 1, 2])
        move = player.act()
        assert move.probability == moves.probability[0]
        assert moves.action.tolist() == record.actions[:, t].tolist()
        fleet.observe(moves, losses[t, moves.action])
        player.observe(move, float(losses[t, move.action]))


@pytest.mark.parametrize("key", [0, 5, 2**32 - 1, 2**32, 2**63 - 1, -1, -(2**63)])
@pytest.mark.parametrize("seed", [0, 3, 2**130, 2**255 + 9])
def test_streams_equal_those_of_numpy(key: int, seed: int) -> None:
    fleet = hn.Fleet(hn.Bandit(3), seed=seed)
    number = fleet.number([key], touch=True)[0]
    assert fleet._fields(number)["stream"] == tuple(words(seed, key % (1 << 64)).tolist())


def test_moves_do_not_depend_on_other_keys() -> None:
    alone, crowd = hn.Fleet(hn.Bandit(4), seed=1), hn.Fleet(hn.Bandit(4), seed=1)
    rng = np.random.default_rng(2)
    for _ in range(50):
        crowd.observe(crowd.act(["x", "y"]), [0.1, 0.9])
        loss = rng.random()
        one, many = alone.act(["me"]), crowd.act(["z", "me", "x"])
        assert (one.action[0], one.probability[0]) == (many.action[1], many.probability[1])
        alone.observe(one, [loss])
        crowd.observe(many, [0.5, loss, 0.5])


def test_control_the_comparison_detects_one_bit() -> None:
    """The comparison would detect a difference in the last bit of one number of a row."""
    learner = hn.Bandit(4)
    fleet, player = hn.Fleet(learner, seed=0), learner.start(seed=0)
    for loss in (0.3, 0.9, 0.1):
        fleet.observe(fleet.act([0]), [loss])
        player.observe(player.act(), loss if loss != 0.9 else np.nextafter(0.9, 1.0))
    with pytest.raises(AssertionError):
        same(fleet, 0, player)


SERIES = {
    "default": lambda n: hn.Bandit(n),
    "tsallis": lambda n: hn.Bandit(n, hn.Tsallis(0.5), estimator=hn.ImportanceWeighted()),
    "tsallis, constant": lambda n: hn.Bandit(n, hn.Tsallis(0.5), hn.Horizon(100)),
    "log-barrier": lambda n: hn.Bandit(n, hn.LogBarrier(), hn.SelfConfident(1000), loss_range=(-2.0, 3.0)),
    "log-barrier, reduced": lambda n: hn.Bandit(n, hn.LogBarrier(), hn.SelfConfident(1000), hn.ReducedVariance()),
}


def played(learner: Any, together: bool, nudged: float = 0.0) -> bytes:
    """Forty rounds of batches, some settled late, in batches or per key; return the final state."""
    fleet, rng, late = hn.Fleet(learner, seed=5, name="f"), np.random.default_rng(0), list[Any]()
    for turn in range(40):
        keys = rng.permutation(13)[: rng.integers(4, 14)] if turn % 5 else rng.integers(0, 6, 9)
        for part in [keys] if together else np.split(keys, len(keys)):
            late.append(fleet.act(part))
        if turn % 7:
            for moves in late:
                # One loss per decision, whatever else is settled with it: none, all, or some decisions.
                x = (moves.key * 37 + moves.round * 11) % 17 / 16
                fleet.observe(moves, [in_range(learner, v) for v in x + nudged * (turn == 30) * (x < 0.5)])
            late.clear()
    return fleet.to_bytes()


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10, 16, 17])
def test_four_learners_together_equal_single_learners(name: str, n: int) -> None:
    learner = SERIES[name](n)
    try:
        for instructions in ("base", ""):
            _engine.use_instruction_set(instructions)
            assert played(learner, True) == played(learner, False)
    finally:
        _engine.use_instruction_set("")
    assert played(learner, True) != played(learner, False, nudged=1e-12)  # the control


def test_double_settlement_is_rejected_without_a_change() -> None:
    fleet = hn.Fleet(hn.Bandit(3), seed=0, name="f")
    moves = fleet.act([1, 2, 1])
    before = fleet.to_bytes()
    bad: list[tuple[Any, Any, str]] = [
        (moves, [0.1, 0.2, 1.5], r"losses must be finite and in \[0, 1\]; got 1.5 at index 2"),
        (moves, [0.1, np.nan, 0.5], "losses must be finite and in .* got nan at index 1"),
        (moves, [0.1, 0.2], "losses must be 3, one for each decision; got 2"),
        (moves[[0, 1, 0]], [0.1] * 3, r"index 2 \(round 1 of 1\) is in this batch twice"),
        ([*moves.ticket, 17], [0.1] * 4, r"index 3.*not drawn by this fleet, 'f'"),
        ([*map(int, moves.ticket), 2**63 - 1], [0.1] * 4, "not drawn by this fleet"),
    ]
    for given_moves, losses, message in bad:
        with pytest.raises(ValueError, match=message):
            fleet.observe(given_moves, losses)
        assert fleet.to_bytes() == before
    fleet.observe(moves, [0.1, 0.2, 0.3])
    after = fleet.to_bytes()
    for again in (moves, moves[2:], moves.ticket):
        with pytest.raises(ValueError, match=r"index 0.*already been settled or dropped"):
            fleet.observe(again, [0.1] * len(again))
        with pytest.raises(ValueError, match="already been settled or dropped"):
            fleet.forget(again)
    assert fleet.to_bytes() == after


def test_foreign_and_edited_moves_are_rejected() -> None:
    import dataclasses

    fleet, other = hn.Fleet(hn.Bandit(3), seed=0, name="a"), hn.Fleet(hn.Bandit(3), seed=0, name="b")
    mine, theirs = fleet.act([1, 2]), other.act([1, 2])
    with pytest.raises(ValueError, match=r"another fleet.*'b'.*'a'"):
        fleet.observe(theirs, [0.1, 0.2])
    with pytest.raises(ValueError, match="not drawn by this fleet, 'a'"):
        fleet.observe(theirs.ticket, [0.1, 0.2])
    edited = dataclasses.replace(mine, probability=mine.probability * 0.5)
    with pytest.raises(ValueError, match=r"index 0.*differs"):
        fleet.observe(edited, [0.1, 0.2])
    with pytest.raises(ValueError, match=r"index 0.*differs"):
        fleet.observe(dataclasses.replace(mine, action=(mine.action + 1) % 3), [0.1, 0.2])
    fleet.observe(mine, [0.1, 0.2])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("anna", "keys must be a list or an array"),
        (3, "keys must be a list or an array"),
        ([1, "a"], "keys must be all integers or all strings; got 'a' at index 1"),
        (["a", 1], "keys must be integers or strings; got 'a' at index 0|all strings"),
        ([True], "keys must be integers or strings; got True at index 0"),
        ([1.0], "keys must be integers or strings; got 1.0 at index 0"),
        (np.array([1.0]), "keys must be integers or strings; got float64 values"),
        (np.zeros((2, 2), dtype=int), "keys must be a list or an array"),
        ([2**63], "keys must be integers from"),
        (np.array([2**63], dtype=np.uint64), "keys must be integers from"),
        ([None], "keys must be integers or strings; got None at index 0"),
        (["\ud800"], "keys must be strings that can be encoded in UTF-8"),
        (np.ma.MaskedArray([1, 2], mask=[False, True]), "keys must have no masked entries"),
    ],
)
def test_invalid_keys_are_rejected(keys: Any, message: str) -> None:
    fleet = hn.Fleet(hn.Bandit(3), seed=0)
    with pytest.raises(ValueError, match=message):
        fleet.act(keys)
    assert (len(fleet), fleet.certificate().keys) == (0, 0)


def test_keys_of_one_fleet_have_one_type() -> None:
    fleet = hn.Fleet(hn.Bandit(3), seed=0)
    fleet.act([1])
    with pytest.raises(ValueError, match=r"integers.*strings such as 'a'"):
        fleet.act(["a"])
    assert ["a" in fleet, 1 in fleet, 2 in fleet, *fleet.keys] == [False, True, False, 1]


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        (["a"], "losses must be real numbers; got <?U?str|losses must be real numbers"),
        (0.5, "losses must be a list or an array"),
        ([[0.5]], "losses must be a list or an array"),
        (None, "losses is required"),
        ([1j], "losses must be real numbers"),
        ([-1e-300], "losses must be finite and in"),
    ],
)
def test_invalid_losses_are_rejected(losses: Any, message: str) -> None:
    fleet = hn.Fleet(hn.Bandit(3), seed=0)
    moves = fleet.act([1])
    with pytest.raises(ValueError, match=message):
        fleet.observe(moves, losses)
    with pytest.raises(ValueError, match="this learner takes losses"):
        fleet.observe(moves, reward=[0.5])
    fleet.observe(moves, [True])


@pytest.mark.parametrize("tickets", ["a", [1.5], [-1], [[1]], None, [object()], np.array([1.0])])
def test_invalid_tickets_are_rejected(tickets: Any) -> None:
    fleet = hn.Fleet(hn.Bandit(3), seed=0)
    fleet.act([1])
    with pytest.raises(ValueError, match=r"moves must be the object returned by act"):
        fleet.observe(tickets, [0.5])


def test_empty_batches_have_no_effect() -> None:
    fleet = hn.Fleet(hn.Bandit(3), seed=0)
    moves = fleet.act([])
    assert list(moves) == []
    fleet.observe(moves, [])
    fleet.observe([], [])
    assert len(fleet) == 0


@pytest.mark.parametrize(
    "learner",
    [hn.Experts(3), hn.ExpertBandit(3, 4), hn.AdaHedge(3), hn.Squint(3), hn.RandomWalk(3), hn.Ball(2, 1.0), 3],
    ids=lambda learner: type(learner).__name__,
)
def test_learners_of_other_settings_are_rejected(learner: Any) -> None:
    with pytest.raises(ValueError, match=rf"learner must be a bandit.* got {re.escape(repr(learner)[:40])}"):
        hn.Fleet(learner)


def test_learner_that_draws_coins_is_rejected() -> None:
    rule = r"learner.*randomness.*Thompson\(3\), which draws coins too"
    with pytest.raises(ValueError, match=rule):
        hn.Fleet(hn.Thompson(3))
    hn.Fleet(hn.Thompson(3, "gaussian"))


def test_gains_names_and_moves() -> None:
    fleet = hn.Fleet(hn.Bandit(["red", "blue"], gains=True), seed=4, name="f")
    moves = fleet.act(["a", "b", "a"])
    assert [move.arm for move in moves] == moves.arm.tolist()
    assert [move.player for move in moves] == ["f/a", "f/b", "f/a"]
    assert moves[1:].key == ["b", "a"]
    assert len(moves[moves.round == 1]) == 2
    with pytest.raises(ValueError, match="losses or reward=, not both"):
        fleet.observe(moves, [1, 1, 1], reward=[1, 1, 1])
    fleet.observe(moves[::-1], reward=[True, False, True])
    assert fleet.certificate("a").rounds == 2
    with pytest.raises(IndexError):
        moves[0]


def test_rows_are_small() -> None:
    """The memory stated in the documentation, exactly: the size of a row of ten arms."""
    fleet = hn.Fleet(hn.Bandit(10), seed=0)
    fleet.number(np.arange(70_000), touch=True)
    assert fleet.nbytes["learners"] / len(fleet) <= 170
