"""Loss of combinations after a new model appears: python benchmarks/newcomers.py FOLDER [RULE ...]

The folder holds files `NAME_hH.npz` with `F` (rolling forecasts, one column per model), `y` (targets), `good` (the
columns to use) and `h` (horizon). Names that begin with P use all columns. Each file is a game with squared loss and a
game with absolute loss. The newcomer is the median column moved by a share of mean |y|, or the best column.

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
#: Newcomer: distance from the median column in shares of mean |y|, or None for the best column; and its first row.
CASES = [(off, first) for off in (0.001, 0.05, 0.3, None) for first in (0.1, 0.5, 0.9)]


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


def with_newcomer(forecasts: Any, targets: Any, loss: str, off: float | None, first: int) -> tuple[Any, Any]:
    """(all columns with the newcomer last, the old columns)."""
    order = np.argsort(LOSSES[loss](forecasts - targets[:, None]).mean(axis=0))
    if off is None:
        old, column = np.delete(forecasts, order[0], axis=1), forecasts[:, order[0]].copy()
    else:
        old, column = forecasts, forecasts[:, order[len(order) // 2]] + off * np.abs(targets).mean()
    column[:first] = np.nan
    return np.column_stack([old, column]), old


def combined(forecasts: Any, targets: Any, loss: str, horizon: int, rule: str) -> Any:
    table = {str(i): column for i, column in enumerate(forecasts.T)} | {"y": targets}
    return hn.combine(table, "y", loss, learner=rule, horizon=horizon).forecast


def geometric(ratios: list[tuple[str, float]]) -> float:
    """Geometric mean over the series of the geometric mean within each."""
    each = [np.mean([np.log(r) for name, r in ratios if name == series]) for series in {name for name, _ in ratios}]
    return float(np.exp(np.mean(each)))


def main() -> None:
    folder, rules = Path(sys.argv[1]), sys.argv[2:] or RULES
    field = list(games(folder))
    print(f"{len(field)} games; loss / loss of the mean of the old columns, with / without the newcomer, worst game")
    without: dict[tuple[int, str, bool], Any] = {}
    for off, share in CASES:
        for rule in rules:
            to_mean, to_own = [], []
            for k, (series, loss, forecasts, targets, horizon) in enumerate(field):
                first = int(share * len(targets))
                everything, old = with_newcomer(forecasts, targets, loss, off, first)
                for name in (rule, "mean"):
                    if (k, name, off is None) not in without:
                        without[k, name, off is None] = combined(old, targets, loss, horizon, name)
                with_it = combined(everything, targets, loss, horizon, rule)
                answers = (with_it, without[k, rule, off is None], without[k, "mean", off is None])
                own, alone, mean = (LOSSES[loss](x - targets)[first:].mean() for x in answers)
                to_mean.append((series, own / mean))
                to_own.append((series, own / alone))
            what = "best column" if off is None else f"{100 * off:g}% off"
            worst = max(ratio for _, ratio in to_own)
            ratios = f"{geometric(to_mean):.3f}  {geometric(to_own):.3f}  {worst:.2f}"
            print(f"{what} at {share:.0%}  {rule:16} {ratios}", flush=True)


if __name__ == "__main__":
    main()
