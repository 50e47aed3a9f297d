"""Forecaster for sktime that combines forecasters by an `hn.Combiner`."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

try:
    import pandas
    from sktime.forecasting.base import ForecastingHorizon
    from sktime.forecasting.base._meta import _HeterogenousEnsembleForecaster
except ImportError:
    from hannan import extras

    raise ModuleNotFoundError(f"hannan.sktime needs sktime: {extras.command('interop', 'sktime')}") from None

from hannan import validation
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.coverage_certificate import CoverageCertificate
from hannan.tables.combine.function import Combined, combine
from hannan.validation import Array

#: At most one training row in this number of rows is used to learn weights.
SHARE = 3
#: Number of known targets from which a horizon has finite intervals.
ENOUGH = 20


class CombinedForecaster(_HeterogenousEnsembleForecaster):  # type: ignore[misc]
    """Forecaster that combines forecasters with weights learned by an `hn.Combiner`.

    `fit` learns the weights from the last `warm_up` rows, at most a third of all rows: the forecasters are fitted to
    the earlier rows, forecast the next row, are updated with it, and so on. Then all forecasters are fitted to all
    rows. `update` does the same with each new row; with `update_params=False` nothing is learned. A forecast of NaN
    counts as missing. The weights for one step ahead are used for every horizon.

    `predict_interval` returns the intervals of `hn.combine` around the combined forecast. Each horizon up to `horizon`
    has separate intervals, made of the forecasts that `fit` and `update` recorded for this horizon, whose coverage
    `certificate` reports. A larger horizon, or one with fewer than 20 known targets, has the intervals of the next
    smaller horizon k with 20 of them, widened by sqrt(h / k) and without a certificate. Ends are infinite if no horizon
    has 20 known targets.

    Parameters
    ----------
    forecasters : list of (name, forecaster), or list of forecasters
        Forecasters to combine.
    loss : str, default "squared"
        Loss of `hn.Combiner`.
    learner : str or learner, optional
        Learner of `hn.Combiner`. Default: two layers.
    warm_up : int, default 36
        Number of training rows from which weights and intervals are learned.
    n_jobs : int, optional
        Number of processes of `fit`, as in sktime's ensembles.
    horizon : int, optional
        Largest horizon with separate intervals. Default: the largest horizon in `fh` of `fit`, or 1.

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
    >>> import numpy as np
    >>> noisy = pandas.Series([t % 4 for t in range(300)] + np.random.default_rng(0).normal(size=300))
    >>> model = CombinedForecaster(naive, warm_up=100).fit(noisy, fh=[1, 2])
    >>> model.predict_interval(coverage=0.8).round(1).to_numpy().tolist()
    [[-1.7, 2.3], [-0.2, 3.6]]
    >>> model.certificate(coverage=0.8).groups[0].rows
    80
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["The Hannan developers"],
        "capability:exogenous": True,
        "capability:missing_values": False,
        "capability:multivariate": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:update": True,
        "requires-fh-in-fit": False,
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
    }

    def __init__(
        self, forecasters: Any, loss: str = "squared", learner: Any = None, warm_up: int = 36,
        n_jobs: int | None = None, horizon: int | None = None,
    ) -> None:  # fmt: skip
        self.loss, self.learner, self.warm_up, self.horizon = loss, learner, warm_up, horizon
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
        steps = self.horizon
        if steps is None:
            steps = 1 if fh is None else max(1, *(int(step) for step in fh.to_relative(self.cutoff)))
        if X is not None and self.get_tag("requires-fh-in-fit"):
            steps = 1  # later rows of X are not known when such a forecaster is asked
        self._steps = list(range(1, validation.count(steps, "horizon") + 1))
        #: Times and combined forecasts of all steps, from each row before it was known.
        self._recorded: list[tuple[Any, Array]] = []
        self._seen = y.copy()
        if rows:
            early = None if X is None else X.loc[X.index < y.index[-rows]]
            self._fit_forecasters(None, y.iloc[:-rows], early, ForecastingHorizon(self._steps))
            self._scouts = self._get_forecaster_list()
            self._learn(y.iloc[-rows:], X)
        self._fit_forecasters(None, y, X, fh)
        # A forecaster that must know its horizon in `fit` forecasts the next value by a separate copy.
        self._scouts = [
            one.clone().fit(y, X, self._steps) if one.get_tag("requires-fh-in-fit") else one
            for one in self._get_forecaster_list()
        ]
        return self

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> Self:
        scouts, own = self._scouts, self._get_forecaster_list()
        self._seen = y.combine_first(self._seen)
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
            self._record(y.index[t:], X)
            forecasts = [_next(scout, row.index, x) for scout in self._scouts]
            if not all(math.isnan(f) for f in forecasts):
                self.combiner_.answer("now", forecasts)
                self.combiner_.settle("now", float(row.iloc[0]))
            # Known rows may have new values: pass them to the forecasters with the first new row.
            self._update_scouts(y.iloc[: t + 1] if t == first else row, X)
        if first == len(y):
            self._update_scouts(y, X)

    def _record(self, rows: Any, X: Any) -> None:
        """Record the combined forecasts of all steps; with `X`, only of the steps whose rows of `X` are given."""
        steps, x = self._steps, None
        if X is not None:
            x = X.loc[X.index >= rows[0]].iloc[: len(steps)]
            steps = steps[: len(x)]
        first = self._scouts[0]
        if not steps or ForecastingHorizon(rows[:1], is_relative=False).to_relative(first.cutoff)[0] != 1:
            return  # the next row is missing
        each = [scout.predict(fh=ForecastingHorizon(steps), X=x).to_numpy(dtype="float64") for scout in self._scouts]
        table = np.stack(each, axis=1)
        table[~np.isfinite(table)] = math.nan
        combined = [self.combiner_.forecast(row) for row in table]
        told = np.array([math.nan if f is None else f for f in combined])
        times = ForecastingHorizon(steps).to_absolute(first.cutoff).to_pandas()
        self._recorded.append((times, told))

    def _update_scouts(self, rows: Any, X: Any) -> None:
        for scout in self._scouts:
            scout.update(rows, None if X is None else X.loc[rows.index], update_params=True)

    def _predict(self, fh: Any, X: Any) -> Any:
        table = pandas.concat(self._predict_forecasters(fh, X), axis=1)
        values = [self.combiner_.forecast(row) for row in table.to_numpy(dtype="float64")]
        return pandas.Series([math.nan if f is None else f for f in values], table.index, name=self._name)

    def _predict_interval(self, fh: Any, X: Any, coverage: list[float]) -> Any:
        points = self._predict(fh, X)
        columns = pandas.MultiIndex.from_product([self._get_varnames(), coverage, ["lower", "upper"]])
        levels = sorted({level for level in coverage if 0.0 < level < 1.0})
        table = np.empty((len(points), len(coverage), 2))
        for k, (step, point) in enumerate(zip(fh.to_relative(self.cutoff), points.to_numpy(), strict=True)):
            ends = self._ends(int(step), float(point), levels) if levels else np.empty((0, 2))
            for c, level in enumerate(coverage):
                whole = (point, point) if level <= 0.0 else (-math.inf, math.inf)
                table[k, c] = ends[levels.index(level)] if level in levels else whole
        return pandas.DataFrame(table.reshape(len(points), -1), index=points.index, columns=columns)

    def _ends(self, step: int, point: float, levels: list[float]) -> Array:
        """Return the ends of the interval around a forecast, (levels, 2)."""
        of = min(step, len(self._steps))
        while of > 1 and sum(math.isfinite(y) for y in self._history(of)[1]) < ENOUGH:
            of -= 1
        if step < 1 or not math.isfinite(point):
            return np.tile([-math.inf, math.inf], (len(levels), 1))
        combined = self._covered(of, levels, point)
        assert combined.intervals is not None
        ends: Array = combined.intervals[-1]
        return point + (ends - point) * math.sqrt(step / of)

    def _history(self, step: int) -> tuple[list[float], list[float]]:
        """Return the recorded forecasts of a horizon, and their targets; NaN if a target is not known."""
        known = [(times[step - 1], told[step - 1]) for times, told in self._recorded if len(told) >= step]
        known = [(time, forecast) for time, forecast in known if math.isfinite(forecast)]
        targets = self._seen.reindex([time for time, _ in known]).to_numpy(dtype="float64").ravel()
        return [float(forecast) for _, forecast in known], targets.tolist()

    def _covered(self, step: int, levels: list[float], *point: float) -> Combined:
        """Return the recorded forecasts of a horizon, and the next one if it is given, with their intervals."""
        forecasts, targets = self._history(step)
        table = {"combined": [*forecasts, *point], "y": [*targets, *(math.nan for _ in point)]}
        return combine(table, "y", coverage=levels, horizon=step)

    def certificate(self, coverage: float = 0.9, step: int = 1) -> CoverageCertificate:
        """Return the certificate of the intervals that one horizon had in the recorded rows.

        Parameters
        ----------
        coverage : float, default 0.9
            Requested coverage.
        step : int, default 1
            Horizon, at most `horizon`.

        Returns
        -------
        CoverageCertificate
            Exact counts of the recorded rows whose targets are known; the first 20 are not counted.
        """
        self.check_is_fitted()
        if validation.count(step, "step") > len(self._steps):
            raise ValueError(f"step must be at most the largest recorded horizon, {len(self._steps)}; got {step}")
        return self._covered(step, [coverage]).certificate

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
        at = scout.fh
    value = float(scout.predict(fh=at, X=X).iloc[0])
    return value if math.isfinite(value) else math.nan
