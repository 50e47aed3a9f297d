"""Quantiles by the names of their columns: of which model, at which level; and rows of them, level by level."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array, meant
from hannan.tables.read.table import BadTable, clipped, shown

#: As statsforecast, mlforecast and neuralforecast name them: lo-90 is the quantile .05, hi-90 is .95.
STANDARD = "{model}-lo-{lo}, {model}-hi-{hi}, {model}-q-{quantile}, {model}-median"
#: The level of a column, by the field of its pattern: a quantile, percents of it, or the end of a central interval.
FIELDS: dict[str, Callable[[float], float]] = {
    "quantile": lambda x: x,
    "percent": lambda x: x / 100.0,
    "lo": lambda x: (100.0 - x) / 200.0,
    "hi": lambda x: (100.0 + x) / 200.0,
}
#: What a column of the combination is called in the place of the model.
COMBINED = "forecast"


@dataclass(frozen=True)
class Grid:
    """Models and ascending levels that all of them have; rows are taken level by level.

    >>> grid = grid_of(["a-lo-80", "b-lo-80", "a-hi-80", "b-hi-80"], None)
    >>> grid.models, grid.levels, grid.written
    (('a', 'b'), (0.1, 0.9), ('forecast-lo-80', 'forecast-hi-80'))
    """

    models: tuple[str, ...]
    levels: tuple[float, ...]
    #: The columns, level by level, and where each stands among those given.
    columns: tuple[str, ...]
    places: NDArray[np.int64] = field(hash=False, compare=False, repr=False)
    #: What the columns of the combination are called.
    written: tuple[str, ...]
    #: Columns of point forecasts of the same models, which are no quantiles.
    left: tuple[str, ...] = ()
    #: Whether quantiles of a model that cross in a row are sorted there, rather than refused.
    sorts: bool = False

    def take(self, forecasts: Array, place: Callable[[int], str]) -> tuple[Array, int]:
        """(rows, levels x models) of a table in the order of its columns, and in how many places quantiles were sorted.

        A model with some of its quantiles in a row, or whose quantiles cross there, is refused by its `place`.
        """
        table: Array = np.ascontiguousarray(np.asarray(forecasts, dtype=np.float64)[:, self.places])
        cube = table.reshape(len(table), len(self.levels), len(self.models))
        missing = np.isnan(cube)
        torn = missing.any(axis=1) & ~missing.all(axis=1)
        if torn.any():
            row, i = (int(k) for k in np.argwhere(torn)[0])
            name = self.columns[int(np.argmax(missing[row, :, i])) * len(self.models) + i]
            raise BadTable(
                f"{place(row)}: a model must have all of its quantiles in a row, or none; {clipped(self.models[i])} "
                f"has no number in {clipped(name)}"
            )
        crossed = (cube[:, 1:] < cube[:, :-1]).any(axis=1)
        if crossed.any() and not self.sorts:
            row, i = (int(k) for k in np.argwhere(crossed)[0])
            q = int(np.argmax(np.diff(cube[row, :, i]) < 0.0))
            low, high = (self.columns[k * len(self.models) + i] for k in (q, q + 1))
            raise BadTable(
                f"{place(row)}: quantiles of a model must not fall from level to level; got {cube[row, q, i]:g} in "
                f"{clipped(low)} and {cube[row, q + 1, i]:g} in {clipped(high)} (crossing 'sort' sorts them)"
            )
        if crossed.any():
            cube.sort(axis=1)
        return table, int(crossed.sum())


def grid_of(names: Sequence[str], quantiles: Any, plain: bool = True, crossing: str = "refuse") -> Grid | None:
    """The quantiles among columns, or None where they are point forecasts.

    `quantiles`: a pattern, or several between commas, such as "{model}_p{percent}"; True for the usual names; False for
    none; None looks for the usual names where the loss was left as it is (`plain`).
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
                f"a quantile of a model must be in one column; got {level:g} of {clipped(model)} in "
                f"{clipped(found[model][level])} and {clipped(name)}"
            )
        found[model][level] = name
        ways.setdefault(level, way)
    if not found:
        if usual and quantiles is None:
            return None
        raise BadTable(f"columns of quantiles must be named {STANDARD if usual else quantiles}; got {shown(names)}")
    strange = next((name for name in left if name not in found), None) if usual else next(iter(left), None)
    if strange is not None:
        raise BadTable(
            f"a column among quantiles must name its model and level; got {clipped(strange)}. Say a pattern "
            "(quantiles=, --quantiles), or name the columns (experts=, --experts)"
        )
    levels = sorted({level for each in found.values() for level in each})
    for model, each in found.items():
        lacks = next((level for level in levels if level not in each), None)
        if lacks is not None:
            raise BadTable(f"every model must have the same levels; {clipped(model)} has none of {lacks:g}")
    columns = [found[model][level] for level in levels for model in found]
    places = {name: k for k, name in enumerate(names)}
    return Grid(
        tuple(found), tuple(levels), tuple(columns), np.array([places[name] for name in columns], dtype=np.int64),
        tuple(ways[level] for level in levels), tuple(left), crossing == "sort",
    )  # fmt: skip


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
        f"the table must have columns of point forecasts for this loss; got quantiles only, {shown(left)}. Name "
        "columns to combine them as point forecasts (experts=, --experts)"
    )


def left_out(columns: Sequence[str]) -> str:
    """Return the sentence about columns of quantiles that point forecasts were combined without."""
    count = f"{len(columns)} column{'s' if len(columns) > 1 else ''} of quantiles"
    return f"{count}: {shown(columns, 4)}; experts (--experts) names columns to combine as point forecasts"


def _text(quantiles: Any) -> str:
    if not isinstance(quantiles, str):
        raise ValueError(
            f"quantiles must be a pattern such as {{model}}-q-{{quantile}}, True or False; got {quantiles!r}"
        )
    return quantiles


@lru_cache(maxsize=16)
def _pattern(text: str) -> Callable[[str], tuple[str, float, str] | None]:
    """A name -> (model, level, what the combination's column is called); a pattern without a level is of the median."""
    parts = re.split(r"(\{[^{}]*\})", text.strip())
    fields = [part[1:-1] for part in parts[1::2]]
    known = [name for name in fields if name in FIELDS]
    if fields.count("model") != 1 or len(known) > 1 or len(fields) != len(known) + 1:
        raise ValueError(
            f"a pattern of quantiles must have {{model}} once and at most one of {{quantile}}, {{percent}}, {{lo}} and "
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
