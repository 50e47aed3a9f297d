"""Section 2.2 of the paper: how far apart are two plays?

Every function takes distributions on a finite space, along the last axis of `p` and `q` (batches
broadcast), and is exact: the supremum over all sets is attained at a set that can be named.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import validation
from hannan.validation import Array


def tsallis_log(x: Any, gamma: float) -> Any:
    """The Tsallis logarithm, with which the paper measures how stable a play is.

    log_gamma(x) = (x^(1-gamma) - 1) / (1 - gamma), and log(x) at gamma = 1. At x = 0 it is -1/(1-gamma) below gamma = 1
    and -inf from there on.

    `x`: a number or an array, at least 0. `gamma`: a number above 0.

    >>> float(tsallis_log(0.25, 2.0)), float(tsallis_log(0.0, 0.5))
    (-3.0, -2.0)
    """
    gamma = validation.positive(gamma, "gamma")
    values = np.asarray(validation.unmasked(x, "x"), dtype=np.float64)
    if not (values >= 0.0).all():
        raise ValueError(f"x must be >= 0; got {float(values[~(values >= 0.0)].flat[0])!r}")
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(values)
        if gamma == 1.0:
            return logs
        # expm1 keeps the digits that x^(1-gamma) - 1 would lose near gamma = 1.
        return np.expm1((1.0 - gamma) * logs) / (1.0 - gamma)


def max_divergence(p: Any, q: Any, delta: float = 0.0) -> Any:
    """How much likelier any event is under `p` than under `q`, on a logarithmic scale: the divergence of differential
    privacy.

    D_inf^delta(P, Q) = sup over P(B) > delta of log((P(B) - delta) / Q(B)), eq:max_divergence.

    Attained at a likelihood-ratio set {P > lambda Q}, so one sort is enough. It is +inf exactly
    when P(Q = 0) > delta, and negative where delta outweighs the distance: D(P, P) = log(1-delta).

    `p` and `q`: distributions, on the last axis of arrays. `delta`: the probability that may be left out of account, in
    [0, 1).

    >>> float(max_divergence([0.5, 0.5], [0.25, 0.75]))  # log 2
    0.6931471805599453
    >>> round(float(max_divergence([0.5, 0.5], [0.5, 0.5], delta=0.1)), 6)
    -0.105361
    """
    delta = validation.between(delta, 0.0, 1.0, "delta", "[)")
    return max_supremum(*_pair(p, q), delta)


def max_supremum(p: Array, q: Array, delta: float) -> Any:
    """`max_divergence` of measures that need not sum to 1."""
    if delta == 0.0:
        return _largest(_log_ratio(p, q))
    inside_p, inside_q = _prefixes(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(inside_p - delta) - np.log(inside_q)
    return _largest(np.where(inside_p > delta, values, -np.inf))


def tsallis_divergence(p: Any, q: Any, gamma: float) -> Any:
    """The max-divergence with the Tsallis logarithm: how much likelier any event is under `p` than under `q`.

    D_inf,gamma(P, Q) = sup_B log_gamma P(B) - log_gamma Q(B), eq:tsallismaxdiv.

    gamma >= 1: attained at one outcome (x -> x (1 + (gamma-1) c x^(gamma-1))^(-1/(gamma-1)) is
    subadditive), so O(N). gamma < 1: attained at a likelihood-ratio set, so one sort.

    `p` and `q`: distributions, on the last axis of arrays. `gamma`: of the logarithm, above 0; at 1 it is
    `max_divergence`.

    >>> float(tsallis_divergence([0.5, 0.5], [0.25, 0.75], gamma=2.0))
    2.0
    """
    gamma = validation.positive(gamma, "gamma")
    return tsallis_supremum(*_pair(p, q), gamma)


def tsallis_supremum(p: Array, q: Array, gamma: float) -> Any:
    """`tsallis_divergence` of measures that need not sum to 1."""
    if gamma == 1.0:
        return _largest(_log_ratio(p, q))
    if gamma < 1.0:
        p, q = _prefixes(p, q)
    # log_g p - log_g q = q^(1-g) ((p/q)^(1-g) - 1) / (1-g); the bracket by expm1 keeps near ties exact.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        direct = tsallis_log(p, gamma) - tsallis_log(q, gamma)
        careful = q ** (1.0 - gamma) * np.expm1((1.0 - gamma) * _log_ratio(p, q)) / (1.0 - gamma)
    values = np.where(q > 0.0, careful, direct)
    # The whole space is a set too: its term is 0, so only sets that P prefers can matter.
    return _largest(np.where(p > q, values, 0.0))


def hockey_stick(p: Any, q: Any, epsilon: float) -> Any:
    """The least delta with which `p` and `q` are within `epsilon` of each other: one point of a privacy profile.

    delta(epsilon) = sum_i (P_i - e^epsilon Q_i)_+, the least delta with D_inf^delta(P, Q) <= epsilon.

    The equivalence needs epsilon >= 0 (lem:delta_pl as corrected), so a negative one is refused.

    `p` and `q`: distributions, on the last axis of arrays. `epsilon`: the divergence allowed, at least 0.

    >>> float(hockey_stick([0.5, 0.5], [0.25, 0.75], epsilon=0.0))
    0.25
    """
    epsilon = validation.between(epsilon, 0.0, np.inf, "epsilon", "[)")
    p, q = _pair(p, q)
    with np.errstate(over="ignore", invalid="ignore"):
        excess = p - np.where(q == 0.0, 0.0, np.exp(epsilon) * q)
    return np.maximum(excess, 0.0).sum(axis=-1)[()]


def _pair(p: Any, q: Any) -> tuple[Array, Array]:
    p, q = validation.distribution(p, "p"), validation.distribution(q, "q")
    if p.shape[-1] != q.shape[-1]:
        raise ValueError(f"p and q must have the same length; got {p.shape[-1]} and {q.shape[-1]}")
    return tuple(np.broadcast_arrays(p, q))  # type: ignore[return-value]


def _log_ratio(p: Array, q: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Near ties log p - log q would cancel.
        ratio = np.where(np.abs(p - q) < 0.5 * q, np.log1p((p - q) / q), np.log(p) - np.log(q))
    return np.where(p == 0.0, -np.inf, ratio)


def _prefixes(p: Array, q: Array) -> tuple[Array, Array]:
    """(P(B_k), Q(B_k)) for the sets B_k of the k outcomes of largest likelihood ratio."""
    order = np.argsort(-_log_ratio(p, q), axis=-1, kind="stable")
    return (
        np.cumsum(np.take_along_axis(p, order, axis=-1), axis=-1),
        np.cumsum(np.take_along_axis(q, order, axis=-1), axis=-1),
    )


def _largest(values: Array) -> Any:
    return values.max(axis=-1)[()]


def clip(q: Any, rho: float) -> Array:
    """A distribution without its small probabilities: those below rho become 0, the others grow in proportion.

    [C_rho(q)]_j = q_j / (1 - sum of the q_i < rho) if q_j >= rho, else 0.

    rho is at most 1/K, so that one action survives; in floats the largest q_j always does.

    `q`: a distribution, on the last axis of an array. `rho`: the threshold, in [0, 1/K], K the number of actions.

    >>> clip([0.05, 0.35, 0.6], 0.1).round(6).tolist()
    [0.0, 0.368421, 0.631579]
    """
    clean = validation.distribution(q, "q")
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
    number = validation.real(rho, "rho")
    if not 0.0 <= number <= 1.0 / actions:
        raise ValueError(f"rho must be in [0, 1/K] = [0, {1.0 / actions:.6g}]; got {rho!r}")
    return number
