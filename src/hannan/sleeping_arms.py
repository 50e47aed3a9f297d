"""Arms that sleep: `act(awake=mask)` of a bandit, whose bound then holds for each arm over its waking rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import told
from hannan.bounds import Bound
from hannan.kernels.state import FINE, PROBABILITY
from hannan.live import BanditPlayer
from hannan.moves import Move
from hannan.refusals import Array
from hannan.sleeping import mask_of


class SleepingArmsPlayer(BanditPlayer):
    """A player of a bandit of whose arms some may sleep.

    It plays p restricted to the awake and renormalised, and charges sleepers the loss that it saw, whose mean is
    its own: a sleeper's regret stands still. The second moment that the bounds use only shrinks. Exact weights
    and a zero-order bound of the package's own are needed; others refuse to sleep, or withhold their bound.
    """

    __slots__ = ("_slept",)

    def _bind(self) -> None:
        super()._bind()
        self._slept = 0

    def _act_awake(self, awake: Any) -> Move:
        mask = mask_of(awake, self._n, "arm")
        if mask is None:
            return self.act()
        if self._program.code < 0:
            raise ValueError(f"arms that sleep need a compiled smoothing; got {self.learner!r}")
        from hannan.kernels.sleeping import act_awake

        if self._open:
            self._largest_delay = max(self._largest_delay, len(self._open))
        if self._steps.make_ready(self._state, self._pointer, True) != FINE:
            raise self._failed()
        p: Array = np.empty(self._n)
        action = int(act_awake(self._state, mask, p))
        self._round = number = self._round + 1
        probability = self._numbers[PROBABILITY]
        move = Move(self.id, number, action, probability)
        self._open[number] = (move, 1.0 / probability, mask)
        self._slept += 1
        return move

    def _settle_awake(self, ticket: tuple[Any, ...], loss: float) -> None:
        from hannan.kernels.sleeping_arms import settle_awake

        move, weight, mask = ticket
        low, high = self.learner.loss_range
        if not low <= loss <= high:
            raise self._bad_loss(loss)
        if settle_awake(self._state, self._pointer, mask, move[2], weight, loss) != FINE:
            raise self._failed()
        del self._open[move[1]]

    def distribution(self, awake: Any = None) -> Array:
        """p of the next act(awake); changes nothing."""
        mask = None if awake is None else mask_of(awake, self._n, "arm")
        if mask is None:
            return super().distribution()
        from hannan.kernels.sleeping import share_awake

        state, p = self._state.copy(), np.empty(self._n)
        if self._open and self._steps.make_ready(state, self._pointer, False) != FINE:
            raise self._failed()
        share_awake(state, mask, p)
        return p

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        bound, withheld = super()._bound(best)
        if self._slept and bound is not None and bound.proof != "whole":
            return None, f"arms slept in {self._slept} rounds, which {bound.source} does not cover"
        return bound, withheld

    def _content(self) -> dict[str, Any]:
        return {**super()._content(), "slept": self._slept}

    def _resume(self, content: dict[str, Any]) -> None:
        super()._resume(content)
        self._slept = told.whole(content["slept"], "rounds with sleepers", 0, self._round)

    def _told(self, move: Move, rest: list[Any]) -> tuple[Any, ...]:
        if len(rest) == 1:
            return super()._told(move, rest)
        weight, mask = told.items(rest, "open move", 2)
        return told.number(weight, "weight", 1e-30, 1e30), told.mask(mask, self._n, move.action)
