"""The state of a compiled player from a file: nothing of it reaches an index unchecked.

What the learner determines (sizes, offsets, codes, parameters, the range of the losses) is taken from a fresh player,
and must be what the file has. What is true state must be in range, and the weights must be those of the losses: the
kernels make them once more, and a file that says otherwise is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hannan import told
from hannan.kernels import state as slots
from hannan.kernels.state import HEADER
from hannan.refusals import Array

#: Determined by the learner.
LEARNERS = (
    slots.TUNE_C, slots.TUNE_A, slots.TUNE_B, slots.TUNE_D, slots.PARAM0, slots.PARAM1, slots.LOW, slots.HIGH,
    slots.GAINS, slots.ESTIMATOR, slots.ESTIMATOR_PARAM, slots.GAMMA, slots.PATH, slots.ARMS, slots.ACTIONS,
    slots.ORIGIN, slots.SLOPE, slots.KAPPA, slots.RATE, slots.PRIOR, slots.TREE, slots.SCRATCH, slots.START,
    slots.MEMORY,
)  # fmt: skip
#: Of AdaHedge and of MYGA, which use the others for their own sums, or not at all.
UNITS = (
    slots.LOW, slots.HIGH, slots.GAINS, slots.PATH, slots.ARMS, slots.ACTIONS, slots.ORIGIN, slots.SLOPE, slots.PRIOR,
    slots.TREE, slots.SCRATCH, slots.MEMORY, slots.ESTIMATOR, slots.TUNE_C, slots.KAPPA,
)  # fmt: skip
#: Said in certificates, and of no influence on the play; a law without a mean has infinities here.
SAID = (slots.VALUE, slots.START, slots.DRIFT, slots.CHANGE, slots.LEVEL)
#: The codes of `hannan.kernels.remembering`, whose import would compile.
SQUINT, ADA_NORMAL_HEDGE, ML_POLY, FIXED_SHARE, FITTED_BARRIER, DELAYED, DROPOUT = 20, 21, 22, 23, 24, 25, 26
#: Where in its memory a learner has the losses as it saw them last, by its code.
SEES_LOSSES = {
    SQUINT: 1, ADA_NORMAL_HEDGE: 1, ML_POLY: 1, FIXED_SHARE: 2,
    DROPOUT: 5,
}  # fmt: skip
#: Numbers made twice, in another order or from another warm start, agree so far.
AGREE = 1e-6


def checked(player: Any, state: Array, rounds: int, settled: int, determined: tuple[int, ...]) -> Array:
    """The state of a file for a fresh player, or a refusal."""
    fresh, n = player._state, player._n
    fixed = [*determined]
    if fresh[slots.PATH] != slots.TSALLIS_HALF and determined is LEARNERS:
        fixed.append(slots.PARAM2)
    if fresh[slots.KAPPA] == 0.0:
        fixed.append(slots.CLIP)
    for slot in fixed:
        # Across machines a logarithm may differ in its last digit; offsets and codes are whole numbers.
        if not np.isclose(state[slot], fresh[slot], rtol=1e-12, atol=0.0, equal_nan=True):
            raise ValueError(
                f"its state must be of this learner, which has {fresh[slot]} in place {slot}; got {state[slot]}"
            )
        state[slot] = fresh[slot]
    _header(state, rounds, settled, n, determined is LEARNERS)
    _streams(player, state)
    body = np.ones(state.size, dtype=bool)
    body[:HEADER] = False
    for first in player._streams():
        body[first : first + 4] = False
    if fresh[slots.SCRATCH] and fresh[slots.ESTIMATOR] != slots.REDUCED_VARIANCE:
        # Filled before it is read, also with whole numbers; it ends where a memory would begin, and there is none.
        body[int(fresh[slots.SCRATCH]) :] = False
    loose = state[body]
    if not _AT_LARGE(loose).all():
        raise ValueError(f"its state must be of finite numbers; got {loose[~_AT_LARGE(loose)][0]}")
    if determined is LEARNERS:
        low, high = (0.0, settled * (1.0 + 1e-9) + 1e-9) if player.sees_all else (-1e40, 1e40)
        told.within(state[HEADER : HEADER + n], "losses", low, high)
    if fresh[slots.MEMORY]:
        _memory(player._program.code, state, n, rounds)
    _weights(player, state, n)
    return state


def _AT_LARGE(x: Array) -> Any:
    # AdaHedge pads its scratch with infinity.
    return (np.abs(x) <= 1e300) | (x == np.inf)


def _header(state: Array, rounds: int, settled: int, n: int, scaled: bool) -> None:
    kept = np.ones(HEADER, dtype=bool)
    kept[[*SAID, *range(slots.STREAM, slots.STREAM + 4)]] = False
    told.within(state[:HEADER][kept], "state", -1e300, 1e300)
    if state[slots.ROUND] != rounds:
        raise ValueError(f"its state must have as many rounds as it says, {rounds}; got {state[slots.ROUND]}")
    for slot, most in ((slots.ARM, n - 1), (slots.SETTLED, rounds), (slots.FRESH, slots.REFRESH)):
        if not (0.0 <= state[slot] <= most and state[slot].is_integer()):
            raise ValueError(f"its state must have a whole number of 0..{most} in place {slot}; got {state[slot]}")
    if scaled:
        told.within(state[[slots.OWN]], "own loss", -1e-9, settled * (1.0 + 1e-9) + 1e-9)
        told.within(state[[slots.SCALE]], "scale", 1e-300, 1e300)
        if not np.isclose(state[slots.INVERSE] * state[slots.SCALE], 1.0, rtol=1e-9):
            raise ValueError(f"its state must have the inverse of its scale; got {state[slots.INVERSE]}")
    else:
        told.within(state[[slots.SCALE]], "scale", 0.0, 1e300)


def _streams(player: Any, state: Array) -> None:
    words = state.view(np.uint64)
    for first in player._streams():
        if not words[first : first + 4].any():
            raise ValueError("its random stream must not be four zeros, which it never leaves; it is")


def _memory(code: int, state: Array, n: int, rounds: int) -> None:
    """What a learner with a memory keeps: up to date, and what so many rounds can make of it."""
    first, losses = int(state[slots.MEMORY]), state[HEADER : HEADER + n]
    if code != DELAYED and state[first] != state[slots.SETTLED]:
        raise ValueError(f"its memory must be of {state[slots.SETTLED]:g} steps; got {state[first]}")
    if code in SEES_LOSSES:
        at = first + SEES_LOSSES[code]
        if not (state[at : at + n] == losses).all():
            raise ValueError("its memory must have the losses of its state; it has others")
    for at, size, low, high in _sums(code, first, n, rounds):
        told.within(state[at : at + size], "memory", low, high)


def _sums(code: int, first: int, n: int, rounds: int) -> list[tuple[int, int, float, float]]:
    """(where, how many, least, most) of what a memory sums up: regrets of a round are in [-1, 1], as are walks."""
    most = rounds * (1.0 + 1e-9) + 1.0
    if code in (SQUINT, ADA_NORMAL_HEDGE, ML_POLY):
        return [(first + 1 + n, n, 0.0, most)]
    if code == FIXED_SHARE:
        return [(first + 1, 1, -1e-6, most)]
    if code == FITTED_BARRIER:
        return [(first + 1, n, 2.0, 2.0 + most), (first + 1 + n, n, 0.0, 1.0), (first + 1 + 2 * n, n, -1e40, 1e40)]
    if code == DELAYED:
        return [(first + 1, 3, 0.0, most * most)]
    return [(first + 5, n, -most, most), (first + 5 + n, n if code == DROPOUT else 0, 0.0, most)]


def _weights(player: Any, state: Array, n: int) -> None:
    """Weights in place: not below zero, summing to TOTAL, the partial sums theirs, and what the losses make of them."""
    w, whole = state[HEADER + n : HEADER + 2 * n], state[slots.TOTAL]
    told.within(w, "weights", 0.0, 1e300)
    if not (whole > 0.0 and np.isclose(w.sum(), whole, rtol=1e-9, atol=0.0)):
        raise ValueError(f"its weights must sum to {whole}, and above zero; got {w.sum()}")
    prior = int(player._state[slots.PRIOR])
    if prior and not np.allclose(state[prior : prior + n], player._state[prior : prior + n], rtol=1e-12, atol=0.0):
        raise ValueError("its prior must be that of the learner; it is another")
    tree = int(player._state[slots.TREE])
    if tree:
        below = w
        while below.size > slots.FAN:
            above = np.add.reduceat(below, range(0, below.size, slots.FAN))
            if not np.allclose(state[tree : tree + above.size], above, rtol=1e-9, atol=1e-12 * whole):
                raise ValueError("its partial sums must be those of the weights; they are others")
            below, tree = above, tree + above.size
    anew: Callable[[Array], Array] = player._anew
    try:
        with np.errstate(all="ignore"):
            p = anew(state.copy())
    except ArithmeticError as error:
        raise ValueError(f"its weights must be those of the losses; none can be made: {error}") from None
    if not np.allclose(w / whole, p, rtol=0.0, atol=AGREE):
        raise ValueError(f"its weights must be those of the losses within {AGREE:g}; they are others")
