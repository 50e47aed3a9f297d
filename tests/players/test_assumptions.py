"""Adversaries that satisfy every assumption but one: each bound states the assumption without which it fails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtrit

import hannan as hn

Regrets = NDArray[np.float64]


def exceeded(regrets: Regrets, bound: float) -> bool:
    """Return whether the mean of independent regrets is above the bound; Student's t, false-alarm rate 1e-6."""
    half = stdtrit(len(regrets) - 1, 1.0 - 1e-6) * regrets.std(ddof=1) / math.sqrt(len(regrets))
    return bool(regrets.mean() - half > bound)


# Available arms


def available_regret(learner: Any, good: int, seed: int, looks: bool, last: float = 0.74) -> tuple[float, Any]:
    """Return the largest regret against an arm over the rounds in which the arm was available, and the player.

    The losses are fixed: 1 for all arms, then 0 for the first `good` arms. From then on one good arm is available: the
    least likely one if the adversary looks at the moves, else arm 0.
    """
    n, rounds = learner.n, learner.tuning.rounds
    player, own, lost = learner.start(seed=seed), np.zeros(n), np.zeros(n)
    awake = np.ones(n, dtype=bool)
    for t in range(rounds):
        losses = np.ones(n)
        if t >= int(last * rounds):
            losses[:good] = 0.0
        if t == int(last * rounds):
            awake[:good] = False
            awake[int(np.argmin(player.distribution()[:good])) if looks else 0] = True
        move = player.act(awake=awake)
        player.observe(move, float(losses[move.action]))
        own[awake] += losses[move.action]
        lost[awake] += losses[awake]
    return float((own - lost).max()), player


def test_a_set_of_available_arms_that_depends_on_the_moves_breaks_the_bound() -> None:
    """868 against 620 (40 runs). The control: the same losses with sets fixed in advance."""
    learner = hn.Bandit(16, hn.Tsallis(0.5), hn.Horizon(4000))
    runs = [available_regret(learner, 12, seed, looks=True) for seed in range(30)]
    bound = runs[0][1].certificate().bound
    assert exceeded(np.array([regret for regret, _ in runs]), bound.value)
    assert "if neither losses nor the set of available arms depends on your moves" in bound.holds
    assert "bounds the pseudo-regret only" in bound.holds
    estimated = dict(runs[0][1].certificate().rows())["estimate"]
    assert "if neither losses nor the set of available arms depends on your moves" in estimated
    fixed = np.array([available_regret(learner, 12, seed, looks=False)[0] for seed in range(30)])
    assert not exceeded(fixed, bound.value)
    assert fixed.mean() < bound.value


@pytest.mark.slow
def test_the_same_with_eight_arms_over_many_runs() -> None:
    """About 508 against 407 at n = 8, T = 4000 (160 runs)."""
    learner = hn.Bandit(8, hn.Tsallis(0.5), hn.Horizon(4000))
    for looks in (True, False):
        regrets = np.array([available_regret(learner, 5, seed, looks, 0.72)[0] for seed in range(400)])
        assert exceeded(regrets, learner.bound().value) is looks


def test_a_named_arm_keeps_its_bound_against_sets_that_depend_on_the_moves() -> None:
    """The valid statement: the regret against one arm fixed in advance, as a mean over the runs.

    False-alarm rate 1e-6.
    """
    learner = hn.Bandit(16, hn.Tsallis(0.5), hn.Horizon(1000))
    named = []
    for seed in range(40):
        n, rounds = 16, 1000
        player, regret = learner.start(seed=seed), 0.0
        awake = np.ones(n, dtype=bool)
        for t in range(rounds):
            losses = np.ones(n)
            losses[:12] = float(t < 740)
            if t == 740:
                awake[:12] = False
                awake[int(np.argmin(player.distribution()[:12]))] = True
            move = player.act(awake=awake)
            player.observe(move, float(losses[move.action]))
            regret += (losses[move.action] - losses[3]) * awake[3]
        named.append(regret)
    assert not exceeded(np.array(named), learner.bound().value)
    assert np.mean(named) < learner.bound().value


# Advice


