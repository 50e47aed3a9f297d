"""The fan of a combination of quantiles: its last rows, drawn as bands around the middle, with the targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.refusals import Array
from hannan.report import Figure, Fold, Layer, Picture, Table
from hannan.tables.combine.calibration import Calibration
from hannan.tables.figures import Name
from hannan.tables.read.times import instant

#: Rows of a fan, the last ones; bands of it.
FAN, BANDS = 120, 4


@dataclass(frozen=True)
class Fan:
    """Rows in order: where they stand, their quantiles (rows, levels) and targets, NaN unknown."""

    at: tuple[str, ...]
    quantiles: Array = field(hash=False)
    targets: Array = field(hash=False)


def where(texts: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Where points stand: real dates, or numbers of the user's; and what the axis is."""
    kinds = [instant(text) for text in texts]
    if kinds and kinds[0][0] == "number":
        return [value for _, value in kinds], {"x_title": "time"}
    return [value.isoformat() for _, value in kinds], {"x_title": "time", "x_kind": "temporal"}


def fan_figure(fan: Fan, calibration: Calibration, what: str = "", title: str = "row") -> Figure:
    """Bands from the widest to the narrowest pair of levels, the middle as a line, targets as points."""
    at, axis = where(fan.at) if title != "row" else ([float(text) for text in fan.at], {"x_title": "row"})
    pairs = calibration.pairs()
    kept = [pairs[k] for k in calibration.picked(BANDS)]
    layers = [
        Layer("band", tuple({"row": x, "low": float(lo), "high": float(hi)} for x, lo, hi in
                            zip(at, fan.quantiles[:, a], fan.quantiles[:, b], strict=True)), x="row")
        for a, b in kept
    ]  # fmt: skip
    levels = np.array(calibration.levels)
    middle = int(np.argmin(abs(levels - 0.5)))
    named = "median" if abs(levels[middle] - 0.5) < 1e-9 else f"quantile {levels[middle]:g}"
    edge = any(middle in pair for pair in kept)  # no level is in the middle
    if not edge:
        line = [{"row": x, "y": float(y), "series": named} for x, y in zip(at, fan.quantiles[:, middle], strict=True)]
        layers.append(Layer("line", tuple(line), x="row", series="series"))
    points = [{"row": x, "y": float(y), "series": "target"} for x, y in zip(at, fan.targets, strict=True) if y == y]
    if points:
        layers.append(Layer("points", tuple(points), x="row", series="series"))
    bands = ", ".join(f"{100.0 * (levels[b] - levels[a]):.4g}%" for a, b in kept) or "none"
    known = ~np.isnan(fan.targets)
    line_of = "" if edge else f" {named},"
    alt = f"The last {len(at)} rows{what}: the combination's intervals ({bands}) as bands,{line_of} and the targets."
    if kept and known.any():
        a, b = kept[0]
        inside = (fan.quantiles[known, a] <= fan.targets[known]) & (fan.targets[known] <= fan.quantiles[known, b])
        alt += f" {int(inside.sum())} of {int(known.sum())} targets are in the widest band."
    heading = f"The last {len(at)} rows{what}: intervals of {bands}"
    return Figure(
        Picture(heading, axis.pop("x_title"), "forecast", tuple(layers), alt, height=300, y_zero=False, **axis)
    )


def calibration_blocks(calibration: Calibration, most: int) -> list[Any]:
    """Who by who on a few pairs of levels; and where there are more, every pair of them."""
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
    """Who by who: the CRPS, and of some pairs of levels coverage and width."""
    kept = calibration.picked(BANDS)
    order = sorted(range(2, len(calibration.names)), key=lambda k: (np.nan_to_num(calibration.crps(k), nan=np.inf), k))
    rows = []
    for who in [0, 1, *order[:most]]:
        cells: list[Any] = [Name(calibration.names[who]), calibration.crps(who)]
        told = calibration.intervals(who)
        for k in kept:
            cells += [round(100.0 * told[k].coverage, 1), told[k].width]
        rows.append(tuple(cells) if calibration.rows[who] else (cells[0], *[None] * (len(cells) - 1)))
    heads = ["who", "CRPS"]
    for one in (calibration.intervals()[k] for k in kept):
        heads += [f"% in the {100.0 * one.nominal:.4g}% interval", f"its width ({100.0 * one.nominal:.4g}%)"]
    caption = (
        f"CRPS: twice the mean pinball loss a row over {len(calibration.levels)} levels, an approximation on "
        "those levels. An interval should cover its share of the targets, and of two that do the narrower is sharper."
    )
    return Table(tuple(heads), tuple(rows), caption)
