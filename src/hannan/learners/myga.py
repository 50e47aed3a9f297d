"""MYGA: bandits with expert advice and a first-order regret (Allen-Zhu, Bubeck and Li 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hannan import _engine, validation
from hannan.learners.learner import Learner, Weigher
from hannan.learners.tuning import Schedule
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Whom, Withheld
from hannan.mathematics.regularizers import Entropy
from hannan.players.player import ExpertBanditPlayer
from hannan.players.tickets import Book, Move
from hannan.saving import fields
from hannan.validation import Array


@dataclass(frozen=True, repr=False)
class MYGA(Learner):
    """Bandit with expert advice whose regret follows the loss of the best expert; slow, for comparisons.

    Parameters
    ----------
    actions : int
        Number of actions, K.
    experts : int
        Number of experts, N.
    rounds : int
        Number of rounds, T.
    best_loss : float, optional
        Cumulative loss of the best expert, L*, or its gain, in the units of the losses. Default: `rounds`.
    loss_range : tuple of float, default (0.0, 1.0)
        Range of the losses, or of the gains. A loss outside of the range raises ValueError.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    Exponential weights over the experts E_e and thresholds T_s: q = (sum_e w_e E_e + sum_s w_s T_s q)/W, and T_gamma q
    is played. Threshold s follows q without the minority actions of probability s or less. The learning rate is
    eta = min(1/K, sqrt(log(N+T)/(K L*))), and gamma = eta/2. The reference gives both up to constants; these constants
    were chosen here. The regret is O(sqrt(K L* log(N+T)) + K log(N+T)), without explicit constants, so `bound` raises
    Withheld. A round costs O(K T), as published.

    References
    ----------
    Allen-Zhu, Bubeck and Li, Make the minority great again: first-order regret bound for contextual bandits, ICML 2018.

    Examples
    --------
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

    stepped: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("actions", "experts", "rounds"):
            object.__setattr__(self, name, validation.count(getattr(self, name), name))
        self._check_units()
        if self.best_loss is not None:
            object.__setattr__(self, "best_loss", validation.real(self.best_loss, "best_loss"))
            if self._normal_best <= 0.0:
                most = self.in_units(0.0, self.rounds)
                raise ValueError(
                    f"best_loss must be worse than {most:g}, the best total of {self.rounds} rounds; "
                    f"got {self.best_loss!r}"
                )

    @property
    def _normal_best(self) -> float:
        """L* for losses in [0, 1]."""
        if self.best_loss is None:
            return float(self.rounds)
        return self._normalised(self.best_loss, self.rounds, "best_loss")

    @property
    def eta(self) -> float:
        """Learning rate."""
        best = self._normal_best
        root = math.sqrt(math.log(self.experts + self.rounds) / (self.actions * best))
        return min(1.0 / self.actions, root)

    @property
    def gamma(self) -> float:
        """Probability below which a minority action is not played."""
        return self.eta / 2.0

    @property
    def thresholds(self) -> int:
        """Number of thresholds s: gamma < s <= 1/2, in steps of 1/(2T)."""
        return math.floor((0.5 - self.gamma) * 2.0 * self.rounds)

    @property
    def _trivial(self) -> bool:
        return self.experts == 1 or self.actions == 1

    def _weigher(self) -> Weigher:
        return Weigher(Entropy())

    def setup(self) -> Any:
        """Return the setup of the tickets and of the random stream.

        Returns
        -------
        object
            Setup of the engine.
        """
        return self._setup("expert_bandit", self.experts, Schedule.constant(1.0), actions=self.actions)

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """Raise Withheld, except in the trivial case without a choice.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best choice in hindsight, or an upper bound on it.
        printed : bool, default False
            If True, return the bound as the paper prints it.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against.

        Returns
        -------
        Bound
            The trivial bound, if there is only one choice.
        """
        if self._trivial or rounds == 0:
            return bounds.nothing()
        raise Withheld(
            "only an asymptotic bound, O(sqrt(K L* log(N+T)) + K log(N+T)), is known for MYGA (Allen-Zhu, Bubeck and "
            "Li 2018), without explicit constants"
        )

    def start(self, seed: int | None = None, name: str | None = None) -> MYGAPlayer:
        return MYGAPlayer(self, seed, name)


