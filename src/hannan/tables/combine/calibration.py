"""Calibration of quantiles: CRPS on their levels, and coverage and width of each central interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.report import Figure, Fold, Layer, Picture, Table
from hannan.saving.formatting import counted, figure
from hannan.tables.combine.quantiles import Grid, QuantileLoss
from hannan.tables.read.table import instant
from hannan.tables.write import Name, release
from hannan.validation import Array

BLOCK = 1 << 12
#: Names in the tables before those of the models.
COMBINATION, MEAN = "combination", "average of models"
#: Largest number of intervals that are printed, and the preferred ones.
SHOWN, USUAL = 10, (0.95, 0.8, 0.5, 0.2)


@dataclass(frozen=True)
class Interval:
    """Central interval between two levels, with its coverage and mean width."""

    low: float
    high: float
    coverage: float
    width: float

    @property
    def nominal(self) -> float:
        """Nominal coverage."""
        return self.high - self.low


@dataclass
class Calibration:
    """Sums over settled rows per level: of the combination, the mean and each model (in rows with its forecasts).

    With quantiles in order, low <= y <= high in as many rows as y <= high, less those with y < low.
    """

    levels: tuple[float, ...]
    names: tuple[str, ...]
    rows: Array = field(default_factory=lambda: np.empty(0))
    #: Shape (4, names, levels): rows with y < f, rows with y <= f, sum of f, sum of the pinball losses.
    sums: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if not self.rows.size:
            self.rows, self.sums = np.zeros(len(self.names)), np.zeros((4, len(self.names), len(self.levels)))

    @classmethod
    def of(cls, loss: QuantileLoss, models: Sequence[str]) -> Calibration:
        """Return empty sums."""
        return cls(loss.levels, (COMBINATION, MEAN, *models))

    def add(self, loss: QuantileLoss, answers: Array, forecasts: Array, targets: Array) -> None:
        """Add rows with a target: answers (rows, levels), forecasts (rows, levels x models) level by level."""
        for first in range(0, len(targets), BLOCK):
            part = slice(first, first + BLOCK)
            y, models = targets[part], loss.columns(np.asarray(forecasts[part]))
            awake = ~np.isnan(models[:, :, 0])
            filled = np.where(awake[:, :, None], models, 0.0)
            mean = filled.sum(axis=1) / np.maximum(awake.sum(axis=1), 1)[:, None]
            who = np.concatenate([answers[part][:, None], mean[:, None], filled], axis=1)
            counted = np.concatenate([np.ones((len(y), 2), dtype=bool), awake], axis=1)
            self.rows += counted.sum(axis=0)
            at = y[:, None, None]
            for k, told in enumerate((at < who, at <= who, who, loss.by_level(who, y[:, None]))):
                self.sums[k] += np.where(counted[:, :, None], told, 0.0).sum(axis=0)
            release(forecasts)

    def add_models(self, models: Sequence[str]) -> None:
        """Add models that had no forecast so far."""
        more = len(models)
        self.names = (*self.names, *models)
        self.rows = np.append(self.rows, np.zeros(more))
        self.sums = np.concatenate([self.sums, np.zeros((len(self.sums), more, len(self.levels)))], axis=1)

    def crps(self, who: int = 0) -> float:
        """Return twice the mean pinball loss per row over the levels, an approximation of the CRPS."""
        return float(2.0 * self.sums[3, who].mean() / self.rows[who]) if self.rows[who] else float("nan")

    def pairs(self) -> list[tuple[int, int]]:
        """Return the positions of the levels q and 1 - q, the widest pair first."""
        found = []
        for low, q in enumerate(self.levels):
            high = next((k for k, p in enumerate(self.levels) if abs(p + q - 1.0) < 1e-9), None)
            if high is not None and low < high:
                found.append((low, high))
        return found

    def intervals(self, who: int = 0) -> list[Interval]:
        """Return the central intervals, the widest first."""
        rows, (below, most, total, _) = max(float(self.rows[who]), 1.0), self.sums[:, who]
        return [
            Interval(
                self.levels[a], self.levels[b], float(most[b] - below[a]) / rows, float(total[b] - total[a]) / rows
            )
            for a, b in self.pairs()
        ]

    def best(self) -> int:
        """Return the position of the model with the smallest CRPS; 1, the mean, if there is none."""
        told = [self.crps(k) for k in range(2, len(self.names))]
        return int(np.nanargmin(told)) + 2 if np.isfinite(told).any() else 1

    def lines(self, shown: int = SHOWN) -> list[tuple[str, str]]:
        """Return (name, text) pairs for a terminal."""
        if not self.rows[0]:
            return []
        who = [0, 1, self.best()]
        each = ", ".join(f"{figure(self.crps(k))} {self._called(k)}" for k in who)
        many = counted(len(self.levels), "level")
        rows = [("CRPS", f"{each}; twice the mean pinball loss per row, an approximation on {many}")]
        told = [self.intervals(k) for k in who]
        kept = self.picked(shown)
        for place in kept:
            cells = "; ".join(
                f"{100.0 * told[j][place].coverage:.1f}%, width {figure(told[j][place].width)} {self._called(k)}"
                for j, k in enumerate(who)
            )
            rows.append((f"{figure(100.0 * told[0][place].nominal)}% interval", f"coverage {cells}"))
        if len(kept) < len(told[0]):
            rows.append(("intervals", f"{len(told[0]) - len(kept)} more, in the JSON and on the page"))
        return rows

    def picked(self, most: int) -> list[int]:
        """Return the positions of all pairs, or of those nearest to the usual intervals, the widest first."""
        pairs = self.pairs()
        if len(pairs) <= most:
            return list(range(len(pairs)))
        widths = np.array([self.levels[b] - self.levels[a] for a, b in pairs])
        return sorted({int(np.argmin(abs(widths - usual))) for usual in USUAL[:most]})

    def _called(self, who: int) -> str:
        return f"({self.names[who]})"

    def as_dict(self) -> dict[str, Any]:
        """Return the calibration for JSON."""
        return {
            "levels": list(self.levels),
            "crps_is": "twice the mean pinball loss over these levels, an approximation of the CRPS",
            "who": [self._one(k) for k in range(len(self.names)) if self.rows[k]],
        }

    def _one(self, who: int) -> dict[str, Any]:
        rows, (_, most, _, pinball) = float(self.rows[who]), self.sums[:, who]
        return {
            "name": self.names[who], "rows": int(rows), "crps": self.crps(who),
            "intervals": [{"low": one.low, "high": one.high, "nominal": one.nominal, "coverage": one.coverage,
                           "mean_width": one.width} for one in self.intervals(who)],
            "levels": [{"level": q, "targets_at_or_below": float(most[k]) / rows,
                        "mean_pinball": float(pinball[k]) / rows} for k, q in enumerate(self.levels)],
        }  # fmt: skip


#: Numbers of rows and bands in a picture of the last rows, and of rows to choose from with issue times.
FAN, BANDS, CHOICE = 120, 4, 4096


@dataclass(frozen=True)
class Answered:
    """An answered row: its number, time, issue time, forecast or quantiles, and intervals (coverages, 2)."""

    row: int
    time: str
    issued: str
    forecast: Any
    intervals: Any = None
    #: Combined point forecast, if quantiles and points are combined.
    point: float | None = None


@dataclass(frozen=True)
class Recent:
    """The last rows of a series: times, targets (NaN: unknown), forecasts, bands (name, low, high) and issue times.

    The widest band is first; `issued` is empty without issue times.
    """

    at: tuple[str, ...]
    targets: Array = field(hash=False)
    center: Array = field(hash=False)
    named: str
    bands: tuple[tuple[str, Array, Array], ...] = field(hash=False)
    issued: tuple[str, ...] = ()
    timed: bool = False

    @classmethod
    def of(
        cls, rows: Sequence[Answered], targets: Array, calibration: Calibration | None = None,
        coverages: Sequence[float] = (),
    ) -> Recent | None:  # fmt: skip
        """Return the rows as a picture needs them; None without rows."""
        if not rows:
            return None
        told = np.array([one.forecast for one in rows], dtype=np.float64)
        timed = all(one.time for one in rows)
        bands: list[tuple[str, Array, Array]] = []
        center, named = told, "forecast"
        if calibration is not None:
            levels = np.array(calibration.levels)
            middle = int(np.argmin(abs(levels - 0.5)))
            named = "median" if abs(levels[middle] - 0.5) < 1e-9 else f"quantile {levels[middle]:g}"
            center = told[:, middle]
            kept = [calibration.pairs()[k] for k in calibration.picked(BANDS)]
            bands = [(f"{100.0 * (levels[b] - levels[a]):.4g}%", told[:, a], told[:, b]) for a, b in kept]
            if any(middle in pair for pair in kept):
                center = np.full(len(rows), np.nan)  # no level is in the middle
        points = [one.point for one in rows if one.point is not None]
        if len(points) == len(rows):
            center, named = np.array(points), "forecast"
        if len(coverages):
            pairs = np.array([one.intervals for one in rows], dtype=np.float64)
            bands = [(f"{100.0 * coverages[k]:.4g}%", pairs[:, k, 0], pairs[:, k, 1])
                     for k in range(len(coverages) - 1, -1, -1)]  # fmt: skip
        issued = tuple(one.issued for one in rows) if all(one.issued for one in rows) else ()
        at = tuple(one.time if timed else str(one.row) for one in rows)
        known = np.asarray(targets, dtype=np.float64)
        return cls(at, known, center, named, bands=tuple(bands), issued=issued, timed=timed)

    def windows(self, at: Sequence[Any]) -> list[tuple[str, list[int]]]:
        """Return (name, rows) of groups of connected rows, in order.

        Without issue times there is one group. With issue times, groups are issue times whose target times do not
        overlap, the last ones.
        """
        every = list(range(len(at)))
        groups: dict[str, list[int]] = {}
        for k in every if self.issued else ():
            groups.setdefault(self.issued[k], []).append(k)
        if all(len(rows) == 1 for rows in groups.values()):
            return [("", every[-FAN:])]
        kept: list[tuple[str, list[int]]] = []
        for name, rows in reversed(groups.items()):
            if kept and max(at[k] for k in rows) >= min(at[k] for k in kept[-1][1]):
                continue
            if kept and sum(len(each) for _, each in kept) + len(rows) > FAN:
                break
            kept.append((name, sorted(rows, key=lambda k: at[k])))
        return kept[::-1]


def where(texts: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positions of points, dates or numbers, and the settings of the axis."""
    kinds = [instant(text) for text in texts]
    if kinds and kinds[0][0] == "number":
        return [value for _, value in kinds], {"x_title": "time"}
    return [value.isoformat() for _, value in kinds], {"x_title": "time", "x_kind": "temporal"}


