"""Weights that a rule of the engine makes: of point forecasts, or of quantiles with weights common to their levels."""

from __future__ import annotations

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
    """The quantile levels as the engine takes them; None of point forecasts."""
    return np.array(loss.levels) if isinstance(loss, QuantileLoss) else None


class ByRule(_engine.Mixer):
    """A rule, compiled."""

    #: Whether an expert is drawn too.
    draws = False
    largest_delay = 0

    def __init__(self, rule: Rule, n: int, loss: PointLoss, prior: Array | None = None) -> None:
        kind = getattr(_engine.Mixing, names.FORECASTS[rule.name])
        super().__init__(kind, n, loss.price(), *rule.loss_range, prior, grid_levels(loss))
        self.rule, self.n, self.loss = rule, n, loss

    def rows(self, forecasts: Array, targets: Array, mixed: Array, weights: Array | None) -> tuple[int, Any, int]:
        """Prompt rows: (rows done, trouble, column); of quantiles `mixed` is (rows, levels)."""
        done, trouble, column = super().rows(forecasts, targets, mixed.reshape(-1), weights)
        return int(done), trouble, int(column)

    def events(
        self, forecasts: Array, order: NDArray[np.int64], told: Array, first: int, mixed: Array, weights: Array | None
    ) -> tuple[int, Any, int]:
        """e >= 0 answers row e of the table, number first + e from then on; e < 0 settles number ~e."""
        done, trouble, column = super().events(forecasts, order, told, first, mixed.reshape(-1), weights)
        return int(done), trouble, int(column)

    def promises(self) -> Promises:
        """What may be said now."""
        return guarantees.of_rule(self.rule.name, RuleSums(self.numbers()), self.loss.convex)

    def moment(self, weights: Array) -> Moment:
        """What may be said of now later, with the weights of the last row."""
        sums = RuleSums(self.numbers())
        return Moment(sums, partial(guarantees.of_rule, self.rule.name, sums, self.loss.convex), None, weights)

    def certificate(self) -> Certificate | None:
        """A rule has promises, and no certificate of a player."""
        return None


#: Columns farther apart than this have no squares (the engine's `largest_slope`), and losses beyond have no sums.
SPREAD, LARGEST = 1e140, 1e150


