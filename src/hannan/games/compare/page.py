"""Charts and HTML page of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hannan import extras, validation
from hannan.games.compare.numbers import Cell, Compared, bands, table
from hannan.report import Figure, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.report.page import PAGE, drawable
from hannan.report.pictures import ends, how
from hannan.saving.files import Outbox
from hannan.saving.formatting import AtMost, ceiling, figure, number
from hannan.saving.result import to_text

#: Dash patterns: with more learners than colors, colors are used again with another pattern.
_DASHES = ([1, 0], [6, 2], [2, 2])


def chart(comparison: Compared, log: bool = False, level: float = 0.95, columns: int = 2) -> Any:
    """Return the Altair chart of `Compared.plot`."""
    from hannan.report.pictures import PALETTE, altair, offline

    alt = altair()
    if not isinstance(log, bool):
        raise ValueError(f"log must be True or False; got {log!r}")
    level = validation.between(level, 0.0, 1.0, "level", "()")
    columns = validation.count(columns, "columns")
    names = comparison.learners
    if len(names) > len(PALETTE) * len(_DASHES):
        raise ValueError(f"learners in a chart must be at most {len(PALETTE) * len(_DASHES)}; got {len(names)}")
    shades = alt.Scale(domain=names, range=[PALETTE[i % len(PALETTE)] for i in range(len(names))])
    dashes = alt.Scale(domain=names, range=[list(_DASHES[i // len(PALETTE)]) for i in range(len(names))])
    legend = alt.Legend(labelLimit=400, symbolOpacity=1.0)
    style = {
        "color": alt.Color("learner:N", scale=shades, sort=names, title=None, legend=legend),
        "strokeDash": alt.StrokeDash("learner:N", scale=dashes, sort=names, title=None),
    }
    pictures = [_small(alt, comparison, name, log, level, style) for name in comparison.environments]
    runs = {cell.runs for cell in comparison.cells}
    band = f"mean of {min(runs)} runs, band: {level:.0%} t interval, approximate" if runs != {1} else "one run"
    return offline(
        alt.concat(*pictures, columns=min(columns, len(pictures)))
        .properties(title=alt.Title("Regret", subtitle=band))
        .configure_view(strokeOpacity=0.3)
        .configure_legend(orient="bottom", columns=3)
    )


def _small(alt: Any, comparison: Compared, environment: str, log: bool, level: float, style: dict[str, Any]) -> Any:
    cells = comparison.among(environment)
    rows = [row for cell in cells for row in _rows(cell, log, level)]
    x = alt.X("round:Q", title="round", scale=alt.Scale(type="log" if log else "linear", nice=False))
    scale = alt.Scale(type="log") if log else alt.Scale()
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, **style)
    shade = base.mark_area(opacity=0.2, strokeWidth=0).encode(
        y=alt.Y("low:Q", scale=scale, title="regret"), y2="high:Q", strokeDash=alt.value([1, 0])
    )
    layers = [shade, base.mark_line().encode(y=alt.Y("regret:Q", scale=scale, title="regret"))]
    if log:
        drawn = [row for cell in cells for row in _bound(cell)]
        if drawn:
            dashed = alt.Chart(alt.Data(values=drawn)).mark_line(strokeDash=[5, 4], strokeWidth=1, opacity=0.8)
            layers.append(dashed.encode(x=x, y=alt.Y("bound:Q", scale=scale), color=style["color"], detail="learner:N"))
    subtitle = ["dashed: bounds. Regret is drawn where its band is above 0"] if log else _numbers(cells)
    title = alt.Title(environment, subtitle=subtitle, anchor="start", subtitleFontSize=10)
    return alt.layer(*layers).properties(title=title, width=330, height=220)


def _rows(cell: Cell, log: bool, level: float) -> list[dict[str, Any]]:
    mean = cell.regret.mean(axis=0)
    low, high = bands(cell.regret, level)
    kept = (low > 0.0) & (mean > 0.0) if log else np.ones(len(mean), dtype=bool)
    return [
        {"learner": cell.learner, "round": int(t), "regret": float(m), "low": float(a), "high": float(b)}
        for t, m, a, b in zip(cell.at[kept], mean[kept], low[kept], high[kept], strict=True)
    ]


def _bound(cell: Cell) -> list[dict[str, Any]]:
    return [
        {"learner": cell.learner, "round": int(t), "bound": float(value)}
        for t, value in zip(cell.at, cell.bound, strict=True)
        if np.isfinite(value) and value > 0.0
    ]


def _numbers(cells: list[Cell]) -> list[str]:
    """Return the bounds as text, three per line."""
    values = [f"{cell.learner} {ceiling(cell.last_bound)}" for cell in cells if cell.last_bound is not None]
    if not values:
        return ["no bound holds in this environment"]
    values[0] = f"bounds: {values[0]}"
    return [", ".join(values[k : k + 3]) for k in range(0, len(values), 3)]


def save(comparison: Compared, folder: Path) -> Path:
    """Write comparison.parquet, summary.json and table.tex; with [report] also figure.svg, figure.png, index.html."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ModuleNotFoundError(f"save needs pyarrow: {extras.command('sweep', 'pyarrow')}") from None
    with Outbox(folder) as outbox:
        parquet.write_table(pyarrow.table(comparison.columns()), outbox.path("comparison.parquet"))
        outbox.path("summary.json").write_text(to_text(comparison.to_dict()) + "\n", "utf-8")
        outbox.path("table.tex").write_text(table(comparison), "utf-8")
        if drawable():
            whole = chart(comparison)
            for kind in ("svg", "png"):
                whole.save(str(outbox.path(f"figure.{kind}")), **({"ppi": 150} if kind == "png" else {}))
            page(comparison).write(outbox.path(PAGE))
    return folder


