"""Summary, page and files of a panel: scaled losses, in which every series counts equally, by series and by horizon.

The loss of a row is divided by the mean loss of the average of the models in its series, so that series with large
numbers do not decide; sums of losses in the units of the series are printed with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hannan.report import Facts, Figure, Fold, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.saving.files import Outbox, write
from hannan.saving.formatting import ceiling, clipped, counted, figure, number
from hannan.saving.result import Shown, plain
from hannan.tables.combine.calibration import CHOICE, Answered, Recent, calibration_blocks, recent_figure
from hannan.tables.combine.guarantees import ANY_ROWS, EXCESS
from hannan.tables.combine.hindsight import ONE_LOOK, Improvement, improvement, row_costs, verdict
from hannan.tables.combine.long_table import cell_text
from hannan.tables.combine.panel import PanelSums
from hannan.tables.combine.quantiles import left_out
from hannan.tables.combine.summary import (
    PROOFS,
    SHOWN,
    ahead_of,
    aligned,
    compared,
    excess_table,
    has_interval,
    improvements_dict,
    interval_details,
    main_lines,
    no_bounds,
    only_expert,
    pairs,
    promised,
    so_far,
    waits,
)
from hannan.tables.combine.timing import Forecast, forecast_of
from hannan.tables.write import ROWS, Name, RowWriter, made_by
from hannan.validation import Array

#: Number of best and of worst series that are listed.
ENDS = 10
#: Number of models that are printed.
NAMED = 20
#: Number of forecasts without a target in the JSON and on the page.
TOLD = 100

#: Number of horizons that are printed.
STEPS = 12
#: Rows whose costs are computed in one call.
BLOCK = 1 << 16

#: Description of scaled losses.
SCALED = "losses divided by the mean loss of the average of models in their series; every series counts equally"

#: Reason for no bound over a model with missing forecasts.
MISSING = "some forecasts of models are missing; hn.Combiner has bounds for a single series"


@dataclass(frozen=True)
class Step:
    """Scaled losses at one horizon: rows, the combination and the best model there, relative to the average."""

    horizon: int
    rows: int
    combined: float
    model: str
    model_loss: float

    def as_dict(self) -> dict[str, Any]:
        """Return the horizon for JSON."""
        return {"horizon": self.horizon, "rows": self.rows, "ratio_to_mean": self.combined,
                "best_expert": self.model, "best_expert_ratio_to_mean": self.model_loss}  # fmt: skip


@dataclass(frozen=True)
class Scaled:
    """Scaled losses: the average of models has 1."""

    #: Mean over the series of the scaled loss of the combination.
    combined: float
    #: Scaled loss of each model, and of the combination and of the average in the rows with its forecasts.
    models: Array = field(hash=False)
    beside: Array = field(hash=False)
    means: Array = field(hash=False)
    #: Improvements over the average and over the best model.
    improvements: tuple[Improvement | None, Improvement | None]
    steps: tuple[Step, ...] = ()

    @property
    def best(self) -> int:
        """Position of the model with the smallest scaled loss, relative to the combination in the same rows."""
        return best_of(self.models, self.beside)


def best_of(losses: Array, own: Array) -> int:
    """Return the position of the smallest ratio of `losses` to the losses `own`; models without rows are last."""
    ratios = np.where(own > 0.0, losses / np.where(own > 0.0, own, 1.0), np.where(losses > 0.0, np.inf, 1.0))
    return int(np.argmin(np.where((own > 0.0) | (losses > 0.0), ratios, np.inf)))


def scaled(panel: PanelSums) -> Scaled | None:
    """Return the scaled losses of a panel; None if the average of the models has no loss in any series."""
    table, n = panel.table, len(panel.experts)
    weight = np.where(panel.mean > 0.0, 1.0 / np.where(panel.mean > 0.0, panel.mean, 1.0), 0.0)
    if not (weight > 0.0).any():
        return None
    weight /= (weight > 0.0).sum()
    of_row = np.repeat(weight, np.diff(table.starts))
    rows = np.flatnonzero(~np.isnan(table.targets) & (of_row > 0.0))
    answers = panel.forecast[table.order]
    own, mean, each = np.empty(len(rows)), np.empty(len(rows)), np.empty((len(rows), n))
    for first in range(0, len(rows), BLOCK):
        part, at = slice(first, first + BLOCK), rows[first : first + BLOCK]
        targets = table.targets[at]
        own[part] = panel.loss.value(answers[at], targets)
        mean[part], each[part] = row_costs(panel.loss, table.forecasts[at], targets)
    own, mean, each = own * of_row[rows], mean * of_row[rows], each * of_row[rows, None]
    there = ~np.isnan(each)
    losses, beside, means = (np.where(there, x, 0.0).sum(axis=0) for x in (each, own[:, None], mean[:, None]))
    best = best_of(losses, beside)
    # Targets with the same time depend on each other, in all series: times are the rows of the intervals.
    times = np.unique(table.due[rows], return_inverse=True)[1]
    spoken, kept = there[:, best], np.where(there[:, best], each[:, best], 0.0)
    sums = [np.bincount(times, x).astype(np.float64) for x in (own, mean, np.where(spoken, own, 0.0), kept)]
    seen = np.bincount(times, spoken) > 0.0
    what = "time" if table.timed else "row"
    found = improvement(sums[0], sums[1], what), improvement(sums[2][seen], sums[3][seen], what)
    steps: list[Step] = []
    if table.steps is not None:
        names, place = np.unique(table.steps[rows], return_inverse=True)
        counts, (a, b) = np.bincount(place), (np.bincount(place, x) for x in (own, mean))
        per = [[np.bincount(place, np.where(there[:, i], x, 0.0)) for x in (each[:, i], mean)] for i in range(n)]
        model, level = np.stack([one[0] for one in per], axis=1), np.stack([one[1] for one in per], axis=1)
        for k, step in enumerate(names.tolist()):
            if b[k] > 0.0:
                i = best_of(model[k], level[k])
                share = float(model[k, i] / level[k, i]) if level[k, i] > 0.0 else float("nan")
                steps.append(Step(int(step), int(counts[k]), float(a[k] / b[k]), panel.experts[i], share))
    return Scaled(float(own.sum()), losses, beside, means, found, tuple(steps))


class PanelSummary:
    """Scaled losses, losses summed over the series, and the loss of each series relative to that of the average."""

    def __init__(self, panel: PanelSums) -> None:
        self.panel = panel
        self.settled = int(panel.settled.sum())
        self.total, self.mean, self.median = (float(x.sum()) for x in (panel.mixture, panel.mean, panel.median))
        self.losses, self.beside = panel.losses.sum(axis=0), panel.beside.sum(axis=0)
        self.awake = not bool((panel.beside.sum(axis=1) < panel.mixture * len(panel.experts) * (1 - 1e-12)).any())
        self.scaled = scaled(panel)
        self.best = int(np.argmax(self.beside - self.losses)) if self.scaled is None else self.scaled.best
        spoken = (panel.settled > 0) & (panel.mean > 0.0)
        self.ratio = np.where(spoken, panel.mixture / np.where(spoken, panel.mean, 1.0), np.nan)

    @property
    def typical(self) -> float:
        """Geometric mean over the series of loss / loss of the average."""
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
            one = forecast_of(row + 1, time, panel.forecast[row], levels)
            if panel.points is not None:
                one = replace(one, forecast=float(panel.points.forecast[row]))
            if panel.intervals is not None and panel.coverage is not None:
                one = one.within(panel.coverage.report.certificate.levels, panel.intervals[row])
            told.append((table.name(table.of(k)), one))
        return tuple(told)

    @property
    def headline(self) -> str:
        """Return the main result in one sentence."""
        if len(self.panel.experts) == 1:
            return only_expert(self.panel.experts[0])
        if not self.settled:
            return "no row has a target"
        best, i, many = self.panel.experts[self.best], self.best, self.panel.table.series
        beside, loss, total, mean = float(self.beside[i]), float(self.losses[i]), self.total, self.mean
        if self.scaled is not None:
            beside, loss = float(self.scaled.beside[i]), float(self.scaled.models[i])
            total, mean = self.scaled.combined, 1.0
        rival = compared(beside, loss, f"your best model ({best})")
        average = compared(total, mean, "the equal-weight average")
        told = f"{rival}, {average}, over {many} series" + " that count equally" * (many > 1)
        return so_far(self.improvements, told)

    @property
    def improvements(self) -> tuple[Improvement | None, Improvement | None]:
        """Improvements of the scaled loss over the average and over the best model."""
        return (None, None) if self.scaled is None else self.scaled.improvements

    @property
    def verdict(self) -> str:
        """Improvements of the scaled loss in words, with their intervals; empty with one model."""
        if len(self.panel.experts) == 1:
            return ""
        whom = "the average of models", f"the best model ({clipped(self.panel.experts[self.best], 30)})"
        return verdict(list(zip(whom, self.improvements, strict=True)))

    def rows(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs: series, rows, losses, and excess losses with their bounds."""
        panel, table = self.panel, self.panel.table
        rows = [("series", f"{table.series}, by {', '.join(table.by)}"), ("models", self._experts())]
        if panel.left_out:
            rows.append(("ignored", left_out(panel.left_out)))
        rows.append(("rows", self._state()))
        rows += [("forecast", f"{one.text}  for {series}, {one.name}") for series, one in self.forecasts[-SHOWN:]]
        rows += [("loss", panel.loss.name), ("rule", panel.learner)]
        if panel.points is not None:
            rows.append(("point forecasts", PanelSummary(panel.points).headline))
        if panel.pooled:
            rows.append(("weights", "one set for all series"))
        if panel.started is not None and not panel.pooled:
            whence = "of the pool of all series when each series began" if panel.from_pool else "given as prior"
            rows.append(("initial weights", whence))
        if panel.with_pool:
            rows.append(("further member", "the pool of all series, in units of the spread of each series"))
        if panel.alone:
            rows.append(("weights", f"each series on its own: {panel.alone}"))
        rows += [] if panel.clipped is None else [*panel.clipped.lines(), *panel.clipped.assumptions()]
        if not self.settled:
            return rows
        rows += [("verdict", self.verdict)] if self.verdict else []
        rows += [
            (name, f"{share} scaled, {figure(total)} in total" + ("" if mean is None else f", {figure(mean)} per row"))
            for name, share, total, mean in self._losses()
        ]
        if panel.quantiles is not None:
            rows += panel.quantiles.lines()
        if panel.coverage is not None:
            rows += panel.coverage.lines()
        rows.append(("series by series", self._by_series()))
        rows += [(f"horizon {one.horizon}", self._step(one)) for one in self.steps[:STEPS]]
        return rows + [
            (f"excess over {whom}", promised(more, bound, why)) for whom, more, bound, why in self._excesses()
        ]

    def _state(self) -> str:
        table = self.panel.table
        parts = [counted(len(table.order), "row")]
        if self.waiting:
            parts.append(f"{self.settled} with a target")
        if self.waiting > SHOWN:
            parts.append(f"{self.waiting} waiting for their targets")
        if table.sorted_by:
            parts.append(f"sorted by {', '.join(table.sorted_by)}")
        return ", ".join(parts)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Scaled losses by horizon; empty without issue times."""
        return () if self.scaled is None else self.scaled.steps

    def _step(self, one: Step) -> str:
        return (
            f"{figure(one.combined)} of the average's loss in {counted(one.rows, 'row')}; best model {one.model} "
            f"{figure(one.model_loss)}"
        )

    def _losses(self) -> list[tuple[str, str, float, float | None]]:
        """Return (name, scaled loss, total loss, loss per row)."""
        name, loss = self.panel.experts[self.best], float(self.losses[self.best])
        with np.errstate(invalid="ignore", divide="ignore"):
            medians = float(np.nanmean(self.panel.median / self.panel.mean)) if self.scaled is not None else np.nan
        shares = ["", "", "", ""]
        if (told := self.scaled) is not None:
            i = self.best
            model = told.models[i] / told.means[i] if told.means[i] > 0.0 else float("nan")
            shares = [figure(x) for x in (told.combined, 1.0, medians, float(model))]
        each = [("combined", self.total), ("average of models", self.mean), ("median of models", self.median)]
        rows: list[tuple[str, str, float, float | None]] = [
            (what, share, total, total / self.settled) for (what, total), share in zip(each, shares, strict=False)
        ]
        per_row = loss / self.settled if self.awake else None
        return [*rows, (f"best model ({clipped(name, 30)})", shares[3], loss, per_row)]

    def _excesses(self) -> list[tuple[str, float, float | None, str]]:
        """Return (whom, excess loss over it, its bound or None, reason for None), in the words of the results."""
        called = {"the mean": "average of models", "the best column": "best model"}
        return [(called[whom], more, bound, why) for whom, more, bound, why in self.comparisons()]

    def _by_series(self) -> str:
        return f"{figure(self.typical)} of the average's loss (geometric mean); {self._won()}"

    def _experts(self) -> str:
        """Return the number of models and the first of their names."""
        names = self.panel.experts
        few = ", ".join(clipped(name, 40) for name in names[:NAMED])
        return f"{len(names)}: {few}" + (", ..." if len(names) > NAMED else "")

    def _won(self) -> str:
        told = self.ratio[np.isfinite(self.ratio)]
        return (
            f"better in {int((told < 1.0).sum())} of {len(told)} series, at worst {figure(told.max())}"
            if len(told)
            else ""
        )

    def comparisons(self) -> list[tuple[str, float, float | None, str]]:
        """Return (whom, excess loss over it, its bound or None, reason for None), summed over the series."""
        panel = self.panel
        mean = None if panel.to_mean is None else float(panel.to_mean.sum())
        rows = [("the mean", self.total - self.mean, mean, panel.withheld)]
        bound, why = None, panel.withheld
        if panel.bounds is not None:
            bound = float(panel.bounds[:, self.best].sum()) if self.awake else None
            why = (
                "" if self.awake else "some forecasts of models are missing; hn.Combiner has bounds for a single series"
            )
        rows.append(("the best column", float(self.beside[self.best] - self.losses[self.best]), bound, why))
        return rows

    def ends(self) -> list[int]:
        """Return the series, best first; of very many, the best and the worst."""
        order = [int(s) for s in np.argsort(self.ratio, kind="stable") if np.isfinite(self.ratio[s])]
        return order if len(order) <= 2 * ENDS else [*order[:ENDS], *order[-ENDS:]]

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON, in the order of the printed result."""
        panel, table = self.panel, self.panel.table
        return dict(plain({
            "answer": self.headline, "series": table.series, "by": list(table.by), "left_out": list(panel.left_out),
            "sorted_by": list(table.sorted_by),
            "points": None if panel.points is None else PanelSummary(panel.points).as_dict(),
            "rows": {"answered": len(table.order), "settled": self.settled, "waiting": self.waiting},
            "forecasts": [{"series": series, **waits(one)} for series, one in self.forecasts],
            "loss": panel.loss.name, "learner": panel.learner, "pooled": panel.pooled,
            "learns_from_pool": {"initial_weights": panel.from_pool, "member": panel.with_pool,
                                 "alone_because": panel.alone or None},
            "combination": {"total": self.total}, "mean_of_experts": {"total": self.mean},
            "median_of_experts": {"total": self.median},
            "best_expert": {"name": panel.experts[self.best], "total": self.losses[self.best]},
            "quantiles": None if panel.quantiles is None else panel.quantiles.as_dict(panel.experts),
            "coverage": None if panel.coverage is None else panel.coverage.as_dict(),
            "clipped": None if panel.clipped is None else panel.clipped.as_dict(),
            "verdict": self.verdict or None,
            "improvement": improvements_dict(self.improvements) if len(panel.experts) > 1 else None,
            "scaled_loss": None if self.scaled is None else {
                "is": SCALED, "combination": self.scaled.combined, "mean_of_experts": 1.0,
                "experts": dict(zip(panel.experts, _over(self.scaled.models, self.scaled.means), strict=True)),
            },
            "horizons": [one.as_dict() for one in self.steps],
            "ratio_to_mean": {"geometric_mean": self.typical, "worst": float(np.nanmax(self.ratio, initial=-np.inf))},
            "experts": [{"name": name, "total": loss, "combination_in_those_rows": beside, "weight": w}
                        for name, loss, beside, w in zip(panel.experts, self.losses.tolist(), self.beside.tolist(),
                                                         panel.weights.mean(axis=0).tolist(), strict=True)],
            "promises": [{"whom": whom, "realised": more, "bound": bound, "withheld": why or None}
                         for whom, more, bound, why in self.comparisons()],
            "best_and_worst": [self.one(s) for s in self.ends()],
        }))  # fmt: skip

    def one(self, s: int) -> dict[str, Any]:
        """Return one series for JSON and the page."""
        panel = self.panel
        best = int(np.argmin(np.where(panel.beside[s] != 0.0, panel.losses[s], np.inf)))
        return {
            "series": panel.table.name(s), "rows": int(panel.settled[s]), "ratio_to_mean": float(self.ratio[s]),
            "combination": float(panel.mixture[s]), "mean": float(panel.mean[s]), "best_expert": panel.experts[best],
            "best_expert_loss": float(panel.losses[s, best]),
            "largest_weight": panel.experts[int(np.argmax(panel.weights[s]))],
            **({} if panel.coverage is None else {"coverage": panel.coverage.series[s].coverage}),
        }  # fmt: skip

    def shown(self) -> Shown:
        """Return the content of the printed result: losses as rows, excess losses as a table."""
        excesses = self._excesses() if self.settled else []
        rows = [row for row in self.rows() if not row[0].startswith("excess over ")]
        table = [(whom, more, "none" if bound is None else ceiling(bound)) for whom, more, bound, _ in excesses]
        reasons = [("no bound over", text.removeprefix("No bound over the ")) for text in no_bounds(excesses)]
        bounded = any(bound is not None for _, _, bound, _ in excesses)
        return Shown(
            self.title, rows, EXCESS, table, [*self.assumptions(), *reasons],
            [("bounds", f"{ANY_ROWS}: {PROOFS}")] * bounded,
        )  # fmt: skip

    def assumptions(self) -> list[tuple[str, str]]:
        """Return what scaled losses are, and the scope of the intervals for improvements."""
        told = [("scaled", SCALED)] if self.settled and self.scaled is not None else []
        return told + [("improvements", ONE_LOOK)] * has_interval(self.improvements)

    @property
    def title(self) -> str:
        """First line of the printed result."""
        told = self.settled or len(self.panel.experts) == 1
        return f"Combined forecast: {self.headline}" if told else "Combined forecast"

    def __str__(self) -> str:
        panel = self.panel
        rows = dict(self.rows())
        series = f"{panel.table.series} series by {', '.join(panel.table.by)}"
        lines = [self.title, f"{series}; {self._state()}; loss: {panel.loss.name}; rule: {panel.learner}"]
        named = ("models", "ignored", "clipped", "clipped forecasts", "weights", "initial weights", "further member")
        lines += pairs([(name, rows[name]) for name in named if name in rows])
        lines += pairs([("verdict", rows["verdict"])]) if "verdict" in rows else []
        if self.forecasts:
            waiting = [("forecast", f"{x.text}  for {series}, {x.name}") for series, x in self.forecasts[-SHOWN:]]
            lines += ["", *pairs(waiting)]
        if not self.settled:
            return "\n".join([*lines, "", "no row has a target: no losses"])
        cells = [(n, share, figure(x), "" if mean is None else figure(mean)) for n, share, x, mean in self._losses()]
        lines += ["", *aligned([("", "scaled loss", "total loss", "per row"), *cells])]
        lines += ["", f"series by series: {self._by_series()}"]
        if self.steps:
            told = [(f"horizon {x.horizon}", str(x.rows), figure(x.combined), x.model, figure(x.model_loss))
                    for x in self.steps[:STEPS]]  # fmt: skip
            lines += ["", *aligned([("", "rows", "loss / average's", "best model", "its loss / average's"), *told])]
            if len(self.steps) > STEPS:
                lines.append(f"... {len(self.steps) - STEPS} more, in the JSON and on the page")
        if panel.quantiles is not None and (quantiles := panel.quantiles.lines()):
            lines += ["", *pairs([*quantiles, *((n, x) for n, x in rows.items() if n == "point forecasts")])]
        if panel.coverage is not None:
            lines += ["", "Intervals", *(f"  {line}" for line in pairs(main_lines(panel.coverage.lines())))]
        excesses = self._excesses()
        lines += ["", *excess_table(excesses)]
        if any(bound is not None for _, _, bound, _ in excesses):
            lines += [f"{ANY_ROWS}:", PROOFS]
        notes = self.assumptions()
        lines += ["", "Assumptions", *(f"  {line}" for line in pairs(notes))] if notes else []
        return "\n".join([*lines, *interval_details(panel.coverage)])


