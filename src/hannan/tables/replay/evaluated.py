"""Learners on one log: their estimates, beside the policy that made it and each single action."""

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
    """One learner on the log: its estimates, the rows accepted, and the effective number of rows behind them.

    `fixed`: a policy of the user's own, which learns nothing, so that no rows are accepted for it.
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
    """Learners on one log, beside the policy that made it and each single action. Losses are means a row."""

    rows: int
    actions: tuple[str, ...]
    propensities: bool
    gains: bool
    logged: Estimate
    single: tuple[Estimate, ...]
    learners: tuple[Replayed, ...]
    runs: int
    seed: int
    #: What must be true of columns of advice and of probabilities, or how contexts were learnt from; "" without either.
    condition: str = ""
    #: Meaning of rows without a loss, for JSON; None if none was stated.
    missing: dict[str, Any] | None = field(default=None, hash=False)
    #: Column of the smallest probabilities, and its minimum; None if no column was named.
    smallest: dict[str, Any] | None = field(default=None, hash=False)

    @property
    def best_action(self) -> Estimate:
        """The best single action, as the log has it (in hindsight, so it flatters)."""
        pick = max if self.gains else min
        return pick(self.single, key=lambda estimate: estimate.value)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
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


#: Propensities of three or four digits sum to 1 within this share of the least.
ROUNDING = 5e-3


def beside(log: Log, scope: Scope) -> tuple[Estimate, tuple[Estimate, ...]]:
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
                f"{log.source}, row {log.missing.row(first + t - 1)}: a loss must be in the stated range "
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
    """Whether the least and the largest propensities that each action was drawn with are those of one lottery.

    An action's own rows cannot tell: they do not show where it was hardly ever drawn. What it lost there another had
    more of, whose rows show it; so every action must be steady, and their chances sum to 1, to rounding that is small
    beside the least of them.

    >>> steady(np.array([0.2, 0.8]), np.array([0.2, 0.8])), steady(np.array([0.2, 0.7]), np.array([0.2, 0.8]))
    (True, False)
    """
    return bool((most <= least * (1.0 + 1e-9)).all()) and abs(float(most.sum()) - 1.0) <= ROUNDING * float(most.min())
