"""Results of a replay: learners, the logged policy, and single actions on one log."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hannan.mathematics.intervals import of_mean
from hannan.saving.result import plain
from hannan.tables.read.table import BadTable
from hannan.tables.replay.log import Estimate, Log, Scope, normalised, rate, standard_error
from hannan.validation import Array


@dataclass(frozen=True)
class Replayed:
    """Estimates of one learner on a log, with its accepted rows and the effective number of rows.

    A `fixed` policy is user-defined and does not learn, so it has no accepted rows.
    """

    name: str
    learner: str
    estimates: dict[str, Estimate] = field(hash=False)
    accepted: float
    effective: float
    rows: Array = field(hash=False, repr=False)
    curve: Array = field(hash=False, repr=False)
    fixed: bool = False


@dataclass(frozen=True)
class Evaluated:
    """Estimates of learners on one log, of the policy that created it, and of each single action, as means per row."""

    rows: int
    actions: tuple[str, ...]
    propensities: bool
    gains: bool
    logged: Estimate
    single: tuple[Estimate, ...]
    learners: tuple[Replayed, ...]
    runs: int
    seed: int
    #: Conditions on columns of advice and of probabilities, or of contexts; "" if there are none.
    condition: str = ""
    #: Meaning of rows without a loss, for JSON; None if none was stated.
    missing: dict[str, Any] | None = field(default=None, hash=False)
    #: Column of the smallest probabilities, and its minimum; None if no column was named.
    smallest: dict[str, Any] | None = field(default=None, hash=False)

    @property
    def best_action(self) -> Estimate:
        """Best single action in hindsight, whose estimate is therefore too optimistic."""
        pick = max if self.gains else min
        return pick(self.single, key=lambda estimate: estimate.value)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dict for JSON."""
        return dict(plain({
            "rows": self.rows, "actions": list(self.actions), "propensities": self.propensities,
            "runs": self.runs, "seed": self.seed, "condition": self.condition or None,
            "missing": self.missing, "smallest": self.smallest,
            "logged": self.logged.to_dict(),
            "best_action": {"action": self.best_action.name, **self.best_action.to_dict()},
            "learners": [
                {"name": one.name, "learner": one.learner, "accepted": None if one.fixed else one.accepted,
                 "effective_rows": one.effective,
                 **{name: estimate.to_dict() for name, estimate in one.estimates.items()}}
                for one in self.learners
            ],
        }))  # fmt: skip


#: Relative tolerance for the sum of propensities that are rounded to three or four digits.
ROUNDING = 5e-3


def comparators(log: Log, scope: Scope) -> tuple[Estimate, tuple[Estimate, ...]]:
    """Return the means of the logged policy and of each action; intervals of actions hold simultaneously (Bonferroni).

    If all losses equal one end of their range and no propensity changes, the rows are a sample of one distribution, and
    the intervals are exact. Otherwise the log may be adaptive: the logged policy gets a martingale interval, and the
    mean of an action is self-normalized.
    """
    k = len(log.labels)
    low, high = scope.span
    w, w2, wl, w2l, w2l2, hits = (np.zeros(k) for _ in range(6))
    least, most = np.ones(k), np.zeros(k)
    two_valued, first, total, raw, squares, n = True, 1, 0.0, 0.0, 0.0, 0.0
    for actions, losses, odds, _ in log.blocks():
        outside = ~((losses >= low) & (losses <= high))
        if outside.any():
            t = int(np.argmax(outside))
            raise BadTable(
                f"{log.source}, row {log.missing.row(first + t - 1)}: loss must be in the stated range "
                f"{low:g}:{high:g}; got {losses[t]:g}"
            )
        first += len(actions)
        for sums, term in ((w, 1 / odds), (w2, odds**-2), (wl, losses / odds), (w2l, losses / odds**2),
                           (w2l2, (losses / odds) ** 2), (hits, losses == high)):  # fmt: skip
            np.add.at(sums, actions, term)
        np.minimum.at(least, actions, odds)
        np.maximum.at(most, actions, odds)
        two_valued = two_valued and bool(((losses == low) | (losses == high)).all())
        before = n + np.arange(len(losses))
        mean = np.divide(total + np.cumsum(losses) - losses, before, out=np.full(len(losses), low), where=before > 0)
        squares += float(np.square(losses - mean).sum())
        total, raw, n = total + float(losses.sum()), raw + float(np.square(losses).sum()), n + len(losses)
    together = replace(scope, level=1.0 - (1.0 - scope.level) / k)
    exact = two_valued and steady(least, most)
    single = tuple(
        rate(log.labels[i], hits[i], log.counts[i], together)
        if exact
        else normalised(log.labels[i], (w[i], w2[i], wl[i], w2l[i], w2l2[i]), together)
        for i in range(k)
    )
    if exact:
        logged = rate("logged", float(hits.sum()), n, scope)
    else:
        interval = of_mean(total, squares, n, high - low, scope.level)
        logged = scope.estimate("logged", total / n, standard_error(total, raw, n), interval)
    return logged, tuple(replace(one, level=scope.level) for one in single)


def steady(least: Array, most: Array) -> bool:
    """Return True if the smallest and largest propensities of each action show that propensities never change.

    The rows of one action do not suffice, because they contain no rows in which it was hardly ever drawn. In such rows
    another action has a larger propensity. So all actions must have constant propensities that sum to 1, up to a
    rounding error that is small compared with the smallest of them.
    >>> steady(np.array([0.2, 0.8]), np.array([0.2, 0.8])), steady(np.array([0.2, 0.7]), np.array([0.2, 0.8]))
    (True, False)
    """
    return bool((most <= least * (1.0 + 1e-9)).all()) and abs(float(most.sum()) - 1.0) <= ROUNDING * float(most.min())