#: Bars of experts.
BARS = 12


def panel_page(summary: PanelSummary) -> Page:
    """One page for all series."""
    panel = summary.panel
    title = summary.headline[:1].upper() + summary.headline[1:]
    from hannan.tables.combine.page import BOUNDS, coverage_blocks, folded, improvement_tile

    over_mean, over_best = summary.improvements
    tiles = []
    if summary.scaled is not None:
        i, told = summary.best, summary.scaled
        ahead = ahead_of(told.combined, 1.0)
        tiles.append(improvement_tile(over_mean, ahead, told.combined, "the average of your models"))
        ahead, name = ahead_of(float(told.beside[i]), float(told.models[i])), panel.experts[i]
        tiles.append(improvement_tile(over_best, ahead, float(told.beside[i]), f"{name}, your best model"))
    tiles.append(Tile(str(panel.table.series), "series, which count equally"))
    tiles.append(Tile(number(summary.total / max(1, summary.settled)), "mean loss of the combination"))
    first: list[Any] = _recent(summary)
    first += [folded(_forecasts(summary), summary.forecasts)] if summary.forecasts else []
    sections = [Section("Forecast", tuple(first))] if first else []
    sections.append(Section("Losses", (_bars(summary),)))
    if len(summary.steps) > 1:
        sections.append(Section("Horizons", (_step_lines(summary), _step_table(summary))))
    if panel.quantiles is not None:
        sections.append(Section("Quantiles", tuple(calibration_blocks(panel.quantiles.calibration, ROWS))))
    if panel.coverage is not None and panel.coverage.report.certificate.rows:
        blocks = coverage_blocks(panel.coverage.report)
        blocks += [_coverage_of_steps(summary)] if len(panel.coverage.horizons) > 1 else []
        sections.append(Section("Coverage", tuple(blocks)))
    sections.append(Section("Weights", (_weights(summary),)))
    sections.append(Section("Series", (_series_table(summary),)))
    # Forecasts have a separate table, because as facts they would all have the same name.
    facts = {name: Name(text) for name, text in summary.rows() if name not in ("forecast", "answer")}
    sections.append(Section("Proof", (Fold("Bounds and all numbers", (Text(BOUNDS), Facts(facts))),)))
    lead = (
        f"{counted(len(panel.table.order), 'row')} of {panel.table.series} series, "
        f"{counted(len(panel.experts), 'expert')}. Each forecast was combined before its target was known."
    )
    if summary.verdict:
        lead += f" {summary.verdict[:1].upper()}{summary.verdict[1:]}."
    return Page(title, lead, (Tiles(tuple(tiles)),), tuple(sections), made_by())


