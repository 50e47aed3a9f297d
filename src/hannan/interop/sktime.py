"""sktime: forecasters as columns of an `hn.Combiner`, in one forecaster."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

try:
    import pandas
    from sktime.forecasting.base import ForecastingHorizon
    from sktime.forecasting.base._meta import _HeterogenousEnsembleForecaster
except ImportError:
    from hannan import extras

    raise ModuleNotFoundError(f"hannan.sktime needs sktime: {extras.command('interop', 'sktime')}") from None

from hannan import validation
from hannan.tables.combine.combiner import Combiner
from hannan.validation import Array

#: The share of the training rows that may teach weights, at the most; the forecasters need the others.
SHARE = 3


class CombinedForecaster(_HeterogenousEnsembleForecaster):  # type: ignore[misc]
    """sum_i p_i f_i of forecasters, p learnt by an `hn.Combiner` from their forecasts of the next value.

    `fit` lets the last `warm_up` rows teach the weights (at most a third of all): the forecasters are fitted to the
    rows before, forecast the next, are updated with it, and so on; then all are fitted to everything. `update` does
    the same with each new row: it is forecast before it is learnt from. With `update_params=False` nothing is learnt.
    A forecaster that says NaN sleeps. `learner` and `loss` are those of `hn.Combiner`, and `combiner_` is one, with its
    promises; the weights of one step ahead are used at every horizon. Intervals are not forecast.

    Parameters
    ----------
    forecasters : list of (name, forecaster), or of forecasters
    loss : str, default "squared"
    learner : str or learner, default None: two layers
    warm_up : int, default 12
    n_jobs : int, default None; for `fit`, as in sktime's ensembles

    >>> import pandas
    >>> from sktime.forecasting.naive import NaiveForecaster
    >>> from hannan.interop.sktime import CombinedForecaster
    >>> y = pandas.Series([float(t % 4) for t in range(60)])
    >>> naive = [("last", NaiveForecaster("last")), ("season", NaiveForecaster("last", sp=4))]
    >>> model = CombinedForecaster(naive, warm_up=20).fit(y, fh=[1, 2])
    >>> model.predict().round(2).tolist(), model.weights_.round(2).tolist()
    ([0.07, 1.05], [0.02, 0.98])
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["The Hannan developers"],
        "capability:exogenous": True,
        "capability:missing_values": False,
        "capability:multivariate": False,
        "capability:pred_int": False,
        "capability:update": True,
        "requires-fh-in-fit": False,
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
    }

    def __init__(
        self, forecasters: Any, loss: str = "squared", learner: Any = None, warm_up: int = 12, n_jobs: int | None = None
    ) -> None:
        self.loss, self.learner, self.warm_up = loss, learner, warm_up
        super().__init__(forecasters=forecasters, n_jobs=n_jobs)
        self._anytagis_then_set("requires-fh-in-fit", True, False, self._forecasters)
        self._anytagis_then_set("capability:insample", False, True, self._forecasters)

    @property
    def weights_(self) -> Array:
        """The weight of each forecaster in the next forecast."""
        self.check_is_fitted()
        return self.combiner_.weights()

    def _fit(self, y: Any, X: Any, fh: Any) -> Self:
        self._name = y.name
        rows = min(validation.count(self.warm_up, "warm_up", least=0), len(y) // SHARE)
        self.combiner_ = Combiner(self._get_forecaster_names(), self.loss, self.learner)
        if rows:
            early = None if X is None else X.loc[X.index < y.index[-rows]]
            self._fit_forecasters(None, y.iloc[:-rows], early, ForecastingHorizon([1]))
            self._scouts = self._get_forecaster_list()
            self._learn(y.iloc[-rows:], X)
        self._fit_forecasters(None, y, X, fh)
        # Who must know the horizon beforehand forecasts the next value by a copy of its own.
        self._scouts = [
            one.clone().fit(y, X, [1]) if one.get_tag("requires-fh-in-fit") else one
            for one in self._get_forecaster_list()
        ]
        return self

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> Self:
        scouts, own = self._scouts, self._get_forecaster_list()
        if update_params:
            self._learn(y, X)
            own = [one for one, scout in zip(own, scouts, strict=True) if one is not scout]
        else:
            own += [scout for one, scout in zip(own, scouts, strict=True) if one is not scout]
        for one in own:
            one.update(y, X, update_params=update_params)
        return self

    def _learn(self, y: Any, X: Any) -> None:
        """Row by row: forecast, weigh, and only then learn. Rows at or before the cutoff teach no weight twice."""
        first = int((y.index <= self._scouts[0].cutoff[0]).sum())
        for t in range(first, len(y)):
            row = y.iloc[[t]]
            x = None if X is None else X.loc[row.index]
            forecasts = [_next(scout, row.index, x) for scout in self._scouts]
            if not all(math.isnan(f) for f in forecasts):
                self.combiner_.answer("now", forecasts)
                self.combiner_.settle("now", float(row.iloc[0]))
            # Rows that were known may come with other values: the forecasters see them with the first new one.
            self._hear(y.iloc[: t + 1] if t == first else row, X)
        if first == len(y):
            self._hear(y, X)

    def _hear(self, rows: Any, X: Any) -> None:
        for scout in self._scouts:
            scout.update(rows, None if X is None else X.loc[rows.index], update_params=True)

    def _predict(self, fh: Any, X: Any) -> Any:
        table = pandas.concat(self._predict_forecasters(fh, X), axis=1)
        told = [self.combiner_.forecast(row) for row in table.to_numpy(dtype="float64")]
        return pandas.Series([math.nan if f is None else f for f in told], table.index, name=self._name)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> Any:
        """What sktime's own checks build."""
        from sklearn.linear_model import LinearRegression
        from sktime.forecasting.compose import make_reduction
        from sktime.forecasting.naive import NaiveForecaster
        from sktime.forecasting.trend import TrendForecaster

        plain = [("last", NaiveForecaster("last")), ("mean", NaiveForecaster("mean")), ("trend", TrendForecaster())]
        direct = make_reduction(LinearRegression(), window_length=2, strategy="direct")
        return [
            {"forecasters": plain, "warm_up": 3},
            {"forecasters": [*plain[:2], ("direct", direct)], "learner": "boa", "loss": "absolute", "warm_up": 2},
        ]


def _next(scout: Any, index: Any, X: Any) -> float:
    """The forecast of the row at `index`; NaN where a scout that knows one horizon is asked for another."""
    at = ForecastingHorizon(index, is_relative=False)
    if scout.get_tag("requires-fh-in-fit"):
        if at.to_relative(scout.cutoff)[0] != 1:
            return math.nan
        at = ForecastingHorizon([1])
    told = float(scout.predict(fh=at, X=X).iloc[0])
    return told if math.isfinite(told) else math.nan
