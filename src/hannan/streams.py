"""xoshiro256++ (Blackman and Vigna): one stream of random words a run.

Run r of a game with seed s starts from SeedSequence(s, spawn_key=(r,)), so a run's moves do not depend on how
many runs or threads there are. A uniform is the top 53 bits of a word, in [0, 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

NO_WORDS: Words = np.empty(0, dtype=np.uint64)
#: Of NumPy's SeedSequence (after O'Neill's seed_seq_fe): where its two hashes start, their factors, and its mixer.
_HASH_A, _TIMES_A, _HASH_B, _TIMES_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)


def words(seed: Any, *key: int) -> Words:
    """The four starting words of stream `key` of a seed: (run,) for a player, (run, 1) for its losses, (run, 2) for
    noise of its own."""
    state = np.random.SeedSequence(seed, spawn_key=key).generate_state(4, np.uint64)
    return state.astype(np.uint64, copy=False)


def words_of_runs(seed: int, runs: int, *key: int) -> Words:
    """`words(seed, run, *key)` of runs 0, 1, ..., all at once: (runs, 4).

    A SeedSequence hashes the seed into a pool of four words, then its spawn key, then draws from the pool. The first
    part is NumPy's; the rest, which differs from run to run, is made here for all runs in vectors.
    """
    if runs < 8 or seed >= 1 << 128:
        return np.stack([words(seed, run, *key) for run in range(runs)])
    one = np.ones(runs, dtype=np.uint32)
    pool = [word * one for word in np.random.SeedSequence(seed).pool]
    # The seed took 4 + 12 hashes; a run below 2^32 is one word of the key.
    constant = _HASH_A * pow(_TIMES_A, 16, 1 << 32)
    for part in (np.arange(runs, dtype=np.uint32), *(np.uint32(k) * one for k in key)):
        for k in range(4):
            mixed, constant = _hash(part, constant, _TIMES_A)
            x = _MIX[0] * pool[k] - _MIX[1] * mixed
            pool[k] = x ^ (x >> np.uint32(16))
    constant, out = _HASH_B, np.empty((runs, 8), dtype="<u4")
    for k in range(8):
        out[:, k], constant = _hash(pool[k % 4], constant, _TIMES_B)
    return out.view("<u8").astype(np.uint64, copy=False)


def _hash(x: NDArray[np.uint32], constant: int, times: int) -> tuple[NDArray[np.uint32], int]:
    """(x hashed, the next constant): the hash of SeedSequence."""
    following = constant * times % (1 << 32)
    x = (x ^ np.uint32(constant % (1 << 32))) * np.uint32(following)
    return x ^ (x >> np.uint32(16)), following
