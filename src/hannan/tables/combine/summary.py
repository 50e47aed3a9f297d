"""What a combination came to: losses, the best in hindsight, regret against its bound, in one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.mathematics.bounds import Bound
from hannan.players.certificate import Certificate
from hannan.saving.formatting import ceiling, counted, figure, percent
from hannan.saving.result import plain, to_text
from hannan.tables.combine.calibration import Quantiled
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.guarantees import CURVES, MARKS, Course, Promises
from hannan.tables.combine.hindsight import Hindsight, Oracle
from hannan.tables.combine.quantiles import left_out
from hannan.tables.combine.timing import Forecast, Pending
from hannan.tables.read.table import clipped
from hannan.validation import Array

#: With more experts than this, only those most ahead of the mixture are told one by one.
TOLD = 2000
#: Forecasts that wait for their target, on a terminal: the last ones.
SHOWN = 5


@dataclass(frozen=True)
class Expert:
    """One column: the rows it was awake in (and that have a target), its loss there, the mixture's, the weight now."""

    name: str
    rows: int
    loss: float
    mix_loss: float
    weight: float

    @property
    def regret(self) -> float:
        """How much better than the mixture it was over its waking rows."""
        return self.mix_loss - self.loss


@dataclass(frozen=True)
class Curves:
    """The course of it at a few hundred rows; per expert only while there are not too many of them."""

    rows: Array = field(hash=False)
    mix: Array = field(hash=False)
    regret: Array = field(hash=False)
    own_regret: Array = field(hash=False)
    bound: Array = field(hash=False)
    weights: Array = field(hash=False)
    experts: Array = field(hash=False)
    #: The mixture's loss in the rows in which each expert was awake.
    beside: Array = field(hash=False)
    mean: Array = field(hash=False)
    #: The best fixed combination in hindsight, over the same rows; NaN where they were not settled in order.
    best: Array = field(hash=False)
    #: The times of the rows, or nothing.
    times: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """The whole of a combination but its rows. Losses are sums over the settled rows."""

    loss: str
    convex: bool
    learner: str
    answered: int
    settled: int
    waiting: int
    late: int
    mix_loss: float
    #: The sum of <p, l>, where an expert is drawn too.
    own_loss: float | None
    mean_loss: float
    median_loss: float
    #: How many experts there are; `experts` has all of them, or of very many the best.
    n: int
    experts: tuple[Expert, ...]
    names: tuple[str, ...] = field(repr=False)
    sleepers: bool
    regret: float
    own_regret: float
    oracle: Oracle
    promises: Promises = field(repr=False)
    #: Of a learner at play; a rule has its promises alone.
    certificate: Certificate | None
    curves: Curves = field(repr=False)
    #: The last rows that wait for their target.
    forecasts: tuple[Forecast, ...] = ()
    #: Of quantiles: CRPS, coverage, sharpness, and the fan.
    quantiles: Quantiled | None = field(default=None, repr=False)
    #: Columns of quantiles that point forecasts were combined without.
    left_out: tuple[str, ...] = ()

    @property
    def best(self) -> Expert | None:
        """The expert that was most ahead of the mixture, or least behind; without sleepers, the least loss."""
        awake = [expert for expert in self.experts if expert.rows]
        return max(awake, key=lambda expert: expert.regret) if awake else None

    @property
    def bound(self) -> Bound | None:
        """Against the best expert: of a learner on the regret of <p, l>, hence of the mixture where the loss is convex;
        of a rule on `own_regret`, what it is promised about. None where it is withheld."""
        if self.certificate is not None:
            return self.certificate.bound
        return None if self.best is None else self.promises.bound(self._place)

    @property
    def withheld(self) -> str:
        """Why there is no bound against the best expert."""
        return self.promises.withheld if self.certificate is None else self.certificate.withheld

    @property
    def _place(self) -> int:
        """Where the best expert stands among all."""
        return self.names.index(self.best.name) if self.best is not None else 0

    def better(self, loss: float) -> float | None:
        """How much less than `loss` the combination lost, in percent; below 0 it lost more; None beside no loss."""
        return ahead_of(self.mix_loss, loss)

    @property
    def headline(self) -> str:
        """The answer, in a sentence."""
        if self.n == 1:
            return only_expert(self.names[0])
        if not self.settled or self.best is None:
            return "no row has a target"
        best = self.best
        own = "your best model" if best.rows == self.settled else "your best model where it spoke"
        rival = compared(best.mix_loss, best.loss, f"{own} ({best.name})")
        return f"{rival}, {compared(self.mix_loss, self.mean_loss, 'the average')}"

    def comparisons(self) -> list[tuple[str, float, float | None, str]]:
        """(whom, loss more than theirs, its bound, why none): the mean, the best column, the best combination."""
        told = self.promises
        rows: list[tuple[str, float, float | None, str]] = []
        rows.append(("the mean", told.mean_realised, told.mean, told.mean_withheld))
        if self.best is not None:
            rows.append(
                (
                    f"the best column, {self.best.name}",
                    self.own_regret,
                    None if self.bound is None else self.bound.value,
                    self.withheld,
                )
            )
        if self.oracle.loss is not None and self.oracle.weights is not None:
            bound = told.combination(self.oracle.weights)
            more = self.mix_loss - self.oracle.loss
            rows.append(("the best combination", more, bound, told.combination_withheld))
        return rows

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        best, certificate = self.best, self.certificate
        return dict(plain({
            "answer": self.headline,
            "better_than_best_expert_percent": None if best is None else ahead_of(best.mix_loss, best.loss),
            "better_than_mean_percent": self.better(self.mean_loss),
            "rows": {"answered": self.answered, "settled": self.settled, "waiting": self.waiting, "late": self.late},
            "forecasts": [waits(one) for one in self.forecasts],
            "loss": self.loss,
            "learner": self.learner,
            "mixture": {"total": self.mix_loss, "mean": self._mean(self.mix_loss)},
            "mean_of_experts": {"total": self.mean_loss, "mean": self._mean(self.mean_loss)},
            "median_of_experts": {"total": self.median_loss, "mean": self._mean(self.median_loss)},
            "best_expert": None if best is None else
                {"name": best.name, "total": best.loss, "mean": best.loss / best.rows, "rows": best.rows},
            "best_combination": {
                "total": self.oracle.loss, "at_least": self.oracle.least, "withheld": self.oracle.withheld,
                "weights": None if self.oracle.weights is None
                else {e.name: w for e, w in zip(self.experts, self.oracle.weights.tolist(), strict=True) if w > 0.0},
            },
            "quantiles": None if self.quantiles is None else self.quantiles.as_dict(self.names),
            "number_of_experts": self.n,
            "left_out": list(self.left_out),
            "experts": [
                {"name": e.name, "rows": e.rows, "total": e.loss, "mean": e.loss / e.rows if e.rows else None,
                 "mixture_in_those_rows": e.mix_loss, "weight_at_the_end": e.weight}
                for e in self.experts
            ],
            "expected": None if self.own_loss is None else {"total": self.own_loss, "mean": self._mean(self.own_loss)},
            "regret": self.regret,
            "expected_regret": self.own_regret,
            "bound": None if self.bound is None else
                {"value": self.bound.value, "terms": self.bound.terms, "source": self.bound.source,
                 "against": self.bound.against, "holds": self.bound.holds, "condition": self.bound.condition or None},
            "bound_withheld": self.withheld,
            "promises": [
                {"whom": whom, "realised": more, "bound": bound, "withheld": why or None}
                for whom, more, bound, why in self.comparisons()
            ],
            "guarantee": self.guarantee,
            "certificate": None if certificate is None else {name.strip(): text for name, text in certificate.rows()},
        }))  # fmt: skip

    def _mean(self, total: float) -> float | None:
        return total / self.settled if self.settled else None

    @property
    def guarantee(self) -> str:
        """What the bounds are on."""
        if self.certificate is None:
            if self.promises.columns is None:
                return f"no bound: {self.withheld}"
            slept = f"; of an expert that slept: {self.promises.filled}" if self.promises.filled else ""
            return f"the bounds are on the combination's own loss, and proved{slept}"
        whom = "each expert over its waking rows" if self.sleepers else "the best expert"
        if self.convex:
            return f"the mixture costs at most <p, l>, whose regret against {whom} is bounded"
        return f"the loss is not convex: the bound is on playing an expert drawn from the weights, against {whom}"

    def rows(self) -> list[tuple[str, str]]:
        """(name, value) for a terminal: the answer, the losses, then what is proved."""
        best, oracle = self.best, self.oracle
        state = f"{self.settled} settled of {self.answered} answered"
        if self.late:
            state += f", {self.late} of them late"
        if self.waiting > SHOWN:
            state += f"; {self.waiting} wait for their target"
        rows = [("answer", self.headline)] if self.settled or self.n == 1 else []
        rows.append(("rows", state))
        if self.left_out:
            rows.append(("left out", left_out(self.left_out)))
        rows += [("forecast", f"{one.text}  for {one.name}") for one in self.forecasts[-SHOWN:]]
        rows += [("loss", self.loss), ("learner", self.learner)]
        if not self.settled:
            return [*rows, ("losses", "none: no row has a target")]
        rows.append(("mixture", self._loss(self.mix_loss, self.settled)))
        rows.append(("mean", f"{self._loss(self.mean_loss, self.settled)}: the average of the experts"))
        rows.append(("median", f"{self._loss(self.median_loss, self.settled)}: of the experts, row by row"))
        if best is not None:
            word = "most ahead" if self.sleepers else "best expert"
            extra = f", awake in {counted(best.rows, 'row')}" if self.sleepers else ""
            rows.append((word, f"{self._loss(best.loss, best.rows)}: {best.name}{extra}"))
        if oracle.loss is not None and oracle.least is not None:
            among = "" if len(oracle.experts) == self.n else f", of the {len(oracle.experts)} that never slept"
            rows.append((
                "best combination", f"{self._loss(oracle.loss, self.settled)}: fixed, in hindsight{among}; "
                f"none is below {figure(oracle.least)}",
            ))  # fmt: skip
        else:
            rows.append(("best combination", f"withheld: {oracle.withheld}"))
        if self.quantiles is not None:
            rows += self.quantiles.lines()
        return rows + self._proof()

    def _proof(self) -> list[tuple[str, str]]:
        rows = []
        if self.own_loss is not None:
            rows.append(("<p, l>", f"{self._loss(self.own_loss, self.settled)}: what an expert drawn from p costs"))
            rows.append(("regret", f"{figure(self.regret)} of the mixture, {figure(self.own_regret)} of <p, l>"))
        else:
            rows.append(("regret", f"{figure(self.regret)} of the mixture"))
        if self.certificate is None:
            for whom, more, bound, why in self.comparisons():
                rows.append((f"to {whom.split(',')[0]}", promised(more, bound, why)))
            if self.promises.source:
                rows.append(("source", self.promises.source))
                rows.append(
                    ("against", "any losses, any delays of the targets, in any order: of the combination itself")
                )
        elif self.bound is not None:
            rows.append(("bound", f"{ceiling(self.bound.value)} on the regret of <p, l>  ({self.bound.source})"))
            if self.bound.condition:
                rows.append(("condition", self.bound.condition))
            rows.append(("against", self.bound.holds))
        else:
            rows.append(("bound", f"withheld: {self.withheld}"))
        rows.append(("guarantee", self.guarantee))
        if self.certificate is not None and self.certificate.claimed_rate is not None:
            rows += [row for row in self.certificate.rows() if row[0] == "stability"]
        return rows

    def standing(self, most: int = 12) -> list[str]:
        """The experts by their mean loss, as lines of a table."""
        ranked = sorted((e for e in self.experts if e.rows), key=lambda e: e.loss / e.rows)[:most]
        width = max((len(e.name) for e in ranked), default=0)
        lines = [f"{'expert':<{max(width, 6)}}  {'mean loss':>11} {'rows':>9} {'weight now':>11}"]
        lines += [
            f"{e.name:<{max(width, 6)}}  {figure(e.loss / e.rows):>11} {e.rows:>9} {figure(e.weight):>11}"
            for e in ranked
        ]
        return [*lines, f"... {self.n - len(ranked)} more"] if self.n > len(ranked) else lines

    def _loss(self, total: float, rows: int) -> str:
        return f"{figure(total)} in all, {figure(total / rows)} a row"

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {text}" for name, text in rows]
        if not self.settled:
            return "\n".join(lines)
        proof = len(self._proof())
        return "\n".join([*lines[:-proof], "", *self.standing(), "", *lines[-proof:]])

    def to_json(self) -> str:
        """The summary as JSON text."""
        return to_text(self.as_dict())


