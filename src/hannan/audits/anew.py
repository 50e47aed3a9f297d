"""Runs of a stranger that are drawn anew: its random generators are renewed, and runs that still repeat are refused.

Without that every run would be the same run, and a learner that draws would look like one that never does.
"""

from __future__ import annotations

import random
import types
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from hannan.refusals import Array, brief

#: A run of a learner against given losses: its moves, one by one.
Run = Callable[[Array, np.random.Generator], Iterator[int]]

#: So many runs that are all the same are refused, by mistake with a chance of at most (that of the likeliest run)^59:
#: below 1e-9 where no run has a chance above 0.7.
RUNS = 60
MOVES = 64

_RANDOM = (np.random.Generator, np.random.RandomState, random.Random)
#: What holds no generator, or is not the learner's own.
_PLAIN = (int, float, complex, str, bytes, type(None), np.ndarray, np.generic, type, types.ModuleType,
          types.FunctionType)  # fmt: skip


def renewed(learner: Any, rng: np.random.Generator) -> Any:
    """The learner, its random generators started anew, in whatever object, list, tuple or dict of its it keeps them.

    One that stands in two places stays one. Dicts, lists and objects are changed where they stand.
    """
    fresh: dict[int, tuple[Any, Any]] = {}
    # Kept with what they are of, so that no id is used twice.
    seen: dict[int, Any] = {}
    waiting: list[Any] = [learner]

    def instead(value: Any) -> Any:
        """What stands in its place: itself, unless it is a generator, a method of one, or a tuple with one."""
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, _RANDOM):
            if id(value) not in fresh:
                fresh[id(value)] = value, _another(value, rng)
            return fresh[id(value)][1]
        if isinstance(value, (types.BuiltinMethodType, types.MethodType)) and isinstance(value.__self__, _RANDOM):
            return getattr(instead(value.__self__), value.__name__)
        if isinstance(value, tuple):
            inside = [instead(one) for one in value]
            if all(new is old for new, old in zip(inside, value, strict=True)):
                return value
            return value._make(inside) if hasattr(value, "_make") else tuple(inside)
        waiting.append(value)
        return value

    while waiting:
        holder = waiting.pop()
        if id(holder) in seen:
            continue
        seen[id(holder)] = holder
        if isinstance(holder, (dict, list, deque)):
            for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
                if (new := instead(value)) is not value:
                    holder[key] = new
            continue
        if isinstance(getattr(holder, "__dict__", None), dict):
            waiting.append(holder.__dict__)
        kind: Any = type(holder)
        for slot in _slots(kind):
            try:
                value = slot.__get__(holder)
                if (new := instead(value)) is not value:
                    slot.__set__(holder, new)
            except AttributeError:
                continue  # an empty slot, or one of a compiled class that cannot be set
    return learner


@lru_cache(maxsize=256)
def _slots(kind: type) -> tuple[types.MemberDescriptorType, ...]:
    return tuple(one for k in kind.__mro__ for one in vars(k).values() if isinstance(one, types.MemberDescriptorType))


def _another(generator: Any, rng: np.random.Generator) -> Any:
    """A generator of the same kind, with a seed from ours."""
    if isinstance(generator, np.random.Generator):
        return type(generator)(np.random.PCG64(int(rng.integers(2**63))))
    return type(generator)(int(rng.integers(2**31 if isinstance(generator, np.random.RandomState) else 2**63)))


def refuse_repeats(run: Run, n: int, rounds: int, rng: np.random.Generator) -> None:
    """Refuse a learner whose runs are all the same although it seems to draw.

    The losses are 0 in every round. A learner that then stays where it is, or goes round, draws nothing as far as
    one can see: it is deterministic, and its runs may be the same.
    """
    first = _moves(run, n, rounds, rng)
    if _regular(first) or any(_moves(run, n, rounds, rng) != first for _ in range(RUNS - 1)):
        return
    raise ValueError(
        "runs of a learner must be drawn anew, each with randomness of its own; got the same moves in each of "
        f"{RUNS} runs, {brief(first, 40)}. Give a function play(losses, rng) that draws with rng, or a factory that "
        "takes a seed"
    )


def _moves(run: Run, n: int, rounds: int, rng: np.random.Generator) -> list[int]:
    found: list[int] = []
    try:
        for move in run(np.zeros((max(rounds + 1, MOVES), n)), rng):
            found.append(move)
    except Exception:
        # Longer than the audit asks for is more than a learner need play.
        if len(found) <= rounds + 1:
            raise
    return found


def _regular(moves: list[int]) -> bool:
    """Whether the later half repeats itself: of what is drawn by a fair coin, 64 times, it does so in one of 60 000."""
    late = moves[len(moves) // 2 :]
    return len(set(moves)) == 1 or any(late[k:] == late[:-k] for k in range(1, len(late) // 2 + 1))
