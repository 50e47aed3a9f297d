"""The scikit-learn estimators, by scikit-learn's own checks, and the coverage of the intervals of any regressor."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from rejections import rejected

pytest.importorskip("sklearn")

from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

import hannan as hn
from hannan.interop.sklearn import ConformalRegressor, OnlineClassifier, OnlineRegressor, unit_rows

ESTIMATORS = [
    OnlineClassifier(),
    OnlineRegressor(),
    ConformalRegressor(LinearRegression()),
    ConformalRegressor(HistGradientBoostingRegressor(max_iter=10)),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_check_estimator(estimator):
    failed = [check for check in check_estimator(estimator, on_fail=None) if check["status"] == "failed"]
    assert failed == []


def test_partial_fit_continues():
    X, y = make_classification(200, 5, random_state=0)
    whole = OnlineClassifier(seed=3).fit(X, y)
    parts = OnlineClassifier(seed=3)
    for rows in np.array_split(np.arange(200), 7):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    np.testing.assert_allclose(whole.average_coef_, parts.average_coef_, atol=1e-9)
    np.testing.assert_allclose(whole.coef_, parts.coef_, atol=1e-6)
    assert whole.score(X, y) > 0.8
    np.testing.assert_allclose(whole.predict_proba(X).sum(axis=1), 1.0)
    assert ((whole.predict_proba(X)[:, 1] > 0.5) == (whole.predict(X) == 1)).all()


def test_certificate_covers_the_moves_made():
    X, y = make_classification(150, 4, random_state=1)
    fitted = OnlineClassifier(radius=5.0).fit(X, y)
    said = fitted.certificate_
    assert said.rounds == 150
    assert 0.0 < said.regret < said.bound.value
    X, y = make_regression(150, 3, noise=1.0, random_state=2)
    said = OnlineRegressor(radius=3.0).fit(X, y).certificate_
    assert said.rounds == 150
    assert said.regret < said.bound.value


def test_rows_have_unit_norm():
    rows = unit_rows(np.random.default_rng(0).standard_normal((20, 3)) * 100)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)


def test_invalid_targets_are_rejected():
    X, y = make_regression(20, 2, random_state=0)
    fitted = OnlineRegressor().fit(X, y)
    rejected(lambda: fitted.partial_fit(X, 100 * y), "target_bound")
    rejected(lambda: OnlineClassifier().fit(X, np.arange(20) % 3), "binary")
    rejected(lambda: OnlineClassifier().fit(X, np.ones(20)), "1 class")
    two = OnlineClassifier().fit(X, np.arange(20) % 2)
    rejected(lambda: two.partial_fit(X, np.full(20, 5)), "labels", "5")


def test_masked_entries_are_rejected():
    """scikit-learn would read the data under the mask."""
    X, y = np.arange(6.0).reshape(3, 2), np.array([0.0, 1.0, 1.0])
    hidden = [[False, False], [True, False], [False, False]]
    for estimator in (OnlineClassifier(seed=0), OnlineRegressor(seed=0)):
        masked_X, masked_y = np.ma.array(X, mask=hidden), np.ma.array(y, mask=[False, False, True])
        rejected(lambda: estimator.fit(masked_X, y), "X", "masked", "(1, 0)")  # noqa: B023
        rejected(lambda: estimator.partial_fit(X, masked_y), "y", "masked", 2)  # noqa: B023
        rejected(lambda: estimator.fit(X, y).predict(masked_X), "X", "masked")  # noqa: B023


def drifting(rows, seed=0):
    """Return rows of a linear model whose noise doubles in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=rows) * np.where(np.arange(rows) < rows // 2, 1.0, 2.0)


def test_intervals_have_the_certified_counts_with_late_targets():
    """Targets arrive in random order; the control counts with intervals that do not adapt."""
    X, y = drifting(3000)
    model = ConformalRegressor(LinearRegression(), coverage=0.9).fit(X[:1000], y[:1000])
    before = model.certificate_.groups[0]
    assert before.rows == 230  # a quarter of the rows, without 20 of warm-up
    rng, ends, waits = np.random.default_rng(1), np.empty((2000, 2)), []
    for first in range(0, 2000, 10):
        rows = slice(1000 + first, 1010 + first)
        tickets, ends[first : first + 10] = model.predict_interval(X[rows])
        assert tickets.tolist() == list(range(first, first + 10))
        waits += tickets.tolist()
        due = rng.permutation(len(waits))[: len(waits) // 2]
        model.settle([waits[k] for k in due], [y[1000 + waits[k]] for k in due])
        waits = [ticket for k, ticket in enumerate(waits) if k not in due]
    assert set(model.conformal_.open) == set(waits)
    settled = np.setdiff1d(np.arange(2000), waits)
    targets, told = y[1000:][settled], model.certificate_.groups[0]
    below, above = targets < ends[settled, 0], targets > ends[settled, 1]
    assert told.rows - before.rows == len(settled)
    assert told.below[0] - before.below[0] == below.sum()
    assert told.above[0] - before.above[0] == above.sum()
    assert abs((below | above).mean() - 0.1) < 0.02
    still = model.predict(X[1000:])[settled][:, None] + (ends[0] - model.predict(X[1000:1001]))
    assert ((targets < still[:, 0]) | (targets > still[:, 1])).mean() > 0.15


def test_intervals_are_those_of_conformal():
    X, y = drifting(200)
    model = ConformalRegressor(LinearRegression(), [0.5, 0.8], side="upper", calibration=0.0).fit(X[:100], y[:100])
    live = hn.Conformal(1, [0.5, 0.8], side="upper")
    for t in range(100, 200):
        tickets, ends = model.predict_interval(X[t : t + 1], [["north", t % 2]])
        assert (ends[0] == live.answer(t, model.predict(X[t : t + 1]), ["north", str(t % 2)])).all()
        assert ends.shape == (1, 2, 2)
        assert (ends[0, :, 0] == -np.inf).all()
        model.settle(tickets[0], y[t])
        live.settle(t, y[t])
    assert str(model.certificate_) == str(live.certificate())
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.predict_interval(X)[1] == model.predict_interval(X)[1]).all()
    copy.forget([100, 101])
    assert len(copy.conformal_.open) == len(model.conformal_.open) - 2
    assert len(model.fit(X, y).conformal_.open) == 0


def test_rows_of_frames_and_pipelines():
    pandas = pytest.importorskip("pandas")
    X, y = drifting(120)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(shop=np.where(np.arange(120) % 2, "n", "s"))
    frame.loc[3, "a"] = np.nan
    steps = make_column_transformer((OneHotEncoder(sparse_output=False), ["shop"]), remainder="passthrough")
    model = ConformalRegressor(make_pipeline(steps, HistGradientBoostingRegressor(max_iter=20))).fit(frame, y)
    tickets, ends = model.predict_interval(frame, frame["shop"].tolist())
    model.settle(tickets, y)
    assert np.isfinite(ends).all()
    assert [one.name for one in model.certificate_.groups] == ["all", "s", "n"]
    rejected(lambda: model.predict(frame[["b", "a", "c", "shop"]]), "feature names", "order")


def test_invalid_intervals_change_nothing():
    X, y = drifting(120)
    model = ConformalRegressor(LinearRegression()).fit(X, y)
    tickets, _ = model.predict_interval(X[:3])
    model.settle(0, 1.0)
    before = str(model.certificate_), model.conformal_.open
    rejected(lambda: model.settle([1, 0], [1.0, 2.0]), "tickets", "0", "place 1")
    rejected(lambda: model.settle([1, 1], [1.0, 2.0]), "tickets", "place 1")
    rejected(lambda: model.settle([1, 2], [1.0, np.nan]), "targets", "nan")
    rejected(lambda: model.settle([1, 2], [1.0]), "y", "2 in total")
    rejected(lambda: model.forget("1"), "tickets", "'1'")
    rejected(lambda: model.predict_interval(X[:2], ["a"]), "groups", "2 in total")
    rejected(lambda: model.predict_interval(X[:2], ["a", ["b", "b"]]), "groups", "'b'")
    rejected(lambda: model.predict_interval(X[0]), "2D", "Reshape")
    assert (str(model.certificate_), model.conformal_.open) == before
    assert tickets.tolist() == [0, 1, 2]
    for name, value in (("coverage", 1.0), ("calibration", 1.0), ("side", "left"), ("within", 0.0)):
        rejected(lambda: ConformalRegressor(LinearRegression(), **{name: value}).fit(X, y), name, str(value))  # noqa: B023