def recent_figure(recent: Recent, what: str = "") -> Figure:
    """Return a picture of the last rows: targets, forecasts as lines, and intervals as bands, apart per issue time."""
    at, axis = where(recent.at) if recent.timed else ([float(text) for text in recent.at], {"x_title": "row"})
    windows = recent.windows(at)
    shown = [k for _, rows in windows for k in rows]
    layers = []
    for _, low, high in recent.bands:
        rows = [{"row": at[k], "low": float(low[k]), "high": float(high[k]), "issued": name}
                for name, window in windows for k in window
                if np.isfinite(low[k]) and np.isfinite(high[k]) and low[k] <= high[k]]  # fmt: skip
        if rows:
            layers.append(Layer("band", tuple(rows), x="row", group="issued"))
    line = [{"row": at[k], "y": float(recent.center[k]), "series": recent.named, "issued": name}
            for name, window in windows for k in window if np.isfinite(recent.center[k])]  # fmt: skip
    if line:
        layers.append(Layer("line", tuple(line), x="row", series="series", group="issued"))
    for band, low, high in recent.bands:  # one-sided intervals have one finite end
        for what_end, end, other in (("lower", low, high), ("upper", high, low)):
            ends = [{"row": at[k], "y": float(end[k]), "series": f"{what_end} end, {band}", "issued": name}
                    for name, window in windows for k in window
                    if np.isfinite(end[k]) and np.isinf(other[k])]  # fmt: skip
            if ends:
                layers.append(Layer("line", tuple(ends), x="row", series="series", group="issued"))
    first = min(at[k] for k in shown)
    known = {
        at[k]: float(recent.targets[k]) for k in range(len(at)) if at[k] >= first and not np.isnan(recent.targets[k])
    }
    if known:
        points = [{"row": x, "y": y, "series": "target"} for x, y in sorted(known.items())]
        layers.append(Layer("points", tuple(points), x="row", series="series"))
    bands = ", ".join(name for name, _, _ in recent.bands)
    each = f" from {counted(len(windows), 'issue time')} that do not overlap" if windows[0][0] else ""
    heading = f"The last {counted(len(shown), 'row')}{what}{each}: forecast" + (
        f" with intervals of {bands}" * bool(bands)
    )
    alt = f"The last {counted(len(shown), 'row')}{what}{each}: targets as points, the combined forecast as a line"
    shape = "lines" if any(name.startswith(("upper", "lower")) for name in _series_of(layers)) else "bands"
    alt += f", and intervals ({bands}) as {shape}." if bands else "."
    settled = np.array([k for k in shown if not np.isnan(recent.targets[k])], dtype=np.int64)
    if recent.bands and len(settled):
        _, low, high = recent.bands[0]
        finite = settled[np.isfinite(low[settled]) | np.isfinite(high[settled])]
        inside = (low[finite] <= recent.targets[finite]) & (recent.targets[finite] <= high[finite])
        alt += f" {int(inside.sum())} of {len(finite)} targets are in the widest interval."
    ahead = len(shown) - len(settled)
    if ahead:
        alt += f" {counted(ahead, 'row')} without a target."
    return Figure(
        Picture(heading, axis.pop("x_title"), "forecast", tuple(layers), alt, height=300, y_zero=False, **axis)
    )


