"""Charts and HTML page of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hannan import extras, validation
from hannan.games.compare.numbers import ON_THE_MEAN, SIMULTANEOUS, Cell, Compared, Shows, curve, shows, table
from hannan.report import Figure, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.report.page import PAGE, drawable
from hannan.report.pictures import ends, how
from hannan.saving.files import Outbox
from hannan.saving.formatting import AtMost, ceiling, figure, number
from hannan.saving.result import to_text


def chart(
    comparison: Compared, show: Shows = "mean", log: bool = False, level: float = 0.95, columns: int = 2
) -> Any:  # fmt: skip
    """Return the Altair chart of `Comparison.plot`."""
    from hannan.report.pictures import altair, offline

    alt = altair()
    names, styles = _checked(comparison, show, log, level, columns)
    shades = alt.Scale(domain=names, range=[color for color, _ in styles])
    dashes = alt.Scale(domain=names, range=[list(dash) for _, dash in styles])
    legend = alt.Legend(labelLimit=400, symbolType="stroke", symbolOpacity=1.0, symbolSize=600, symbolStrokeWidth=2)
    style = {
        "color": alt.Color("learner:N", scale=shades, sort=names, title=None, legend=legend),
        "strokeDash": alt.StrokeDash("learner:N", scale=dashes, sort=names, title=None, legend=legend),
    }
    pictures = [
        _small(alt, comparison.among(name), style, show=show, log=log, level=level) for name in comparison.environments
    ]
    return offline(
        alt.concat(*pictures, columns=min(columns, len(pictures)))
        .properties(title=alt.Title(_headline(comparison), subtitle=_band(comparison, show, level)))
        .configure_view(strokeOpacity=0.3)
        .configure_legend(orient="bottom", columns=3)
    )


def _headline(comparison: Compared) -> str:
    text = comparison.headline()
    return f"{text[0].upper()}{text[1:]}" if text.startswith(("no learner", "smallest")) else text


def _checked(
    comparison: Compared, show: Any, log: Any, level: float, columns: int
) -> tuple[list[str], list[tuple[str, tuple[int, ...]]]]:
    """Return the names of the learners and their styles; raise if a parameter is invalid."""
    from hannan.report.pictures import STYLES, style

    if not isinstance(log, bool):
        raise ValueError(f"log must be True or False; got {log!r}")
    shows(show)
    validation.between(level, 0.0, 1.0, "level", "()")
    validation.count(columns, "columns")
    names = comparison.learners
    if len(names) > STYLES:
        raise ValueError(f"learners in a chart must be at most {STYLES}; got {len(names)}")
    return names, [style(k) for k in range(len(names))]


def _band(comparison: Compared, show: Shows, level: float) -> str:
    runs = {cell.runs for cell in comparison.cells}
    if runs == {1}:
        return "regret of one run"
    return {
        "mean": f"mean regret of {min(runs)} runs, band: {level:.0%} t interval, approximate",
        "quantiles": f"median regret of {min(runs)} runs, band: 5% to 95% quantile over the runs",
        "largest": f"largest regret of {min(runs)} runs",
    }[show]


def _small(alt: Any, cells: list[Cell], style: dict[str, Any], *, show: Shows, log: bool, level: float) -> Any:
    rows = [row for cell in cells for row in _rows(cell, show, log, level)]
    x = alt.X("round:Q", title="round", scale=alt.Scale(type="log" if log else "linear", nice=False))
    scale = alt.Scale(type="log") if log else alt.Scale()
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, **style)
    shade = base.mark_area(opacity=0.2, strokeWidth=0).encode(
        y=alt.Y("low:Q", scale=scale, title="regret"), y2="high:Q", strokeDash=alt.value([1, 0])
    )
    layers = [
        *([shade] if show != "largest" else []),
        base.mark_line().encode(y=alt.Y("regret:Q", scale=scale, title="regret")),
    ]
    if log:
        drawn = [row for cell in cells for row in _bound(cell)]
        if drawn:
            dotted = alt.Chart(alt.Data(values=drawn)).mark_line(strokeDash=[1, 3], strokeWidth=1.5, opacity=0.9)
            layers.append(dotted.encode(x=x, y=alt.Y("bound:Q", scale=scale), color=style["color"], detail="learner:N"))
    subtitle = ["dotted: bounds. Regret is drawn where its band is above 0"] if log else _numbers(cells)
    title = alt.Title(cells[0].environment, subtitle=subtitle, anchor="start", subtitleFontSize=10)
    return alt.layer(*layers).properties(title=title, width=330, height=220)


def figure_for_print(
    comparison: Compared, show: Shows = "mean", log: bool = False, level: float = 0.95, columns: int = 2
) -> Any:  # fmt: skip
    """Return the matplotlib figure of `Comparison.figure`."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise ModuleNotFoundError(f"figure needs matplotlib: {extras.command('data', 'matplotlib')}") from None
    names, styles = _checked(comparison, show, log, level, columns)
    looks = dict(zip(names, styles, strict=True))
    environments = comparison.environments
    across = min(columns, len(environments))
    down = -(-len(environments) // across)
    canvas = Canvas(figsize=(3.4 * across, 2.6 * down + 0.5), layout="constrained")
    grid = canvas.subplots(down, across, squeeze=False).reshape(-1)
    for place, axes in zip(environments, grid, strict=False):
        for cell in comparison.among(place):
            value, low, high = curve(cell, show, level)
            color, dash = looks[cell.learner]
            line = "solid" if dash == (1, 0) else (0, dash)
            axes.plot(cell.at, value, color=color, linestyle=line, linewidth=1.4, label=cell.learner)
            if show != "largest":
                axes.fill_between(cell.at, low, high, color=color, alpha=0.2, linewidth=0)
        axes.set_title(place, loc="left", fontsize="medium")
        axes.set_xlabel("round")
        axes.set_ylabel("regret")
        axes.spines[["top", "right"]].set_visible(False)
        if log:
            axes.set_xscale("log")
            axes.set_yscale("log", nonpositive="mask")
    for axes in grid[len(environments) :]:
        axes.remove()
    handles, labels = grid[0].get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    shown = [name for name in names if name in known]
    canvas.legend(
        [known[name] for name in shown], shown, loc="outside lower center", ncols=min(4, len(shown)), frameon=False
    )
    return canvas


def _rows(cell: Cell, show: Shows, log: bool, level: float) -> list[dict[str, Any]]:
    mean, low, high = curve(cell, show, level)
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
    """Write comparison.parquet, summary.json and table.tex; with [report] also the figure and index.html."""
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
            for kind in ("svg", "pdf", "png"):
                whole.save(str(outbox.path(f"figure.{kind}")), **({"ppi": 150} if kind == "png" else {}))
            page(comparison).write(outbox.path(PAGE))
    return folder


def page(comparison: Compared) -> Page:
    """Return the page with one section per environment: its chart, its table, and the differences to the baseline."""
    rows, compared = comparison.rows(), False
    sections, tiles = [], []
    for name in comparison.environments:
        here = sorted((row for row in rows if row["environment"] == name), key=lambda row: float(row["regret"]))
        blocks: list[Any] = [Text(f"{comparison.lead(name)}."), Figure(_ends(here)), Figure(_picture(comparison, name))]
        if min(row["runs"] for row in here) > 1:
            blocks.append(Figure(_picture(comparison, name, "quantiles")))
        blocks.append(_table(here))
        subtracted, gaps = comparison.shown_gaps(name)
        if gaps:
            blocks.append(_differences(subtracted, gaps, comparison.baseline is None))
            compared = True
        sections.append(Section(name, tuple(blocks)))
        tiles.append(Tile(number(here[0]["regret"]), f"{name}: smallest mean regret ({here[0]['learner']})"))
    lead = (
        f"{_headline(comparison)}. {len(comparison.learners)} learners in {len(comparison.environments)} environments. "
        "In each run all learners receive the same losses. Intervals are 95% t intervals over the runs, not adjusted "
        "for multiple comparisons, and approximate: rare large regrets make them too narrow, so the largest run is "
        "listed too. The lead beyond noise is the smallest distance in simultaneous intervals of all pairs."
    )
    head: tuple[Any, ...] = (Tiles(tuple(tiles)),)
    if not compared:
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


def _picture(comparison: Compared, name: str, show: Shows = "mean") -> Picture:
    rows = []
    for cell in comparison.among(name):
        value, low, high = curve(cell, show)
        for t, middle, a, b in zip(cell.at, value, low, high, strict=True):
            rows.append(
                {"learner": cell.learner, "round": int(t), "regret": float(middle), "low": float(a), "high": float(b)}
            )
    layers = (
        Layer("band", tuple(rows), x="round", series="learner"),
        Layer("line", tuple(rows), x="round", y="regret", series="learner"),
    )
    ends = ", ".join(f"{cell.learner} {figure(curve(cell, show)[0][-1])}" for cell in comparison.among(name))
    what = "Mean regret" if show == "mean" else "Median regret, and 5% to 95% quantile over the runs"
    return Picture(
        f"{what}, {name}", "round", "regret", layers, alt=f"{what} at the end: {ends}.", height=320,
        dashed=True, known=tuple(comparison.learners),
    )  # fmt: skip


def _table(rows: list[dict[str, Any]]) -> Table:
    heads = (
        "learner",
        "regret",
        "low",
        "high",
        "median",
        "95% quantile",
        "largest run",
        ON_THE_MEAN,
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


def _differences(subtracted: str, rows: list[dict[str, Any]], together: bool) -> Table:
    cells = tuple((row["learner"], row["difference"], row["low"], row["high"], row["better"]) for row in rows)
    kind = f" ({SIMULTANEOUS})" if together else ""
    caption = f"Regret minus regret of {subtracted}{kind}; negative is better. “baseline” means {subtracted}"
    return Table(("learner", "difference", "low", "high", "better"), cells, caption=caption)
