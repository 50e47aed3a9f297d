"""Interface to river: bandits as policies, combinations of regressors, and prediction intervals of any regressor."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river import bandit, base
from river.conf.interval import Interval

from hannan import validation
from hannan.learners.bandits import Bandit
from hannan.players.tickets import Move
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.conformal import Conformal as Intervals
from hannan.tables.combine.coverage_certificate import CoverageCertificate


class Policy(bandit.base.Policy):  # type: ignore[misc]
    """Bandit as a river policy, with `pull(arms)` and `update(arm, reward)`.

    Parameters
    ----------
    learner : Bandit
        Learner of rewards (`gains=True`). Rewards must be in its `loss_range`.
    seed : int, optional
        Random seed. Default: fresh entropy.

    Notes
    -----
    The first pull determines the arms and their order. A reward settles the oldest pending pull of its arm.

    Examples
    --------
    >>> import hannan as hn
    >>> policy = Policy(hn.Bandit(2, gains=True), seed=1)
    >>> for _ in range(300):
    ...     arm = policy.pull(["a", "b"])
    ...     policy.update(arm, 1.0 if arm == "b" else 0.0)
    >>> policy.ranking[0], policy.player.certificate().rounds
    ('b', 300)
    """

    def __init__(self, learner: Bandit, seed: int | None = None) -> None:
        super().__init__()
        if not getattr(learner, "gains", False) or not hasattr(learner, "n"):
            raise ValueError(f"learner must be a Bandit with gains=True, as river's rewards are; got {learner!r}")
        self.learner, self.seed = learner, seed
        self.player = learner.start(seed)
        self._arms: list[Any] = []
        self._open: defaultdict[Any, deque[Move]] = defaultdict(deque)

    def _pull(self, arm_ids: list[Any]) -> Any:
        arms = list(arm_ids)
        if not self._arms:
            if len(arms) != self.learner.n or len(set(arms)) != len(arms):
                raise ValueError(f"pull needs {self.learner.n} different arms; got {arms!r}")
            self._arms = arms
        elif arms != self._arms and set(arms) != set(self._arms):
            raise ValueError(f"the arms of a policy cannot change: expected {self._arms!r}; got {arms!r}")
        move = self.player.act()
        arm = self._arms[move.action]
        self._open[arm].append(move)
        return arm

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Settle the oldest pending pull of an arm with its reward."""
        if not self._open[arm_id]:
            raise ValueError(f"arm {arm_id!r} has no pending pull; call pull() before update()")
        self.player.observe(self._open[arm_id][0], float(reward_args[0]))
        self._open[arm_id].popleft()
        super().update(arm_id, *reward_args, **reward_kwargs)


