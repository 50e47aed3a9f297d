"""Loss of combinations after a new model appears: python benchmarks/newcomers.py FOLDER [RULE ...]

The folder holds files `NAME_hH.npz` with `F` (rolling forecasts, one column per model), `y` (targets), `good` (the
columns to use) and `h` (horizon). Names that begin with P use all columns. Each file is a game with squared loss and a
game with absolute loss. The newcomer is the median column moved by a share of mean |y|, or the best column. In two more
cases half of the columns appear in the middle, and all columns but one are missing in random stretches.

Printed per rule, for the rows from the first row of the newcomer on: the loss divided by that of the mean of the old
columns and divided by that of the same rule without the newcomer, as geometric means over the series, and the largest
ratio of the second kind.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hannan as hn

RULES = ("two-layers", "b", "boa", "ml-poly", "adahedge:slopes", "mean")
LOSSES = {"squared": np.square, "absolute": np.abs}
#: Newcomer, and its first row as a share of the rows.
CASES = [(kind, first) for kind in ("0.1% off", "5% off", "30% off", "best column") for first in (0.1, 0.5, 0.9)]
CASES += [("half of the columns", 0.5), ("on and off", 0.0)]


def games(folder: Path) -> Iterator[tuple[str, str, Any, Any, int]]:
    """Yield (series, loss, forecasts, targets, horizon)."""
    for path in sorted(folder.glob("*.npz")):
        data = np.load(path, allow_pickle=True)
        forecasts, good = data["F"].astype(float), data["good"]
        if path.name[0] != "P":
            forecasts = forecasts[:, np.flatnonzero(good) if good.dtype == bool else good.astype(int)]
        if forecasts.shape[1] >= 3:
            for loss in LOSSES:
                yield path.stem.rsplit("_h", 1)[0], loss, forecasts, data["y"].astype(float), int(data["h"])


def with_newcomer(forecasts: Any, targets: Any, loss: str, kind: str, first: int) -> tuple[Any, Any]:
    """Return (columns with the newcomers, columns without them)."""
    order, rows = np.argsort(LOSSES[loss](forecasts - targets[:, None]).mean(axis=0)), len(targets)
    median = order[len(order) // 2]
    if kind == "half of the columns":
        late = np.arange(forecasts.shape[1]) % 2 == 1
        return np.where(late & (np.arange(rows) < first)[:, None], np.nan, forecasts), forecasts[:, ~late]
    if kind == "on and off":
        block = np.arange(rows) // max(1, rows // 20)
        missing = (np.random.default_rng(1).random((block[-1] + 1, forecasts.shape[1])) < 0.3)[block]
        missing[:, median] = False
        return np.where(missing, np.nan, forecasts), forecasts
    if kind == "best column":
        old, column = np.delete(forecasts, order[0], axis=1), forecasts[:, order[0]].copy()
    else:
        off = float(kind.split("%")[0]) / 100.0
        old, column = forecasts, forecasts[:, median] + off * np.abs(targets).mean()
    column[:first] = np.nan
    return np.column_stack([old, column]), old


def combined(forecasts: Any, targets: Any, loss: str, horizon: int, rule: str) -> Any:
    table = {str(i): column for i, column in enumerate(forecasts.T)} | {"y": targets}
    return hn.combine(table, "y", loss, learner=rule, horizon=horizon).forecast


def geometric(ratios: list[tuple[str, float]]) -> float:
    """Geometric mean, over the series, of the geometric mean within each series."""
    each = [np.mean([np.log(r) for name, r in ratios if name == series]) for series in {name for name, _ in ratios}]
    return float(np.exp(np.mean(each)))


def main() -> None:
    folder, rules = Path(sys.argv[1]), sys.argv[2:] or RULES
    field = list(games(folder))
    print(f"{len(field)} games; loss / loss of the mean of the old columns, with / without the newcomer, worst game")
    for kind, share in CASES:
        for rule in rules:
            to_mean, to_own = [], []
            for series, loss, forecasts, targets, horizon in field:
                first = int(share * len(targets))
                everything, old = with_newcomer(forecasts, targets, loss, kind, first)
                played = (everything, rule), (old, rule), (old, "mean")
                answers = [combined(columns, targets, loss, horizon, name) for columns, name in played]
                own, alone, mean = (LOSSES[loss](x - targets)[first:].mean() for x in answers)
                to_mean.append((series, own / mean))
                to_own.append((series, own / alone))
            ratios = f"{geometric(to_mean):.3f}  {geometric(to_own):.3f}  {max(ratio for _, ratio in to_own):.2f}"
            print(f"{kind} at {share:.0%}  {rule:16} {ratios}", flush=True)


if __name__ == "__main__":
    main()
