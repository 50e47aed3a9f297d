"""Locally private bandits: exact transcripts, bounds, players, fleets, files, and what errors reveal."""

import itertools
import math

import numpy as np
import pytest
from rejections import rejected

import hannan as hn

LEARNER = hn.LocallyPrivate(hn.Bandit(4), 1.0)


def transcripts(losses, epsilon, scale=3.0):
    """Return the probability of each sequence of moves of Exp3 with two arms, by enumeration of moves and reports."""
    tau = math.tanh(epsilon / 2.0) if math.isfinite(epsilon) else 1.0
    states = {(): {(0.0, 0.0): 1.0}}
    for loss in losses:
        following = {}
        for moves, sums in states.items():
            for (a, b), chance in sums.items():
                first = 1.0 / (1.0 + math.exp(min(max((a - b) / scale, -300.0), 300.0)))
                for arm, p in ((0, first), (1, 1.0 - first)):
                    one = 0.5 + tau * (loss[arm] - 0.5)
                    for report, share in ((1.0, one), (0.0, 1.0 - one)):
                        at = (a + report / p, b) if arm == 0 else (a, b + report / p)
                        held = following.setdefault((*moves, arm), {})
                        held[at] = held.get(at, 0.0) + chance * p * share
        states = following
    return {moves: sum(sums.values()) for moves, sums in states.items()}


def largest_ratio(epsilon, rounds=5):
    """Return the largest |ln ratio| of transcripts over losses of 0 and 1 in which one round is replaced."""
    worst = 0.0
    for rest in ((0.0, 0.0), (1.0, 0.0), (0.5, 0.5)):
        for ours, theirs in itertools.combinations(itertools.product((0.0, 1.0), repeat=2), 2):
            games = [transcripts([one, *[rest] * (rounds - 1)], epsilon) for one in (ours, theirs)]
            for moves in games[0]:
                ends = games[0][moves], games[1][moves]
                worst = max(worst, abs(math.log(max(ends[0], 1e-300) / max(ends[1], 1e-300))))
    return worst


def test_exact_transcripts_stay_within_epsilon():
    assert 0.8 < largest_ratio(1.0) <= 1.0
    assert largest_ratio(0.25) <= 0.25
    assert largest_ratio(math.inf) > 15.0  # the control: without randomization a loss shows


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_bound_is_that_of_the_learner_times_the_factor(epsilon):
    for inner in (hn.Bandit(4), hn.TsallisShannon(4), hn.ExpertBandit(3, 5)):
        learner, plain = hn.LocallyPrivate(inner, epsilon), inner.bound(10**6)
        bound = learner.bound(10**6)
        assert bound.value == pytest.approx(plain.value / math.tanh(epsilon / 2.0), rel=1e-9)
        assert bound.value >= plain.value / math.tanh(epsilon / 2.0)
        assert (bound.against, bound.sense) == (plain.against, plain.sense)
    assert hn.LocallyPrivate(hn.Bandit(4), epsilon).bound(10).is_trivial


def test_bound_against_an_adaptive_adversary():
    inner = hn.exp3_ix(8, 10**6)
    learner, rounds = hn.LocallyPrivate(inner, 1.0), 10**6
    plain = inner.bound(rounds, against="adaptive").value
    right = (plain + math.sqrt(rounds * math.log(8) / 2.0)) / math.tanh(0.5)
    assert learner.bound(rounds, against="adaptive").value == pytest.approx(right, rel=1e-9)
    assert learner.bound(rounds).against == "oblivious"
    with pytest.raises(hn.Withheld):
        LEARNER.bound(rounds, against="adaptive")


def test_bounds_that_are_not_proved_are_withheld():
    with pytest.raises(hn.Withheld, match=r"best loss"):
        hn.LocallyPrivate(hn.Bandit(8, hn.LogBarrier(), hn.BestLoss(100, rounds=4000)), 1.0).bound(4000)
    with pytest.raises(hn.Withheld, match=r"high-probability"):
        hn.LocallyPrivate(hn.exp3_ix(8, 4000), 1.0).bound(4000, delta=0.05)
    assert "no high-probability bound" in str(LEARNER.start().certificate(0.05))


def test_regret_of_games_is_within_the_bound():
    losses = np.tile([0.7, 0.2, 0.7, 0.7], (3000, 1))
    learner = hn.LocallyPrivate(hn.Bandit(4), 2.0)
    record = hn.play(learner, losses, runs=3)
    assert 0.0 < record.mean_regret[-1] <= record.bound.value < 3000
    # The control: a game counts losses, not reports.
    assert not np.allclose(record.loss[:, -1], np.rint(record.loss[:, -1]))


def test_statement_holds_for_a_game_without_end():
    said = LEARNER.privacy()
    assert (said.epsilon, said.delta, said.rounds, said.neighbors) == (1.0, 0.0, None, "replace")
    assert LEARNER.privacy(10**9).epsilon == 1.0
    assert LEARNER.privacy(per_person=3).epsilon == 3.0
    assert said.together(said).epsilon == pytest.approx(2.0)


