"""Summary of a combination: losses, the best choices in hindsight, and excess losses with their bounds."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.mathematics.bounds import Bound
from hannan.players.certificate import Certificate
from hannan.saving.formatting import ceiling, counted, figure, percent
from hannan.saving.formatting import clipped as shortened
from hannan.saving.result import Shown, plain, to_text
from hannan.tables.combine.calibration import Quantiled, Recent
from hannan.tables.combine.clip import Clipped
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.coverage_report import CoverageReport
from hannan.tables.combine.guarantees import ANY_ROWS, CURVES, EXCESS, MARKS, OWN_ROWS, Course, Promises
from hannan.tables.combine.hindsight import ONE_LOOK, Hindsight, Improvement, Oracle, verdict
from hannan.tables.combine.quantiles import left_out
from hannan.tables.combine.timing import Forecast, Pending
from hannan.tables.read.table import clipped
from hannan.validation import Array

#: With more experts than this, only the best ones are listed.
TOLD = 2000
#: Number of waiting rows that are printed.
SHOWN = 5
#: Columns of a terminal that texts are wrapped to.
WIDTH = 112
#: Number of experts that are printed.
RANKED = 12

# Fixed sentences of results; each is covered by tests/tables/test_combine_results.py.
#: Meaning of a bound of a rule.
EXCEEDED = "The total loss is proved to exceed each of them by at most its bound, which is computed from the data."
#: Page with the proofs of the bounds.
PROOFS = "docs/proofs/combine.md"
#: Scope of the bounds of a learner with a convex loss.
ON_MEAN_LOSS = (
    "the bound is on the weighted mean <p, l> of the models' losses, which the combined forecast never exceeds"
)
#: Scope of the bounds of a learner with a loss that is not convex.
ON_DRAWN = "the loss is not convex: the bound is on playing an expert drawn from the weights"


@dataclass(frozen=True)
class Expert:
    """One column: rows with its forecast and a target, its loss there, that of the combination, and its weight."""

    name: str
    rows: int
    loss: float
    mix_loss: float
    weight: float

    @property
    def regret(self) -> float:
        """Excess loss of the combination over the expert, in rows with its forecasts."""
        return self.mix_loss - self.loss


@dataclass(frozen=True)
class Points:
    """Losses of combined point forecasts of models whose quantiles are combined too, over the settled rows."""

    loss: str
    rows: int
    total: float
    mean: float
    #: Model with the smallest excess loss, its loss, and that of the combination in the rows with its forecasts.
    best: str
    best_loss: float
    beside: float
    weights: dict[str, float] = field(hash=False)

    @classmethod
    def of(cls, combiner: Combiner) -> Points:
        """Return the losses of a combiner."""
        mixer, names = combiner.mixer, combiner.models
        ahead = np.where(np.asarray(mixer.awake) > 0, mixer.beside - mixer.losses, -np.inf)
        k = int(np.argmax(ahead))
        weights = dict(zip(names, combiner.weights().tolist(), strict=True))
        return cls(
            loss=combiner.loss.name, rows=int(mixer.settled), total=float(mixer.mixture), mean=float(mixer.mean_loss),
            best=names[k], best_loss=float(mixer.losses[k]), beside=float(mixer.beside[k]), weights=weights,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The losses in one line."""
        if not self.rows:
            return "no row has a target"
        told = f"{self.loss} loss {figure(self.total / self.rows)} per row"
        if len(self.weights) == 1:
            return told
        rival = compared(self.beside, self.best_loss, f"the best model ({shortened(self.best, 30)})")
        return f"{told}; {rival}, {compared(self.total, self.mean, 'the average of models')}"

    def as_dict(self) -> dict[str, Any]:
        """Return the losses for JSON."""
        return {"loss": self.loss, "total": self.total, "mean_of_experts": self.mean, "best_expert": self.best,
                "best_expert_total": self.best_loss, "mixture_in_those_rows": self.beside,
                "weights_at_the_end": self.weights}  # fmt: skip


