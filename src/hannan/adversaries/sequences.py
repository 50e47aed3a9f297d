"""Oblivious loss sequences: fixed scripts, random draws and lower-bound constructions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from hannan import validation
from hannan.saving import frozen
from hannan.validation import Array


@frozen(eq=False)
class Bernoulli:
    """l_{t,i} ~ Bernoulli(m_{t,i}), independent over rounds t and arms i.

    Parameters: `means`, the m, of shape (n,) for means that do not change or (rounds, n); `rounds`, which may
    be left out in the second case. A game draws the losses of such a sequence as it goes, in memory O(n);
    `draw` makes the whole array.

    >>> losses = Bernoulli([0.2, 0.5], rounds=1000)
    >>> losses.shape
    (1000, 2)
    >>> losses.draw(seed=1).mean(axis=0).round(2).tolist()
    [0.19, 0.48]
    >>> Bernoulli([0.2, 1.5], rounds=10)
    Traceback (most recent call last):
    ValueError: means must be in [0, 1]; got 1.5 at index 1
    """

    means: Array
    rounds: int

    def __init__(self, means: ArrayLike, rounds: int | None = None) -> None:
        array = np.array(validation.losses(means, "means"), dtype=np.float64, order="C")
        if array.ndim > 2:
            raise ValueError(f"means must have shape (n,) or (rounds, n); got shape {array.shape}")
        outside = np.argwhere((array < 0.0) | (array > 1.0))
        if len(outside):
            where = tuple(int(k) for k in outside[0])
            place = where[0] if len(where) == 1 else where
            raise ValueError(f"means must be in [0, 1]; got {array[where]} at index {place}")
        if rounds is None:
            if array.ndim == 1:
                raise ValueError(f"rounds must be given with means of shape (n,); got shape {array.shape}")
            rounds = len(array)
        rounds = validation.count(rounds, "rounds")
        if array.ndim == 2 and len(array) != rounds:
            raise ValueError(f"means of shape (rounds, n) must have {rounds} rows; got {len(array)}")
        array.flags.writeable = False
        object.__setattr__(self, "means", array)
        object.__setattr__(self, "rounds", rounds)

    @property
    def n(self) -> int:
        """The number of arms."""
        return int(self.means.shape[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """(rounds, n), the shape of the losses."""
        return self.rounds, self.n

    def draw(self, seed: int = 0) -> Array:
        """One sequence of losses, shape (rounds, n), in {0, 1}.

        A compiled game tosses its own coins from its own stream: equal in law, not the same coins.
        """
        uniforms = stream(seed, "coins").random(self.shape)
        return (uniforms < self.means).astype(np.float64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bernoulli):
            return NotImplemented
        return self.rounds == other.rounds and np.array_equal(self.means, other.means)

    def __hash__(self) -> int:
        return hash((self.rounds, self.means.shape, self.means.tobytes()))


# The means of a sequence and its coins come from different streams: neither is a function of the other.
_STREAMS = {"means": 0, "coins": 1}


def stream(seed: int, name: str) -> np.random.Generator:
    """The random stream `name` ("means" or "coins") of a seed."""
    entropy = validation.count(seed, "seed", least=0)
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_STREAMS[name],)))


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
    growth = validation.real(growth, "growth")
    if growth < 1.0:
        raise ValueError(f"growth must be >= 1; got {growth!r}")
    first = validation.count(first, "first")
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
    phases = validation.count(phases, "phases")
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
    step = 1.0 / np.sqrt(rounds) if step is None else validation.positive(step, "step")
    rng = stream(seed, "means")
    walk = np.empty((rounds, n))
    walk[0] = rng.random(n)
    walk[1:] = step * rng.standard_normal((rounds - 1, n))
    # Folding the free walk once is the same as reflecting it at every step.
    np.cumsum(walk, axis=0, out=walk)
    return Bernoulli(1.0 - np.abs(1.0 - np.mod(walk, 2.0)))


def _sizes(rounds: int, n: int, gap: float) -> tuple[int, int, float]:
    return (
        validation.count(rounds, "rounds"),
        validation.count(n, "n"),
        validation.between(gap, 0.0, 1.0, "gap"),
    )


def _arm(best: int, n: int) -> int:
    best = validation.count(best, "best", least=0)
    if best >= n:
        raise ValueError(f"best must be an arm 0..{n - 1}; got {best}")
    return best


def experts_lower_bound(rounds: int, n: int, seed: int = 0) -> Array:
    """l_{t,i} ~ Bernoulli(1/2), fair coins, independent.

    Every learner's expected loss is T/2, so every learner's expected regret is T/2 - E min_i sum_t l_{t,i},
    which is sqrt(T ln(n)/2)(1 + o(1)): no bound of experts can have a smaller constant (Cesa-Bianchi and
    Lugosi 2006, Theorem 3.7).

    >>> losses = experts_lower_bound(10_000, 2)
    >>> losses.mean(axis=0).round(2).tolist()
    [0.5, 0.51]
    """
    n = validation.count(n, "n")
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
    rounds, n = validation.count(rounds, "rounds"), validation.count(n, "n")
    if gap is None:
        gap = min(1.0, math.sqrt(n / rounds)) / 4.0
    means = np.full(n, 0.5)
    means[stream(seed, "means").integers(n)] = 0.5 - validation.between(gap, 0.0, 0.5, "gap")
    return Bernoulli(means, rounds)


def all_ones(rounds: int, n: int, seed: int = 0) -> Array:
    """l_{t,i} = 1: every play has regret 0, and every tuning that watches losses is pushed to its end.

    `seed` is accepted, as by every adversary, and not used.

    >>> all_ones(2, 3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    del seed
    return np.ones((validation.count(rounds, "rounds"), validation.count(n, "n")))


def alternating_leader(rounds: int, n: int, seed: int = 0) -> Array:
    """Arm 0 loses 1/2, 0, 1, 0, 1, ...; arm 1 loses 0, 1, 0, 1, 0, ...; every other arm loses 1.

    After each round the leader is the arm about to lose 1: follow-the-leader pays 1 a round from the second
    on, while the better of the two arms pays 1 every second round. `seed` is accepted and not used.

    >>> alternating_leader(4, 3).tolist()
    [[0.5, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    del seed
    losses = np.ones((validation.count(rounds, "rounds"), validation.count(n, "n")))
    losses[0, 0] = 0.5
    losses[1::2, 0] = 0.0
    if n > 1:
        losses[0::2, 1] = 0.0
    return losses


def cyclic(rounds: int, n: int, seed: int = 0, losers: int = 1) -> Array:
    """l_{t,i} = 1 if (i - t) mod n < losers, else 0: the losers move by one arm a round.

    Round t = 0, 1, ...; with losers = 1 the arms take turns to lose, with losers = n - 1 to win. Over n
    rounds every arm loses the same. `seed` is accepted and not used.

    >>> cyclic(3, 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    del seed
    rounds, n = validation.count(rounds, "rounds"), validation.count(n, "n")
    losers = validation.count(losers, "losers", least=0)
    if losers > n:
        raise ValueError(f"losers must be at most n = {n}; got {losers}")
    turn = (np.arange(n)[None, :] - np.arange(rounds)[:, None]) % n
    return (turn < losers).astype(np.float64)


def small_best_loss(rounds: int, n: int, seed: int = 0, best_loss: float | None = None) -> Array:
    """min_i sum_t l_{t,i} = best_loss exactly, whatever the seed.

    One arm, drawn uniformly, loses 1 in floor(best_loss) rounds and the remaining fraction in one more, at
    rounds drawn uniformly; every other arm loses 1 in max(ceil(rounds/2), ceil(best_loss)) rounds drawn
    uniformly, its own for each. `best_loss` defaults to floor(sqrt(rounds)).

    >>> losses = small_best_loss(1000, 5, best_loss=12.5)
    >>> sorted(losses.sum(axis=0).tolist())
    [12.5, 500.0, 500.0, 500.0, 500.0]
    """
    rounds, n = validation.count(rounds, "rounds"), validation.count(n, "n")
    if best_loss is None:
        best_loss = float(math.isqrt(rounds))
    best_loss = validation.between(best_loss, 0.0, rounds, "best_loss")
    rng = stream(seed, "means")
    totals = np.full(n, float(max(-(-rounds // 2), math.ceil(best_loss))))
    totals[rng.integers(n)] = best_loss
    losses = np.zeros((rounds, n))
    for arm, total in enumerate(totals):
        whole = math.floor(total)
        order = rng.permutation(rounds)
        losses[order[:whole], arm] = 1.0
        if whole < rounds:
            losses[order[whole], arm] = total - whole
    return losses
