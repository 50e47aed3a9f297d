"""Forecaster for sktime that combines forecasters by an `hn.Combiner`."""

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

#: At most one training row in this number of rows is used to learn weights.
SHARE = 3


class CombinedForecaster(_HeterogenousEnsembleForecaster):  # type: ignore[misc]
    """Forecaster that combines forecasters with weights learned by an `hn.Combiner`.

    `fit` learns the weights from the last `warm_up` rows, at most a third of all rows: the forecasters are fitted to
    the earlier rows, forecast the next row, are updated with it, and so on. Then all forecasters are fitted to all
    rows. `update` does the same with each new row; with `update_params=False` nothing is learned. A forecast of NaN
    counts as missing. The weights for one step ahead are used for every horizon. Intervals are not supported.

    Parameters
    ----------
    forecasters : list of (name, forecaster), or list of forecasters
        Forecasters to combine.
    loss : str, default "squared"
        Loss of `hn.Combiner`.
    learner : str or learner, optional
        Learner of `hn.Combiner`. Default: two layers.
    warm_up : int, default 12
        Number of training rows from which weights are learned.
    n_jobs : int, optional
        Number of processes of `fit`, as in sktime's ensembles.

    Attributes
    ----------
    combiner_ : Combiner
        Combiner with the weights and their guarantees.

    Examples
    --------
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
        """Weight of each forecaster in the next forecast."""
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
        # A forecaster that must know its horizon in `fit` forecasts the next value by a separate copy.
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
        """Forecast, weigh and learn row by row; rows up to the cutoff change no weights."""
        first = int((y.index <= self._scouts[0].cutoff[0]).sum())
        for t in range(first, len(y)):
            row = y.iloc[[t]]
            x = None if X is None else X.loc[row.index]
            forecasts = [_next(scout, row.index, x) for scout in self._scouts]
            if not all(math.isnan(f) for f in forecasts):
                self.combiner_.answer("now", forecasts)
                self.combiner_.settle("now", float(row.iloc[0]))
            # Known rows may have new values: pass them to the forecasters with the first new row.
            self._update_scouts(y.iloc[: t + 1] if t == first else row, X)
        if first == len(y):
            self._update_scouts(y, X)

    def _update_scouts(self, rows: Any, X: Any) -> None:
        for scout in self._scouts:
            scout.update(rows, None if X is None else X.loc[rows.index], update_params=True)

    def _predict(self, fh: Any, X: Any) -> Any:
        table = pandas.concat(self._predict_forecasters(fh, X), axis=1)
        values = [self.combiner_.forecast(row) for row in table.to_numpy(dtype="float64")]
        return pandas.Series([math.nan if f is None else f for f in values], table.index, name=self._name)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> Any:
        """Return parameters for the checks of sktime."""
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
    """Return the forecast of the row at `index`; NaN if a scout with a fixed horizon is asked for another horizon."""
    at = ForecastingHorizon(index, is_relative=False)
    if scout.get_tag("requires-fh-in-fit"):
        if at.to_relative(scout.cutoff)[0] != 1:
            return math.nan
        at = ForecastingHorizon([1])
    value = float(scout.predict(fh=at, X=X).iloc[0])
    return value if math.isfinite(value) else math.nan
