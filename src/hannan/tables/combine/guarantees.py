"""Guarantees of a combination: bounds on its excess loss over the mean, each column and fixed weights.

All terms are computed from observed data; docs/proofs/combine.md has the theorem. The bounds hold for convex losses,
for any delays and order of the targets, and for any missing forecasts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.games.checkpoints import Trace
from hannan.learners.adahedge import Seen
from hannan.mathematics.bounds import Bound, rounded_up
from hannan.validation import Array

TWO_LAYERS = "two layers of rule B, docs/proofs/combine.md"
RULE_B = "rule B, docs/proofs/combine.md"
SLOPES = "AdaHedge on slopes, 2 Delta, docs/proofs/combine.md"
# Fixed sentences of results; each is covered by tests/tables/test_combine_results.py.
#: Scope of the bounds of a rule.
ANY_ROWS = "Bounds hold for the combined forecast itself, for any targets and forecasts (convex loss) and any delays"
#: Bound of a live combiner over combinations.
COMBINATION = (
    "promises.combination(q) is a bound on the excess loss over fixed weights q >= 0 that sum to 1, of columns without "
    "missing forecasts"
)
#: Heads of the table of excess losses.
EXCESS = ("excess loss over", "actual", "proved bound")
#: Assumptions of the comparison with a model that has missing forecasts: of two layers, and of a single rule.
REPLACED = "in rows without a forecast of the model, rule B or AdaHedge stands in for it"
OWN_ROWS = "the comparison covers the rows with a forecast of the model"
NOT_CONVEX = (
    "a capped loss is not convex: the proof does not apply. Use the learner adahedge, whose drawn expert has a bound"
)


@dataclass(frozen=True, kw_only=True)
class Promises:
    """Bounds on the excess loss of a combination, and the excess losses themselves.

    `columns[i]` bounds the excess loss over column i, which is `realised[i]`. In rows without a forecast of column i,
    the comparison is as `filled` states. `base + q @ parts` bounds the excess loss over fixed weights q of columns
    without missing forecasts. None: no bound, for the reason in `withheld`.
    """

    source: str
    columns: Array | None = field(hash=False, default=None)
    realised: Array = field(hash=False)
    mean: float | None = None
    mean_realised: float
    base: float | None = None
    parts: Array | None = field(hash=False, default=None)
    withheld: str = ""
    mean_withheld: str = ""
    combination_withheld: str = ""
    filled: str = ""

    def combination(self, q: Any) -> float | None:
        """Return the bound over fixed weights q >= 0 that sum to 1, of columns without missing forecasts."""
        weights = validation.distribution(q, "the weights of a combination")
        if weights.shape != self.realised.shape:
            raise ValueError(
                f"the weights of a combination must have one number per column, {len(self.realised)}; "
                f"got shape {weights.shape}"
            )
        if self.base is None or self.parts is None:
            return None
        return rounded_up(self.base + float(weights @ np.where(weights > 0.0, self.parts, 0.0)))

    def column(self, i: int) -> float | None:
        """Return the bound on the excess loss over column i."""
        return None if self.columns is None else rounded_up(float(self.columns[i]))

    def bound(self, i: int) -> Bound | None:
        """Return the bound on the excess loss over column i, with its theorem."""
        value = self.column(i)
        if value is None:
            return None
        terms = {"observed": value}
        return Bound(value, terms, self.source, sense="mean", against="any")


def withheld(why: str, sums: Any) -> Promises:
    """Return guarantees without bounds."""
    realised = sums.beside - sums.losses
    ahead = sums.mixture - sums.mean_loss
    return Promises(
        source="", realised=realised, mean_realised=ahead, withheld=why, mean_withheld=why, combination_withheld=why
    )


def of_rule(name: str, sums: Any, convex: bool) -> Promises:
    """Return the guarantees of a rule of the engine from its `RuleSums`."""
    if not convex:
        return withheld(NOT_CONVEX, sums)
    ahead, losses = sums.mixture - sums.mean_loss, sums.losses
    beside = sums.beside - losses
    sleepers = bool((sums.awake < sums.settled).any())
    if name == "two-layers":
        top, parts = sums.above, sums.bounds
        through, own = top[0] + parts, top[2] + 2.0 * sums.gap
        by_b = through <= own
        realised = sums.mixture - losses - np.where(by_b, sums.slept_b, sums.slept_adahedge)
        filled = REPLACED if sleepers else ""
        bounds = np.where(by_b, through, own)
        return Promises(
            source=TWO_LAYERS, columns=bounds, realised=realised, mean=rounded_up(float(top[3])), mean_realised=ahead,
            base=float(top[0]), parts=parts, filled=filled,
        )  # fmt: skip
    alone = OWN_ROWS if sleepers else ""
    if name in ("b", "adahedge:slopes"):
        parts = sums.bounds if name == "b" else np.full(len(losses), 2.0 * sums.gap)
        asleep = "if forecasts are missing, the mean of the available ones has no fixed weights" if sleepers else ""
        mean = None if sleepers else rounded_up(float(parts.mean()))
        source = RULE_B if name == "b" else SLOPES
        return Promises(
            source=source, columns=parts, realised=beside, mean=mean, mean_realised=ahead, base=0.0, parts=parts,
            mean_withheld=asleep, filled=alone,
        )  # fmt: skip
    return withheld(f"no bound is proved for the rule {name}", sums)


#: Number of scalars before the numbers per column, and position of the bounds of the upper layer among these scalars.
HEAD, ABOVE = 8, 4


class RuleSums:
    """Sums behind the guarantees of a rule, read from one array of the engine."""

    def __init__(self, numbers: Array) -> None:
        self.mixture, self.mean_loss, self.settled, self.gap = numbers[:ABOVE].tolist()
        self.above = numbers[ABOVE:HEAD]
        columns = numbers[HEAD:].reshape(6, -1)
        self.losses, self.beside, self.awake, self.slept_b, self.slept_adahedge, self.bounds = columns


class PlayerSums:
    """Sums of a learner: losses of the combination, of the columns and of their mean, read on access."""

    def __init__(self, numbers: Array, n: int) -> None:
        self._numbers, self._n = numbers, n

    mixture = property(lambda self: float(self._numbers[0]))
    settled = property(lambda self: float(self._numbers[1]))
    losses = property(lambda self: self._column(0))
    beside = property(lambda self: self._column(1))
    awake = property(lambda self: self._column(2))
    mean_loss = property(lambda self: self._after(0))

    def _column(self, k: int) -> Array:
        return self._numbers[2 + k * self._n : 2 + (k + 1) * self._n]

    def _after(self, k: int) -> float:
        return float(self._numbers[2 + 3 * self._n + k])


class AdaHedgeSums(PlayerSums):
    """Sums of AdaHedge as the engine records them, with its own loss and the terms of its bound."""

    own = property(lambda self: self._after(1))
    #: The largest delay so far.
    late = property(lambda self: int(self._after(2)))
    # Losses of the columns; a column without a forecast is charged the loss of the learner.
    charged = property(lambda self: self._numbers[-self._n :])

    def seen(self) -> Seen:
        """Return the terms of the bound at that time."""
        gap, variance, span, least, most = map(self._after, range(3, 8))
        return Seen(
            rounds=int(self.settled),
            best=float(self.charged.min()),
            least=least,
            most=most,
            span=span,
            variance=variance,
            gap=gap,
        )


class Moment(NamedTuple):
    """Sums and guarantees at one time; `regret` is that of <p, l> if the bound is about it."""

    sums: Any
    promises: Callable[[], Promises]
    regret: float | None
    weights: Array

    def marks(self) -> list[float]:
        """Return one point of the curves.

        Members: settled rows, loss of the combination, excess loss over the best column, the excess loss that the bound
        is about, its bound, loss of the mean, and the bound on the excess loss over the mean.
        """
        sums, told = self.sums, self.promises()
        awake = sums.awake > 0
        ahead = np.where(awake, sums.beside - sums.losses, -np.inf)
        best = int(np.argmax(ahead)) if awake.any() else 0
        bound, to_mean = told.column(best), told.mean
        return [
            sums.settled, sums.mixture, float(ahead[best]) if awake.any() else 0.0,
            float(told.realised[best]) if self.regret is None else self.regret,
            np.nan if bound is None else bound, sums.mean_loss, np.nan if to_mean is None else to_mean,
        ]  # fmt: skip


class AdaHedgeMoment(NamedTuple):
    """Record at one time for AdaHedge, computed on access from row `k` of the records of the engine and from the
    weights.
    """

    k: int
    notes: Array
    shares: Array
    mixer: Any

    @property
    def sums(self) -> AdaHedgeSums:
        return AdaHedgeSums(self.notes[self.k], self.mixer.n)

    @property
    def weights(self) -> Array:
        told: Array = self.shares[self.k]
        return told

    def made(self) -> Moment:
        """Return the guarantees at this time."""
        sums = self.sums
        regret = sums.own - float(sums.charged.min())
        return Moment(sums, lambda: self.mixer.promised(sums), regret, self.weights)

    def marks(self) -> list[float]:
        """Return one point of the curves, as `Moment.marks`."""
        return self.made().marks()


#: With more experts than this, curves of single experts are not kept.
CURVES = 500
#: Numbers of a point of the curves before those of the experts (`Moment.marks`).
MARKS = 7


class Course:
    """Points of the curves of a combination: a few hundred rows, with the quantities known at that time."""

    def __init__(self, n: int) -> None:
        self.trace, self._n = Trace(), n
        #: Times of the rows of the points.
        self.times: dict[int, str] = {}
        self._weights: Array = np.full(n, 1.0 / n)
        self._time = ""

    def due(self, answered: int, rows: int) -> NDArray[np.int64]:
        """Return the rows of the next `rows` at which a point is due, counted from 1 over all rows answered."""
        self.trace.expect(answered, rows)
        return self.trace.due(answered, rows)

    def reach(self, weights: Array, time: str) -> None:
        """Store the weights and the time of the last row answered."""
        self._weights, self._time = weights.copy(), time

    def add(self, mixer: Any) -> None:
        """Add a point at the last row answered."""
        self.trace.add(int(mixer.answered), mixer.moment(self._weights))
        self.times[int(mixer.answered)] = self._time

    def extend(self, rows: list[int], moments: list[Any], times: list[str]) -> None:
        """Add points that the engine recorded at these rows."""
        self.trace.extend(rows, moments)
        self.times |= dict(zip(rows, times, strict=True))

    def points(self) -> Array:
        """Return one row per point: the marks, then weights, losses of the experts, and losses of the mixture in the
        rows of each expert."""
        wide = self._n <= CURVES
        rows = [
            np.concatenate(
                [moment.marks(), *((moment.weights, moment.sums.losses, moment.sums.beside) if wide else ())]
            )
            for moment in self.trace.kept()
        ]
        return np.array(rows).reshape(len(rows), -1)
