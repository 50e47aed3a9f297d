"""The scikit-learn pair, by scikit-learn's own checks."""

from __future__ import annotations

import numpy as np
import pytest
from rejections import rejected

pytest.importorskip("sklearn")

from sklearn.datasets import make_classification, make_regression
from sklearn.utils.estimator_checks import check_estimator

from hannan.interop.sklearn import OnlineClassifier, OnlineRegressor, unit_rows


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [OnlineClassifier(), OnlineRegressor()], ids=repr)
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
