"""What a panel came to: over all series first, then the best and the worst of them; and its files."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from hannan.saving.words import clipped, figure
from hannan.tables.combine.answers import Forecast, forecast_of
from hannan.tables.combine.levels import left_out
from hannan.tables.combine.long_table import cell_text
from hannan.tables.combine.panel import PanelSums
from hannan.tables.combine.summary import SHOWN, compared, only_expert, promised, waits
from hannan.tables.write import plain

#: Series that are told at each end.
ENDS = 10
#: Experts that a terminal names.
NAMED = 20
#: Forecasts that wait for their target, in the JSON and on the page: the last ones of the table.
TOLD = 100


class PanelSummary:
    """Losses summed over the series, and of each series its loss beside the average's."""

    def __init__(self, panel: PanelSums) -> None:
        self.panel = panel
        self.settled = int(panel.settled.sum())
        self.total, self.mean, self.median = (float(x.sum()) for x in (panel.mixture, panel.mean, panel.median))
        self.losses, self.beside = panel.losses.sum(axis=0), panel.beside.sum(axis=0)
        self.awake = not bool((panel.beside.sum(axis=1) < panel.mixture * len(panel.experts) * (1 - 1e-12)).any())
        self.best = int(np.argmax(self.beside - self.losses))
        spoken = (panel.settled > 0) & (panel.mean > 0.0)
        self.ratio = np.where(spoken, panel.mixture / np.where(spoken, panel.mean, 1.0), np.nan)

    @property
    def typical(self) -> float:
        """The geometric mean over the series of loss / loss of the average."""
        kept = self.ratio[np.isfinite(self.ratio) & (self.ratio > 0.0)]
        return float(np.exp(np.log(kept).mean())) if len(kept) else float("nan")

    @property
    def waiting(self) -> int:
        """Rows that were answered and have no target."""
        return int(np.isnan(self.panel.table.targets).sum())

    @cached_property
    def forecasts(self) -> tuple[tuple[str, Forecast], ...]:
        """(series, forecast) of the last rows that wait for their target, in the order of the table."""
        panel, table = self.panel, self.panel.table
        open_ = np.flatnonzero(np.isnan(table.targets))
        last = open_[np.argsort(table.order[open_])][-TOLD:].tolist()
        timed = len(panel.labels) > len(table.by)
        column = panel.labels[list(panel.labels)[-1]] if timed else None
        levels, told = getattr(panel.loss, "levels", ()), []
        for k in last:
            row = int(table.order[k])
            time = cell_text(column, row) if timed else None
            told.append((table.name(table.of(k)), forecast_of(row + 1, time, panel.forecast[row], levels)))
        return tuple(told)

    @property
    def headline(self) -> str:
        """The answer, in a sentence."""
        if len(self.panel.experts) == 1:
            return only_expert(self.panel.experts[0])
        if not self.settled:
            return "no row has a target"
        best, loss = self.panel.experts[self.best], self.losses[self.best]
        rival = compared(float(self.beside[self.best]), float(loss), f"your best model ({best})")
        average = compared(self.total, self.mean, "the average")
        return f"{rival}, {average}, over {self.panel.table.series} series"

    def rows(self) -> list[tuple[str, str]]:
        """(name, value) for a terminal."""
        panel, table = self.panel, self.panel.table
        rows = [("answer", self.headline), ("series", f"{table.series}, by {', '.join(table.by)}")]
        rows.append(("experts", self._experts()))
        if panel.left_out:
            rows.append(("left out", left_out(panel.left_out)))
        state = f"{self.settled} settled of {len(table.order)} answered"
        state += f", sorted by {', '.join(table.sorted_by)}" if table.sorted_by else ""
        rows.append(("rows", f"{state}; {self.waiting} wait for their target" if self.waiting > SHOWN else state))
        rows += [("forecast", f"{one.text}  for {series}, {one.name}") for series, one in self.forecasts[-SHOWN:]]
        rows += [
            ("loss", panel.loss.name),
            ("learner", panel.learner + (", one for all series" if panel.pooled else "")),
        ]
        if not self.settled:
            return rows
        rows.append(("combination", self._loss(self.total)))
        rows.append(("mean", f"{self._loss(self.mean)}: the average of the experts"))
        rows.append(("median", f"{self._loss(self.median)}: of the experts, row by row"))
        rows.append(("best expert", f"{figure(self.losses[self.best])} in all: {panel.experts[self.best]}"))
        if panel.quantiles is not None:
            rows += panel.quantiles.lines()
        if panel.started is not None and not panel.pooled:
            whence = "from the pool, as it was then" if panel.from_pool else "from shares that were given"
            rows.append(("series start", whence))
        rows.append(
            ("series by series", f"{figure(self.typical)} of the average's loss (geometric mean); {self._won()}")
        )
        for whom, more, bound, why in self.comparisons():
            rows.append((f"to {whom}", promised(more, bound, why)))
        return rows

    def _experts(self) -> str:
        """How many columns, or models, are combined, and the first of them: one that is none is seen."""
        names = self.panel.experts
        few = ", ".join(clipped(name, 40) for name in names[:NAMED])
        return f"{len(names)}: {few}" + (", ..." if len(names) > NAMED else "")

    def _won(self) -> str:
        told = self.ratio[np.isfinite(self.ratio)]
        return (
            f"better than it in {int((told < 1.0).sum())} of {len(told)}, at worst {figure(told.max())} of it"
            if len(told)
            else ""
        )

    def comparisons(self) -> list[tuple[str, float, float | None, str]]:
        """(whom, loss more than theirs, its bound, why none), summed over the series."""
        panel = self.panel
        mean = None if panel.to_mean is None else float(panel.to_mean.sum())
        rows = [("the mean", self.total - self.mean, mean, panel.withheld)]
        bound, why = None, panel.withheld
        if panel.bounds is not None:
            bound = float(panel.bounds[:, self.best].sum()) if self.awake else None
            why = "" if self.awake else "columns slept: of a series alone, hn.Combiner says what is proved"
        rows.append(("the best column", float(self.beside[self.best] - self.losses[self.best]), bound, why))
        return rows

    def ends(self) -> list[int]:
        """The series, the best first; of very many those at both ends."""
        order = [int(s) for s in np.argsort(self.ratio, kind="stable") if np.isfinite(self.ratio[s])]
        return order if len(order) <= 2 * ENDS else [*order[:ENDS], *order[-ENDS:]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON, in the order of the terminal."""
        panel, table = self.panel, self.panel.table
        return dict(plain({
            "answer": self.headline, "series": table.series, "by": list(table.by), "left_out": list(panel.left_out),
            "sorted_by": list(table.sorted_by),
            "rows": {"answered": len(table.order), "settled": self.settled, "waiting": self.waiting},
            "forecasts": [{"series": series, **waits(one)} for series, one in self.forecasts],
            "loss": panel.loss.name, "learner": panel.learner, "pooled": panel.pooled,
            "combination": {"total": self.total}, "mean_of_experts": {"total": self.mean},
            "median_of_experts": {"total": self.median},
            "best_expert": {"name": panel.experts[self.best], "total": self.losses[self.best]},
            "quantiles": None if panel.quantiles is None else panel.quantiles.as_dict(panel.experts),
            "ratio_to_mean": {"geometric_mean": self.typical, "worst": float(np.nanmax(self.ratio, initial=-np.inf))},
            "experts": [{"name": name, "total": loss, "combination_in_those_rows": beside, "weight": w}
                        for name, loss, beside, w in zip(panel.experts, self.losses.tolist(), self.beside.tolist(),
                                                         panel.weights.mean(axis=0).tolist(), strict=True)],
            "promises": [{"whom": whom, "realised": more, "bound": bound, "withheld": why or None}
                         for whom, more, bound, why in self.comparisons()],
            "best_and_worst": [self.one(s) for s in self.ends()],
        }))  # fmt: skip

    def one(self, s: int) -> dict[str, Any]:
        """A series, for JSON and the page."""
        panel = self.panel
        best = int(np.argmin(np.where(panel.beside[s] != 0.0, panel.losses[s], np.inf)))
        return {
            "series": panel.table.name(s), "rows": int(panel.settled[s]), "ratio_to_mean": float(self.ratio[s]),
            "combination": float(panel.mixture[s]), "mean": float(panel.mean[s]), "best_expert": panel.experts[best],
            "best_expert_loss": float(panel.losses[s, best]),
            "largest_weight": panel.experts[int(np.argmax(panel.weights[s]))],
        }  # fmt: skip

    def _loss(self, total: float) -> str:
        return f"{figure(total)} in all, {figure(total / self.settled)} a row"

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)
