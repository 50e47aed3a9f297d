"""Scripted sequences: what each arm loses is written down, or drawn so that its total is."""

from __future__ import annotations

import math

import numpy as np

from hannan import refusals
from hannan.adversaries.bernoulli import stream
from hannan.refusals import Array


def all_ones(rounds: int, n: int, seed: int = 0) -> Array:
    """l_{t,i} = 1: every play has regret 0, and every tuning that watches losses is pushed to its end.

    `seed` is accepted, as by every adversary, and not used.

    >>> all_ones(2, 3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    del seed
    return np.ones((refusals.count(rounds, "rounds"), refusals.count(n, "n")))


def alternating_leader(rounds: int, n: int, seed: int = 0) -> Array:
    """Arm 0 loses 1/2, 0, 1, 0, 1, ...; arm 1 loses 0, 1, 0, 1, 0, ...; every other arm loses 1.

    After each round the leader is the arm about to lose 1: follow-the-leader pays 1 a round from the second
    on, while the better of the two arms pays 1 every second round. `seed` is accepted and not used.

    >>> alternating_leader(4, 3).tolist()
    [[0.5, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    del seed
    losses = np.ones((refusals.count(rounds, "rounds"), refusals.count(n, "n")))
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
    rounds, n = refusals.count(rounds, "rounds"), refusals.count(n, "n")
    losers = refusals.count(losers, "losers", least=0)
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
    rounds, n = refusals.count(rounds, "rounds"), refusals.count(n, "n")
    if best_loss is None:
        best_loss = float(math.isqrt(rounds))
    best_loss = refusals.between(best_loss, 0.0, rounds, "best_loss")
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
