"""The page of a combination: the series with its forecast and the next values, then losses, weights and coverage.

The bounds are folded at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from hannan.report import Facts, Figure, Fold, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.saving.formatting import AtMost, ceiling, counted, figure, number, percent
from hannan.tables.combine.calibration import calibration_blocks, recent_figure, where
from hannan.tables.combine.coverage_certificate import ALL
from hannan.tables.combine.coverage_report import CoverageReport
from hannan.tables.combine.hindsight import Improvement
from hannan.tables.combine.summary import Summary, ahead_of
from hannan.tables.write import LINES, ROWS, Name, curve, lines, made_by
from hannan.validation import Array

#: Bars of single experts, the best ones.
BARS = 12
OTHERS = "others"
#: Largest allowed ratio of the height of this line to that of the other lines.
TALL = 12.0


def combined_page(summary: Summary) -> Page:
    """The page of a combination."""
    tiles = _tiles(summary)
    sections = []
    first: list[Any] = [] if summary.recent is None else [recent_figure(summary.recent)]
    first += [folded(_forecasts(summary), summary.forecasts)] if summary.forecasts else []
    if first:
        sections.append(Section("Forecast", tuple(first)))
    if summary.settled:
        sections.append(Section("Losses", (_bars(summary),)))
    told = summary.quantiles
    if told is not None and summary.settled:
        sections.append(Section("Quantiles", tuple(calibration_blocks(told.calibration, ROWS))))
    if summary.coverage is not None and summary.coverage.certificate.rows:
        sections.append(Section("Coverage", tuple(coverage_blocks(summary.coverage))))
    if summary.curves.experts.size:
        sections.append(Section("Weights", (_weights(summary),)))
        sections.append(Section("Over time", (_course(summary),)))
    sections.append(Section("Experts", (_experts(summary),)))
    # Forecasts have a separate table, because as facts they would all have the same name.
    facts = {name: Name(text) for name, text in summary.rows() if name not in ("forecast", "answer")}
    proof: list[Any] = [Text(BOUNDS), _promises(summary)] if summary.settled else []
    if summary.settled and np.isfinite(summary.curves.bound).any():
        proof.append(_regret(summary))
    proof.append(Facts(facts))
    if summary.certificate is not None:
        proof.append(Facts({a.strip(): Name(b) for a, b in summary.certificate.rows()}))
    sections.append(Section("Proof", (Fold("Bounds and all numbers", tuple(proof)),)))
    lead = (
        f"{counted(summary.answered, 'row')} answered, {summary.settled} settled, {counted(summary.n, 'expert')}. "
        f"Each forecast was combined before its target was known."
    )
    if summary.verdict:
        lead += f" {summary.verdict[:1].upper()}{summary.verdict[1:]}."
    title = summary.headline[:1].upper() + summary.headline[1:] if summary.settled else "Combined forecasts"
    return Page(title, lead, (Tiles(tuple(tiles)),), tuple(sections), made_by())


def signed(share: float) -> str:
    """Return a percentage with a sign."""
    return f"{'+' if share >= 0.0 else ''}{percent(share)}"


#: Number of next values up to which their table is not folded.
SHOWN_VALUES = 24


def folded(table: Table, rows: Sequence[Any]) -> Any:
    """Return a table of next values, folded if it is long."""
    return table if len(rows) <= SHOWN_VALUES else Fold(f"Next values: {len(rows)} rows", (table,))


#: One sentence about the table of bounds.
BOUNDS = (
    "A bound is a number that the excess loss of the combination cannot exceed, whatever the targets are; it is "
    "computed from the observed losses."
)


def improvement_tile(found: Improvement | None, ahead: float | None, own: float, whom: str) -> Tile:
    """Return a tile with an improvement and its interval."""
    if ahead is None:
        return Tile(figure(own), f"more than {whom}, whose loss is 0", "plain")
    named = f"compared with {whom}"
    if found is not None and found.low is not None and found.high is not None:
        named += f" (95% interval {signed(found.low)} to {signed(found.high)})"
        return Tile(signed(ahead), named, "good" if found.low > 0.0 else "plain")
    return Tile(signed(ahead), f"{named}, so far" if found is not None else named, "plain")


def coverage_blocks(report: CoverageReport) -> list[Any]:
    """Return the coverage over time as a picture, and by group as a table."""
    certificate = report.certificate
    rows = [row for k, level in enumerate(certificate.levels)
            for row in curve(report.rows, report.course[:, k], f"{100.0 * level:g}%")]  # fmt: skip
    marks = [{"y": level, "label": f"requested: {100.0 * level:g}%"} for level in certificate.levels]
    title = f"Coverage of the last {report.window} rows"
    last = ", ".join(f"{figure(100.0 * x)}%" for x in report.course[-1])
    alt = f"{title}, over time; at the end {last}."
    layers = Layer("line", tuple(rows), x="row", series="series"), Layer("rule", tuple(marks), y="y")
    blocks: list[Any] = [Figure(Picture(title, "row", "coverage", layers, alt, y_zero=False))]
    cells = []
    for group in sorted(certificate.groups, key=lambda one: (one.name != ALL, _natural(one.name))):
        for k, level in enumerate(certificate.levels):
            if group.rows:
                cells.append((Name("all rows" if group.name == ALL else group.name), level, group.coverage(k),
                              group.rows, group.below[k], group.above[k]))  # fmt: skip
    heads = ("rows with", "requested", "coverage", "settled rows", "targets below", "targets above")
    return [*blocks, Table(heads, tuple(cells[:ROWS]), "Coverage of the settled rows, in total and by group.")]


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a key that sorts numbers in names by their values.

    >>> sorted(["hour 10", "hour 9", "monday"], key=_natural)
    ['hour 9', 'hour 10', 'monday']
    """
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", name)]


