"""Quantile forecasts: names of their columns, grids of models and levels, and their loss."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hannan.tables.combine.losses import Pinball, PointLoss, canonical, point_loss
from hannan.tables.read.table import BadTable, clipped, shown
from hannan.validation import Array, meant

#: Names of statsforecast, mlforecast and neuralforecast: lo-90 is the quantile .05, hi-90 is .95.
STANDARD = "{model}-lo-{lo}, {model}-hi-{hi}, {model}-q-{quantile}, {model}-median"
#: Level of a column by the field of its pattern: a quantile, a percentage, or an end of a central interval.
FIELDS: dict[str, Callable[[float], float]] = {
    "quantile": lambda x: x,
    "percent": lambda x: x / 100.0,
    "lo": lambda x: (100.0 - x) / 200.0,
    "hi": lambda x: (100.0 + x) / 200.0,
}
#: Name that replaces the model in columns of the combination.
COMBINED = "forecast"


@dataclass(frozen=True)
class Grid:
    """Models with the same ascending levels; rows are arranged level by level.

    >>> grid = grid_of(["a-lo-80", "b-lo-80", "a-hi-80", "b-hi-80"], None)
    >>> grid.models, grid.levels, grid.written
    (('a', 'b'), (0.1, 0.9), ('forecast-lo-80', 'forecast-hi-80'))
    """

    models: tuple[str, ...]
    levels: tuple[float, ...]
    #: Columns level by level, and their positions in the table.
    columns: tuple[str, ...]
    places: NDArray[np.int64] = field(hash=False, compare=False, repr=False)
    #: Names of the columns of the combination.
    written: tuple[str, ...]
    #: Columns of point forecasts of the same models, which are combined separately.
    left: tuple[str, ...] = ()
    #: True if crossing quantiles of a model are sorted instead of rejected.
    sorts: bool = False

    def take(self, forecasts: Array, place: Callable[[int], str]) -> tuple[Array, int]:
        """Return (forecasts level by level, number of places in which quantiles were sorted).

        Raises BadTable if a model has only some of its quantiles in a row, or if its quantiles cross there.
        """
        table: Array = np.ascontiguousarray(np.asarray(forecasts, dtype=np.float64)[:, self.places])
        cube = table.reshape(len(table), len(self.levels), len(self.models))
        missing = np.isnan(cube)
        torn = missing.any(axis=1) & ~missing.all(axis=1)
        if torn.any():
            row, i = (int(k) for k in np.argwhere(torn)[0])
            name = self.columns[int(np.argmax(missing[row, :, i])) * len(self.models) + i]
            raise BadTable(
                f"{place(row)}: {clipped(self.models[i])} needs all of its quantiles in a row, or none; column "
                f"{clipped(name)} is missing"
            )
        crossed = (cube[:, 1:] < cube[:, :-1]).any(axis=1)
        if crossed.any() and not self.sorts:
            row, i = (int(k) for k in np.argwhere(crossed)[0])
            q = int(np.argmax(np.diff(cube[row, :, i]) < 0.0))
            low, high = (self.columns[k * len(self.models) + i] for k in (q, q + 1))
            raise BadTable(
                f"{place(row)}: quantiles of a model must not decrease from level to level; got {cube[row, q, i]:g} in "
                f"{clipped(low)} and {cube[row, q + 1, i]:g} in {clipped(high)} (crossing='sort' sorts them)"
            )
        if crossed.any():
            cube.sort(axis=1)
        return table, int(crossed.sum())


def grid_of(names: Sequence[str], quantiles: Any, plain: bool = True, crossing: str = "refuse") -> Grid | None:
    """Return the grid of quantile columns, or None for point forecasts.

    `quantiles`: a pattern such as "{model}_p{percent}", or several separated by commas; True for the usual names; False
    for none; None for the usual names if the loss is the default (`plain`).
    """
    if crossing not in ("refuse", "sort"):
        raise ValueError(f"crossing must be 'refuse' or 'sort'; got {crossing!r}{meant(crossing, ('refuse', 'sort'))}")
    if are_points(quantiles, plain):
        return None
    usual = quantiles is None or quantiles is True
    patterns = [_pattern(text) for text in (STANDARD if usual else _text(quantiles)).split(",")]
    found: dict[str, dict[float, str]] = {}
    left: list[str] = []
    ways: dict[float, str] = {}
    for name in names:
        model, level, way = next((told for told in (pattern(name) for pattern in patterns) if told), ("", 0.0, ""))
        if not model:
            left.append(name)
            continue
        if not 0.0 < level < 1.0:
            raise BadTable(f"the level of a quantile must be in (0, 1); got {level:g} of column {clipped(name)}")
        if level in found.setdefault(model, {}):
            raise BadTable(
                f"each quantile of a model must be in one column; got {level:g} of {clipped(model)} in "
                f"{clipped(found[model][level])} and {clipped(name)}"
            )
        found[model][level] = name
        ways.setdefault(level, way)
    if not found:
        if usual and quantiles is None:
            return None
        raise BadTable(f"no column of quantiles named {STANDARD if usual else quantiles}; columns are {shown(names)}")
    strange = next((name for name in left if name not in found), None) if usual else next(iter(left), None)
    if strange is not None:
        raise BadTable(
            f"column {clipped(strange)} is not named as a quantile. Pass a pattern (quantiles=, --quantiles) or choose "
            "columns (experts=, --experts)"
        )
    levels = sorted({level for each in found.values() for level in each})
    for model, each in found.items():
        lacks = next((level for level in levels if level not in each), None)
        if lacks is not None:
            raise BadTable(f"all models must have the same levels; {clipped(model)} has no level {lacks:g}")
    columns = [found[model][level] for level in levels for model in found]
    places = {name: k for k, name in enumerate(names)}
    return Grid(
        models=tuple(found),
        levels=tuple(levels),
        columns=tuple(columns),
        places=np.array([places[name] for name in columns], dtype=np.int64),
        written=tuple(ways[level] for level in levels),
        left=tuple(left),
        sorts=crossing == "sort",
    )


def are_points(quantiles: Any, plain: bool) -> bool:
    """Return True if columns are combined as point forecasts, whatever their names are; `plain`: the default loss."""
    return quantiles is False or quantiles == "none" or (quantiles is None and not plain)


def point_columns(names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return (point forecasts, columns named as quantiles).

    A median is a point forecast. So are columns of one quantile level, if there are no other columns.

    >>> point_columns(["a", "a-lo-90", "a-hi-90", "b-median", "b-q-0.1"])
    (['a', 'b-median'], ('a-lo-90', 'a-hi-90', 'b-q-0.1'))
    >>> point_columns(["a-lo-90", "b-lo-90"])
    (['a-lo-90', 'b-lo-90'], ())
    """
    patterns = [_pattern(text) for text in STANDARD.split(",") if "median" not in text]
    levels = {name: told[1] for name in names for told in [pattern(name) for pattern in patterns] if told}
    kept, left = [name for name in names if name not in levels], tuple(levels)
    if kept or not left:
        return kept, left
    if len(set(levels.values())) == 1:
        return list(names), ()
    raise BadTable(
        f"this loss needs columns of point forecasts; got only quantiles, {shown(left)}. Choose columns to combine as "
        "point forecasts with experts= (--experts)"
    )