def _forecasts(summary: PanelSummary) -> Table:
    told = summary.forecasts
    timed = told[-1][1].time is not None
    # As text, because four digits are too few for forecasts.
    cells = [(series, str(one.row), *([one.time or ""] if timed else []), one.text) for series, one in told]
    rows = tuple(tuple(Name(text) for text in row) for row in cells)
    more = f" The last {len(told)} of {summary.waiting}." if summary.waiting > len(told) else ""
    heads = ("series", "row", *(["time"] if timed else []), "forecast")
    return Table(heads, rows, f"Next values: forecasts of rows that wait for their targets.{more}", sortable=False)


def _step_lines(summary: PanelSummary) -> Figure:
    """Return scaled losses by horizon: the combination and the best models."""
    rows = []
    for one in summary.steps:
        rows.append({"row": one.horizon, "y": one.combined, "series": "combination"})
        if np.isfinite(one.model_loss):
            rows.append({"row": one.horizon, "y": one.model_loss, "series": "best model of the horizon"})
    first, last = summary.steps[0], summary.steps[-1]
    alt = (
        f"Loss divided by that of the average, by horizon: {figure(first.combined)} at horizon {first.horizon}, "
        f"{figure(last.combined)} at horizon {last.horizon}; the average has 1."
    )
    layers = (Layer("line", tuple(rows), x="row", series="series"),
              Layer("rule", ({"y": 1.0, "label": "average of the models"},), y="y"))  # fmt: skip
    return Figure(Picture("Loss by horizon", "horizon", "loss / average's", layers, alt, y_zero=False))


