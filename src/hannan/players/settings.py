"""The live players of the three settings: experts, bandits, bandits with experts.

What is usual, `act` and `observe` of a prompt move, is the engine's; whatever is not comes here, to be told apart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan import _engine, refusals
from hannan.mathematics.bounds import Bound, rounded_up
from hannan.players.conditions import at_observed
from hannan.players.player import Player
from hannan.players.tickets import Move
from hannan.refusals import Array
from hannan.saving import fields
from hannan.saving.words import sure


class ExpertsPlayer(Player):
    """Plays `Experts`: a move is one expert, a loss is the vector of all of them.

    Own loss is <p, l> under the p that a move was drawn from. While no other loss comes in, that is the
    distribution in place; a copy is kept only when one does.
    """

    sees_all = True

    if TYPE_CHECKING:  # what the engine does, with its types

        def act(self, awake: Any = None) -> Move: ...
        def observe(self, move: Move, loss: Any = None, *, reward: Any = None) -> None: ...
    else:
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
            bound: Bound = learner.bound(self._settled, best, delay=self._largest_delay)
            return at_observed(learner, bound, best), ""
        except ValueError as reason:
            return None, f"a move was open while another was drawn: {reason}"

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        # Own loss is the mean of the moves drawn; Azuma and Hoeffding for the rest.
        if unsettled := self._unsettled():
            return None, unsettled
        more = self.learner.width * math.sqrt(self._settled * math.log(1.0 / delta) / 2.0)
        says = f"of the moves drawn, with probability {sure(delta)}, at a time fixed in advance"
        return rounded_up(regret + more), f"{says}; the mean play has the regret below, exactly"


class BanditPlayer(Player):
    """Plays `Bandit`: a move is one arm, a loss is the number that it cost."""

    if TYPE_CHECKING:

        def act(self, awake: Any = None) -> Move: ...
        def observe(self, move: Move, loss: Any = None, *, reward: Any = None) -> None: ...
    else:
        act = _engine.Player._act_arm
        observe = _engine.Player._observe_arm

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """What the engine does not take as it is: refused in words, or made plain and settled."""
        number = self._ticket(move)
        x = self._scalar(loss)
        if not self._is_plain(number):
            (mask,) = self._kept(number)
            self._settle_among(number, mask, x)
        else:
            self._settle_arm(number, x)

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        gamma: float | None = getattr(getattr(self.learner, "estimator", None), "gamma", None)
        if gamma is None:
            safe = f"exp3_ix({self._n}, rounds)"
            return None, f"of one run something is proved under implicit exploration only: play {safe} for that"
        if unsettled := self._unsettled():
            return None, unsettled
        # exp(2 gamma (Lhat_i - L_i)) is a supermartingale for each arm, whoever sets the losses; Ville.
        line = regret + self.learner.width * math.log(self._n / delta) / (2.0 * gamma)
        says = f"with probability {sure(delta)}, at every time, whoever sets the losses before each move is drawn"
        return rounded_up(line), f"{says}  (own - min Lhat + ln(n/delta)/(2 gamma))"

    def _no_delays(self) -> str:
        return f"{super()._no_delays()}; delayed_ftrl({self._n}) has one"

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the arms awake; the ticket carries who they were."""
        raise ValueError(
            f"arms may sleep where a proof covers it, as of Bandit({self._n}, Tsallis(0.5)), which is to be played "
            f"instead; got awake={awake!r} for {self.learner!r}"
        )


class ExpertBanditPlayer(Player):
    """Plays `ExpertBandit`: a move is one action, drawn on advice; a loss is the number that it cost."""

    comparator = "expert"
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

    @property
    def _choices(self) -> int:
        return int(self._program.actions)

    def _told(self, move: Move, plain: Any, kept: Any) -> Any:
        n, actions = self._n, self._choices
        if plain is True and isinstance(kept, np.ndarray) and kept.shape == (n,) and kept.dtype == np.int64:
            return fields.within(kept, "advice", 0, actions - 1)
        if plain is True and isinstance(kept, np.ndarray) and kept.shape == (n * actions,) and kept.dtype == np.float64:
            fields.within(kept, "advice", 0.0, 1.0 + 1e-9)
            return refusals.distribution(kept.reshape(n, actions), "its advice").ravel()
        raise ValueError(f"its open moves must have the advice that they were drawn on; got {refusals.brief(kept)}")

    def _advice(self, advice: Any) -> Any:
        """A clean copy, flat: whole numbers, or distributions."""
        rows = np.array(refusals.unmasked(advice, "advice"))
        n, actions = self._n, self._choices
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