def left_out(columns: Sequence[str]) -> str:
    """Return the sentence about columns of quantiles that were ignored."""
    count = f"{len(columns)} column{'s' if len(columns) > 1 else ''} of quantiles"
    return f"{count}: {shown(columns, 4)}; pass experts= (--experts) to combine them as point forecasts"


def _text(quantiles: Any) -> str:
    if not isinstance(quantiles, str):
        raise ValueError(
            f"quantiles must be a pattern such as {{model}}-q-{{quantile}}, True or False; got {quantiles!r}"
        )
    return quantiles


@lru_cache(maxsize=16)
def _pattern(text: str) -> Callable[[str], tuple[str, float, str] | None]:
    """Return a function: name -> (model, level, column of the combination). Without a level, it is the median."""
    parts = re.split(r"(\{[^{}]*\})", text.strip())
    fields = [part[1:-1] for part in parts[1::2]]
    known = [name for name in fields if name in FIELDS]
    if fields.count("model") != 1 or len(known) > 1 or len(fields) != len(known) + 1:
        raise ValueError(
            f"a quantile pattern must contain {{model}} once and at most one of {{quantile}}, {{percent}}, {{lo}} and "
            f"{{hi}}; got {text.strip()!r}"
        )
    number = r"(?P<level>\d+(?:\.\d+)?|\.\d+)"
    made = "".join(
        re.escape(part) if k % 2 == 0 else "(?P<model>.+)" if part == "{model}" else number
        for k, part in enumerate(parts)
    )
    matcher = re.compile(made, re.DOTALL)

    def told(name: str) -> tuple[str, float, str] | None:
        match = matcher.fullmatch(name)
        if match is None:
            return None
        level = round(FIELDS[known[0]](float(match["level"])), 12) if known else 0.5
        start, end = match.span("model")
        return match["model"], level, f"{name[:start]}{COMBINED}{name[end:]}"

    return told


