"""What can be wrong with a row of forecasts, before anything moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.refusals import Array
from hannan.tables.combine.losses import PointLoss


def trouble_of(learner: Any, loss: PointLoss, row: Array, target: float, losses: Array) -> tuple[Any, int]:
    """(None, -1), or what is wrong with a row and with which expert; writes the losses, NaN for sleepers."""
    from hannan._engine import Trouble

    awake = ~np.isnan(row)
    losses[:] = np.nan
    if not awake.any():
        return Trouble.asleep, -1
    if np.isnan(target):
        return None, -1
    losses[awake] = loss.value(row[awake], target)
    bad = awake & ~np.isfinite(losses)
    if bad.any():
        return Trouble.infinite, int(np.argmax(bad))
    low, high = learner.loss_range
    bad = awake & ~((losses >= low) & (losses <= high))
    return (Trouble.outside, int(np.argmax(bad))) if bad.any() else (None, -1)
