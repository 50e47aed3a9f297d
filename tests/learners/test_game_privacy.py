"""Statements about whole games: conversions, fresh Hedge, composition, curves."""

import json
import math

import numpy as np
import pytest
from rejections import rejected
from scipy.stats import binom

import hannan as hn
from hannan.learners.game_privacy import ROUNDING, gaussian_epsilon, gaussian_mu, zcdp_epsilon, zcdp_rho

#: (N, T): bound of fresh Hedge at epsilon 1, delta = 1e-6, which also holds against an adaptive adversary.
FRESH = {
    (2, 10**3): 51.4, (2, 10**4): 162.5, (2, 10**5): 514.0, (2, 10**6): 1625.5,
    (10, 10**3): 166.6, (10, 10**4): 527.1, (10, 10**5): 1667.0, (10, 10**6): 5271.5,
    (100, 10**3): 331.5, (100, 10**4): 1048.7, (100, 10**5): 3316.6, (100, 10**6): 10487.9,
    (1000, 10**3): 496.4, (1000, 10**4): 1570.3, (1000, 10**5): 4966.1, (1000, 10**6): 15704.3,
}  # fmt: skip
#: (N, T): the epsilon whose bound is 10% above that without privacy.
TEN_PERCENT = {
    (2, 10**3): 0.371, (2, 10**4): 0.135, (2, 10**5): 0.047, (2, 10**6): 0.016,
    (10, 10**3): 3.154, (10, 10**4): 1.118, (10, 10**5): 0.389, (10, 10**6): 0.133,
    (100, 10**3): 12.7, (100, 10**4): 4.18, (100, 10**5): 1.41, (100, 10**6): 0.478,
    (1000, 10**3): 58.6, (1000, 10**4): 16.4, (1000, 10**5): 5.08, (1000, 10**6): 1.66,
}  # fmt: skip


@pytest.mark.parametrize(("game", "value"), FRESH.items())
def test_bounds_of_fresh_hedge(game, value):
    n, rounds = game
    hedge = hn.Experts(n, hn.Entropy())
    scale = hedge.scale_for(1.0, rounds=rounds)
    private = hn.Experts(n, hn.Entropy(), hn.Fixed(scale))
    assert private.privacy(rounds).epsilon <= 1.0
    assert private.privacy(rounds).epsilon == pytest.approx(1.0, abs=1e-6)
    bound = private.bound(rounds, against="adaptive")
    assert bound.value == pytest.approx(value, abs=0.0501)
    assert bound.against == "any"


@pytest.mark.parametrize(("game", "epsilon"), TEN_PERCENT.items())
def test_epsilon_that_costs_ten_percent(game, epsilon):
    n, rounds = game
    curve = hn.PrivateExperts(n, 1.0, rounds=rounds).privacy_curve(epsilons=[1.0])
    found = curve.epsilon_at_ten_percent
    assert found == pytest.approx(epsilon, rel=5e-3 if epsilon >= 0.1 else 0.03)
    assert hn.PrivateExperts(n, found, rounds=rounds).bound().value <= 1.1 * curve.free
    assert hn.PrivateExperts(n, 0.999 * found, rounds=rounds).bound().value > 1.1 * curve.free


def exact_delta(moves, scale, epsilon):
    """Return the exact delta of draws of Hedge with two experts after a loss (1, 0), and after none."""
    counts = np.arange(moves + 1)
    p, q = (np.exp(binom.logpmf(counts, moves, 1.0 / (1.0 + math.exp(gap / scale)))) for gap in (1.0, 0.0))
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum()) for a, b in ((p, q), (q, p)))


def test_exact_delta_of_a_thousand_draws_is_within_the_statement():
    scale = hn.Experts(2, hn.Entropy()).scale_for(1.0, rounds=1001)
    found = exact_delta(1000, scale, 1.0)
    assert 1e-8 < found <= 1e-6
    assert exact_delta(1000, scale / 2.0, 1.0) > 1e-6  # the control: half of the scale


