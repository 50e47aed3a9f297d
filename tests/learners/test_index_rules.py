"""UCB1, MOSS and KL-UCB: the engine equals slow implementations, and bounds hold under their conditions."""

from __future__ import annotations

import math

import arm_sums
import numpy as np
import pytest
from plays import assert_one_game

import hannan as hn
from hannan import _engine

RULES = [
    (hn.UCB1(4), lambda x, t: arm_sums.ucb1(x, t)),
    (hn.MOSS(4, 1000), lambda x, t: arm_sums.moss(x, t, 1000)),
    (hn.KLUCB(4), lambda x, t: arm_sums.kl_ucb(x, t, 3.0)),
    (hn.KLUCB(4, c=0.0), lambda x, t: arm_sums.kl_ucb(x, t, 0.0)),
]
#: Means of rare clicks, and losses between 0 and 1.
TABLES = {
    "clicks": (np.random.default_rng(1).random((600, 4)) > [0.02, 0.05, 0.05, 0.12]).astype(float),
    "between": np.random.default_rng(2).random((600, 4)) * [0.5, 0.6, 0.9, 1.0],
    "alike": np.full((300, 4), 0.5),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("learner", "scores"), RULES, ids=lambda x: repr(x)[:20])
def test_moves_follow_the_definition(learner, scores, table):
    player, seen = learner.start(seed=5), [[] for _ in range(4)]
    for t, row in enumerate(TABLES[table]):
        p = player.distribution()
        np.testing.assert_allclose(p, arm_sums.even(scores(seen, t)), atol=1e-15)
        move = player.act()
        assert move.probability == p[move.action]  # 1 if the rule selects one arm
        seen[move.action].append(row[move.action])
        player.observe(move, float(row[move.action]))


