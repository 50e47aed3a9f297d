"""The best point in hindsight, L* = min_X sum_t l_t(x), with its own optimality gap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hannan.mathematics.convex.loss import Loss
from hannan.refusals import Array

if TYPE_CHECKING:
    from hannan.mathematics.convex.leader import Leader


def best_in_hindsight(leader: Leader, own: Iterable[Loss] = (), start: Array | None = None) -> float:
    """A lower bound on L* that is within rounding of it: G(x) - max_y <grad G(x), x - y>, x the argmin found.

    `own` are the user's own losses, whose values only they can give. For linear losses it is exact.
    """
    domain = leader.domain
    if leader.curved == 0:
        return float(-domain.support(-leader.linear))
    x = leader.minimise(np.zeros(domain.d), *leader.hindsight_ridge(), start)[0]
    if start is not None:
        start[:] = x
    value = leader.value(x) + sum(float(loss.value(x)) for loss in own)
    slope = leader.slope(x)
    gap = float(slope @ x + domain.support(-slope))
    return value - max(gap, 0.0)