def advised_regret(learner: Any, seed: int, looks: bool, last: float = 0.7) -> tuple[float, Any]:
    """Return the regret against the best expert, and the player.

    The losses are fixed: 1 for all actions, then 0 for the last one. Expert i advises action i. From then on one expert
    advises the last action: the least likely one if the advice follows the moves, else expert 0.
    """
    n, rounds = learner.experts, learner.tuning.rounds
    player, own, lost = learner.start(seed=seed), 0.0, np.zeros(n)
    advice = np.arange(n)
    for t in range(rounds):
        losses = np.ones(n + 1)
        if t >= int(last * rounds):
            losses[n] = 0.0
        if t == int(last * rounds):
            advice[int(np.argmin(player.distribution())) if looks else 0] = n
        move = player.act(advice)
        player.observe(move, float(losses[move.action]))
        own += losses[move.action]
        lost += losses[advice]
    return float(own - lost.min()), player


def test_advice_that_depends_on_the_moves_breaks_the_bound() -> None:
    """554 against 421 with fixed losses (40 runs). The control: the same losses, with advice fixed in advance."""
    learner = hn.ExpertBandit(17, 16, hn.Entropy(), hn.Horizon(2000))
    runs = [advised_regret(learner, seed, looks=True) for seed in range(40)]
    certificate = runs[0][1].certificate()
    bound = certificate.bound
    assert exceeded(np.array([regret for regret, _ in runs]), bound.value)
    assert "if neither losses nor advice depends on your moves" in bound.holds
    assert "bounds the pseudo-regret only: max_i E[learner's loss - loss of expert i]" in bound.holds
    assert "if neither losses nor advice depends on your moves" in dict(certificate.rows())["estimate"]
    fixed = np.array([advised_regret(learner, seed, looks=False)[0] for seed in range(40)])
    assert not exceeded(fixed, bound.value)
    assert fixed.mean() < bound.value


# Stopping times


def stopped_excess(seed: int, looks: bool) -> float:
    """Return regret - bound of explore-then-commit when its certificate is read, for i.i.d. losses.

    If the reader looks at the moves, the certificate is read immediately unless the player commits to the worse arm.
    """
    learner = hn.ExploreThenCommit(2, rounds=8000, explore=3)
    losses = (np.random.default_rng(seed).random((8000, 2)) < [0.2, 0.8]) * [1.0, 0.99]  # 0.99: few ties
    player, own = learner.start(seed=seed), 0.0
    for t, loss in enumerate(losses, start=1):
        move = player.act()
        player.observe(move, float(loss[move.action]))
        own += loss[move.action]
        if looks and t == 6 and player.distribution()[1] < 1.0:
            break
    bound = player.certificate().bound
    assert bound is not None
    return float(own - losses[:t].sum(axis=0).min() - bound.value)


def test_a_bound_for_iid_losses_needs_a_time_fixed_in_advance() -> None:
    """At a time chosen by the moves the mean regret is above the mean bound, by 78. The control: the last round."""
    assert exceeded(np.array([stopped_excess(seed, looks=True) for seed in range(800)]), 0.0)
    fixed = np.array([stopped_excess(seed, looks=False) for seed in range(40)])
    assert not exceeded(fixed, 0.0)
    assert fixed.mean() < 0.0
    assert "from one distribution, for a horizon fixed in advance" in hn.UCB1(2).bound(100_000).holds


# An assumed best loss


def test_a_best_loss_must_be_small_on_every_run() -> None:
    """An adversary that lets L* exceed 100 only in runs with favorable draws.

    14.6 against 10.5 over the remaining runs.

    The control: all runs, in which L* <= 100 because the adversary does nothing of this kind.
    """
    learner = hn.Experts(2, tuning=hn.BestLoss(100))
    bound = learner.bound()
    assert bound.condition == "if the best loss L* <= 100 on every run"
    assert (bound.at_most, bound.value) == (100.0, pytest.approx(10.5))
    rng, regrets = np.random.default_rng(0), []
    for seed in range(400):
        player, own, lost = learner.start(seed=seed), 0.0, np.zeros(2)
        for coin in rng.integers(0, 2, 200):
            move, losses = player.act(), np.eye(2)[coin]
            player.observe(move, losses)
            own, lost = own + losses[move.action], lost + losses
        assert lost.min() <= 100.0
        regrets.append(own - lost.min())
    drawn = np.array(regrets)
    # If the regret is below 11, both experts now lose until L* is 101: in these runs the assumption does not hold.
    assert exceeded(drawn[drawn >= 11.0], bound.value)
    assert not exceeded(drawn, bound.value)


