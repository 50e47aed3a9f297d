"""Certificates state their limits: rounds that were not settled, unavailable arms, a remaining probability."""

import numpy as np
import pytest

import hannan as hn

UNTOLD = "assumes that which rounds are settled does not depend on the moves or their losses"


def told(player, name):
    return dict(player.certificate().rows()).get(name, "")


def test_estimate_over_some_moves_states_its_assumption():
    """Only clicks are reported, so the bound is far below the regret.

    The control: with all settled, no condition is stated.
    """
    player, own, losses = hn.Bandit(2).start(0), 0.0, np.zeros(2)
    for t in range(1000):
        move = player.act()
        if move.action == t % 2:
            player.observe(move, 1.0)
            own, losses[t % 2] = own + 1.0, losses[t % 2] + 1.0
    now = player.certificate()
    assert now.open_moves + now.forgotten > 0
    assert now.estimated_regret < (own - losses.min()) / 3.0
    assert UNTOLD in told(player, "settled")
    settled = hn.Bandit(2).start(0)
    settled.observe(settled.act(), 1.0)
    assert told(settled, "estimate")
    assert told(settled, "settled") == ""


@pytest.mark.parametrize(
    ("learner", "who", "loss"), [(hn.Bandit(2, hn.Tsallis(0.5)), "arm", 1.0), (hn.Experts(2), "expert", [0.0, 1.0])]
)
def test_unavailable_arms_are_reported_after_a_restart_too(learner, who, loss, tmp_path):
    """The control: masks with all arms available."""
    player = learner.start(0)
    player.observe(player.act(awake=[True, True]), loss)
    assert told(player, "available") == ""
    player.observe(player.act(awake=[False, True]), loss)
    assert told(player, "available").startswith(f"{who}s were unavailable in 1 round: the regret against each {who}")
    player.save(tmp_path / "player")
    assert told(hn.load(tmp_path / "player"), "available") == told(player, "available")


def test_unavailable_arms_of_a_fleet_are_reported_per_key_and_in_total():
    """The control: a key whose arms were all available."""
    fleet = hn.Fleet(hn.Bandit(2, hn.Tsallis(0.5)), seed=0)
    fleet.observe(fleet.act([1, 2], awake=[[True, True], [False, True]]), [1.0, 1.0])
    slept = [dict(fleet.certificate(key).rows()).get("available", "") for key in (1, 2)]
    assert slept[0] == ""
    assert slept[1].startswith("arms were unavailable in some rounds: the regret against each arm")
    assert dict(fleet.certificate().rows())["available"].startswith(
        "arms were unavailable in some rounds of 1 key: the regret against each arm"
    )


@pytest.mark.parametrize("delta", [1e-7, 1e-9, 1e-20])
def test_no_probability_is_rounded_to_certainty(delta):
    """The control: a round number is printed unchanged."""
    assert "with probability 1 - 1e-" in hn.exp3_ix(2, 100_000).bound(delta=delta).condition
    assert hn.exp3_ix(2, 100_000).bound(delta=0.05).condition == "with probability 0.95"
    player = hn.Experts(2).start(0)
    player.observe(player.act(), [0.0, 1.0])
    assert "with probability 1 - 1e-" in player.certificate(delta=delta).on_this_run_says
