"""User-defined regularizers and estimators: rejected with the members that are missing, before anything is played."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.learners.estimators import Drawn, Estimator, Resampling


class Empty(hn.Regularizer):
    """Defines nothing."""


class OnlyValue(hn.Regularizer):
    """Defines one member of three."""

    def value(self, p: Any) -> Any:
        return p.sum(axis=-1)


@dataclass(frozen=True)
class Complete(hn.Regularizer):
    """The entropy, written by a user."""

    gamma = 1.0

    def value(self, p: Any) -> Any:
        return (p * np.log(p)).sum(axis=-1)

    def curvature(self, p: Any) -> Any:
        return p


class Borrowed(Complete):
    """Uses the solver of the entropy, whatever its value is."""

    kernel = "entropy"


class Overriding(hn.Entropy):
    """Overrides a member whose compiled form is that of the parent."""

    def value(self, p: Any) -> Any:
        return 2.0 * super().value(p)


class Renamed(hn.Entropy):
    """Control: adds nothing, so the parent's solver is right."""


@pytest.mark.parametrize(
    ("cls", "missing", "present"),
    [(Empty, ["gamma", "value", "curvature"], []), (OnlyValue, ["gamma", "curvature"], ["value"]),
     (hn.Regularizer, ["gamma", "value", "curvature"], [])],
)  # fmt: skip
def test_construction_rejects_incomplete_regularizer(cls: Any, missing: list[str], present: list[str]) -> None:
    with pytest.raises(TypeError, match=rf"{cls.__name__}.*must define.*hn\.Law") as found:
        cls()
    assert all(f"no {name}" in str(found.value) for name in missing)
    assert not any(f"no {name}" in str(found.value) for name in present)


@pytest.mark.parametrize("make", [Complete, Borrowed, Overriding])
@pytest.mark.parametrize(
    "use",
    [lambda r: hn.FTRL(r, 1.0), lambda r: hn.Experts(3, r, hn.Fixed(2.0)), lambda r: hn.Bandit(3, r, hn.Fixed(2.0)),
     lambda r: hn.Bandit(3, r), lambda r: hn.ExpertBandit(3, 4, r, hn.Fixed(2.0))],
)  # fmt: skip
def test_learners_reject_complete_regularizer_without_solver(make: Any, use: Any) -> None:
    with pytest.raises(ValueError, match=rf"(smoothing|regularizer) must have a solver.*{make.__name__}\(\).*value"):
        use(make())


def test_complete_regularizer_can_be_evaluated_and_a_plain_subclass_plays() -> None:
    assert Complete().value(np.full(2, 0.5)) == pytest.approx(-np.log(2.0), abs=1e-15)
    assert copy.copy(Complete()) == Complete()
    assert copy.deepcopy(hn.Tsallis(0.25)) == hn.Tsallis(0.25)
    losses = np.random.default_rng(0).random((50, 3))
    ours, theirs = (hn.play(hn.Experts(3, r, hn.Fixed(2.0)), losses) for r in (Renamed(), hn.Entropy()))
    assert np.array_equal(ours.regret, theirs.regret)


class NoWeight(Estimator):
    """Defines nothing."""


class OwnWeight(Estimator):
    """The importance-weighted estimate, written by a user."""

    def weight(self, drawn: Drawn, uniform: Any) -> float:
        return 1.0 / drawn.probability


class Doubled(hn.ImportanceWeighted):
    """Overrides a weight whose compiled form is that of the parent."""

    def weight(self, drawn: Drawn, uniform: Any) -> float:
        return 2.0 / drawn.probability


class Plain(hn.ImportanceWeighted):
    """Control: adds nothing."""


@pytest.mark.parametrize("make", [NoWeight, Estimator, lambda: Resampling(5)])
def test_construction_rejects_incomplete_estimator(make: Any) -> None:
    with pytest.raises(TypeError, match=r"must define weight.*got no weight.*hn\.Bandit takes"):
        make()


@pytest.mark.parametrize("make", [OwnWeight, Doubled])
def test_bandit_rejects_complete_estimator_that_the_engine_lacks(make: Any) -> None:
    with pytest.raises(ValueError, match=rf"estimator must be.*{make.__name__}\(\).*weight"):
        hn.Bandit(3, estimator=make())


def test_estimator_of_the_package_plays() -> None:
    losses = np.random.default_rng(0).random((50, 3))
    ours, theirs = (hn.play(hn.Bandit(3, estimator=e), losses) for e in (Plain(), hn.ImportanceWeighted()))
    assert np.array_equal(ours.regret, theirs.regret)
    with pytest.raises(ValueError, match=r"estimator must be an estimator.*'exact'"):
        hn.Bandit(3, estimator="exact")  # type: ignore[arg-type]
