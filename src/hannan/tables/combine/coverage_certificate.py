"""Certificate of coverage: counts of settled rows, bounds before play, and the cost of the coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.mathematics.bounds import Withheld, rounded_up
from hannan.saving.formatting import ceiling, counted, figure
from hannan.saving.result import Result, Shown, plain

#: Name of the group of all rows.
ALL = "all"
#: Page with the theorems.
PROOFS = "docs/proofs/coverage.md"
#: Number of groups that are printed: those whose coverage is farthest from the requested one.
GROUPS = 12
#: Largest shift of an end, as theta: the engine's `largest_shift`.
LARGEST_SHIFT = 300.0

# Fixed sentences of results; each is covered by tests/tables/test_coverage_certificate.py.
#: Scope of the counts.
SETTLED_ONLY = "counts cover settled rows only; nothing is certified about rows that are never settled"
#: Reason for no bound before play.
NO_LIMIT = "no limit of the distances of targets was stated before play (within=)"
#: Scope of the cost with groups.
NO_COST_BOUND = "no bound is proved with groups"


@dataclass(frozen=True)
class GroupCount:
    """Settled rows of a group; per coverage, rows with targets below, above, and at both sides of an empty interval."""

    name: str
    rows: int
    below: tuple[int, ...]
    above: tuple[int, ...]
    both: tuple[int, ...]

    @classmethod
    def of(cls, name: str, counts: Any, levels: int, sides: int, lower: bool) -> GroupCount:
        """Return the counts of a group from those of the engine: rows, misses per end, rows missed at both ends."""
        rows, *each = (int(x) for x in counts)
        misses, both = each[: levels * sides], each[levels * sides :]
        none = (0,) * levels
        below = tuple(misses[::sides]) if lower else none
        above = none if sides == 1 and lower else tuple(misses[sides - 1 :: sides])
        return cls(name, rows, below, above, tuple(both))

    def covered(self, k: int = 0) -> int:
        """Return the number of settled rows whose target was in the interval."""
        return self.rows - self.below[k] - self.above[k] + self.both[k]

    def coverage(self, k: int = 0) -> float:
        """Return the share of settled rows whose target was in the interval; NaN without rows."""
        return self.covered(k) / self.rows if self.rows else math.nan


@dataclass(frozen=True)
class CoverageCertificate(Result):
    """What is certified about the coverage of prediction intervals.

    Parameters
    ----------
    levels : tuple of float
        Requested coverages, ascending.
    side : {"both", "lower", "upper"}
        Ends of the intervals.
    rates : tuple of float
        Target miss rate of an end, per coverage.
    groups : tuple of GroupCount
        Counts of all rows, then of each group.
    steps : tuple of float
        Step and start of the state of all rows, and step of the state of a group.
    within : float or None
        Limit of the distances of targets from the base ends that was stated before play, in units.
    open, most_open : int
        Rows that wait for their targets, now and at most.
    most_groups : int
        Largest number of groups of a row.
    warm_up, warming : int
        Rows that were answered with (-inf, inf) and are not counted: settled, and open.
    forgotten : int
        Rows that were closed without a target.
    beyond : float
        Largest distance of a target from a base end, in units.
    cost : tuple of float
        Per coverage, pinball loss of the ends minus that of the base ends, each row divided by its unit.
    cost_bound : tuple of float or None
        Per coverage, bound on the cost, computed from the settled rows.
    series : int
        Number of series; each has separate intervals.
    base : str
        Description of the base ends.

    Notes
    -----
    The counts are exact. For each end, the miss rate of the settled rows minus its target rate equals
    `(theta - start) / (step * rows)`, on every sequence of targets (docs/proofs/coverage.md).

    Examples
    --------
    >>> import hannan as hn
    >>> live = hn.Conformal(["a"], coverage=0.8)
    >>> for t in range(100):
    ...     low, high = live.answer(t, [0.0])
    ...     live.settle(t, float(t % 7))
    >>> told = live.certificate()
    >>> told.groups[0].rows, told.warm_up, told.coverage
    (80, 20, 0.875)
    """

    levels: tuple[float, ...]
    side: str
    rates: tuple[float, ...]
    groups: tuple[GroupCount, ...]
    steps: tuple[float, float, float]
    within: float | None
    open: int
    most_open: int
    most_groups: int
    warm_up: int
    warming: int
    forgotten: int
    beyond: float
    cost: tuple[float, ...]
    cost_bound: tuple[float | None, ...] = field(repr=False)
    series: int = 1
    base: str = ""

    @property
    def rows(self) -> int:
        """Number of settled rows that are counted."""
        return self.groups[0].rows

    @property
    def coverage(self) -> float:
        """Share of settled rows in the widest interval."""
        return self.groups[0].coverage(len(self.levels) - 1)

    @property
    def grouped(self) -> bool:
        """True if rows had groups."""
        return self.most_groups > 0

    @property
    def ends(self) -> tuple[str, ...]:
        """Names of the ends of an interval."""
        return {"both": ("below", "above"), "lower": ("below",), "upper": ("above",)}[self.side]

    def theta(self, group: GroupCount, end: str, k: int = 0) -> float:
        """Return the state of an end ("below" or "above") of a group, which is a function of two counts.

        Parameters
        ----------
        group : GroupCount
            Counts of a group.
        end : {"below", "above"}
            End of the interval.
        k : int, default 0
            Index of the coverage.

        Returns
        -------
        float
            State of the end.
        """
        step, start, group_step = self.steps
        misses: float = getattr(group, end)[k] - self.rates[k] * group.rows
        return start + step * misses if group.name == ALL else group_step * misses

    def identity(self, group: GroupCount, end: str, k: int = 0) -> tuple[float, float]:
        """Return both sides of the coverage identity: miss rate minus target rate, and the same from the state.

        Parameters
        ----------
        group : GroupCount
            Counts of a group.
        end : {"below", "above"}
            End of the interval.
        k : int, default 0
            Index of the coverage.

        Returns
        -------
        tuple of float
            Both sides of the identity.
        """
        step, start, group_step = self.steps
        if group.name != ALL:
            step, start = group_step, 0.0
        miss = getattr(group, end)[k] / group.rows - self.rates[k]
        return miss, (self.theta(group, end, k) - start) / (step * group.rows)

    def bound(
        self,
        rows: int | None = None,
        *,
        within: float | None = None,
        open_rows: int | None = None,
        level: float | None = None,
    ) -> float:
        """Return a bound on the distance of the miss rate of each end from its target rate.

        Parameters
        ----------
        rows : int, optional
            Number of settled rows. Default: that of this certificate.
        within : float, optional
            Limit of the distances of targets from the base ends, in units. Default: the limit stated before play.
        open_rows : int, optional
            Largest number of simultaneously open rows. Default: that of this certificate.
        level : float, optional
            Requested coverage. Default: the largest.

        Returns
        -------
        float
            Bound, rounded up.

        Raises
        ------
        Withheld
            If no limit was stated, if it was exceeded, or if no bound is proved.
        """
        limit = self.within if within is None else within
        if limit is None:
            raise Withheld(NO_LIMIT)
        if self.beyond > limit:
            raise Withheld(f"a target was {figure(self.beyond)} units from a base end; the limit is {limit:g}")
        n, most = self.rows if rows is None else rows, max(1, self.most_open if open_rows is None else open_rows)
        if n < 1:
            raise Withheld("no row is settled")
        k = len(self.levels) - 1 if level is None else self.levels.index(level)
        reach = math.asinh(limit)
        if reach > LARGEST_SHIFT:
            raise Withheld(f"within is too large; got {limit:g}")
        if self.grouped:
            if self.series > 1:
                raise Withheld("no bound is proved for many series with groups; the counts of each series are exact")
            if k > 0:
                raise Withheld("no bound is proved for nested intervals with groups, except for the smallest coverage")
            return rounded_up(self._grouped_bound(n, reach, most)[0])
        return rounded_up(self._single_bound(n, reach, most, k))

    def _single_bound(self, n: int, reach: float, most: int, k: int) -> float:
        """Return the bound of Theorem 2; a wider interval has at least the range of the narrower one."""
        step, start, _ = self.steps
        reach = max(reach, start)
        up, down = 0.0, 0.0
        for j, rate in enumerate(self.rates[: k + 1]):
            below = reach + step * rate * most
            if j:
                before = 1.0 - self.rates[j - 1]
                below += up + down + step * before * (most - 1)
            up, down = reach + step * (1.0 - rate) * most, below
        return self.series * max(up - start, down + start) / (step * n)

    def _grouped_bound(self, n: int, reach: float, most: int) -> tuple[float, float]:
        """Return (bound of Theorem 4 for all rows, W); the number of misses is iterated from its largest value."""
        step, start, group_step = self.steps
        rate = self.rates[0]
        hit, total = 1.0 - rate, step + group_step * self.most_groups
        misses, bound, energy = float(n), 1.0, 0.0
        for _ in range(100):
            energy = start**2 / step + 2.0 * (hit * reach * misses + rate * reach * (n - misses))
            energy += total * (hit**2 * misses + rate**2 * (n - misses)) + 2.0 * hit**2 * total * n * (most - 1)
            bound = math.sqrt(energy / step) / n + start / (step * n)
            fewer = min(misses, n * min(1.0, rate + bound))
            if fewer >= misses:
                break
            misses = fewer
        return bound, energy

    def worst(self, most: int = GROUPS) -> list[tuple[GroupCount, int]]:
        """Return the (group, coverage) pairs whose coverage is farthest below the requested coverage.

        Parameters
        ----------
        most : int, default 12
            Largest number of pairs.

        Returns
        -------
        list of (GroupCount, int)
            Group and index of the coverage.
        """
        told = [(g, k) for g in self.groups[1:] if g.rows for k in range(len(self.levels))]
        told.sort(key=lambda one: one[0].coverage(one[1]) - self.levels[one[1]])
        return told[:most]

    def shown(self) -> Shown:
        """Return the counts, the bounds and the cost.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        group = self.groups[0]
        if not group.rows:
            title = "Intervals: no row is settled"
        else:
            title = "Intervals: " + ", ".join(
                f"{figure(100 * group.coverage(k))}% of {counted(group.rows, 'settled row')} covered"
                f" (requested: {100 * level:g}%)"
                for k, level in enumerate(self.levels)
            )
        rows = self.lines()
        assumptions = [("settled rows", SETTLED_ONLY)]
        return Shown(title, rows, (), (), assumptions, [("theorem", PROOFS)])

    def lines(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs: coverage, groups, bounds before play, cost and base.

        Returns
        -------
        list of (str, str)
            Names and texts.
        """
        group, rows = self.groups[0], []
        for k, level in enumerate(self.levels):
            name = "coverage" if len(self.levels) == 1 else f"coverage {100 * level:g}%"
            if not group.rows:
                rows.append((name, f"no row is settled (requested: {level:g}); {counted(self.open, 'row')} open"))
                continue
            parts = [f"{group.coverage(k):.5f} of {counted(group.rows, 'settled row')} (requested: {level:g})"]
            sides = [f"{getattr(group, end)[k]} {end} ({getattr(group, end)[k] / group.rows:.4f})" for end in self.ends]
            parts.append("targets " + ", ".join(sides))
            if group.both[k]:
                parts.append(f"{group.both[k]} at both ends of an empty interval")
            parts.append(f"{counted(self.open, 'row')} open")
            rows.append((name, "; ".join(parts)))
        if self.warm_up or self.warming:
            many = counted(self.warm_up + self.warming, "row")
            rows.append(("warm-up", f"{many} answered with the whole line and not counted"))
        if self.forgotten:
            rows.append(("no target", f"{counted(self.forgotten, 'row')} closed without a target and not counted"))
        worst = self.worst()
        rows += [
            (one.name, f"{one.coverage(k):.3f} of {counted(one.rows, 'settled row')}" + self._requested(k))
            for one, k in worst
        ]
        more = sum(1 for one in self.groups[1:] if one.rows) * len(self.levels) - len(worst)
        if more > 0:
            rows.append(("other groups", f"{more} with coverage closer to the requested one"))
        rows += self._before_play()
        for k, level in enumerate(self.levels):
            bound = self.cost_bound[k]
            name = "cost" if len(self.levels) == 1 else f"cost {100 * level:g}%"
            if not math.isfinite(self.cost[k]):
                rows.append((name, "not finite: a row had a unit close to 0"))
                continue
            text = f"{figure(self.cost[k])} units"
            if self.grouped:
                text += f" (observed; {NO_COST_BOUND})"
            elif bound is not None:
                text += f" <= {ceiling(bound)} units"
            rows.append((name, f"{text}: pinball loss above that of the base ends, each row divided by its unit"))
        if self.base:
            rows.append(("base", self.base))
        return rows

    def _requested(self, k: int) -> str:
        return "" if len(self.levels) == 1 else f" (requested: {self.levels[k]:g})"

    def _before_play(self) -> list[tuple[str, str]]:
        if not self.rows:
            return []
        rows = []
        for k, level in enumerate(self.levels):
            name = "before play" if len(self.levels) == 1 else f"before play {100 * level:g}%"
            try:
                bound = self.bound(level=level)
            except Withheld as why:
                rows.append((name, f"no bound: {why}"))
                if self.within is None:
                    return [("before play", f"no bound: {why}")]
                continue
            if bound >= 0.5:
                rows.append((name, f"no useful bound after {counted(self.rows, 'settled row')}"))
                continue
            rows.append((
                name, f"each end misses {self.rates[k]:g} +- {ceiling(bound)} of {counted(self.rows, 'settled row')}, "
                f"if every target lies within {self.within:g} units of its base ends and at most "
                f"{counted(self.most_open, 'row')} are open simultaneously (observed: {figure(self.beyond)} units, "
                f"{counted(self.most_open, 'row')})",
            ))  # fmt: skip
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate for JSON: exact counts per group, bounds and cost.

        Returns
        -------
        dict
            The certificate.
        """
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate for JSON: exact counts per group, bounds and cost.

        Returns
        -------
        dict
            Counts, bounds, cost and assumptions.
        """
        bounds: list[dict[str, Any]] = []
        for k, level in enumerate(self.levels):
            try:
                before: tuple[float | None, str | None] = self.bound(level=level), None
            except Withheld as why:
                before = None, str(why)
            bounds.append({
                "requested": level, "rate": self.rates[k], "bound": before[0], "bound_withheld": before[1],
                "cost": self.cost[k], "cost_bound": self.cost_bound[k],
                "cost_bound_withheld": NO_COST_BOUND if self.grouped else None,
                **self._counts(self.groups[0], k),
            })  # fmt: skip
        return dict(plain({
            "side": self.side, "settled": self.rows, "open": self.open, "most_open": self.most_open,
            "warm_up": self.warm_up, "warming": self.warming, "forgotten": self.forgotten, "within": self.within,
            "largest_distance": self.beyond, "coverages": bounds,
            "groups": [
                {"group": one.name, "rows": one.rows, "coverages": [
                    {"requested": level, **self._counts(one, k)} for k, level in enumerate(self.levels)]}
                for one in self.groups[1:]
            ],
            "scope": SETTLED_ONLY, "theorem": PROOFS,
        }))  # fmt: skip

    @staticmethod
    def _counts(one: GroupCount, k: int) -> dict[str, Any]:
        return {"coverage": one.coverage(k), "covered": one.covered(k), "below": one.below[k], "above": one.above[k],
                "both": one.both[k]}  # fmt: skip


def joined(parts: Sequence[CoverageCertificate]) -> CoverageCertificate:
    """Return the certificate of several series: counts and costs are sums, and no bound is stated."""
    first = parts[0]
    sums: dict[str, Any] = {}
    for part in parts:
        for one in part.groups:
            each = np.array([[one.rows] * len(first.levels), one.below, one.above, one.both])
            sums[one.name] = each if one.name not in sums else sums[one.name] + each
    groups = tuple(
        GroupCount(name, int(x[0][0]), *(tuple(int(v) for v in row) for row in x[1:])) for name, x in sums.items()
    )
    total = {name: sum(getattr(part, name) for part in parts) for name in ("open", "warm_up", "warming", "forgotten")}
    costs = tuple(np.sum([part.cost for part in parts], axis=0).tolist())
    bounds = tuple(
        None if any(bound is None for bound in each) else float(sum(bound for bound in each if bound is not None))
        for each in zip(*(part.cost_bound for part in parts), strict=True)
    )
    return CoverageCertificate(
        first.levels, first.side, first.rates, groups, first.steps, first.within,
        most_open=max(part.most_open for part in parts), most_groups=max(part.most_groups for part in parts),
        beyond=max(part.beyond for part in parts), cost=costs, cost_bound=bounds, series=len(parts), base=first.base,
        **total,
    )  # fmt: skip