def _series_of(layers: Sequence[Layer]) -> set[str]:
    """Return the names of the series of some layers."""
    return {str(row["series"]) for layer in layers for row in layer.rows if "series" in row}


def calibration_blocks(calibration: Calibration, most: int) -> list[Any]:
    """Return a table with a few intervals, and a folded table with all of them if there are more."""
    blocks: list[Any] = [_who_by_who(calibration, most)]
    if len(calibration.pairs()) > BANDS:
        who = [0, 1, calibration.best()]
        told = [calibration.intervals(k) for k in who]
        heads = ["interval %", *(f"{calibration.names[k]}: {what}" for k in who for what in ("% covered", "width"))]
        rows = tuple(
            (
                round(100.0 * one.nominal, 4),
                *(x for each in told for x in (round(100.0 * each[k].coverage, 1), each[k].width)),
            )
            for k, one in enumerate(told[0])
        )
        blocks.append(Fold("Every pair of levels", (Table(tuple(heads), rows, "Coverage and mean width."),)))
    return blocks


def _who_by_who(calibration: Calibration, most: int) -> Table:
    """Return the table of CRPS, and coverage and width of some intervals."""
    kept = calibration.picked(BANDS)
    order = sorted(range(2, len(calibration.names)), key=lambda k: (np.nan_to_num(calibration.crps(k), nan=np.inf), k))
    rows = []
    for who in [0, 1, *order[:most]]:
        cells: list[Any] = [Name(calibration.names[who]), calibration.crps(who)]
        told = calibration.intervals(who)
        for k in kept:
            cells += [round(100.0 * told[k].coverage, 1), told[k].width]
        rows.append(tuple(cells) if calibration.rows[who] else (cells[0], *[None] * (len(cells) - 1)))
    heads = ["forecast", "CRPS"]
    for one in (calibration.intervals()[k] for k in kept):
        heads += [f"% in the {100.0 * one.nominal:.4g}% interval", f"its width ({100.0 * one.nominal:.4g}%)"]
    caption = (
        f"CRPS: twice the mean pinball loss per row over {len(calibration.levels)} levels, an approximation on "
        "those levels. An interval should cover its share of the targets; a narrower one is sharper."
    )
    return Table(tuple(heads), tuple(rows), caption)


