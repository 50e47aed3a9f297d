"""xoshiro256++ (Blackman and Vigna): one stream of random words per run.

Run r of a game with seed s starts from SeedSequence(s, spawn_key=(r,)), so the moves of a run do not depend on the
number of runs or threads. A uniform number in [0, 1) is the top 53 bits of a word.

The hash is that of NumPy's SeedSequence (compared in a test). It is implemented here because importing `numpy.random`
takes as long as a short game.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

NO_WORDS: Words = np.empty(0, dtype=np.uint64)
#: Constants of NumPy's SeedSequence (after O'Neill's seed_seq_fe): start and factor of the hash, and the mixer.
_HASH, _TIMES = 0x43B0D7E5, 0x931E8875
_MIX = 0xCA01F9DD, 0x4973F715
_LOW = 0xFFFFFFFF


def words(seed: int, *key: int) -> Words:
    """Return the four first words of stream `key` of a seed.

    The key is (run,) for a player, (run, 1) for its losses, and (run, 2) for additional noise.
    """
    parts = [half for number in key for half in _halves(number)]
    return _of_keys(spawning(seed), np.array([parts], dtype=np.uint32)).reshape(4)


def words_of_runs(seed: int, runs: int, *key: int) -> Words:
    """Return `words(seed, run, *key)` of runs 0, 1, ..., as an array (runs, 4)."""
    parts = np.empty((runs, 1 + len(key)), dtype=np.uint32)  # A run number below 2^32 is one word of the key.
    parts[:, 0] = np.arange(runs)
    parts[:, 1:] = key
    return _of_keys(_spawning_of_a_game(seed), parts)


def spawning(seed: int) -> list[int]:
    """Return the state of the hash of a seed before a key is added: the pool of four words, and the next constant."""
    pool, constant = _pool(seed)
    return [*pool, constant]


#: Cached version for games, whose seeds are used again for many learners. Entropy of players is never cached.
_spawning_of_a_game = functools.lru_cache(maxsize=16)(spawning)


def _of_keys(begun: list[int], parts: NDArray[np.uint32]) -> Words:
    """Return the words for each row of `parts`, a key, by the rest of the hash, which the engine computes."""
    from hannan import _engine

    found: Words = _engine.words_of_keys(np.array(begun, dtype=np.uint32), parts)
    return found.reshape(-1, 4)


def _halves(number: int) -> list[int]:
    """Return the 32-bit words of an integer, the lowest first; at least one."""
    number = int(number)
    return [number >> shift & _LOW for shift in range(0, max(1, number.bit_length()), 32)]


def _pool(seed: int) -> tuple[list[int], int]:
    """Return the pool of four words of a seed before any key, and the constant of the next hash."""
    entropy = _halves(seed)
    entropy += [0] * (4 - len(entropy))
    constant, pool = _HASH, []
    for word in entropy[:4]:
        hashed, constant = _hash(word, constant)
        pool.append(hashed)
    for source in range(4):
        for k in range(4):
            if k != source:
                hashed, constant = _hash(pool[source], constant)
                pool[k] = _mixed(pool[k], hashed)
    for word in entropy[4:]:
        for k in range(4):
            hashed, constant = _hash(word, constant)
            pool[k] = _mixed(pool[k], hashed)
    return pool, constant


def _mixed(x: int, y: int) -> int:
    x = (_MIX[0] * x - _MIX[1] * y) & _LOW
    return x ^ x >> 16


def _hash(x: int, constant: int) -> tuple[int, int]:
    """Return the hash of x, and the next constant."""
    following = constant * _TIMES & _LOW
    x = (x ^ constant) * following & _LOW
    return x ^ x >> 16, following
