"""What a learner was told of its losses, held against them at the door."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.mathematics.convex.domain import Domain
from hannan.mathematics.convex.loss import Loss

#: By how much a loss may exceed what was stated of it: rounding, not licence.
SLACK = 1e-9


def refuse_steeper(losses: Loss, domain: Domain, lipschitz: float) -> None:
    """Refuse losses whose gradients are beyond `lipschitz` on the domain."""
    _at_most("gradients of the losses", losses.lipschitz(domain), lipschitz, "lipschitz")


def refuse_more_curved(losses: Loss, smooth: float) -> None:
    """Refuse losses whose curvature is beyond `smooth`."""
    _at_most("curvatures of the losses", losses.smooth, smooth, "smooth")


def refuse_outside(losses: Loss, domain: Domain, loss_bound: float) -> None:
    """Refuse losses that leave [0, loss_bound] on the domain."""
    low, high = losses.interval(domain)
    if (low < -SLACK * loss_bound).any():
        worst = int(np.argmin(low))
        raise ValueError(
            "losses must be non-negative on the domain, since a loss-only bound is claimed (shift the domain or the "
            f"losses); got {float(np.min(low)):g} at index {worst}"
        )
    _at_most("losses", high, loss_bound, "loss_bound")


def _at_most(what: str, values: Any, most: float, name: str) -> None:
    values = np.asarray(values)
    if (values > most * (1.0 + SLACK)).any() or np.isnan(values).any():
        worst = int(np.argmax(values))
        found = float(values.max())
        raise ValueError(f"{what} must be at most {name} = {most:g} on the domain; got {found:g} at index {worst}")