class Regressor(base.Ensemble, base.Regressor):  # type: ignore[misc]
    """Regressor that combines the predictions of other regressors with an `hn.Combiner`.

    Parameters
    ----------
    models : list of Regressor
        Regressors of river. Each predicts before it learns.
    learner : str or learner, optional
        Weighting rule, as in `hn.Combiner`.
    loss : str
        Loss of a forecast, as in `hn.Combiner`.
    seed : int
        Random seed, for weighting rules that draw.

    Examples
    --------
    >>> from river import dummy, stats
    >>> model = Regressor([dummy.StatisticRegressor(stats.Mean()), dummy.StatisticRegressor(stats.Shift(1))])
    >>> for t in range(50):
    ...     model.learn_one({}, float(t))
    >>> model.weights.round(2).tolist()[1], round(model.predict_one({}), 1)
    (1.0, 48.0)
    """

    def __init__(self, models: list[Any], learner: Any = None, loss: str = "squared", seed: int = 0) -> None:
        super().__init__(models)
        self.learner, self.loss, self.seed = learner, loss, seed
        self.combiner = Combiner(len(models), loss, learner, seed=seed)

    @property
    def weights(self) -> Any:
        """Weight of each model in the next prediction."""
        return self.combiner.weights()

    def _forecasts(self, x: dict[Any, Any]) -> Any:
        forecasts = (model.predict_one(x) for model in self)
        return [math.nan if f is None or not math.isfinite(f) else f for f in forecasts]

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Return the combined prediction, or 0 if no model has one, which is the convention of river."""
        forecast = self.combiner.forecast(self._forecasts(x))
        return 0.0 if forecast is None else forecast

    def learn_one(self, x: dict[Any, Any], y: float) -> None:
        """Settle the round, then let every model learn."""
        forecasts = self._forecasts(x)
        if not all(math.isnan(f) for f in forecasts):
            self.combiner.answer("now", forecasts)
            self.combiner.settle("now", float(y))
        for model in self:
            model.learn_one(x, y)


class Conformal(base.Wrapper, base.Regressor):  # type: ignore[misc]
    """Regressor with prediction intervals whose coverage is certified, also for late targets.

    `predict_one(x, with_interval=True)` issues an interval, as the classes of `river.conf` do. `learn_one(x, y)` judges
    the oldest interval that was issued for x and waits, or one that is issued then, and passes the row to the
    regressor. Rows may be learned late and in any order.

    Parameters
    ----------
    regressor : Regressor
        Regressor of river.
    coverage : float, default 0.9
        Requested coverage.
    side : {"both", "lower", "upper"}, default "both"
        Ends of the intervals; an end that is not requested is infinite.
    groups : callable, optional
        Function of x that returns the labels of the groups of a row, such as `lambda x: [x["weekday"]]`.
    within : float, optional
        Limit of the distances of targets from the base ends, in units, as for `hn.Conformal`.
    most_open : int, default 10000
        Largest number of intervals that wait for their targets. The oldest one is dropped for the next.

    Notes
    -----
    The ends are infinite until 20 rows are learned. Rows whose predictions are not finite are learned without being
    counted.

    Examples
    --------
    >>> from river import dummy, stats
    >>> model = Conformal(dummy.StatisticRegressor(stats.Mean()), coverage=0.8)
    >>> inside = 0
    >>> for t in range(300):
    ...     inside += (t * 7) % 10 in model.predict_one({}, with_interval=True)
    ...     model.learn_one({}, (t * 7) % 10)
    >>> model.certificate().groups[0].rows, inside - 20, round(model.certificate().coverage, 2)
    (280, 231, 0.82)
    """

    def __init__(
        self, regressor: Any, coverage: float = 0.9, side: str = "both",
        groups: Callable[[dict[Any, Any]], Sequence[str]] | None = None, within: float | None = None,
        most_open: int = 10_000,
    ) -> None:  # fmt: skip
        self.regressor, self.coverage, self.side = regressor, coverage, side
        self.groups, self.within = groups, within
        self.most_open = validation.count(most_open, "most_open")
        self.intervals = Intervals(["regressor"], validation.real(coverage, "coverage"), side=side, within=within)
        self._next = 0
        #: Numbers of the open rows of each x, oldest first.
        self._open: defaultdict[Any, deque[int]] = defaultdict(deque)
        self._keys: dict[int, Any] = {}

    @property
    def _wrapped_model(self) -> Any:
        return self.regressor

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, preprocessing

        yield {"regressor": preprocessing.StandardScaler() | linear_model.LinearRegression()}

    def certificate(self) -> CoverageCertificate:
        """Return the coverage of the learned rows: exact counts, bounds and cost."""
        return self.intervals.certificate()

    def predict_one(self, x: dict[Any, Any], with_interval: bool = False, **kwargs: Any) -> Any:
        """Return the prediction of the regressor, or issue an interval, which then waits for `learn_one`."""
        forecast = self.regressor.predict_one(x, **kwargs)
        if not with_interval:
            return forecast
        ends = self._issue(x, forecast)
        return Interval(*((-math.inf, math.inf) if ends is None else ends))

    def learn_one(self, x: dict[Any, Any], y: float, **kwargs: Any) -> None:
        """Settle the oldest open row of x, or answer and settle it now; then the regressor learns the row."""
        key, target = _key(x), validation.real(y, "y")
        if key in self._open or self._issue(x, self.regressor.predict_one(x)) is not None:
            self.intervals.settle(self._open[key][0], target)
            self._close(key)
        self.regressor.learn_one(x, y, **kwargs)

    def forget_one(self, x: dict[Any, Any]) -> None:
        """Close the oldest open row of x, whose target will not arrive."""
        key = _key(x)
        if key not in self._open:
            raise ValueError(f"no interval of x waits for its target; got x = {validation.brief(x)}")
        self.intervals.forget(self._open[key][0])
        self._close(key)

    def _issue(self, x: dict[Any, Any], forecast: float | None) -> Any:
        """Answer a row, and return its ends; None if the prediction is not finite."""
        if forecast is None or not math.isfinite(forecast):
            return None
        labels = () if self.groups is None else [str(label) for label in self.groups(x)]
        ends = self.intervals.answer(self._next, [float(forecast)], labels)
        key = _key(x)
        self._open[key].append(self._next)
        self._keys[self._next] = key
        self._next += 1
        if len(self._keys) > self.most_open:
            oldest = next(iter(self._keys))
            self.intervals.forget(oldest)
            self._close(self._keys[oldest])
        return ends

    def _close(self, key: Any) -> None:
        del self._keys[self._open[key].popleft()]
        if not self._open[key]:
            del self._open[key]


def _key(x: dict[Any, Any]) -> Any:
    """Return a hashable description of a row."""
    return tuple(sorted((repr(name), repr(value)) for name, value in x.items()))