@pytest.mark.parametrize("m", [0.0, 1e-12, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("room", [1e-12, 1e-3, 0.3, 5.0, 60.0])
def test_index_of_kl_ucb_is_its_definition(m, room):
    q = _engine.least_mean(m, room)
    assert q == pytest.approx(arm_sums.least_mean(m, room), rel=1e-9, abs=1e-14)
    assert 0.0 <= q <= m


@pytest.mark.parametrize(
    "learner",
    [hn.UCB1(6), hn.MOSS(6, 1000), hn.KLUCB(6), hn.EpsilonGreedy(6), hn.ExploreThenCommit(6, 1000)],
    ids=repr,
)
def test_player_and_run_0_make_the_same_moves(learner):
    record, player = assert_one_game(learner)
    assert record.estimated_regret is None
    assert player.certificate().estimated_regret is None


# Bounds


@pytest.mark.parametrize("learner", [hn.UCB1(3), hn.MOSS(3, 2000), hn.KLUCB(3), hn.EpsilonGreedy(3)], ids=repr)
def test_a_live_certificate_has_the_bound_while_losses_are_prompt(learner):
    player = learner.start(seed=5)
    for t in range(1500):
        player.observe(player.act(), float(t % 3 == 0))
    told = player.certificate()
    assert told.bound is not None
    assert told.bound.value == learner.bound(1500).value
    assert told.bound.against in ("iid", "any")
    first, second = player.act(), player.act()
    player.observe(first, 0.0)
    player.observe(second, 0.0)
    late = player.certificate()
    assert late.bound is None
    assert late.withheld.startswith("feedback was delayed")


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("gap", [0.02, 0.1, 0.3])
def test_regret_on_bernoulli_losses_is_within_the_bounds(n, gap):
    """A search over gaps for the regret closest to its bound.

    Means of 60 runs; none is close to its bound, so a false alarm has probability far below 1e-6.
    """
    rounds = 20_000
    means = [0.5 - gap / 2, *[0.5 + gap / 2] * (n - 1)]
    coins = hn.adversaries.Bernoulli(means, rounds)
    for learner in (hn.UCB1(n), hn.MOSS(n, rounds), hn.KLUCB(n), hn.EpsilonGreedy(n), hn.ExploreThenCommit(n, rounds)):
        record = hn.play(learner, coins, runs=60, seed=1)
        assert record.bound.against in ("iid", "any")
        assert record.mean_regret[-1] < record.bound.value
        assert record.interval(0.9999)[1][-1] < record.bound.value


def test_the_bounds_in_numbers():
    n, T = 8, 10**5
    hindsight = math.sqrt(T * math.log(n) / 2)
    told = hn.UCB1(n).bound(T)
    assert told.value == pytest.approx(2 * math.sqrt(8 * 7 * T * math.log(T)) + 7 * (1 + math.pi**2 / 3) + hindsight)
    assert hn.MOSS(n, T).bound(T).value == pytest.approx(19.5 * math.sqrt(n * T) + 7 + hindsight)
    f = math.log(T) + 3 * math.log(math.log(T))
    expected = 2 * math.sqrt(2 * 7 * (f + 1) * T) + 7 * (2 + 7 * math.log(math.log(T))) + hindsight
    assert hn.KLUCB(n).bound(T).value == pytest.approx(expected)
    assert hn.UCB1(n, loss_range=(0.0, 10.0)).bound(T).value == pytest.approx(10 * told.value)


def test_deviations_of_kl_ucb_sum_to_7_ln_ln():
    """sum_s e ceil(f ln s) e^(-f), f = ln s + 3 ln ln s, from s = 3 on: Garivier and Cappe bound it by 7 ln ln T."""
    s = np.arange(3.0, 300_000.0)
    f = np.log(s) + 3.0 * np.log(np.log(s))
    sums = np.cumsum(math.e * np.ceil(f * np.log(s)) * np.exp(-f))
    assert (sums <= 7.0 * np.log(np.log(np.maximum(s, 16.0)))).all()
    assert not (sums <= 4.0 * np.log(np.log(np.maximum(s, 16.0)))).all()  # the control: a smaller constant is too small


def test_gain_of_the_best_arm_in_hindsight_is_bounded():
    """E[T mu - min L_i] <= sqrt(T ln n/2) for n coins with one mean; 4000 games, 5 standard deviations above have
    probability 3e-7.
    """
    rng = np.random.default_rng(0)
    for n in (2, 8, 50):
        gained = 500.0 - rng.binomial(1000, 0.5, (4000, n)).min(axis=1)
        most = math.sqrt(1000 * math.log(n) / 2)
        assert gained.mean() - 5 * gained.std() / math.sqrt(4000) < most
        assert gained.mean() > 0.4 * most  # the term is needed


def test_bound_is_withheld_unless_losses_are_iid():
    table = np.random.default_rng(0).random((3000, 3))
    record = hn.play(hn.UCB1(3), table)
    assert record.bound is None
    assert "i.i.d. losses only, and these losses are not known to be" in record.bound_withheld
    drifting = hn.adversaries.Bernoulli(np.linspace([0.1, 0.9, 0.5], [0.9, 0.1, 0.5], 3000))
    assert hn.play(hn.UCB1(3), drifting).bound is None
    assert hn.play(hn.UCB1(3), hn.adversaries.Bernoulli([0.1, 0.2, 0.3], 3000)).bound.against == "iid"
    # no regret exceeds the number of rounds, for any losses
    assert hn.play(hn.UCB1(3), table[:10]).bound_withheld == ""
    with pytest.raises(hn.Withheld, match="no non-trivial bound is proved against an adaptive adversary"):
        hn.UCB1(3).bound(10**5, against="any")


def test_adversary_that_knows_the_rule_causes_linear_regret():
    """An adversary that knows the rule charges the arms that may be played next: every round is lost, and regret is
    linear.
    """

    def foresees(t, past):
        return (past.distribution == past.distribution.max()) * 1.0

    record = hn.play(hn.UCB1(3), foresees, rounds=2000)
    assert record.mean_regret[-1] > 0.3 * 2000
    assert record.bound is None
    assert "no non-trivial bound is proved against an adaptive adversary" in record.bound_withheld
    assert hn.play(hn.Bandit(3), foresees, rounds=2000).mean_regret[-1] < 0.5 * record.mean_regret[-1]


def test_late_losses_are_accepted_and_withhold_the_bound():
    player = hn.KLUCB(["a", "b", "c"], gains=True).start(seed=0)
    moves = [player.act() for _ in range(20)]
    for move in reversed(moves):
        player.observe(move, reward=1.0 if move.arm == "b" else 0.0)
    withheld = player.certificate().withheld
    assert withheld.startswith("feedback was delayed")
    assert withheld.endswith("is proved for KLUCB; use hn.TsallisShannon(3)")
    for _ in range(200):
        move = player.act()
        player.observe(move, reward=float(move.arm == "b"))
    assert player.distribution().argmax() == 1
    with pytest.raises(ValueError, match="awake= is not supported by KLUCB"):
        player.act(awake=[True, True, False])


@pytest.mark.parametrize(
    "make",
    [
        lambda: hn.UCB1(0), lambda: hn.UCB1(["a", "a"]), lambda: hn.MOSS(3, 0), lambda: hn.MOSS(3, 1.5),
        lambda: hn.KLUCB(3, c=-1.0), lambda: hn.KLUCB(3, c=math.nan), lambda: hn.UCB1(3, loss_range=(1.0, 0.0)),
        lambda: hn.MOSS(3, 10).bound(11), lambda: hn.UCB1(3).bound(), lambda: hn.UCB1(3).bound(10, printed=True),
    ],
)  # fmt: skip
def test_invalid_arguments_are_rejected(make):
    with pytest.raises(ValueError):
        make()


def test_names():
    from hannan.learners.names import Numbers, learner

    assert learner("UCB1", 3) == hn.UCB1(3)
    assert learner("moss:500", 3) == learner("moss", 3, numbers=Numbers(rounds=500)) == hn.MOSS(3, 500)
    assert learner("kl-ucb", 3, gains=True) == hn.KLUCB(3, gains=True)
    assert learner("epsilon-greedy:0.1", 3) == hn.EpsilonGreedy(3, 0.1)
    assert learner("explore-then-commit", 3, numbers=Numbers(rounds=500)) == hn.ExploreThenCommit(3, 500)
    for bad in ("ucb1:3", "ucb1@fixed", "moss", "kl-ucb:x", "moss:1.5", "kl-ucb:"):
        with pytest.raises(ValueError):
            learner(bad, 3)


@pytest.mark.parametrize(("number", "word"), [(0, -1.0), (0, 0.5), (0, 30.0), (4, -0.1), (4, 99.0), (4, math.nan)])
def test_counts_and_sums_of_a_file_are_validated(number, word, tmp_path):
    from hannan import saving

    player = hn.UCB1(4).start(seed=0)
    for t in range(25):
        player.observe(player.act(), (t % 3) / 2)
    path = tmp_path / "player.json"
    content = player.content()
    memory = saving.from_hex(content["state"]["memory"]["hex"]).copy()
    assert memory[:4].sum() == 25
    memory[number] = word
    content["state"]["memory"]["hex"] = saving.to_hex(memory)
    saving.write(path, content)
    with pytest.raises(ValueError, match=r"player\.json cannot be resumed: .*memory"):
        hn.load(path)
