"""What a store reads of a fleet at once is what the fleet says of itself, decision by decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan import _engine
from hannan.serving import reading

LEARNERS = (hn.Bandit(4), hn.Bandit(4, hn.Tsallis(0.5)), hn.delayed_ftrl(4), hn.exp3_ix(4, 1000), hn.lb_inf(4, 1000))


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
        told = reading.certificate(fleet, key, 0.05)
        assert told == fleet.certificate(key, 0.05)
        assert told.rounds + told.open_moves == (10, 20)[key] + (20 if left else 0)
        assert np.array_equal(_engine.next_weights(fleet, key, None), fleet.distribution(key))
    assert reading.certificate(fleet, -1, None) == fleet.certificate(7)


def test_singles_are_batches_of_one() -> None:
    """The quick paths of one decision and one feedback are those of many."""
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
