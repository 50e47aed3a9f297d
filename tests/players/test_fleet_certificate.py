"""What a fleet says of itself: the sum of the keys' bounds, what is vacuous, what a prior costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hannan as hn


@dataclass(frozen=True)
class Logistic(hn.Law):
    def density(self, z: Any) -> Any:
        return 0.25 / np.cosh(np.clip(np.asarray(z) / 2.0, -300.0, 300.0)) ** 2

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2.0)


def played(fleet: Any, rounds: dict[Any, int]) -> Any:
    """So many prompt rounds for each key."""
    for key, many in rounds.items():
        for _ in range(many):
            fleet.observe(fleet.act([key]), [0.5])
    return fleet


def test_the_whole_is_the_sum_of_the_keys() -> None:
    learner = hn.Bandit(3, hn.Tsallis(0.5), loss_range=(0.0, 2.0))
    fleet = played(hn.Fleet(learner, seed=0), {1: 400, 2: 400, 3: 250, 4: 2})
    whole = fleet.certificate()
    bounds = [fleet.certificate(key).bound for key in (1, 2, 3, 4)]
    assert whole.bound.value == math.fsum(bound.value for bound in bounds)
    assert (whole.keys, whole.rounds, whole.vacuous, whole.says_nothing) == (4, 1052, 1, False)
    assert bounds[3].value == 2 * 2.0  # too few rounds for a bound that says more than that
    assert whole.bound.against == "oblivious"
    text = str(whole)
    for said in (
        "best map key -> arm",
        "1 key counted with the number of rounds",
        "keys that react to each other",
        "any one map",
    ):
        assert said in text
    assert whole.own_loss == pytest.approx(math.fsum(fleet.certificate(key).own_loss for key in (1, 2, 3, 4)))
    assert "<table" in whole._repr_html_()


def test_the_whole_says_how_exactly_a_law_of_your_own_is_played() -> None:
    """As each key does. The control: of a law of the package there is nothing to say."""
    said = "your law is played"
    for law, says in ((Logistic(), True), (hn.Exponential(), False)):
        fleet = played(hn.Fleet(hn.Bandit(2, law, hn.Fixed(2.0)), seed=0), {1: 3})
        whole, one = dict(fleet.certificate().rows()), dict(fleet.certificate(1).rows())
        assert (said in whole, said in one) == (says, says)
        assert whole.get(said) == one.get(said)


def test_a_sum_of_vacuous_bounds_is_said_to_be_vacuous() -> None:
    whole = played(hn.Fleet(hn.Bandit(10), seed=0), dict.fromkeys(range(5), 3)).certificate()
    assert (whole.bound.value, whole.vacuous, whole.says_nothing, whole.bound.against) == (15.0, 5, True, "any")
    assert dict(whole.rows())["  vacuous"].startswith("all 5 keys counted")
    empty = hn.Fleet(hn.Bandit(10)).certificate()
    assert (empty.keys, empty.bound.value) == (0, 0.0)


def test_late_and_forgotten_keys_count_with_their_rounds() -> None:
    learner = hn.Bandit(2, hn.Tsallis(0.5))
    fleet = played(hn.Fleet(learner, seed=0), {"good": 300, "late": 300, "lost": 300})
    both = fleet.act(["late", "late"])
    fleet.observe(both, [0.5, 0.5])
    fleet.forget(fleet.act(["lost"]))
    whole, good = fleet.certificate(), fleet.certificate("good").bound
    assert whole.bound.value == math.fsum([good.value, 302.0, 300.0])
    assert whole.vacuous == 2
    assert sorted(whole.withheld.values()) == [1, 1]
    assert fleet.certificate("late").bound is None
    assert fleet.certificate("lost").bound is None
    assert (whole.forgotten, whole.open_moves) == (1, 0)


def test_a_refuted_supposition_withholds_the_bound_of_its_key() -> None:
    learner = hn.Bandit(2, hn.LogBarrier(), hn.BestLoss(1.0, rounds=10_000))
    fleet = hn.Fleet(learner, seed=0)
    for _ in range(6000):
        fleet.observe(fleet.act([1, 2]), [1.0, 0.0])
    whole = fleet.certificate()
    assert fleet.certificate(1).bound is None  # its own loss is 6000: L* <= 1 is not believed
    assert whole.bound.value == math.fsum([6000.0, fleet.certificate(2).bound.value])
    assert whole.withheld == {"their own loss refutes what the tuning supposes": 1}


def test_a_prior_costs_its_span_where_that_is_proved_and_is_withheld_elsewhere() -> None:
    learner = hn.Bandit(3, hn.Tsallis(0.5))
    parent = learner.start(0)
    for _ in range(200):
        move = parent.act()
        parent.observe(move, [0.1, 0.9, 0.9][move.action])
    fleet = played(hn.Fleet(learner, seed=1, parent=parent, trust=0.25), {1: 300})
    alone = played(hn.Fleet(learner, seed=1), {1: 300})
    h = 0.25 * (parent.losses - parent.losses.min())
    np.testing.assert_array_equal(fleet.prior, h)
    mine, plain = fleet.certificate(1), alone.certificate(1)
    assert mine.bound.value == plain.bound.value + float(h.max())
    assert mine.bound.terms["prior"] == float(h.max())
    assert fleet.certificate().bound.value == mine.bound.value
    assert mine.estimated_regret is None  # its least estimated loss counts the prior
    # A new learner begins where the parent's losses, a quarter of them, would put it.
    begun = learner.start(0)
    begun._put(h)
    np.testing.assert_array_equal(fleet.distribution(99), begun.distribution())
    assert fleet.distribution(99)[0] > 1 / 3
    again = hn.Fleet.from_bytes(fleet.to_bytes(), "exact")
    np.testing.assert_array_equal(again.distribution(99), fleet.distribution(99))
    # A published bound is not extended by this proof.
    published = played(hn.Fleet(hn.Bandit(3), seed=1, parent=parent, trust=0.25), {1: 3000})
    withheld = published.certificate(1)
    assert withheld.bound is None
    assert "a parent's losses" in withheld.withheld
    assert played(hn.Fleet(hn.Bandit(3), seed=1), {1: 3000}).certificate(1).bound is not None


def test_the_prior_bound_holds_against_the_worst_parent() -> None:
    """A parent who is wrong about everything: exact expected regret of two arms, by all paths of ten rounds."""
    learner = hn.Bandit(2, hn.Tsallis(0.5))
    h, rounds = 3.0, 8
    phi_scale = learner.schedule()

    def regret(t: int, losses: tuple[float, float]) -> float:
        if t > rounds:
            return 0.0
        p = hn.FTRL(hn.Tsallis(0.5), phi_scale.scale(t, 0.0)).gradient(np.array(losses))
        # Arm 0, which the prior favours, always costs 1; arm 1 nothing.
        later = regret(t + 1, (losses[0] + 1.0 / p[0], losses[1]))
        return float(p[0] * (1.0 + later) + p[1] * regret(t + 1, losses))

    with_prior, without = regret(1, (0.0, h)), regret(1, (0.0, 0.0))
    bound = math.fsum(learner.bound(10**6).terms.values()) * math.sqrt(rounds / 10**6)
    assert without < with_prior <= bound + h
    assert with_prior - without <= h


@pytest.mark.parametrize(
    ("parent", "trust", "message"),
    [
        (hn.Bandit(4), 1.0, "a parent must have the arms"),
        (hn.Bandit(3, gains=True), 1.0, "a parent must have the arms"),
        (hn.Experts(3), 1.0, "parent must be a player of a bandit"),
        (hn.lb_inf(3, 10), 1.0, "learners without a memory"),
        (3, 1.0, "parent must be a player of a bandit"),
        (hn.Bandit(3), 0.0, "trust must be in"),
        (hn.Bandit(3), 1.5, "trust must be in"),
    ],
)
def test_bad_parents(parent: Any, trust: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hn.Fleet(hn.Bandit(3), parent=parent if parent == 3 else parent.start(0), trust=trust)


def test_sleeping_arms_of_a_fleet_are_those_of_its_players() -> None:
    learner, rng = hn.Bandit(70, hn.Tsallis(0.5)), np.random.default_rng(1)
    fleet, players = hn.Fleet(learner, seed=4), [learner.start(4)]
    for t in range(60):
        awake = rng.random((1, 70)) < 0.4
        awake[0, 3] = True
        mask = [awake, awake[0], None, np.ones(70, dtype=bool)][t % 4]
        moves = fleet.act([0], mask)
        move = players[0].act(awake=awake[0]) if t % 4 < 2 else players[0].act()
        assert (move.action, move.probability) == (moves.action[0], moves.probability[0])
        if t % 5:
            loss = float(rng.random())
            fleet.observe(moves, [loss])
            players[0].observe(move, loss)
    np.testing.assert_array_equal(fleet.distribution(0, awake[0]), players[0].distribution(awake[0]))
    mine, theirs = fleet._player(0).state(), players[0].state()
    np.testing.assert_array_equal(mine["losses"], theirs["losses"])
    assert [ticket["plain"] for ticket in mine["open"]] == [ticket["plain"] for ticket in theirs["open"]]


@pytest.mark.parametrize(
    ("awake", "message"),
    [
        ([True] * 3, "awake must be 4 booleans"),
        ([1, 1, 0, 1], "awake must be 4 booleans"),
        ([[True] * 4] * 3, "awake must be 4 booleans"),
        ([False] * 4, "at least one arm must be awake; got none"),
        ([[True] * 4, [False] * 4], "at least one arm must be awake; got none at index 1"),
    ],
)
def test_bad_masks(awake: Any, message: str) -> None:
    fleet = hn.Fleet(hn.Bandit(4, hn.Tsallis(0.5)), seed=0)
    with pytest.raises(ValueError, match=message):
        fleet.act([1, 2], awake)
    assert len(fleet) == 0
    with pytest.raises(ValueError, match="arms may sleep where a proof covers it"):
        hn.Fleet(hn.Bandit(4)).act([1], [True, True, False, True])


def test_what_was_realised_is_withheld_in_words() -> None:
    plain, diagnosed = hn.Fleet(hn.Bandit(3), seed=0), hn.Fleet.diagnosed(hn.Bandit(3), seed=0)
    for fleet in (plain, diagnosed):
        fleet.observe(fleet.act([1]), [0.5])
    said = (
        "realised stability",
        "withheld: a learner with a key has a row of few numbers, and what it realised is not among them",
    )
    assert said in plain.certificate(1).rows()
    assert said not in diagnosed.certificate(1).rows()
    assert diagnosed.certificate(1).realised_level is not None
