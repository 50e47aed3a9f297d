"""xoshiro256++ (Blackman and Vigna): one stream of random words a run, its four words in the run's state.

Run r of a game with seed s starts from SeedSequence(s, spawn_key=(r,)), so a run's moves do not depend on how
many runs or threads there are. A uniform is the top 53 bits of a word, in [0, 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.kernels.calling import data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.exponential import bits_of, float_of

_17, _45, _19, _23, _41, _11 = (np.uint64(k) for k in (17, 45, 19, 23, 41, 11))
_STEP = 2.0**-53
#: Of NumPy's SeedSequence (after O'Neill's seed_seq_fe): where its two hashes start, their factors, and its mixer.
_HASH_A, _TIMES_A, _HASH_B, _TIMES_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)


def words(seed: Any, *key: int) -> NDArray[np.uint64]:
    """The four starting words of stream `key` of a seed: (run,) for a player, (run, 1) for its losses."""
    state = np.random.SeedSequence(seed, spawn_key=key).generate_state(4, np.uint64)
    return state.astype(np.uint64, copy=False)


def words_of_runs(seed: int, runs: int, *key: int) -> NDArray[np.uint64]:
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


@step
def next_word(s0, s1, s2, s3):
    """(the random word, the four words after it)."""
    x = s0 + s3
    x = ((x << _23) | (x >> _41)) + s0
    t = s1 << _17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = (s3 << _45) | (s3 >> _19)
    return x, s0, s1, s2, s3


@step
def advance(s0, s1, s2, s3):
    """(uniform, the four words after it)."""
    x, s0, s1, s2, s3 = next_word(s0, s1, s2, s3)
    return np.float64(np.int64(x >> _11)) * _STEP, s0, s1, s2, s3


@step
def uniform(s, a):
    """The next uniform of the stream whose words are at s[a..a+3]; moves the stream."""
    u, s0, s1, s2, s3 = advance(bits_of(s[a]), bits_of(s[a + 1]), bits_of(s[a + 2]), bits_of(s[a + 3]))
    s[a], s[a + 1], s[a + 2], s[a + 3] = float_of(s0), float_of(s1), float_of(s2), float_of(s3)
    return u


@kernel
def uniforms(state, a, out):
    """Fill `out` with uniforms of the stream at state[a..a+3]."""
    for i in range(out.size):
        out[i] = uniform(data_of(state), a)
