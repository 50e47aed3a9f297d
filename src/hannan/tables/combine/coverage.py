"""Requested coverage of prediction intervals, and the intervals that attain it on every sequence of targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, validation
from hannan.learners.adahedge import Rule
from hannan.mathematics.bounds import rounded_up
from hannan.saving import fields
from hannan.tables.combine.coverage_certificate import ALL, CoverageCertificate, GroupCount
from hannan.tables.combine.quantiles import QuantileLoss
from hannan.tables.combine.rules import ByRule
from hannan.tables.combine.timing import Events
from hannan.validation import Array

Whole = NDArray[np.int64]

#: Steps of the states of all rows and of a group of rows, and start of the state of all rows.
STEP, GROUP_STEP, START = 0.03, 0.1, 0.1
#: Largest absolute value of a forecast and of a target: all ends are then finite.
LARGEST = 1e100
#: Largest number of groups.
MOST_GROUPS = 100_000
#: Ends of an interval by the name of its sides: (lower, upper).
SIDES = {"both": (True, True), "lower": (True, False), "upper": (False, True)}
#: Text between the name of a kind of groups and its value, as in "hour 12".
BETWEEN = " "


@dataclass(frozen=True)
class Coverage:
    """Requested coverage of intervals.

    Parameters
    ----------
    levels : tuple of float
        Coverages, ascending: intervals of larger coverage contain those of smaller coverage.
    side : {"both", "lower", "upper"}
        Ends of the intervals.
    groups : tuple of str, optional
        Kinds of groups of rows, such as hour and weekday. None: rows may have any labels.
    within : float, optional
        Limit, stated before play, of the distances of targets from the base ends, in units.

    Examples
    --------
    >>> Coverage.of([0.95, 0.8]).quantiles
    (0.025, 0.1, 0.9, 0.975)
    >>> Coverage.of(0.9, side="upper").rates
    (0.1,)
    """

    levels: tuple[float, ...]
    side: str = "both"
    groups: tuple[str, ...] | None = None
    within: float | None = None

    @classmethod
    def of(
        cls, levels: Any, side: str = "both", groups: Iterable[str] | None = None, within: float | None = None
    ) -> Coverage:
        """Return the coverage that the options describe, after validation."""
        if side not in SIDES:
            raise ValueError(f"side must be 'both', 'lower' or 'upper'; got {side!r}{validation.meant(side, SIDES)}")
        many = levels if isinstance(levels, (list, tuple, np.ndarray)) else [levels]
        least, closed = (0.0, "()") if side == "both" else (0.5, "[)")
        found = sorted(validation.between(level, least, 1.0, "coverage", closed) for level in many)
        validation.once(found, "coverage")
        if not found:
            raise ValueError(f"coverage must have at least one level; got {levels!r}")
        names = None
        if groups is not None:
            names = (groups,) if isinstance(groups, str) else tuple(str(name) for name in groups)
            validation.once(names, "groups")
        limit = None if within is None else validation.positive(within, "within")
        return cls(tuple(found), side, names, limit)

    @property
    def sides(self) -> int:
        """Number of ends of an interval."""
        return sum(SIDES[self.side])

    @property
    def rates(self) -> tuple[float, ...]:
        """Target miss rate of an end, per coverage."""
        return tuple(round((1.0 - level) / self.sides, 12) for level in self.levels)

    @property
    def quantiles(self) -> tuple[float, ...]:
        """Quantile levels of the base ends, ascending."""
        lower, upper = SIDES[self.side]
        low = self.rates[::-1] if lower else ()
        high = tuple(round(1.0 - rate, 12) for rate in self.rates) if upper else ()
        return (*low, *high)

    @property
    def places(self) -> list[int]:
        """For each end, coverage by coverage, the position of its level in `quantiles`."""
        count, (lower, upper) = len(self.levels), SIDES[self.side]
        high = count if lower else 0
        return [at for k in range(count) for at in [count - 1 - k] * lower + [high + k] * upper]

    @property
    def written(self) -> tuple[str, ...]:
        """Names of the columns of the ends.

        >>> Coverage.of(0.9).written, Coverage.of([0.8, 0.95], side="upper").written
        (('low', 'high'), ('high-80', 'high-95'))
        """
        named = ["" if len(self.levels) == 1 else f"-{100 * level:g}" for level in self.levels]
        ends = [end for end, used in zip(("low", "high"), SIDES[self.side], strict=True) if used]
        return tuple(f"{end}{name}" for name in named for end in ends)

    def pairs(self, ends: Array) -> Array:
        """Return ends (rows, ends) as intervals (rows, coverages, 2); an end that is not requested is infinite."""
        told = np.empty((len(ends), len(self.levels), 2))
        told[:, :, 0], told[:, :, 1] = -np.inf, np.inf
        lower, upper = SIDES[self.side]
        if lower:
            told[:, :, 0] = ends[:, :: self.sides]
        if upper:
            told[:, :, 1] = ends[:, self.sides - 1 :: self.sides]
        return told

    def whole_line(self) -> Array:
        """Return ends that cover every target."""
        one = [end for end, used in zip((-np.inf, np.inf), SIDES[self.side], strict=True) if used]
        return np.array(one * len(self.levels))

    def labels(self, groups: Any) -> tuple[str, ...]:
        """Return the labels of the groups of a row, after validation.

        >>> Coverage.of(0.9, groups=["hour"]).labels({"hour": 7}), Coverage.of(0.9).labels(["monday", "holiday"])
        (('hour 7',), ('monday', 'holiday'))
        """
        if self.groups is None:
            if isinstance(groups, (str, Mapping)):
                raise ValueError(f"groups must be a sequence of labels; got {validation.brief(groups)}")
            told = tuple(str(label) for label in groups)
        else:
            named = dict(groups) if isinstance(groups, Mapping) else None
            if named is None:
                values = [groups] if isinstance(groups, str) else list(groups)
                named = dict(zip(self.groups, values, strict=False)) if len(values) == len(self.groups) else {}
            if set(named) != set(self.groups):
                raise ValueError(
                    f"groups must have one value for each of {list(self.groups)}; got {validation.brief(groups)}"
                )
            told = tuple(f"{name}{BETWEEN}{named[name]}" for name in self.groups)
        validation.once(told, "groups")
        if ALL in told:
            raise ValueError(f"the group {ALL!r} has all rows and cannot be a label; got {validation.brief(groups)}")
        return told


def end_columns(intervals: Array, side: str) -> list[Array]:
    """Return the ends that were requested, of intervals (rows, coverages, 2), as columns."""
    ends = intervals[:, :, list(SIDES[side])]
    return list(np.ascontiguousarray(ends.reshape(len(ends), -1).T))


class CertifiedIntervals:
    """Intervals around combined forecasts, or around combined quantiles, whose coverage is certified.

    Every row is answered under a number, and is later settled, forgotten or left open. Base ends come from quantile
    columns (`quantiles`: their levels), or from a combination of proposals that are made of residuals.
    """

    def __init__(self, coverage: Coverage, quantiles: tuple[float, ...] = ()) -> None:
        self.coverage, self.quantiles = coverage, quantiles
        asked = np.array(coverage.quantiles)
        self._intervals = _engine.Intervals(np.empty(0) if quantiles else asked)
        self._band = None if quantiles else ByRule(Rule(), _engine.PROPOSERS, QuantileLoss(coverage.quantiles))
        self._tracker = _engine.CoverageTracker(
            np.array(coverage.rates), *SIDES[coverage.side], STEP, START, GROUP_STEP
        )
        self._places = coverage.places
        if quantiles:
            missing = next((q for q in coverage.quantiles if q not in quantiles), None)
            if missing is not None:
                raise ValueError(
                    f"coverage needs a column of the quantile level {missing:g}; levels of the columns are "
                    f"{', '.join(f'{q:g}' for q in quantiles)}"
                )
            self._places = [quantiles.index(coverage.quantiles[place]) for place in self._places]
        #: Number of each group; group 0 has all rows.
        self.groups: dict[str, int] = {ALL: 0}
        self.most_groups = 0
        #: Open rows that were answered with (-inf, inf), and the number of such rows that were settled.
        self._warming: set[int] = set()
        self.warm_up = 0
        self.forgotten = 0

    @property
    def open_rows(self) -> int:
        """Number of rows that wait for their targets."""
        return int(self._tracker.open_rows)

    def numbers_of(self, labels: Sequence[str]) -> list[int]:
        """Return the numbers of groups; new groups begin without rows."""
        known = self.groups
        told = [known.setdefault(label, len(known)) for label in labels]
        self._tracker.groups(len(known))
        self.most_groups = max(self.most_groups, len(told))
        return told

    def check_room(self, labels: Sequence[str]) -> None:
        """Raise ValueError if there are too many groups."""
        if len(self.groups) + sum(label not in self.groups for label in labels) > MOST_GROUPS:
            raise ValueError(f"at most {MOST_GROUPS} groups are supported; got the new group {labels[-1]!r}")

    # Single rows

    def answer(self, number: int, combined: Any, forecasts: Array, labels: Sequence[str] = ()) -> Array:
        """Return the ends of a row, which then waits for its target."""
        if self._band is None:
            center, shown = 0.5 * (float(combined[0]) + float(combined[-1])), combined
        else:
            center, shown = float(combined), forecasts
        proposals, unit = self._intervals.propose(number, center, shown)
        if not unit > 0.0:
            self._warming.add(number)
            return self.coverage.whole_line()
        base = combined if self._band is None else self._band.answer(number, proposals)
        groups = np.array(self.numbers_of(labels), dtype=np.int64)
        ends: Array = self._tracker.issue(number, np.ascontiguousarray(base[self._places]), unit, groups)
        return ends

    def settle(self, number: int, target: float) -> None:
        """Settle a row; the miss is that of the ends that were issued."""
        if number in self._warming:
            self._warming.remove(number)
            self.warm_up += 1
        else:
            if self._band is not None:
                self._band.settle(number, target)
            self._tracker.settle(number, target)
        self._intervals.settle(number, target)

    def forget(self, number: int) -> None:
        """Close a row whose target will not arrive."""
        if number in self._warming:
            self._warming.remove(number)
        else:
            if self._band is not None:
                self._band.forget(number)
            self._tracker.forget(number)
            self.forgotten += 1
        self._intervals.forget(number)

    # Tables

    def through(
        self, events: Events, first: int, combined: Array, forecasts: Array, groups: tuple[Whole, Whole] | None = None
    ) -> Array:
        """Return the ends of the rows of a table, (rows, ends); rows that are not answered have NaN.

        Event e >= 0 answers row e of the table, with number first + e, and e < 0 settles row number ~e, or forgets the
        row if its target is NaN. `groups` has the numbers of the groups, row by row, and where each row begins.
        """
        order, told, rows = np.ascontiguousarray(events.order), np.ascontiguousarray(events.told), len(combined)
        proposals = np.empty((rows, 0 if self._band is None else _engine.PROPOSERS * len(self.coverage.quantiles)))
        units: Array = np.zeros(rows)
        if self._band is None:
            center, shown = 0.5 * (combined[:, 0] + combined[:, -1]), np.ascontiguousarray(combined)
        else:
            center, shown = np.ascontiguousarray(combined), np.ascontiguousarray(forecasts)
        self._intervals.events(order, told, first, centers=center, forecasts=shown, proposals=proposals, units=units)
        counted = self._counted(order, told, first, units)
        order, told = order[counted], told[counted]
        base = combined
        if self._band is not None:
            base = np.full((rows, len(self.coverage.quantiles)), np.nan)
            lost = (order < 0) & np.isnan(told)
            done, _, _ = self._band.events(proposals, order[~lost], told[~lost], first, base, None)
            assert done == len(order) - lost.sum()
            for number in (~order[lost]).tolist():
                self._band.forget(number)
        self.forgotten += int(((order < 0) & np.isnan(told)).sum())
        ends: Array = np.full((rows, len(self._places)), np.nan)
        numbers, starts = (
            (np.empty(0, dtype=np.int64), np.zeros(rows + 1, dtype=np.int64)) if groups is None else groups
        )
        self._tracker.groups(len(self.groups))
        self.most_groups = max(self.most_groups, int(np.diff(starts).max(initial=0)))
        self._tracker.events(
            order,
            told,
            first,
            base=np.ascontiguousarray(base[:, self._places]),
            units=units,
            groups=numbers,
            starts=starts,
            ends=ends,
        )
        answered = events.order[events.order >= 0]
        warm = answered[~(units[answered] > 0.0)]
        ends[warm] = self.coverage.whole_line()
        return ends

    def _counted(self, order: Whole, told: Array, first: int, units: Array) -> NDArray[np.bool_]:
        """Return the events of rows that were not answered with (-inf, inf)."""
        rows = len(units)
        number = np.where(order >= 0, order + first, ~order)
        here = (number >= first) & (number < first + rows)
        kept = np.ones(len(order), dtype=bool)
        kept[here] = units[number[here] - first] > 0.0
        if self._warming:
            kept[~here] = [int(k) not in self._warming for k in number[~here]]
        if kept.all():
            return kept
        left = number[~kept]
        answers = order[~kept] >= 0
        self._warming.update(left[answers].tolist())
        settled = left[~answers].tolist()
        self._warming.difference_update(settled)
        self.warm_up += int((~np.isnan(told[~kept][~answers])).sum())
        return kept

    # Results

    def certificate(self, base: str = "") -> CoverageCertificate:
        """Return the certificate at this time."""
        coverage, tracker = self.coverage, self._tracker
        sums = np.asarray(tracker.sums)
        counts = np.asarray(tracker.counts)
        return CoverageCertificate(
            levels=coverage.levels, side=coverage.side, rates=coverage.rates, within=coverage.within,
            groups=tuple(
                GroupCount.of(name, counts[at], len(coverage.levels), coverage.sides, SIDES[coverage.side][0])
                for name, at in self.groups.items()
            ),
            steps=(STEP, START, GROUP_STEP), open=self.open_rows, most_open=int(tracker.most_open),
            most_groups=self.most_groups if coverage.groups is None else len(coverage.groups),
            warm_up=self.warm_up, warming=len(self._warming), forgotten=self.forgotten,
            beyond=float(sums[:, 2].max()), cost=tuple(self._by_level(sums[:, 0])),
            cost_bound=tuple(self._cost_bounds(sums[:, 1], counts[0])), base=base,
        )  # fmt: skip

    def _cost_bounds(self, terms: Array, counts: Array) -> list[float | None]:
        """Return the bound of Theorem 3 on the cost of each coverage from the observed terms; None with groups."""
        if self.most_groups or self.coverage.groups:
            return [None] * len(self.coverage.levels)
        rates = np.repeat(self.coverage.rates, self.coverage.sides)
        theta = START + STEP * (counts[1 : 1 + len(rates)] - rates * counts[0])
        with np.errstate(over="ignore", invalid="ignore"):
            ends = terms + (np.cosh(START) - np.cosh(theta)) / STEP
        return [rounded_up(x) if np.isfinite(x) else None for x in self._by_level(ends)]

    def _by_level(self, ends: Array) -> list[float]:
        return [float(x) for x in ends.reshape(len(self.coverage.levels), -1).sum(axis=1)]

    # Files

    def fields(self) -> dict[str, Any]:
        """Return the state as a dict."""
        intervals, tracker = self._intervals.fields(), self._tracker.fields()
        for state in (intervals, tracker):
            state["open"] = {str(row): ticket for row, ticket in state["open"].items()}
        told = {
            "intervals": intervals, "tracker": tracker, "groups": list(self.groups), "warming": sorted(self._warming),
            "counts": [self.warm_up, self.forgotten, self.most_groups],
        }  # fmt: skip
        if self._band is not None:
            band = self._band.fields()
            told["band"] = {**band, "open": {str(row): ticket for row, ticket in band["open"].items()}}
        return told

    def restore(self, state: Any, combiner: Any) -> None:
        """Restore the state that `fields` returned, after validation; `combiner` has the open rows."""
        if not isinstance(state, dict) or not isinstance(state.get("groups"), list):
            raise ValueError("corrupt file: the state must be an object with groups")
        names = [fields.text(name, "groups") for name in state["groups"]]
        if names[:1] != [ALL] or len(set(names)) != len(names) or len(names) > MOST_GROUPS:
            raise ValueError(f"corrupt file: groups must be unique and begin with {ALL!r}")
        self.groups = {name: k for k, name in enumerate(names)}
        open_ = set(combiner._numbers.values())
        warming = [fields.whole(row, "warming rows") for row in fields.items(state.get("warming"), "warming rows")]
        self._warming = set(warming)
        self.warm_up, self.forgotten, self.most_groups = (
            fields.whole(x, "counts") for x in fields.items(state.get("counts"), "counts", 3)
        )
        tracked = open_ - self._warming
        if not self._warming <= open_ or (self.quantiles == ()) != ("band" in state):
            raise ValueError("corrupt file: open rows of intervals differ from those of the combiner")
        self._restore_tracker(state["tracker"], tracked)
        self._intervals.restore(self._checked_intervals(state["intervals"], open_))
        if self._band is not None:
            self._band.restore({**state["band"], "open": _rows(state["band"]["open"], tracked)})
            if self._band.settled != int(np.asarray(self._tracker.counts)[0, 0]):
                raise ValueError("corrupt file: settled rows of the base differ from those that are counted")
        if combiner.mixer.settled != self._intervals.settled:
            raise ValueError("corrupt file: settled rows of intervals differ from those of the combiner")

    def _restore_tracker(self, state: Any, tracked: set[int]) -> None:
        levels, sides = len(self.coverage.levels), self.coverage.sides
        counts = np.asarray(state["counts"], dtype=np.float64)
        stride = 1 + levels * sides + levels
        if counts.size != stride * len(self.groups):
            raise ValueError(f"corrupt file: expected counts of {len(self.groups)} groups; found {counts.size} numbers")
        table = counts.reshape(-1, stride)
        whole = np.isfinite(table).all() and (table == np.floor(table)).all() and (table >= 0.0).all()
        if not whole or not (table < fields.MOST).all() or not (table <= table[:, :1]).all():
            raise ValueError("corrupt file: counts must be integers, at most the settled rows")
        if not (table[1:] <= table[0]).all():
            raise ValueError("corrupt file: counts of a group must be at most those of all rows")
        misses, both = table[:, 1 : 1 + levels * sides], table[:, 1 + levels * sides :]
        if sides == 1 and both.any():
            raise ValueError("corrupt file: one-sided intervals have no rows missed at both ends")
        if sides == 2:
            each = misses.reshape(len(table), levels, 2)
            if not (both <= each.min(axis=2)).all() or not (each.sum(axis=2) - both <= table[:, :1]).all():
                raise ValueError("corrupt file: rows missed at both ends differ from the misses of the ends")
        sums = np.asarray(state["sums"], dtype=np.float64)
        if np.isnan(sums).any():
            raise ValueError("corrupt file: sums of intervals must be numbers")
        rows = _rows(state["open"], tracked)
        for numbers, groups in rows.values():
            numbers, groups = np.asarray(numbers, dtype=np.float64), np.asarray(groups, dtype=np.int64)
            fine = np.isfinite(numbers).all() and len(set(groups.tolist())) == groups.size
            if not fine or groups.size > self.most_groups:
                raise ValueError("corrupt file: open rows need finite ends and different groups")
        if fields.whole(state["most_open"], "open rows") < len(tracked):
            raise ValueError("corrupt file: the largest number of open rows is below the number of open rows")
        tickets = {
            row: (np.asarray(x, dtype=np.float64), np.asarray(g, dtype=np.int64)) for row, (x, g) in rows.items()
        }
        self._tracker.restore({"counts": counts, "sums": sums, "most_open": state["most_open"], "open": tickets})

    def _checked_intervals(self, state: Any, open_: set[int]) -> dict[str, Any]:
        arrays = {name: np.asarray(state[name], dtype=np.float64) for name in ("recent", "weight", "sums")}
        windows = [np.asarray(line, dtype=np.float64) for line in fields.items(state["windows"], "windows")]
        rows = {row: np.asarray(x, dtype=np.float64) for row, x in _rows(state["open"], open_).items()}
        for array in (*arrays.values(), *windows, *rows.values()):
            if not np.isfinite(array).all():
                raise ValueError("corrupt file: numbers of intervals must be finite")
        settled = arrays["sums"][1] if arrays["sums"].size == 4 else -1.0
        if settled != np.floor(settled) or not 0.0 <= settled < fields.MOST:
            raise ValueError("corrupt file: the number of settled rows must be an integer")
        if settled > 0.0 and not (arrays["weight"] > 0.0).all():
            raise ValueError("corrupt file: weights of the scales must be positive")
        if (
            (arrays["sums"][0] < 0.0)
            or (arrays["recent"] < 0.0).any()
            or any((x[1:] < 0.0).any() for x in rows.values())
        ):
            raise ValueError("corrupt file: scales must not be negative")
        return {**arrays, "windows": windows, "open": rows}


def _rows(rows: Any, expected: set[int]) -> dict[int, Any]:
    """Return open rows by number, after comparing them with the expected ones."""
    if not isinstance(rows, dict) or sorted(rows) != sorted(map(str, expected)):
        raise ValueError("corrupt file: open rows of intervals differ from those of the combiner")
    return {int(row): ticket for row, ticket in rows.items()}