def _tiles(summary: Summary) -> list[Tile]:
    tiles, best = [], summary.best
    if summary.forecasts:
        last = summary.forecasts[-1]
        tiles.append(Tile(number(last.forecast), f"forecast for {last.name}", "good"))
    if best is not None and summary.settled:
        ahead = ahead_of(best.mix_loss, best.loss)
        over_mean, over_best = summary.improvements
        tiles.append(improvement_tile(over_best, ahead, best.mix_loss, f"{best.name}, your best model"))
        mean = summary.better(summary.mean_loss)
        tiles.append(improvement_tile(over_mean, mean, summary.mix_loss, "the average of your models"))
        tiles.append(Tile(number(summary.mix_loss / summary.settled), "mean loss of the combination"))
    return tiles


def _forecasts(summary: Summary) -> Table:
    told = summary.forecasts
    timed = told[-1].time is not None
    # As text, because four digits are too few for forecasts.
    cells = [(str(one.row), one.time or "", one.text) for one in told]
    rows = tuple(tuple(Name(text) for text in (row if timed else row[::2])) for row in cells)
    more = f" The last {len(told)} of {summary.waiting}." if summary.waiting > len(told) else ""
    heads = ("row", "time", "forecast") if timed else ("row", "forecast")
    return Table(heads, rows, f"Next values: forecasts of rows that wait for their targets.{more}", sortable=False)


def _bars(summary: Summary) -> Figure:
    """Mean losses, the smallest first: the combination, the best combination in hindsight, mean, median, and the best
    experts.
    """
    rows = [("combination", summary.mix_loss / summary.settled, "combination")]
    if summary.oracle.loss is not None:
        which = f" of {summary.narrowed}" if summary.narrowed else ""
        rows.append((f"best fixed weights{which} (hindsight)", summary.oracle.loss / summary.settled, "hindsight"))
    rows.append(("average of models", summary.mean_loss / summary.settled, "simple"))
    if np.isfinite(summary.median_loss):
        rows.append(("median of models", summary.median_loss / summary.settled, "simple"))
    spoken = sorted((e for e in summary.experts if e.rows), key=lambda e: e.loss / e.rows)
    rows += [(e.name, e.loss / e.rows, "expert") for e in spoken[:BARS]]
    rows.sort(key=lambda row: row[1])
    drawn = tuple({"name": name, "mean loss": loss, "kind": kind} for name, loss, kind in rows)
    more = f"; the best {BARS} of {summary.n} experts" if summary.n > BARS else ""
    alt = (
        f"Mean {summary.loss} loss, smaller is better{more}: "
        + ", ".join(f"{n} {figure(x)}" for n, x, _ in rows[:4])
        + "."
    )
    layer = Layer("across", drawn, x="mean loss", y="name", series="kind")
    order = tuple(name for name, _, _ in rows)
    return Figure(
        Picture("Mean loss", f"mean {summary.loss} loss", "", (layer,), alt, order=order, height=24 * len(rows))
    )


def _dates(summary: Summary) -> tuple[list[Any], dict[str, Any]]:
    """Return the horizontal positions of the points of the curves: dates, numbers of the user, or rows."""
    times = summary.curves.times
    if times and all(times):
        return where(times)
    return summary.curves.rows.tolist(), {}


def _shown(summary: Summary, most: int) -> list[int]:
    """Return the experts with the largest weights at any time."""
    peak = summary.curves.weights.max(axis=0)
    return [int(i) for i in np.argsort(-peak, kind="stable")[:most]]


