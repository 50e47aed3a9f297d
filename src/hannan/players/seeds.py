"""Where a player's randomness comes from: the operating system, or a seed that was given for an experiment.

A bound holds for moves that cannot be foreseen. Whoever knows the seed of a player has its twin, and with it every
move to come; so `start()` takes fresh entropy and keeps no trace of it, and a player with a seed says so.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals

#: A fresh start has so many bits; NumPy's SeedSequence keeps 128 of them.
BITS = 256


def origin(seed: Any) -> tuple[int | None, int]:
    """(the seed as it was given, what the streams start from): without a seed, bits of the operating system.

    >>> origin(7)
    (7, 7)
    >>> origin(None)[0] is None, origin(None)[1] != origin(None)[1]
    (True, True)
    """
    if seed is None:
        return None, int.from_bytes(os.urandom(BITS // 8), "little")
    given = refusals.count(seed, "seed", least=0)
    return given, given


def renewed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Four words for a stream that goes on elsewhere: a hash of where it was *and* of fresh entropy."""
    import hashlib  # not for a game

    digest = hashlib.sha256(words.astype("<u8").tobytes() + os.urandom(BITS // 8)).digest()
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64)


def run_seed(seed: int, run: int) -> int:
    """The seed of a run for a player that takes one number; run 0 has the seed itself."""
    if run == 0:
        return seed
    return int(np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1, np.uint64)[0])
