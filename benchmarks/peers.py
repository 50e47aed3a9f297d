"""The same jobs by other packages: river and pymab, used as in their documentation.

They maximize rewards, so they receive 1 - loss. They use their own learning rates: only the time is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
from pymab.policies import EXP3Policy
from river import bandit, base, ensemble

Array = NDArray[np.float64]


def river_exp3(rows: Sequence[Sequence[float]], gamma: float = 0.05, seed: int = 0) -> float:
    """river's Exp3, pulled and updated once per round."""
    policy = bandit.Exp3(gamma=gamma, seed=seed)
    arms = range(len(rows[0]))
    total = 0.0
    for row in rows:
        arm = policy.pull(arms)
        reward = 1.0 - row[arm]
        policy.update(arm, reward)
        total += reward
    return total


def pymab_exp3(rows: Sequence[Sequence[float]], gamma: float = 0.05, seed: int = 0) -> float:
    """pymab's EXP3 (its policies run in Rust), selected and updated once per round."""
    policy: Any = EXP3Policy(n_arms=len(rows[0]), gamma=gamma)
    rng = np.random.default_rng(seed)
    total = 0.0
    for row in rows:
        arm = policy.select_action(rng=rng)
        reward = 1.0 - row[arm]
        policy.update(action=arm, reward=reward)
        total += reward
    return total


def pymab_experiment(means: Array, rounds: int, runs: int, gamma: float = 0.05, seed: int = 0) -> object:
    """pymab's compiled experiment: EXP3 against Bernoulli rewards, `runs` replicates of `rounds` rounds."""
    return Experiment(
        environment=BanditEnvironment(means=1.0 - means, reward_model=BernoulliReward()),
        policies={"exp3": EXP3Policy(n_arms=len(means), gamma=gamma)},
        config=ExperimentConfig(horizon=rounds, n_replicates=runs, seed=seed, backend="rust"),
    ).run()


class Constant(base.Regressor):
    """An expert that always predicts the same number."""

    def __init__(self, prediction: float) -> None:
        self.prediction = prediction

    def learn_one(self, x: object, y: object) -> None:
        """Do nothing."""

    def predict_one(self, x: object) -> float:
        """Return the constant."""
        return self.prediction


def river_hedge(experts: int, targets: Sequence[float], learning_rate: float = 0.05) -> object:
    """river's exponentially weighted average over constant experts, with one learn_one per round."""
    model = ensemble.EWARegressor(
        [Constant(float(c)) for c in np.linspace(0.0, 1.0, experts)], learning_rate=learning_rate
    )
    nothing: dict[str, float] = {}
    for target in targets:
        model.learn_one(nothing, target)
    return model
