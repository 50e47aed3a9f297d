"""User-defined regularizers and estimators: validated when a learner is built, and played like those of the package."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.learners.estimators import Drawn, Resampling

LOSSES = np.random.default_rng(0).random((60, 4))


@dataclass(frozen=True)
class Half(hn.Regularizer):
    """Tsallis(1/2), written by a user."""

    gamma, rate, own_rate = 1.5, 0.8559, 2.0

    def value(self, p: Any) -> Any:
        return 2.0 - 2.0 * np.sqrt(p).sum(-1)

    def slope(self, p: Any) -> Any:
        return -(p**-0.5)

    def curvature(self, p: Any) -> Any:
        return 2.0 * p**1.5


@dataclass(frozen=True)
class Shannon(hn.Regularizer):
    """The entropy, written by a user, without a rate."""

    gamma = 1.0

    def value(self, p: Any) -> Any:
        return (p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1)

    def slope(self, p: Any) -> Any:
        return np.log(p)

    def curvature(self, p: Any) -> Any:
        return p


@dataclass(frozen=True)
class Barrier(hn.Regularizer):
    """The log-barrier, written by a user, with its proved rate in D_inf,2 and a rounded one in D_inf."""

    gamma, own_rate, rate = 2.0, 1.0, 0.277

    def value(self, p: Any) -> Any:
        with np.errstate(divide="ignore"):
            return -np.log(p).sum(axis=-1)

    def slope(self, p: Any) -> Any:
        return -1.0 / p

    def curvature(self, p: Any) -> Any:
        return p**2


TWINS = [(Half(), hn.Tsallis(0.5)), (Shannon(), hn.Entropy()), (Barrier(), hn.LogBarrier())]


# Regularizers: the play


@pytest.mark.parametrize(("own", "compiled"), TWINS)
def test_generic_leader_agrees_with_compiled_solver(own: Any, compiled: Any) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        scale, L = 10.0 ** rng.uniform(-1, 2), rng.exponential(10.0 ** rng.uniform(-1, 3), int(rng.integers(2, 30)))
        ours, theirs = hn.FTRL(own, scale), hn.FTRL(compiled, scale)
        assert ours.gradient(L) == pytest.approx(theirs.gradient(L), rel=1e-12, abs=1e-290)
        assert ours.value(L) == pytest.approx(theirs.value(L), rel=1e-9, abs=1e-9)


def test_leader_falls_back_to_bisection() -> None:
    class Stumbling(Half):
        """Has no curvature once, which ends the first attempt of Newton's method."""

        left = 0

        def curvature(self, p: Any) -> Any:
            type(self).left -= 1
            return super().curvature(p) * (math.nan if self.left == 0 else 1.0)

    L, phi = np.array([0.0, 1.0, 30.0]), hn.FTRL(Stumbling(), 2.0)
    Stumbling.left = 3
    assert phi.gradient(L) == pytest.approx(hn.FTRL(hn.Tsallis(0.5), 2.0).gradient(L), rel=1e-12)
    assert Stumbling.left < 0


@pytest.mark.parametrize("cls", [hn.Bandit, hn.Experts])
@pytest.mark.parametrize(("own", "compiled"), TWINS)
def test_user_defined_regularizer_plays_like_its_compiled_twin(cls: Any, own: Any, compiled: Any) -> None:
    ours, theirs = (
        hn.play(cls(4, r, hn.Fixed(5.0)), LOSSES, runs=3, seed=2, threads=2).mean_regret for r in (own, compiled)
    )
    assert ours == pytest.approx(theirs, rel=1e-9)
    player, twin = (cls(4, r, hn.Fixed(5.0)).start(seed=1) for r in (own, compiled))
    late: list[Any] = []
    for t, row in enumerate(LOSSES):
        late.append((player.act(), twin.act(), row))
        assert late[-1][0].action == late[-1][1].action
        while t % 3 == 2 and late:
            mine, his, seen = late.pop()
            player.observe(mine, seen if cls is hn.Experts else seen[mine.action])
            twin.observe(his, seen if cls is hn.Experts else seen[his.action])
    assert player.distribution() == pytest.approx(twin.distribution(), rel=1e-9)
    assert player.certificate().rounds == 60


