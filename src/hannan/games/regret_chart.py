"""The picture of records: mean regret with its interval, and the bound, drawn where the curve can still be seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hannan.saving.words import apart, ceiling

#: A bound that is more than so many times the largest regret would press the curves to the floor.
ROOM = 2.5


def regret_chart(records: Sequence[Any], log: bool = False, level: float = 0.95) -> Any:
    """An Altair chart of records, a colour each; the band is the t interval at `level`, the dashes are the bound."""
    from hannan.report.offline import altair, offline
    from hannan.report.pictures import PALETTE

    alt = altair()
    if len(records) > len(PALETTE):
        raise ValueError(
            f"a chart takes at most {len(PALETTE)} records, so that their colours differ; got {len(records)}"
        )
    names = apart([record.learner for record in records])
    top = max(float(np.max(record.mean_regret)) for record in records)
    scale = alt.Scale(type="log") if log else alt.Scale()
    layers: list[Any] = []
    for record, name, colour in zip(records, names, PALETTE, strict=False):
        shade: dict[str, Any] = {}
        if len(records) > 1:
            known = alt.Scale(domain=names, range=list(PALETTE[: len(names)]))
            shade = {
                "color": alt.Color(
                    "record:N", scale=known, title="learner", legend=alt.Legend(labelLimit=500, symbolOpacity=1.0)
                )
            }
        layers += _curve(alt, record, name, scale, shade, log, level)
        if _drawn(record, log, top):
            layers += _bound(alt, record, scale, colour if len(records) > 1 else "gray")
    runs = {record.runs for record in records}
    told = f"mean of {min(runs)} runs, {level:.0%} t interval" if runs != {1} else "one run"
    if len(runs) > 1:
        told = f"means of {min(runs)} to {max(runs)} runs, {level:.0%} t intervals"
    lines = [told, *_told(records, names, [_drawn(record, log, top) for record in records])]
    title = names[0] if len(records) == 1 else "regret"
    return offline(alt.layer(*layers).properties(title=alt.Title(title, subtitle=lines), width=460, height=300))


def _drawn(record: Any, log: bool, top: float) -> bool:
    """Whether the bound is drawn, and not only told."""
    return record.bound is not None and (log or float(max(record.bound_curve()[1])) <= ROOM * top)


def _told(records: Sequence[Any], names: list[str], drawn: list[bool]) -> list[str]:
    """What is to be said of the bounds, a line each."""
    lines = []
    whom = sorted({r.bound.against for r, seen in zip(records, drawn, strict=True) if seen})
    if whom:
        lines.append(f"dashed: bound against {' or '.join(whom)} losses, before the best loss is known")
    for record, name, seen in zip(records, names, drawn, strict=True):
        whose = f"{name}: " if len(records) > 1 else ""
        if record.bound is None:
            lines.append(f"{whose}no bound")
        elif not seen:
            lines.append(f"{whose}bound {ceiling(record.bound.value)}, against {record.bound.against} losses")
    return lines


def _curve(alt: Any, record: Any, name: str, scale: Any, shade: Any, log: bool, level: float) -> list[Any]:
    mean = record.mean_regret
    low, high = record.interval(level) if record.runs > 1 else (mean, mean)
    kept = (low > 0.0) & (mean > 0.0) if log else np.ones(len(mean), dtype=bool)
    rows = [
        {"round": int(t), "regret": float(m), "low": float(a), "high": float(b), "record": name}
        for t, m, a, b in zip(record.checkpoints[kept], mean[kept], low[kept], high[kept], strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("round:Q", scale=scale, title="round"), **shade)
    line = base.mark_line().encode(y=alt.Y("regret:Q", scale=scale, title="regret"))
    if record.runs == 1:
        return [line]
    return [base.mark_area(opacity=0.25).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"), line]


def _bound(alt: Any, record: Any, scale: Any, colour: str) -> list[Any]:
    rounds, values = record.bound_curve()
    if len(rounds) > 1:
        told = [{"round": int(t), "bound": float(v)} for t, v in zip(rounds, values, strict=True)]
        line = alt.Chart(alt.Data(values=told)).mark_line(strokeDash=[6, 3], color=colour)
        return [line.encode(x=alt.X("round:Q", scale=scale), y=alt.Y("bound:Q", scale=scale))]
    if len(rounds) == 1:
        rule = alt.Chart(alt.Data(values=[{"bound": float(values[0])}])).mark_rule(strokeDash=[6, 3], color=colour)
        return [rule.encode(y=alt.Y("bound:Q", scale=scale))]
    return []
