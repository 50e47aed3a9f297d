"""scikit-learn estimators that learn one row at a time, with a regret certificate.

A 1 for the intercept is appended to each row, and the row is scaled to unit norm, so that the Lipschitz constant of the
losses is known in advance. The perturbed leader of `Convex` predicts each row before it learns the row; `certificate_`
covers the regret of these predictions. `coef_` and `predict` use the leader without noise. `average_coef_` is the mean
of the moves, whose expected excess risk on independent rows is at most the expected regret divided by the rows.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    from hannan import extras

    raise ModuleNotFoundError(f"hannan.sklearn needs scikit-learn: {extras.command('sklearn')}") from None

from hannan.learners.convex.learner import Convex
from hannan.mathematics.convex.domains import Ball
from hannan.mathematics.convex.losses import Logistic, Loss, Squared
from hannan.validation import Array, unmasked


def _clean(estimator: Any, *given: Any, **options: Any) -> Any:
    """Return X, or X and y, validated by scikit-learn; raise ValueError for masked entries, which it would read."""
    for name, values in zip(("X", "y"), given, strict=False):
        unmasked(values, name)
    return validate_data(estimator, *given, **options)


class _Online(BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators, with a running player."""

    def __init__(self, radius: float = 10.0, seed: int | None = None) -> None:
        self.radius = radius
        self.seed = seed

    def _learner(self, d: int) -> Convex:
        raise NotImplementedError

    def _begin(self, d: int) -> None:
        self.player_ = self._learner(d).start(self.seed)
        self.n_moves_ = 0
        self.average_coef_ = np.zeros(d)

    def _learn(self, losses: Loss) -> None:
        moves = self.player_.through(losses)
        self.n_moves_ += len(moves)
        self.average_coef_ += (moves - self.average_coef_).sum(axis=0) / self.n_moves_
        self.coef_ = self.player_.leader()

    def _margin(self, X: Any) -> Array:
        check_is_fitted(self, "coef_")
        rows = unit_rows(_clean(self, X, reset=False, dtype=np.float64))
        return np.asarray(rows @ self.coef_)

    @property
    def certificate_(self) -> Any:
        """Certificate of the player: regret of the moves made while learning, and its bound."""
        check_is_fitted(self, "coef_")
        return self.player_.certificate()


class OnlineClassifier(ClassifierMixin, _Online):  # type: ignore[misc]
    """Online logistic regression on a ball, with two classes.

    Parameters
    ----------
    radius : float
        Radius of the ball of coefficients.
    seed : int, optional
        Random seed. Default: fresh entropy.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> OnlineClassifier().fit(X, [0, 0, 1, 1]).predict(X)
    array([0, 0, 1, 1])
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _learner(self, d: int) -> Convex:
        # log(1 + e^u) on |u| <= radius is at most log(1 + e^radius).
        return Convex(Ball(d, self.radius), lipschitz=1.0, loss_bound=math.log1p(math.exp(min(self.radius, 500.0))))

    def fit(self, X: Any, y: Any) -> Self:
        """Discard earlier rows, then learn the given rows in their order."""
        X, y = _clean(self, X, y, dtype=np.float64)
        self._set_classes(y, None)
        self._begin(X.shape[1] + 1)
        self._learn(Logistic(unit_rows(X), self._labels(y)))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows; `classes` is required in the first call unless y contains both classes."""
        first = not hasattr(self, "player_")
        X, y = _clean(self, X, y, reset=first, dtype=np.float64)
        if first:
            self._set_classes(y, classes)
            self._begin(X.shape[1] + 1)
        self._learn(Logistic(unit_rows(X), self._labels(y)))
        return self

    def _set_classes(self, y: Any, classes: Any) -> None:
        check_classification_targets(y)
        found = np.unique(y if classes is None else classes)
        if type_of_target(found if classes is not None else y, input_name="y") != "binary" or len(found) > 2:
            raise ValueError(f"Only binary classification is supported. The data has {len(found)} classes.")
        if len(found) < 2:
            raise ValueError(f"two classes are required; the data has 1 class, {found[0]!r}")
        self.classes_ = found

    def _labels(self, y: Any) -> Array:
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(f"labels must be in {self.classes_.tolist()}; got {np.asarray(y)[unknown][0]!r}")
        return np.asarray(np.where(y == self.classes_[1], 1.0, -1.0))

    def decision_function(self, X: Any) -> Array:
        """Return the logarithm of the odds of the second class per row."""
        return self._margin(X)

    def predict(self, X: Any) -> Any:
        """Return the more probable class per row."""
        margin = self._margin(X)
        return self.classes_[(margin > 0.0).astype(int)]

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of both classes per row."""
        second = 1.0 / (1.0 + np.exp(-self._margin(X)))
        return np.column_stack([1.0 - second, second])


class OnlineRegressor(RegressorMixin, _Online):  # type: ignore[misc]
    """Online least squares on a ball.

    Parameters
    ----------
    radius : float
        Radius of the ball of coefficients, for targets scaled to [-1, 1].
    seed : int, optional
        Random seed. Default: fresh entropy.
    target_bound : float, optional
        Largest absolute value of a target. Default: that of the first call.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> round(OnlineRegressor().fit(X, 3.0 * X[:, 0]).score(X, 3.0 * X[:, 0]), 1)
    1.0
    """

    def __init__(self, radius: float = 10.0, seed: int | None = None, target_bound: float | None = None) -> None:
        super().__init__(radius, seed)
        self.target_bound = target_bound

    def _learner(self, d: int) -> Convex:
        # Targets are scaled to [-1, 1], so the error is at most radius + 1.
        worst = self.radius + 1.0
        return Convex(Ball(d, self.radius), lipschitz=worst, loss_bound=0.5 * worst**2)

    def fit(self, X: Any, y: Any) -> Self:
        """Discard earlier rows, then learn the given rows in their order."""
        for name in ("player_", "target_scale_"):
            if hasattr(self, name):
                delattr(self, name)
        return self.partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more rows in their order."""
        first = not hasattr(self, "player_")
        X, y = _clean(self, X, y, reset=first, dtype=np.float64, y_numeric=True)
        if first:
            self.target_scale_ = float(self.target_bound or np.abs(y).max() or 1.0)
            self._begin(X.shape[1] + 1)
        if np.abs(y).max() > self.target_scale_:
            raise ValueError(
                f"targets must be within target_bound = {self.target_scale_:g}; got {float(np.abs(y).max()):g}"
            )
        self._learn(Squared(unit_rows(X), np.asarray(y, dtype=np.float64) / self.target_scale_))
        return self

    def predict(self, X: Any) -> Array:
        """Return the prediction per row."""
        return self._margin(X) * self.target_scale_


def unit_rows(X: Array) -> Array:
    """Return (x, 1)/||(x, 1)|| per row.

    >>> unit_rows(np.array([[0.0], [np.sqrt(3.0)]])).round(3).tolist()
    [[0.0, 1.0], [0.866, 0.5]]
    """
    rows = np.column_stack([X, np.ones(len(X))])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
