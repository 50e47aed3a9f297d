"""sktime with the real package: its own checks, and the weights of `hn.combine`."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from rejections import rejected

import hannan as hn

pytest.importorskip("sktime", reason="pip install '.[interop]'")

import pandas
from sktime.forecasting.base import ForecastingHorizon
from sktime.forecasting.naive import NaiveForecaster
from sktime.forecasting.trend import TrendForecaster

pytestmark = pytest.mark.filterwarnings("ignore")


def members():
    return [("last", NaiveForecaster("last")), ("season", NaiveForecaster("last", sp=12)), ("trend", TrendForecaster())]


def airline():
    """Airline passengers by month, from Box and Jenkins, contained in sktime."""
    from sktime.datasets import load_airline

    return load_airline()


def test_weights_equal_those_of_combine():
    """Each row is forecast by members that were fitted to the rows before it only."""
    y = airline()
    model = hn.sktime.CombinedForecaster(members(), warm_up=8).fit(y[:100])
    model.update(y[100:103])
    rows = []
    for t in range(92, 103):
        rows.append([one.fit(y[:t]).predict(fh=[1]).iloc[0] for _, one in members()])
    told = hn.combine(np.array(rows), y[92:103].to_numpy(), "squared")
    combiner = model.combiner_.certificate()
    assert combiner.settled == 11
    assert combiner.total == pytest.approx(told.summary.mix_loss, rel=1e-9)
    np.testing.assert_allclose(combiner.losses, [e.loss for e in told.summary.experts], rtol=1e-9)
    ahead = model.predict(fh=[1, 2, 3])
    alone = np.column_stack([one.fit(y[:103]).predict(fh=[1, 2, 3]) for _, one in members()])
    np.testing.assert_allclose(ahead, alone @ model.weights_, rtol=1e-9)
    assert list(ahead.index) == list(y.index[103:106])


def test_rows_update_the_weights_once():
    y = airline()
    model = hn.sktime.CombinedForecaster(members(), warm_up=4).fit(y[:100])
    before = model.weights_
    model.update(y[100:104], update_params=False)
    assert (model.weights_ == before).all()
    assert model.cutoff[0] == y.index[103]
    assert model.combiner_.certificate().settled == 4
    # Rows that were used before do not update the weights; the one new row does.
    model.update(y[98:105])
    assert model.combiner_.certificate().settled == 5
    for warm_up, rows in ((0, 0), (10_000, 5)):
        fitted = hn.sktime.CombinedForecaster(members(), warm_up=warm_up).fit(y[:15])
        assert fitted.combiner_.certificate().settled == rows
    rejected(lambda: hn.sktime.CombinedForecaster(members(), warm_up=-1).fit(y), "warm_up", -1)
    rejected(lambda: hn.sktime.CombinedForecaster(members(), loss="cubed").fit(y), "loss", "'cubed'")


def test_a_member_without_a_forecast_is_not_available():
    class Silent(NaiveForecaster):
        def _predict(self, fh=None, X=None):
            return super()._predict(fh, X) * np.nan

    y = airline()
    model = hn.sktime.CombinedForecaster([("last", NaiveForecaster("last")), ("silent", Silent("last"))], warm_up=3)
    model.fit(y)
    assert model.predict(fh=[1]).iloc[0] == pytest.approx(NaiveForecaster("last").fit(y).predict(fh=[1]).iloc[0])
    alone = hn.sktime.CombinedForecaster([("silent", Silent("last"))], warm_up=3).fit(y)
    assert np.isnan(alone.predict(fh=[1]).iloc[0])


def test_bounds_hold_on_the_airline_data():
    """One step ahead through the last year and a half; in this data the average of the two is hard to beat."""
    told = hn.sktime.CombinedForecaster([*members()[:2]], warm_up=18).fit(airline()).combiner_.certificate()
    assert told.settled == 18
    assert told.total - told.mean <= told.promises.mean
    assert (told.total - told.losses <= [told.promises.column(i) for i in range(2)]).all()
    assert told.total < told.losses.max()


def test_copies_continue_equally():
    y = airline()
    model = hn.sktime.CombinedForecaster(members(), warm_up=3).fit(y[:100])
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for one in (model, *copies):
        one.update(y[100:102])
    for one in copies:
        assert (one.weights_ == model.weights_).all()
        assert (one.predict(fh=[1, 2]) == model.predict(fh=[1, 2])).all()
    assert not hasattr(model.clone(), "combiner_")


def test_horizons_required_at_fit():
    """A direct reduction is fitted for one horizon; a copy of it forecasts the next value."""
    from sklearn.linear_model import LinearRegression
    from sktime.forecasting.compose import make_reduction

    y = airline()
    direct = make_reduction(LinearRegression(), window_length=12, strategy="direct")
    model = hn.sktime.CombinedForecaster([*members()[:2], ("direct", direct)], warm_up=3)
    assert model.get_tag("requires-fh-in-fit")
    assert not model.get_tag("capability:insample")
    model.fit(y[:120], fh=[2, 3])
    model.update(y[120:122])
    assert model.combiner_.certificate().settled == 5
    told = model.predict()
    assert list(told.index) == list(y.index[123:125])
    assert abs(told / y[123:125] - 1).max() < 0.2
    # A gap: the row after the next one has no forecast of this member, and the other members continue.
    model.update(y[123:124])
    assert model.combiner_.certificate().settled == 6


QUICK = ["test_constructor", "test_clone", "test_update_tag", "test_doctest_examples"]


@pytest.mark.parametrize("which", ["quick", pytest.param("all", marks=pytest.mark.slow)])
def test_checks_of_sktime_pass(which):
    from sktime.utils.estimator_checks import check_estimator

    told = check_estimator(
        hn.sktime.CombinedForecaster, tests_to_run=QUICK if which == "quick" else None, verbose=False
    )
    failed = {name: told[name] for name in told if told[name] != "PASSED"}
    assert not failed
    assert len(told) >= (6 if which == "quick" else 100)


def test_period_and_date_indexes():
    days = pandas.date_range("2024-01-01", periods=60, freq="D")
    y = pandas.Series(np.arange(60.0) % 7, index=days, name="sold")
    model = hn.sktime.CombinedForecaster([("last", NaiveForecaster("last")), ("week", NaiveForecaster("last", sp=7))])
    told = model.fit(y[:50]).update(y[50:]).predict(ForecastingHorizon([1, 7]))
    assert told.name == "sold"
    assert list(told.index) == [days[-1] + pandas.Timedelta(days=k) for k in (1, 7)]
    assert model.weights_[1] > 0.9


def test_intervals_cover_and_equal_those_of_combine():
    """One interval per horizon, made of the forecasts that were recorded; the control has those of another horizon."""
    rng = np.random.default_rng(3)
    y = pandas.Series(np.cumsum(rng.normal(size=400)))
    naive = [("last", NaiveForecaster("last")), ("drift", NaiveForecaster("drift"))]
    model = hn.sktime.CombinedForecaster(naive, warm_up=60).fit(y[:200], fh=[1, 4])
    hits = dict.fromkeys((1, 4), 0)
    for t in range(200, 396):
        told = model.predict_interval(coverage=[0.5, 0.8])
        assert (told.to_numpy()[:, 0] <= told.to_numpy()[:, 1]).all()
        for (time, row), step in zip(told[0].iterrows(), (1, 4), strict=True):
            assert time == t + step - 1
            hits[step] += row[0.8]["lower"] <= y[time] <= row[0.8]["upper"]
        model.update(y[t : t + 1])
    assert abs(hits[1] / 196 - 0.8) < 0.06
    assert abs(hits[4] / 196 - 0.8) < 0.09
    forecasts, targets = model._history(4)
    assert len(forecasts) == 60 + 196
    table = {"f": [*forecasts, float(model.predict()[399])], "y": [*targets, np.nan]}
    same, other = (hn.combine(table, "y", coverage=[0.5, 0.8], horizon=h).interval[-1] for h in (4, 1))
    last = model.predict_interval(coverage=[0.5, 0.8])[0].loc[399]
    assert (last[0.8].to_numpy() == same).all()
    assert (last[0.8].to_numpy() != other).any()
    assert model.certificate(0.8, 4).groups[0].rows == 60 + 196 - 3 - (20 + 3)
    # A horizon that was not recorded has wider intervals.
    far, near = (model.predict_interval(fh=[step], coverage=0.8).to_numpy()[0] for step in (8, 4))
    assert np.diff(far) == pytest.approx(np.diff(near) * 2**0.5)
    rejected(lambda: model.certificate(0.8, 5), "step", "4", "5")


def test_intervals_are_infinite_until_twenty_targets_are_known():
    y = pandas.Series(np.random.default_rng(0).normal(size=57))
    model = hn.sktime.CombinedForecaster([("last", NaiveForecaster("last"))]).fit(y)
    assert np.isinf(model.predict_interval(fh=[1]).to_numpy()).all()
    model.update(pandas.Series([0.0], index=[57]))
    assert np.isfinite(model.predict_interval(fh=[1]).to_numpy()).all()
