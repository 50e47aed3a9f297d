"""Experts who sleep: `act(awake=mask)` plays among those awake, and the bound holds for each over its waking rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals
from hannan.kernels.state import FINE, PROBABILITY
from hannan.live import ExpertsPlayer
from hannan.moves import Move
from hannan.refusals import Array

Mask = NDArray[np.int64]


def mask_of(awake: Any, n: int, who: str) -> Mask | None:
    """1 for the awake; None when nobody sleeps."""
    mask = np.asarray(refusals.unmasked(awake, "awake"))
    if mask.shape != (n,) or mask.dtype.kind != "b":
        raise ValueError(
            f"awake must be {n} booleans, one for each {who}; got {mask.dtype.name} values of shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError(f"at least one {who} must be awake; got none")
    return None if mask.all() else mask.astype(np.int64)


class SleepingPlayer(ExpertsPlayer):
    """A player of experts of whom some may sleep.

    It plays p restricted to the awake and renormalised, and charges sleepers its own expected loss o. Then
    <p, l> = o as well, so that the round is one of full information: a sleeper's regret stands still, and
    what is proved for a fixed expert is proved for its waking rounds.
    """

    __slots__ = ()

    def _act_awake(self, awake: Any) -> Move:
        mask = self._mask(awake)
        if mask is None:
            return self.act()
        from hannan.kernels.sleeping import act_awake

        if self._open:
            self._draw_late(len(self._open))
        if self._steps.make_ready(self._state, self._pointer, True) != FINE:
            raise self._failed()
        p: Array = np.empty(self._n)
        action = int(act_awake(self._state, mask, p))
        self._round = number = self._round + 1
        move = Move(self.id, number, action, self._numbers[PROBABILITY])
        self._open[number] = (move, mask, p)
        return move

    def distribution(self, awake: Any = None) -> Array:
        """p of the next act(awake); changes nothing."""
        mask = None if awake is None else self._mask(awake)
        if mask is None:
            return super().distribution()
        from hannan.kernels.sleeping import share_awake

        state, p = self._state.copy(), np.empty(self._n)
        if self._open and self._steps.make_ready(state, self._pointer, False) != FINE:
            raise self._failed()
        share_awake(state, mask, p)
        return p

    def _mask(self, awake: Any) -> Mask | None:
        """1 for the awake; None when nobody sleeps."""
        return mask_of(awake, self._n, "expert")

    def _charged(self, losses: Any, *rest: Any) -> Array:
        """The losses of the awake, and the learner's own for those who slept; sleepers' entries are not read."""
        mask, p = rest
        from hannan.kernels.sleeping import charge

        low, high = self.learner.loss_range
        if isinstance(losses, np.ma.MaskedArray) and losses.shape == (self._n,):
            hidden = np.ma.getmaskarray(losses) & (mask == 1)
            refusals.unmasked(np.ma.MaskedArray(np.asarray(losses), mask=hidden), "losses")
        row = np.array(losses, dtype=object if isinstance(losses, (list, tuple)) else None)
        if row.shape == (self._n,):
            row[mask == 0] = 0
        clean = self._vector(row)
        bad = (mask == 1) & ~((clean >= low) & (clean <= high))
        if bad.any():
            raise self._bad_row(clean, int(np.argmax(bad)))
        charge(p, mask, clean)
        return clean
