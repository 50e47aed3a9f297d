"""
Audit the stability of a learner
================================

A learner has small regret if one additional loss changes its distribution only a little. This *stability* is the
number that differential privacy calls epsilon. Each perturbation distribution claims a level: the largest decrease of
the logarithm of a probability in one round. An audit searches for violations of the claim. The picture shows the
realized decreases on real losses.

:Data: ``river.datasets.SP500Stocks``, in the package river (BSD-3): daily returns of ten stocks of the S&P 500, 2013
    to 2018.
"""

# %%
# Losses in [0, 1]: the difference of each return from that of the best stock of the day, in units of 10%.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

import hannan as hn

returns = np.array([list(x.values()) for x, _ in datasets.SP500Stocks()])
losses = np.minimum((returns.max(axis=1, keepdims=True) - returns) / 10, 1.0)
L = np.vstack([np.zeros(losses.shape[1]), np.cumsum(losses, axis=0)])

# %%
# All learners have the same scale. Exponential noise attains its claim; Gumbel noise is Hedge.
laws = {"Exponential": hn.Exponential(), "Gumbel (Hedge)": hn.Gumbel(), "Gamma(2)": hn.Gamma(2.0)}
levels = {}
for name, law in laws.items():
    phi = hn.FTPL(law, scale=4.0)
    found = hn.audit(phi, n=losses.shape[1])
    play = phi.gradient(L)
    levels[name] = np.array([hn.max_divergence(p, q) for p, q in pairwise(play)])
    print(
        f"{name:<15} claims {found.claim.level:.4f}, the audit reached {found.measured:.4f} ({found.verdict}); "
        f"five years of stocks reached {levels[name].max():.4f}"
    )

# %%
# Each dot is a day. The dashed line is the claim, which no losses in [0, 1] can exceed. The audit found losses that
# come close to it.
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, realised in levels.items():
    ax.plot(realised, ".", ms=3, alpha=0.5, label=name)
ax.axhline(hn.FTPL(hn.Exponential(), scale=4.0).stability(losses.shape[1]).level, color="0.3", ls="--", lw=1)
ax.set(xlabel="trading day", ylabel="largest log(p before / p after)", ylim=(0, None))
ax.set_title("How far one day moves the play, and the most it can")
ax.legend(frameon=False, markerscale=4)
plt.show()