def test_certificate_states_privacy_without_a_seed_only():
    for seed, said in ((None, "(1, 0) for any number of rounds"), (0, "none: a seed was given")):
        player = LEARNER.start(seed)
        player.observe(player.act(), 0.3)
        certificate = player.certificate()
        assert said in certificate.privacy
        assert ("private if" in str(certificate)) is (seed is None)


def test_estimates_are_unbiased():
    """Own loss of 40,000 reports within 6 standard errors: false alarm in 1e-8 of the runs."""
    player, count = hn.LocallyPrivate(hn.Bandit(2, loss_range=(-1.0, 3.0)), 1.0).start(), 40_000
    for _ in range(count):
        player.observe(player.act(), 0.0)
    error = abs(player.certificate().own_loss)
    assert error <= 6.0 * 4.0 * 0.5 * LEARNER.response.factor * math.sqrt(count)
    assert error > 0.0


def test_state_and_file_have_reports_only(tmp_path):
    player = hn.LocallyPrivate(hn.Bandit(2, hn.Entropy(), hn.Fixed(5.0)), 1.0).start()
    for _ in range(50):
        player.observe(player.act(), 0.123456)
    # 1/2 + (mean - 1/2) coth(epsilon/2), with an integer sum of reports.
    found = (player.certificate().own_loss / 50 - 0.5) / player.learner.response.factor + 0.5
    assert 50 * found == pytest.approx(round(50 * found), abs=1e-9)
    player.save(tmp_path / "local.json")
    copy = hn.load(tmp_path / "local.json")
    assert type(copy.learner) is hn.LocallyPrivate
    assert copy.certificate().rounds == 50


def test_errors_do_not_repeat_the_value():
    player, fleet = LEARNER.start(), hn.Fleet(LEARNER)
    for call in (
        lambda: player.observe(player.act(), 1.2345),
        lambda: player.observe(player.act(), "1.2345"),
        lambda: fleet.observe(fleet.act([1]), [1.2345]),
    ):
        with pytest.raises(ValueError) as told:
            call()
        assert "2345" not in str(told.value)
        assert told.value.__cause__ is None
    assert player.certificate().rounds == 0


def test_losses_by_name_are_rejected_for_rewards():
    player = hn.LocallyPrivate(hn.Bandit(3, gains=True), 1.0).start()
    with pytest.raises(ValueError, match=r"reward=.*loss=") as told:
        player.observe(player.act(), loss=0.4321)
    assert "4321" not in str(told.value)
    player.observe(player.act(), reward=0.4321)
    player.observe(player.act(), 0.4321)
    other = LEARNER.start()
    other.observe(other.act(), loss=0.4321)


def test_fleet_plays_as_the_player():
    fleet, player, rng = hn.Fleet(LEARNER, seed=3), LEARNER.start(3), np.random.default_rng(0)
    for _ in range(60):
        moves, move, row = fleet.act([0, 7]), player.act(), rng.random(4)
        assert moves.action[0] == move.action
        fleet.observe(moves, row[moves.action])
        player.observe(move, row[move.action])
    assert fleet.certificate(0).own_loss == player.certificate().own_loss
    assert "none: a seed was given" in str(fleet.certificate())
    unseeded = hn.Fleet(LEARNER)
    unseeded.observe(unseeded.act(["a", "b"]), [0.1, 0.9])
    assert "(1, 0) for any number of rounds" in str(unseeded.certificate())
    assert "(1, 0) for any number of rounds" in unseeded.certificate("a").privacy


def test_seeded_fleets_with_text_keys_repeat():
    def played():
        fleet = hn.Fleet(LEARNER, seed=3)
        for _ in range(20):
            fleet.observe(fleet.act(["anna", "ben"]), [0.4, 0.6])
        return fleet.distribution("anna").tolist()

    assert played() == played()


def test_other_learners_are_rejected():
    rejected(lambda: hn.LocallyPrivate(hn.Experts(3), 1.0), "learner", "Experts")
    rejected(lambda: hn.LocallyPrivate(hn.SlateBandit(4, 2), 1.0), "learner", "SlateBandit")
    rejected(lambda: hn.LocallyPrivate(LEARNER, 1.0), "learner", "LocallyPrivate")
    rejected(lambda: hn.LocallyPrivate(hn.Bandit(3), 0.0), "epsilon", "0")
    rejected(lambda: LEARNER.start(evidence=True), "evidence", "True")


def test_curve_is_the_bound_by_epsilon():
    curve = LEARNER.privacy_curve(10**6, epsilons=[0.5, 1.0, 2.0])
    assert np.allclose(np.array(curve.bounds) / curve.free, [4.083, 2.164, 1.313], atol=6e-4)
    assert curve.epsilon_at_ten_percent == pytest.approx(2.0 * math.atanh(1.0 / 1.1), rel=1e-4)
    # A person in many rounds: the search does not ask for an epsilon per report that is too small.
    many = LEARNER.privacy_curve(10**6, epsilons=[120.0], per_person=120)
    assert many.epsilon_at_ten_percent == pytest.approx(120.0 * curve.epsilon_at_ten_percent, rel=1e-4)