def page(comparison: Compared) -> Page:
    """Return the page with one section per environment: its chart, its table, and the differences to the baseline."""
    rows, gaps = comparison.rows(), comparison.difference_rows()
    sections, tiles = [], []
    for name in comparison.environments:
        here = sorted((row for row in rows if row["environment"] == name), key=lambda row: float(row["regret"]))
        blocks: list[Any] = [Figure(_ends(here)), Figure(_picture(comparison, name)), _table(here)]
        paired = [row for row in gaps if row["environment"] == name]
        if paired:
            blocks.append(_differences(paired))
        sections.append(Section(name, tuple(blocks)))
        tiles.append(Tile(number(here[0]["regret"]), f"{name}: smallest mean regret ({here[0]['learner']})"))
    lead = (
        f"{len(comparison.learners)} learners in {len(comparison.environments)} environments. In each run all learners "
        "receive the same losses. Intervals are 95% t intervals over the runs, not adjusted for multiple comparisons, "
        "and approximate: rare large regrets make them too narrow, so the largest run is listed too."
    )
    head: tuple[Any, ...] = (Tiles(tuple(tiles)),)
    if not gaps:
        head += (Text("Differences are omitted: they need at least two runs, and losses that no move changes."),)
    return Page(comparison.title, lead, head, tuple(sections), {"seed": str(comparison.seed)})


def _ends(rows: list[dict[str, Any]]) -> Picture:
    """Return the chart of final regrets with intervals, the smallest first, for learners whose curves coincide."""
    drawn = tuple({name: row[name] for name in ("learner", "regret", "low", "high")} for row in rows)
    names = tuple(row["learner"] for row in rows)
    alt = (
        "Regret at the end, the smallest first: "
        + ", ".join(f"{row['learner']} {figure(row['regret'])}" for row in rows)
        + "."
    )
    return Picture(
        f"Regret at the end{how(drawn)}",
        "regret",
        "",
        ends(drawn, "learner"),
        alt,
        order=names,
        height=26 * len(rows) + 10,
    )


def _picture(comparison: Compared, name: str) -> Picture:
    rows = []
    for cell in comparison.among(name):
        low, high = bands(cell.regret)
        for t, mean, a, b in zip(cell.at, cell.regret.mean(axis=0), low, high, strict=True):
            rows.append(
                {"learner": cell.learner, "round": int(t), "regret": float(mean), "low": float(a), "high": float(b)}
            )
    layers = (
        Layer("band", tuple(rows), x="round", series="learner"),
        Layer("line", tuple(rows), x="round", y="regret", series="learner"),
    )
    ends = ", ".join(f"{cell.learner} {figure(cell.final.mean())}" for cell in comparison.among(name))
    return Picture(f"Regret, {name}", "round", "regret", layers, alt=f"Regret at the end: {ends}.", height=320)


def _table(rows: list[dict[str, Any]]) -> Table:
    heads = (
        "learner",
        "regret",
        "low",
        "high",
        "median",
        "95% quantile",
        "largest run",
        "bound",
        "against",
        "source",
        "seconds",
    )
    cells = tuple(
        (
            row["learner"], row["regret"], row["low"], row["high"], row["median"], row["q95"], row["largest"],
            None if row["bound"] is None else AtMost(row["bound"]),
            row["against"], row["source"] or row["withheld"], row["seconds"],
        )
        for row in rows
    )  # fmt: skip
    return Table(
        heads, cells, caption="At the end: mean regret over the runs, its 95% t interval (approximate), and the bound"
    )


def _differences(rows: list[dict[str, Any]]) -> Table:
    cells = tuple((row["learner"], row["difference"], row["low"], row["high"], row["better"]) for row in rows)
    caption = f"Loss minus loss of {rows[0]['baseline']}, per run on the same losses; negative is better"
    return Table(("learner", "difference", "low", "high", "better"), cells, caption=caption)
