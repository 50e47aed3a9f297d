"""The page of a combination."""

from __future__ import annotations

import numpy as np

from hannan.report import Facts, Figure, Page, Section, Table, Tile, Tiles
from hannan.report.markup import number
from hannan.tables.combine.summary import Summary
from hannan.tables.figures import LINES, ROWS, Name, curve, lines, made_by


def _shown(summary: Summary) -> list[int]:
    """The experts worth a line: least mean loss, and largest weight at the end."""
    means = [e.loss / e.rows if e.rows else np.inf for e in summary.experts]
    weights = [-e.weight for e in summary.experts]
    order = [i for pair in zip(np.argsort(means), np.argsort(weights), strict=True) for i in pair]
    return list(dict.fromkeys(int(i) for i in order))[:LINES]


def combined_page(summary: Summary) -> Page:
    """The page of a combination."""
    best, bound, settled = summary.best, summary.bound, max(1, summary.settled)
    tiles = [Tile(number(summary.mix_loss / settled), "mean loss of the mixture", "good")]
    if summary.forecasts:
        last = summary.forecasts[-1]
        tiles.insert(0, Tile(f"{last.forecast:.6g}", f"forecast for {last.name}", "good"))
    if best is not None:
        tiles.append(Tile(number(best.loss / best.rows), f"mean loss of {best.name}, the best expert"))
    tiles.append(Tile(number(summary.regret), "regret of the mixture"))
    tiles.append(Tile(number(bound.value) if bound else "withheld", "proved bound on the expected regret"))
    # Forecasts have a table of their own; as facts they would all have the same name.
    facts = {name: Name(text) for name, text in summary.rows() if name != "forecast"}
    sections = [Section("Summary", (Facts(facts),))]
    if summary.forecasts:
        sections.insert(0, Section("Forecasts", (_forecasts(summary),)))
    if summary.curves.experts.size:
        sections.append(Section("Weights", (_weights(summary),)))
        sections.append(Section("Cumulative losses", (_ahead(summary), _losses(summary))))
    sections.append(Section("Regret", (_regret(summary),)))
    sections.append(Section("Experts", (_experts(summary),)))
    sections.append(Section("Certificate", (Facts({a.strip(): Name(b) for a, b in summary.certificate.rows()}),)))
    lead = (
        f"{summary.answered} rows answered, {summary.settled} settled, {summary.n} experts. Each answer "
        f"was made before its target was seen. Guarantee: {summary.guarantee}."
    )
    return Page("Combined forecasts", lead, (Tiles(tuple(tiles)),), tuple(sections), made_by())


def _forecasts(summary: Summary) -> Table:
    told = summary.forecasts
    timed = told[-1].time is not None
    # As text: the four digits of a number in a table are too few for what was asked for.
    cells = [(str(one.row), one.time or "", f"{one.forecast:.6g}") for one in told]
    rows = tuple(tuple(Name(text) for text in (row if timed else row[::2])) for row in cells)
    more = f" The last {len(told)} of {summary.waiting}." if summary.waiting > len(told) else ""
    heads = ("row", "time", "forecast") if timed else ("row", "forecast")
    return Table(heads, rows, f"Rows that wait for their target.{more}", sortable=False)


def _weights(summary: Summary) -> Figure:
    curves, rows = summary.curves, []
    for i in _shown(summary):
        rows += curve(curves.rows, curves.weights[:, i], summary.experts[i].name)
    top = max(summary.experts, key=lambda e: e.weight)
    alt = f"The weight of each expert, row by row; at the end the largest is {top.weight:.3g}, of {top.name}."
    return lines("Weights over time", "weight", rows, alt)


def _losses(summary: Summary) -> Figure:
    curves, rows = summary.curves, curve(summary.curves.rows, summary.curves.mix, "mixture")
    for i in _shown(summary)[: LINES - 1]:
        rows += curve(curves.rows, curves.experts[:, i], summary.experts[i].name)
    alt = f"Cumulative {summary.loss} loss of the mixture ({summary.mix_loss:.6g} at the end) and of the best experts."
    return lines("Cumulative loss", "loss", rows, alt)


def _ahead(summary: Summary) -> Figure:
    curves, rows = summary.curves, []
    for i in _shown(summary)[:3]:
        rows += curve(curves.rows, curves.experts[:, i] - curves.beside[:, i], summary.experts[i].name)
    alt = "Cumulative loss of three experts less the mixture's in the same rows: below zero an expert is ahead."
    return lines("Ahead of the mixture (below 0) or behind it", "loss less the mixture's", rows, alt)


def _regret(summary: Summary) -> Figure:
    curves = summary.curves
    rows = curve(curves.rows, curves.regret, "mixture") + curve(curves.rows, curves.own_regret, "<p, l>")
    bound = curve(curves.rows, curves.bound, "bound")
    proved = (
        f"; the bound, against {summary.bound.against} losses, ends at {summary.bound.value:.6g}"
        if summary.bound
        else "; the bound is withheld"
    )
    alt = f"Regret of the mixture ({summary.regret:.6g} at the end) and of <p, l> ({summary.own_regret:.6g}){proved}."
    return lines("Regret (solid) and its proved bound (dashed)", "regret", rows, alt, bound)


def _experts(summary: Summary) -> Table:
    ranked = sorted(summary.experts, key=lambda e: e.loss / e.rows if e.rows else np.inf)
    rows = tuple(
        (Name(e.name), e.rows, e.loss if e.rows else None, e.loss / e.rows if e.rows else None,
         e.mix_loss if e.rows else None, e.weight)
        for e in ranked[:ROWS]
    )  # fmt: skip
    more = f" The first {ROWS} of {summary.n}." if summary.n > ROWS else ""
    caption = f"Losses over the rows in which the expert was awake; the mixture's in the same rows.{more}"
    heads = ("expert", "rows awake", "loss", "mean loss", "mixture's loss there", "weight at the end")
    return Table(heads, rows, caption)
