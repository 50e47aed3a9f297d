"""`hn.combine` compared with river's EWARegressor on the same rows, and at a million rows: medians of CPU time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hannan as hn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import real_data


def river_ewa(forecasts: Any, targets: Any, names: list[str]) -> tuple[float, Any]:
    """Return (seconds, predictions) of EWARegressor over models that read one column each, as usual with river."""
    from river import base, ensemble

    class Column(base.Regressor):
        def __init__(self, name: str) -> None:
            self.name = name

        def predict_one(self, x: dict[str, float]) -> float:
            return x[self.name]

        def learn_one(self, x: dict[str, float], y: float) -> None:
            return None

    rows = [dict(zip(names, row, strict=True)) for row in forecasts.tolist()]
    model = ensemble.EWARegressor([Column(name) for name in names])
    predictions = np.empty(len(rows))
    began = time.process_time()
    for t, (x, y) in enumerate(zip(rows, targets.tolist(), strict=True)):
        predictions[t] = model.predict_one(x)
        model.learn_one(x, y)
    return time.process_time() - began, predictions


def _seconds(call: Callable[[], Any], calls: int = 10) -> float:
    """Return the median time of several consecutive calls, because a single call is too short to measure."""
    spent = []
    for _ in range(calls):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return float(np.median(spent))


def against_river(repeats: int = 5, rows: int = 17_184) -> dict[str, float]:
    """Squared loss and time on electricity demand."""
    table = real_data.electricity()
    names = [name for name in table if name.startswith("lag")]
    forecasts = np.column_stack([table[name] for name in names])[:rows]
    targets = table["y"][:rows]
    frame = {name: forecasts[:, i] for i, name in enumerate(names)} | {"y": targets}
    stated: dict[str, Any] = {"loss_range": (0.0, float(np.square(forecasts - targets[:, None]).max()))}
    ours, ranged, theirs = [], [], []
    for _ in range(repeats):
        ours.append(_seconds(lambda: hn.combine(frame, "y", "squared")))
        ranged.append(_seconds(lambda: hn.combine(frame, "y", "squared", **stated)))
        seconds, predictions = river_ewa(forecasts, targets, names)
        theirs.append(seconds)
    told = hn.combine(frame, "y", "squared").forecast
    return {
        "hannan loss": float(np.square(told - targets).sum()),
        "river loss": float(np.square(predictions - targets).sum()),
        "best expert": float(np.square(forecasts - targets[:, None]).sum(axis=0).min()),
        "hannan us a row": 1e6 * float(np.median(ours)) / rows,
        "hannan us a row, range stated": 1e6 * float(np.median(ranged)) / rows,
        "river us a row": 1e6 * float(np.median(theirs)) / rows,
        "river / hannan": float(np.median(theirs)) / float(np.median(ours)),
        "river / hannan, range stated": float(np.median(theirs)) / float(np.median(ranged)),
    }


def million(rows: int = 1_000_000, experts: int = 10) -> dict[str, float]:
    """Seconds for a million rows with each kind of learner, including the weights of every row."""
    rng = np.random.default_rng(0)
    forecasts = rng.random((rows, experts))
    targets = 0.5 * forecasts[:, 3] + 0.5 * rng.random(rows)
    from hannan.tables.combine.run import Run, Task
    from hannan.tables.combine.timing import Chunk

    names = tuple(str(i) for i in range(experts))
    out = {}
    for learner in (None, hn.AdaHedge(experts), hn.Experts(experts), hn.Experts(experts, hn.Entropy())):
        task = Task(names, learner=learner)
        Run(task).take(Chunk(forecasts[:100], targets[:100]))
        began = time.process_time()
        run = Run(task)
        for first in range(0, rows, 50_000):
            part = slice(first, first + 50_000)
            run.take(Chunk(forecasts[part], targets[part], first=first + 1))
        out[f"{rows:,} rows, {run.combiner.learner!r}: seconds"] = time.process_time() - began
    return out


def panel(series: int = 10_000, rows: int = 100, experts: int = 10) -> dict[str, float]:
    """Many series, Parquet to Parquet with the weights of each series and a page: the whole command."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    y = rng.normal(size=(series, rows)).cumsum(axis=1)
    days = np.datetime64("2024-01-01", "us") + np.arange(rows).astype("timedelta64[D]")
    table = {"unique_id": np.repeat([f"series-{i}" for i in range(series)], rows), "ds": np.tile(days, series)}
    table["y"] = y.ravel()
    for k in range(experts):
        noise = rng.normal(size=(series, rows)) * (0.5 + k / 5) + rng.normal(size=(series, 1))
        table[f"m{k}"] = (y + noise).ravel()
    with tempfile.TemporaryDirectory() as folder:
        parquet.write_table(pyarrow.table(table), f"{folder}/panel.parquet")
        command = [sys.executable, "-c", "from hannan.cli import main; main()", "combine", f"{folder}/panel.parquet"]
        command += ["--target", "y", "--by", "unique_id", "--out", f"{folder}/out"]
        before, began = os.times(), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall, after = time.perf_counter() - began, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    what = f"{series:,} series x {rows} rows x {experts} models, Parquet to Parquet and a page"
    return {f"{what}: seconds": wall, f"{what}: CPU seconds": spent}


def quantiles(rows: int = 20_000, models: int = 10) -> dict[str, float]:
    """CPU time of a row of quantiles, compared with a row of points with as many models, in the engine alone."""
    from hannan.learners.adahedge import Rule
    from hannan.tables.combine.losses import Absolute
    from hannan.tables.combine.quantiles import QuantileLoss
    from hannan.tables.combine.rules import ByRule

    rng, out = np.random.default_rng(0), {}
    targets = rng.normal(size=rows)
    for depth in (0, 9, 99):
        loss = QuantileLoss(tuple((k + 1) / (depth + 1) for k in range(depth))) if depth else Absolute()
        width = max(depth, 1)
        spread = np.linspace(-2.0, 2.0, width)[None, :, None] if depth else 0.0
        table = targets[:, None, None] + rng.normal(size=(rows, 1, models)) + spread
        flat = np.ascontiguousarray(np.broadcast_to(table, (rows, width, models)).reshape(rows, -1))
        mixed = np.empty((rows, depth) if depth else rows)
        mixer = ByRule(Rule(), models, loss)
        began = time.process_time()
        mixer.rows(flat, targets, mixed, None)
        out[f"{models} models, {depth or 'no'} levels: us a row"] = 1e6 * (time.process_time() - began) / rows
    return out


def run(quick: bool = False) -> str:
    """The table of `make bench`."""
    told = {**against_river(2 if quick else 5), **million(100_000 if quick else 1_000_000)}
    told |= {**panel(1_000 if quick else 10_000), **quantiles(2_000 if quick else 20_000)}
    rows = [f"| {name.replace('|', '/')} | {value:.4g} |" for name, value in told.items()]
    return "\n".join(
        ["CPU time; electricity demand, 17,184 rows of nine forecasts.", "", "| what | value |", "|---|---|", *rows]
    )


if __name__ == "__main__":
    print(run())