@dataclass(frozen=True)
class Curves:
    """Cumulative quantities at a few hundred rows; per expert only if there are at most `CURVES` experts."""

    rows: Array = field(hash=False)
    mix: Array = field(hash=False)
    regret: Array = field(hash=False)
    own_regret: Array = field(hash=False)
    bound: Array = field(hash=False)
    weights: Array = field(hash=False)
    experts: Array = field(hash=False)
    #: Loss of the combination in the rows with a forecast of each expert.
    beside: Array = field(hash=False)
    mean: Array = field(hash=False)
    #: Loss of the best fixed weights in hindsight; NaN if targets were late.
    best: Array = field(hash=False)
    #: Times of the rows; empty without times.
    times: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """Summary of a combination. Losses are sums over the settled rows."""

    loss: str
    convex: bool
    learner: str
    answered: int
    settled: int
    waiting: int
    late: int
    mix_loss: float
    #: Sum of <p, l>, if an expert is drawn.
    own_loss: float | None
    mean_loss: float
    median_loss: float
    #: Number of experts; `experts` lists all of them, or the best of very many.
    n: int
    experts: tuple[Expert, ...]
    names: tuple[str, ...] = field(repr=False)
    sleepers: bool
    regret: float
    own_regret: float
    oracle: Oracle
    promises: Promises = field(repr=False)
    #: Certificate of a learner; None for a rule.
    certificate: Certificate | None
    curves: Curves = field(repr=False)
    #: The last pending rows.
    forecasts: tuple[Forecast, ...] = ()
    #: CRPS, coverage and sharpness, if the forecasts are quantiles.
    quantiles: Quantiled | None = field(default=None, repr=False)
    #: The last rows for a picture.
    recent: Recent | None = field(default=None, repr=False)
    #: Columns of quantiles that were ignored.
    left_out: tuple[str, ...] = ()
    #: Coverage of the intervals, if they were requested.
    coverage: CoverageReport | None = field(default=None, repr=False)
    #: Effect of clipping, if forecasts were clipped.
    clipped: Clipped | None = field(default=None, repr=False)
    #: Columns that the rows were sorted by; empty if they were in order.
    sorted_by: tuple[str, ...] = ()
    #: Losses of point forecasts that were combined in addition to quantiles.
    points: Points | None = field(default=None, repr=False)
    #: Improvements over the average and over the best expert, with intervals; None: a loss is 0.
    improvements: tuple[Improvement | None, Improvement | None] = field(default=(None, None), repr=False)

    @property
    def best(self) -> Expert | None:
        """Expert with the largest excess loss of the combination; without missing forecasts, the smallest loss."""
        awake = [expert for expert in self.experts if expert.rows]
        return max(awake, key=lambda expert: expert.regret) if awake else None

    @property
    def narrowed(self) -> str:
        """Models without missing forecasts, which alone have best fixed weights; empty if these are all models."""
        names = [self.names[k] for k in self.oracle.experts]
        if len(names) == self.n or not names:
            return ""
        among = ", ".join(shortened(name, 20) for name in names[:3])
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"{among}{more} without missing forecasts"

    @property
    def bound(self) -> Bound | None:
        """Bound on the excess loss over the best expert, or None.

        For a learner, it bounds the regret of <p, l>, hence that of the combination if the loss is convex. For a rule,
        it bounds `own_regret`.
        """
        if self.certificate is not None:
            return self.certificate.bound
        return None if self.best is None else self.promises.bound(self._place)

    @property
    def withheld(self) -> str:
        """Reason why there is no bound on the excess loss over the best expert."""
        return self.promises.withheld if self.certificate is None else self.certificate.withheld

    @property
    def _place(self) -> int:
        """Position of the best expert."""
        return self.names.index(self.best.name) if self.best is not None else 0

    def better(self, loss: float) -> float | None:
        """Return by how many percent the loss is smaller than `loss`; negative if larger, None if `loss` is 0."""
        return ahead_of(self.mix_loss, loss)

    @property
    def headline(self) -> str:
        """Return the main result in one sentence."""
        if self.n == 1:
            return only_expert(self.names[0])
        if not self.settled or self.best is None:
            return "no row has a target"
        best = self.best
        where = "" if best.rows == self.settled else f" in the {counted(best.rows, 'row')} with its forecasts"
        rival = compared(best.mix_loss, best.loss, f"your best model ({best.name}){where}")
        told = f"{rival}, {compared(self.mix_loss, self.mean_loss, 'the equal-weight average')}"
        return so_far(self.improvements, told)

    @property
    def verdict(self) -> str:
        """Improvements over the average and over the best model, with their intervals; empty with one model."""
        if self.n == 1 or self.best is None:
            return ""
        whom = "the average of models", f"the best model ({shortened(self.best.name, 30)})"
        return verdict(list(zip(whom, self.improvements, strict=True)))

    def comparisons(self) -> list[tuple[str, float, float | None, str]]:
        """Return (whom, excess loss over it, its bound or None, reason for None) in the words of the JSON."""
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
        """Return the summary for JSON."""
        best, certificate = self.best, self.certificate
        return dict(plain({
            "answer": self.headline,
            "better_than_best_expert_percent": None if best is None else ahead_of(best.mix_loss, best.loss),
            "better_than_mean_percent": self.better(self.mean_loss),
            "verdict": self.verdict or None,
            "improvement": improvements_dict(self.improvements) if self.n > 1 else None,
            "rows": {"answered": self.answered, "settled": self.settled, "waiting": self.waiting, "late": self.late},
            "sorted_by": list(self.sorted_by),
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
            "points": None if self.points is None else self.points.as_dict(),
            "coverage": None if self.coverage is None else self.coverage.as_dict(),
            "clipped": None if self.clipped is None else self.clipped.as_dict(),
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
        """Return the scope of the bounds."""
        if self.certificate is None:
            if self.promises.columns is None:
                return f"no bound: {self.withheld}"
            return f"{ANY_ROWS}{f'; {self.promises.filled}' if self.promises.filled else ''}"
        return ON_MEAN_LOSS if self.convex else ON_DRAWN

    def rows(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs: rows, losses, and excess losses with their bounds."""
        rows = [("rows", self._state())]
        if self.left_out:
            rows.append(("ignored", left_out(self.left_out)))
        rows += [("forecast", f"{one.text}  for {one.name}") for one in self.forecasts[-SHOWN:]]
        rows += [("loss", self.loss), ("rule", self.learner)]
        rows += [] if self.clipped is None else self.clipped.lines()
        if not self.settled:
            return rows
        rows += [("verdict", self.verdict)] if self.verdict else []
        rows += [(name, f"{figure(total)}, {figure(mean)} per row{more}") for name, total, mean, more in self._losses()]
        if self.quantiles is not None:
            rows += self.quantiles.lines()
        rows += [] if self.points is None else [("point forecasts", self.points.text)]
        if self.coverage is not None:
            rows += self.coverage.lines()
        rows += [(f"excess over {whom}", promised(more, bound, why)) for whom, more, bound, why in self.excesses()]
        return [*rows, *self.assumptions(), *self.details()]

    def shown(self) -> Shown:
        """Return the content of the printed result: losses as rows, excess losses as a table."""
        excesses = self.excesses() if self.settled else []
        later = [*self.assumptions(), *self.details()] if self.settled else []
        rows = [row for row in self.rows() if row not in later and not row[0].startswith("excess over ")]
        table = [(whom, more, "none" if bound is None else ceiling(bound)) for whom, more, bound, _ in excesses]
        reasons = [("no bound over", text.removeprefix("No bound over the ")) for text in no_bounds(excesses)]
        assumptions = [*reasons, *self.assumptions()] if self.settled else []
        return Shown(self.title, rows, EXCESS, table, assumptions, self.details() if self.settled else ())

    @property
    def title(self) -> str:
        """First line of the printed result."""
        return f"Combined forecast: {self.headline}" if self.settled or self.n == 1 else "Combined forecast"

    def _state(self) -> str:
        parts = [counted(self.answered, "row")]
        if self.settled < self.answered:
            parts.append(f"{self.settled} with a target")
        if self.late:
            parts.append(f"{counted(self.late, 'target')} late")
        if self.sorted_by:
            parts.append(f"sorted by {' and '.join(self.sorted_by)}")
        if self.waiting > SHOWN:
            parts.append(f"{self.waiting} waiting for their targets")
        return ", ".join(parts)

    def _losses(self) -> list[tuple[str, float, float, str]]:
        """Return (name, total loss, loss per row, note) of the combination and its comparators."""
        best, oracle = self.best, self.oracle
        told = [("combined", self.mix_loss, self.settled, "")]
        if self.own_loss is not None:
            told.append(("expert drawn from weights", self.own_loss, self.settled, "   expected"))
        told.append(("average of models", self.mean_loss, self.settled, ""))
        if np.isfinite(self.median_loss):
            told.append(("median of models", self.median_loss, self.settled, ""))
        if best is not None:
            note = ""
            if best.rows < self.settled:  # totals over different rows are not comparable
                beside = f"{figure(best.mix_loss)} in total, {figure(best.mix_loss / best.rows)} per row"
                note = f"   in {counted(best.rows, 'row')}, where the combination has {beside}"
            told.append((f"best model ({shortened(best.name, 30)})", best.loss, best.rows, note))
        if oracle.loss is not None and oracle.least is not None:
            note = f"   in hindsight; no fixed weights are below {figure(oracle.least)}"
            if self.narrowed:
                note = f"   in hindsight, of {self.narrowed}; no such weights are below {figure(oracle.least)}"
            told.append(("best fixed weights", oracle.loss, self.settled, note))
        return [(name, total, total / rows, note) for name, total, rows, note in told]

    def excesses(self) -> list[tuple[str, float, float | None, str]]:
        """Return (whom, excess loss over it, its bound or None, reason for None), in the words of the results."""
        called = {"the mean": "average of models", "the best combination": "best fixed weights"}
        own = "best model" if self.own_loss is None else "best model, expert drawn"
        return [(called.get(whom, own), more, bound, why) for whom, more, bound, why in self.comparisons()]

    def assumptions(self) -> list[tuple[str, str]]:
        """Return the assumptions that apply, by subject."""
        rows: list[tuple[str, str]] = []
        if has_interval(self.improvements):
            rows.append(("improvements", ONE_LOOK))
        if self.promises.filled and self.best is not None and self.best.rows < self.settled:
            rows.append(("best model", self.promises.filled))
        elif self.own_loss is not None and self.sleepers:
            rows.append(("best model", OWN_ROWS))
        if self.oracle.withheld:
            rows.append(("best fixed weights", f"not computed: {self.oracle.withheld}"))
        elif len(self.oracle.experts) < self.n:
            among = counted(len(self.oracle.experts), "model")
            rows.append(("best fixed weights", f"over the {among} without missing forecasts"))
        rows += [] if self.clipped is None else self.clipped.assumptions()
        if self.certificate is not None and self.bound is not None:
            rows += [("bound", self.guarantee), ("adversary", self.bound.holds)]
            if self.bound.condition:
                rows.append(("condition", self.bound.condition))
        return rows

    def details(self) -> list[tuple[str, str]]:
        """Return the scope of the bounds of a rule, the theorem and the stability of a learner."""
        if self.certificate is None:
            return [("bounds", ANY_ROWS), ("theorem", self.promises.source)] if self.promises.source else []
        rows = [] if self.bound is None else [("theorem", self.bound.source)]
        if self.certificate.claimed_rate is not None:
            rows += [row for row in self.certificate.rows() if row[0] == "stability"]
        return rows

    def standing(self, most: int = RANKED) -> list[str]:
        """Return the models in the order of their mean losses, as lines of a table."""
        ranked = sorted((e for e in self.experts if e.rows), key=lambda e: e.loss / e.rows)[:most]
        cells = [(e.name, figure(e.loss / e.rows), str(e.rows), figure(e.weight)) for e in ranked]
        lines = aligned([("model", "mean loss", "rows", "weight now"), *cells])
        return [*lines, f"... {self.n - len(ranked)} more"] if self.n > len(ranked) else lines

    def __str__(self) -> str:
        rows = dict(self.rows())
        lines = [self.title, f"{rows['rows']}; loss: {self.loss}; rule: {self.learner}"]
        lines += [f"ignored  {rows['ignored']}"] if "ignored" in rows else []
        lines += [f"clipped  {rows['clipped']}"] if "clipped" in rows else []
        lines += pairs([("verdict", rows["verdict"])]) if "verdict" in rows else []
        if self.forecasts:
            lines += ["", *pairs([("forecast", f"{one.text}  for {one.name}") for one in self.forecasts[-SHOWN:]])]
        if not self.settled:
            return "\n".join([*lines, "", "no row has a target: no losses"])
        losses = self._losses()
        table = aligned([("", "total loss", "per row"), *((n, figure(x), figure(mean)) for n, x, mean, _ in losses)])
        notes = ["", *(note for *_, note in losses)]
        lines += ["", *(f"{row}{note}" for row, note in zip(table, notes, strict=True)), "", *self.standing()]
        if self.quantiles is not None and (told := self.quantiles.lines()):
            more = [] if self.points is None else [("point forecasts", self.points.text)]
            lines += ["", *pairs([*told, *more])]
        if self.coverage is not None:
            lines += ["", "Intervals", *(f"  {line}" for line in pairs(main_lines(self.coverage.lines())))]
        return "\n".join([*lines, "", *excess_table(self.excesses()), *self._notes()])

    def _notes(self) -> list[str]:
        told, details = self.assumptions(), self.details()
        lines = ["", "Assumptions", *(f"  {line}" for line in pairs(told))] if told else []
        if self.certificate is None:
            lines = [f"{ANY_ROWS}:", self.promises.source, EXCEEDED, *lines] if details else lines
            return [*lines, *interval_details(self.coverage)]
        lines = [*lines, "", "Details", *(f"  {line}" for line in pairs(details))] if details else lines
        return [*lines, *interval_details(self.coverage)]

    def to_json(self) -> str:
        """Return the summary as JSON text."""
        return to_text(self.as_dict())


#: Lines about intervals that are printed last: bounds before play, the cost, and the base ends.
LAST = ("before play", "cost", "base")


def main_lines(lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the lines about intervals without those that are printed last."""
    return [row for row in lines if not row[0].startswith(LAST)]


def interval_details(coverage: Any) -> list[str]:
    """Return the lines about intervals that are printed last, under a heading."""
    rows = [] if coverage is None else [row for row in coverage.lines() if row[0].startswith(LAST)]
    return ["", "Details of the intervals", *(f"  {line}" for line in pairs(rows))] if rows else []


def only_expert(name: str) -> str:
    """Return the headline for a table with one model.

    >>> only_expert("naive")
    "nothing to combine: 'naive' is the only model"
    """
    return f"nothing to combine: {clipped(name)} is the only model"


def so_far(found: Sequence[Improvement | None], told: str) -> str:
    """Return a headline, after a note if it is too early for a verdict.

    >>> so_far([Improvement(2.0, early="after 4 rows")], "2.0% better than ets")
    'too early to say after 4 rows; so far 2.0% better than ets'
    """
    early = next((one.early for one in found if one is not None and one.early), "")
    return f"too early to say {early}; so far {told}" if early else told


def has_interval(found: Sequence[Improvement | None]) -> bool:
    """Return True if one of the improvements has an interval."""
    return any(one is not None and one.low is not None for one in found)


def improvements_dict(found: Sequence[Improvement | None]) -> dict[str, Any]:
    """Return the improvements over the average and over the best model for JSON."""
    each = [None if one is None else one.as_dict() for one in found]
    return {**dict(zip(("over_mean", "over_best_expert"), each, strict=True)), "intervals": ONE_LOOK}


def waits(one: Forecast) -> dict[str, Any]:
    """Return a pending row, for JSON."""
    told: dict[str, Any] = {"row": one.row, "time": one.time, "forecast": one.forecast}
    if one.intervals:
        told["intervals"] = [{"coverage": level, "low": low, "high": high} for level, low, high in one.intervals]
    return {**told, "quantiles": {f"{q:g}": x for q, x in one.quantiles}} if one.quantiles else told


def promised(more: float, bound: float | None, why: str) -> str:
    """Return an excess loss and its bound as text, or the reason why there is none.

    >>> promised(12.0, 40.0, ""), promised(-5281.0, None, "the loss is not convex")
    ('12, proved bound 40', '-5281, no bound: the loss is not convex')
    """
    return f"{figure(more)}, {f'no bound: {why}' if bound is None else f'proved bound {ceiling(bound)}'}"


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table: the first column to the left, numbers to the right.

    >>> aligned([("", "loss"), ("a", "1.5")])
    ['   loss', 'a   1.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]


def pairs(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return lines with a name and a text each."""
    width = max((len(name) for name, _ in rows), default=0)
    told = []
    for name, text in rows:
        first, *more = textwrap.wrap(text, WIDTH - width, break_long_words=False, break_on_hyphens=False) or [""]
        told += [f"{name:<{width}}  {first}", *(" " * (width + 2) + line for line in more)]
    return told


def excess_table(rows: Sequence[tuple[str, float, float | None, str]]) -> list[str]:
    """Return the lines about (whom, excess loss over it, bound, reason why there is none).

    >>> print("\\n".join(excess_table([("best model", -70.4, 26.8, ""), ("average", 1.0, None, "it is late")])))
    excess loss over  actual  proved bound
      best model       -70.4          26.8
      average              1          none
    No bound over the average: it is late
    """
    cells = [(f"  {w}", figure(more), "none" if b is None else ceiling(b)) for w, more, b, _ in rows]
    return [*aligned([EXCESS, *cells]), *no_bounds(rows)]


def no_bounds(rows: Sequence[tuple[str, float, float | None, str]]) -> list[str]:
    """Return one sentence per reason why there is no bound; rows are those of `excess_table`."""
    reasons: dict[str, list[str]] = {}
    for whom, _, bound, why in rows:
        if bound is None:
            reasons.setdefault(why, []).append(whom)
    return [f"No bound over the {', '.join(whom)}: {why}" for why, whom in reasons.items()]


def ahead_of(own: float, other: float) -> float | None:
    """Return by how many percent a loss is smaller than another; None if the other is 0 and this one is not.

    >>> ahead_of(1.5, 2.0), ahead_of(0.0, 0.0), ahead_of(1.5, 0.0)
    (25.0, 0.0, None)
    """
    if other > 0.0:
        return 100.0 * (1.0 - own / other)
    return None if own > 0.0 else 0.0


def compared(own: float, other: float, whom: str) -> str:
    """Compare a loss with another one in words.

    >>> compared(1.5, 2.0, "the average"), compared(1.5, 0.0, "a")
    ('25.0% better than the average', '1.5 more than a, whose loss is 0')
    """
    ahead = ahead_of(own, other)
    if ahead is None:
        return f"{figure(own)} more than {whom}, whose loss is 0"
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
        clipped=None if combiner.clipping is None else combiner.clipping.result(),
        improvements=found.improvements,
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
