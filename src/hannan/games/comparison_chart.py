"""The picture of a comparison: small multiples by environment, bands over the runs, bounds as numbers or dashed."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import refusals
from hannan.games.cells import Cell, bands
from hannan.games.compared import Compared
from hannan.saving.words import ceiling

#: More learners than colours share them, with other dashes.
_DASHES = ([1, 0], [6, 2], [2, 2])


def chart(comparison: Compared, log: bool = False, level: float = 0.95, columns: int = 2) -> Any:
    """An Altair chart; see `Compared.plot`."""
    from hannan.report.offline import altair, offline
    from hannan.report.pictures import PALETTE

    alt = altair()
    if not isinstance(log, bool):
        raise ValueError(f"log must be True or False; got {log!r}")
    level = refusals.between(level, 0.0, 1.0, "level", "()")
    columns = refusals.count(columns, "columns")
    names = comparison.learners
    if len(names) > len(PALETTE) * len(_DASHES):
        raise ValueError(f"a chart takes at most {len(PALETTE) * len(_DASHES)} learners; got {len(names)}")
    shades = alt.Scale(domain=names, range=[PALETTE[i % len(PALETTE)] for i in range(len(names))])
    dashes = alt.Scale(domain=names, range=[list(_DASHES[i // len(PALETTE)]) for i in range(len(names))])
    legend = alt.Legend(labelLimit=400, symbolOpacity=1.0)
    style = {
        "color": alt.Color("learner:N", scale=shades, sort=names, title=None, legend=legend),
        "strokeDash": alt.StrokeDash("learner:N", scale=dashes, sort=names, title=None),
    }
    pictures = [_small(alt, comparison, name, log, level, style) for name in comparison.environments]
    runs = {cell.runs for cell in comparison.cells}
    told = f"mean of {min(runs)} runs, band: {level:.0%} t interval, approximate" if runs != {1} else "one run"
    return offline(
        alt.concat(*pictures, columns=min(columns, len(pictures)))
        .properties(title=alt.Title("Regret", subtitle=told))
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
    subtitle = ["dashed: the bounds; regret where its band is above 0"] if log else _numbers(cells)
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
    """The bounds in words, two a line."""
    told = [f"{cell.learner} {ceiling(cell.last_bound)}" for cell in cells if cell.last_bound is not None]
    if not told:
        return ["no bound holds here"]
    told[0] = f"bounds: {told[0]}"
    return [", ".join(told[k : k + 3]) for k in range(0, len(told), 3)]
