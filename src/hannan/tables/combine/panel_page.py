"""One page for all series: losses, weights, of quantiles the fans of the best and the worst, and a table by series."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.report import Facts, Figure, Fold, Layer, Page, Picture, Section, Table, Tile, Tiles
from hannan.report.markup import number
from hannan.saving.words import counted, figure
from hannan.tables.combine.fan import FAN, Fan, calibration_blocks, fan_figure
from hannan.tables.combine.long_table import cell_text
from hannan.tables.combine.panel_summary import ENDS, PanelSummary
from hannan.tables.figures import ROWS, Name, made_by

#: Bars of experts.
BARS = 12


def panel_page(summary: PanelSummary) -> Page:
    """One page for all series."""
    panel = summary.panel
    title = summary.headline[:1].upper() + summary.headline[1:]
    tiles = [
        Tile(
            figure(summary.typical),
            "of the average's loss, a typical series",
            "good" if summary.typical < 1 else "plain",
        )
    ]
    tiles.append(Tile(str(panel.table.series), "series"))
    tiles.append(Tile(number(summary.total / max(1, summary.settled)), "mean loss of the combination"))
    sections = [Section("Forecasts", (_forecasts(summary),))] if summary.forecasts else []
    sections.append(Section("Losses", (_bars(summary),)))
    if panel.quantiles is not None:
        tables = calibration_blocks(panel.quantiles.calibration, ROWS)
        sections.append(Section("Quantiles", (*_fans(summary), *tables)))
    sections.append(Section("Weights", (_weights(summary),)))
    sections.append(Section("Series", (_series_table(summary),)))
    # Forecasts have a table of their own; as facts they would all have the same name.
    facts = {name: Name(text) for name, text in summary.rows() if name not in ("forecast", "answer")}
    sections.append(Section("Proof", (Fold("What is proved, and every number", (Facts(facts),)),)))
    lead = (
        f"{counted(len(panel.table.order), 'row')} of {panel.table.series} series, "
        f"{counted(len(panel.experts), 'expert')}. Each answer was made before its target was known."
    )
    return Page(title, lead, (Tiles(tuple(tiles)),), tuple(sections), made_by())


def _forecasts(summary: PanelSummary) -> Table:
    told = summary.forecasts
    timed = told[-1][1].time is not None
    # As text: the four digits of a number in a table are too few for what was asked for.
    cells = [(series, str(one.row), *([one.time or ""] if timed else []), one.text) for series, one in told]
    rows = tuple(tuple(Name(text) for text in row) for row in cells)
    more = f" The last {len(told)} of {summary.waiting}." if summary.waiting > len(told) else ""
    heads = ("series", "row", *(["time"] if timed else []), "forecast")
    return Table(heads, rows, f"Rows that wait for their target.{more}", sortable=False)


def _bars(summary: PanelSummary) -> Figure:
    rows = [("combination", summary.total, "combination"), ("mean of the experts", summary.mean, "simple")]
    rows.append(("median of the experts", summary.median, "simple"))
    order = np.argsort(summary.losses - summary.beside)[:BARS]
    # Where an expert slept its loss is over fewer rows: beside the combination's in the same rows, over all of them.
    share = np.where(summary.beside > 0.0, summary.losses / np.where(summary.beside > 0.0, summary.beside, 1.0), np.nan)
    rows += [(summary.panel.experts[i], summary.total * share[i], "expert") for i in order if np.isfinite(share[i])]
    rows.sort(key=lambda row: row[1])
    drawn = tuple({"name": n, "loss a row": x / max(1, summary.settled), "kind": k} for n, x, k in rows)
    alt = (
        "Loss a row over all series: "
        + ", ".join(f"{n} {figure(x / max(1, summary.settled))}" for n, x, _ in rows[:4])
        + "."
    )
    layer = Layer("across", drawn, x="loss a row", y="name", series="kind")
    names = tuple(n for n, _, _ in rows)
    return Figure(
        Picture(
            "Loss a row", f"{summary.panel.loss.name} loss a row", "", (layer,), alt, order=names, height=24 * len(rows)
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
         Name(one["best_expert"]), one["best_expert_loss"], Name(one["largest_weight"]))
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
    )
    return Table(heads, rows, f"Losses of each series.{more}")


def _fans(summary: PanelSummary) -> list[Figure]:
    """The fans of the best and the worst series."""
    panel, ends = summary.panel, summary.ends()
    assert panel.quantiles is not None
    figures = []
    for s in dict.fromkeys([*ends[:1], *ends[-1:]]):
        last = np.arange(max(panel.table.starts[s], panel.table.starts[s + 1] - FAN), panel.table.starts[s + 1])
        at, timed = _times(panel, last)
        fan = Fan(at, panel.forecast[panel.table.order[last]], panel.table.targets[last])
        what = f" of {panel.table.name(s)}, the {'best' if s == ends[0] else 'worst'} series beside its average"
        figures.append(fan_figure(fan, panel.quantiles.calibration, what, "time" if timed else "row"))
    return figures


def _times(panel: Any, rows: Any) -> tuple[tuple[str, ...], bool]:
    """The times of some rows as text, or their numbers."""
    if len(panel.labels) == len(panel.table.by):
        return tuple(str(int(panel.table.order[row]) + 1) for row in rows), False
    column = panel.labels[list(panel.labels)[-1]]
    return tuple(cell_text(column, int(panel.table.order[row])) for row in rows), True