def only_expert(name: str) -> str:
    """Return the answer for a table with one expert.

    >>> only_expert("naive")
    "nothing to combine: 'naive' is the only expert"
    """
    return f"nothing to combine: {clipped(name)} is the only expert"


def waits(one: Forecast) -> dict[str, Any]:
    """A row that waits for its target, for JSON."""
    told: dict[str, Any] = {"row": one.row, "time": one.time, "forecast": one.forecast}
    return {**told, "quantiles": {f"{q:g}": x for q, x in one.quantiles}} if one.quantiles else told


def promised(more: float, bound: float | None, why: str) -> str:
    """How much more something lost than another, or less, and what is proved of it; or why nothing is.

    >>> promised(12.0, 40.0, ""), promised(-5281.0, 4157.0, "")
    ('12 more; at most 40 is proved', '5281 less; at most 4157 more is proved')
    """
    told = f"{figure(abs(more))} {'more' if more >= 0.0 else 'less'}"
    if bound is None:
        return f"{told}; withheld: {why}"
    return f"{told}; at most {ceiling(bound)} {'is' if more >= 0.0 else 'more is'} proved"


def ahead_of(own: float, other: float) -> float | None:
    """By how many percent a loss is less than another's; None where that one lost nothing, and this one did.

    >>> ahead_of(1.5, 2.0), ahead_of(0.0, 0.0), ahead_of(1.5, 0.0)
    (25.0, 0.0, None)
    """
    if other > 0.0:
        return 100.0 * (1.0 - own / other)
    return None if own > 0.0 else 0.0


