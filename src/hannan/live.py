"""The live players of the three settings: experts, bandits, bandits with experts.

What is usual, `act` and `observe` of a prompt move, is the engine's; whatever is not comes here, to be told apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import _engine, refusals
from hannan.bounds import Bound
from hannan.moves import Move
from hannan.player import Player
from hannan.refusals import Array


class ExpertsPlayer(Player):
    """Plays `Experts`: a move is one expert, a loss is the vector of all of them.

    Own loss is <p, l> under the p that a move was drawn from. While no other loss comes in, that is the
    distribution in place; a copy is kept only when one does.
    """

    sees_all = True

    act = _engine.Player._act_expert
    observe = _engine.Player._observe_row

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the experts awake; the ticket carries what settling it needs."""
        raise ValueError(f"{type(self.learner).__name__} has no experts who sleep; got awake={awake!r}")

    def _charged(self, losses: Any, mask: Any, p: Array) -> Array:
        """The losses of a move drawn among the awake, sleepers charged."""
        raise NotImplementedError

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """What the engine does not take as it is: refused in words, or made plain and settled."""
        number = self._ticket(move)
        row = self._vector(loss) if self._is_plain(number) else self._charged(loss, *self._kept(number))
        bad = self._settle_row(number, row)
        if bad >= 0:
            raise self._bad_row(row, bad)

    def _vector(self, losses: Any) -> Array:
        array = refusals.losses(losses)
        if array.shape != (self._n,):
            raise ValueError(f"losses must be {self._n} numbers, one for each expert; got shape {array.shape}")
        return np.ascontiguousarray(array)

    def _bad_row(self, row: Array, bad: int) -> ValueError:
        low, high = self.learner.loss_range
        value = float(row[bad])
        return ValueError(f"losses must be finite and in [{low:g}, {high:g}]; got {value!r} at index {bad}")

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if not self._largest_delay or self._forgotten:
            return super()._bound(best)
        try:
            learner: Any = self.learner
            return learner.bound(self._settled, best, delay=self._largest_delay), ""
        except ValueError as reason:
            return None, f"a move was open while another was drawn: {reason}"


class BanditPlayer(Player):
    """Plays `Bandit`: a move is one arm, a loss is the number that it cost."""

    act = _engine.Player._act_arm
    observe = _engine.Player._observe_arm

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """What the engine does not take as it is: refused in words, or made plain and settled."""
        number = self._ticket(move)
        x = self._scalar(loss)
        if not self._is_plain(number):
            self._settle_among(number, *self._kept(number), x)
        else:
            self._settle_arm(number, x)

    def _late(self) -> str:
        return f"{super()._late()}; delayed_ftrl({self._n}) has one"

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the arms awake; the ticket carries who they were."""
        raise ValueError(
            f"arms may sleep where a proof covers it, as of Bandit({self._n}, Tsallis(0.5)), which is to be played "
            f"instead; got awake={awake!r} for {self.learner!r}"
        )


class ExpertBanditPlayer(Player):
    """Plays `ExpertBandit`: a move is one action, drawn on advice; a loss is the number that it cost."""

    observe = _engine.Player._observe_on_advice

    def act(self, advice: Any, awake: Any = None) -> Move:
        """Draw an action. `advice`: an action for each expert, or a distribution (experts, actions)."""
        if awake is not None:
            raise ValueError(f"{self.learner!r} has no experts who sleep: no proof covers it; got awake={awake!r}")
        move: Move = self._act_on_advice(self._advice(advice))
        return move

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """What the engine does not take as it is: refused in words, or made plain and settled."""
        self._settle_on_advice(self._ticket(move), self._scalar(loss))

    def _advice(self, advice: Any) -> Any:
        """A clean copy, flat: whole numbers, or distributions."""
        rows = np.array(refusals.unmasked(advice, "advice"))
        n, actions = self._n, int(self._program.actions)
        if rows.shape == (n,) and rows.dtype.kind in "iu":
            if rows.min() < 0 or rows.max() >= actions:
                bad = int(np.argmax((rows < 0) | (rows >= actions)))
                raise ValueError(f"advice must be actions of 0..{actions - 1}; got {rows[bad]} at index {bad}")
            return rows.astype(np.int64)
        if rows.shape == (n, actions):
            return np.ascontiguousarray(refusals.distribution(rows, "advice").ravel())
        raise ValueError(
            f"advice must be {n} integers, or {n} distributions over {actions} actions; "
            f"got {rows.dtype.name} values of shape {rows.shape}"
        )
