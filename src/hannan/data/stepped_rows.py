"""Rows of forecasts by a live player, one at a time: for a smoothing without a compiled kernel, and for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.data.answers import Tally, Work
from hannan.data.point_losses import PointLoss
from hannan.kernels.state import ROUND
from hannan.refusals import Array


def step_rows(
    player: Any, loss: PointLoss, forecasts: Array, targets: Array, work: Work, tally: Tally, ends: NDArray[np.int64],
    points: Array, trouble: NDArray[np.int64],
) -> int:  # fmt: skip
    """As `kernels.combining.combine_rows`: the number of rows done; `trouble` says why not all."""
    from hannan.kernels.tallying import note

    due = dict(zip(ends.tolist(), points, strict=True))
    for t, (row, target) in enumerate(zip(forecasts, targets, strict=True)):
        trouble[:] = trouble_of(player.learner, loss, row, float(target), work.losses)
        if trouble[0]:
            return t
        awake = ~np.isnan(row)
        p = work.weights[t] = player.distribution(awake)
        move = player.act(awake)
        work.played[t] = move.action
        work.mixed[t] = float(p[awake] @ row[awake])
        if np.isnan(target):
            # As if it had not been drawn: the round counts when, and if, its loss comes.
            del player._open[move.round]
            player._round -= 1
            player._state[ROUND] -= 1.0
        else:
            player.observe(move, work.losses)
            own = float(p[awake] @ work.losses[awake])
            tally.add(work.losses, float(loss.value(work.mixed[t], target)), own)
        if t + 1 in due:
            note(player._state, tally.array, p, due[t + 1])
    return len(forecasts)


def trouble_of(learner: Any, loss: PointLoss, row: Array, target: float, losses: Array) -> tuple[int, int]:
    """(0, -1), or what is wrong with a row and with which expert; writes the losses, NaN for sleepers."""
    from hannan.kernels.combining import ASLEEP, INFINITE, OUTSIDE

    awake = ~np.isnan(row)
    losses[:] = np.nan
    if not awake.any():
        return ASLEEP, -1
    if np.isnan(target):
        return 0, -1
    losses[awake] = loss.value(row[awake], target)
    bad = awake & ~np.isfinite(losses)
    if bad.any():
        return INFINITE, int(np.argmax(bad))
    low, high = learner.loss_range
    bad = awake & ~((losses >= low) & (losses <= high))
    return (OUTSIDE, int(np.argmax(bad))) if bad.any() else (0, -1)
