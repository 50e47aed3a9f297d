"""What an adversary that looks at past moves is shown."""

from __future__ import annotations

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
