"""
Five pollsters, one number
==========================

Five pollsters ask how many people approve of their president. None of them is right, and each leans its own way.
Which one should you believe today? None: combine them, day by day, with weights that learn from the days before.

Nothing is told beforehand: neither how large an error can be, nor who is good. ``hn.combine`` plays two layers of a
scale-free rule, and holds at the end what it is proved to lose at most beside the average, beside each pollster and
beside the best fixed combination of them.

:Data: ``river.datasets.TrumpApproval``, in the package river (BSD-3); polls and target by FiveThirtyEight, CC BY 4.0.
"""

# %%
# The target is FiveThirtyEight's own model of the day; a day is answered before its target is used.
from datetime import date

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

import hannan as hn

rows = list(datasets.TrumpApproval())
pollsters = ["gallup", "ipsos", "morning_consult", "rasmussen", "you_gov"]
table = {name: np.array([x[name] for x, _ in rows]) for name in pollsters}
table["day"] = [date.fromordinal(x["ordinal_date"]).isoformat() for x, _ in rows]
table["approval"] = np.array([y for _, y in rows])

told = hn.combine(table, "approval", experts=pollsters, time="day")
print(told)

# %%
# The first line of what it prints is the answer. Above, the combination follows the target though all pollsters lean
# one way or another; below, who had which share of it.
days = np.array(table["day"], dtype="datetime64[D]")
fig, (above, below) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
for name in pollsters:
    above.plot(days, table[name], color="0.75", lw=0.8)
above.plot([], [], color="0.75", label="the five pollsters")
above.plot(days, table["approval"], color="black", lw=1.6, label="FiveThirtyEight's model (the target)")
above.plot(days, told.forecast, color="tab:blue", lw=1.2, label="the combination")
above.set_ylabel("approval, %")
above.set_title(told.summary.headline)
above.legend(frameon=False)
below.stackplot(days, told.weights.T, labels=pollsters, alpha=0.85)
below.set(ylabel="weight", ylim=(0, 1))
below.legend(loc="upper center", ncols=5, fontsize="small", bbox_to_anchor=(0.5, -0.12), frameon=False)
plt.show()

# %%
# A mixture of five may be better than each of the five, because their errors differ; the best fixed mixture in
# hindsight is printed above too. The rule beats it here, since pollsters change how they work and the weights follow
# them.