def compared(own: float, other: float, whom: str) -> str:
    """A loss beside another's, in words.

    >>> compared(1.5, 2.0, "the average"), compared(1.5, 0.0, "a")
    ('25.0% better than the average', '1.5 more than a, which lost nothing')
    """
    ahead = ahead_of(own, other)
    if ahead is None:
        return f"{figure(own)} more than {whom}, which lost nothing"
    return f"{percent(abs(ahead))} {'better' if ahead >= 0.0 else 'worse'} than {whom}"


def summarize(
    combiner: Combiner, pending: Pending, course: Course, found: Hindsight, quantiles: Quantiled | None = None,
    left_out: tuple[str, ...] = (),
) -> Summary:  # fmt: skip
    """Return the summary of a table that has ended."""
    mixer, told, names = combiner.mixer, combiner.mixer.promises(), combiner.models
    losses, beside, awake = mixer.losses, mixer.beside, np.asarray(mixer.awake).astype(np.int64)
    answered, settled, n = int(mixer.answered), int(mixer.settled), len(names)
    p = combiner.weights()
    shown = np.arange(n)
    ahead = np.where(awake > 0, beside - losses, -np.inf)
    if n > TOLD:
        shown = np.sort(np.argpartition(-ahead, TOLD)[:TOLD])
    columns = [column[shown].tolist() for column in (awake, losses, beside, p)]
    sums = zip([names[i] for i in shown.tolist()], *columns, strict=True)
    certificate = mixer.certificate()
    regret = float(ahead.max()) if (awake > 0).any() else 0.0
    own = float(told.realised[int(np.argmax(ahead))]) if certificate is None else (certificate.regret or 0.0)
    return Summary(
        loss=combiner.loss.name,
        convex=combiner.loss.convex,
        learner=repr(combiner.learner),
        answered=answered,
        settled=settled,
        waiting=answered - settled,
        late=pending.late,
        mix_loss=float(mixer.mixture),
        own_loss=float(mixer.expected) if mixer.draws else None,
        mean_loss=float(mixer.mean_loss),
        median_loss=found.median,
        n=n,
        sleepers=bool((awake < settled).any()),
        experts=tuple(Expert(name, count, loss, mix, weight) for name, count, loss, mix, weight in sums),
        names=tuple(names),
        regret=regret,
        own_regret=own,
        oracle=found.oracle,
        promises=told,
        certificate=certificate,
        curves=_curves(course, n, found.course if pending.late == 0 else None),
        forecasts=pending.forecasts(),
        quantiles=quantiles,
        left_out=left_out,
    )


def _curves(course: Course, n: int, oracle: Array | None) -> Curves:
    """Return the curves; `oracle` has the cumulative losses of the best combination over the settled rows in order."""
    points, at = course.points(), course.trace.rows()
    marks = points[:, :MARKS] if len(points) else np.empty((0, MARKS))
    wide = n if n <= CURVES and len(points) else 0
    each = [points[:, MARKS + k * wide : MARKS + (k + 1) * wide] for k in range(3)]
    settled = marks[:, 0].astype(int)
    best = np.full(len(at), np.nan)
    if oracle is not None and len(at):
        best = np.where(settled > 0, oracle[np.maximum(settled, 1) - 1], 0.0)
    return Curves(
        rows=at,
        mix=marks[:, 1],
        regret=marks[:, 2],
        own_regret=marks[:, 3],
        bound=marks[:, 4],
        weights=each[0],
        experts=each[1],
        beside=each[2],
        mean=marks[:, 5],
        best=best,
        times=tuple(course.times.get(int(row), "") for row in at) if any(course.times.values()) else (),
    )
