"""Bernoulli losses as a description: the means are data, the coins are tossed by whoever plays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hannan import refusals
from hannan.frozen import frozen
from hannan.refusals import Array


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
        array = np.array(refusals.losses(means, "means"), dtype=np.float64, order="C")
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
        rounds = refusals.count(rounds, "rounds")
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
    entropy = refusals.count(seed, "seed", least=0)
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_STREAMS[name],)))
