"""river: a bandit as a `bandit.base.Policy`, experts as a `base.Regressor` over other regressors."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from typing import Any

from river import bandit, base

from hannan.learners.bandits import Bandit
from hannan.players.tickets import Move
from hannan.tables.combine.combiner import Combiner


class Policy(bandit.base.Policy):  # type: ignore[misc]
    """A `Bandit` as river plays it: `pull(arms)`, then `update(arm, reward)`.

    The learner takes gains, because river's rewards are to be large; they must be in its loss_range. The arms
    are those of the first pull, in that order. A reward settles the oldest open pull of its arm.

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
    """Regressors as columns of an `hn.Combiner`: the prediction is their combination, with its promises.

    `learner` and `loss` are those of `hn.Combiner`. Each model predicts before it learns, so its loss is that of its
    own forecast.

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
        told = (model.predict_one(x) for model in self)
        return [math.nan if f is None or not math.isfinite(f) else f for f in told]

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Return the combined prediction, or 0 if no model has one, which is the convention of river."""
        told = self.combiner.forecast(self._forecasts(x))
        return 0.0 if told is None else told

    def learn_one(self, x: dict[Any, Any], y: float) -> None:
        """Settle the round, then let every model learn."""
        forecasts = self._forecasts(x)
        if not all(math.isnan(f) for f in forecasts):
            self.combiner.answer("now", forecasts)
            self.combiner.settle("now", float(y))
        for model in self:
            model.learn_one(x, y)
