"""The picture of a record: mean regret with its interval, and the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hannan.record import Record


def regret_chart(record: Record, log: bool = False, level: float = 0.95) -> Any:
    """An Altair chart of a record; the band is the t interval at `level`."""
    try:
        import altair as alt
    except ImportError:
        raise ModuleNotFoundError("plot needs altair: pip install 'hannan[report]'") from None
    scale = alt.Scale(type="log") if log else alt.Scale()
    mean = record.mean_regret
    low, high = record.interval(level) if record.runs > 1 else (mean, mean)
    kept = (low > 0.0) & (mean > 0.0) if log else np.ones(len(mean), dtype=bool)
    rows = [
        {"round": int(t), "regret": float(m), "low": float(a), "high": float(b)}
        for t, m, a, b in zip(record.checkpoints[kept], mean[kept], low[kept], high[kept], strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("round:Q", scale=scale, title="round"))
    layers = [base.mark_line().encode(y=alt.Y("regret:Q", scale=scale, title="regret"))]
    if record.runs > 1:
        band = base.mark_area(opacity=0.25).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
        layers.insert(0, band)
    rounds, values = record.bound_curve()
    if len(rounds) > 1:
        told = [{"round": int(t), "bound": float(v)} for t, v in zip(rounds, values, strict=True)]
        line = alt.Chart(alt.Data(values=told)).mark_line(strokeDash=[6, 3], color="gray")
        layers.append(line.encode(x=alt.X("round:Q", scale=scale), y=alt.Y("bound:Q", scale=scale)))
    elif len(rounds) == 1:
        rule = alt.Chart(alt.Data(values=[{"bound": float(values[0])}])).mark_rule(strokeDash=[6, 3], color="gray")
        layers.append(rule.encode(y=alt.Y("bound:Q", scale=scale)))
    runs = f"mean of {record.runs} runs, {level:.0%} t interval" if record.runs > 1 else "one run"
    return alt.layer(*layers).properties(
        title=alt.Title(record.learner, subtitle=f"{runs}; dashed: bound, before the best loss is known")
    )
