"""The live players of the three settings: experts, bandits, bandits with experts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hannan import refusals, saving, told
from hannan.bounds import Bound, rounded_up
from hannan.estimators import ImplicitExploration
from hannan.kernels.state import HEADER, PROBABILITY, TOTAL, WEIGHT
from hannan.moves import Move
from hannan.player import Player
from hannan.refusals import Array

_Array, _FLOAT = np.ndarray, np.dtype(np.float64)
_IN_PLACE: Array = np.empty(0)  # instead of a ticket's distribution: the one in place is it
_new = tuple.__new__  # a third of the time of Move(...)


class ExpertsPlayer(Player):
    """Plays `Experts`: a move is one expert, a loss is the vector of all of them.

    Own loss is <p, l> under the p that a move was drawn from. While no other loss comes in, that is the
    distribution in place; a copy is kept only when one does.
    """

    __slots__ = ("_first_current", "_hot", "_kept", "_shape")

    sees_all = True

    def _bind(self) -> None:
        steps = self._steps
        self._shape = (self._n,)
        # One attribute instead of six on the way to the kernels.
        self._hot = (
            steps.experts_act, steps.experts_observe, self._state, self._pointer, self._numbers, self._open,
        )  # fmt: skip
        #: open rounds from here on were drawn from the distribution in place; the others' are kept
        self._first_current = 1
        self._kept: dict[int, Array] = {}

    def act(self, awake: Any = None) -> Move:
        """Draw an expert; with `awake`, a mask of booleans, one of those awake."""
        if awake is not None:
            return self._act_awake(awake)
        draw, _, state, pointer, numbers, open_ = self._hot
        if open_:
            self._draw_late(len(open_))
        action = draw(state, pointer, True)
        if action < 0:
            raise self._failed()
        self._round = number = self._round + 1
        move = _new(Move, (self.id, number, action, numbers[PROBABILITY]))
        open_[number] = (move,)
        return move

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the experts awake; the ticket carries what settling it needs."""
        raise ValueError(f"{type(self.learner).__name__} has no experts who sleep; got awake={awake!r}")

    def _charged(self, losses: Any, *rest: Any) -> Array:
        """The losses of a move drawn among the awake, sleepers charged."""
        raise NotImplementedError

    def _draw_late(self, missing: int) -> None:
        """Other moves are open: the scale may move with the round, and with it the distribution in place."""
        self._largest_delay = max(self._largest_delay, missing)
        if self._program.b != 0.0:
            self._keep(-1)

    def observe(self, move: Move, loss: Any) -> None:
        """Settle a move with the losses of all experts."""
        _, settle, state, pointer, _, open_ = self._hot
        try:
            number = move[1]
            ticket = open_[number]
            if ticket[0] is not move:
                self._ticket(move)
        except (KeyError, TypeError, IndexError):
            ticket = self._ticket(move)
        if len(ticket) > 1:
            loss = self._charged(loss, *ticket[1:])
        elif not (type(loss) is _Array and loss.dtype is _FLOAT and loss.shape == self._shape and loss.flags.carray):
            loss = self._vector(loss)
        if len(open_) == 1 and not self._kept:
            bad = settle(state, pointer, loss, _IN_PLACE, True)
        else:
            bad = self._observe_late(number, loss)
        if bad != -1:
            raise self._bad_row(loss, bad)
        del open_[number]
        self._first_current = self._round + 1

    def _observe_late(self, number: int, row: Array) -> int:
        """As the prompt step, with the ticket's own distribution; the others' are kept first."""
        low, high = self.learner.loss_range
        good = (row >= low) & (row <= high)
        if not good.all():
            return int(np.argmin(good))
        self._keep(number)
        return int(self._hot[1](self._state, self._pointer, row, self._kept.pop(number, _IN_PLACE), True))

    def _keep(self, number: int) -> None:
        """Copy the distribution in place for the open moves drawn from it, except `number`."""
        others = [k for k in range(self._first_current, self._round + 1) if k != number and k in self._open]
        if others:
            p = self._state[HEADER + self._n : HEADER + 2 * self._n] / self._state[TOTAL]
            self._kept.update(dict.fromkeys(others, p))
        self._first_current = self._round + 1

    def forget(self, move: Move) -> None:
        super().forget(move)
        self._kept.pop(move[1], None)

    def _vector(self, losses: Any) -> Array:
        array = refusals.losses(losses)
        if array.shape != self._shape:
            raise ValueError(f"losses must be {self._n} numbers, one for each expert; got shape {array.shape}")
        return np.ascontiguousarray(array)

    def _bad_row(self, row: Array, bad: int) -> Exception:
        if bad < 0:
            return self._failed()
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

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        # Own loss is the mean of the moves drawn; Azuma and Hoeffding for the rest.
        if unsettled := self._unsettled():
            return None, unsettled
        more = self.learner.width * math.sqrt(self._settled * math.log(1.0 / delta) / 2.0)
        says = f"of the moves drawn, with probability {1.0 - delta:g}, at a time fixed in advance"
        return rounded_up(regret + more), f"{says}; the mean play has the regret below, exactly"

    def _content(self) -> dict[str, Any]:
        kept = [[number, saving.to_hex(p)] for number, p in self._kept.items()]
        return {**super()._content(), "first_current": self._first_current, "kept": kept}

    def _resume(self, content: dict[str, Any]) -> None:
        super()._resume(content)
        self._first_current = told.whole(content["first_current"], "first current round", 1, self._round + 1)
        for item in told.items(content["kept"], "kept distributions"):
            number, p = told.items(item, "kept distribution", 2)
            if number not in self._open:
                raise ValueError(f"its kept distributions must be of open moves; got {refusals.brief(number)}")
            self._kept[number] = told.distribution(p, self._n, "kept distribution")

    def _told(self, move: Move, rest: list[Any]) -> tuple[Any, ...]:
        if not rest:
            return ()
        mask, p = told.items(rest, "open move", 2)
        shares = told.array(p, "f", self._n, "distribution of the awake", 0.0, 1.0 + 1e-9)
        return told.mask(mask, self._n, move.action), refusals.distribution(shares, "its distribution of the awake")