def coins(n: int, rounds: int, gap: float) -> NDArray[np.float64]:
    """Return independent losses of 0 and 1 with mean 1/2; that of the first expert or arm is smaller by the gap."""
    means = np.where(np.arange(n) == 0, 0.5 - gap, 0.5)
    return (np.random.default_rng(1).random((rounds, n)) < means).astype(np.float64)


SUPPOSED = [  # learner, gap
    (hn.Experts(10), 0.0),
    (hn.Experts(10, tuning=hn.Fixed(3.0)), 0.0),
    (hn.Experts(10, hn.Entropy(), hn.SelfConfident()), 0.0),
    (hn.Bandit(4, hn.LogBarrier(), hn.SelfConfident(20_000)), 0.05),
    (hn.Bandit(4, hn.LogBarrier(), hn.Fixed(1.0)), 0.05),
]


@pytest.mark.parametrize(("learner", "gap"), SUPPOSED, ids=repr)
def test_a_bound_at_a_given_best_loss_states_the_condition(learner: Any, gap: float) -> None:
    """Coin flips have a best loss of nearly half the rounds, and the regret is above the bound for L* <= 20."""
    rounds = 20_000
    bound = learner.bound(rounds, best_loss=20.0)
    assert bound.condition.startswith("if the best loss L* <= 20 on every run")
    assert bound.at_most == 20.0
    record = hn.play(learner, coins(learner.n, rounds, gap), runs=8, seed=0)
    regret = record.mean_regret[-1] if record.expected_regret is None else record.expected_regret[..., -1].mean()
    assert regret > bound.value
    # The controls: a best loss that is no restriction, and no best loss.
    for best in (None, float(rounds)):
        assert (learner.bound(rounds, best_loss=best).condition, learner.bound(rounds, best_loss=best).at_most) == (
            "",
            None,
        )


def test_a_clipped_learner_states_the_condition() -> None:
    advice = np.tile(np.arange(3), (20_000, 1))
    learner = hn.exp4_clipped(3, 3)
    bound = learner.bound(20_000, best_loss=20.0)
    assert bound.at_most == 20.0
    assert "one expert named in advance" in bound.condition
    losses = np.tile([0.5, 0.55, 0.55], (20_000, 1))
    assert hn.play(learner, losses, advice=advice, runs=4, seed=0).mean_regret[-1] > bound.value
    # A tuning by a best loss, and a smaller best loss as argument: the bound is for the smaller one.
    tuned = hn.ExpertBandit(3, 3, tuning=hn.BestLoss(50), clip="tuned")
    given, told = tuned.bound(10**6, best_loss=20.0), tuned.bound(10**6)
    assert given.value < told.value
    assert (given.at_most, told.at_most) == (20.0, 50.0)


def test_a_bound_that_does_not_use_the_best_loss_supposes_none() -> None:
    for learner in (hn.Experts(10, tuning=hn.Horizon(2000)), hn.Bandit(10), hn.RandomWalk(10), hn.MLPoly(2)):
        with_best, without = learner.bound(2000, best_loss=1990.0), learner.bound(2000)
        assert (with_best.value, with_best.condition) == (without.value, without.condition)


def test_gains_state_a_best_gain() -> None:
    bound = hn.Experts(4, gains=True).bound(1000, best_loss=900)
    assert (bound.condition, bound.at_most) == ("if the best gain G* >= 900 on every run", 900)
    shifted = hn.Experts(4, loss_range=(1.0, 3.0)).bound(1000, best_loss=1100)
    assert shifted.condition == "if the best loss L* <= 1100 on every run"


