"""Five pollsters, one number: a president's approval, day by day.

The target is FiveThirtyEight's own model. Nobody says how large an error can be, so the scale-free AdaHedge plays,
and its bound is in the range that was observed.
"""

from __future__ import annotations

import real_data

import hannan as hn
from hannan.report import Picture
from hannan.tables.combine.function import Combined
from hannan.tables.figures import curve, lines


def combined(loss: str = "absolute") -> Combined:
    """The pollsters combined; `time` makes sure that no day comes twice."""
    return hn.combine(real_data.approval(), "y", loss, experts=real_data.POLLSTERS, time="day")


def picture() -> Picture:
    """The weight of each pollster over time."""
    told = combined()
    curves = told.summary.curves
    rows = [row for i, name in enumerate(told.experts) for row in curve(curves.rows, curves.weights[:, i], name)]
    alt = "Weights of five pollsters over 1,001 days; " + ", ".join(
        f"{expert.name} ends at {expert.weight:.2f}" for expert in told.summary.experts
    )
    return lines("Approval polls: the weight of each pollster", "weight", rows, alt, x_title="day").picture


def main() -> None:
    """Print what it came to, for two losses."""
    for loss in ("absolute", "squared"):
        print(combined(loss), end="\n\n")


if __name__ == "__main__":
    main()
