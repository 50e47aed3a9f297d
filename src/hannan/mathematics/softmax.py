"""The play of entropy, and of Gumbel noise: softmax, and the smoothed least loss that it is the gradient of."""

from __future__ import annotations

import numpy as np

from hannan.refusals import Array


def softmax(L: Array, scale: float) -> Array:
    """p_i = e^(-L_i/scale) / sum_j e^(-L_j/scale), with the leader taken out of the exponents.

    >>> softmax(np.array([1000.0, 1000.0, 5000.0]), 1.0).tolist()
    [0.5, 0.5, 0.0]
    """
    with np.errstate(under="ignore", over="ignore"):
        w = np.exp((L.min() - L) / scale)
    return np.asarray(w / w.sum(), dtype=np.float64)


def soft_minimum(L: Array, scale: float) -> float:
    """-scale log sum_i exp(-L_i/scale), with the leader taken out of the logarithm."""
    leader = int(np.argmin(L))
    with np.errstate(under="ignore", over="ignore"):
        others = np.exp((L[leader] - np.delete(L, leader)) / scale).sum()
    return float(L[leader] - scale * np.log1p(others))
