"""What an adversary that looks at past moves is shown, and how one is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from hannan.refusals import Array


class Past(NamedTuple):
    """What an adversary may see before round t = 1, 2, ...: t - 1 moves, t - 1 losses, and p of the coming move.

    `moves` has an entry a round: the arm, or a row: the point, or the decision in 0s and 1s. `losses` has shape
    (t - 1, n) (for convex games it is a sequence of loss functions). `distribution` is None where past moves do not
    determine it: where a learner keeps noise, resamples, or moves in a continuum. All are read-only.
    """

    moves: NDArray[Any]
    losses: Any
    distribution: Array | None


Answer = Callable[[int, Past], Any]


def name_of(adversary: Any) -> str:
    """A function or class by its name, anything else by its description."""
    return str(getattr(adversary, "__qualname__", None) or repr(adversary))


def fresh(adversary: Any, n: int, rounds: int) -> Answer:
    """The adversary of one run: a class is built, a description with `start(n, rounds)` is started."""
    if isinstance(adversary, type):
        adversary = adversary()
    if hasattr(adversary, "start"):
        adversary = adversary.start(n, rounds)
    answer = getattr(adversary, "loss", adversary)
    if not callable(answer):
        raise ValueError(f"an adversary must have loss(t, past), or be a function of them; got {adversary!r}")
    return answer  # type: ignore[no-any-return]
