"""Clipping, eq:clipping of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import refusals
from hannan.refusals import Array


def clip(q: Any, rho: float) -> Array:
    """A distribution without its small probabilities: those below rho become 0, the others grow in proportion.

    [C_rho(q)]_j = q_j / (1 - sum of the q_i < rho) if q_j >= rho, else 0.

    rho is at most 1/K, so that one action survives; in floats the largest q_j always does.

    `q`: a distribution, on the last axis of an array. `rho`: the threshold, in [0, 1/K], K the number of actions.

    >>> clip([0.05, 0.35, 0.6], 0.1).round(6).tolist()
    [0.0, 0.368421, 0.631579]
    """
    clean = refusals.distribution(q, "q")
    if clean.ndim != 1:
        raise ValueError(f"q must be one distribution; got shape {clean.shape}")
    rho = threshold(rho, clean.size)
    kept = clean >= rho
    kept[np.argmax(clean)] = True
    clipped: Array = np.where(kept, clean, 0.0)
    clipped /= clipped.sum()
    return clipped


def threshold(rho: Any, actions: int) -> float:
    """rho in [0, 1/K]: above 1/K everything could be clipped."""
    number = refusals.real(rho, "rho")
    if not 0.0 <= number <= 1.0 / actions:
        raise ValueError(f"rho must be in [0, 1/K] = [0, {1.0 / actions:.6g}]; got {rho!r}")
    return number
