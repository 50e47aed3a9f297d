"""The sampling audit: never above the true level, close to it with enough draws, and consistent with exact audits."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rejections import rejected

from hannan.audits.audit import audit
from hannan.audits.sampling import audit_by_sampling, clopper_pearson
from hannan.learners.experts import Experts
from hannan.learners.tuning import Fixed
from hannan.mathematics.divergences import max_divergence
from hannan.mathematics.laws.light import Exponential, Gumbel, Laplace
from hannan.mathematics.potentials import FTPL, FTRL, Potential
from hannan.mathematics.regularizers import Tsallis
from hannan.validation import Array

#: A lower bound is above the true level with probability at most 1e-6 per test: this is the false-alarm rate.
SURE = 1.0 - 1e-6


def play_of(phi: Potential) -> Callable[[Array, np.random.Generator], int]:
    known: dict[bytes, Array] = {}

    def play(losses: Array, rng: np.random.Generator) -> int:
        L = losses.sum(axis=0)
        edges = known.setdefault(L.tobytes(), np.cumsum(phi.gradient(L)))
        return min(int(np.searchsorted(edges, rng.random() * edges[-1], side="right")), len(edges) - 1)

    return play


@pytest.mark.parametrize(
    "phi",
    [FTPL(Exponential(), 1.0), FTPL(Gumbel(), 0.7), FTPL(Laplace(), 1.0), FTRL(Tsallis(0.5), 0.5)],
    ids=lambda phi: repr(phi),
)
def test_sampling_audit_agrees_with_the_exact_audit(phi: Potential) -> None:
    exact = audit(phi, 3, gamma=1.0)
    found = audit_by_sampling(play_of(phi), 3, level=exact.measured, samples=24_000, confidence=SURE)
    assert found.lower <= exact.measured
    assert found.lower > 0.5 * exact.measured
    assert found.verdict == f"not refuted in {found.trials} trials"
    exceeded = audit_by_sampling(play_of(phi), 3, level=0.2 * exact.measured, samples=4000, confidence=SURE)
    assert exceeded.verdict == "not stable at the level claimed"


def _two(before: Array, after: Array) -> Callable[[Array, np.random.Generator], int]:
    """A learner that plays one distribution before any loss and another one afterwards."""

    def play(losses: Array, rng: np.random.Generator) -> int:
        return int(rng.choice(len(before), p=after if len(losses) else before))

    return play


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.05])
def test_sampling_audit_agrees_with_privacy_loss_distributions(delta: float) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    before, after = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.25, 0.35, 0.2, 0.2])
    logs = [{i: math.log(p) for i, p in enumerate(law)} for law in (after, before)]
    # The privacy loss of `before` over `after`; dp-accounting takes the lower distribution first.
    loss = pld.from_two_probability_mass_functions(*logs, value_discretization_interval=1e-5)
    epsilon = float(loss.get_epsilon_for_delta(delta))
    assert epsilon == pytest.approx(float(max_divergence(before, after, delta)), abs=1e-4)
    found = audit_by_sampling(_two(before, after), 4, delta=delta, samples=20_000, confidence=SURE, rounds=0)
    assert found.lower <= epsilon
    assert found.lower > epsilon - 0.3


def test_constant_distribution_is_never_refuted() -> None:
    still = np.full(3, 1.0 / 3.0)
    # 20 audits, each wrong with probability at most 1e-7.
    for seed in range(20):
        found = audit_by_sampling(
            _two(still, still), 3, level=0.0, samples=400, confidence=1.0 - 1e-7, rounds=1, seed=seed
        )
        assert (found.lower, found.verdict) == (0.0, f"not refuted in {found.trials} trials")


class Grudge:
    """Plays uniformly, but never plays `arm` again after it has lost in a round later than `after`."""

    def __init__(self, arm: int, after: int, seed: int = 0) -> None:
        self.arm, self.after, self.rng, self.round, self.banned = arm, after, np.random.default_rng(seed), 0, False

    def act(self) -> int:
        return int(self.rng.choice([i for i in range(3) if not (self.banned and i == self.arm)]))

    def observe(self, losses: Array) -> None:
        self.round += 1
        self.banned = self.banned or (self.round > self.after and losses[self.arm] > 0.0)


@pytest.mark.parametrize(("arm", "after"), [(0, 0), (1, 0), (2, 10), (0, 25), (1, 25)])
def test_every_arm_and_several_rounds_are_perturbed(arm: int, after: int) -> None:
    found = audit_by_sampling(lambda seed: Grudge(arm, after, seed), 3, level=1.0, samples=16_000, confidence=SURE)
    assert found.broken
    assert found.witness[1].argmax() == arm
    assert len(found.witness[0]) >= after


def test_control_stable_learner_is_not_refuted() -> None:
    found = audit_by_sampling(lambda seed: Grudge(1, 10**9, seed), 3, level=1.0, samples=8000, confidence=SURE)
    assert (found.broken, found.verdict) == (False, f"not refuted in {found.trials} trials")
    assert found.trials == 57
    assert re.search(r"3 arms.*0, 1, 2, 4, 8, 16 or 32 rounds", " ".join(str(found).split()))


def test_random_arms_are_tried_if_samples_are_few() -> None:
    found = audit_by_sampling(lambda losses, rng: int(rng.integers(500)), 500, level=1.0, samples=2000, rounds=4)
    assert found.trials <= 24
    assert "of one of 24 arms (of 500) after 0 rounds" in found.tried


@pytest.mark.parametrize(("trials", "p"), [(20, 0.3), (50, 0.02), (7, 0.9)])
def test_clopper_pearson_covers(trials: int, p: float) -> None:
    from scipy.stats import binom

    k = np.arange(trials + 1)
    chance = binom.pmf(k, trials, p)
    limits = [clopper_pearson(int(i), trials, 0.95) for i in k]
    assert chance[[low > p for low, _ in limits]].sum() <= 0.05 + 1e-12
    assert chance[[high < p for _, high in limits]].sum() <= 0.05 + 1e-12
    assert clopper_pearson(0, trials, 0.95)[0] == 0.0
    assert clopper_pearson(trials, trials, 0.95)[1] == 1.0


class Hedge:
    """User-defined learner with a generator."""

    def __init__(self, seed: int = 0) -> None:
        self.rng, self.L = np.random.default_rng(seed), np.zeros(3)

    def act(self) -> int:
        w = np.exp(-2.0 * self.L)
        return int(self.rng.choice(3, p=w / w.sum()))

    def observe(self, losses: Array) -> None:
        self.L = self.L + losses


class Ticketed(Hedge):
    """User-defined learner whose `observe` takes the move, with a generator of Python."""

    def __init__(self) -> None:
        super().__init__()
        self.coin = random.Random(1)

    def act(self) -> int:
        w = np.exp(-2.0 * self.L)
        return self.coin.choices(range(3), w.tolist())[0]

    def observe(self, move: int, losses: Array) -> None:  # type: ignore[override]
        assert move in range(3)
        self.L = self.L + losses


@pytest.mark.parametrize(
    "subject",
    [Hedge, Hedge(), Ticketed, Ticketed(), lambda seed: Hedge(seed), Experts(3, Gumbel(), Fixed(0.5))],
    ids=["class", "object", "ticketed class", "ticketed object", "factory", "learner"],
)
def test_every_kind_of_user_defined_learner_is_audited(subject: Any) -> None:
    found = audit_by_sampling(subject, 3, level=2.0, samples=3000, confidence=SURE, rounds=2)
    assert 0.3 < found.lower <= 2.0
    assert found.verdict == f"not refuted in {found.trials} trials"


def test_equal_seeds_give_equal_sampled_findings() -> None:
    first, second = (audit_by_sampling(Hedge, 3, samples=1000, rounds=1, seed=5) for _ in range(2))
    assert (first.lower, first.estimate) == (second.lower, second.estimate)
    assert first.verdict == "measured"


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (3, ("learner", "function", 3)),
        (lambda losses, rng: 7, ("action", 7)),
        (lambda: object(), ("act", "observe", "object")),
    ],
)
def test_objects_that_are_not_learners_are_rejected(subject: Any, words: tuple[object, ...]) -> None:
    rejected(lambda: audit_by_sampling(subject, 3, samples=100), *words)


@pytest.mark.parametrize(
    "wrong", [{"delta": 1.0}, {"confidence": 1.0}, {"level": -1.0}, {"samples": 10}, {"rounds": -1}, {"n": 1}]
)
def test_invalid_arguments_are_rejected(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"n": 3, **wrong}
    (name,) = wrong
    rejected(lambda: audit_by_sampling(Hedge, given.pop("n"), **given), name, wrong[name])


def test_a_learner_cannot_change_the_history() -> None:
    def writing(losses: Array, rng: np.random.Generator) -> int:
        losses[:] = 9.0
        return int(rng.integers(3))

    found = audit_by_sampling(writing, 3, samples=400, rounds=2)
    assert set(np.unique(found.witness[0])) <= {0.0, 1.0}


def test_a_large_delta_is_subtracted_from_sets_of_arms() -> None:
    """D_inf^delta of two distributions at delta = 0.3 is log((0.6 - 0.3)/0.2), attained at a set of two arms.

    One arm alone proves no instability. The lower bound exceeds the true level with probability 1e-6. Control:
    without delta the ratio is 3, far above.
    """
    before, after = np.array([0.3, 0.2, 0.3, 0.2]), np.array([0.1, 0.4, 0.1, 0.4])
    truth = math.log(1.5)
    assert float(max_divergence(before, after, 0.3)) == pytest.approx(truth, rel=1e-12)
    options: dict[str, Any] = {"samples": 24_000, "confidence": SURE, "rounds": 0}
    found = audit(_two(before, after), 4, delta=0.3, level=truth, **options)
    assert 0.15 < found.lower <= truth
    # 6000 fresh draws for each of two shares: six standard deviations of the logarithm are below 0.21.
    assert found.estimate == pytest.approx(truth, abs=0.21)
    assert found.verdict == f"not refuted in {found.trials} trials"
    assert sorted(found.witness[2]) == [0, 2]
    pure = audit(_two(before, after), 4, level=truth, **options)
    assert (pure.verdict, pure.lower > 0.7) == ("not stable at the level claimed", True)
