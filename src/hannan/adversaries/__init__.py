"""Adversaries: loss sequences fixed in advance, and adversaries that react to the learner.

A sequence is a function of (rounds, n, seed) that returns a C-contiguous float64 array of shape (rounds, n) with losses
in [0, 1]; the same arguments give the same array. The functions whose name ends in `_means` return the means only, as
a `Bernoulli` object, for games that draw the losses while they run. `greedy` computes a sequence that is bad for one
learner. The adversaries of `hannan.adversaries.adaptive` see the past moves during a game and react to them.
"""

from __future__ import annotations

from collections.abc import Callable

from hannan.adversaries.adaptive import (
    ChargeTheLast,
    ChargeTheLastPoint,
    ChargeTheLikely,
    Past,
    SpareTheUnlikely,
    Twin,
    adaptive_adversaries,
)
from hannan.adversaries.greedy import greedy
from hannan.adversaries.sequences import (
    Bernoulli,
    all_ones,
    alternating_leader,
    bandits_lower_bound,
    bandits_lower_bound_means,
    cyclic,
    drifting,
    drifting_means,
    experts_lower_bound,
    small_best_loss,
    stochastic,
    stochastic_means,
    stochastically_constrained,
    stochastically_constrained_means,
    switching,
    switching_means,
)
from hannan.validation import Array

__all__ = [
    "Bernoulli",
    "ChargeTheLast",
    "ChargeTheLastPoint",
    "ChargeTheLikely",
    "Past",
    "SpareTheUnlikely",
    "Twin",
    "adaptive_adversaries",
    "all_adversaries",
    "all_ones",
    "alternating_leader",
    "bandits_lower_bound",
    "bandits_lower_bound_means",
    "cyclic",
    "drifting",
    "drifting_means",
    "experts_lower_bound",
    "greedy",
    "small_best_loss",
    "stochastic",
    "stochastic_means",
    "stochastically_constrained",
    "stochastically_constrained_means",
    "switching",
    "switching_means",
]


def all_adversaries() -> dict[str, Callable[..., Array]]:
    """Return all adversaries that are functions of (rounds, n, seed=0).

    Returns
    -------
    dict of str to callable
        Functions that return losses of shape (rounds, n), by name.

    Examples
    --------
    >>> sorted(all_adversaries())[:3]
    ['all_ones', 'alternating_leader', 'bandits_lower_bound']
    >>> {f(100, 3, seed=7).shape for f in all_adversaries().values()}
    {(100, 3)}
    """
    functions = (
        all_ones,
        alternating_leader,
        bandits_lower_bound,
        cyclic,
        drifting,
        experts_lower_bound,
        small_best_loss,
        stochastic,
        stochastically_constrained,
        switching,
    )
    return {function.__name__: function for function in functions}
