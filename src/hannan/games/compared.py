"""The numbers of a comparison: cells by learner and environment, rows at the end, paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan import refusals
from hannan.games.cells import Cell, interval
from hannan.saving.result import plain

#: The columns of the tidy frame.
COLUMNS = ("learner", "environment", "run", "round", "regret", "loss", "bound", "against", "seconds")


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """Learners x environments x runs; `cells` has one entry a pair, in the order they were given.

    `baseline` names the learner that differences are taken against; the first one by default.
    """

    cells: tuple[Cell, ...]
    seed: int = 0
    baseline: str | None = None
    title: str = "Comparison"

    @property
    def learners(self) -> list[str]:
        """Their names, in order."""
        return list(dict.fromkeys(cell.learner for cell in self.cells))

    @property
    def environments(self) -> list[str]:
        """Their names, in order."""
        return list(dict.fromkeys(cell.environment for cell in self.cells))

    def cell(self, learner: str, environment: str) -> Cell:
        """One learner in one environment."""
        for cell in self.cells:
            if (cell.learner, cell.environment) == (learner, environment):
                return cell
        raise ValueError(
            f"a pair must be a learner of {', '.join(self.learners)} and an environment of "
            f"{', '.join(self.environments)}; got {learner!r}, {environment!r}"
        )

    def among(self, environment: str) -> list[Cell]:
        """The cells of one environment."""
        return [cell for cell in self.cells if cell.environment == environment]

    # Numbers

    def columns(self) -> dict[str, Any]:
        """The columns of `to_frame`, as arrays."""
        parts = [tidy(cell) for cell in self.cells]
        return {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}

    def to_dict(self) -> dict[str, Any]:
        """Every pair at the end, and the differences to the baseline, as JSON knows them."""
        return dict(plain({"seed": self.seed, "pairs": self.rows(), "differences": self.difference_rows()}))

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return one row per pair: mean regret at the end, its t interval, median, 95% quantile, largest run, bound.

        The t interval over the runs is approximate: if large regrets are rare, the true mean lies outside it far more
        often than `level` suggests, so look at the largest run too.
        """
        level = refusals.between(level, 0.0, 1.0, "level", "()")
        found = []
        for cell in self.cells:
            low, high = interval(cell.final, level)
            found.append(
                {
                    "environment": cell.environment,
                    "learner": cell.learner,
                    "n": cell.n,
                    "rounds": cell.rounds,
                    "runs": cell.runs,
                    "regret": float(cell.final.mean()),
                    "low": low,
                    "high": high,
                    "median": float(np.median(cell.final)),
                    "q95": float(np.quantile(cell.final, 0.95)),
                    "largest": float(cell.final.max()),
                    "bound": cell.last_bound,
                    "against": cell.against,
                    "withheld": cell.withheld,
                    "source": cell.source,
                    "seconds": cell.seconds,
                }
            )
        return found

    def difference_rows(
        self, baseline: str | None = None, level: float = 0.95, together: bool = False
    ) -> list[dict[str, Any]]:
        """Loss of a learner less that of the baseline, run by run on the same losses, and its t interval (approximate).

        Negative is better than the baseline (for gains the sign is turned, so that it still is). Each interval holds
        at `level` by itself; `together=True` widens them so that all hold at once (Bonferroni). Against an adversary
        that looks at moves every learner meets losses of its own, and nothing is paired: such pairs are left out.
        """
        baseline = baseline or self.baseline or self.learners[0]
        level = refusals.between(level, 0.0, 1.0, "level", "()")
        if baseline not in self.learners:
            raise ValueError(f"baseline must be one of {', '.join(self.learners)}; got {baseline!r}")
        pairs = [
            (cell, self.cell(baseline, cell.environment))
            for cell in self.cells
            if cell.learner != baseline and cell.paired
        ]
        pairs = [(cell, mate) for cell, mate in pairs if min(cell.runs, mate.runs) > 1]
        if together and pairs:
            level = 1.0 - (1.0 - level) / len(pairs)
        found = []
        for cell, mate in pairs:
            runs = min(cell.runs, mate.runs)
            gap = cell.final[:runs] - mate.final[:runs]
            low, high = interval(gap, level)
            found.append(
                {
                    "environment": cell.environment,
                    "learner": cell.learner,
                    "baseline": baseline,
                    "difference": float(gap.mean()),
                    "low": low,
                    "high": high,
                    "runs": runs,
                    "better": _verdict(low, high),
                }
            )
        return found


def tidy(cell: Cell) -> dict[str, Any]:
    """The columns of one cell, run by run, round by round."""
    runs, marks = cell.regret.shape
    many = runs * marks
    return {
        "learner": np.full(many, cell.learner, dtype=object),
        "environment": np.full(many, cell.environment, dtype=object),
        "run": np.repeat(np.arange(runs), marks),
        "round": np.tile(cell.at, runs),
        "regret": cell.regret.reshape(-1),
        "loss": cell.loss.reshape(-1),
        "bound": np.tile(cell.bound, runs),
        "against": np.full(many, cell.against, dtype=object),
        "seconds": np.full(many, cell.seconds / runs),
    }


def _verdict(low: float, high: float) -> str:
    """Who is better, as far as the runs can tell."""
    if high < 0.0:
        return "learner"
    return "baseline" if low > 0.0 else "open"
