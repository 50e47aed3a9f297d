"""Sleeping experts and available arms: `act(awake=mask)` and the bounds per expert or arm."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, validation
from hannan.mathematics.bounds import Bound, restricted
from hannan.players.certificate import in_rounds, unavailable
from hannan.players.player import BanditPlayer, ExpertsPlayer, Player
from hannan.players.tickets import Move
from hannan.saving import fields
from hannan.validation import Array

Mask = NDArray[np.bool_]


def mask_of(awake: Any, n: int, who: str) -> Mask | None:
    """Return True for each available arm or expert; None if all are available."""
    mask = np.asarray(validation.unmasked(awake, "awake"))
    if mask.shape != (n,) or mask.dtype.kind != "b":
        raise ValueError(
            f"awake must be {n} booleans, one per {who}; got {mask.dtype.name} values of shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError(f"awake must have at least one True, for an available {who}; got only False")
    return None if mask.all() else np.array(mask)


def waking(mask: Any, n: int, action: int) -> Mask:
    """Return the mask of a saved move, in which the drawn action must be available."""
    if not (isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == (n,) and mask[action]):
        raise ValueError(f"corrupt file: expected a mask of {n} booleans that contains the drawn action {action}")
    return mask


if TYPE_CHECKING:
    _Player = Player
else:
    _Player = object  # a class can have only one base class of the engine


class Sleepers(_Player):
    """Mixin for players with unavailable arms or experts: counts these rounds for the certificate."""

    who: ClassVar[str]
    _slept = 0
    #: Whether `_slept` is a number of rounds; a fleet stores one bit per key.
    _slept_is_counted = True

    @property
    def _slept_where(self) -> str:
        """Return the rounds in which something was unavailable, in words; empty if there are none."""
        return in_rounds(self._slept) if self._slept_is_counted or not self._slept else "in some rounds"

    def _notes(self) -> tuple[tuple[str, str], ...]:
        return (*super()._notes(), *unavailable(self.who, self._slept_where))

    def content(self) -> dict[str, Any]:
        return {**super().content(), "slept": self._slept}

    def _resume(self, content: dict[str, Any]) -> None:
        super()._resume(content)
        self._slept = fields.whole(content["slept"], "rounds with unavailable arms", 0, self.round)


class SleepingPlayer(Sleepers, ExpertsPlayer):
    """Player of experts of which some may be unavailable.

    The player restricts p to the available experts, renormalizes it, and charges every unavailable expert its own
    expected loss o. Then <p, l> = o too, so that this is a round of full information: the regret against an
    unavailable expert is unchanged, and the bound for a fixed expert holds over the rounds in which it was available.
    """

    who = "expert"

    def _act_awake(self, awake: Any) -> Move:
        mask = self._mask(awake)
        move: Move = self.act() if mask is None else self._act_among(mask, mask)
        self._slept += mask is not None
        return move

    def distribution(self, awake: Any = None) -> Array:
        """Return the probabilities of the next `act(awake)`; the state is unchanged."""
        p: Array = self._distribution(None if awake is None else self._mask(awake))
        return p

    def _mask(self, awake: Any) -> Mask | None:
        """Return True for each available expert; None if all are available."""
        return mask_of(awake, self._n, self.who)

    def _charged(self, losses: Any, mask: Mask, p: Array) -> Array:
        """Return the losses with the learner's own loss for unavailable experts, whose entries are not read."""
        low, high = self.learner.loss_range
        if "numpy.ma" in sys.modules and isinstance(losses, np.ma.MaskedArray) and losses.shape == (self._n,):
            hidden = np.ma.getmaskarray(losses) & mask
            validation.unmasked(np.ma.MaskedArray(np.asarray(losses), mask=hidden), "losses")
        row = np.array(losses, dtype=object if isinstance(losses, (list, tuple)) else None)
        if row.shape == (self._n,):
            row[~mask] = 0
        clean = self._vector(row)
        bad = mask & ~((clean >= low) & (clean <= high))
        if bad.any():
            raise self._bad_row(clean, int(np.argmax(bad)))
        _engine.charge_sleepers(p, mask, clean)
        return clean

    def _told(self, move: Move, plain: Any, kept: Any) -> Any:
        if plain is True:
            return super()._told(move, plain, kept)
        mask, p = fields.items(kept, "open move", 2)
        awake = waking(mask, self._n, move.action)
        if not (isinstance(p, np.ndarray) and p.dtype == np.float64 and p.shape == (self._n,)):
            raise ValueError(f"corrupt file: expected a distribution of {self._n} numbers; found {validation.brief(p)}")
        return awake, validation.distribution(p, "distribution of a pending move")


class SleepingArmsPlayer(Sleepers, BanditPlayer):
    """Player of a bandit of which some arms may be unavailable.

    The player restricts p to the available arms, renormalizes it, and charges unavailable arms the observed loss, whose
    mean is the learner's own: the regret against an unavailable arm is unchanged. The second moment in the bounds only
    decreases. This needs exact weights and a zero-order bound of this package; other learners reject `awake`, or
    withhold their bound.

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
        """Return the probabilities of the next `act(awake)`; the state is unchanged."""
        p: Array = self._distribution(None if awake is None else mask_of(awake, self._n, self.who))
        return p

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        bound, withheld = super()._bound(best)
        if not self._slept or bound is None:
            return bound, withheld
        if bound.proof != "whole" or bound.at_most is not None:
            return None, f"arms were unavailable {self._slept_where}, which {bound.source} does not cover"
        return dataclasses.replace(bound, sense=restricted(bound.sense)), withheld

    @property
    def _restricted(self) -> bool:
        return self._slept > 0

    def _told(self, move: Move, plain: Any, kept: Any) -> Any:
        if plain is True:
            return super()._told(move, plain, kept)
        (mask,) = fields.items(kept, "open move", 1)
        return (waking(mask, self._n, move.action),)