def _step_table(summary: PanelSummary) -> Table:
    rows = tuple((x.horizon, x.rows, x.combined, Name(x.model), x.model_loss) for x in summary.steps)
    heads = ("horizon", "rows", "loss / average's", "best model", "its loss / average's")
    return Table(heads, rows, f"Scaled losses by horizon: {SCALED}.")


def _coverage_of_steps(summary: PanelSummary) -> Table:
    coverage = summary.panel.coverage
    assert coverage is not None
    levels = coverage.report.certificate.levels
    rows = tuple(
        (step, count, *(100.0 * one / count if count else None for one in hits))
        for step, count, hits in coverage.horizons
    )
    heads = ("horizon", "settled rows", *(f"% in the {100.0 * level:g}% interval" for level in levels))
    return Table(heads, rows, "Coverage by horizon.")


def _bars(summary: PanelSummary) -> Figure:
    rows = [("combination", summary.total, "combination"), ("average of models", summary.mean, "simple")]
    rows.append(("median of models", summary.median, "simple"))
    order = np.argsort(summary.losses - summary.beside)[:BARS]
    # The loss of an expert with missing forecasts covers fewer rows. Scale the total loss of the combination by the #
    # ratio of both losses in these rows.
    share = np.where(summary.beside > 0.0, summary.losses / np.where(summary.beside > 0.0, summary.beside, 1.0), np.nan)
    rows += [(summary.panel.experts[i], summary.total * share[i], "expert") for i in order if np.isfinite(share[i])]
    rows.sort(key=lambda row: row[1])
    drawn = tuple({"name": n, "loss per row": x / max(1, summary.settled), "kind": k} for n, x, k in rows)
    alt = (
        "Loss per row over all series: "
        + ", ".join(f"{n} {figure(x / max(1, summary.settled))}" for n, x, _ in rows[:4])
        + "."
    )
    layer = Layer("across", drawn, x="loss per row", y="name", series="kind")
    names = tuple(n for n, _, _ in rows)
    return Figure(
        Picture(
            "Loss per row", f"{summary.panel.loss.name} loss", "", (layer,), alt, order=names, height=24 * len(rows)
        )
    )


