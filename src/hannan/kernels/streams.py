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


def words(seed: Any, *key: int) -> NDArray[np.uint64]:
    """The four starting words of stream `key` of a seed: (run,) for a player, (run, 1) for its losses."""
    state = np.random.SeedSequence(seed, spawn_key=key).generate_state(4, np.uint64)
    return state.astype(np.uint64, copy=False)


@step
def advance(s0, s1, s2, s3):
    """(uniform, the four words after it)."""
    x = s0 + s3
    x = ((x << _23) | (x >> _41)) + s0
    t = s1 << _17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = (s3 << _45) | (s3 >> _19)
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
