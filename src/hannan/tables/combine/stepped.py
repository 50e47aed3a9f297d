"""Weights that Python makes, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.players.certificate import Certificate
from hannan.refusals import Array
from hannan.tables.combine import promises
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.moments import Moment, PlayerSums
from hannan.tables.combine.promises import Promises
from hannan.tables.combine.trouble import trouble_of


@dataclass
class OpenRow:
    """A row that was answered, and what was settled before it was."""

    forecasts: Array
    weights: Array
    forecast: float
    settled_before: int


class Stepped:
    """Weights that Python makes, row by row; `_weights` and `_learn` say how."""

    draws = False

    def __init__(self, rule: Any, n: int, loss: PointLoss, loss_range: tuple[float, float]) -> None:
        self.rule, self.n, self.loss, self._range = rule, n, loss, loss_range
        self._sums = _engine.Tally(n)
        self._open: dict[int, OpenRow] = {}
        self.answered, self.mean_loss, self.largest_delay = 0, 0.0, 0
        self.played: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    mixture = property(lambda self: float(self._sums.mixture))
    expected = property(lambda self: float(self._sums.expected))
    settled = property(lambda self: int(self._sums.settled))
    losses = property(lambda self: self._sums.losses)
    beside = property(lambda self: self._sums.beside)
    awake = property(lambda self: self._sums.awake.astype(np.float64))
    open_rows = property(lambda self: len(self._open))

    def _weights(self, awake: NDArray[np.bool_]) -> Array:
        raise NotImplementedError

    def _learn(self, row: OpenRow, awake: NDArray[np.bool_], losses: Array, target: float, delay: int) -> None:
        raise NotImplementedError

    def weights(self, forecasts: Array) -> Array | None:
        """Of a row with these forecasts; nothing moves."""
        awake = ~np.isnan(forecasts)
        return self._weights(awake) if awake.any() else None

    def answer(self, row: int, forecasts: Array, weights: Array | None = None) -> float | None:
        """Open a row; None when everybody sleeps."""
        p = self.weights(forecasts)
        if p is None:
            return None
        awake = ~np.isnan(forecasts)
        mixed = float(p[awake] @ forecasts[awake])
        self._open[row] = OpenRow(forecasts.copy(), p, mixed, self.settled)
        self.answered += 1
        if weights is not None:
            weights[:] = p
        return mixed

    def waiting(self, row: int) -> Array | None:
        """The forecasts of a row that waits."""
        return self._open[row].forecasts if row in self._open else None

    def forget(self, row: int) -> bool:
        """Close a row whose target never comes."""
        return self._open.pop(row, None) is not None

    def settle(self, row: int, target: float) -> tuple[Any, int]:
        """Close a row with its target: (trouble, column); nothing has moved after a trouble."""
        open_ = self._open[row]
        losses: Array = np.empty(self.n)
        trouble, expert = trouble_of(self._range, self.loss, open_.forecasts, target, losses)
        if trouble is not None:
            return trouble, expert
        awake, delay = ~np.isnan(open_.forecasts), self.settled - open_.settled_before
        self._learn(open_, awake, losses, target, delay)
        del self._open[row]
        own = float(open_.weights[awake] @ losses[awake])
        self.mean_loss += float(self.loss.value(open_.forecasts[awake].mean(), target))
        self._sums.add(losses, float(self.loss.value(open_.forecast, target)), own)
        return _engine.Trouble.none, -1

    def rows(self, forecasts: Array, targets: Array, mixed: Array, weights: Array) -> tuple[int, Any, int]:
        """Prompt rows: (rows done, trouble, column)."""
        for t in range(len(targets)):
            told = self.answer(-1, forecasts[t], weights[t])
            if told is None:
                return t, _engine.Trouble.asleep, -1
            mixed[t] = told
            trouble, expert = (_engine.Trouble.none, -1) if np.isnan(targets[t]) else self.settle(-1, float(targets[t]))
            self.forget(-1)
            if trouble != _engine.Trouble.none:
                self.answered -= 1
                return t, trouble, expert
        return len(targets), _engine.Trouble.none, -1

    def events(
        self, forecasts: Array, order: NDArray[np.int64], told: Array, first: int, mixed: Array, weights: Array
    ) -> tuple[int, Any, int]:
        """As the engine's: e >= 0 answers row e of the table, number first + e; e < 0 settles number ~e."""
        drawn: NDArray[np.int64] = np.full(len(forecasts), -1, dtype=np.int64)
        for k, e in enumerate(order.tolist()):
            if e >= 0:
                answer = self.answer(first + e, forecasts[e], weights[e])
                if answer is None:
                    return k, _engine.Trouble.asleep, -1
                mixed[e] = answer
                if self.draws:
                    drawn[e] = self.played[0]
            else:
                trouble, expert = self.settle(~e, float(told[k]))
                if trouble != _engine.Trouble.none:
                    return k, trouble, expert
        self.played = drawn
        return len(order), _engine.Trouble.none, -1

    def promises(self) -> Promises:
        """What may be said now."""
        return promises.withheld("no bound is known for a rule of your own", self)

    def moment(self, weights: Array) -> Moment:
        """What may be said of now later."""
        told = self.promises()
        return Moment(self._now(), lambda: told, None, weights)

    def _now(self) -> PlayerSums:
        return PlayerSums(np.append(self._sums.numbers(), self.mean_loss), self.n)

    def certificate(self) -> Certificate | None:
        """None, but of a player."""
        return None
