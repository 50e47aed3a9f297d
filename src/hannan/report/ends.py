"""Where lines end: dots with whiskers, and bars with whiskers where the lines coincide."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hannan.report.pictures import Layer, Row

#: Lines whose ends differ by less than this share of the largest look like one: some five points of a picture's height.
NEAR = 0.02


def coincide(ends: Sequence[float]) -> bool:
    """Whether two of the lines, drawn from 0, end so near to each other that they look like one.

    >>> coincide([10.0, 10.5, 40.0]), coincide([10.0, 12.0, 40.0]), coincide([7.0])
    (True, False, False)
    """
    ordered = sorted(ends)
    height = max([0.0, *ordered]) - min([0.0, *ordered])
    return any(b - a <= NEAR * height for a, b in pairwise(ordered))


def ends(rows: Sequence[Row], name: str, series: str | None = None) -> tuple[Layer, ...]:
    """The ends as layers over `name`, from rows that have `regret`, `low` and `high`.

    Dots keep apart what differs, on an axis of their own; but where lines coincide their ends are to be compared with
    each other from 0 on, and bars do that.
    """
    whiskers = Layer("spans", tuple(rows), x="regret", y=name, series=series)
    if not coincide([float(row["regret"]) for row in rows]):
        return (whiskers,)
    return Layer("across", tuple(rows), x="regret", y=name, series=series), whiskers


def how(rows: Sequence[Row]) -> str:
    """What is said of the choice, after a title."""
    return " (bars, since lines coincide)" if coincide([float(row["regret"]) for row in rows]) else ""