def _weights(summary: PanelSummary) -> Figure:
    mean = summary.panel.weights.mean(axis=0)
    order = np.argsort(-mean)[:BARS]
    drawn = [{"name": summary.panel.experts[i], "weight": float(mean[i]), "kind": "expert"} for i in order]
    if len(mean) > BARS:
        drawn.append({"name": "others", "weight": float(1.0 - mean[order].sum()), "kind": "others"})
    first = summary.panel.experts[order[0]]
    alt = f"The weights at the end, averaged over the series; the largest is {figure(mean[order[0]])}, of {first}."
    layer = Layer("across", tuple(drawn), x="weight", y="name", series="kind")
    names = tuple(row["name"] for row in drawn)
    return Figure(
        Picture(
            "Weights at the end, averaged over the series",
            "weight",
            "",
            (layer,),
            alt,
            order=names,
            height=24 * len(drawn),
        )
    )


def _series_table(summary: PanelSummary) -> Table:
    chosen = summary.ends()
    told = [summary.one(s) for s in chosen]
    rows = tuple(
        (Name(one["series"]), one["rows"], one["ratio_to_mean"], one["combination"], one["mean"],
         Name(one["best_expert"]), one["best_expert_loss"], Name(one["largest_weight"]),
         *([one["coverage"]] if "coverage" in one else []))
        for one in told
    )  # fmt: skip
    more = (
        f" The best {ENDS} and the worst {ENDS} of {summary.panel.table.series}."
        if len(chosen) < summary.panel.table.series
        else ""
    )
    heads = (
        "series",
        "rows",
        "loss / average's",
        "loss",
        "average's loss",
        "best expert",
        "its loss",
        "largest weight at the end",
        *(["coverage"] if summary.panel.coverage is not None else []),
    )
    return Table(heads, rows, f"Losses of each series.{more}")