class PerLevel:
    """A rule for each level, at play; the calls are those of `ByRule`, rows are (levels x columns), level by level."""

    draws = False
    largest_delay = 0

    def __init__(self, rule: Rule, n: int, loss: QuantileLoss, prior: Array | None = None) -> None:
        if rule.loss_range != ANY:
            raise ValueError(
                f"a range of losses is of weights that are common to the levels; got {rule!r} and weights per quantile"
            )
        self.rule, self.n, self.loss = rule, n, loss
        self.parts = tuple(ByRule(rule, n, part, prior) for part in loss.parts())
        self.mixture, self.beside = 0.0, np.zeros(n)
        #: The sorted answer of each open row.
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
        """The columns of a level."""
        return np.ascontiguousarray(forecasts[..., q * self.n : (q + 1) * self.n])

    def by_level(self) -> Array:
        """The weights of each level, (levels, columns), of a row in which all are awake."""
        return np.array([part.weights(np.full(self.n, 0.5)) for part in self.parts])

    def weights(self, forecasts: Array) -> Array | None:
        """Of a row with these forecasts, the mean over the levels; nothing moves."""
        each = [part.weights(self._at(forecasts, q)) for q, part in enumerate(self.parts)]
        return None if each[0] is None else self._mean(each)

    def answer(self, row: int, forecasts: Array, weights: Array | None = None) -> Array | None:
        """Open a row; None when everybody sleeps."""
        shares = np.empty((len(self.parts), self.n))
        told = [part.answer(row, self._at(forecasts, q), shares[q]) for q, part in enumerate(self.parts)]
        if told[0] is None:
            return None
        self._answers[row] = np.sort(told)
        if weights is not None:
            weights[:] = self._mean(list(shares))
        return self._answers[row].copy()

    def waiting(self, row: int) -> Array | None:
        """The forecasts of a row that waits."""
        return np.concatenate([part.waiting(row) for part in self.parts]) if row in self._answers else None

    def told(self, row: int) -> Array | None:
        """What a row that waits was answered with."""
        return self._answers.get(row)

    def peek(self, forecasts: Array) -> Array | None:
        """What such a row would be answered with; nothing moves."""
        table = [self._at(forecasts, q) for q in range(len(self.parts))]
        if np.isnan(table[0]).all():
            return None
        shares = [part.weights(f) for part, f in zip(self.parts, table, strict=True)]
        return np.sort([float(np.nansum(p * f)) for p, f in zip(shares, table, strict=True)])

    def forget(self, row: int) -> bool:
        """Close a row whose target never comes."""
        self._answers.pop(row, None)
        found = [part.forget(row) for part in self.parts]
        return all(found)

    def settle(self, row: int, target: float) -> tuple[Any, int]:
        """Close a row with its target: (trouble, column); nothing has moved after a trouble."""
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
        """What a level would refuse, before any of them moves."""
        far = np.abs(table - target).reshape(len(self.parts), self.n).max(axis=0)
        if np.nanmax(far) > LARGEST:
            return _engine.Trouble.outside, int(np.nanargmax(far))
        return (_engine.Trouble.extreme, -1) if np.nanmax(table) - np.nanmin(table) > SPREAD else None

    def rows(self, forecasts: Array, targets: Array, mixed: Array, weights: Array) -> tuple[int, Any, int]:
        """Prompt rows: (rows done, trouble, column)."""
        told = self._each(mixed, weights, lambda q, part, out, shares: part.rows(
            self._at(forecasts, q), targets, out, shares))  # fmt: skip
        known = ~np.isnan(targets[: told[0]])
        self._count(mixed[: told[0]][known], forecasts[: told[0]][known], targets[: told[0]][known])
        return told

    def events(
        self, forecasts: Array, order: NDArray[np.int64], told: Array, first: int, mixed: Array, weights: Array | None
    ) -> tuple[int, Any, int]:
        """As the engine's: e >= 0 answers row e of the table, number first + e; e < 0 settles number ~e."""
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
        """Every level plays; the answers sorted, the weights their mean; the level that came least far."""
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
        """Losses of sorted answers, and beside each column where it was awake."""
        cost = self.loss.value(answers, targets)
        self.mixture += float(cost.sum())
        self.beside = self.beside + cost @ ~np.isnan(self._at(forecasts, 0))

    def promises(self) -> Promises:
        """What may be said now: of every level, and so of their mean; sorting only gains."""
        each = [part.promises() for part in self.parts]
        first, gain = each[0], float(self._mean([part.mixture for part in self.parts])) - self.mixture

        def mean(values: list[Any]) -> Any:
            return None if values[0] is None else self._mean(values)

        to_mean, base = mean([one.mean for one in each]), mean([one.base for one in each])
        return Promises(
            first.source and f"{first.source}, level by level, sorted", mean([one.columns for one in each]),
            self._mean([one.realised for one in each]) - gain, None if to_mean is None else float(to_mean),
            self.mixture - self.mean_loss, None if base is None else float(base), mean([one.parts for one in each]),
            first.withheld, first.mean_withheld, first.combination_withheld, first.filled,
        )  # fmt: skip

    def moment(self, weights: Array) -> Moment:
        """What may be said of now later, with the weights of the last row."""
        sums = {name: getattr(self, name) for name in ("losses", "beside", "awake", "settled", "mixture", "mean_loss")}
        told = self.promises()
        return Moment(SimpleNamespace(**sums), lambda: told, None, weights)

    def certificate(self) -> Certificate | None:
        """A rule has promises, and no certificate of a player."""
        return None

    # Files

    def fields(self) -> dict[str, Any]:
        """The state by name."""
        parts = {}
        for q, part in enumerate(self.parts):
            state = part.fields()
            parts[str(q)] = {**state, "open": {str(row): ticket for row, ticket in state["open"].items()}}
        return {"mixture": self.mixture, "beside": self.beside, "open": dict(self._answers), "levels": parts}

    def restore(self, state: dict[str, Any]) -> None:
        """The state that `fields` told; what cannot be is refused."""
        levels, answers = state["levels"], state["open"]
        if sorted(levels) != sorted(str(q) for q in range(len(self.parts))):
            raise ValueError(f"its state must be of {len(self.parts)} levels; got {len(levels)}")
        for q, part in enumerate(self.parts):
            kept = levels[str(q)]
            if sorted(kept["open"]) != sorted(map(str, answers)):
                raise ValueError("its open rows must be those of every level")
            part.restore({**kept, "open": {int(row): ticket for row, ticket in kept["open"].items()}})
        beside, mixture = np.asarray(state["beside"], dtype=np.float64), float(state["mixture"])
        told = {int(row): np.asarray(x, dtype=np.float64) for row, x in answers.items()}
        fine = all(x.shape == (len(self.parts),) and (np.diff(x) >= 0.0).all() for x in told.values())
        if not (fine and beside.shape == (self.n,) and np.isfinite(beside).all() and np.isfinite(mixture)):
            raise ValueError("its sums and answers must be finite, and answers sorted")
        self.beside, self.mixture, self._answers = beside, mixture, told


class OwnRule(Stepped):
    """An object of yours: `weights(awake)` gives shares of the awake columns, `settle(forecasts, weights, target)`
    hears of a row."""

    def _weights(self, awake: NDArray[np.bool_]) -> Array:
        p = np.asarray(self.rule.weights(awake.copy()), dtype=np.float64)
        fine = p.shape == (self.n,) and np.isfinite(p).all() and (p >= 0.0).all() and not p[~awake].any()
        if not fine or abs(p.sum() - 1.0) > 1e-9:
            raise ValueError(f"weights(awake) must be shares of the awake columns that sum to 1; got {p!r}")
        return p

    def _learn(self, row: OpenRow, awake: NDArray[np.bool_], losses: Array, target: float, delay: int) -> None:
        self.rule.settle(row.forecasts.copy(), row.weights.copy(), target)


def no_prior(rule: Any, prior: Any) -> None:
    """Refuse a prior for whom it would mean nothing."""
    if prior is not None and getattr(rule, "name", "") not in ("two-layers", "b"):
        raise ValueError(f"a prior is for two-layers and b; got {rule!r}")


def mixer_of(rule: Any, n: int, loss: PointLoss, prior: Array | None = None, seed: int = 0) -> Any:
    """The mixer of a rule, a learner or an object of your own."""
    if isinstance(loss, QuantileLoss) and not isinstance(rule, Rule):
        raise ValueError(f"quantiles are combined by a rule, by its name ({', '.join(FORECASTS)}); got {rule!r}")
    no_prior(rule, prior)
    if isinstance(rule, Rule):
        if isinstance(loss, QuantileLoss) and loss.apart:
            return PerLevel(rule, n, loss, prior)
        return ByRule(rule, n, loss, prior)
    if hasattr(rule, "start"):
        if rule.n != n:
            raise ValueError(f"the learner must have {n} experts, one for each column; got {rule!r}")
        if rule.gains:
            raise ValueError(f"the learner must take losses, which forecasts have; got {rule!r}")
        return PlayedBy(rule, n, loss, seed)
    return OwnRule(rule, n, loss, ANY)
