"""Learners as descriptions, clipping, estimators, and bandits against their bounds."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hannan as hn
from hannan.learners.estimators import Drawn
from hannan.mathematics.laws.law import Law

GOLDEN = [
    case
    for case in json.loads(Path(__file__).parents[1].joinpath("oracles", "golden.json").read_text())["cases"]
    if case["family"] == "clipping"
]


def test_positional_smoothing():
    assert hn.Experts(3, hn.Entropy()).smoothing == hn.Entropy()
    assert hn.Bandit(3, hn.Entropy()).smoothing == hn.Entropy()
    assert hn.ExpertBandit(3, 4, hn.Entropy()).smoothing == hn.Entropy()


@pytest.mark.parametrize(
    "build",
    [
        lambda: hn.Experts(0),
        lambda: hn.Experts(2.5),
        lambda: hn.Experts(True),
        lambda: hn.Bandit("three"),
        lambda: hn.Experts(3, hn.Entropy),
        lambda: hn.Experts(3, tuning=5.0),
        lambda: hn.Bandit(3, estimator="exact"),
        lambda: hn.Experts(3, loss_range=(1.0, 1.0)),
        lambda: hn.Experts(3, loss_range=(0.0, math.inf)),
        lambda: hn.Experts(3, loss_range=5.0),
        lambda: hn.Experts(3, gains="yes"),
        lambda: hn.ExpertBandit(3, 4, clip="auto"),
        lambda: hn.ExpertBandit(3, 4, clip=-0.1),
        lambda: hn.ExpertBandit(3, 4, clip=math.nan),
        lambda: hn.Fixed(0.0),
        lambda: hn.Fixed(math.nan),
        lambda: hn.Horizon(0),
        lambda: hn.Horizon(2.5),
        lambda: hn.Anytime(-1.0),
        lambda: hn.SelfConfident(0),
        lambda: hn.GeometricResampling(0),
        lambda: hn.ConditionalResampling(1.5),
        lambda: hn.Experts(3).start(-1),
        lambda: hn.Experts(3).start("seed"),
    ],
)
def test_invalid_descriptions_are_rejected(build):
    with pytest.raises(ValueError, match="must"):
        build()


@dataclass(frozen=True)
class LogisticLaw(Law):
    """User-defined law in one small class: density, cdf and a proved hazard."""

    hazard = 1.0

    def density(self, z):
        return 0.25 / np.cosh(np.asarray(z) / 2) ** 2

    def cdf(self, z):
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)


def test_json_of_a_user_defined_law(tmp_path):
    learner = hn.Experts(3, LogisticLaw(), hn.Fixed(2.0))
    text = learner.to_json()
    with pytest.raises(ValueError, match=r"hannan\.register"):
        hn.Experts.from_json(text)
    player = learner.start(0)
    player.observe(player.act(), [0.1, 0.5, 0.9])
    player.save(tmp_path / "own.json")
    with pytest.raises(ValueError, match=r"own\.json.*hannan\.register"):
        hn.load(tmp_path / "own.json")
    hn.register(LogisticLaw)
    assert hn.Experts.from_json(text) == learner
    again = hn.load(tmp_path / "own.json", resume="exact")
    for _ in range(5):
        one, two = player.act(), again.act()
        assert one == two
        player.observe(one, [0.3, 0.2, 0.1])
        again.observe(two, [0.3, 0.2, 0.1])
    impostor = dataclass(frozen=True)(type("Exponential", (SlowExponential,), {}))
    with pytest.raises(ValueError, match=r"must not .*name.*got"):
        hn.register(impostor)
    # If it were not registered, it would be restored as the Exponential of the package, so it is rejected when it is
    # described.
    learner = hn.Experts(3, impostor(), hn.Fixed(1.0))
    with pytest.raises(ValueError, match=r"must not .*name.*got"):
        learner.to_json()
    with pytest.raises(ValueError, match=r"must not .*name.*got"):
        learner.start(0).save(tmp_path / "impostor.json")
    assert not (tmp_path / "impostor.json").exists()
    with pytest.raises(ValueError, match="must describe a Bandit"):
        hn.Bandit.from_json(hn.Experts(3).to_json())
    for bad in ("{", "[1]", '{"class": "Experts"}', '{"class": "os"}', '{"class": "Experts", "m": 3}', "3"):
        with pytest.raises(ValueError):
            hn.Experts.from_json(bad)


def test_user_defined_law_has_bounds_and_plays_every_setting():
    # The logistic law has h = 1, E max_2 = 1, E Z = 0: c' = 1.
    bound = hn.Experts(2, LogisticLaw(), hn.BestLoss(50)).bound()
    assert bound.value == pytest.approx(math.sqrt(2 * 50) + 1, rel=1e-9)
    experts = hn.Experts(2, LogisticLaw()).start(1)
    bandit = hn.Bandit(2, LogisticLaw(), estimator=hn.GeometricResampling(9)).start(1)
    advised = hn.ExpertBandit(3, 2, LogisticLaw(), clip="tuned").start(1)
    rng = np.random.default_rng(0)
    for t in range(5):
        experts.observe(experts.act(), rng.random(2))
        bandit.observe(bandit.act(), rng.random())
        advice = rng.dirichlet(np.ones(3), 2) if t % 2 else rng.integers(3, size=2)
        advised.observe(advised.act(advice), rng.random())
    certificate = experts.certificate()
    assert sum(certificate.identity.values()) == pytest.approx(certificate.regret, abs=1e-9)
    assert certificate.regret <= certificate.bound.value
    assert certificate.realised_level <= certificate.claimed_rate
    for player in (experts, bandit, advised):
        assert player.distribution().sum() == pytest.approx(1.0, abs=1e-12)


@dataclass(frozen=True)
class SlowExponential(Law):
    """The exponential law as a user would write it, compared with the compiled one."""

    hazard = 1.0
    support = (0.0, math.inf)

    def density(self, z):
        return np.where(np.asarray(z) >= 0, np.exp(-np.maximum(z, 0.0)), 0.0)

    def cdf(self, z):
        return np.where(np.asarray(z) >= 0, -np.expm1(-np.maximum(z, 0.0)), 0.0)


def test_stepping_by_the_gradient_equals_the_compiled_game():
    rng = np.random.default_rng(2)
    rows = rng.random((8, 4))
    slow = hn.Experts(4, SlowExponential(), hn.Anytime(1.0)).start(3)
    fast = hn.Experts(4, hn.Exponential(), hn.Anytime(1.0)).start(3)
    for row in rows:
        one, two = slow.act(), fast.act()
        assert one.action == two.action
        assert one.probability == pytest.approx(two.probability, rel=1e-7)
        slow.observe(one, row)
        fast.observe(two, row)
    ours, theirs = slow.certificate(), fast.certificate()
    assert ours.regret == pytest.approx(theirs.regret, rel=1e-7)
    assert ours.realised_level == pytest.approx(theirs.realised_level, rel=1e-6)
    for name, term in ours.identity.items():
        assert term == pytest.approx(theirs.identity[name], rel=1e-6, abs=1e-7)


# Clipping


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_clipping_of_golden_values(case):
    q = np.array([float(x) for x in case["q"]])
    expected = np.array([float(x) for x in case["q_tilde"]])
    np.testing.assert_allclose(hn.clip(q, float(case["rho"])), expected, rtol=1e-12, atol=0)


def test_clipping_rejects_large_thresholds_and_keeps_the_largest():
    with pytest.raises(ValueError, match="1/K"):
        hn.clip([0.5, 0.5], 0.6)
    with pytest.raises(ValueError, match="1/K"):
        hn.clip([0.5, 0.5], -0.1)
    with pytest.raises(ValueError, match="sum to 1"):
        hn.clip([0.5, 0.6], 0.1)
    with pytest.raises(ValueError, match="one distribution"):
        hn.clip([[0.5, 0.5]], 0.1)
    # Uniform over 30 experts and 5 actions: q_j = .19999999999999998 < 1/5 in floating point.
    q = np.bincount(np.arange(30) % 5, weights=np.full(30, 1 / 30))
    assert hn.clip(q, 0.2).sum() == pytest.approx(1.0, abs=1e-12)
    assert hn.clip([0.2, 0.2, 0.6], 0.2).tolist() == pytest.approx([0.2, 0.2, 0.6])  # q_j = rho is kept


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=12), st.floats(0.0, 1.0))
def test_clipping_equals_the_definition_of_the_paper(weights, share):
    q = np.array(weights) / np.sum(weights)
    rho = share / q.size
    clipped = hn.clip(q, rho)
    assert clipped.sum() == pytest.approx(1.0, abs=1e-12)
    kept = clipped > 0
    assert kept[np.argmax(q)]
    assert (q[~kept] < rho).all()
    np.testing.assert_allclose(clipped[kept], q[kept] / q[kept].sum(), rtol=1e-12)


# Estimators: against the exact 1/p


def capped_moments(p, cap):
    """Return E and E^2 of min(cap, K), K geometric, by summation."""
    k = np.arange(1, cap + 1)
    law = p * (1 - p) ** (k - 1)
    law[-1] = (1 - p) ** (cap - 1)
    return float((k * law).sum()), float((k**2 * law).sum())


def resampled_weight(drawn, law, cap, rng):
    """Return conditional resampling as published: draws, with the largest of the sigma perturbations swapped into
    place.
    """
    ahead = drawn.losses <= drawn.losses[drawn.action]
    for k in range(1, cap):
        z = law.sample(rng, drawn.losses.size)
        largest = int(np.argmax(np.where(ahead, z, -np.inf)))
        z[drawn.action], z[largest] = z[largest], z[drawn.action]
        if int(np.argmin(drawn.losses - drawn.scale * z)) == drawn.action:
            return float(ahead.sum() * k)
    return float(ahead.sum() * cap)


LOSSES = np.array([0.0, 0.7, 0.7, 2.5])


@pytest.mark.parametrize("action", range(4))
@pytest.mark.parametrize("estimator", [hn.GeometricResampling(7), hn.ConditionalResampling(7)], ids=repr)
def test_resampling_has_the_stated_bias_and_variance(estimator, action):
    """False alarms: two z-tests at 5.2 sigma for each of 8 cases, 16 x 2e-7, about 3e-6 in total."""
    p = hn.FTPL(hn.Exponential(), 1.0).gradient(LOSSES)
    drawn = Drawn(action, p, LOSSES, 1.0)
    sigma = int((LOSSES[action] >= LOSSES).sum()) if isinstance(estimator, hn.ConditionalResampling) else 1
    mean, square = capped_moments(sigma * p[action], 7)
    mean, square = sigma * mean, sigma**2 * square
    assert mean <= 1 / p[action]
    assert mean == pytest.approx((1 - (1 - sigma * p[action]) ** 7) / p[action])
    rng = np.random.default_rng(17)
    samples = np.array([estimator.weight(drawn, rng.random) for _ in range(20_000)])
    z = (samples.mean() - mean) / (samples.std() / math.sqrt(samples.size))
    assert abs(z) < 5.2
    second = samples**2
    assert abs((second.mean() - square) / (second.std() / math.sqrt(samples.size) + 1e-12)) < 5.2
    # The second moment makes N into at most 2N-1 in the variance term: p^2 E weight^2 <= 2 - p.
    assert p[action] ** 2 * square <= 2.0 - p[action] + 1e-12


def test_conditional_resampling_equals_the_published_procedure():
    """A geometric number and the published procedure, which swaps draws, have the same distribution (5.2 sigma, 4
    z-tests).
    """
    p = hn.FTPL(hn.Exponential(), 1.0).gradient(LOSSES)
    rng = np.random.default_rng(23)
    for action in range(4):
        drawn = Drawn(action, p, LOSSES, 1.0)
        naive = np.array([resampled_weight(drawn, hn.Exponential(), 6, rng) for _ in range(4000)])
        sigma = int((LOSSES[action] >= LOSSES).sum())
        mean = sigma * capped_moments(sigma * p[action], 6)[0]
        assert abs(naive.mean() - mean) < 5.2 * naive.std() / math.sqrt(naive.size) + 1e-12


def test_conditional_resampling_has_no_larger_variance_and_fewer_trials():
    p = hn.FTPL(hn.Exponential(), 1.0).gradient(LOSSES)
    sigma = np.array([(x >= LOSSES).sum() for x in LOSSES])
    plain = np.array([capped_moments(q, 4000)[1] for q in p])
    conditional = sigma**2 * np.array([capped_moments(min(s * q, 1.0), 4000)[1] for s, q in zip(sigma, p, strict=True)])
    assert (conditional <= plain * (1 + 1e-9)).all()
    assert (1.0 / sigma).sum() <= sum(1 / k for k in range(1, 5)) < 4


@pytest.mark.parametrize(
    "estimator", [hn.ImportanceWeighted(), hn.GeometricResampling(12), hn.ConditionalResampling(12)], ids=repr
)
def test_compiled_estimators_equal_those_in_python(estimator):
    """Weights of a live player in one state against the exact mean (5.5 sigma, 12 z-tests: under 1e-6)."""
    learner = hn.Bandit(4, hn.Exponential(), hn.Fixed(1.0), estimator)
    player = learner.start(5)
    player._put(LOSSES)
    p = player.distribution()
    np.testing.assert_allclose(p, hn.FTPL(hn.Exponential(), 1.0).gradient(LOSSES), rtol=1e-10)
    drawn = [(move := player.act()).action for _ in range(20_000)]
    assert move.probability == pytest.approx(p[move.action], rel=1e-12)
    weights = np.array([ticket["weight"] for ticket in player.state()["open"]])
    for arm in range(4):
        mine = weights[np.array(drawn) == arm]
        share = mine.size / 20_000
        assert abs(share - p[arm]) < 5.5 * math.sqrt(p[arm] * (1 - p[arm]) / 20_000)
        if isinstance(estimator, hn.ImportanceWeighted):
            np.testing.assert_allclose(mine, 1 / p[arm], rtol=1e-12)
            continue
        sigma = int((LOSSES[arm] >= LOSSES).sum()) if isinstance(estimator, hn.ConditionalResampling) else 1
        mean = sigma * capped_moments(min(1.0, sigma * p[arm]), 12)[0]
        assert abs(mine.mean() - mean) <= 5.5 * mine.std() / math.sqrt(mine.size) + 1e-9