def _recent(summary: PanelSummary) -> list[Any]:
    """Return pictures of the last rows of a typical, the best and the worst series."""
    panel, table, ends = summary.panel, summary.panel.table, summary.ends()
    named = {s: f" of {table.name(s)}" for s in range(min(table.series, 1))}
    if len(ends) > 1:
        ranked = [int(s) for s in np.argsort(summary.ratio, kind="stable") if np.isfinite(summary.ratio[s])]
        best, middle, worst = ranked[0], ranked[(len(ranked) - 1) // 2], ranked[-1]
        named = {middle: f" of {table.name(middle)}, a typical series"}
        named.setdefault(best, f" of {table.name(best)}, the best series relative to its average")
        named.setdefault(worst, f" of {table.name(worst)}, the worst series relative to its average")
    calibration = None if panel.quantiles is None else panel.quantiles.calibration
    levels = () if panel.coverage is None else panel.coverage.report.certificate.levels
    timed = len(panel.labels) > len(table.by)
    columns = list(panel.labels.values())[len(table.by) :]
    figures = []
    for s, what in named.items():
        last = np.arange(max(table.starts[s], table.starts[s + 1] - CHOICE), table.starts[s + 1])
        places = [int(row) for row in table.order[last]]
        answered = [
            Answered(row + 1, cell_text(columns[-1], row) if timed else "",
                     cell_text(columns[0], row) if len(columns) > 1 else "", panel.forecast[row],
                     None if panel.intervals is None else panel.intervals[row],
                     None if panel.points is None else float(panel.points.forecast[row]))
            for row in places
        ]  # fmt: skip
        recent = Recent.of(answered, table.targets[last], calibration, levels)
        if recent is not None:
            figures.append(recent_figure(recent, what))
    return figures


def _over(losses: Array, means: Array) -> list[float | None]:
    return [a / b if b > 0.0 else None for a, b in zip(losses.tolist(), means.tolist(), strict=True)]


def weights_long(panel: PanelSums) -> dict[str, Any]:
    """Return the columns of the last weights: series, model_id, weight, and quantile if weights differ by level."""
    n, levels = len(panel.experts), panel.loss.depth if panel.by_level is not None else 1
    told: dict[str, Any] = {
        name: np.repeat(np.array([key[k] for key in panel.table.keys], dtype=object), n * levels)
        for k, name in enumerate(panel.table.by)
    }
    if panel.by_level is not None and panel.quantiles is not None:
        told["quantile"] = np.tile(np.repeat(panel.quantiles.calibration.levels, n), panel.table.series)
    told["model_id"] = np.tile(np.array(panel.experts, dtype=object), panel.table.series * levels)
    told["weight"] = (panel.weights if panel.by_level is None else panel.by_level).ravel()
    return told


def save(panel: PanelSums, summary: PanelSummary, folder: Path, parquet: bool) -> Path:
    """Write the files atomically."""
    from hannan.report.page import PAGE, drawable

    with Outbox(folder) as out:
        combined = {**panel.labels, **panel.answers()}
        for name, columns in (("combined", combined), ("weights", weights_long(panel))):
            if parquet:
                import pyarrow
                from pyarrow import parquet as files

                kinds = (pyarrow.Array, pyarrow.ChunkedArray)
                arrays = {key: one if isinstance(one, kinds) else pyarrow.array(one) for key, one in columns.items()}
                files.write_table(pyarrow.table(arrays), out.path(f"{name}.parquet"))
            else:
                sheet = RowWriter(out.path(f"{name}.csv"), list(columns))
                sheet.write([_cells(value) for value in columns.values()])
                sheet.close()
        write(out.path("summary.json"), json.dumps(summary.as_dict(), indent=1, ensure_ascii=False) + "\n")
        if drawable():
            panel_page(summary).write(out.path(PAGE))
    return folder


def _cells(column: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiu":
        return column
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return [value.isoformat() if hasattr(value, "isoformat") else str(value) for value in values]
