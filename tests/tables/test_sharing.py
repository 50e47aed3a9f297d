"""Sharing between series of a panel by default: initial weights, and the pool as a further member."""

from __future__ import annotations

import numpy as np
import pytest
from naive_combine import TwoLayers

import hannan as hn
from hannan.learners.adahedge import Rule
from hannan.tables.combine.long_table import long_table
from hannan.tables.combine.losses import point_loss
from hannan.tables.combine.panel import Order, Work, each_series, shared, spreads
from hannan.tables.combine.timing import Timing

pandas = pytest.importorskip("pandas")
MODELS = ["m0", "m1", "m2"]


def launches(series=5, rows=30, units=10.0, holes=0.1, seed=1):
    """Series in different units; all but two begin later, each on a different day."""
    rng, parts = np.random.default_rng(seed), []
    for s in range(series):
        first = 0 if s < 2 else 8 + 3 * s
        y = rng.normal(size=rows).cumsum() * units**s
        days = pandas.date_range("2024-01-01", periods=rows + first)[first:]
        part = pandas.DataFrame({"unique_id": f"s{s}", "ds": days, "y": y})
        for k, name in enumerate(MODELS):
            part[name] = y + rng.normal(size=rows) * (k + 1) * units**s
        part.loc[rng.random(rows) < holes, "m1"] = np.nan
        parts.append(part)
    return pandas.concat(parts, ignore_index=True)


def table_of(frame, horizon=1, timing=None):
    timing = timing or Timing(time="ds")
    return long_table(dict(frame), "y", ["unique_id"], timing, MODELS, horizon)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_default_is_two_layers_with_the_pool_as_fifth_member(loss, horizon):
    """Against slow reference implementations of the pool and of the two layers."""
    frame = launches()
    told = hn.combine(frame, "y", loss, by="unique_id", horizon=horizon)
    assert told.with_pool
    assert told.from_pool
    cost = point_loss(loss)
    table = table_of(frame, horizon)
    scale = spreads(table, cost)
    order = Order.of(table)
    pool, answers = hn.Combiner(MODELS, loss), np.empty(len(frame))
    for event, y in zip(order.events.tolist(), order.told.tolist(), strict=True):
        row = int(order.rows[event if event >= 0 else ~event])
        if event >= 0:
            answers[row] = pool.answer(row, table.forecasts[row] / scale[row]) * scale[row]
        else:
            pool.settle(row, y / scale[row])
    for s in range(table.series):
        first, last = table.starts[s], table.starts[s + 1]
        oracle, rows = TwoLayers(3, told.started[s], outside=True), {}
        for t in range(first, last):
            if t - horizon in rows:
                y = table.targets[t - horizon]
                losses = cost.value(table.forecasts[t - horizon], y)
                oracle.settle(rows.pop(t - horizon), lambda x, y=y: float(cost.slope(x, y)), losses)
            rows[t] = oracle.answer(table.forecasts[t], answers[t])
            assert told.forecast[table.order[t]] == pytest.approx(rows[t]["x"], rel=1e-7, abs=1e-9)
        for t in sorted(rows):
            y = table.targets[t]
            losses = cost.value(table.forecasts[t], y)
            oracle.settle(rows[t], lambda x, y=y: float(cost.slope(x, y)), losses)
        expected = oracle.weights(np.ones(3, dtype=bool), pool.weights())
        np.testing.assert_allclose(told.weights[s], expected, rtol=1e-6, atol=1e-12)
    # Control: four members give other forecasts.
    other = hn.combine(frame, "y", loss, by="unique_id", horizon=horizon, pooled=False, prior="pool")
    assert other.from_pool
    assert not other.with_pool
    assert (other.forecast != told.forecast).mean() > 0.9


@pytest.mark.parametrize("per_quantile", [False, True])
def test_quantiles_have_the_fifth_member_too(per_quantile):
    frame = launches(holes=0.0)
    for name in MODELS:
        spread = np.abs(frame.pop(name) - frame.y) + 0.1
        frame[f"{name}-lo-80"], frame[f"{name}-hi-80"] = frame.y - spread, frame.y + spread
    told = hn.combine(frame, "y", by="unique_id", per_quantile=per_quantile)
    alone = hn.combine(frame, "y", by="unique_id", per_quantile=per_quantile, pooled=False)
    assert told.with_pool
    assert (told.forecast != alone.forecast).any()
    assert (np.diff(told.forecast, axis=1) >= 0.0).all()
    np.testing.assert_allclose(told.weights.sum(axis=1), 1.0)
    assert (told.mixture[:, None] - told.losses <= told.bounds).all()


def test_units_of_a_series_do_not_matter():
    """Every series in its own unit: forecasts scale with it. Control: the pool in the units of the table."""
    frame, factor = launches(units=1.0), {f"s{s}": 1000.0**s for s in range(5)}
    scale = frame.unique_id.map(factor)
    other = frame.copy()
    other[["y", *MODELS]] = other[["y", *MODELS]].mul(scale, axis=0)
    told = [hn.combine(f, "y", by="unique_id") for f in (frame, other)]
    np.testing.assert_allclose(told[1].forecast, told[0].forecast * scale, rtol=1e-9)
    np.testing.assert_allclose(told[1].weights, told[0].weights, rtol=1e-9)
    pooled = [hn.combine(f, "y", by="unique_id", pooled=True) for f in (frame, other)]
    assert np.abs(pooled[1].forecast / (pooled[0].forecast * scale) - 1.0).max() > 1e-3