def test_every_family_states_the_condition() -> None:
    """AdaHedge too, whose bound is not monotone in L* above half of the rounds.

    There the best loss is no restriction.
    """
    ada = hn.AdaHedge(10, loss_range=(0, 1))
    for bound in (
        ada.bound(10_000, best_loss=100.0),
        hn.AdaNormalHedge(10).bound(10_000, best_loss=100.0),
        hn.Squint(10).bound(10_000, best_loss=100.0),
        hn.Dropout(10).bound(10**6, best_loss=100.0),
        hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0).bound(10_000, best_loss=100.0),
        hn.FPL.tuned(hn.MSets(3, 1), 10_000, "exponential").bound(10_000, best_loss=100.0),
    ):
        assert bound.at_most == 100.0
        assert bound.condition == "if the best loss L* <= 100 on every run"
    assert ada.bound(10_000, best_loss=9000.0).value == ada.bound(10_000).value == ada.bound(10_000, 5000.0).value
    assert ada.bound(10_000, best_loss=9000.0).at_most is None


def test_observed_best_loss_needs_no_condition() -> None:
    """A certificate and a record of fixed losses know L*; a game whose losses depend on the moves does not."""
    learner = hn.Experts(3)
    player = learner.start(seed=0)
    losses = np.random.default_rng(0).random((200, 3))
    for row in losses:
        player.observe(player.act(), row)
    told = player.certificate()
    assert (told.bound.condition, told.bound.at_most) == ("", None)
    assert told.bound.value == learner.bound(200, best_loss=told.best_loss).value
    fixed = hn.play(learner, losses)
    assert (fixed.bound.condition, fixed.bound.at_most) == ("", None)
    adaptive = hn.play(learner, hn.adversaries.ChargeTheLast(), rounds=200, runs=3)
    assert adaptive.bound.at_most == max(adaptive.best_loss)


def test_bound_computed_from_observed_losses_states_this() -> None:
    for learner in (hn.AdaHedge(2), hn.Squint(2), hn.MLPoly(2), hn.Experts(2)):
        player = learner.start(seed=0)
        for _ in range(2000):
            player.observe(player.act(), [0.0, 1.0])
        assert "data" in dict(player.certificate().rows()), learner


# Keys of a fleet


def test_retiring_keys_because_of_their_results_breaks_the_sum() -> None:
    """1.9 times the bound if the 80% of the keys with the smallest losses are retired.

    The controls: all keys, a choice by number.
    """
    learner, rounds, keys = hn.Bandit(2, hn.Exponential(), hn.Horizon(300)), 300, np.arange(200)
    fleet, own = hn.Fleet(learner, seed=0), np.zeros(200)
    for t in range(rounds):
        moves = fleet.act(keys)
        losses = np.where(moves.action == 0, float(t < 210), 1.0)
        fleet.observe(moves, losses)
        own += losses
    regret, each = own - 210.0, learner.bound().value
    kept = keys[regret >= np.sort(regret)[160]]
    for key in set(keys.tolist()) - set(kept.tolist()):
        fleet.retire(key, key + 1)
    told = fleet.certificate()
    assert told.bound.value == pytest.approx(each * len(kept))
    assert exceeded(regret[kept], each)
    assert "because of their results" in dict(told.rows())["choice of keys"]
    for fair in (keys, keys[::5]):
        assert not exceeded(regret[fair], each)


def test_the_choice_of_keys_is_stated_for_every_bound_in_expectation() -> None:
    """Also against an adaptive adversary. The control: rounds times the range holds in every run."""
    for learner, says in ((hn.exp3_ix(2, 400), True), (hn.Bandit(2, hn.Tsallis(0.5)), True), (hn.Bandit(10), False)):
        fleet = hn.Fleet(learner, seed=0)
        for _ in range(300 if says else 2):
            fleet.observe(fleet.act([1, 2]), [0.5, 0.5])
        assert ("choice of keys" in dict(fleet.certificate().rows())) is says


