"""Learners with a memory: their weights depend on more than L, so they keep numbers of their own behind MEMORY.

Each is a C function of the shape of a smoothing, so the loops and the live players of experts and bandits are
theirs too. The first number of a memory says how many settled steps it has taken in: a call at the same SETTLED
takes in nothing twice, and evaluating a copy changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan.kernels import delaying, fitting, noisy, regretting, sharing
from hannan.kernels.compile import smoothing_pointer
from hannan.kernels.state import MEMORY
from hannan.kernels.streams import words

SQUINT, ADA_NORMAL_HEDGE, ML_POLY, FIXED_SHARE = 20, 21, 22, 23
FITTED_BARRIER, DELAYED = 24, 25
DROPOUT, RANDOM_WALK = 26, 27


class Kind(NamedTuple):
    """The C function, how many numbers it keeps (some, and some an arm), and where its own noise starts, or 0."""

    function: Callable[..., float]
    fixed: int
    an_arm: int
    noise: int = 0


KINDS = {
    SQUINT: Kind(regretting.squint, 1, 2),
    ADA_NORMAL_HEDGE: Kind(regretting.ada_normal_hedge, 1, 2),
    ML_POLY: Kind(regretting.ml_poly, 1, 2),
    FIXED_SHARE: Kind(sharing.fixed_share, 2, 1),
    FITTED_BARRIER: Kind(fitting.fitted_barrier, 1, 3),
    DELAYED: Kind(delaying.tsallis_shannon, 4, 0),
    DROPOUT: Kind(noisy.dropout, 5, 2, noise=1),
    RANDOM_WALK: Kind(noisy.random_walk, 5, 1, noise=1),
}
_COMPILED: dict[int, Any] = {}  # kept alive: an address is only good as long as its function


def size(code: int, n: int) -> int:
    """How many numbers the memory has."""
    kind = KINDS[code]
    return kind.fixed + kind.an_arm * n


def begin(state: NDArray[np.float64], code: int, n: int, seed: Any, run: int) -> None:
    """The memory before the first move: nothing taken in; noise of its own has the stream (seed, run, 2)."""
    first, kind = int(state[MEMORY]), KINDS[code]
    state[first] = -1.0
    if kind.noise:
        at = first + kind.noise
        state.view(np.uint64)[at : at + 4] = words(seed, run, 2)


def pointer(code: int) -> int:
    """The address of the C function `code`, compiled on first use."""
    if code not in _COMPILED:
        _COMPILED[code] = smoothing_pointer(KINDS[code].function)
    return int(_COMPILED[code].address)
