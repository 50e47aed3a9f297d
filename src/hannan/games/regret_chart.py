"""The picture of records: mean regret with its interval, and the bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def regret_chart(records: Sequence[Any], log: bool = False, level: float = 0.95) -> Any:
    """An Altair chart of records, a colour each; the band is the t interval at `level`, the dashes are the bound."""
    try:
        import altair as alt
    except ImportError:
        raise ModuleNotFoundError("plot needs altair: pip install 'hannan[report]'") from None
    from hannan.report.pictures import PALETTE

    if len(records) > len(PALETTE):
        raise ValueError(
            f"a chart takes at most {len(PALETTE)} records, so that their colours differ; got {len(records)}"
        )
    names = _names(records)
    scale = alt.Scale(type="log") if log else alt.Scale()
    layers: list[Any] = []
    for record, name, colour in zip(records, names, PALETTE, strict=False):
        shade: dict[str, Any] = {}
        if len(records) > 1:
            known = alt.Scale(domain=names, range=list(PALETTE[: len(names)]))
            shade = {"color": alt.Color("record:N", scale=known, title="learner", legend=alt.Legend(labelLimit=500))}
        layers += _curve(alt, record, name, scale, shade, log, level)
        layers += _bound(alt, record, scale, colour if len(records) > 1 else "gray")
    runs = {record.runs for record in records}
    told = f"mean of {min(runs)} runs, {level:.0%} t interval" if runs != {1} else "one run"
    if len(runs) > 1:
        told = f"means of {min(runs)} to {max(runs)} runs, {level:.0%} t intervals"
    whom = sorted({record.bound.against for record in records if record.bound is not None})
    dashed = f"dashed: bound against {' or '.join(whom)} losses, before the best loss is known" if whom else "no bound"
    title = names[0] if len(records) == 1 else "regret"
    return alt.layer(*layers).properties(title=alt.Title(title, subtitle=f"{told}; {dashed}"))


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


def _names(records: Sequence[Any]) -> list[str]:
    """The learners; those that come twice are numbered."""
    told = [record.learner for record in records]
    return [name if told.count(name) == 1 else f"{name} ({told[: k + 1].count(name)})" for k, name in enumerate(told)]
