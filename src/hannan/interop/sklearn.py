"""scikit-learn estimators that learn one row at a time, and prediction intervals for any regressor.

`ConformalRegressor` has a certificate of its coverage. `OnlineClassifier` and `OnlineRegressor` have a certificate of
their regret: a 1 for the intercept is appended to each row, and the row is scaled to unit norm, so that the Lipschitz
constant of the losses is known in advance. The perturbed leader of `Convex` predicts each row before it learns the row;
`certificate_` covers the regret of these predictions. `coef_` and `predict` use the leader without noise.
`average_coef_` is the mean of the moves, whose expected excess risk on independent rows is at most the expected regret
divided by the rows.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
    from sklearn.utils import _safe_indexing, column_or_1d, get_tags
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
except ImportError:
    from hannan import extras

    raise ModuleNotFoundError(f"hannan.sklearn needs scikit-learn: {extras.command('sklearn')}") from None

from hannan.learners.convex.learner import Convex
from hannan.mathematics.convex.domains import Ball
from hannan.mathematics.convex.losses import Logistic, Loss, Squared
from hannan.tables.combine.conformal import Conformal
from hannan.tables.combine.coverage_certificate import CoverageCertificate
from hannan.validation import Array, between, unmasked

#: Calibration rows of `ConformalRegressor` if they are at most half of all rows: intervals need 20 settled rows.
CALIBRATION_ROWS = 40


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


class ConformalRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regressor with prediction intervals whose coverage is certified, for targets that may be late.

    `predict_interval` answers rows and returns a ticket and an interval per row. `settle` takes the target of a ticket
    when it is known, in any order. For every sequence of rows and targets, the coverage of the settled rows is the one
    that `certificate_` reports, and it is steered towards the requested coverage.

    `fit` takes rows in the order of time. The last ones calibrate the intervals: a copy of the model is fitted to the
    earlier rows, its predictions of the last ones are answered and settled row by row, and then the model is fitted to
    all rows. Settled rows of `fit` are counted in the certificate.

    Parameters
    ----------
    model : regressor
        Regressor of scikit-learn for one target.
    coverage : float or sequence of float, default 0.9
        Requested coverage. Intervals of several coverages are nested.
    side : {"both", "lower", "upper"}, default "both"
        Ends of the intervals; an end that is not requested is infinite.
    within : float, optional
        Limit of the distances of targets from the base ends, in units, as for `hn.Conformal`.
    calibration : float, default 0.25
        Share of the rows of `fit` that calibrate the intervals. At least 40 rows, but at most half of all rows, are
        used. The ends are infinite until 20 rows are settled.

    Attributes
    ----------
    model_ : regressor
        Model that is fitted to all rows.
    conformal_ : hn.Conformal
        Intervals, with their open rows.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    hannan.Conformal : Intervals around forecasts of any origin.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = X @ [1.0, 2.0] + rng.normal(size=1000)
    >>> model = ConformalRegressor(LinearRegression(), coverage=0.9).fit(X[:500], y[:500])
    >>> inside = 0
    >>> for first in range(500, 1000, 10):  # targets of ten rows arrive together
    ...     rows = slice(first, first + 10)
    ...     tickets, ends = model.predict_interval(X[rows])
    ...     model.settle(tickets, y[rows])
    ...     inside += int(((ends[:, 0] <= y[rows]) & (y[rows] <= ends[:, 1])).sum())
    >>> tickets.tolist()[-1], inside, model.certificate_.groups[0].rows, round(model.certificate_.coverage, 2)
    (499, 453, 605, 0.91)
    """

    def __init__(
        self, model: Any, coverage: float | Sequence[float] = 0.9, *, side: str = "both", within: float | None = None,
        calibration: float = 0.25,
    ) -> None:  # fmt: skip
        self.model = model
        self.coverage = coverage
        self.side = side
        self.within = within
        self.calibration = calibration

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.model)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to all rows, and calibrate the intervals on the last ones.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (rows, features)
            Rows in the order of time.
        y : array of shape (rows,)
            Targets.

        Returns
        -------
        ConformalRegressor
            The fitted regressor; open rows of an earlier fit are gone.
        """
        X = _indexable(X)
        unmasked(y, "y")
        validate_data(self, X, y, skip_check_array=True)
        check_consistent_length(X, y)
        targets = np.asarray(column_or_1d(y, warn=True))
        share = between(self.calibration, 0.0, 1.0, "calibration", "[)")
        conformal = Conformal(["model"], self.coverage, side=self.side, within=self.within)
        rows = len(targets)
        last = min(rows // 2, max(CALIBRATION_ROWS, int(share * rows))) if share else 0
        fitted = clone(self.model).fit(X, targets)  # the model validates the rows
        if last:
            early = clone(self.model).fit(_safe_indexing(X, np.arange(rows - last)), targets[: rows - last])
            points = _points(early, _safe_indexing(X, np.arange(rows - last, rows)))
            for point, target in zip(points.tolist(), targets[rows - last :].tolist(), strict=True):
                conformal.answer("fit", [point])
                conformal.settle("fit", target)
        self.model_, self.conformal_, self._next = fitted, conformal, 0
        return self

    def predict(self, X: Any) -> Array:
        """Return the prediction of the model per row; no row is opened.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (rows, features)
            Rows.

        Returns
        -------
        array of shape (rows,)
            Predictions.
        """
        check_is_fitted(self, "model_")
        X = _indexable(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return _points(self.model_, X)

    def predict_interval(self, X: Any, groups: Sequence[Any] | None = None) -> tuple[Any, Array]:
        """Answer rows with intervals; the rows then wait for their targets.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (rows, features)
            Rows.
        groups : sequence, optional
            Label, or sequence of labels, of the groups of each row, such as "monday" or ["monday", "hour 7"].

        Returns
        -------
        tickets : array of int
            Ticket of each row, for `settle`.
        ends : array
            (low, high) per row; with several coverages, of shape (rows, coverages, 2).

        Raises
        ------
        ValueError
            If the rows or the groups are invalid; then no row is opened.
        """
        points = self.predict(X)
        if not np.isfinite(points).all():
            raise ValueError(f"predictions must be finite; got {points[~np.isfinite(points)][0]!r}")
        labels: list[Any] = [()] * len(points) if groups is None else [_labels_of(one) for one in groups]
        if len(labels) != len(points):
            raise ValueError(f"groups must have one entry per row, {len(points)} in total; got {len(labels)}")
        for one in labels:
            self.conformal_.requested.labels(one)
        tickets = np.arange(self._next, self._next + len(points))
        ends = np.empty((len(points), len(self.conformal_.requested.levels), 2))
        for k, point in enumerate(points.tolist()):
            ends[k] = self.conformal_.answer(int(tickets[k]), [point], labels[k])
            self._next += 1
        return tickets, ends if ends.shape[1] > 1 else ends[:, 0]

    def settle(self, tickets: Any, y: Any) -> None:
        """Settle rows with their targets; the intervals that were issued are judged.

        Parameters
        ----------
        tickets : int or array of int
            Tickets of open rows.
        y : float or array
            Target per ticket.

        Raises
        ------
        ValueError
            If a ticket has no open row or occurs twice, or if a target is not finite; then no row is settled.
        """
        each = self._open(tickets)
        targets = np.atleast_1d(np.asarray(unmasked(y, "y"), dtype=np.float64))
        if targets.shape != (len(each),):
            raise ValueError(f"y must have one target per ticket, {len(each)} in total; got shape {targets.shape}")
        if not np.isfinite(targets).all():
            raise ValueError(f"targets must be finite; got {float(targets[~np.isfinite(targets)][0])!r}")
        for ticket, target in zip(each, targets.tolist(), strict=True):
            self.conformal_.settle(ticket, target)

    def forget(self, tickets: Any) -> None:
        """Close rows whose targets will not arrive.

        Parameters
        ----------
        tickets : int or array of int
            Tickets of open rows.
        """
        for ticket in self._open(tickets):
            self.conformal_.forget(ticket)

    def _open(self, tickets: Any) -> list[int]:
        """Return tickets as integers, after a check that each of them has an open row."""
        check_is_fitted(self, "model_")
        each: list[Any] = np.atleast_1d(np.asarray(tickets)).tolist()
        waiting: set[Hashable] = set(self.conformal_.open)
        for k, ticket in enumerate(each):
            if type(ticket) is not int or ticket not in waiting:
                raise ValueError(f"tickets must be those of open rows, each once; got {ticket!r} at place {k}")
            waiting.remove(ticket)
        return each

    @property
    def certificate_(self) -> CoverageCertificate:
        """Coverage of the settled rows: exact counts, bounds and cost."""
        check_is_fitted(self, "model_")
        return self.conformal_.certificate()


def _indexable(X: Any) -> Any:
    """Return rows that can be selected by their numbers: frames, lists and arrays as they are."""
    unmasked(X, "X")
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead. Reshape your data to (rows, features).")
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if hasattr(X, "__getitem__") else np.asarray(X)


def _points(model: Any, X: Any) -> Array:
    """Return the predictions of a fitted model, one per row."""
    points = np.asarray(model.predict(X), dtype=np.float64)
    if points.ndim != 1:
        raise ValueError(f"the model must predict one number per row; got shape {points.shape}")
    return points


def _labels_of(one: Any) -> Sequence[str]:
    """Return the labels of the groups of a row; a single value is one label."""
    return [str(label) for label in one] if isinstance(one, (list, tuple)) else [str(one)]
