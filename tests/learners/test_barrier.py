"""Barrier bandit: leader and axes against definitions, unbiased estimates, every step of the proof, and its bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn

BALL, BOX = hn.Ball(3, 2.0, (1.0, 0.0, -1.0)), hn.Box([0.0, -1.0], [1.0, 3.0])


def barrier(domain, x):
    if isinstance(domain, hn.Ball):
        return -math.log(domain.radius**2 - np.sum((x - domain.center) ** 2))
    low, high = domain.box
    return float(-np.log(x - low).sum() - np.log(high - x).sum())


def slopes(domain, x, h=1e-5):
    """Gradient and Hessian of the barrier by differences."""
    d, unit = domain.d, np.eye(domain.d) * h
    grad = np.array([(barrier(domain, x + u) - barrier(domain, x - u)) / (2 * h) for u in unit])
    bend = np.array(
        [[(barrier(domain, x + u + v) - barrier(domain, x + u - v) - barrier(domain, x - u + v)
           + barrier(domain, x - u - v)) / (4 * h * h) for u in unit] for v in unit]
    )  # fmt: skip
    return grad, bend.reshape(d, d)


@pytest.mark.parametrize("domain", [BALL, BOX], ids=["ball", "box"])
@pytest.mark.parametrize("size", [0.0, 0.5, 20.0])
def test_leader_and_axes(domain, size):
    learner, rng = hn.BarrierBandit(domain, 1.0, 500), np.random.default_rng(int(size))
    estimates = size * rng.standard_normal(domain.d) / learner.eta
    h = learner.leader(estimates)
    assert domain.contains(h)
    grad, bend = slopes(domain, h, 1e-5 if size < 5 else 1e-6 * min(1.0, 1.0 / size))
    if size < 5:
        np.testing.assert_allclose(grad, -learner.eta * estimates, atol=1e-4 * (1 + size))
        axes = [learner.axis(h, k) for k in range(domain.d)]
        for w, product in axes:
            np.testing.assert_allclose(bend @ w, product, atol=2e-3 * np.abs(product).max())
            assert w @ product == pytest.approx(1.0)
        assert [abs(w @ v) < 1e-12 for k, (w, _) in enumerate(axes) for v, _ in axes[:k]].count(False) == 0
    # The ellipsoid of local length 1 is in the domain.
    for k in range(domain.d):
        w, _ = learner.axis(h, k)
        assert domain.contains(h + w)
        assert domain.contains(h - w)


@pytest.mark.parametrize("domain", [BALL, BOX], ids=["ball", "box"])
def test_estimates_are_unbiased_and_every_step_of_the_proof_holds(domain):
    d, eta = domain.d, hn.BarrierBandit(domain, 1.0, 500).eta
    learner, rng = hn.BarrierBandit(domain, 1.0, 500), np.random.default_rng(5)
    total = np.zeros(d)
    for _ in range(60):
        z = rng.standard_normal(d)
        z /= np.linalg.norm(z)
        h, mean, own = learner.leader(total), np.zeros(d), 0.0
        for k in range(d):
            w, product = learner.axis(h, k)
            for sign in (1.0, -1.0):
                paid = float(z @ (h + sign * w))
                lhat = d * paid * sign * product
                mean, own = mean + lhat / (2 * d), own + paid / (2 * d)
                # The drift of a step is at most (-ln(1 - s) - s)/eta, s = eta d |loss|.
                after, s = learner.leader(total + lhat), eta * d * abs(paid)
                phi = [x @ v + barrier(domain, x) / eta for x, v in ((h, total), (after, total + lhat))]
                drift = lhat @ h - (phi[1] - phi[0])
                assert -1e-9 <= drift <= (-math.log1p(-s) - s) / eta + 1e-9
        np.testing.assert_allclose(mean, z, atol=1e-10)
        assert own == pytest.approx(float(z @ h))
        total = total + lhat
    # Range: R(u) - R(h_1) <= v ln T for u = (1 - 1/T) x + h_1/T.
    first = learner.leader(np.zeros(d))
    for _ in range(200):
        x = domain.argmin(rng.standard_normal(d))
        u = (1 - 1 / 500) * x + first / 500
        assert barrier(domain, u) - barrier(domain, first) <= learner.parameter * math.log(500) + 1e-9


def losses_of(domain, kind, rounds):
    rng = np.random.default_rng(3)
    z = rng.standard_normal((rounds, domain.d))
    if kind == "drift":
        z = 0.3 * z + np.eye(domain.d)[0]
    if kind == "turning":
        z = np.where(np.arange(rounds)[:, None] < rounds // 2, 1.0, -1.0) * np.eye(domain.d)[0] + 0.1 * z
    return hn.Linear(z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0))


@pytest.mark.parametrize("kind", ["random", "drift", "turning"])
@pytest.mark.parametrize("domain", [BALL, BOX, hn.Ball(1)], ids=["ball", "box", "interval"])
def test_games_stay_below_the_bound(domain, kind):
    """12 runs; means are below half of the bounds, so that an excess has a probability far below 1e-9."""
    learner = hn.BarrierBandit(domain, 1.0, 1500)
    record = hn.play(learner, losses_of(domain, kind, 1500), runs=12, seed=2)
    assert record.mean_regret[-1] <= learner.bound().value
    assert record.bound is None or record.bound.against == "oblivious"


def test_first_order_bound():
    box, T = hn.Box([0.1, 0.1], [1.0, 1.0]), 20_000
    learner = hn.BarrierBandit(box, 1.0, T, loss_bound=1.0, best_loss=50.0)
    d, v, eta = 2, 4.0, learner.eta
    s = eta * d
    k = (-math.log1p(-s) - s) / s**2
    least = (50 + 1 + v * math.log(T) / eta) / (1 - k * eta * d * d) - 50
    assert learner.bound().value == pytest.approx(least)
    assert learner.bound().at_most == 50.0
    assert least < 0.4 * hn.BarrierBandit(box, 1.0, T, loss_bound=1.0).bound().value < T
    z = np.zeros((2000, 2))
    z[:, 1], z[::50, 0] = 0.3, 0.5
    record = hn.play(hn.BarrierBandit(box, 1.0, 2000, 1.0, 80.0), hn.Linear(z), runs=12, seed=1)
    best = float(record.best_loss)
    assert record.mean_regret[-1] <= hn.BarrierBandit(box, 1.0, 2000, 1.0, 80.0).bound(best_loss=best).value


def test_control_without_exploration_fails():
    """Control: the estimate of the wrong axis is biased, so that it does not have the mean of the loss."""
    learner, z = hn.BarrierBandit(BOX, 1.0, 500), np.array([0.6, -0.8])
    h = learner.leader(np.zeros(2))
    mean = np.zeros(2)
    for k in range(2):
        w, _ = learner.axis(h, k)
        for sign in (1.0, -1.0):
            mean += 2 * float(z @ (h + sign * w)) * sign * learner.axis(h, 1 - k)[1] / 4
    assert np.abs(mean - z).max() > 0.1


def test_a_player_needs_only_the_number():
    learner = hn.BarrierBandit(hn.Ball(2), 1.0, 100)
    one, other = learner.start(3), learner.start(3, name="p")
    for z in losses_of(hn.Ball(2), "drift", 30).z:
        a, b = one.act(), other.act()
        assert a.action == b.action
        one.observe(a, float(z @ a.action))
        other.observe(b, hn.Linear(z))
    assert one.certificate().estimated_regret == other.certificate().estimated_regret
    assert hn.BarrierBandit.from_json(learner.to_json()) == learner
    with pytest.raises(ValueError, match=r"loss.*2\.5"):
        one.observe(one.act(), 2.5)
    late = one.act()
    one.observe(one.act(), 0.0)
    one.observe(late, 0.0)
    assert "delayed" in one.certificate().withheld


@pytest.mark.parametrize(
    ("build", "parts"),
    [
        (lambda: hn.BarrierBandit(hn.Simplex(3), 1.0, 10), ("domain", "Simplex")),
        (lambda: hn.BarrierBandit(hn.Box([0.0], [0.0]), 1.0, 10), ("domain", "interior")),
        (lambda: hn.BarrierBandit(BALL, 1.0, 10, best_loss=3.0), ("loss_bound", "3.0")),
        (lambda: hn.BarrierBandit(BALL, 1.0, 10).admit(hn.Squared([1.0, 0.0, 0.0], 1.0)), ("losses", "Linear")),
        (lambda: hn.BarrierBandit(BOX, 1.0, 10, 1.0).admit(hn.Linear([-1.0, 0.0])), ("loss_bound = 1", "-1")),
        (lambda: hn.BarrierBandit(BALL, 1.0, 10).bound(11), ("10 rounds", "11")),
    ],
)
def test_bad_input_is_rejected(build, parts):
    with pytest.raises(ValueError) as caught:
        build()
    assert all(part in str(caught.value) for part in parts)
