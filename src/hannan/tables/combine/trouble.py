"""What can be wrong with a row of forecasts, before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hannan.learners.adahedge import ANY
from hannan.refusals import Array
from hannan.tables.combine.losses import PointLoss, kernel_of

#: A row in which nobody speaks.
ASLEEP = "at least one expert must have a forecast; all are asleep. Remove the row"


def trouble_of(
    loss_range: tuple[float, float], loss: PointLoss, row: Array, target: float, losses: Array
) -> tuple[Any, int]:
    """(None, -1), or what is wrong with a row and with which expert; writes the losses, NaN for sleepers."""
    from hannan._engine import Trouble

    awake = ~np.isnan(row)
    losses[:] = np.nan
    if not awake.any():
        return Trouble.asleep, -1
    if np.isnan(target):
        return None, -1
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below, by its column
        losses[awake] = loss.value(row[awake], target)
    bad = awake & ~np.isfinite(losses)
    if bad.any():
        return Trouble.infinite, int(np.argmax(bad))
    low, high = loss_range
    bad = awake & ~((losses >= low) & (losses <= high))
    return (Trouble.outside, int(np.argmax(bad))) if bad.any() else (None, -1)


def refusal(
    trouble: Any, column: int, names: Sequence[str], loss: PointLoss, mixer: Any, row: Array | None, target: float
) -> str:
    """What to say of a trouble, after the place where it is; empty where there is none."""
    from hannan._engine import Trouble

    if trouble == Trouble.none:
        return ""
    assert row is not None
    if trouble == Trouble.extreme:
        return (
            ": the slope of the loss times the spread of the forecasts must be at most 1e140, or squares overflow; got "
            f"forecasts of {np.nanmin(row):g} to {np.nanmax(row):g} at target {target:g}"
        )
    where, f = f", column {names[column]!r}", loss.columns(row[None, :])[0, column]
    with np.errstate(over="ignore", invalid="ignore"):  # it is for the message alone
        cost = float(loss.value(f, target))
    told = f"forecast {f:g}" if np.ndim(f) == 0 else f"quantiles of {f.min():g} to {f.max():g}"
    low, high = getattr(mixer.rule, "loss_range", ANY)
    if trouble == Trouble.outside or kernel_of(loss) != "log":
        stated = (low, high) != ANY
        rule = f"in the stated range {low:g}:{high:g}" if stated else f"at most {high:g}, or squares overflow"
        return f"{where}: a loss must be {rule}; got {cost:g} ({loss.name}, {told}, target {target:g})"
    return (
        f"{where}: the {loss.name} loss of {told} at "
        f"target {target:g} must be finite; a probability must be in [0, 1], and not 0 or 1 when it is wrong"
    )
