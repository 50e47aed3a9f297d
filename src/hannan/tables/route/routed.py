"""Learners on one table of losses: their records, and what comes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.games.record import Record
from hannan.learners.learner import Learner
from hannan.refusals import Array
from hannan.saving.words import counted, figure
from hannan.tables.write import plain


@dataclass(frozen=True)
class Route:
    """One learner on the table: what it sees, its name, its record."""

    name: str
    sees: str
    learner: Learner
    record: Record = field(hash=False, repr=False)

    @property
    def regret(self) -> float:
        """Mean regret over the runs; for experts that of <p, l>."""
        expected = self.record.expected_regret
        return float(self.record.mean_regret[-1] if expected is None else np.mean(np.asarray(expected)[..., -1]))

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% t interval over the runs, approximate; None if the number is exact or there is one run."""
        if self.record.expected_regret is not None or self.record.runs < 2:
            return None
        low, high = self.record.interval()
        return float(low[-1]), float(high[-1])


@dataclass(frozen=True)
class Routed:
    """Learners on one table, the least regret of each kind first."""

    arms: tuple[str, ...]
    rounds: int
    losses: Array = field(hash=False, repr=False)
    routes: tuple[Route, ...]
    runs: int
    seed: int
    gains: bool

    @property
    def best(self) -> int:
        """The best arm in hindsight."""
        return int(np.argmax(self.losses) if self.gains else np.argmin(self.losses))

    @property
    def size(self) -> str:
        """Of the table, and how often it was played."""
        return f"{counted(self.rounds, 'round')}, {counted(len(self.arms), 'arm')}, {counted(self.runs, 'run')}"

    def advice(self) -> str:
        """Which learner, in a sentence."""
        parts = []
        for sees, text in (("one loss", "that see only what they played"), ("every loss", "that see every loss")):
            found = [route for route in self.routes if route.sees == sees]
            if found:
                one = found[0]
                parts.append(f"of the learners {text}, {one.name} has the least regret, {figure(one.regret)}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(plain({
            "arms": list(self.arms), "rounds": self.rounds, "runs": self.runs, "seed": self.seed,
            "best_arm": self.arms[self.best], "best_loss": float(self.losses[self.best]),
            "learners": [
                {"name": r.name, "learner": r.record.learner, "sees": r.sees, "regret": r.regret,
                 "interval": r.interval, "mean_regret_of_the_runs": float(r.record.mean_regret[-1]),
                 "bound": None if r.record.bound is None else r.record.bound.value,
                 "source": None if r.record.bound is None else r.record.bound.source,
                 "against": None if r.record.bound is None else r.record.bound.against,
                 "bound_withheld": r.record.bound_withheld, "seconds": r.record.seconds}
                for r in self.routes
            ],
            "advice": self.advice(),
        }))  # fmt: skip
