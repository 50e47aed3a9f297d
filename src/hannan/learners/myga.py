"""MYGA (Allen-Zhu, Bubeck, Li 2018): bandits with experts, first order at last."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from hannan import bounds, refusals, resuming, told
from hannan.bounds import Bound, Withheld
from hannan.kernels.state import HEADER, LEVEL, LOW, OWN, PROBABILITY, ROUND, STREAM, TOTAL
from hannan.learners.learner import Learner
from hannan.live import ExpertBanditPlayer
from hannan.moves import Move
from hannan.refusals import Array


@dataclass(frozen=True, repr=False)
class MYGA(Learner):
    """q = (sum_e w_e E_e + sum_s w_s T_s q)/W, play T_gamma q: exponential weights with thresholds among the experts.

    Threshold s is an expert who repeats q but plays no minority arm of probability s or less, so that rare arms
    are mistrusted exactly as much as pays. eta = min(1/K, sqrt(log(N+T)/(K L*))) and gamma = eta/2, with `best_loss`
    (the rounds, if it is not given) for L*; the source gives both up to constants, and these are ours. The regret is
    O(sqrt(K L* log(N+T)) + K log(N+T)): an order without constants, so no number is printed. O(K T) a round, as
    published.

    >>> learner = MYGA(3, 5, rounds=200, best_loss=10)
    >>> player = learner.start(seed=0)
    >>> player.observe(player.act([0, 1, 2, 0, 0]), 1.0)
    >>> player.distribution().round(3).tolist()
    [0.173, 0.241, 0.241, 0.173, 0.173]
    """

    actions: int
    experts: int
    rounds: int
    best_loss: float | None = None
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False

    def __post_init__(self) -> None:
        for name in ("actions", "experts", "rounds"):
            object.__setattr__(self, name, refusals.count(getattr(self, name), name))
        self._check_units()
        if self.best_loss is not None:
            object.__setattr__(self, "best_loss", refusals.positive(self.best_loss, "best_loss"))

    @property
    def eta(self) -> float:
        """The learning rate."""
        best = float(self.rounds) if self.best_loss is None else self.best_loss / self.width
        root = math.sqrt(math.log(self.experts + self.rounds) / (self.actions * best))
        return min(1.0 / self.actions, root)

    @property
    def gamma(self) -> float:
        """Below this a minority arm is not played."""
        return self.eta / 2.0

    @property
    def thresholds(self) -> int:
        """How many s there are: gamma < s <= 1/2, 1/(2T) apart."""
        return math.floor((0.5 - self.gamma) * 2.0 * self.rounds)

    @property
    def _trivial(self) -> bool:
        return self.experts == 1 or self.actions == 1

    def program(self) -> Any:
        """What a stepped game reads of it."""
        low, high = self.loss_range
        return SimpleNamespace(
            setting="expert_bandit", n=self.experts, actions=self.actions, code=-1, low=low, high=high,
            gains=self.gains, gamma=1.0,
        )  # fmt: skip

    def bound(
        self,
        rounds: int | None = None,
        best_loss: float | None = None,
        *,
        printed: bool = False,
        against: str | None = None,
    ) -> Bound:
        """Withheld, but where there is nothing to choose."""
        if self._trivial or rounds == 0:
            return bounds.nothing()
        raise Withheld(
            "MYGA has a bound of an order only, sqrt(K L* log(N+T)) + K log(N+T) (Allen-Zhu, Bubeck, Li 2018)"
        )

    def start(self, seed: int | None = None, name: str | None = None) -> MYGAPlayer:
        return MYGAPlayer(self, seed, name)


class MYGAPlayer(ExpertBanditPlayer):
    """Plays `MYGA`; a ticket carries the q it was drawn from."""

    __slots__ = ()

    learner: MYGA

    def __init__(self, learner: MYGA, seed: int | None, name: str | None = None) -> None:
        from hannan.kernels import minority, streams

        self.learner = learner
        entropy = self._christen(seed, name)
        self._program = learner.program()
        self._n = learner.experts
        self._steps, self._pointer = minority, 0
        self._state = np.zeros(HEADER + 2 * self._n + learner.thresholds)
        self._state[LOW : LOW + 2] = learner.loss_range
        self._state.view(np.uint64)[STREAM : STREAM + 4] = streams.words(entropy, 0)
        self._numbers = memoryview(self._state)  # type: ignore[arg-type]
        self._open = {}
        self._round = self._forgotten = self._largest_delay = 0
        self._actions = learner.actions
        self._bind()

    def _bind(self) -> None:
        self._state[HEADER + self._n : HEADER + 2 * self._n] = 1.0
        self._state[TOTAL] = self._n

    def _sizes(self) -> tuple[int, int, int]:
        return self._n, self._actions, self.learner.thresholds

    def _rows(self, advice: Any) -> Array:
        rows, mixed = self._advice(advice)
        if mixed:
            return np.asarray(rows)
        return np.asarray(np.eye(self._actions)[rows].ravel())

    def act(self, advice: Any, awake: Any = None) -> Move:
        """Draw an action. `advice`: an action for each expert, or a distribution (experts, actions)."""
        from hannan.kernels import streams

        if awake is not None:
            raise ValueError(f"MYGA has no experts who sleep: no proof covers it; got awake={awake!r}")
        rows, learner, state = self._rows(advice), self.learner, self._state
        if self._open:
            self._largest_delay = max(self._largest_delay, len(self._open))
        q, majority, p = (np.zeros(self._actions) for _ in range(3))
        eta, step = learner.eta, 0.5 / learner.rounds
        state[TOTAL] = self._steps.mix(state, *self._sizes(), eta, learner.gamma, step, rows, q, majority, p)
        u = np.empty(1)
        streams.uniforms(state, STREAM, u)
        edges = np.cumsum(p)
        action = min(int(np.searchsorted(edges, u[0] * edges[-1], side="right")), int(np.flatnonzero(p)[-1]))
        self._numbers[PROBABILITY] = probability = float(p[action] / edges[-1])
        self._numbers[ROUND] += 1.0
        self._round = number = self._round + 1
        move = Move(self.id, number, action, probability)
        self._open[number] = (move, 1.0 / probability, rows, q, majority)
        return move

    def observe(self, move: Move, loss: Any) -> None:
        """Settle a move with the loss of its action, on the advice that it was drawn with."""
        _, weight, rows, q, majority = self._ticket(move)
        loss = self._scalar(loss)
        low, high = self.learner.loss_range
        x = (high - loss if self.learner.gains else loss - low) / (high - low)
        eta, gamma, step = self.learner.eta, self.learner.gamma, 0.5 / self.learner.rounds
        before = self.distribution()
        self._numbers[OWN] += x
        self._steps.charge(self._state, *self._sizes(), gamma, step, rows, q, majority, move[2], x * weight)
        losses = self._state[HEADER : HEADER + self._n]
        w = np.exp(eta * (losses.min() - losses))
        self._state[HEADER + self._n : HEADER + 2 * self._n] = w
        self._state[TOTAL] = w.sum()
        span = float(np.ptp(rows.reshape(self._n, self._actions)[:, move[2]])) * x * weight
        if span >= 1e-3:
            seen = (before > 1e-290) & (w > 0.0)
            worst = float(np.log(before[seen] / (w[seen] / w.sum())).max())
            self._numbers[LEVEL] = max(self._numbers[LEVEL], worst / span)
        del self._open[move[1]]

    _determined = resuming.UNITS

    def _anew(self, state: Array) -> Array:
        losses = state[HEADER : HEADER + self._n]
        w = np.exp(self.learner.eta * (losses.min() - losses))
        return np.asarray(w / w.sum())

    def _told(self, move: Move, rest: list[Any]) -> tuple[Any, ...]:
        weight, rows, q, majority = told.items(rest, "open move", 4)
        shares = told.array(q, "f", self._actions, "q", 0.0, 1.0 + 1e-9)
        most = told.array(majority, "f", self._actions, "majority", 0.0, 1.0)
        if not (((most == 0.0) | (most == 1.0)).all() and most @ shares > 0.0):
            raise ValueError("its majority must be 0s and 1s, of some of q; it is not")
        return told.number(weight, "weight", 1e-30, 1e30), self._told_shares(rows), shares, most

    def distribution(self) -> Array:
        """p over the real experts; changes nothing."""
        w = self._state[HEADER + self._n : HEADER + 2 * self._n]
        total = w.sum()
        return np.asarray(w / total) if total > 0.0 else np.full(self._n, 1.0 / self._n)

    def _claim(self, gamma: float) -> float | None:
        return self.learner.eta
