"""The picture of a record: mean regret, its interval and the bound over the rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hannan.games.regret_chart import ROOM
from hannan.report.pictures import Layer, Picture
from hannan.saving.words import ceiling, figure

if TYPE_CHECKING:
    from hannan.games.record import Record


def regret_picture(record: Record, title: str, points: int = 60) -> Picture:
    """Return the picture of the mean regret with its 95% t interval (approximate), and the bound as a dashed line."""
    mean = record.mean_regret
    low, high = record.interval(0.95) if record.runs > 1 else (mean, mean)
    at = record.checkpoints
    chosen = np.unique(np.linspace(0, len(at) - 1, points).astype(int))
    rows = tuple(
        {"round": int(at[i]), "regret": float(mean[i]), "low": float(low[i]), "high": float(high[i])} for i in chosen
    )
    layers = [Layer("band", rows, x="round")] if record.runs > 1 else []
    layers.append(Layer("line", rows, x="round", y="regret"))
    rounds, values = record.bound_curve(30)
    if len(values) and float(max(values)) > ROOM * float(np.max(mean)):
        rounds, values = rounds[:0], values[:0]  # told in words: drawn it would press the curve to the floor
    bound = tuple({"round": int(t), "bound": float(v)} for t, v in zip(rounds, values, strict=True))
    if len(bound) > 1:
        layers.append(Layer("bound", bound, x="round", y="bound"))
    elif bound:
        layers.append(Layer("rule", ({"y": bound[0]["bound"], "label": f"bound {ceiling(bound[0]['bound'])}"},)))
    runs = f"mean of {record.runs} runs" if record.runs > 1 else "one run"
    end = f"The regret after {record.rounds} rounds is {figure(mean[-1])} ({runs})"
    alt = f"{end}; no bound is proved."
    if record.bound is not None:
        of_whom = f", against {record.bound.against} losses"
        alt = f"{end}; the bound is {ceiling(record.bound.value)}{of_whom}."
        if len(values) > 1 and values[-1] > 1.001 * record.bound.value:
            # The curve cannot know the best loss of each t.
            alt = f"{end}; the bound is {ceiling(record.bound.value)}{of_whom}, dashed before the best loss is known."
    return Picture(title, "round", "regret", tuple(layers), alt=alt, height=320)
