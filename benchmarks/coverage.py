"""Winkler score and coverage of certified intervals against ACI and NExCP: python benchmarks/coverage.py FOLDER

The folder holds files `NAME_hH.npz` with `F` (rolling forecasts, one column per model), `y` (targets), `good` (the
columns to use) and `h` (horizon: the target of row t is known before row t + h is answered). Names that begin with P
use all columns.

All methods get the same point forecasts, those of `hn.combine`, and the same late targets. The first min(200, n/3) rows
are for calibration, and at most 1,500 rows per file are used. Coverage 0.9. An infinite interval is scored with the
largest finite width so far. ACI is that of MAPIE if MAPIE is installed, otherwise Gibbs and Candes (2021) on the last
500 absolute residuals, gamma 0.005. NExCP is Barber, Candes, Ramdas and Tibshirani (2023) with weights 0.99^age.

Printed per file: Winkler score of the certified intervals divided by the better of the two, and the coverage of each;
then the geometric mean over the series, the share of files that are better, errors of the coverage, and the time per
row relative to combining the points only.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import hannan as hn

ROWS, CALIBRATION, WINDOW, LEVEL = 1500, 200, 500, 0.9
GAMMA, DECAY = 0.005, 0.99


def load(path: Path) -> tuple[Any, Any, int]:
    """Return (forecasts, targets, horizon) of a file."""
    data = np.load(path, allow_pickle=True)
    forecasts, good = data["F"].astype(float), data["good"]
    if path.name[0] != "P":
        forecasts = forecasts[:, np.flatnonzero(good) if good.dtype == bool else good.astype(int)]
    return forecasts[:ROWS], data["y"].astype(float)[:ROWS], int(data["h"])


def table_of(forecasts: Any, targets: Any) -> dict[str, Any]:
    """Return forecasts and targets as a table."""
    return {**{f"model{i}": column for i, column in enumerate(forecasts.T)}, "y": targets}


def aci(points: Any, targets: Any, horizon: int, first: int) -> Any:
    """Adaptive conformal inference on absolute residuals."""
    out = np.full((len(targets), 2), np.nan)
    alpha = 1.0 - LEVEL
    errors = np.abs(targets - points)
    for t in range(first, len(targets)):
        known = t - horizon + 1
        if known > first:  # the row known - 1 has just been settled
            low, high = out[known - 1]
            missed = not low <= targets[known - 1] <= high
            alpha = min(1.0, max(0.0, alpha + GAMMA * (1.0 - LEVEL - missed)))
        past = np.sort(errors[max(0, known - WINDOW) : known])
        rank = math.ceil((1.0 - alpha) * (len(past) + 1))
        reach = math.inf if rank > len(past) else past[max(rank, 1) - 1]
        out[t] = points[t] - reach, points[t] + reach
    return out


def aci_of_mapie(points: Any, targets: Any, horizon: int, first: int) -> Any:
    """Adaptive conformal inference by MAPIE, whose model returns the point forecast."""
    from mapie.regression import TimeSeriesRegressor
    from mapie.subsample import BlockBootstrap
    from sklearn.base import BaseEstimator, RegressorMixin

    class Point(RegressorMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            self.fitted_ = True
            return self

        def predict(self, X: Any) -> Any:
            return np.asarray(X)[:, 0]

    X, out = points[:, None], np.full((len(targets), 2), np.nan)
    cv = BlockBootstrap(n_resamplings=5, length=max(2, first // 10), overlapping=True, random_state=0)
    model = TimeSeriesRegressor(Point(), method="aci", cv=cv, agg_function="mean", n_jobs=1)
    start = max(2, first - horizon + 1)
    model.fit(X[:start], targets[:start])
    for t in range(first, len(targets)):
        done = t - horizon
        if done >= start:
            row = slice(done, done + 1)
            if done >= first:
                model.adapt_conformal_inference(X[row], targets[row], gamma=GAMMA, confidence_level=LEVEL)
            model.update(X[row], targets[row])
        told = model.predict(X[t : t + 1], confidence_level=LEVEL, allow_infinite_bounds=True)[1]
        out[t] = told[0, 0, 0], told[0, 1, 0]
    return out


def nexcp(points: Any, targets: Any, horizon: int, first: int) -> Any:
    """Weighted quantiles of absolute residuals; the next residual has weight 1 and is infinite."""
    out = np.full((len(targets), 2), np.nan)
    errors = np.abs(targets - points)
    for t in range(first, len(targets)):
        past = errors[: t - horizon + 1]
        weights = DECAY ** np.arange(len(past), 0, -1)
        order = np.argsort(past)
        mass = np.cumsum(weights[order]) / (weights.sum() + 1.0)
        at = int(np.searchsorted(mass, LEVEL))
        reach = math.inf if at == len(past) else past[order[at]]
        out[t] = points[t] - reach, points[t] + reach
    return out


def scored(ends: Any, targets: Any, rows: Any) -> tuple[float, float]:
    """Return (mean Winkler score, coverage) of some rows."""
    largest, total, inside = 0.0, [], []
    for (low, high), y in zip(ends[rows], targets[rows], strict=True):
        inside.append(low <= y <= high)
        if not math.isfinite(high - low):
            total.append(largest)
            continue
        largest = max(largest, high - low)
        total.append(high - low + 2.0 / (1.0 - LEVEL) * (max(low - y, 0.0) + max(y - high, 0.0)))
    return float(np.mean(total)), float(np.mean(inside))


def main(folder: Path) -> None:
    """Print the table."""
    try:
        import mapie  # noqa: F401

        adaptive, named = aci_of_mapie, "ACI of MAPIE"
    except ImportError:
        adaptive, named = aci, "ACI"
    ratios, errors, longer = (defaultdict(list) for _ in range(3))
    better: list[list[bool]] = []
    spent, recounts = [0.0, 0.0, 0], 0
    for path in sorted(folder.glob("*.npz")):
        forecasts, targets, horizon = load(path)
        first = max(min(CALIBRATION, len(targets) // 3), horizon + 1)
        table, begun = table_of(forecasts, targets), time.process_time()
        plain = hn.combine(table, "y", horizon=horizon)
        middle = time.process_time()
        ours = hn.combine(table, "y", horizon=horizon, coverage=LEVEL)
        spent = [spent[0] + middle - begun, spent[1] + time.process_time() - middle, spent[2] + len(targets)]
        ends, one = ours.interval, ours.certificate.groups[0]
        kept = np.isfinite(ends[:, 0])
        count = int(kept.sum()), int((targets < ends[:, 0])[kept].sum()), int((targets > ends[:, 1])[kept].sum())
        recounts += count == (one.rows, one.below[0], one.above[0])
        rows = slice(first, len(targets))
        peers = [scored(rule(plain.forecast, targets, horizon, first), targets, rows) for rule in (adaptive, nexcp)]
        own = scored(ends, targets, rows)
        # A peer without any finite interval has the score 0 and is left out.
        each = [own[0] / score if score > 0.0 else math.nan for score, _ in peers]
        ratio = float(np.nanmax(each))
        ratios[path.stem.rsplit("_h", 1)[0]].append(np.log([ratio, *each]))
        better.append([ratio < 1.0, *(one < 1.0 for one in each)])
        for name, (_, coverage) in zip(("certified", named, "NExCP"), (own, *peers), strict=True):
            errors[name].append(abs(coverage - LEVEL))
            if len(targets) >= 1000:
                longer[name].append(abs(coverage - LEVEL))
        shown = "  ".join(f"{coverage:.3f}" for _, coverage in (own, *peers))
        print(f"{path.stem:28} {len(targets):5} rows  {ratio:6.3f}  coverage {shown}", flush=True)
    means = np.exp(np.nanmean([np.nanmean(each, axis=0) for each in ratios.values()], axis=0))
    for name, mean in zip((f"better of {named} and NExCP per file", named, "NExCP"), means, strict=True):
        print(f"Winkler score / {name}: {mean:.4f} (geometric mean over {len(ratios)} series)")
    shares = np.mean(better, axis=0)
    print(f"better on {shares[1]:.0%} ({named}), {shares[2]:.0%} (NExCP) and {shares[0]:.0%} (both) of {len(better)} "
          f"files; counts equal the recount on {recounts}")  # fmt: skip
    for name, each in errors.items():
        print(
            f"mean error of the coverage, {name}: {np.mean(each):.4f}; 1,000 rows or more: {np.mean(longer[name]):.4f}"
        )
    print(f"points with intervals: {spent[1] / spent[0]:.1f} times the CPU time of points only, "
          f"{1e6 * (spent[1] - spent[0]) / spent[2]:.1f} us more per row")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
