"""The scikit-learn pair, by scikit-learn's own checks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.datasets import make_classification, make_regression
from sklearn.utils.estimator_checks import check_estimator

from hannan.interop.sklearn import OnlineClassifier, OnlineRegressor, unit_rows


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [OnlineClassifier(), OnlineRegressor()], ids=repr)
def test_check_estimator(estimator):
    failed = [check for check in check_estimator(estimator, on_fail=None) if check["status"] == "failed"]
    assert failed == []


def test_partial_fit_goes_on_where_it_stopped():
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


def test_the_certificate_is_that_of_the_moves_made():
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


def test_refusals():
    X, y = make_regression(20, 2, random_state=0)
    fitted = OnlineRegressor().fit(X, y)
    with pytest.raises(ValueError, match="targets must be within target_bound"):
        fitted.partial_fit(X, 100 * y)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        OnlineClassifier().fit(X, np.arange(20) % 3)
    with pytest.raises(ValueError, match="1 class"):
        OnlineClassifier().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="labels must be in"):
        OnlineClassifier().fit(X, np.arange(20) % 2).partial_fit(X, np.full(20, 5))


def test_masked_entries_are_refused():
    """scikit-learn reads through masks."""
    X, y = np.arange(6.0).reshape(3, 2), np.array([0.0, 1.0, 1.0])
    hidden = [[False, False], [True, False], [False, False]]
    for estimator in (OnlineClassifier(seed=0), OnlineRegressor(seed=0)):
        with pytest.raises(ValueError, match=r"X must have no masked entries; got one at index \(1, 0\)"):
            estimator.fit(np.ma.array(X, mask=hidden), y)
        with pytest.raises(ValueError, match="y must have no masked entries; got one at index 2"):
            estimator.partial_fit(X, np.ma.array(y, mask=[False, False, True]))
        with pytest.raises(ValueError, match="X must have no masked entries"):
            estimator.fit(X, y).predict(np.ma.array(X, mask=hidden))
