"""Statements about a combination: the numbers are those of the theorem, neither larger nor smaller."""

from __future__ import annotations

import numpy as np
import pytest
from naive_combine import RuleB, TwoLayers

import hannan as hn


def played(learner, oracle, holes):
    """The same rows by the combiner and by the oracle, settled three rows late."""
    rng = np.random.default_rng(5)
    combiner, waiting = hn.Combiner(3, learner=learner), []
    for t in range(60):
        y = rng.normal()
        f = y + rng.normal(size=3) * (1.0, 2.0, 3.0)
        if holes and t % 3 == 1:
            f[0] = np.nan
        combiner.answer(t, f)
        waiting.append((t, oracle.answer(f), f, y))
        if len(waiting) > 3:
            t, row, f, y = waiting.pop(0)
            combiner.settle(t, y)
            told = (lambda x, y=y: float(np.sign(x - y)),)
            oracle.settle(row, *told, *((abs(f - y),) if isinstance(oracle, TwoLayers) else ()))
    return combiner.certificate().promises


@pytest.mark.parametrize("holes", [False, True])
def test_two_layers(holes):
    oracle = TwoLayers(3)
    told = played("two-layers", oracle, holes)
    top, parts = oracle.top.bounds(), oracle.b.bounds()
    assert told.mean == pytest.approx(top[3], rel=1e-9)
    np.testing.assert_allclose(told.columns, np.minimum(top[0] + parts, top[2] + oracle.own.bound()), rtol=1e-9)
    q = np.array([0.2, 0.3, 0.5])
    assert told.combination(q) == pytest.approx(top[0] + q @ parts, rel=1e-9)
    assert told.combination([0.0, 0.0, 1.0]) == pytest.approx(top[0] + parts[2], rel=1e-9)
    assert (told.realised <= told.columns).all()
    assert bool(told.filled) == holes


@pytest.mark.parametrize("holes", [False, True])
def test_rule_b_alone(holes):
    oracle = RuleB(3)
    told = played("b", oracle, holes)
    np.testing.assert_allclose(told.columns, oracle.bounds(), rtol=1e-9)
    assert (told.realised <= told.columns).all()
    if holes:
        assert told.mean is None
        assert "forecasts are missing" in told.mean_withheld
    else:
        assert told.mean == pytest.approx(oracle.bounds().mean(), rel=1e-9)


def test_adahedge_on_slopes_has_the_bound_two_delta():
    """AdaHedge on l_i = g f_i: its gaps computed directly, one row."""
    combiner = hn.Combiner(2, learner="adahedge:slopes")
    combiner.answer(0, [0.0, 4.0])
    combiner.settle(0, 1.0)
    # x = 2, g = 1, losses (0, 4), no scale yet: the gap is <p, l> - min l = 2.
    assert combiner.certificate().promises.columns.tolist() == pytest.approx([4.0, 4.0])
    assert combiner.certificate().promises.mean == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("q", "rule"),
    [
        ([-1.0, 2.0], "must be non-negative; got -1.0 at index 0"),
        ([0.0, 0.0], "must sum to 1 within 1e-09; got a sum of 0.0"),
        ([5.0, 0.0], "must sum to 1 within 1e-09; got a sum of 5.0"),
        ([np.nan, 1.0], "must be finite; got nan at index 0"),
        ([1.0], r"must have one number per column, 2; got shape \(1,\)"),
        ([[0.5, 0.5]], r"must have one number per column, 2; got shape \(1, 2\)"),
    ],
)
@pytest.mark.parametrize("learner", ["two-layers", "boa"])
def test_invalid_weights_of_a_combination_are_rejected(learner, q, rule):
    """y = 2 f_1 - f_0: against the weights (-1, 2), whose loss is 0, the formula would not be a bound."""
    rng, combiner = np.random.default_rng(0), hn.Combiner(2, "squared", learner)
    for t in range(300):
        f = rng.normal(size=2).cumsum()
        combiner.answer(t, f)
        combiner.settle(t, 2.0 * f[1] - f[0])
    told = combiner.certificate()
    with pytest.raises(ValueError, match=rule):
        told.promises.combination(q)
    # The control: a combination has a bound, where one is proved, and the game exceeds the formula for (-1, 2).
    bound = told.promises.combination([0.5, 0.5])
    assert (bound is None) == (learner == "boa")
    if bound is not None:
        assert told.total > told.promises.base + 2.0 * told.promises.parts[1]


def test_printed_bound_names_its_combinations():
    line = dict(hn.Combiner(2).certificate().rows())["fixed weights"]
    assert "over fixed weights q >= 0 that sum to 1, of columns without missing forecasts" in line
