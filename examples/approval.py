"""Five pollsters, one number: a president's approval, day by day. `make demo` ends with it.

python examples/approval.py [folder]        # with a folder: the forecasts, the weights and a page too
"""

from __future__ import annotations

import sys

import real_data

import hannan as hn
from hannan.tables.combine.function import Combined

#: The longest bar, in characters.
WIDE = 46


def combined(loss: str = "absolute") -> Combined:
    """The pollsters combined; `time` makes sure that no day comes twice."""
    told: Combined = hn.combine(real_data.approval(), "y", loss, experts=real_data.POLLSTERS, time="day")
    return told


def bars(told: Combined) -> list[str]:
    """Mean losses, the least first, as lines for a terminal."""
    summary = told.summary
    losses = {expert.name: expert.loss for expert in summary.experts}
    losses |= {"THE COMBINATION": summary.mix_loss, "average of the five": summary.mean_loss}
    losses |= {"median of the five": summary.median_loss, "best fixed mix (hindsight)": summary.oracle.loss or 0.0}
    most = max(losses.values())
    return [
        f"  {name:<27} {'█' * round(WIDE * loss / most):<{WIDE}} {loss / summary.settled:.2f}"
        for name, loss in sorted(losses.items(), key=lambda pair: pair[1])
    ]


def main(folder: str | None = None) -> None:
    """Print what it came to, and show it."""
    told = combined()
    print(told)
    print(f"\nFive pollsters, combined day by day: {told.summary.headline}.\nMean error, in points of approval:\n")
    print("\n".join(bars(told)))
    if folder is not None:
        told.save(folder)
        print(f"\nweights over time, and what is proved: {folder}/index.html")


if __name__ == "__main__":
    main(*sys.argv[1:2])
