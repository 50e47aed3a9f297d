"""Arms that sleep: `act(awake=mask)` of a bandit, whose bound then holds for each arm over its waking rounds."""

from __future__ import annotations

import dataclasses
from typing import Any

from hannan.mathematics.against import restricted
from hannan.mathematics.bounds import Bound
from hannan.players.settings import BanditPlayer
from hannan.players.sleeping_experts import Sleepers, mask_of, waking
from hannan.players.tickets import Move
from hannan.refusals import Array
from hannan.saving import fields


class SleepingArmsPlayer(Sleepers, BanditPlayer):
    """A player of a bandit of whose arms some may sleep.

    It plays p restricted to the awake and renormalised, and charges sleepers the loss that it saw, whose mean is
    its own: a sleeper's regret stands still. The second moment that the bounds use only shrinks. Exact weights
    and a zero-order bound of the package's own are needed; others refuse to sleep, or withhold their bound.

    The estimates are unbiased for an arm that is fixed in advance. So the bound is on the expected regret if neither
    losses nor masks depend on the moves, and on the pseudo-regret otherwise.
    """

    who = "arm"

    def _act_awake(self, awake: Any) -> Move:
        mask = mask_of(awake, self._n, self.who)
        if mask is None:
            drawn: Move = self.act()
            return drawn
        move: Move = self._act_among(mask, mask)
        self._slept += 1
        return move

    def distribution(self, awake: Any = None) -> Array:
        """p of the next act(awake); changes nothing."""
        p: Array = self._distribution(None if awake is None else mask_of(awake, self._n, self.who))
        return p

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        bound, withheld = super()._bound(best)
        if not self._slept or bound is None:
            return bound, withheld
        if bound.proof != "whole":
            return None, f"arms slept {self._slept_where}, which {bound.source} does not cover"
        return dataclasses.replace(bound, sense=restricted(bound.sense)), withheld

    @property
    def _restricted(self) -> bool:
        return self._slept > 0

    def _told(self, move: Move, plain: Any, kept: Any) -> Any:
        if plain is True:
            return super()._told(move, plain, kept)
        (mask,) = fields.items(kept, "open move", 1)
        return (waking(mask, self._n, move.action),)