def test_rho_is_the_sum_over_public_scales():
    horizon = hn.Experts(10, hn.Entropy(), hn.Horizon(10**4)).privacy()
    assert horizon.rho == pytest.approx(math.log(10) * 9999 / 10**4)
    assert horizon.epsilon == pytest.approx(12.7, abs=0.05)
    for learner in (hn.Experts(10, hn.Entropy(), hn.Anytime()), hn.Experts(4, hn.Gumbel(), hn.Anytime(0.5))):
        schedule = learner.schedule()
        exact = sum(1.0 / (8.0 * schedule.scale(t, 0.0) ** 2) for t in range(2, 2001))
        assert exact <= learner.privacy(2000).rho <= exact * (1.0 + 1e-9)
    alone = hn.Experts(10, hn.Entropy(), hn.Fixed(50.0)).privacy(1000)
    replaced = hn.Experts(10, hn.Entropy(), hn.Fixed(50.0)).privacy(1000, neighbors="replace", per_person=3)
    assert replaced.rho == pytest.approx(36.0 * alone.rho)
    assert hn.Experts(1, hn.Entropy(), hn.Fixed(50.0)).privacy(1000).epsilon == 0.0


def test_no_statement_if_the_scale_follows_the_losses():
    with pytest.raises(hn.Withheld, match=r"SelfConfident"):
        hn.Experts(3, hn.Entropy()).privacy(100)
    with pytest.raises(hn.Withheld, match=r"no privacy is proved for Experts"):
        hn.Experts(3, hn.Exponential(), hn.Fixed(9.0)).privacy(100)
    rejected(lambda: hn.Experts(3, hn.Entropy(), hn.Fixed(9.0)).privacy(), "rounds")


def test_conversions_are_inverse_and_on_the_safe_side():
    for epsilon in (0.05, 0.5, 1.0, 7.0):
        for delta in (1e-9, 1e-5):
            mu, rho = gaussian_mu(epsilon, delta), zcdp_rho(epsilon, delta)
            assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-7)
            assert epsilon * (1.0 - 1e-9) < zcdp_epsilon(rho, delta) <= epsilon
    assert gaussian_epsilon(0.1264, 1e-6) == pytest.approx(0.509899, abs=5e-7)


def test_conversions_are_safe_at_extremes():
    """delta(epsilon) with 60 digits: epsilon from 1e-6 to 1e6 and delta from 1e-300 to 1 - 1e-9."""
    import mpmath as mp

    def delta_of(mu, epsilon):
        return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)

    with mp.workdps(60):
        for epsilon in (1e-6, 1e-3, 1.0, 50.0, 700.0, 1e6):
            for delta in (1e-300, 1e-30, 1e-9, 1e-6, 0.1, 1.0 - 1e-9):
                # The noise of a learner is larger by this factor.
                mu = mp.mpf(gaussian_mu(epsilon, delta)) / (1 + mp.mpf(ROUNDING))
                assert delta_of(mu, mp.mpf(epsilon)) <= mp.mpf(delta)
                # The control: one percent less noise.
                assert delta_of(mp.mpf("1.01") * mu, mp.mpf(epsilon)) > mp.mpf(delta)
    for learner in (hn.PrivateExperts, lambda n, epsilon: hn.PrivateBall(hn.Ball(n), 1.0, epsilon)):
        rejected(lambda make=learner: make(3, 1e-7), "epsilon", "1e-07")


def test_composition_keeps_the_conditions_of_all_parts():
    gaussian = hn.PrivateExperts(10, 0.5, rounds=1000).privacy()
    hedge = hn.Experts(10, hn.Entropy(), hn.Fixed(500.0)).privacy(1000)
    for both in (gaussian.together(hedge), hedge.together(gaussian)):
        assert "real-valued noise" in both.condition
        assert "not the probabilities" in both.condition
    assert gaussian.together(gaussian).condition == gaussian.condition


