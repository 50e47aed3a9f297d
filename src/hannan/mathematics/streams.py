"""xoshiro256++ (Blackman and Vigna): one stream of random words a run.

Run r of a game with seed s starts from SeedSequence(s, spawn_key=(r,)), so a run's moves do not depend on how
many runs or threads there are. A uniform is the top 53 bits of a word, in [0, 1).

The hash is NumPy's SeedSequence, which a test compares, made here: `numpy.random` takes as long to load as a game.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

NO_WORDS: Words = np.empty(0, dtype=np.uint64)
#: Of NumPy's SeedSequence (after O'Neill's seed_seq_fe): where its two hashes start, their factors, and its mixer.
_HASH_A, _TIMES_A, _HASH_B, _TIMES_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX = 0xCA01F9DD, 0x4973F715
_LOW = 0xFFFFFFFF


def words(seed: int, *key: int) -> Words:
    """The four starting words of stream `key` of a seed: (run,) for a player, (run, 1) for its losses, (run, 2) for
    noise of its own."""
    return np.array(_words(seed, *key), dtype=np.uint64)


def _words(seed: int, *key: int) -> tuple[int, ...]:
    pool, constant = _pool(seed)
    for part in (half for number in key for half in _halves(number)):
        for k in range(4):
            hashed, constant = _hash(part, constant, _TIMES_A)
            pool[k] = _mixed(pool[k], hashed)
    constant, out = _HASH_B, []
    for k in range(8):
        hashed, constant = _hash(pool[k % 4], constant, _TIMES_B)
        out.append(hashed)
    return tuple(low | high << 32 for low, high in zip(out[::2], out[1::2], strict=True))


#: The same of games, kept: a seed that was given is played again and again, by one learner after another. Not of
#: players, whose entropy leaves no trace.
_words_of_a_game = functools.lru_cache(maxsize=256)(_words)


def spawning(seed: int) -> list[int]:
    """Where the hash of a seed has got to before it takes in a key: the pool of four words, and the next constant."""
    pool, constant = _pool(seed)
    return [*pool, constant]


def words_of_runs(seed: int, runs: int, *key: int) -> Words:
    """`words(seed, run, *key)` of runs 0, 1, ..., all at once: (runs, 4); the hash of the seed is made once."""
    if runs < 8:
        return np.array([_words_of_a_game(seed, run, *key) for run in range(runs)], dtype=np.uint64)
    start, constant = _pool(seed)
    one = np.ones(runs, dtype=np.uint32)
    pool = [np.uint32(word) * one for word in start]
    # A run below 2^32 is one word of the key.
    for part in (np.arange(runs, dtype=np.uint32), *(np.uint32(k) * one for k in key)):
        for k in range(4):
            mixed, constant = _hashes(part, constant, _TIMES_A)
            x = np.uint32(_MIX[0]) * pool[k] - np.uint32(_MIX[1]) * mixed
            pool[k] = x ^ (x >> np.uint32(16))
    constant, out = _HASH_B, np.empty((runs, 8), dtype="<u4")
    for k in range(8):
        out[:, k], constant = _hashes(pool[k % 4], constant, _TIMES_B)
    return out.view("<u8").astype(np.uint64, copy=False)


def _halves(number: int) -> list[int]:
    """The 32-bit words of a whole number, the lowest first; at least one."""
    number = int(number)
    return [number >> shift & _LOW for shift in range(0, max(1, number.bit_length()), 32)]


def _pool(seed: int) -> tuple[list[int], int]:
    """(the pool of four words after the seed, before any key; the constant of the next hash)."""
    entropy = _halves(seed)
    entropy += [0] * (4 - len(entropy))
    constant, pool = _HASH_A, []
    for word in entropy[:4]:
        hashed, constant = _hash(word, constant, _TIMES_A)
        pool.append(hashed)
    for source in range(4):
        for k in range(4):
            if k != source:
                hashed, constant = _hash(pool[source], constant, _TIMES_A)
                pool[k] = _mixed(pool[k], hashed)
    for word in entropy[4:]:
        for k in range(4):
            hashed, constant = _hash(word, constant, _TIMES_A)
            pool[k] = _mixed(pool[k], hashed)
    return pool, constant


def _mixed(x: int, y: int) -> int:
    x = (_MIX[0] * x - _MIX[1] * y) & _LOW
    return x ^ x >> 16


def _hash(x: int, constant: int, times: int) -> tuple[int, int]:
    """(x hashed, the next constant)."""
    following = constant * times & _LOW
    x = (x ^ constant) * following & _LOW
    return x ^ x >> 16, following


def _hashes(x: NDArray[np.uint32], constant: int, times: int) -> tuple[NDArray[np.uint32], int]:
    """The same of many words."""
    following = constant * times & _LOW
    x = (x ^ np.uint32(constant)) * np.uint32(following)
    return x ^ (x >> np.uint32(16)), following
