"""Divergences between two plays (section 2.2 of the paper).

Every function takes distributions on a finite space, along the last axis of `p` and `q` (batches
broadcast), and is exact: the supremum over all sets is attained at a set that can be named.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import validation
from hannan.validation import Array


def tsallis_log(x: Any, gamma: float) -> Any:
    """Return the Tsallis logarithm, in which the paper measures stability.

    Parameters
    ----------
    x : array_like
        Numbers >= 0.
    gamma : float
        Number > 0.

    Returns
    -------
    float or ndarray
        Logarithm, log_gamma(x).

    Notes
    -----
    log_gamma(x) = (x^(1-gamma) - 1) / (1 - gamma), and log(x) for gamma = 1. At x = 0 it is -1/(1-gamma) for gamma < 1
    and -inf for gamma >= 1.

    Examples
    --------
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
    """Return the max-divergence of two distributions, in which differential privacy is defined.

    Parameters
    ----------
    p, q : array_like
        Distributions, along the last axis.
    delta : float, default 0.0
        Probability in [0, 1) that is ignored.

    Returns
    -------
    float or ndarray
        D_inf^delta(p, q).

    Notes
    -----
    D_inf^delta(P, Q) = sup over P(B) > delta of log((P(B) - delta) / Q(B)), eq:max_divergence. The supremum is
    attained at a set {P > lambda Q}, so one sort is enough. It is inf exactly if P(Q = 0) > delta. It is negative if
    delta exceeds the distance: D(P, P) = log(1-delta).

    Examples
    --------
    >>> float(max_divergence([0.5, 0.5], [0.25, 0.75]))  # log 2
    0.6931471805599453
    >>> round(float(max_divergence([0.5, 0.5], [0.5, 0.5], delta=0.1)), 6)
    -0.105361
    """
    delta = validation.between(delta, 0.0, 1.0, "delta", "[)")
    return max_supremum(*_pair(p, q), delta)


def max_supremum(p: Array, q: Array, delta: float) -> Any:
    """Return `max_divergence` of measures that need not sum to 1."""
    if delta == 0.0:
        return _largest(_log_ratio(p, q))
    inside_p, inside_q = _prefixes(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(inside_p - delta) - np.log(inside_q)
    return _largest(np.where(inside_p > delta, values, -np.inf))


def tsallis_divergence(p: Any, q: Any, gamma: float) -> Any:
    """Return the max-divergence with the Tsallis logarithm.

    Parameters
    ----------
    p, q : array_like
        Distributions, along the last axis.
    gamma : float
        Parameter of the logarithm, > 0; 1 is `max_divergence`.

    Returns
    -------
    float or ndarray
        D_inf,gamma(p, q).

    Notes
    -----
    D_inf,gamma(P, Q) = sup_B log_gamma P(B) - log_gamma Q(B), eq:tsallismaxdiv. For gamma >= 1 the supremum is
    attained at one outcome, because x -> x (1 + (gamma-1) c x^(gamma-1))^(-1/(gamma-1)) is subadditive. For gamma < 1
    it is attained at a set {P > lambda Q}, so one sort is enough.

    Examples
    --------
    >>> float(tsallis_divergence([0.5, 0.5], [0.25, 0.75], gamma=2.0))
    2.0
    """
    gamma = validation.positive(gamma, "gamma")
    return tsallis_supremum(*_pair(p, q), gamma)


def tsallis_supremum(p: Array, q: Array, gamma: float) -> Any:
    """Return `tsallis_divergence` of measures that need not sum to 1."""
    if gamma == 1.0:
        return _largest(_log_ratio(p, q))
    if gamma < 1.0:
        p, q = _prefixes(p, q)
    # log_g p - log_g q = q^(1-g) ((p/q)^(1-g) - 1) / (1-g); the bracket by expm1 keeps near ties exact.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        direct = tsallis_log(p, gamma) - tsallis_log(q, gamma)
        careful = q ** (1.0 - gamma) * np.expm1((1.0 - gamma) * _log_ratio(p, q)) / (1.0 - gamma)
    values = np.where(q > 0.0, careful, direct)
    # The whole space is a set too, with term 0, so only sets with P(B) > Q(B) can have a larger term.
    return _largest(np.where(p > q, values, 0.0))


def hockey_stick(p: Any, q: Any, epsilon: float) -> Any:
    """Return the smallest delta for which two distributions are within epsilon: one point of a privacy profile.

    Parameters
    ----------
    p, q : array_like
        Distributions, along the last axis.
    epsilon : float
        Divergence >= 0.

    Returns
    -------
    float or ndarray
        Smallest delta with D_inf^delta(p, q) <= epsilon.

    Notes
    -----
    delta(epsilon) = sum_i (P_i - e^epsilon Q_i)_+. The equivalence needs epsilon >= 0 (lem:delta_pl, corrected), so a
    negative epsilon raises ValueError.

    Examples
    --------
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
        # If p and q are nearly equal, log p - log q would cancel.
        ratio = np.where(np.abs(p - q) < 0.5 * q, np.log1p((p - q) / q), np.log(p) - np.log(q))
    return np.where(p == 0.0, -np.inf, ratio)


def _prefixes(p: Array, q: Array) -> tuple[Array, Array]:
    """Return (P(B_k), Q(B_k)) for the sets B_k of the k outcomes with the largest likelihood ratios."""
    order = np.argsort(-_log_ratio(p, q), axis=-1, kind="stable")
    return (
        np.cumsum(np.take_along_axis(p, order, axis=-1), axis=-1),
        np.cumsum(np.take_along_axis(q, order, axis=-1), axis=-1),
    )


def _largest(values: Array) -> Any:
    return values.max(axis=-1)[()]


def clip(q: Any, rho: float) -> Array:
    """Return a distribution without its small probabilities: those below rho become 0, the others grow in proportion.

    Parameters
    ----------
    q : array_like
        Distribution, along the last axis.
    rho : float
        Threshold in [0, 1/K], where K is the number of actions.

    Returns
    -------
    ndarray
        Clipped distribution.

    Notes
    -----
    [C_rho(q)]_j = q_j / (1 - sum of the q_i < rho) if q_j >= rho, else 0. rho is at most 1/K, so that at least one
    action remains; despite rounding errors the action with the largest q_j always remains.

    Examples
    --------
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
    """Return rho after checking that it is in [0, 1/K]: above 1/K every action could be clipped."""
    number = validation.real(rho, "rho")
    if not 0.0 <= number <= 1.0 / actions:
        raise ValueError(f"rho must be in [0, 1/K] = [0, {1.0 / actions:.6g}]; got {rho!r}")
    return number
