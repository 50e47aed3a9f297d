"""Mixers whose weights are computed in Python, row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.learners.adahedge import AdaHedgePlayer
from hannan.mathematics.bounds import Bound
from hannan.players.certificate import Certificate
from hannan.tables.combine import guarantees
from hannan.tables.combine.guarantees import AdaHedgeMoment, AdaHedgeSums, Moment, PlayerSums, Promises
from hannan.tables.combine.losses import PointLoss, trouble_of
from hannan.tables.combine.timing import Events
from hannan.validation import Array


@dataclass
class OpenRow:
    """A row that was answered, with the number of rows settled before it."""

    forecasts: Array
    weights: Array
    forecast: float
    settled_before: int


class Stepped:
    """Mixer whose subclass computes the weights in `_weights` and updates its state in `_learn`."""

    draws = False

    def __init__(self, rule: Any, n: int, loss: PointLoss, loss_range: tuple[float, float]) -> None:
        self.rule, self.n, self.loss, self._range = rule, n, loss, loss_range
        self._sums = _engine.Tally(n)
        self._open: dict[int, OpenRow] = {}
        self.answered = self.largest_delay = 0
        self.played: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    mixture = property(lambda self: float(self._sums.mixture))
    mean_loss = property(lambda self: float(self._sums.mean_loss))
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
        """Return the weights of a row with these forecasts; the state is unchanged."""
        awake = ~np.isnan(forecasts)
        return self._weights(awake) if awake.any() else None

    def answer(self, row: int, forecasts: Array, weights: Array | None = None) -> float | None:
        """Open a row and return its answer; None if all forecasts are missing."""
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
        """Return the forecasts of a pending row."""
        return self._open[row].forecasts if row in self._open else None

    def told(self, row: int) -> Array | None:
        """Return the answer to a pending row."""
        return np.array([self._open[row].forecast]) if row in self._open else None

    def forget(self, row: int) -> bool:
        """Close a row whose target will not arrive."""
        return self._open.pop(row, None) is not None

    def settle(self, row: int, target: float) -> tuple[Any, int]:
        """Settle a row and return (error_code, column); the state is unchanged after an error."""
        open_ = self._open[row]
        losses: Array = np.empty(self.n)
        trouble, expert = trouble_of(self._range, self.loss, open_.forecasts, target, losses)
        if trouble is not None:
            return trouble, expert
        awake, delay = ~np.isnan(open_.forecasts), self.settled - open_.settled_before
        self._learn(open_, awake, losses, target, delay)
        del self._open[row]
        own = float(open_.weights[awake] @ losses[awake])
        self._sums.mean_loss += float(self.loss.value(open_.forecasts[awake].mean(), target))
        self._sums.add(losses, float(self.loss.value(open_.forecast, target)), own)
        return _engine.Trouble.none, -1

    def rows(self, forecasts: Array, targets: Array, mixed: Array, weights: Array) -> tuple[int, Any, int]:
        """Answer and settle rows immediately; return (rows_done, error_code, column)."""
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
        """Process events: e >= 0 answers row e of the table with number first + e, and e < 0 settles number ~e."""
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
        """Return the guarantees at this time."""
        return guarantees.withheld("no bound is known for a user-defined rule", self)

    def moment(self, weights: Array) -> Moment:
        """Return a record of this time, for later evaluation."""
        told = self.promises()
        return Moment(self._now(), lambda: told, None, weights)

    def _now(self) -> PlayerSums:
        return PlayerSums(np.append(self._sums.numbers(), self.mean_loss), self.n)

    def certificate(self) -> Certificate | None:
        """Return None; only a player has a certificate."""
        return None


_NOWHERE: NDArray[np.int64] = np.empty(0, dtype=np.int64)


class PlayedBy(Stepped):
    """Mixer of a learner of experts; it also draws an expert, and its certificate is about <p, l>."""

    draws = True

    def __init__(self, learner: Any, n: int, loss: PointLoss, seed: int) -> None:
        super().__init__(learner, n, loss, learner.loss_range)
        self.player = learner.start(seed)

    def _weights(self, awake: NDArray[np.bool_]) -> Array:
        p: Array = self.player.distribution(awake)
        return p

    def _learn(self, row: OpenRow, awake: NDArray[np.bool_], losses: Array, target: float, delay: int) -> None:
        charged = losses.copy()
        if not awake.all():
            _engine.charge_sleepers(row.weights, awake, charged)
        self.player._settle_untold(charged, row.weights if delay else None, delay)
        self.largest_delay = max(self.largest_delay, delay)

    def answer(self, row: int, forecasts: Array, weights: Array | None = None) -> float | None:
        """Open a row; `played` contains the expert drawn."""
        told, p, self.played = np.empty(1), np.empty((1, self.n)), np.empty(1, dtype=np.int64)
        nothing, table = np.full(1, np.nan), np.ascontiguousarray(forecasts[None, :])
        row_of = _engine.TableRows(table, p, told, self.played)
        done, *_ = _engine.combine_rows(self.player, self._sums, self.loss.price(), row_of, nothing, _NOWHERE)
        if not done:
            return None
        self._open[row] = OpenRow(forecasts.copy(), p[0], float(told[0]), self.settled)
        self.answered += 1
        if weights is not None:
            weights[:] = p[0]
        return float(told[0])

    def rows(self, forecasts: Array, targets: Array, mixed: Array, weights: Array) -> tuple[int, Any, int]:
        """Answer and settle rows immediately in the engine; `played` contains the experts drawn."""
        return self._rows(forecasts, targets, mixed, weights, _NOWHERE)[:3]

    @property
    def notes(self) -> bool:
        """True for AdaHedge: the engine records the few sums that its bound depends on."""
        return isinstance(self.player, AdaHedgePlayer)

    def noted(
        self, forecasts: Array, targets: Array, mixed: Array, weights: Array, points: NDArray[np.int64]
    ) -> tuple[int, Any, int, list[AdaHedgeMoment]]:
        """As `rows`, with the moments after the given numbers of rows."""
        done, trouble, expert, notes = self._rows(forecasts, targets, mixed, weights, points)
        reached = points[: int(np.searchsorted(points, done, side="right"))]
        return done, trouble, expert, self._moments(notes[: len(reached)], weights[reached - 1])

    def _rows(
        self, forecasts: Array, targets: Array, mixed: Array, weights: Array, points: NDArray[np.int64]
    ) -> tuple[int, Any, int, Array]:
        self.played = np.empty(len(targets), dtype=np.int64)
        table = _engine.TableRows(forecasts, weights, mixed, self.played)
        done, trouble, expert, notes = _engine.combine_rows(
            self.player, self._sums, self.loss.price(), table, targets, points
        )
        self.answered += done
        return done, trouble, expert, notes

    def events(
        self, forecasts: Array, order: NDArray[np.int64], told: Array, first: int, mixed: Array, weights: Array
    ) -> tuple[int, Any, int]:
        """Process events in the engine, with the rows that were open before."""
        return self._events(forecasts, Events(order, told, _NOWHERE), first, mixed, weights)[:3]

    def noted_events(
        self, forecasts: Array, events: Events, first: int, mixed: Array, weights: Array, due: NDArray[np.int64]
    ) -> tuple[int, Any, int, list[AdaHedgeMoment]]:
        """As `events`, with the moments after the given numbers of rows."""
        points = events.ends[due - 1]
        done, trouble, expert, notes = self._events(forecasts, events._replace(ends=points), first, mixed, weights)
        reached = int(np.searchsorted(points, done, side="right"))
        return done, trouble, expert, self._moments(notes[:reached], weights[due[:reached] - 1])

    def _events(
        self, forecasts: Array, happened: Events, first: int, mixed: Array, weights: Array
    ) -> tuple[int, Any, int, Array]:
        """Process events; the engine makes a record at each of `happened.ends`."""
        order, rows = happened.order, len(forecasts)
        late = order < 0
        numbers = ~order[late]
        near = (numbers >= first) & (numbers < first + rows)
        far = numbers[~near].tolist()
        before = [self._open[number] for number in far]
        places = numbers - first
        places[~near] = rows + np.arange(len(before))
        events, seen = order.copy(), np.zeros(rows)
        events[late] = ~places
        self.played = np.full(rows, -1, dtype=np.int64)
        pending = _engine.PendingRows(
            np.array([row.forecasts for row in before]).reshape(-1, self.n),
            np.array([row.weights for row in before]).reshape(-1, self.n),
            np.array([row.forecast for row in before]),
            np.array([float(row.settled_before) for row in before]),
        )
        done, trouble, expert, delay, notes = _engine.combine_events(
            self.player, self._sums, self.loss.price(), _engine.TableRows(forecasts, weights, mixed, self.played),
            _engine.TableEvents(events, happened.told, happened.ends, seen, pending),
        )  # fmt: skip
        self.largest_delay = max(self.largest_delay, delay)
        answered, settled = events[:done][events[:done] >= 0], ~events[:done][events[:done] < 0]
        self.answered += len(answered)
        open_ = np.zeros(rows, dtype=bool)
        open_[answered] = True
        open_[settled[settled < rows]] = False
        for slot in settled[settled >= rows].tolist():
            del self._open[far[slot - rows]]
        for e in np.flatnonzero(open_).tolist():
            self._open[first + e] = OpenRow(forecasts[e].copy(), weights[e].copy(), float(mixed[e]), int(seen[e]))
        return done, trouble, expert, notes

    def certificate(self) -> Certificate:
        """Return the certificate of the player without remarks on its seed: the answer is a mean, not a draw."""
        told: Certificate = replace(self.player.certificate(), seeded=False, resumed=False)
        return told

    def promises(self) -> Promises:
        told = self.certificate()
        realised = self._realised(self.player._own, self.player._losses)
        return self._promises(self, realised, told.bound, told.withheld)

    def moment(self, weights: Array) -> Moment:
        if self.notes:
            note: Array = _engine.combine_note(self.player, self._sums)
            return self._moments(note[None, :], weights[None, :])[0].made()
        told, sums = self.certificate(), self._now()
        realised = self._realised(self.player._own, self.player._losses)
        return Moment(
            sums, lambda: self._promises(sums, realised, told.bound, told.withheld), told.regret or 0.0, weights
        )

    def _moments(self, notes: Array, weights: Array) -> list[AdaHedgeMoment]:
        """Return moments of AdaHedge from records of the engine; certificates would take longer than the rows."""
        return [AdaHedgeMoment(k, notes, weights, self) for k in range(len(notes))]

    def promised(self, sums: AdaHedgeSums) -> Promises:
        """Return the guarantees at the time of these sums."""
        bound, withheld = self.player.bound_of(sums.seen(), sums.late)
        return self._promises(sums, self._realised(sums.own, sums.charged), bound, withheld)

    def _realised(self, own: float, losses: Array) -> Array:
        """Return the regret of <p, l>, which the combination never exceeds; missing forecasts are charged <p, l>."""
        regret: Array = (own - losses) * self.rule.width
        return regret

    def _promises(self, sums: Any, realised: Array, bound: Bound | None, withheld: str) -> Promises:
        why = "this rule competes with single models only"
        nothing = guarantees.withheld(why, sums)
        if not self.loss.convex or bound is None:
            reason = withheld or "the loss is not convex: the bound is on playing an expert drawn from the weights"
            return replace(nothing, withheld=reason)
        columns = np.full(self.n, bound.value)
        return replace(nothing, source=bound.source, columns=columns, realised=realised, withheld="")
