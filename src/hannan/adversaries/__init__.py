"""Loss sequences to play against: each a function of (rounds, n, seed) that returns losses in [0, 1].

The array is float64, C-contiguous and of shape (rounds, n); the same arguments give the same array. The
`*_means` functions give the means alone, as a `Bernoulli` description, for games that toss the coins
themselves. `greedy` takes a learner instead and answers it round by round.

Those of `hannan.adversaries.adaptive` are no arrays: they see past moves while a game is played, and answer them.
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
    """Every adversary that is a function of (rounds, n, seed=0), by name.

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
