"""
Five pollsters and their combination
====================================

Five pollsters estimate how many people approve of their president, and each is biased. The combination weights them
day by day, with weights that are learned from the days before, and is closer to the target than each pollster.

Neither the size of the errors nor the best pollster is known in advance. ``hn.combine`` uses two layers of a scale-free
rule. At the end it prints proved bounds on its loss relative to the average, to each pollster and to the best fixed
combination of them.

:Data: ``river.datasets.TrumpApproval``, in the package river (BSD-3); polls and target by FiveThirtyEight, CC BY 4.0.
"""

# %%
# The target is the model of FiveThirtyEight. Each day is answered before its target is used.
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
# The first printed line compares the losses. Top: the combination follows the target, although all pollsters are
# biased. Bottom: the weights of the pollsters.
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
# A combination can be better than each of the pollsters, because their errors differ. Here it is even better than the
# best fixed combination in hindsight, which is printed above, because the pollsters change their methods and the
# weights adapt.
