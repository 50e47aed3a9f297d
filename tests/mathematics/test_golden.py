"""The golden file: 32-digit values of plays, potentials, Hessians, divergences, constants and levels.

Tolerances: p relative 1e-10 from 1e-12 on and 1e-6 below, down to 1e-80; Hessian diagonal relative 1e-8; values and
constants 1e-9; divergences 1e-10. A golden potential may be a rounding error around 0, so values have an absolute
tolerance as well.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn

CASES: list[dict[str, Any]] = json.loads(Path(__file__).parents[1].joinpath("oracles", "golden.json").read_text())[
    "cases"
]


def of(*families: str, having: str = "id") -> Any:
    chosen = [case for case in CASES if case["family"] in families and having in case]
    assert chosen
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def law_of(dist: dict[str, str]) -> hn.Law:
    name = dist["name"]
    parameters = {"gamma": "alpha", "weibull": "k", "frechet": "alpha", "pareto": "alpha"}
    if name in parameters:
        return getattr(hn, name.capitalize())(float(dist[parameters[name]]))
    return getattr(hn, name.capitalize())()


def potential_of(case: dict[str, Any]) -> hn.Potential:
    scale = float(case["eta"])
    if case["family"] == "ftpl":
        return hn.FTPL(law_of(case["dist"]), scale)
    regularizer = case["regularizer"]
    kinds = {"entropy": hn.Entropy, "logbarrier": hn.LogBarrier}
    if regularizer["name"] == "tsallis":
        return hn.FTRL(hn.Tsallis(float(regularizer["alpha"])), scale)
    return hn.FTRL(kinds[regularizer["name"]](), scale)


def numbers(strings: list[str]) -> Any:
    return np.array([float(x) for x in strings])


@of("ftpl", "ftrl")
def test_distributions_equal_the_golden_values(case: dict[str, Any]) -> None:
    p, golden = potential_of(case).gradient(numbers(case["L"])), numbers(case["p"])
    assert abs(p.sum() - 1.0) <= 1e-12
    error = np.abs(p / golden - 1.0)
    assert error[golden >= 1e-12].max() <= 1e-10
    deep = (golden < 1e-12) & (golden >= 1e-80)
    assert not deep.any() or error[deep].max() <= 1e-6


@of("ftpl", "ftrl", having="potential")
def test_values_equal_the_golden_values(case: dict[str, Any]) -> None:
    golden = float(case["potential"])
    assert abs(potential_of(case).value(numbers(case["L"])) - golden) <= 1e-9 * abs(golden) + 1e-12


@of("ftpl", "ftrl", having="neg_hess_diag")
def test_hessian_diagonals_equal_the_golden_values(case: dict[str, Any]) -> None:
    golden = numbers(case["neg_hess_diag"])
    found = -np.diagonal(potential_of(case).hessian(numbers(case["L"])))
    np.testing.assert_allclose(found, golden, rtol=1e-8, atol=1e-300)


@of("divergence")
def test_divergences_equal_the_golden_values(case: dict[str, Any]) -> None:
    P, Q, golden = numbers(case["P"]), numbers(case["Q"]), float(case["value"])
    if case["kind"] == "tsallis_max":
        found = hn.tsallis_divergence(P, Q, float(case["gamma"]))
    else:
        found = hn.max_divergence(P, Q, float(case["delta"]))
    assert found == golden or abs(found - golden) <= 1e-10 * max(1.0, abs(golden))


@of("constants")
def test_constants_equal_the_golden_values(case: dict[str, Any]) -> None:
    law, n = law_of(case["dist"]), int(case["N"])
    assert law.mean == pytest.approx(float(case["mean"]), rel=1e-9, abs=1e-15)
    assert law.expected_max(n) == pytest.approx(float(case["e_max"]), rel=1e-9)
    assert law.hazard == pytest.approx(float(case["sup_hazard"]), rel=1e-12)
    assert law.range_constant(n) == pytest.approx(float(case["range_constant"]), rel=1e-9)


@of("finite_step_level")
def test_finite_step_levels_equal_the_golden_values(case: dict[str, Any]) -> None:
    law, scale = law_of(case["dist"]), float(case["eta"])
    claim = hn.FTPL(law, scale).stability(5)
    assert claim.level == pytest.approx(float(case["level"]), rel=1e-12)
    assert not claim.exact
    assert claim.level < claim.rate
    assert math.isclose(claim.rate, law.hazard / scale, rel_tol=1e-15)


def test_golden_file_is_complete() -> None:
    count = {family: sum(case["family"] == family for case in CASES) for family in {c["family"] for c in CASES}}
    assert {k: count[k] for k in ("ftpl", "ftrl", "divergence", "constants", "finite_step_level")} == {
        "ftpl": 52,
        "ftrl": 80,
        "divergence": 72,
        "constants": 21,
        "finite_step_level": 8,
    }
