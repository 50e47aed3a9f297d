"""The privacy that a private player reports is that of its own moves: if there are several copies, it says so."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import hannan as hn

LEARNER = hn.Convex(hn.Ball(3), 1.0, hn.GaussianNoise(1e-6), hn.Fixed(50.0), smooth=0.0, guarantee="privacy")
ALONE = "counts the moves of this copy only"


@pytest.fixture
def player():
    found = LEARNER.start()
    for t in range(10):
        found.observe(found.act(), hn.Linear(np.eye(3)[t % 3]))
    return found


def test_copies_of_a_file_state_that_other_copies_may_exist(player, tmp_path):
    # The control: with a single player, there are no other moves.
    assert player.certificate().spent.startswith(LEARNER.privacy(10).says)
    assert "copy" not in player.certificate().private_if
    player.save(tmp_path / "player.json")
    loaded = [hn.load(tmp_path / "player.json") for _ in range(3)]
    assert len({one.act().action for one in loaded}) == 3
    for one in loaded:
        assert one.certificate().spent.startswith(LEARNER.privacy(11).says)
        assert ALONE in one.certificate().private_if
        assert ALONE in " ".join(str(one.certificate()).split())
    # The saved player says so as well, because it may continue too.
    assert ALONE in player.certificate().private_if


def test_copy_in_memory_states_that_other_copies_may_exist(player):
    other = copy.deepcopy(player)
    assert ALONE in other.certificate().private_if
    assert ALONE in player.certificate().private_if


def test_no_privacy_is_spent_if_none_is_stated(tmp_path):
    player = LEARNER.start(seed=1)
    player.act()
    player.save(tmp_path / "player.json")
    assert player.certificate().spent == hn.load(tmp_path / "player.json").certificate().spent == ""