# Regularizers: bounds


def test_bound_marks_stated_rates_as_assumed() -> None:
    bound = hn.Bandit(4, Half(), hn.Anytime()).bound(1000)
    assert bound.condition.startswith("assumed, not verified: Half")
    assert "0.8559" in bound.condition
    stability = hn.FTRL(Half(), 2.0).stability(3)
    assert "assumed, not verified" in stability.source
    assert not stability.exact
    # 2 sqrt(G v T): the range is 2 (sqrt(4) - 1), the variance the smaller of 4 h and 2 sqrt(4).
    assert bound.value == pytest.approx(2.0 * math.sqrt(2.0 * 4 * 0.8559 * 1000), rel=1e-9)
    assert hn.Bandit(4, hn.Tsallis(0.5), hn.Anytime()).bound(1000).condition == ""


def test_bound_is_withheld_without_a_rate_or_a_finite_range() -> None:
    with pytest.raises(hn.Withheld, match="Shannon must state its rate"):
        hn.Bandit(4, Shannon(), hn.Fixed(5.0)).bound(100)
    with pytest.raises(ValueError, match=r"Horizon.*Shannon must state its rate"):
        hn.Bandit(4, Shannon(), hn.Horizon(100))
    with pytest.raises(hn.Withheld, match=r"Barrier\(\).*infinite"):
        hn.Bandit(4, Barrier(), hn.Fixed(5.0)).bound(100)
    player = hn.Bandit(4, Shannon(), hn.Fixed(5.0)).start(seed=0)
    player.observe(player.act(), 0.5)
    assert player.certificate().bound is None


def test_rate_in_the_max_divergence_implies_no_other_rate() -> None:
    @dataclass(frozen=True)
    class OneRate(Barrier):
        own_rate = hn.Regularizer.own_rate

    assert OneRate().own_rate == math.inf
    assert hn.FTRL(OneRate(), 2.0).stability(3).level == math.inf


# Regularizers: validation


class Empty(hn.Regularizer):
    """Defines nothing."""


class OnlyValue(hn.Regularizer):
    """Defines one member of four."""

    def value(self, p: Any) -> Any:
        return p.sum(axis=-1)


@pytest.mark.parametrize(
    ("cls", "missing", "present"),
    [(Empty, ["gamma", "value", "slope", "curvature"], []), (OnlyValue, ["gamma", "slope", "curvature"], ["value"]),
     (hn.Regularizer, ["gamma", "value", "slope", "curvature"], [])],
)  # fmt: skip
def test_construction_rejects_incomplete_regularizer(cls: Any, missing: list[str], present: list[str]) -> None:
    with pytest.raises(TypeError, match=rf"{cls.__name__}.*must define") as found:
        cls()
    assert all(f"no {name}" in str(found.value) for name in missing)
    assert not any(f"no {name}" in str(found.value) for name in present)


class LowRate(Half):
    rate = 0.85


class LowOwnRate(Half):
    own_rate = 1.99


class WrongCurvature(Half):
    def curvature(self, p: Any) -> Any:
        return 2.01 * p**1.5


class WrongValue(Half):
    def value(self, p: Any) -> Any:
        return -np.sqrt(p).sum(-1)


class WrongShape(Half):
    def value(self, p: Any) -> Any:
        return 2.0 - 2.0 * np.sqrt(p).sum()


class Euclidean(hn.Regularizer):
    """Its leader leaves the interior."""

    gamma = 1.0

    def value(self, p: Any) -> Any:
        return (p**2).sum(-1) / 2.0

    def slope(self, p: Any) -> Any:
        return p

    def curvature(self, p: Any) -> Any:
        return np.ones_like(p)


class OwnRange(Half):
    def range_constant(self, n: int, rounds: int | None = None) -> float:
        return 0.0


