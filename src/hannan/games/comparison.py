"""What `hn.compare` gives: a tidy frame, a summary, paired differences, a picture, a table for a paper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hannan.games.compared import Compared
from hannan.mathematics.student import T_INTERVAL
from hannan.report.frames import frame_of
from hannan.saving.result import Result, Shown
from hannan.saving.words import ceiling, figure


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared, Result):
    """What `hannan.compare` found: every learner in every environment, as rows, a frame, text or a chart.

    Learners x environments x runs; `cells` has one entry a pair, in the order they were given.

    `baseline` names the learner that differences are taken against; the first one by default.

    >>> import hannan as hn
    >>> result = hn.compare({"a": "bandit", "b": "exp3"}, {"clicks": {"means": [0.2, 0.6]}}, runs=4, rounds=200)
    >>> len(result.cells), [row["learner"] for row in result.rows()]
    (2, ['a', 'b'])
    """

    def to_frame(self) -> Any:
        """Tidy: learner, environment, run, round, regret, loss, bound, against, seconds (of a run).

        `regret` and `loss` are cumulative up to `round`. pandas, else polars.
        """
        return frame_of(self.columns())

    def summary(self, level: float = 0.95) -> Any:
        """`rows` as a frame."""
        return frame_of(_transposed(self.rows(level)))

    def differences(self, baseline: str | None = None, level: float = 0.95, together: bool = False) -> Any:
        """`difference_rows` as a frame."""
        return frame_of(_transposed(self.difference_rows(baseline, level, together)))

    def plot(self, *, log: bool = False, level: float = 0.95, columns: int = 2) -> Any:
        """An Altair chart: a small picture an environment, mean regret with its band over the runs.

        Bounds stand as numbers under the title of each, so that the curves are seen; `log=True` draws them, dashed,
        on logarithmic axes.
        """
        from hannan.games.comparison_chart import chart

        return chart(self, log=log, level=level, columns=columns)

    def to_latex(self, level: float = 0.95, caption: str = "", label: str = "") -> str:
        """A booktabs table, learners by environments: mean regret -+ half its interval, the least of each bold."""
        from hannan.games.latex import table

        return table(self, level, caption, label)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write comparison.parquet, summary.json, table.tex, the figure and index.html, all or nothing."""
        from hannan.games.comparison_page import save

        return save(self, Path(folder))

    def shown(self) -> Shown:
        """Each environment's learners, the least regret first."""
        place = {name: k for k, name in enumerate(self.environments)}
        rows = sorted(self.rows(), key=lambda row: (place[row["environment"]], row["regret"]))
        heads = ("environment", "learner", "regret", T_INTERVAL, "largest run", "bound", "against")
        title = f"{self.title}: {len(self.learners)} learners, {len(self.environments)} environments, seed {self.seed}"
        return Shown(title, (), heads, [_told(row) for row in rows])

    def __str__(self) -> str:
        from hannan.games.comparison_text import text

        return text(self)

    __repr__ = __str__


def _told(row: dict[str, Any]) -> tuple[Any, ...]:
    between = f"{figure(row['low'])} .. {figure(row['high'])}" if row["runs"] > 1 else "one run"
    bound = "withheld" if row["bound"] is None else ceiling(row["bound"])
    return row["environment"], row["learner"], row["regret"], between, row["largest"], bound, row["against"]


def _transposed(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
