"""Coins on the table: what every arm would have cost in every round of every run, tossed as a game goes.

A game that tosses its own coins tosses only those that its learner sees. Here the whole table of a run is tossed, from
the stream (seed, run, 1), so that all who play run r meet the same losses, whatever they see of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.mathematics import streams
from hannan.refusals import Array


class Tosses:
    """l_{t,i} of runs 0, 1, ..., in {0, 1}: an array (runs, rounds, n) that is made block by block, once, in order.

    >>> import hannan as hn
    >>> table = Tosses(hn.adversaries.Bernoulli([0.2, 0.5], rounds=1000), runs=3, seed=0)
    >>> table.shape, table[..., 0:600, :].shape
    ((3, 1000, 2), (3, 600, 2))
    """

    #: A game takes its rounds in order, block by block.
    made_in_order = True
    ndim = 3

    def __init__(self, bernoulli: Any, runs: int, seed: int) -> None:
        self._means: Array = bernoulli.means
        self.rounds, self.n = int(bernoulli.rounds), int(self._means.shape[-1])
        self.shape = (runs, self.rounds, self.n)
        self._coins = streams.words_of_runs(seed, runs, 1)
        self._tossed = 0

    def whole(self) -> NDArray[np.uint8]:
        """All of it, a byte a coin."""
        out = np.empty(self.shape, dtype=np.uint8)
        step = max(2, (1 << 20) // (self.shape[0] * self.n))
        for first in range(0, self.rounds, step):
            out[:, first : first + step] = self[..., first : first + step, :]
        return out

    def __getitem__(self, where: tuple[Any, slice, slice]) -> NDArray[np.float64]:
        from hannan._engine import toss

        first, last = where[1].start, min(where[1].stop, self.rounds)
        if first != self._tossed:
            raise ValueError(f"coins are tossed in order, from round {self._tossed} on; got round {first}")
        self._tossed = last
        steady = self._means.ndim == 1
        means = np.ascontiguousarray(self._means if steady else self._means[first:last]).reshape(-1)
        out = np.empty((self.shape[0], last - first, self.n))
        for run, coins in enumerate(self._coins):
            out[run] = toss(coins, means, 0 if steady else self.n, last - first, self.n).reshape(-1, self.n)
        return out


def best_means(bernoulli: Any, at: NDArray[np.int64], gains: bool) -> Array:
    """The best arm's sum of means over the first t rounds, for each t of `at`.

    >>> import hannan as hn
    >>> best_means(hn.adversaries.Bernoulli([0.25, 0.5], rounds=8), np.array([4, 8]), gains=False).tolist()
    [1.0, 2.0]
    """
    means = bernoulli.means
    best = np.max if gains else np.min
    if means.ndim == 1:
        return np.asarray(at * best(means))
    return np.asarray(best(np.cumsum(means, axis=0)[at - 1], axis=1))
