"""Thompson sampling: probabilities against exact values, draws against probabilities, binarized losses, and bounds."""

from __future__ import annotations

import math

import beliefs
import numpy as np
import pytest
from plays import assert_one_game

import hannan as hn

BELIEFS = ["beta", "gaussian"]


def at(learner, counts):
    """A player whose arms have these (N, sum of losses), losses of 0 and 1 and one remainder."""
    player = learner.start(seed=3)
    state = player.state()
    n = learner.n
    memory = np.array(state["memory"])
    memory[:n], memory[n : 2 * n] = [c for c, _ in counts], [s for _, s in counts]
    total = float(sum(c for c, _ in counts))
    state["memory"] = memory
    state["numbers"] |= {"settled": total, "taken": total, "round": total, "own": float(sum(s for _, s in counts))}
    state["drawn"] = int(total)
    player.learner.setup()
    state["weights"] = _shares(learner, counts)
    state["numbers"]["total"] = 1.0
    player._restore(state)
    return player


def _shares(learner, counts):
    found = beliefs.betas(counts) if learner.belief == "beta" else beliefs.normals(counts)
    return np.array(found) / sum(found)


@pytest.mark.parametrize(
    "counts",
    [
        [(0, 0)] * 4, [(3, 1), (5, 5), (0, 0), (10, 2)], [(30, 28), (25, 20), (40, 39)], [(60, 58), (3, 3), (1, 1)],
        [(20, 0), (20, 20)], [(1, 0)] * 7,
    ],
)  # fmt: skip
@pytest.mark.parametrize("belief", BELIEFS)
def test_probabilities_are_exact(counts, belief):
    """A file whose weights are the exact ones is accepted; the player recomputes its own at the next loss."""
    learner = hn.Thompson(len(counts), belief)
    player = at(learner, counts)
    for loss in (1.0, 0.0, 1.0):
        move = player.act()
        player.observe(move, loss)
        n = learner.n
        memory = player.state()["memory"]
        seen = [(int(memory[i]), memory[n + i] if belief == "gaussian" else int(memory[n + i])) for i in range(n)]
        np.testing.assert_allclose(player.distribution(), _shares(learner, seen), rtol=0, atol=1e-12)
        assert player.distribution().sum() == pytest.approx(1.0, abs=1e-14)


def test_two_normals_have_a_closed_form():
    player = hn.Thompson(2, "gaussian").start(seed=0)
    n, s = np.zeros(2), np.zeros(2)
    rng = np.random.default_rng(0)
    for _ in range(400):
        gap = (n[0] - s[0]) / (n[0] + 1) - (n[1] - s[1]) / (n[1] + 1)
        first = 0.5 * math.erfc(-gap / math.sqrt(2.0 * (1 / (n[0] + 1) + 1 / (n[1] + 1))))
        assert player.distribution()[0] == pytest.approx(first, abs=1e-13)
        move = player.act()
        loss = float(rng.random() * (0.4 + 0.2 * move.action))
        player.observe(move, loss)
        n[move.action] += 1
        s[move.action] += loss


@pytest.mark.parametrize("belief", BELIEFS)
def test_draws_have_the_stated_probabilities(belief):
    """20,000 draws from one belief: chi-square of 4 arms above 34.4 has probability 1.6e-7."""
    player = hn.Thompson(4, belief).start(seed=1)
    for t in range(40):
        move = player.act()
        player.observe(move, float((t * 7 + move.action * 3) % 5 < 1 + move.action))
    p = player.distribution()
    moves = [player.act() for _ in range(20_000)]
    assert {(m.action, m.probability) for m in moves} == {(i, p[i]) for i in {m.action for m in moves}}
    counts = np.bincount([m.action for m in moves], minlength=4)
    expected = 20_000 * p
    assert expected.min() > 20
    assert ((counts - expected) ** 2 / expected).sum() < 34.4
    # The control: another belief with nearly the same means would be detected.
    turned = np.roll(expected, 1)
    assert ((counts - turned) ** 2 / turned).sum() > 34.4


@pytest.mark.parametrize("learner", [hn.Thompson(6), hn.Thompson(6, "gaussian"), hn.LBInf(6)], ids=repr)
def test_player_and_run_0_make_the_same_moves(learner):
    record, _ = assert_one_game(learner)
    assert (record.actions[0] != record.actions[1]).any()