class BanditPlayer(Player):
    """Plays `Bandit`: a move is one arm, a loss is the number that it cost."""

    __slots__ = ("_hot",)

    def _bind(self) -> None:
        steps = self._steps
        self._hot = (
            steps.bandit_act, steps.bandit_observe, self._state, self._pointer, self._numbers, self._open,
        )  # fmt: skip

    def act(self, awake: Any = None) -> Move:
        """Draw an arm; with `awake`, a mask of booleans, one of those awake."""
        if awake is not None:
            return self._act_awake(awake)
        draw, _, state, pointer, numbers, open_ = self._hot
        if open_:
            self._largest_delay = max(self._largest_delay, len(open_))
        action = draw(state, pointer, True)
        if action < 0:
            raise self._failed()
        self._round = number = self._round + 1
        move = _new(Move, (self.id, number, action, numbers[PROBABILITY]))
        open_[number] = (move, numbers[WEIGHT])
        return move

    def observe(self, move: Move, loss: Any) -> None:
        """Settle a move with the loss of its arm."""
        _, settle, state, pointer, _, open_ = self._hot
        try:
            ticket = open_[move[1]]
            if ticket[0] is not move:
                self._ticket(move)
        except (KeyError, TypeError, IndexError):
            ticket = self._ticket(move)
        if type(loss) is not float:
            loss = self._scalar(loss)
        if len(ticket) != 2:
            return self._settle_awake(ticket, loss)
        status = settle(state, pointer, move[2], move[3], ticket[1], loss, True)
        if status != 0:
            raise self._bad_loss(loss) if status == 1 else self._failed()
        del open_[move[1]]

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        estimator = getattr(self.learner, "estimator", None)
        if not isinstance(estimator, ImplicitExploration):
            safe = f"exp3_ix({self._n}, rounds)"
            return None, f"of one run something is proved under implicit exploration only: play {safe} for that"
        if unsettled := self._unsettled():
            return None, unsettled
        # exp(2 gamma (Lhat_i - L_i)) is a supermartingale for each arm, whoever sets the losses; Ville.
        line = regret + self.learner.width * math.log(self._n / delta) / (2.0 * estimator.gamma)
        says = f"with probability {1.0 - delta:g}, at every time, whoever sets the losses"
        return rounded_up(line), f"{says}  (own - min Lhat + ln(n/delta)/(2 gamma))"

    def _told(self, move: Move, rest: list[Any]) -> tuple[Any, ...]:
        return (told.number(told.items(rest, "open move", 1)[0], "weight", 1e-30, 1e30),)

    def _late(self) -> str:
        return f"{super()._late()}; delayed_ftrl({self._n}) has one"

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the arms awake; the ticket carries who they were."""
        raise ValueError(
            f"arms may sleep where a proof covers it, as of Bandit({self._n}, Tsallis(0.5)), which is to be played "
            f"instead; got awake={awake!r} for {self.learner!r}"
        )

    def _settle_awake(self, ticket: tuple[Any, ...], loss: float) -> None:
        """Settle a move that was drawn among the awake."""
        raise NotImplementedError


class ExpertBanditPlayer(Player):
    """Plays `ExpertBandit`: a move is one action, drawn on advice; a loss is the number that it cost."""

    __slots__ = ("_act", "_actions", "_observe")

    def _bind(self) -> None:
        self._actions = int(self._program.actions)
        self._act: Callable[..., int] = self._steps.expert_bandit_act
        self._observe: Callable[..., int] = self._steps.expert_bandit_observe

    def act(self, advice: Any, awake: Any = None) -> Move:
        """Draw an action. `advice`: an action for each expert, or a distribution (experts, actions)."""
        if awake is not None:
            raise ValueError(f"{self.learner!r} has no experts who sleep: no proof covers it; got awake={awake!r}")
        rows, mixed = self._advice(advice)
        open_ = self._open
        if open_:
            self._largest_delay = max(self._largest_delay, len(open_))
        action = self._act(self._state, self._pointer, rows, mixed, True)
        if action < 0:
            raise self._failed()
        self._round = number = self._round + 1
        numbers = self._numbers
        move = _new(Move, (self.id, number, action, numbers[PROBABILITY]))
        open_[number] = (move, numbers[WEIGHT], rows)
        return move

    def observe(self, move: Move, loss: Any) -> None:
        """Settle a move with the loss of its action, on the advice that it was drawn with."""
        _, weight, rows = self._ticket(move)
        if type(loss) is not float:
            loss = self._scalar(loss)
        mixed = rows.dtype.kind == "f"
        status = self._observe(self._state, self._pointer, rows, mixed, move[2], move[3], weight, loss, True)
        if status != 0:
            raise self._bad_loss(loss) if status == 1 else self._failed()
        del self._open[move[1]]

    @property
    def _choices(self) -> int:
        return self._actions

    def _told(self, move: Move, rest: list[Any]) -> tuple[Any, ...]:
        weight, rows = told.items(rest, "open move", 2)
        weight = told.number(weight, "weight", 1e-30, 1e30)
        if isinstance(rows, dict) and rows.get("kind") == "i":
            return weight, told.array(rows, "i", self._n, "advice", 0, self._actions - 1)
        return weight, self._told_shares(rows)

    def _told_shares(self, rows: Any) -> Array:
        shares = told.array(rows, "f", self._n * self._actions, "advice", 0.0, 1.0 + 1e-9)
        return refusals.distribution(shares.reshape(self._n, self._actions), "its advice").ravel()

    def _advice(self, advice: Any) -> tuple[Any, bool]:
        """A clean copy, flat, and whether it is made of distributions."""
        rows = np.array(refusals.unmasked(advice, "advice"))
        n, actions = self._n, self._actions
        if rows.shape == (n,) and rows.dtype.kind in "iu":
            if rows.min() < 0 or rows.max() >= actions:
                bad = int(np.argmax((rows < 0) | (rows >= actions)))
                raise ValueError(f"advice must be actions of 0..{actions - 1}; got {rows[bad]} at index {bad}")
            return rows.astype(np.int64), False
        if rows.shape == (n, actions):
            return refusals.distribution(rows, "advice").ravel(), True
        raise ValueError(
            f"advice must be {n} integers, or {n} distributions over {actions} actions; "
            f"got {rows.dtype.name} values of shape {rows.shape}"
        )