def test_forecasts_use_only_targets_known_before():
    """Each target changes only forecasts of later days; the control: it does change some of another series."""
    frame = launches()
    told = hn.combine(frame, "y", by="unique_id").forecast
    for row in (3, 40, 100):
        changed = frame.copy()
        changed.loc[row, "y"] += 100.0
        moved = hn.combine(changed, "y", by="unique_id").forecast != told
        assert (frame.ds[moved] > frame.ds[row]).all()
        assert (frame.unique_id[moved] != frame.unique_id[row]).any()


def test_series_with_longer_steps_use_no_target_early():
    """Horizon 3: a monthly row is issued three months before its time, and uses no daily target after that."""
    rng = np.random.default_rng(0)
    days = pandas.DataFrame({"unique_id": "daily", "ds": pandas.date_range("2024-01-01", periods=300)})
    months = pandas.DataFrame({"unique_id": "monthly", "ds": pandas.date_range("2024-01-01", periods=10, freq="MS")})
    frame = pandas.concat([days, months], ignore_index=True)
    frame["y"] = rng.normal(size=len(frame))
    for k, name in enumerate(MODELS):
        frame[name] = frame.y + (k + 1) * rng.normal(size=len(frame))
    told = hn.combine(frame, "y", by="unique_id", horizon=3)
    monthly = frame.unique_id == "monthly"
    changed = frame.copy()
    changed.loc[(frame.ds == "2024-05-15") & ~monthly, "y"] += 100.0
    moved = monthly & (hn.combine(changed, "y", by="unique_id", horizon=3).forecast != told.forecast)
    assert moved.any()
    assert (frame.ds[moved] >= "2024-09-01").all()  # issued in June at the earliest


def test_order_of_the_input_does_not_matter():
    frame = launches()
    told = hn.combine(frame, "y", by="unique_id")
    mixed = frame.sample(frac=1.0, random_state=0)
    other = hn.combine(mixed, "y", by="unique_id")
    assert (pandas.Series(other.forecast, mixed.index).sort_index() == told.forecast).all()


def test_bounds_hold_with_the_fifth_member():
    """Games in which a single series has a large loss: bounds over the mean and over every column."""
    rng = np.random.default_rng(5)
    for seed in range(10):
        frame = launches(series=4, rows=25, holes=0.0, seed=seed)
        frame["y"] = np.where(rng.random(len(frame)) < 0.5, frame.m0 + 50.0, frame.m2 - 50.0)
        told = hn.combine(frame, "y", by="unique_id")
        assert (told.mixture[:, None] - told.losses <= told.bounds * (1 + 1e-12)).all()
        assert (told.mixture - told.mean <= told.to_mean * (1 + 1e-12)).all()


def test_a_misleading_fifth_member_costs_little_and_is_bounded():
    """The theorem holds for any fifth member that uses the past only: here a member that is always far off."""
    frame = launches(series=2, rows=30, holes=0.0)
    table = table_of(frame)
    loss, rule = point_loss("absolute"), Rule()
    _, member = shared(table, loss, rule, Work())
    member.forecasts[:] = table.forecasts.max(axis=1, keepdims=True)
    bad = each_series(table, loss, rule, None, Work(), member)
    good = each_series(table, loss, rule, None, Work())
    assert (bad.mixture[:, None] - bad.losses <= bad.bounds).all()
    assert (bad.mixture <= 1.25 * good.mixture).all()
    assert (bad.mixed != good.mixed).any()  # the control: the pool is a member


def test_result_states_which_series_share_weights():
    frame = launches(holes=0.0)
    default = hn.combine(frame, "y", by="unique_id")
    text = str(default)
    assert "of the pool of all series when each series began" in text
    assert default.to_dict()["learns_from_pool"] == {"initial_weights": True, "member": True, "alone_because": None}
    # Without times, the targets known at each row are unknown: the series are combined separately.
    untimed = hn.combine(frame.drop(columns="ds"), "y", by="unique_id")
    alone = hn.combine(frame.drop(columns="ds"), "y", by="unique_id", pooled=False)
    assert (untimed.forecast == alone.forecast).all()
    assert "no column of times" in str(untimed)
    assert "no column of times" not in str(alone)
    # Rules without initial weights, one series, and given weights.
    assert not hn.combine(frame, "y", learner="boa", by="unique_id").from_pool
    one = hn.combine(frame[frame.unique_id == "s0"], "y", by="unique_id")
    assert (one.from_pool, one.with_pool) == (False, False)
    given = hn.combine(frame, "y", by="unique_id", prior=[1 / 3] * 3)
    assert (given.from_pool, given.with_pool) == (False, True)
    b = hn.combine(frame, "y", learner="b", by="unique_id")
    assert (b.from_pool, b.with_pool) == (True, False)


def test_errors_are_in_the_units_of_the_table():
    frame = launches(holes=0.0)
    frame.loc[7, "m2"] = 1e200
    with pytest.raises(hn.tables.read.table.BadTable, match=r"row 8 .*column 'm2'.*1e\+200"):
        hn.combine(frame, "y", "squared", by="unique_id")
