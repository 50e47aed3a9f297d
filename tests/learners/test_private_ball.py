"""Linear losses on a ball: bounds, noise, privacy, games and files."""

import math

import numpy as np
import pytest
from rejections import rejected

import hannan as hn
from hannan.mathematics.mechanisms import CorrelatedNoise

LEARNER = hn.PrivateBall(hn.Ball(3), 1.0, 1.0, rounds=400)


def test_bound_has_the_stated_values_and_cost():
    assert hn.PrivateBall(hn.Ball(10), 1.0, 1.0, rounds=10**4).bound().value == pytest.approx(113.4, abs=0.051)
    assert hn.PrivateBall(hn.Ball(10), 1.0, 1e5, rounds=10**4).bound().value == pytest.approx(100.0, abs=0.051)
    # Fresh noise in every round costs more.
    fresh = hn.Convex(hn.Ball(10), 1.0, hn.GaussianNoise(1e-6), hn.Horizon(10**4), smooth=0.0)
    assert fresh.privacy_curve(10**4, epsilons=[1.0]).bounds[0] > 1000.0


def test_bound_grows_with_dimension_privacy_and_units():
    def value(d=3, epsilon=1.0, **more):
        return (
            hn.PrivateBall(
                hn.Ball(d, more.pop("radius", 1.0)), more.pop("lipschitz", 1.0), epsilon, rounds=2000, **more
            )
            .bound()
            .value
        )

    assert value() < value(d=9) < value(d=9, epsilon=0.5) < value(d=9, epsilon=0.5, neighbors="replace")
    assert value(per_person=2) == pytest.approx(value(neighbors="replace"))
    assert value(radius=2.0, lipschitz=3.0) == pytest.approx(6.0 * value())


def test_adaptive_bound_is_larger_and_late_rounds_have_none():
    assert LEARNER.bound(against="adaptive").value > LEARNER.bound().value
    assert LEARNER.bound(against="adaptive").against == "any"
    with pytest.raises(hn.Withheld, match=r"400.*401"):
        LEARNER.bound(401)


def test_noise_has_the_covariance_of_the_stream():
    """21 entries within 6 standard errors over 4,000 games: a false alarm in 1e-7 of the runs."""
    learner, rounds, at = hn.PrivateBall(hn.Ball(1), 1.0, 1.0, rounds=40), 40, np.array([0, 1, 3, 8, 20, 39])
    record = hn.play(learner, hn.Linear(np.zeros((rounds, 1))), runs=4000, keep="all")
    rows = CorrelatedNoise().rows(rounds)
    # Moves are the clipped noise: compare signs of sums, whose probability is 1/4 + asin(correlation)/(2 pi).
    signs = np.sign(record.actions[:, 1:, 0])
    at = at[:-1]
    level = np.array([[sum(rows[i - j] * rows[k - j] for j in range(min(i, k) + 1)) for k in at] for i in at])
    scale = np.sqrt(np.diag(level))
    right = 2.0 / math.pi * np.arcsin(np.clip(level / np.outer(scale, scale), -1.0, 1.0))
    found = signs[:, at].T @ signs[:, at] / len(signs)
    assert np.abs(found - right).max() <= 6.0 / math.sqrt(len(signs))
    # The control: noise that is drawn afresh has no correlation.
    assert np.abs(right - np.eye(len(at))).max() > 6.0 / math.sqrt(len(signs))


def test_regret_is_within_the_bound_for_losses_fixed_in_advance():
    z = np.random.default_rng(0).standard_normal((400, 3))
    z = 0.5 * z / np.linalg.norm(z, axis=1, keepdims=True) + [0.3, 0.0, 0.0]
    record = hn.play(LEARNER, hn.Linear(z), runs=10)
    assert record.mean_regret[-1] <= record.bound.value < 2 * 400


def test_epsilon_covers_its_rounds_only():
    player = hn.PrivateBall(hn.Ball(2), 1.0, 1.0, rounds=3).start()
    for _ in range(3):
        player.observe(player.act(), hn.Linear([0.5, 0.5]))
    rejected(player.act, "rounds", "3")
    rejected(lambda: hn.play(LEARNER, hn.Linear(np.zeros((401, 3)))), "losses", "401")
    assert LEARNER.privacy(100).epsilon < 1.0 == LEARNER.privacy().epsilon < LEARNER.privacy(10**6).epsilon


def test_certificate_states_privacy_without_a_seed_only(tmp_path):
    for seed, said in ((None, "(1, 1e-06) for 400 rounds"), (0, "none: a seed was given")):
        player = LEARNER.start(seed)
        player.observe(player.act(), hn.Linear([0.1, 0.0, 0.2]))
        assert said in player.certificate().privacy
    player = LEARNER.start()
    player.observe(player.act(), hn.Linear([0.1, 0.0, 0.2]))
    assert "this copy only" not in player.certificate().private_if
    player.save(tmp_path / "ball.json")
    copies = [hn.load(tmp_path / "ball.json", resume="exact") for _ in range(2)]
    for copy in (player, *copies):
        assert "this copy only" in copy.certificate().private_if
        copy.observe(copy.act(), hn.Linear([0.1, 0.0, 0.2]))
    # Copies draw different noise, also if they resume exactly.
    assert copies[0].act().action != copies[1].act().action


def test_other_losses_and_sets_are_rejected():
    player = LEARNER.start()
    rejected(lambda: player.observe(player.act(), hn.Logistic([0.6, 0.0, 0.8], 1)), "losses", "Logistic")
    rejected(lambda: player.observe(player.act(), hn.Linear([2.0, 0.0, 0.0])), "lipschitz", "2")
    rejected(lambda: hn.PrivateBall(hn.Simplex(3), 1.0, 1.0), "domain", "Simplex")
    rejected(lambda: hn.PrivateBall(hn.Ball(3), 1.0, 1.0, neighbors="both"), "neighbors", "both")
