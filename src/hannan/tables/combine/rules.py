"""Mixers of the rules of the engine, for point forecasts and for quantiles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.learners import names
from hannan.learners.adahedge import ANY, Rule
from hannan.learners.names import FORECASTS
from hannan.players.certificate import Certificate
from hannan.tables.combine import guarantees
from hannan.tables.combine.guarantees import Moment, Promises, RuleSums
from hannan.tables.combine.losses import PointLoss
from hannan.tables.combine.quantiles import QuantileLoss
from hannan.tables.combine.stepped import OpenRow, PlayedBy, Stepped
from hannan.validation import Array


def grid_levels(loss: PointLoss) -> Array | None:
    """Return the quantile levels as an array; None for point forecasts."""
    return np.array(loss.levels) if isinstance(loss, QuantileLoss) else None


def mix_rule(rule: Rule, loss: PointLoss) -> _engine.MixRule:
    """Return a rule of the engine as the engine takes it."""
    kind = getattr(_engine.Mixing, names.FORECASTS[rule.name])
    return _engine.MixRule(kind, loss.price(), *rule.loss_range, grid_levels(loss))


class ByRule(_engine.Mixer):
    """Mixer of a rule of the engine."""

    #: True if an expert is drawn in each row.
    draws = False
    largest_delay = 0

    def __init__(self, rule: Rule, n: int, loss: PointLoss, prior: Array | None = None) -> None:
        super().__init__(mix_rule(rule, loss), n, prior)
        self.rule, self.n, self.loss = rule, n, loss

    def rows(self, forecasts: Array, targets: Array, mixed: Array, weights: Array | None) -> tuple[int, Any, int]:
        """Answer and settle rows immediately; return (rows_done, error_code, column)."""
        done, trouble, column = super().rows(forecasts, targets, mixed.reshape(-1), weights)
        return int(done), trouble, int(column)

    def events(
        self, forecasts: Array, order: NDArray[np.int64], told: Array, first: int, mixed: Array, weights: Array | None
    ) -> tuple[int, Any, int]:
        """Process events: e >= 0 answers row e of the table with number first + e, and e < 0 settles number ~e."""
        done, trouble, column = super().events(forecasts, order, told, first, mixed.reshape(-1), weights)
        return int(done), trouble, int(column)

    def add_columns(self, more: int) -> None:
        """Add columns that had no forecast so far; the state of the other columns is kept."""
        super().add_columns(more)
        self.n += more

    def promises(self) -> Promises:
        """Return the guarantees at this time."""
        return guarantees.of_rule(self.rule.name, RuleSums(self.numbers()), self.loss.convex)

    def moment(self, weights: Array) -> Moment:
        """Return a record of this time, for later evaluation, with the weights of the last row."""
        sums = RuleSums(self.numbers())
        return Moment(sums, partial(guarantees.of_rule, self.rule.name, sums, self.loss.convex), None, weights)

    def certificate(self) -> Certificate | None:
        """Return None; only a player has a certificate."""
        return None


#: Largest spread of forecasts (the engine's `largest_slope`) and largest loss without overflow.
SPREAD, LARGEST = 1e140, 1e150


class PerLevel:
    """Mixer with one rule per quantile level; rows have shape (levels x columns), level by level."""

    draws = False
    largest_delay = 0

    def __init__(self, rule: Rule, n: int, loss: QuantileLoss, prior: Array | None = None) -> None:
        if rule.loss_range != ANY:
            raise ValueError(f"loss_range is not supported with per_quantile; got {rule!r}")
        self.rule, self.n, self.loss = rule, n, loss
        self.parts = tuple(ByRule(rule, n, part, prior) for part in loss.parts())
        self.mixture, self.beside = 0.0, np.zeros(n)
        # The sorted answer of each open row.
        self._answers: dict[int, Array] = {}

    answered = property(lambda self: self.parts[0].answered)
    settled = property(lambda self: self.parts[0].settled)
    open_rows = property(lambda self: self.parts[0].open_rows)
    awake = property(lambda self: self.parts[0].awake)
    losses = property(lambda self: self._mean([part.losses for part in self.parts]))
    mean_loss = property(lambda self: float(self._mean([part.mean_loss for part in self.parts])))

    def _mean(self, each: list[Any]) -> Any:
        return np.mean(each, axis=0)

    def _at(self, forecasts: Array, q: int) -> Array:
        """Return the columns of a level."""
        return np.ascontiguousarray(forecasts[..., q * self.n : (q + 1) * self.n])

    def by_level(self) -> Array:
        """Return the weights per level, (levels, columns), of a row without missing forecasts."""
        return np.array([part.weights(np.full(self.n, 0.5)) for part in self.parts])

    def weights(self, forecasts: Array) -> Array | None:
        """Return the weights of a row with these forecasts, averaged over the levels; the state is unchanged."""
        each = [part.weights(self._at(forecasts, q)) for q, part in enumerate(self.parts)]
        return None if each[0] is None else self._mean(each)

    def answer(self, row: int, forecasts: Array, weights: Array | None = None) -> Array | None:
        """Open a row and return its answer; None if all forecasts are missing."""
        shares = np.empty((len(self.parts), self.n))
        told = [part.answer(row, self._at(forecasts, q), shares[q]) for q, part in enumerate(self.parts)]
        if told[0] is None:
            return None
        self._answers[row] = np.sort(told)
        if weights is not None:
            weights[:] = self._mean(list(shares))
        return self._answers[row].copy()

    def waiting(self, row: int) -> Array | None:
        """Return the forecasts of a pending row."""
        return np.concatenate([part.waiting(row) for part in self.parts]) if row in self._answers else None

    def told(self, row: int) -> Array | None:
        """Return the answer to a pending row."""
        return self._answers.get(row)

    def peek(self, forecasts: Array) -> Array | None:
        """Return the answer to a row with these forecasts; the state is unchanged."""
        table = [self._at(forecasts, q) for q in range(len(self.parts))]
        if np.isnan(table[0]).all():
            return None
        shares = [part.weights(f) for part, f in zip(self.parts, table, strict=True)]
        return np.sort([float(np.nansum(p * f)) for p, f in zip(shares, table, strict=True)])

    def add_columns(self, more: int) -> None:
        """Add columns that had no forecast so far; the state of the other columns is kept."""
        for part in self.parts:
            part.add_columns(more)
        self.n += more
        self.beside = np.append(self.beside, np.zeros(more))

    def forget(self, row: int) -> bool:
        """Close a row whose target will not arrive."""
        self._answers.pop(row, None)
        found = [part.forget(row) for part in self.parts]
        return all(found)

    def settle(self, row: int, target: float) -> tuple[Any, int]:
        """Settle a row and return (error_code, column); the state is unchanged after an error."""
        table = self.waiting(row)
        assert table is not None
        trouble = self._trouble(table, target)
        if trouble is not None:
            return trouble
        for part in self.parts:
            part.settle(row, target)
        self._count(self._answers.pop(row)[None, :], table[None, :], np.array([target]))
        return _engine.Trouble.none, -1

    def _trouble(self, table: Array, target: float) -> tuple[Any, int] | None:
        """Return the error of any level before the state of a level changes."""
        far = np.abs(table - target).reshape(len(self.parts), self.n).max(axis=0)
        if np.nanmax(far) > LARGEST:
            return _engine.Trouble.outside, int(np.nanargmax(far))
        return (_engine.Trouble.extreme, -1) if np.nanmax(table) - np.nanmin(table) > SPREAD else None

    def rows(self, forecasts: Array, targets: Array, mixed: Array, weights: Array) -> tuple[int, Any, int]:
        """Answer and settle rows immediately; return (rows_done, error_code, column)."""
        told = self._each(mixed, weights, lambda q, part, out, shares: part.rows(
            self._at(forecasts, q), targets, out, shares))  # fmt: skip
        known = ~np.isnan(targets[: told[0]])
        self._count(mixed[: told[0]][known], forecasts[: told[0]][known], targets[: told[0]][known])
        return told

    def events(
        self, forecasts: Array, order: NDArray[np.int64], told: Array, first: int, mixed: Array, weights: Array | None
    ) -> tuple[int, Any, int]:
        """Process events, as `ByRule.events`."""
        settles = order < 0
        kept = {int(~e): self.waiting(int(~e)) for e in order[settles] if int(~e) in self._answers}
        done = self._each(mixed, weights, lambda q, part, out, shares: part.events(
            self._at(forecasts, q), order, told, first, out, shares))  # fmt: skip
        closed, rows = [], []
        for e in order[: done[0]].tolist():
            if e >= 0:
                self._answers[first + e] = mixed[e].copy()
            else:
                closed.append(self._answers.pop(~e))
                rows.append(kept[~e] if ~e in kept else forecasts[~e - first])
        if closed:
            self._count(np.array(closed), np.array(rows), told[: done[0]][settles[: done[0]]])
        return done

    def _each(self, mixed: Array, weights: Array | None, play: Any) -> tuple[int, Any, int]:
        """Run every level, sort the answers, average the weights; return the result of the first level to stop."""
        out, shares = np.empty((len(self.parts), len(mixed))), None
        if weights is not None:
            weights[:] = 0.0
            shares = np.empty_like(weights)
        worst: tuple[int, Any, int] | None = None
        for q, part in enumerate(self.parts):
            told = play(q, part, out[q], shares)
            worst = told if worst is None or told[0] < worst[0] else worst
            if weights is not None and shares is not None:
                weights += shares / len(self.parts)
        mixed[:] = np.sort(out, axis=0).T
        assert worst is not None
        return worst

    def _count(self, answers: Array, forecasts: Array, targets: Array) -> None:
        """Add the losses of sorted answers, in total and over the rows with a forecast of each column."""
        cost = self.loss.value(answers, targets)
        self.mixture += float(cost.sum())
        self.beside = self.beside + cost @ ~np.isnan(self._at(forecasts, 0))

    def promises(self) -> Promises:
        """Return the mean of the guarantees of the levels; sorting never increases the loss."""
        each = [part.promises() for part in self.parts]
        first, gain = each[0], float(self._mean([part.mixture for part in self.parts])) - self.mixture

        def mean(values: list[Any]) -> Any:
            return None if values[0] is None else self._mean(values)

        to_mean, base = mean([one.mean for one in each]), mean([one.base for one in each])
        return replace(
            first,
            source=first.source and f"{first.source}, level by level, sorted",
            columns=mean([one.columns for one in each]),
            realised=self._mean([one.realised for one in each]) - gain,
            mean=None if to_mean is None else float(to_mean),
            mean_realised=self.mixture - self.mean_loss,
            base=None if base is None else float(base),
            parts=mean([one.parts for one in each]),
        )

    def moment(self, weights: Array) -> Moment:
        """Return a record of this time, for later evaluation, with the weights of the last row."""
        sums = {name: getattr(self, name) for name in ("losses", "beside", "awake", "settled", "mixture", "mean_loss")}
        told = self.promises()
        return Moment(SimpleNamespace(**sums), lambda: told, None, weights)

    def certificate(self) -> Certificate | None:
        """Return None; only a player has a certificate."""
        return None

    # Files

    def fields(self) -> dict[str, Any]:
        """Return the state as a dict."""
        parts = {}
        for q, part in enumerate(self.parts):
            state = part.fields()
            parts[str(q)] = {**state, "open": {str(row): ticket for row, ticket in state["open"].items()}}
        return {"mixture": self.mixture, "beside": self.beside, "open": dict(self._answers), "levels": parts}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the state that `fields` returned, after validation."""
        levels, answers = state["levels"], state["open"]
        if sorted(levels) != sorted(str(q) for q in range(len(self.parts))):
            raise ValueError(f"corrupt file: expected {len(self.parts)} levels; found {len(levels)}")
        for q, part in enumerate(self.parts):
            kept = levels[str(q)]
            if sorted(kept["open"]) != sorted(map(str, answers)):
                raise ValueError("corrupt file: open rows differ between levels")
            part.restore({**kept, "open": {int(row): ticket for row, ticket in kept["open"].items()}})
        beside, mixture = np.asarray(state["beside"], dtype=np.float64), float(state["mixture"])
        told = {int(row): np.asarray(x, dtype=np.float64) for row, x in answers.items()}
        fine = all(x.shape == (len(self.parts),) and (np.diff(x) >= 0.0).all() for x in told.values())
        if not (fine and beside.shape == (self.n,) and np.isfinite(beside).all() and np.isfinite(mixture)):
            raise ValueError("corrupt file: sums and answers must be finite, and answers sorted")
        self.beside, self.mixture, self._answers = beside, mixture, told