def test_random_rounding_keeps_the_mean_and_is_counted():
    """2,000 losses of 0.3: the number of losses replaced by 1 is binomial; 5 sd has probability 6e-7.

    Losses of 0 and 1 are kept.
    """
    player = hn.Thompson(2).start(seed=4)
    for _ in range(2000):
        player.observe(player.act(), 0.3)
    assert player.coins == 2000
    made = player.state()["memory"][2:4].sum()
    assert made == int(made)
    assert abs(made - 600) < 5 * math.sqrt(2000 * 0.21)
    for k in range(100):
        player.observe(player.act(), float(k % 2))
    assert player.coins == 2000
    gaussian = hn.Thompson(2, "gaussian").start(seed=4)
    gaussian.observe(gaussian.act(), 0.3)
    assert gaussian.coins == 0
    assert gaussian.state()["memory"][2:4].sum() == 0.3


def test_regret_averaged_over_the_prior_is_within_its_bound():
    """60 laws with rates drawn uniformly, 8 runs each.

    The bound is several times the mean: false alarms are negligible.
    """
    n, rounds = 4, 2000
    told = hn.Thompson(n).over_the_prior(rounds)
    assert told.value == pytest.approx(math.sqrt(n * rounds * math.log(n) / 2) + math.sqrt(rounds * math.log(n) / 2))
    assert (told.against, told.proof) == ("iid", "published")
    assert "drawn uniformly" in told.condition
    rng = np.random.default_rng(0)
    regrets = [
        hn.play(hn.Thompson(n), hn.adversaries.Bernoulli(rng.random(n), rounds), runs=8, seed=k).mean_regret[-1]
        for k in range(60)
    ]
    assert np.mean(regrets) < told.value
    with pytest.raises(hn.Withheld, match="normal"):
        hn.Thompson(n, "gaussian").over_the_prior(rounds)
    assert hn.Thompson(1).over_the_prior(10).value == 0.0
    assert hn.Thompson(n).over_the_prior(3).sense == "run"


def test_no_bound_is_printed_for_fixed_means():
    record = hn.play(hn.Thompson(3), hn.adversaries.Bernoulli([0.1, 0.2, 0.3], 1000))
    assert record.bound is None
    assert "O(sqrt(n T ln T))" in record.bound_withheld
    assert "O(sqrt(n T ln n))" in hn.play(hn.Thompson(3, "gaussian"), np.zeros((9, 3))).bound_withheld


def test_regret_is_linear_on_a_stochastically_constrained_sequence():
    """One arm is better by 1/8 in every round.

    The losses of all arms are small in some periods and large in others (Zimmert, Seldin 2021).
    """
    losses = hn.adversaries.stochastically_constrained(20_000, 8, seed=0)
    thompson, default, robust = (
        hn.play(learner, losses, runs=48, seed=0) for learner in (hn.Thompson(8), hn.Bandit(8), hn.LBInf(8))
    )
    # Disjoint intervals at 99.99%; seeds are fixed, so the result is reproducible.
    others = max(default.interval(0.9999)[1][-1], robust.interval(0.9999)[1][-1])
    assert thompson.interval(0.9999)[0][-1] > others


def test_late_losses_names_and_invalid_arguments():
    player = hn.Thompson(["a", "b"], gains=True).start(seed=0)
    moves = [player.act() for _ in range(30)]
    for move in reversed(moves):
        player.observe(move, reward=move.arm == "b")
    assert player.distribution()[1] > 0.9
    assert "asymptotic" in player.certificate().withheld or "delay" in player.certificate().withheld
    with pytest.raises(ValueError, match="awake= is not supported by Thompson"):
        player.act(awake=[True, False])
    with pytest.raises(ValueError, match='belief must be "beta" or "gaussian"'):
        hn.Thompson(3, "normal")
    from hannan.learners.names import learner

    assert learner("thompson", 3) == hn.Thompson(3)
    assert learner("thompson:gaussian", 3) == hn.Thompson(3, "gaussian")
    assert learner("lb-inf", 3) == hn.LBInf(3)
    assert learner("lb-inf:500", 3) == hn.LBInf(3, 500)
    for bad in ("thompson:normal", "thompson@fixed", "lb-inf:x", "lb-inf:1.5"):
        with pytest.raises(ValueError):
            learner(bad, 3)


@pytest.mark.parametrize(("number", "word"), [(0, 0.5), (3, -1.0), (3, 0.5), (3, 99.0), (6, -1.0), (6, 1e6), (6, 0.5)])
def test_counts_and_coins_of_a_file_are_validated(number, word, tmp_path):
    from hannan import saving

    player = hn.Thompson(3).start(seed=0)
    for t in range(25):
        player.observe(player.act(), (t % 3) / 2)
    content = player.content()
    memory = saving.from_hex(content["state"]["memory"]["hex"]).copy()
    memory[number] = word
    content["state"]["memory"]["hex"] = saving.to_hex(memory)
    path = tmp_path / "player.json"
    saving.write(path, content)
    with pytest.raises(ValueError, match=r"player\.json cannot be resumed: .*memory"):
        hn.load(path)