USES = [
    lambda r: hn.FTRL(r, 1.0),
    lambda r: hn.Experts(3, r, hn.Fixed(2.0)),
    lambda r: hn.Bandit(3, r, hn.Fixed(2.0)),
    lambda r: hn.Bandit(3, r),
    lambda r: hn.ExpertBandit(3, 4, r, hn.Fixed(2.0)),
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("cls", "match"),
    [(LowRate, r"rate of LowRate.*0\.8558.*got 0\.85"), (LowOwnRate, r"own_rate of LowOwnRate.*is 2 .*got 1\.99"),
     (WrongCurvature, r"curvature.*WrongCurvature.*inverse derivative"), (WrongValue, r"slope.*WrongValue.*value"),
     (WrongShape, r"value.*WrongShape.*last axis"), (Euclidean, r"slope.*Euclidean.*-inf"),
     (OwnRange, r"OwnRange must not define range_constant")],
)  # fmt: skip
def test_learners_reject_contradicting_regularizer(cls: Any, match: str, use: Any) -> None:
    with pytest.raises(ValueError, match=match):
        use(cls())


def test_control_a_sound_regularizer_is_accepted() -> None:
    for use in USES:
        use(Half())


class Borrowed(Half):
    """Uses the solver of the entropy, whatever its value is."""

    kernel = "entropy"


class Overriding(hn.Entropy):
    """Overrides a member whose compiled form is that of the parent."""

    def value(self, p: Any) -> Any:
        return 2.0 * super().value(p)


class Renamed(hn.Entropy):
    """Control: adds nothing, so the parent's solver is right."""


@pytest.mark.parametrize("make", [Borrowed, Overriding])
@pytest.mark.parametrize("use", USES)
def test_learners_reject_overridden_compiled_regularizer(make: Any, use: Any) -> None:
    with pytest.raises(ValueError, match=rf"(smoothing|regularizer) must not override.*{make.__name__}\(\).*value"):
        use(make())


@dataclass(frozen=True)
class Narrow(hn.Laplace):
    """Overrides the density and the cdf of a law whose compiled form is that of the parent."""

    def density(self, z: Any) -> Any:
        return 2.0 * super().density(2.0 * np.asarray(z))

    def cdf(self, z: Any) -> Any:
        return super().cdf(2.0 * np.asarray(z))


class OwnHazard(hn.Exponential):
    hazard = 0.5


class Kernel(hn.Law):
    """Names a compiled law, whatever its own density is."""

    kernel = "exponential"

    def density(self, z: Any) -> Any:
        return np.where(np.abs(np.asarray(z)) < 0.5, 1.0, 0.0)

    def cdf(self, z: Any) -> Any:
        return np.clip(np.asarray(z) + 0.5, 0.0, 1.0)


class RenamedLaw(hn.Laplace):
    """Control: adds nothing, so the parent's compiled law is right."""


class Tabulated(hn.Law):
    """Control: the density and the cdf of `Narrow`, without a compiled parent."""

    def density(self, z: Any) -> Any:
        return Narrow().density(z)

    def cdf(self, z: Any) -> Any:
        return Narrow().cdf(z)


LAW_USES = [
    lambda law: hn.FTPL(law, 1.0),
    lambda law: hn.Experts(3, law, hn.Fixed(2.0)),
    lambda law: hn.Bandit(3, law, hn.Fixed(2.0)),
    lambda law: hn.ExpertBandit(3, 4, law, hn.Fixed(2.0)),
]


@pytest.mark.parametrize(("make", "member"), [(Narrow, "density, cdf"), (OwnHazard, "hazard"), (Kernel, "kernel")])
@pytest.mark.parametrize("use", LAW_USES)
def test_learners_reject_overridden_compiled_law(make: Any, member: str, use: Any) -> None:
    with pytest.raises(ValueError, match=rf"(smoothing|law) must not override.*{make.__name__}.*{member}.*hn\.Law"):
        use(make())


@pytest.mark.parametrize("use", LAW_USES)
def test_control_sound_laws_are_accepted(use: Any) -> None:
    use(RenamedLaw())
    use(Tabulated())