class MYGAPlayer(ExpertBanditPlayer):
    """Player of `MYGA`. A pending move is stored with its advice and with the q and majority that it was drawn from.

    Tickets and the random stream are those of the engine; the mixture of experts and thresholds is not.
    """

    learner: MYGA

    def __init__(self, learner: MYGA, seed: int | None, name: str | None = None) -> None:
        super().__init__(learner, seed, name)
        self._actions = learner.actions
        self._mixture = _engine.Myga(
            learner.actions, learner.experts, learner.thresholds, learner.eta, learner.gamma, 0.5 / learner.rounds
        )
        self._paid = self._worst = 0.0

    @property
    def _own(self) -> float:  # type: ignore[override]  # The loss is summed here, not by the engine.
        return self._paid

    @property
    def _level(self) -> float:  # type: ignore[override]
        return self._worst

    @property
    def _losses(self) -> Array:
        losses: Array = self._mixture.losses
        return losses

    def _rows(self, advice: Any) -> Array:
        rows = self._advice(advice)
        return np.asarray(np.eye(self._actions)[rows].ravel() if rows.dtype.kind == "i" else rows)

    def act(self, advice: Any, awake: Any = None) -> Move:
        """Draw an action. `advice` is one action per expert, or distributions of shape (experts, actions)."""
        if awake is not None:
            raise ValueError(f"awake= is not supported by MYGA: no proof covers it; got awake={awake!r}")
        rows = self._rows(advice)
        q, majority, p = self._mixture.mix(rows)
        stream, noise = self._words
        words = stream.copy()
        u = float(_engine.uniforms(words, 1)[0])
        self._set_words(words, noise)
        edges = np.cumsum(p)
        action = min(int(np.searchsorted(edges, u * edges[-1], side="right")), int(np.flatnonzero(p)[-1]))
        probability = float(p[action] / edges[-1])
        move: Move = self._issue(action, probability, (rows, q, majority))
        return move

    def observe(  # type: ignore[override]
        self, move: Any, value: Any = None, *, loss: Any = None, reward: Any = None
    ) -> None:
        """Settle a move with the loss of its action, with the advice that the move was drawn with.

        `value` is in the units of the learner. `loss=` is for learners of losses, `reward=` for learners of gains.
        """
        if loss is not None:
            self._check_loss_keyword(loss)
        loss = value if loss is None else loss
        if reward is not None:
            self._observe_reward(move, loss, reward)
            return
        number = self._ticket(move)
        rows, q, majority = self._kept(number)
        loss = self._scalar(loss)
        low, high = self.learner.loss_range
        x = (high - loss if self.learner.gains else loss - low) / (high - low)
        estimate, before = x / move.probability, self.distribution()
        self._paid += x
        self._mixture.charge(rows, q, majority, move.action, estimate)
        span = float(np.ptp(rows.reshape(self._n, self._actions)[:, move.action])) * estimate
        if span >= 1e-3:
            after = self.distribution()
            seen = (before > 1e-290) & (after > 0.0)
            self._worst = max(self._worst, float(np.log(before[seen] / after[seen]).max()) / span)
        self._close(number)

    def distribution(self) -> Array:
        """Return the weights of the experts; the state is unchanged."""
        losses = self._losses
        w = np.exp(self.learner.eta * (losses.min() - losses))
        return np.asarray(w / w.sum())

    def _claim(self, gamma: float) -> float | None:
        return self.learner.eta

    # Saving

    def _saved(self) -> dict[str, Any]:
        return {
            **Book._saved(self),
            "stream": self._words[0].astype(np.int64), "own": self._paid, "level": self._worst,
            "losses": np.concatenate([self._losses, self._mixture.mistrust]),
        }  # fmt: skip

    def _restore(self, state: dict[str, Any]) -> None:
        drawn = fields.whole(state["drawn"], "rounds")
        own = fields.number(state["own"], "own loss", 0.0, drawn * (1.0 + 1e-9))
        level = fields.number(state["level"], "level", 0.0, 1e300)
        stream = np.asarray(state["stream"]).astype(np.uint64)
        if stream.shape != (4,) or not stream.any():
            raise ValueError(f"corrupt file: expected a stream of four words, not all zero; found {stream.tolist()}")
        losses = np.asarray(state["losses"])
        if losses.shape != (self._n + self.learner.thresholds,):
            raise ValueError(
                f"corrupt file: expected {self._n + self.learner.thresholds} losses, one per expert and threshold; "
                f"found shape {losses.shape}"
            )
        Book._restore(self, state)
        self._mixture.restore(losses[: self._n], losses[self._n :])
        self._set_words(stream, self._words[1])
        self._paid, self._worst = own, level

    def _told(self, move: Move, plain: Any, kept: Any) -> Any:
        rows, q, majority = fields.items(kept, "open move", 3)
        shares = fields.within(np.asarray(q), "q", 0.0, 1.0 + 1e-9)
        most = np.asarray(majority)
        good = shares.shape == most.shape == (self._actions,) and ((most == 0.0) | (most == 1.0)).all()
        if not (good and most @ shares > 0.0):
            raise ValueError("corrupt file: expected a majority of 0s and 1s with a positive probability under q")
        return self._rows(np.asarray(rows).reshape(self._n, self._actions)), shares, most
