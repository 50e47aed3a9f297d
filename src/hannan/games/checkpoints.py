"""The rounds at which a game writes down its curves: some 500, whatever its length."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

KEPT = 500
Positions = NDArray[np.int64]


@functools.lru_cache(maxsize=8)
def spread(rounds: int, everything: bool = False) -> Positions:
    """Rounds (counted from 1): 400 evenly, 100 evenly on a log axis, the last one included.

    >>> spread(5).tolist(), len(spread(10**6)), int(spread(10**6)[-1])
    ([1, 2, 3, 4, 5], 490, 1000000)
    """
    if everything or rounds <= KEPT:
        at = np.arange(1, rounds + 1)
    else:
        even = np.ceil(np.arange(1, 401) * (rounds / 400)).astype(np.int64)
        early = np.rint(np.geomspace(1, rounds, 100)).astype(np.int64)
        # Not np.unique, which loads masked arrays.
        at = np.array(sorted({*even.clip(1, rounds).tolist(), *early.tolist()}), dtype=np.int64)
    at.flags.writeable = False  # games of the same length share it
    return at


class Checkpoints:
    """Which columns to write in the next rounds.

    With the number of rounds unknown, multiples of a stride are kept; when the columns are full, every other
    one is dropped and the stride doubles.
    """

    def __init__(self, rounds: int | None, everything: bool) -> None:
        self.known = rounds is not None
        self.everything = everything
        self.at: Positions = spread(rounds, everything) if rounds is not None else np.empty(0, dtype=np.int64)
        self.stride = 1
        self.columns = len(self.at) if rounds is not None else 2 * KEPT

    def room(self, first: int, rounds: int) -> NDArray[np.intp] | None:
        """Before rounds first+1 .. first+rounds: the columns to keep (to be moved to the front), or None."""
        if self.known:
            return None
        if self.everything:
            self.columns = max(self.columns, 2 * (first + rounds))
            return None
        kept = np.arange(len(self.at))
        while len(self.at) + rounds // self.stride + 1 > self.columns and self.stride <= first + rounds:
            self.stride *= 2
            mask = self.at % self.stride == 0
            self.at, kept = self.at[mask], kept[mask]
        return kept

    def within(self, first: int, rounds: int) -> tuple[Positions, Positions]:
        """(ends, columns): checkpoints among rounds first+1 .. first+rounds, counted from 1 in the block."""
        if self.known:
            if first == 0 and rounds >= self.at[-1]:  # the whole game at once
                return self.at, np.arange(len(self.at))
            low, high = (int(self.at.searchsorted(last, side="right")) for last in (first, first + rounds))
            return self.at[low:high] - first, np.arange(low, high)
        start = first - first % self.stride + self.stride
        new = np.arange(start, first + rounds + 1, self.stride)
        columns = np.arange(len(self.at), len(self.at) + len(new))
        self.at = np.concatenate([self.at, new])
        return new - first, columns

    def upto(self, rounds: int) -> Positions:
        """The checkpoints played."""
        if self.known and rounds >= self.at[-1]:
            return self.at
        return self.at[self.at <= rounds]
