"""The sequences behind the lower bounds: no learner can do better than this on them."""

from __future__ import annotations

import math

import numpy as np

from hannan import refusals
from hannan.adversaries.bernoulli import Bernoulli, stream
from hannan.refusals import Array


def experts_lower_bound(rounds: int, n: int, seed: int = 0) -> Array:
    """l_{t,i} ~ Bernoulli(1/2), fair coins, independent.

    Every learner's expected loss is T/2, so every learner's expected regret is T/2 - E min_i sum_t l_{t,i},
    which is sqrt(T ln(n)/2)(1 + o(1)): no bound of experts can have a smaller constant (Cesa-Bianchi and
    Lugosi 2006, Theorem 3.7).

    >>> losses = experts_lower_bound(10_000, 2)
    >>> losses.mean(axis=0).round(2).tolist()
    [0.5, 0.51]
    """
    n = refusals.count(n, "n")
    return Bernoulli(np.full(n, 0.5), rounds).draw(seed)


def bandits_lower_bound(rounds: int, n: int, seed: int = 0, gap: float | None = None) -> Array:
    """l_{t,i} ~ Bernoulli(1/2 - gap) for one good arm, drawn uniformly, and Bernoulli(1/2) for the others.

    `gap` defaults to min(1, sqrt(n/T))/4. For n >= 2 every bandit learner's expected regret, over the good
    arm and the coins too, is then at least min(sqrt(nT), T)/20 (Auer, Cesa-Bianchi, Freund and Schapire 2002,
    Theorem 5.1): T rounds are too few to tell the good arm from the rest.

    >>> losses = bandits_lower_bound(40_000, 2, gap=0.25)
    >>> sorted(losses.mean(axis=0).round(2).tolist())
    [0.25, 0.5]
    """
    return bandits_lower_bound_means(rounds, n, seed, gap).draw(seed)


def bandits_lower_bound_means(rounds: int, n: int, seed: int = 0, gap: float | None = None) -> Bernoulli:
    """The means of `bandits_lower_bound`.

    >>> sorted(bandits_lower_bound_means(10_000, 4).means.tolist())
    [0.495, 0.5, 0.5, 0.5]
    """
    rounds, n = refusals.count(rounds, "rounds"), refusals.count(n, "n")
    if gap is None:
        gap = min(1.0, math.sqrt(n / rounds)) / 4.0
    means = np.full(n, 0.5)
    means[stream(seed, "means").integers(n)] = 0.5 - refusals.between(gap, 0.0, 0.5, "gap")
    return Bernoulli(means, rounds)
