"""Every law of the package, and two user-defined laws, satisfy the public contract."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from rejections import rejected

import hannan as hn
from hannan.checks.laws import CHECKS


@dataclass(frozen=True)
class Logit(hn.Law):
    """User-defined law with a proved hazard."""

    hazard = 1.0
    log_concave = True

    def density(self, z: Any) -> Any:
        with np.errstate(over="ignore"):
            return 0.25 / np.cosh(np.asarray(z) / 2) ** 2

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)


@dataclass(frozen=True)
class Student(hn.Law):
    """Student's t distribution with two degrees of freedom: density and cdf only."""

    def density(self, z: Any) -> Any:
        with np.errstate(over="ignore"):
            return (2.0 + np.asarray(z) ** 2) ** -1.5

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.sin(np.arctan(np.asarray(z) / math.sqrt(2.0)))


LAWS = [
    hn.Exponential(), hn.Gamma(0.3), hn.Gamma(2.5), hn.Gumbel(), hn.Weibull(0.2), hn.Weibull(3.0),
    hn.Weibull(0.6, conditioned=True), hn.Weibull(2.0, conditioned=True), hn.Frechet(0.9), hn.Frechet(20.0),
    hn.Pareto(1.0), hn.Pareto(1.05), hn.Pareto(30.0), hn.Laplace(), hn.Gaussian(), Logit(), Student(),
]  # fmt: skip


def excused(law: hn.Law) -> set[str]:
    """Checks that do not apply to a law."""
    names = set()
    if math.isinf(law.mean):
        names.add("mean_matches_the_density")
    if not law.log_concave:
        names.add("log_concavity_is_true")
    if isinstance(law, Logit | Student):
        names.add("json_round_trip_restores_the_object")
    if isinstance(law, Student):
        names.add("hazard_is_an_upper_bound")
    return names


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_contract(law: hn.Law) -> None:
    report = hn.checks.check_law(law)
    assert set(report.skipped) == excused(law), report
    assert len(report.passed) + len(report.skipped) == len(CHECKS)


def test_no_exported_law_is_missing() -> None:
    exported = {
        value for name in hn.__all__ if inspect.isclass(value := getattr(hn, name)) and issubclass(value, hn.Law)
    }
    assert exported - {hn.Law} <= {type(law) for law in LAWS}


def test_objects_that_are_not_laws_are_rejected() -> None:
    rejected(lambda: hn.checks.check_law(3), "law", 3)
