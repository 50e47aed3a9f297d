"""Interface to river: bandits as policies, and combinations of regressors as regressors."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from typing import Any

from river import bandit, base

from hannan.learners.bandits import Bandit
from hannan.players.tickets import Move
from hannan.tables.combine.combiner import Combiner


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