def test_removed_losses_leave_their_round():
    """Sequences of another length have another number of moves, and no statement compares them."""
    said = hn.PrivateExperts(3, 1.0, rounds=9).privacy()
    assert "the round remains" in said.between
    assert "the number and the times of losses are public" in said.condition
    assert "the round remains" not in hn.PrivateExperts(3, 1.0, rounds=9, neighbors="replace").privacy().between


@pytest.mark.parametrize(
    ("parent", "arguments", "member"),
    [
        (hn.PrivateExperts, (3, 1.0), "sigma"),
        (hn.PrivateBall, (hn.Ball(3), 1.0, 1.0), "sigma"),
        (hn.LocallyPrivate, (hn.Bandit(3), 1.0), "response"),
    ],
)
def test_subclasses_with_other_noise_are_rejected(parent, arguments, member):
    class Renamed(parent):
        pass

    Louder = type("Louder", (parent,), {member: 1e-9})
    rejected(lambda: Louder(*arguments), "Louder", member)
    # The control: a subclass that changes no member.
    assert Renamed(*arguments).privacy().epsilon == 1.0


def test_composition_of_learners_that_observe_the_same_people():
    one = hn.PrivateExperts(10, 1.0, rounds=1000).privacy()
    both = one.together(one)
    assert both.mu == pytest.approx(math.sqrt(2.0) * one.mu)
    assert both.rounds == 2000
    assert both.learners == 2
    assert 1.4 < both.epsilon < 2.0
    each = one.share(4)
    part = hn.PrivateExperts(10, each, rounds=1000).privacy()
    total = part.together(part, part, part)
    assert total.epsilon == pytest.approx(1.0, rel=1e-6)
    assert total.epsilon <= 1.0
    # The control: four learners with the whole budget each.
    assert one.together(one, one, one).epsilon > 2.0


def test_composition_of_different_mechanisms():
    gaussian = hn.PrivateExperts(10, 0.5, rounds=1000).privacy()
    hedge = hn.Experts(10, hn.Entropy(), hn.Fixed(500.0)).privacy(1000)
    found = gaussian.together(hedge)
    assert found.epsilon == pytest.approx(zcdp_epsilon(gaussian.mu**2 / 2 + hedge.rho, 1e-6))
    assert found.epsilon < gaussian.epsilon + hedge.epsilon
    local = hn.LocallyPrivate(hn.Bandit(3), 1.0).privacy()
    with pytest.raises(ValueError, match=r"others"):
        gaussian.together(local)
    assert found.to_dict()["learners"] == 2
    assert "of 2 learners" in str(found)


def test_curves_print_and_convert():
    for curve in (
        hn.PrivateExperts(10, 1.0, rounds=1000).privacy_curve(),
        hn.PrivateExperts(10, 1.0).privacy_curve(1000),
        hn.Experts(10, hn.Entropy()).privacy_curve(1000),
    ):
        assert (np.diff(curve.bounds) <= 0.0).all()
        assert curve.free < curve.bounds[0]
        assert "at most 10% more regret" in str(curve)
        assert json.loads(json.dumps(curve.to_dict()))["epsilons"]
    rejected(lambda: hn.PrivateExperts(10, 1.0).privacy_curve(), "rounds")
    rejected(lambda: hn.PrivateExperts(10, 1.0).privacy_curve(10, epsilons=[]), "epsilons")


@pytest.mark.parametrize(
    "learner", [hn.PrivateExperts(3, 1.0, rounds=9), hn.PrivateBall(hn.Ball(2), 1.0, 1.0, rounds=9)]
)
def test_fleets_and_stores_reject_kept_noise_with_the_reason(learner, tmp_path):
    store = hn.Store(tmp_path / "decisions.hannan")
    reason = rf"{type(learner).__name__} .*opening a store replays every draw.*use learner\.start\(\)"
    for start in (lambda: hn.Fleet(learner), lambda: store.add("private", learner)):
        with pytest.raises(ValueError, match=reason):
            start()
    assert not store.learners
    # The control: a bandit without kept noise is accepted.
    store.add("public", hn.Bandit(3))
    hn.Fleet(hn.Bandit(3))
    store.close()