def test_a_fleet_states_the_condition_of_every_key() -> None:
    """A key with few rounds needs no condition; the sum with the bound of a longer one does.

    Control: few rounds only.
    """
    learner = hn.Bandit(2, hn.LogBarrier(), hn.BestLoss(50, rounds=2000))
    fleet = hn.Fleet(learner, seed=0)
    for _ in range(45):
        fleet.observe(fleet.act(["a", "b"]), [0.02, 0.02])
    assert fleet.certificate().bound.condition == ""
    for _ in range(100):
        fleet.observe(fleet.act(["b"]), [0.02])
    bound = fleet.certificate().bound
    assert bound.condition == f"for each key: {learner.bound(145).condition}"
    assert bound.at_most == 50.0
    assert bound.value == pytest.approx(learner.bound(45).value + learner.bound(145).value)


def test_fleet_states_that_its_keys_have_different_conditions() -> None:
    learner = hn.Bandit(2, hn.LogBarrier(), hn.BestLoss(50, rounds=2000), loss_range=(-0.01, 0.99))
    fleet = hn.Fleet(learner, seed=0)
    for t in range(200):
        keys = ["a", "b"] if t < 100 else ["b"]
        fleet.observe(fleet.act(keys), [0.02] * len(keys))
    bound = fleet.certificate().bound
    assert bound.condition.startswith("for each key, the condition in the certificate of the key, such as: if the best")
    assert bound.at_most is None


# Losses by name


@pytest.mark.parametrize(
    "learner", [hn.Bandit(2, gains=True), hn.Experts(2, gains=True), hn.AdaHedge(2, gains=True)], ids=repr
)
def test_a_loss_by_name_is_rejected_by_a_learner_of_gains(learner: Any) -> None:
    """A value given by position is in the learner's units. The control: a learner with losses."""
    value = 0.25 if isinstance(learner, hn.Bandit) else [0.25, 0.5]
    player = learner.start(seed=0)
    move = player.act()
    with pytest.raises(ValueError, match=r"gains=True.*reward=.*got loss=.*0\.25"):
        player.observe(move, loss=value)
    assert player.open_moves == (move,)
    player.observe(move, value)
    other = learner.start(seed=0)
    other.observe(other.act(), reward=value)
    assert np.array_equal(player.distribution(), other.distribution())
    plain = type(learner)(2).start(seed=0)
    plain.observe(plain.act(), loss=value)
    with pytest.raises(ValueError, match="this learner takes losses"):
        plain.observe(plain.act(), reward=value)


def test_losses_by_name_are_rejected_by_a_fleet_of_gains_and_on_advice() -> None:
    fleet = hn.Fleet(hn.Bandit(2, gains=True), seed=0)
    moves = fleet.act([1, 2])
    with pytest.raises(ValueError, match=r"gains=True.*reward=.*got losses="):
        fleet.observe(moves, losses=[0.5, 0.5])
    fleet.observe(moves, [0.5, 0.5])
    plain = hn.Fleet(hn.Bandit(2), seed=0)
    plain.observe(plain.act([1]), losses=[0.5])
    for learner in (hn.ExpertBandit(2, 3, gains=True), hn.MYGA(2, 3, 100, gains=True)):
        player = learner.start(seed=0)
        move = player.act([0, 1, 1])
        with pytest.raises(ValueError, match=r"gains=True.*reward=.*got loss="):
            player.observe(move, loss=0.5)
        player.observe(move, reward=0.5)
        player.observe(player.act([0, 1, 1]), 0.5)


# Gains


def test_results_of_learners_of_gains_name_gains(tmp_path: Any) -> None:
    """A fleet and a record print the sum of the rewards as a gain. The control: learners with losses."""
    for gains, word, other in ((True, "reward", "loss"), (False, "loss", "reward")):
        learner = hn.Bandit(2, gains=gains)
        fleet = hn.Fleet(learner, seed=0)
        fleet.observe(fleet.act(["a", "b"]), [0.75, 0.5])
        rows = dict(fleet.certificate().rows())
        assert rows[word] == "1.25"
        assert other not in rows
        record = hn.play(learner, [[0.75, 0.5]] * 4, seed=0)
        path = record.save(tmp_path / f"{word}.npz")
        for told in (record, hn.Record.load(path)):
            assert f"best {'gain' if gains else 'loss'}  {3 if gains else 2}\n" in str(told)