class OwnRule(Stepped):
    """Mixer of a user-defined object with the methods `weights(awake)` and `settle(forecasts, weights, target)`."""

    def _weights(self, awake: NDArray[np.bool_]) -> Array:
        p = np.asarray(self.rule.weights(awake.copy()), dtype=np.float64)
        fine = p.shape == (self.n,) and np.isfinite(p).all() and (p >= 0.0).all() and not p[~awake].any()
        if not fine or abs(p.sum() - 1.0) > 1e-9:
            raise ValueError(f"weights(awake) must return weights of the available columns that sum to 1; got {p!r}")
        return p

    def _learn(self, row: OpenRow, awake: NDArray[np.bool_], losses: Array, target: float, delay: int) -> None:
        self.rule.settle(row.forecasts.copy(), row.weights.copy(), target)


#: Rules that have initial weights.
WITH_PRIOR = ("two-layers", "b")


def no_prior(rule: Any, prior: Any) -> None:
    """Raise ValueError if the rule has no prior."""
    if prior is not None and getattr(rule, "name", "") not in WITH_PRIOR:
        raise ValueError(f"prior is for the rules two-layers and b; got {rule!r}")


def mixer_of(rule: Any, n: int, loss: PointLoss, prior: Array | None = None, seed: int = 0) -> Any:
    """Return the mixer of a rule, a learner or a user-defined object."""
    if isinstance(loss, QuantileLoss) and not isinstance(rule, Rule):
        raise ValueError(f"quantiles need a named rule ({', '.join(FORECASTS)}); got {rule!r}")
    no_prior(rule, prior)
    if isinstance(rule, Rule):
        if isinstance(loss, QuantileLoss) and loss.apart:
            return PerLevel(rule, n, loss, prior)
        return ByRule(rule, n, loss, prior)
    if hasattr(rule, "start"):
        if rule.n != n:
            raise ValueError(f"learner must have {n} experts, one per column; got {rule!r}")
        if rule.gains:
            raise ValueError(f"learner must take losses, not gains; got {rule!r}")
        return PlayedBy(rule, n, loss, seed)
    return OwnRule(rule, n, loss, ANY)