def test_control_the_overridden_density_would_not_be_played() -> None:
    """The compiled parent plays another distribution than the density of the subclass."""
    ours, parent = (hn.FTPL(law, 1.0).gradient([0.0, 1.0]) for law in (Tabulated(), RenamedLaw()))
    assert abs(ours[0] - parent[0]) > 0.05
    assert abs(ours[0] - hn.FTPL(hn.Laplace(), 0.5).gradient([0.0, 1.0])[0]) < 1e-6


def test_plain_subclass_plays_its_parent() -> None:
    assert copy.deepcopy(hn.Tsallis(0.25)) == hn.Tsallis(0.25)
    ours, theirs = (hn.play(hn.Experts(4, r, hn.Fixed(2.0)), LOSSES) for r in (Renamed(), hn.Entropy()))
    assert np.array_equal(ours.regret, theirs.regret)


# Estimators


@dataclass(frozen=True)
class Exact(hn.Estimator):
    """The importance-weighted estimate, written by a user."""

    def weight(self, drawn: Drawn, uniform: Any) -> float:
        return 1.0 / drawn.probability


@dataclass(frozen=True)
class Reduced(Exact):
    """Reduced variance, written by a user."""

    def baselines(self, drawn: Drawn) -> Any:
        return np.where(drawn.distribution >= 4.0 / drawn.scale**2, 0.5, 0.0)


@dataclass(frozen=True)
class Redrawn(hn.Estimator):
    """Geometric resampling, written by a user."""

    cap: int = 20
    draws = True

    def weight(self, drawn: Drawn, uniform: Any) -> float:
        return hn.GeometricResampling(self.cap).weight(drawn, uniform)


ESTIMATORS = [
    (Exact(), hn.ImportanceWeighted()), (Reduced(), hn.ReducedVariance()), (Redrawn(), hn.GeometricResampling(20)),
]  # fmt: skip
SMOOTHINGS = [hn.Entropy(), hn.Tsallis(0.5), hn.Tsallis(0.3), hn.LogBarrier(), hn.Exponential(), hn.Frechet(3.0)]


@pytest.mark.parametrize("tuning", [hn.Fixed(8.0), hn.Anytime(1.0)], ids=repr)
@pytest.mark.parametrize("smoothing", [*SMOOTHINGS, Half()], ids=repr)
@pytest.mark.parametrize(("own", "compiled"), ESTIMATORS, ids=repr)
def test_user_defined_estimator_plays_like_its_twin(own: Any, compiled: Any, smoothing: Any, tuning: Any) -> None:
    tuning = hn.Fixed(8.0) if smoothing == hn.LogBarrier() else tuning
    learners = [hn.Bandit(4, smoothing, tuning, e) for e in (own, compiled)]
    ours, theirs = (hn.play(learner, LOSSES, runs=3, seed=3).mean_regret for learner in learners)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    player, twin = (learner.start(seed=1) for learner in learners)
    late: list[Any] = []
    for t, row in enumerate(LOSSES):
        late.append((player.act(), twin.act(), row))
        assert late[-1][0].action == late[-1][1].action
        while t % 4 == 3 and late:
            mine, his, seen = late.pop(0)
            player.observe(mine, seen[mine.action])
            twin.observe(his, seen[his.action])
    assert player.distribution() == pytest.approx(twin.distribution(), rel=1e-9)


def test_no_claim_is_made_for_a_user_defined_estimator() -> None:
    learner = hn.Bandit(4, estimator=Exact())
    with pytest.raises(hn.Withheld, match=r"Exact\(\) has no proved bound"):
        learner.bound(100)
    player = learner.start(seed=0)
    player.observe(player.act(), 0.5)
    told = player.certificate()
    assert told.bound is None
    assert told.regret is None  # nothing is known about the mean of the estimates


