"""Learners on one log: their estimates, beside the policy that made it and each single action."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hannan.refusals import Array
from hannan.tables.replay.estimates import Estimate
from hannan.tables.write import plain


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
