"""Conditions of a bound: printed, checked where possible, and the bound is withheld if the play contradicts them."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import hannan as hn
from hannan.mathematics.laws.law import checked_hazard, on_your_word
from hannan.players import certificate


@dataclass(frozen=True)
class Said(hn.Law):
    """The exponential law with hazard 1, and with another stated hazard."""

    said: float = 1.0

    @property
    def hazard(self):
        return self.said

    @property
    def support(self):
        return (0.0, math.inf)

    def density(self, z):
        z = np.asarray(z, dtype=float)
        return np.where(z >= 0.0, np.exp(-np.maximum(z, 0.0)), 0.0)

    def cdf(self, z):
        return -np.expm1(-np.maximum(np.asarray(z, dtype=float), 0.0))


@dataclass(frozen=True)
class Flat(Said):
    """A density that contradicts its cdf: f/S is 0 everywhere, but 1 - F decreases."""

    def density(self, z):
        return 0.0 * np.asarray(z, dtype=float)


# A hazard that is stated


def test_stated_hazard_is_compared_with_density_and_cdf():
    assert checked_hazard(hn.Exponential()) == ""
    assert "checked at" in checked_hazard(Said(1.0))
    for h in (0.999, 0.5, 0.05):
        with pytest.raises(ValueError, match="hazard of Said must be at least f/"):
            hn.Experts(2, Said(h), hn.Fixed(30.0))
        with pytest.raises(ValueError, match="hazard of Said"):
            hn.Bandit(2, Said(h), hn.Fixed(30.0))
    with pytest.raises(ValueError, match="must be at least the fall of log"):
        checked_hazard(Flat(0.9))
    with pytest.raises(ValueError, match="must be > 0"):
        checked_hazard(Said(-1.0))


def test_potential_checks_the_stated_hazard_of_its_law():
    assert hn.FTPL(hn.Exponential(), 2.0).stability(3).level == 0.5
    claim = hn.FTPL(Said(1.0), 2.0).stability(3)
    assert claim.level == 0.5
    assert "assumed, not verified: the hazard of Said is at most 1" in claim.source
    for false in (0.05, 0.99):  # claimed a level of 0.025 where 0.5 is attained
        with pytest.raises(ValueError, match="hazard of Said must be at least f/"):
            hn.FTPL(Said(false), 2.0).stability(3)
        with pytest.raises(ValueError, match="hazard of Said must be at least f/"):
            hn.audit(hn.FTPL(Said(false), 2.0), n=3)


@pytest.mark.parametrize(
    "law", [hn.Exponential(), hn.Gumbel(), hn.Laplace(), hn.Gamma(3.0), hn.Frechet(2.0), hn.Pareto(3.0)]
)
def test_correct_hazards_are_accepted(law):
    @dataclass(frozen=True)
    class Stripped(hn.Law):
        hazard = law.hazard
        support = law.support

        def density(self, z):
            return law.density(z)

        def cdf(self, z):
            return law.cdf(z)

    assert "checked at" in checked_hazard(Stripped())


def test_stated_hazard_is_printed_as_assumed():
    bound = hn.Experts(2, Said(1.0), hn.Horizon(1000)).bound()
    assert bound.condition.startswith("assumed, not verified: the hazard of Said is at most 1 (checked at")
    assert "assumed, not verified" in " ".join(str(bound).split())
    assert hn.Experts(2, hn.Exponential(), hn.Horizon(1000)).bound().condition == ""


def test_certificate_withholds_a_contradicted_bound(monkeypatch):
    # The result if the false hazard were accepted: bound 3.2, regret 10.7, "0.222 realised, claimed at most 0.0316".
    monkeypatch.setattr("hannan.mathematics.laws.law.on_your_word", lambda law: "")
    player = hn.Experts(2, Said(0.05), hn.Horizon(40)).start(seed=0)
    for t in range(40):
        player.observe(player.act(), [float(t % 2 == 0), float(t % 2)])
    told = player.certificate()
    assert told.realised_level > told.claimed_rate
    assert told.bound is None
    assert "contradict the claimed stability" in told.withheld
    fine = hn.Experts(2, Said(1.0), hn.Horizon(40)).start(seed=0)
    for t in range(40):
        fine.observe(fine.act(), [float(t % 2 == 0), float(t % 2)])
    assert fine.certificate().bound is not None


def test_regret_above_a_bound_on_every_sequence_is_reported():
    bound = hn.Experts(2, hn.Entropy(), hn.Horizon(1000)).bound()
    assert certificate.contradicted(bound, bound.value, 0.1, 0.1, 1000, 1.0) == ""
    assert "contradict the bound" in certificate.contradicted(bound, bound.value + 0.1, 0.1, 0.1, 1000, 1.0)
    drawn = hn.Bandit(2, hn.Entropy(), hn.Horizon(1000)).bound()  # in expectation: a single run may have more
    assert certificate.contradicted(drawn, drawn.value + 0.1, 0.1, None, 1000, 1.0) == ""
    # Losses that differ by little, or by much: rounding is not a contradiction.
    player = hn.Experts(3, hn.Exponential(), hn.Anytime()).start(seed=0)
    for t in range(200):
        player.observe(player.act(), [0.5, 0.5 + 1e-15 * (t % 2), 0.5 + 1e-3])
    assert player.certificate().bound is not None


def test_stated_log_concavity_is_compared_with_the_density():
    @dataclass(frozen=True)
    class Concave(Said):
        log_concave = True

    @dataclass(frozen=True)
    class Mixed(Concave):  # two exponentials: log-convex
        def density(self, z):
            return 0.5 * super().density(z) + 0.5 * 0.2 * np.exp(-0.2 * np.maximum(z, 0.0)) * (np.asarray(z) >= 0.0)

        def cdf(self, z):
            return 0.5 * super().cdf(z) - 0.5 * np.expm1(-0.2 * np.maximum(np.asarray(z, dtype=float), 0.0))

    assert "log-concave (checked at" in on_your_word(Concave())
    assert "log-concave" in hn.Experts(2, Concave(), hn.Horizon(1000)).bound().condition
    with pytest.raises(ValueError, match="Mixed must be log-concave"):
        hn.Experts(2, Mixed(), hn.Horizon(1000))
    assert on_your_word(hn.Gaussian()) == ""

    @dataclass(frozen=True)
    class Bell(hn.Law):
        log_concave = True

        def density(self, z):
            return hn.Gaussian().density(z)

        def cdf(self, z):
            return hn.Gaussian().cdf(z)

    assert "checked at" in on_your_word(Bell())


# BestLoss


def test_best_loss_prints_its_condition():
    for learner in (
        hn.Experts(4, tuning=hn.BestLoss(2)),
        hn.Bandit(4, hn.LogBarrier(), hn.BestLoss(2, rounds=2000)),
        hn.ExpertBandit(4, 4, tuning=hn.BestLoss(2), clip="tuned"),
    ):
        bound = learner.bound(10**6 if learner.tuning.told_rounds is None else 2000)
        assert bound.condition.startswith("if the best loss L* <= 2 on every run")
        assert bound.at_most == 2.0
        assert "if the best loss L* <= 2 on every run" in str(bound)
    gains = hn.Experts(4, tuning=hn.BestLoss(990, rounds=1000), gains=True).bound(1000)
    assert gains.condition == "if the best gain G* >= 990 on every run"


def test_bound_is_withheld_if_the_own_loss_refutes_the_best_loss():
    learner, rounds = hn.Bandit(4, hn.LogBarrier(), hn.BestLoss(2, rounds=2000)), 2000
    assert learner.bound().value == pytest.approx(22.3, abs=0.1)
    coins = np.random.default_rng(0).random((rounds, 4)) < [0.465, 0.5, 0.5, 0.5]
    player = learner.start(seed=0)
    for row in coins:
        move = player.act()
        player.observe(move, float(row[move.action]))
    told = player.certificate()
    assert told.bound is None
    assert "probability at most 0.05 under the condition of the bound: if the best loss L* <= 2" in told.withheld
    kind = learner.start(seed=0)  # the control: L* = 0, and the bound is printed
    for _ in range(rounds):
        move = kind.act()
        kind.observe(move, float(move.action != 0))
    assert kind.certificate().bound is not None
    assert dict(kind.certificate().rows())["condition"].startswith("if the best loss L* <= 2 on every run")


def test_experts_check_their_best_loss_on_the_path():
    player = hn.Experts(2, tuning=hn.BestLoss(2)).start(seed=0)
    for _ in range(2):
        player.observe(player.act(), [1.0, 1.0])
    assert player.certificate().bound is not None
    player.observe(player.act(), [1.0, 1.0])
    assert "best_loss=" in player.certificate().withheld


def test_bound_states_its_rounds_if_moves_are_pending():
    """Feedback only for moves with a loss is selected feedback.

    The regret over these rounds is half of their number.
    """
    coins = np.random.default_rng(3).integers(0, 2, 600)
    player, own, lost = hn.AdaHedge(2).start(), 0, np.zeros(2)
    for coin in coins:
        row, move = np.eye(2)[coin], player.act()
        if row[move.action]:
            own, lost = own + 1, lost + row
            player.observe(move, row)
    told = player.certificate()
    assert own - lost.min() > 5 * told.bound.value
    assert "does not depend on the moves" in dict(told.rows())["settled"]
    # The control: if every loss is reported, no condition is needed.
    whole = hn.AdaHedge(2).start()
    for coin in coins:
        whole.observe(whole.act(), np.eye(2)[coin])
    assert "settled" not in dict(whole.certificate().rows())


@pytest.mark.parametrize(
    ("tuning", "made"), [(hn.SelfConfident(), True), (hn.BestLoss(100), True), (hn.Horizon(120), False)], ids=repr
)
def test_bound_computed_from_observed_losses_states_this(tuning, made):
    """If losses depend on the moves, the best loss differs between runs.

    For drawn moves, the mean over runs is bounded.
    """
    player = hn.Experts(2, hn.Entropy(), tuning).start()
    for _ in range(120):
        player.observe(player.act(), [0.0, 1.0])
    assert player.certificate().bound is not None
    assert ("data" in dict(player.certificate().rows())) is made
