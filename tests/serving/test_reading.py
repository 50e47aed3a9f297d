"""The values that a store reads for a whole fleet equal those of the fleet, decision by decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan import _engine
from hannan.serving import stored_learner

LEARNERS = (hn.Bandit(4), hn.Bandit(4, hn.Tsallis(0.5)), hn.TsallisShannon(4), hn.exp3_ix(4, 1000), hn.LBInf(4, 1000))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("left", [0, 20])
def test_certificates_and_weights(learner: Any, left: int) -> None:
    fleet, rng = hn.Fleet(learner, seed=1), np.random.default_rng(0)
    for _ in range(10):
        moves = fleet.act(np.array([0, 1, 1]))
        fleet.observe(moves, rng.random(3))
    if left:
        open_ones = fleet.act(np.array([0] * 20 + [1] * 20))
        fleet.observe(open_ones[rng.permutation(40)[left:]], rng.random(40 - left))
    for key in (0, 1):
        told = stored_learner.certificate(fleet, key, 0.05)
        assert told == fleet.certificate(key, 0.05)
        assert told.rounds + told.open_moves == (10, 20)[key] + (20 if left else 0)
        assert np.array_equal(_engine.next_weights(fleet, key, None), fleet.distribution(key))
    assert stored_learner.certificate(fleet, -1, None) == fleet.certificate(7)


def test_single_decisions_equal_batches_of_one() -> None:
    """The fast functions for one decision and one feedback equal those for many."""
    one, many = (hn.Fleet(hn.Bandit(5), seed=3, name="f") for _ in range(2))
    for fleet in (one, many):
        fleet.number([0], touch=True)
    for t in range(50):
        ticket, arm, p = _engine.draw_one(one, 0, None)
        moves = many.act([0])
        assert (ticket, arm, p) == (int(moves.round[0]), int(moves.action[0]), float(moves.probability[0]))
        assert _engine.settle_one(one, ticket, arm + 1, p, 0.5) == 2
        assert _engine.settle_one(one, ticket, arm, p, 0.1 * (t % 7)) == 1
        assert _engine.settle_one(one, ticket, arm, p, 0.5) == 0
        many.observe(moves, [0.1 * (t % 7)])
    assert one.to_bytes() == many.to_bytes()


STABLE = (
    hn.Bandit(4), hn.Bandit(4, hn.Tsallis(0.5)), hn.Bandit(3, hn.LogBarrier(), hn.Horizon(200)),
    hn.Bandit(3, hn.Entropy(), hn.Horizon(200)), hn.Bandit(3, hn.Exponential()), hn.Bandit(5, hn.Tsallis(0.7)),
    hn.exp3_ix(4, 1000),
)  # fmt: skip


@pytest.mark.parametrize("learner", STABLE, ids=repr)
@pytest.mark.parametrize("late", [False, True])
def test_diagnosed_fleet_measures_the_stability_of_its_players(learner: Any, late: bool) -> None:
    fleet, plain, player = hn.Fleet.diagnosed(learner, seed=5), hn.Fleet(learner, seed=5), learner.start(5)
    rng, waiting = np.random.default_rng(0), list[Any]()
    for _ in range(60):
        drawn = fleet.act([0]), plain.act([0]), player.act()
        assert {(float(m.probability[0]), int(m.action[0])) for m in drawn[:2]} == {
            (drawn[2].probability, drawn[2].action)
        }
        waiting.append(drawn)
        while waiting and (not late or rng.random() < 0.45):
            ours, also, own = waiting.pop(int(rng.integers(len(waiting))))
            loss = float(rng.random())
            fleet.observe(ours, [loss])
            plain.observe(also, [loss])
            player.observe(own, loss)
    told, level = fleet.certificate(0), player.certificate().realised_level
    assert told.realised_level == level
    assert level is not None
    assert level > 0.0
    assert plain.certificate(0).realised_level is None
    assert stored_learner.certificate(fleet, 0, None) == told
    again = hn.Fleet.from_bytes(fleet.to_bytes(), "exact")
    assert again.certificate(0).realised_level == level
    assert again.to_bytes() == fleet.to_bytes()


def test_stability_with_unavailable_arms_is_measured() -> None:
    learner = hn.Bandit(4, hn.Tsallis(0.5))
    fleet, player, rng = hn.Fleet.diagnosed(learner, seed=5), learner.start(5), np.random.default_rng(0)
    for t in range(80):
        awake = np.array([True, True, t % 3 > 0, t % 2 > 0])
        ours, own = fleet.act([0, 7], awake), player.act(awake)
        assert (int(ours.action[0]), float(ours.probability[0])) == (own.action, own.probability)
        loss = rng.random(2)
        fleet.observe(ours, loss)
        player.observe(own, float(loss[0]))
    assert fleet.certificate(0).realised_level == player.certificate().realised_level > 0.0
