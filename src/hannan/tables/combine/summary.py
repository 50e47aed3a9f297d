"""What a combination came to: losses, the best in hindsight, regret against its bound, in one record."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.mathematics.bounds import Bound
from hannan.players.certificate import Certificate
from hannan.refusals import Array
from hannan.tables.combine.answers import Forecast
from hannan.tables.combine.hindsight import Oracle
from hannan.tables.combine.rows import CURVES, MARKS, Combiner
from hannan.tables.write import plain

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
    own_loss: float
    #: How many experts there are; `experts` has all of them, or of very many the best.
    n: int
    experts: tuple[Expert, ...]
    sleepers: bool
    regret: float
    own_regret: float
    oracle: Oracle
    certificate: Certificate
    curves: Curves = field(repr=False)
    #: The last rows that wait for their target.
    forecasts: tuple[Forecast, ...] = ()

    @property
    def best(self) -> Expert | None:
        """The expert that was most ahead of the mixture, or least behind; without sleepers, the least loss."""
        awake = [expert for expert in self.experts if expert.rows]
        return max(awake, key=lambda expert: expert.regret) if awake else None

    @property
    def bound(self) -> Bound | None:
        """On the regret of <p, l>, hence of the mixture where the loss is convex; None where it is withheld."""
        return self.certificate.bound

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        best, certificate = self.best, self.certificate
        return dict(plain({
            "loss": self.loss,
            "learner": self.learner,
            "rows": {"answered": self.answered, "settled": self.settled, "waiting": self.waiting, "late": self.late},
            "forecasts": [{"row": f.row, "time": f.time, "forecast": f.forecast} for f in self.forecasts],
            "mixture": {"total": self.mix_loss, "mean": self._mean(self.mix_loss)},
            "expected": {"total": self.own_loss, "mean": self._mean(self.own_loss)},
            "best_expert": None if best is None else
                {"name": best.name, "total": best.loss, "mean": best.loss / best.rows, "rows": best.rows},
            "best_combination": {
                "total": self.oracle.loss, "at_least": self.oracle.least, "withheld": self.oracle.withheld,
                "weights": None if self.oracle.weights is None
                else {e.name: w for e, w in zip(self.experts, self.oracle.weights.tolist(), strict=True) if w > 0.0},
            },
            "regret": self.regret,
            "expected_regret": self.own_regret,
            "bound": None if self.bound is None else
                {"value": self.bound.value, "terms": self.bound.terms, "source": self.bound.source,
                 "against": self.bound.against, "holds": self.bound.holds, "condition": self.bound.condition or None},
            "bound_withheld": certificate.withheld,
            "guarantee": self.guarantee,
            "certificate": {name.strip(): text for name, text in certificate.rows()},
            "number_of_experts": self.n,
            "experts": [
                {"name": e.name, "rows": e.rows, "total": e.loss, "mean": e.loss / e.rows if e.rows else None,
                 "mixture_in_those_rows": e.mix_loss, "weight_at_the_end": e.weight}
                for e in self.experts
            ],
        }))  # fmt: skip

    def _mean(self, total: float) -> float | None:
        return total / self.settled if self.settled else None

    @property
    def guarantee(self) -> str:
        """What the bound is on."""
        whom = "each expert over its waking rows" if self.sleepers else "the best expert"
        if self.convex:
            return f"the mixture costs at most <p, l>, whose regret against {whom} is bounded"
        return f"the loss is not convex: the bound is on playing an expert drawn from the weights, against {whom}"

    def rows(self) -> list[tuple[str, str]]:
        """(name, value) for a terminal."""
        best, oracle = self.best, self.oracle
        state = f"{self.settled} settled of {self.answered} answered"
        if self.late:
            state += f", {self.late} of them late"
        if self.waiting > SHOWN:
            state += f"; {self.waiting} wait for their target"
        rows = [("rows", state)]
        rows += [("forecast", f"{one.forecast:.6g}  for {one.name}") for one in self.forecasts[-SHOWN:]]
        rows += [("loss", self.loss), ("learner", self.learner)]
        if not self.settled:
            return [*rows, ("losses", "none: no row has a target")]
        rows.append(("mixture", self._loss(self.mix_loss, self.settled)))
        rows.append(("<p, l>", f"{self._loss(self.own_loss, self.settled)}: what an expert drawn from p costs"))
        if best is not None:
            word = "most ahead" if self.sleepers else "best expert"
            extra = f", awake in {best.rows} rows" if self.sleepers else ""
            rows.append((word, f"{self._loss(best.loss, best.rows)}: {best.name}{extra}"))
        if oracle.loss is not None and oracle.least is not None:
            among = "" if len(oracle.experts) == self.n else f", of the {len(oracle.experts)} that never slept"
            rows.append((
                "best combination", f"{self._loss(oracle.loss, self.settled)}: fixed, in hindsight{among}; "
                f"none is below {oracle.least:.6g}",
            ))  # fmt: skip
        else:
            rows.append(("best combination", f"withheld: {oracle.withheld}"))
        rows.append(("regret", f"{self.regret:.6g} of the mixture, {self.own_regret:.6g} of <p, l>"))
        if self.bound is not None:
            rows.append(("bound", f"{self.bound.value:.6g} on the regret of <p, l>  ({self.bound.source})"))
            if self.bound.condition:
                rows.append(("condition", self.bound.condition))
            rows.append(("against", self.bound.holds))
        else:
            rows.append(("bound", f"withheld: {self.certificate.withheld}"))
        rows.append(("guarantee", self.guarantee))
        if self.certificate.claimed_rate is not None:
            rows += [row for row in self.certificate.rows() if row[0] == "stability"]
        return rows

    def standing(self, most: int = 12) -> list[str]:
        """The experts by their mean loss, as lines of a table."""
        ranked = sorted((e for e in self.experts if e.rows), key=lambda e: e.loss / e.rows)[:most]
        width = max((len(e.name) for e in ranked), default=0)
        lines = [f"{'expert':<{max(width, 6)}}  {'mean loss':>11} {'rows':>9} {'weight now':>11}"]
        lines += [f"{e.name:<{max(width, 6)}}  {e.loss / e.rows:>11.6g} {e.rows:>9} {e.weight:>11.4g}" for e in ranked]
        return [*lines, f"... {self.n - len(ranked)} more"] if self.n > len(ranked) else lines

    def _loss(self, total: float, rows: int) -> str:
        return f"{total:.6g} in all, {total / rows:.6g} a row"

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        standing = ["", *self.standing()] if self.settled else []
        return "\n".join([*(f"{name:<{width}}  {text}" for name, text in rows), *standing])

    def to_json(self) -> str:
        """The summary as JSON text."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)


