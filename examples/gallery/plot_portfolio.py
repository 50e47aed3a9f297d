"""
Portfolio selection on the simplex
==================================

A portfolio x multiplies the wealth by <r, x> on a day with price ratios r. Its loss is -log <r, x>, which is convex in
x. Hedge with scale 1 on the losses -log r_i holds the share of each stock in the wealth: it buys ten equal parts and
holds them. Its log-wealth is at least that of the best stock minus log 10, for every sequence of prices. AdaHedge
rebalances according to the losses.

:Data: ``river.datasets.SP500Stocks``, in the package river (BSD-3): daily returns of ten stocks of the S&P 500, 2013
    to 2018.
"""

# %%
# The table contains returns in percent.
import matplotlib.pyplot as plt
import numpy as np
from river import datasets

import hannan as hn

names = list(next(iter(datasets.SP500Stocks()))[0])
ratios = 1 + np.array([[x[name] for name in names] for x, _ in datasets.SP500Stocks()]) / 100
best = int(ratios.prod(axis=0).argmax())

# %%
# The scale is in units of the range of the losses: 1 nat is half of the range of [-1, 1].
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
# AdaHedge puts more weight on stocks with large returns. It is ahead of equal parts here, which is not guaranteed.
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name, path in wealth.items():
    ax.plot(path, label=f"{name}: {path[-1]:.2f}")
ax.set(xlabel="trading days", ylabel="wealth (initially 1)", yscale="log", yticks=[1, 2, 3, 4, 5, 6])
ax.set_yticks([], minor=True)
ax.yaxis.set_major_formatter("{x:g}")
ax.legend(frameon=False)
plt.show()

# %%
# Ten equal parts, held, are within log 10 of the best stock, as proved. The other strategies here have no such
# guarantee.
behind = np.log(wealth[f"{names[best]}, the best stock"][-1] / wealth["buy and hold (Hedge, scale 1)"][-1])
print(f"log-wealth behind the best stock: {behind:.3f} <= log 10 = {np.log(10):.3f}")