def _weights(summary: Summary) -> Figure:
    curves, (at, axis) = summary.curves, _dates(summary)
    chosen = _shown(summary, LINES)
    names = [summary.names[i] for i in chosen]
    parts = [curves.weights[:, i] for i in chosen]
    if summary.n > len(chosen):
        names.append(OTHERS)
        parts.append(np.clip(1.0 - np.sum(parts, axis=0), 0.0, 1.0))
    rows = [row for name, part in zip(names, parts, strict=True) for row in curve(at, part, name)]
    top = int(np.argmax(curves.weights[-1]))
    alt = (
        f"The weights of the experts, stacked, {len(chosen)} of {summary.n} by their largest weight at any time; in "
        f"the last row the largest is {figure(curves.weights[-1, top])}, of {summary.names[top]}."
    )
    layer = Layer("stack", tuple(rows), x="row", series="series")
    title = axis.pop("x_title", "row")
    return Figure(Picture("Weights over time", title, "weight", (layer,), alt, **axis))


def _course(summary: Summary) -> Figure:
    """Cumulative losses minus that of the combination: above 0 is worse than the combination."""
    curves, (at, axis) = summary.curves, _dates(summary)
    parts = {}
    if summary.best is not None:
        i = summary.names.index(summary.best.name)
        parts[f"{summary.best.name} (best expert)"] = curves.experts[:, i] - curves.beside[:, i]
    which = f" of {summary.narrowed}" if summary.narrowed else ""
    parts[f"best fixed weights{which} (hindsight)"] = curves.best - curves.mix
    mean, alt = curves.mean - curves.mix, ""
    # The mean is left out if it would flatten the other lines.
    if _reach(mean) <= TALL * max(map(_reach, parts.values())):
        parts["average of models"] = mean
    else:
        alt = f" The average of models ends at {figure(mean[-1])}, too far above to be drawn."
    rows = [row for name, part in parts.items() for row in curve(at, part, name)]
    alt = f"Cumulative loss minus that of the combination over the same rows: above 0 the combination is better.{alt}"
    return lines(
        "Cumulative losses minus that of the combination (above 0: worse)",
        "loss minus the combination's",
        rows,
        alt,
        **axis,
    )


def _reach(part: Array) -> float:
    known = np.abs(part[np.isfinite(part)])
    return float(known.max()) if known.size else 0.0


def _promises(summary: Summary) -> Table:
    told = summary.excesses()
    # Reasons have a column only if there is one.
    heads = (
        "excess loss over",
        "actual",
        "proved bound",
        *(["no bound because"] if any(why for *_, why in told) else []),
    )
    rows = tuple(
        (Name(whom), more, "none" if bound is None else AtMost(bound), Name(why))[: len(heads)]
        for whom, more, bound, why in told
    )
    caption = f"Excess loss of the combined forecast, and its proved bounds. {summary.guarantee}."
    return Table(heads, rows, caption, sortable=False)


def _regret(summary: Summary) -> Figure:
    curves, (at, axis) = summary.curves, _dates(summary)
    rows = curve(at, curves.regret, "mixture")
    if summary.own_loss is not None:
        rows += curve(at, curves.own_regret, "<p, l>")
    bound = curve(at, curves.bound, "bound")
    proved = f"; the bound ends at {ceiling(summary.bound.value)}" if summary.bound else "; the bound is withheld"
    alt = f"Excess loss of the combination over the best expert, {figure(summary.regret)} at the end{proved}."
    return lines(
        "Excess loss over the best expert (solid) and its proved bound (dashed)",
        "excess loss",
        rows,
        alt,
        bound,
        **axis,
    )


def _experts(summary: Summary) -> Any:
    ranked = sorted(summary.experts, key=lambda e: e.loss / e.rows if e.rows else np.inf)
    rows: list[Any] = [
        (Name(e.name), e.rows, e.loss if e.rows else None, e.loss / e.rows if e.rows else None,
         e.mix_loss if e.rows else None, e.weight)
        for e in ranked[:ROWS]
    ]  # fmt: skip
    if summary.settled:
        for name, loss in (("average", summary.mean_loss), ("median", summary.median_loss)):
            if np.isfinite(loss):
                rows.append((Name(name), summary.settled, loss, loss / summary.settled, summary.mix_loss, None))
    more = f" The first {ROWS} of {summary.n}." if summary.n > ROWS else ""
    caption = (
        f"Losses over the rows with a forecast of the expert, and the loss of the combination in these rows.{more}"
    )
    heads = ("expert", "rows", "loss", "mean loss", "combination's loss", "weight at the end")
    if not rows:
        return Text("No row has a target.")
    return Table(heads, tuple(rows), caption)
