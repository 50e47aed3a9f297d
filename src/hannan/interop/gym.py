"""Adversaries as Gymnasium environments. Importing this module registers `hannan/Adversary-v0`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from hannan import validation
from hannan.adversaries import all_adversaries


class Adversary(gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """Loss sequence as an environment: an action is an arm, and the reward is minus its loss, in [-1, 0].

    Parameters
    ----------
    adversary : str
        Name of a loss sequence of `hannan.adversaries`.
    n : int
        Number of arms.
    rounds : int
        Number of rounds of an episode.
    feedback : {"bandit", "full"}
        Observation after an action: the loss of the chosen arm, or the losses of all arms. It is zero after a reset.
    render_mode : str, optional
        Required by Gymnasium; the environment draws nothing.

    Notes
    -----
    `info` contains the round and the realized regret so far against the best fixed arm of these rounds.

    Examples
    --------
    >>> env = Adversary("switching", n=3, rounds=5)
    >>> seen, info = env.reset(seed=0)
    >>> seen, reward, over, cut, info = env.step(0)
    >>> seen.shape, over, cut, sorted(info)
    ((1,), False, False, ['regret', 'round'])
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, gymnasium's own form

    def __init__(
        self, adversary: str = "switching", n: int = 10, rounds: int = 1000, feedback: str = "bandit",
        render_mode: str | None = None,
    ) -> None:  # fmt: skip
        known = all_adversaries()
        if adversary not in known:
            raise ValueError(f"adversary must be one of {', '.join(sorted(known))}; got {adversary!r}")
        if feedback not in ("bandit", "full"):
            raise ValueError(f'feedback must be "bandit" or "full"; got {feedback!r}')
        self._make, self._full = known[adversary], feedback == "full"
        self.n, self.rounds = validation.count(n, "n"), validation.count(rounds, "rounds")
        self.render_mode = render_mode
        self.action_space = gymnasium.spaces.Discrete(self.n)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (self.n if self._full else 1,), np.float64)
        self.losses: Any = None
        self._round = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new sequence, drawn with the generator of the environment."""
        super().reset(seed=seed)
        self.losses = self._make(self.rounds, self.n, seed=int(self.np_random.integers(2**31)))
        self._round, self._own = 0, 0.0
        self._sums = np.zeros(self.n)
        return np.zeros(self.observation_space.shape), {"round": 0, "regret": 0.0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an arm; return (observation, reward, terminated, truncated, info)."""
        if self.losses is None or self._round >= self.rounds:
            raise ValueError("the episode has ended or not begun; call reset() first")
        if not self.action_space.contains(action):
            raise ValueError(f"action must be in 0..{self.n - 1}; got {action!r}")
        row = self.losses[self._round]
        loss = float(row[int(action)])
        self._round += 1
        self._own += loss
        self._sums += row
        seen = row.copy() if self._full else np.array([loss])
        info = {"round": self._round, "regret": self._own - float(self._sums.min())}
        return seen, -loss, self._round >= self.rounds, False, info


gymnasium.register(id="hannan/Adversary-v0", entry_point="hannan.interop.gym:Adversary")
