"""Random sequences: coins whose means stay, alternate, switch or drift.

Every function here is the drawn form of a `*_means` function, which gives the same means as a `Bernoulli`
description, for games that toss the coins themselves.
"""

from __future__ import annotations

import numpy as np

from hannan import refusals
from hannan.adversaries.bernoulli import Bernoulli, stream
from hannan.refusals import Array


def stochastic(rounds: int, n: int, seed: int = 0, gap: float = 0.125, best: int = 0) -> Array:
    """l_{t,i} ~ Bernoulli((1 - gap)/2) if i = best, Bernoulli((1 + gap)/2) otherwise.

    The stochastic regime of Zimmert and Seldin (2021) and Honda et al. (2023), who take n = 8, gap = 0.125.

    >>> stochastic(10_000, 3, gap=0.5).mean(axis=0).round(2).tolist()
    [0.25, 0.76, 0.75]
    """
    return stochastic_means(rounds, n, gap, best).draw(seed)


def stochastic_means(rounds: int, n: int, gap: float = 0.125, best: int = 0) -> Bernoulli:
    """The means of `stochastic`.

    >>> stochastic_means(100, 3, gap=0.5).means.tolist()
    [0.25, 0.75, 0.75]
    """
    rounds, n, gap = _sizes(rounds, n, gap)
    means = np.full(n, (1.0 + gap) / 2.0)
    means[_arm(best, n)] = (1.0 - gap) / 2.0
    return Bernoulli(means, rounds)


def stochastically_constrained(
    rounds: int,
    n: int = 8,
    seed: int = 0,
    gap: float = 0.125,
    growth: float = 1.6,
    first: int = 10,
    best: int = 0,
) -> Array:
    """Bernoulli losses whose (best, other) means alternate between (0, gap) and (1 - gap, 1).

    Phase k = 0, 1, ... lasts floor(first growth^k) rounds; even phases have means (0, gap), odd ones
    (1 - gap, 1). The gap never changes, the level always does: an estimate that mixes the phases is fooled.
    The set-up of Zimmert and Seldin (2021) and Honda et al. (2023): n = 8, gap = 0.125, 10,000 rounds.

    >>> losses = stochastically_constrained(26, n=3)
    >>> losses[:10, 0].tolist() == [0.0] * 10          # the best arm never loses in phase 0
    True
    >>> losses[10:26, 1:].min()                        # and the others always do in phase 1
    np.float64(1.0)
    """
    return stochastically_constrained_means(rounds, n, gap, growth, first, best).draw(seed)


def stochastically_constrained_means(
    rounds: int, n: int = 8, gap: float = 0.125, growth: float = 1.6, first: int = 10, best: int = 0
) -> Bernoulli:
    """The means of `stochastically_constrained`.

    >>> stochastically_constrained_means(11, n=2).means[[0, 9, 10]].tolist()
    [[0.0, 0.125], [0.0, 0.125], [0.875, 1.0]]
    """
    rounds, n, gap = _sizes(rounds, n, gap)
    growth = refusals.real(growth, "growth")
    if growth < 1.0:
        raise ValueError(f"growth must be >= 1; got {growth!r}")
    first = refusals.count(first, "first")
    best = _arm(best, n)
    means = np.empty((rounds, n))
    start, phase = 0, 0
    while start < rounds:
        stop = start + int(min(rounds - start, first * growth**phase))
        means[start:stop] = 1.0 if phase % 2 else gap
        means[start:stop, best] = 1.0 - gap if phase % 2 else 0.0
        start, phase = stop, phase + 1
    return Bernoulli(means)


def switching(rounds: int, n: int, seed: int = 0, phases: int = 10, gap: float = 0.5) -> Array:
    """l_{t,i} ~ Bernoulli((1 - gap)/2) if i = b_t, Bernoulli((1 + gap)/2) otherwise; b_t changes.

    Round t = 0, 1, ... lies in phase floor(t phases/rounds); each phase has its own best arm, drawn uniformly
    among the arms other than the last phase's. Regret is against the best single arm, as everywhere.

    >>> switching(6, 2, phases=3, gap=1.0).argmin(axis=1).tolist()
    [1, 1, 0, 0, 1, 1]
    """
    return switching_means(rounds, n, seed, phases, gap).draw(seed)


def switching_means(rounds: int, n: int, seed: int = 0, phases: int = 10, gap: float = 0.5) -> Bernoulli:
    """The means of `switching`.

    >>> switching_means(6, 2, phases=2).means.shape
    (6, 2)
    """
    rounds, n, gap = _sizes(rounds, n, gap)
    phases = refusals.count(phases, "phases")
    rng = stream(seed, "means")
    best = np.empty(phases, dtype=np.int64)
    best[0] = rng.integers(n)
    for k in range(1, phases):
        # A jump of 1..n-1 places is uniform over the other arms.
        best[k] = (best[k - 1] + (rng.integers(1, n) if n > 1 else 0)) % n
    leader = best[np.arange(rounds) * phases // rounds]
    means = np.full((rounds, n), (1.0 + gap) / 2.0)
    means[np.arange(rounds), leader] = (1.0 - gap) / 2.0
    return Bernoulli(means)


def drifting(rounds: int, n: int, seed: int = 0, step: float | None = None) -> Array:
    """l_{t,i} ~ Bernoulli(m_{t,i}), each m a reflected Gaussian random walk on [0, 1].

    m_{0,i} is uniform and m_{t+1,i} = fold(m_{t,i} + step g_{t,i}) with standard normal g, where
    fold(x) = 1 - |1 - (x mod 2)| reflects at 0 and 1. `step` defaults to 1/sqrt(rounds): over the whole game
    a mean moves by about 1.

    >>> drifting(1000, 4).shape
    (1000, 4)
    """
    return drifting_means(rounds, n, seed, step).draw(seed)


def drifting_means(rounds: int, n: int, seed: int = 0, step: float | None = None) -> Bernoulli:
    """The means of `drifting`.

    >>> walk = drifting_means(1000, 2, step=0.01).means
    >>> bool(abs(np.diff(walk, axis=0)).max() < 0.05)
    True
    """
    rounds, n, _ = _sizes(rounds, n, 0.0)
    step = 1.0 / np.sqrt(rounds) if step is None else refusals.positive(step, "step")
    rng = stream(seed, "means")
    walk = np.empty((rounds, n))
    walk[0] = rng.random(n)
    walk[1:] = step * rng.standard_normal((rounds - 1, n))
    # Folding the free walk once is the same as reflecting it at every step.
    np.cumsum(walk, axis=0, out=walk)
    return Bernoulli(1.0 - np.abs(1.0 - np.mod(walk, 2.0)))


def _sizes(rounds: int, n: int, gap: float) -> tuple[int, int, float]:
    return (
        refusals.count(rounds, "rounds"),
        refusals.count(n, "n"),
        refusals.between(gap, 0.0, 1.0, "gap"),
    )


def _arm(best: int, n: int) -> int:
    best = refusals.count(best, "best", least=0)
    if best >= n:
        raise ValueError(f"best must be an arm 0..{n - 1}; got {best}")
    return best