@dataclass(frozen=True)
class QuantileLoss(PointLoss):
    """Mean of the pinball losses pinball_q(f_q, y) over the levels q; twice the loss approximates the CRPS.

    `apart`: separate weights per level, and sorted answers; otherwise common weights.

    >>> round(float(QuantileLoss((0.1, 0.9)).value(np.array([0.0, 2.0]), 1.0)), 6)
    0.1
    """

    levels: tuple[float, ...]
    apart: bool = False
    kernel: ClassVar[str] = "pinball"
    scale_free: ClassVar[bool] = True

    @property
    def parameter(self) -> float:
        return 0.5

    @property
    def depth(self) -> int:
        return len(self.levels)

    @property
    def name(self) -> str:
        few = ", ".join(f"{q:g}" for q in self.levels)
        return f"pinball at {few}" if self.depth <= 3 else f"pinball, the mean over {self.depth} levels"

    def value(self, f: Any, y: Any) -> Any:
        return self.by_level(f, y).mean(axis=-1)

    def by_level(self, f: Any, y: Any) -> Array:
        """Return the pinball loss of each level."""
        q, over = np.array(self.levels), np.asarray(f) - np.asarray(y)[..., None]
        told: Array = np.maximum(-q * over, (1.0 - q) * over)
        return told

    def slope(self, f: Any, y: Any) -> Any:
        q, f, y = np.array(self.levels), np.asarray(f), np.asarray(y)[..., None]
        return np.where(f > y, 1.0 - q, np.where(f < y, -q, 0.0)) / self.depth

    def columns(self, table: Array) -> Array:
        rows, width = table.shape
        return table.reshape(rows, self.depth, width // self.depth).transpose(0, 2, 1)

    def parts(self) -> tuple[Pinball, ...]:
        return tuple(Pinball(q) for q in self.levels)


@dataclass(frozen=True)
class Pricing:
    """The loss of a combination as the user states it, and how columns of quantiles are named and treated."""

    loss: str | PointLoss = "absolute"
    cap: float | None = None
    quantiles: str | bool | None = None
    per_quantile: bool = False
    crossing: str = "refuse"

    @property
    def plain(self) -> bool:
        """True if the loss is the default."""
        return isinstance(self.loss, str) and canonical(self.loss) == "absolute" and self.cap is None

    def columns(self, names: Sequence[str], named: bool) -> tuple[list[str], tuple[str, ...]]:
        """Return (columns to combine, columns to omit).

        If point forecasts are combined, columns named as quantiles are omitted, unless the user `named` the columns.

        >>> Pricing("squared").columns(["a", "a-lo-90"], False), Pricing("squared").columns(["a", "a-lo-90"], True)
        ((['a'], ('a-lo-90',)), (['a', 'a-lo-90'], ()))
        """
        if named or not are_points(self.quantiles, self.plain):
            return list(names), ()
        return point_columns(names)

    def loss_of(self, names: Sequence[str]) -> tuple[PointLoss, Grid | None]:
        """Return the loss of these columns, and their quantile grid (None for point forecasts).

        >>> Pricing().loss_of(["a-q-0.5", "b-q-0.5"])[0], Pricing("pinball:0.5").loss_of(["a-q-0.5"])[1]
        (QuantileLoss(levels=(0.5,), apart=False), None)
        """
        grid = grid_of(names, self.quantiles, self.plain, self.crossing)
        if grid is None:
            if self.per_quantile:
                raise ValueError(f"per_quantile needs columns of quantiles, {STANDARD}; columns are {shown(names)}")
            return point_loss(self.loss, self.cap), None
        if not self.plain:
            what = f"loss {self.loss!r}" if self.cap is None else f"cap {self.cap!r}"
            raise ValueError(
                f"quantiles are combined under the pinball losses of their levels, without a cap; got {what}"
            )
        return QuantileLoss(grid.levels, self.per_quantile), grid
