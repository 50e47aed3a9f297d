"""Arms with names, rewards by name, and booleans as rewards."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hannan as hn


def test_a_move_has_the_name_of_its_arm(tmp_path):
    learner = hn.Bandit(["red", "blue", "green"], gains=True)
    assert (learner.n, learner.arms) == (3, ("red", "blue", "green"))
    player, plain = learner.start(4), hn.Bandit(3, gains=True).start(4)
    for _ in range(50):
        move, other = player.act(), plain.act()
        assert move.arm == learner.arms[move.action]
        assert (other.arm, move[1:]) == (other.action, other[1:])
        player.observe(move, reward=move.arm == "blue")
        plain.observe(other, float(other.action == 1))
    assert (player.distribution() == plain.distribution()).all()
    open_ = player.act()
    player.save(tmp_path / "player.json")
    again = hn.load(tmp_path / "player.json")
    assert again.learner == learner
    assert again.open_moves[0].arm == open_.arm
    again.observe(hn.Move.from_json(open_.to_json()), reward=1)
    assert json.loads(open_.to_json())["arm"] == open_.arm


def test_descriptions_keep_the_names():
    learner = hn.Bandit(["red", "blue"])
    assert repr(learner).startswith("Bandit(['red', 'blue'], ")
    assert hn.Bandit.from_json(learner.to_json()) == learner
    assert learner == hn.Bandit(2, arms=("red", "blue")) != hn.Bandit(2)
    assert hn.play(learner, np.zeros((5, 2)), runs=2).counts.shape == (2, 2)


@pytest.mark.parametrize(
    "learner",
    [
        hn.UCB1(["red", "blue"]),
        hn.Thompson(["red", "blue"]),
        hn.LBInf(["red", "blue"]),
        hn.Green(["red", "blue"], rounds=100),
        hn.Exp3Light(["red", "blue"]),
        hn.TsallisShannon(["red", "blue"]),
        hn.Exp3S(["red", "blue"], 9.0, 0.1),
        hn.exp3_s(["red", "blue"], 100),
        hn.exp3_ix(["red", "blue"], 100),
        hn.exp3_ix(["red"], 100),
    ],
    ids=repr,
)
def test_every_bandit_takes_names(learner):
    assert learner.n == len(learner.arms)
    assert learner.start(seed=0).act().arm in learner.arms
    assert type(learner).from_json(learner.to_json()) == learner
    assert "'red'" in repr(learner)


@pytest.mark.parametrize("count", [None, "ab", [], ["a", "a"], 0])
def test_invalid_numbers_and_names_of_arms_are_rejected(count):
    for learner in (hn.UCB1, hn.TsallisShannon, lambda n: hn.exp3_s(n, 100), lambda n: hn.exp3_ix(n, 100)):
        with pytest.raises(ValueError):
            learner(count)


@pytest.mark.parametrize(
    ("names", "rule"),
    [([], "strings"), (["a", "a"], "'a' twice"), (["a", 3], "non-empty strings"), (["a", ""], "non-empty strings")],
)
def test_invalid_names_are_rejected(names, rule):
    with pytest.raises(ValueError, match=rule):
        hn.Bandit(names)


def test_names_and_number_must_agree():
    with pytest.raises(ValueError, match=r"must have 3 names.*got 2"):
        hn.Bandit(3, arms=("a", "b"))
    with pytest.raises(ValueError, match="not both"):
        hn.Bandit(["a", "b"], arms=("a", "b"))


def test_rewards_require_gains():
    player = hn.Bandit(2).start(0)
    move = player.act()
    with pytest.raises(ValueError, match="this learner takes losses"):
        player.observe(move, reward=1)
    with pytest.raises(ValueError, match="not both"):
        player.observe(move, 0.5, reward=1)
    with pytest.raises(ValueError):
        player.observe(move)
    player.observe(move, True)  # a loss that was observed
    assert player.certificate().own_loss == 1.0


def test_bandits_with_experts_accept_rewards():
    player = hn.ExpertBandit(2, 3, gains=True).start(0)
    player.observe(player.act([0, 1, 1]), reward=1.0)
    assert player.certificate().own_loss == 1.0
