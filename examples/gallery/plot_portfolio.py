"""
Ten stocks: log-wealth on the simplex
=====================================

A portfolio x multiplies by <r, x> in a day whose ratios are r; its loss is -log <r, x>, which is convex in x. Hedge
at scale 1 on the losses -log r_i holds each stock's share of the wealth: it buys ten equal parts and holds, and its
log-wealth is within log 10 of the best stock's, whatever happens. AdaHedge rebalances as the losses tell it.

:Data: ``river.datasets.SP500Stocks``, in the package river (BSD-3): daily returns of ten stocks of the S&P 500, 2013
    to 2018.
"""

# %%
# The table has returns in percent.
import matplotlib.pyplot as plt
import numpy as np
from river import datasets

import hannan as hn

names = list(next(iter(datasets.SP500Stocks()))[0])
ratios = 1 + np.array([[x[name] for name in names] for x, _ in datasets.SP500Stocks()]) / 100
best = int(ratios.prod(axis=0).argmax())

# %%
# A scale is in units of the range of the losses: 1 nat is one half of [-1, 1].
learners = {
    "buy and hold (Hedge, scale 1)": hn.Experts(10, hn.Entropy(), hn.Fixed(0.5), loss_range=(-1.0, 1.0)),
    "AdaHedge": hn.AdaHedge(10),
}
wealth = {f"{names[best]}, the best stock": ratios[:, best].cumprod()}
for name, learner in learners.items():
    player, grown = learner.start(seed=0), []
    for row in ratios:
        grown.append(player.distribution() @ row)
        player.observe(player.act(), -np.log(row))
    wealth[name] = np.cumprod(grown)

wealth["equal parts, rebalanced every day"] = ratios.mean(axis=1).cumprod()

# %%
# AdaHedge leans towards what did well, and is ahead of equal parts here; that is luck, and no promise.
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name, path in wealth.items():
    ax.plot(path, label=f"{name}: {path[-1]:.2f}")
ax.set(xlabel="trading days", ylabel="what 1 became", yscale="log", yticks=[1, 2, 3, 4, 5, 6])
ax.set_yticks([], minor=True)
ax.yaxis.set_major_formatter("{x:g}")
ax.legend(frameon=False)
plt.show()

# %%
# Ten equal parts, held, are within log 10 of the best stock, as proved; nobody else here is promised as much.
behind = np.log(wealth[f"{names[best]}, the best stock"][-1] / wealth["buy and hold (Hedge, scale 1)"][-1])
print(f"log-wealth behind the best stock: {behind:.3f} <= log 10 = {np.log(10):.3f}")