@dataclass(frozen=True)
class Quantiled:
    """Calibration and grid of combined quantiles; `by_level` are the last weights per level, if separate."""

    calibration: Calibration = field(hash=False)
    by_level: Array | None = field(hash=False)
    grid: Grid
    #: Number of places in which quantiles of a model were sorted.
    crossed: int = 0

    def lines(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs for a terminal."""
        rows = self.calibration.lines()
        rows.append(
            ("weights", "common to all levels" if self.by_level is None else "separate per quantile, forecasts sorted")
        )
        if self.crossed:
            rows.append(("crossing", f"quantiles of a model were sorted in {self.crossed} places"))
        return rows

    def as_dict(self, models: Sequence[str]) -> dict[str, Any]:
        """Return the result for JSON."""
        by_level = None
        if self.by_level is not None:
            shares = [dict(zip(models, one.tolist(), strict=True)) for one in self.by_level]
            by_level = [{"level": q, "weights": one} for q, one in zip(self.calibration.levels, shares, strict=True)]
        return {
            **self.calibration.as_dict(), "weights": "common" if by_level is None else "per quantile",
            "weights_by_level": by_level, "sorted_where_crossed": self.crossed,
            "left_out": [],
        }  # fmt: skip


def calibrated(
    loss: QuantileLoss, models: Sequence[str], answers: tuple[Any, Array], table: Array, targets: Array
) -> Calibration:
    """Return the calibration of (numbers of rows from 1, quantiles), from all rows of a table level by level."""
    calibration, at, told = Calibration.of(loss, models), answers[0] - 1, answers[1]
    known = ~np.isnan(targets[at])
    step = 1 << 14
    for first in range(0, len(at), step):
        part = slice(first, first + step)
        some = at[part][known[part]]
        calibration.add(loss, told[part][known[part]], np.asarray(table[some]), np.asarray(targets[some]))
    return calibration