def summarise(combiner: Combiner, oracle: Oracle) -> Summary:
    """Close a combiner's books."""
    combiner.close()
    tally, certificate = combiner.sum, combiner.certificate()
    n = combiner.learner.n
    p = combiner.player.distribution()
    told = np.arange(n)
    if n > TOLD:
        ahead = np.where(tally.awake > 0, tally.mix_beside - tally.experts, -np.inf)
        told = np.sort(np.argpartition(-ahead, TOLD)[:TOLD])
    columns = [column[told].tolist() for column in (tally.awake, tally.experts, tally.mix_beside, p)]
    sums = zip([combiner.names[i] for i in told.tolist()], *columns, strict=True)
    # A point is: settled rows, loss and regret of the mixture, the player's mark, weights, losses of the experts.
    points = combiner.trace.points()
    marks = points[:, 3 : 3 + MARKS]
    bounds = [combiner.bound_at(int(t), mark) for t, mark in zip(points[:, 0], marks, strict=True)]
    wide = n if n <= CURVES else 0
    each = [points[:, 3 + MARKS + k * wide : 3 + MARKS + (k + 1) * wide] for k in range(3)]
    return Summary(
        loss=combiner.loss.name,
        convex=combiner.loss.convex,
        learner=repr(combiner.learner),
        answered=combiner.answered,
        settled=combiner.settled,
        waiting=combiner.waiting,
        late=combiner.late,
        mix_loss=tally.mix,
        own_loss=tally.own,
        n=n,
        sleepers=bool((tally.awake < combiner.settled).any()),
        experts=tuple(Expert(name, rows, loss, mix, weight) for name, rows, loss, mix, weight in sums),
        regret=tally.regret,
        own_regret=certificate.regret or 0.0,
        oracle=oracle,
        certificate=certificate,
        curves=Curves(
            rows=combiner.trace.rows(),
            mix=points[:, 1],
            regret=points[:, 2],
            own_regret=marks[:, 0] * combiner.learner.width,
            bound=np.array([np.nan if b is None else b.value for b in bounds]),
            weights=each[0],
            experts=each[1],
            beside=each[2],
        ),
        forecasts=combiner.forecasts(),
    )