def test_player_with_user_defined_parts_is_saved_with_pending_moves(tmp_path: Any) -> None:
    for cls in (Half, Reduced):
        hn.register(cls)
    player = hn.Bandit(4, Half(), hn.Fixed(2.0), Reduced()).start(seed=4)
    moves = [player.act() for _ in range(3)]
    player.observe(moves[1], 0.25)
    player.save(tmp_path / "player")
    again = hn.load(tmp_path / "player")
    for one in (player, again):
        for move in (moves[0], moves[2]):
            one.observe(move, 0.75)
    assert np.array_equal(player.distribution(), again.distribution())


@pytest.mark.parametrize("learner", [hn.Bandit(4, Half(), hn.Fixed(2.0)), hn.Bandit(4, estimator=Exact())], ids=repr)
def test_fleet_and_store_reject_user_defined_parts(learner: Any, tmp_path: Any) -> None:
    with pytest.raises(ValueError, match=r"compiled.*Bandit\(4.*user-defined"):
        hn.Fleet(learner)
    hn.register(Half)
    hn.register(Exact)
    with hn.Store(tmp_path / "store") as store, pytest.raises(ValueError, match=r"compiled.*user-defined"):
        store.add("own", learner)


class NoWeight(hn.Estimator):
    """Defines nothing."""


class Negative(Exact):
    def weight(self, drawn: Drawn, uniform: Any) -> float:
        return -1.0


class Secretly(Exact):
    """Draws without stating it."""

    def weight(self, drawn: Drawn, uniform: Any) -> float:
        return 1.0 + float(uniform())


class Short(Exact):
    def baselines(self, drawn: Drawn) -> Any:
        return np.zeros(2)


class Proved(Exact):
    weights = "exact"


class Doubled(hn.ImportanceWeighted):
    """Overrides a weight whose compiled form is that of the parent."""

    def weight(self, drawn: Drawn, uniform: Any) -> float:
        return 2.0 / drawn.probability


class Plain(hn.ImportanceWeighted):
    """Control: adds nothing."""


@pytest.mark.parametrize("make", [NoWeight, hn.Estimator, lambda: Resampling(5)])
def test_construction_rejects_incomplete_estimator(make: Any) -> None:
    with pytest.raises(TypeError, match=r"must define weight.*got no weight"):
        make()


@pytest.mark.parametrize(
    ("cls", "match"),
    [(Negative, r"weight.*Negative.*got -1\.0"), (Secretly, "draws = True"), (Short, r"baselines.*Short.*4 finite"),
     (Proved, r"Proved\(\).*weights"), (Doubled, r"must not override.*Doubled\(\).*weight")],
)  # fmt: skip
def test_bandit_rejects_unsound_estimator(cls: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        hn.Bandit(4, estimator=cls())


@dataclass(frozen=True)
class Sometimes(Exact):
    """Fails once arm 3 is unlikely."""

    def weight(self, drawn: Drawn, uniform: Any) -> float:
        if drawn.distribution[3] < 0.1:
            raise ArithmeticError("unlikely")
        return super().weight(drawn, uniform)


def test_failed_estimator_raises_its_error_and_changes_nothing() -> None:
    learner = hn.Bandit(4, hn.Entropy(), hn.Fixed(2.0), Sometimes())
    with pytest.raises(ArithmeticError, match="unlikely"):
        hn.play(learner, np.tile([0.0, 0.0, 0.0, 1.0], (200, 1)), seed=0)
    player = learner.start(seed=0)
    while player.distribution()[3] >= 0.1:
        move = player.act()
        player.observe(move, float(move.action == 3))
    drawn, p = player.certificate().rounds, player.distribution()
    with pytest.raises(ArithmeticError, match="unlikely"):
        player.act()
    assert player.certificate().rounds == drawn
    assert np.array_equal(player.distribution(), p)


def test_estimator_of_the_package_plays() -> None:
    ours, theirs = (hn.play(hn.Bandit(4, estimator=e), LOSSES) for e in (Plain(), hn.ImportanceWeighted()))
    assert np.array_equal(ours.regret, theirs.regret)
    with pytest.raises(ValueError, match=r"estimator must be an estimator.*'exact'"):
        hn.Bandit(3, estimator="exact")  # type: ignore[arg-type]
