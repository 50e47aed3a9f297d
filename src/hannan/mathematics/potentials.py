"""Potentials: a smoothing with a scale. The gradient is the distribution played (alg:gbpa); it is computed, not
sampled.

    FTPL  Phi(L) = E min_i (L_i - scale Z_i)         FTRL  Phi(L) = min_p <L, p> + scale F(p)

>>> from hannan.mathematics.laws.light import Exponential
>>> phi = FTPL(Exponential(), scale=1.0)
>>> [round(p, 12) for p in phi.gradient([0.0, 0.5]).tolist()]
[0.696734670144, 0.303265329856]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hannan import validation
from hannan.mathematics.laws.law import Law
from hannan.mathematics.quadrature import ACCURACY, GeneralRule
from hannan.mathematics.regularizers import Regularizer
from hannan.mathematics.smoothing import Smoothing, Stability, stability
from hannan.saving import frozen
from hannan.validation import Array


def softmax(L: Array, scale: float) -> Array:
    """Return p_i = e^(-L_i/scale) / sum_j e^(-L_j/scale), with min L subtracted to avoid overflow.

    >>> softmax(np.array([1000.0, 1000.0, 5000.0]), 1.0).tolist()
    [0.5, 0.5, 0.0]
    """
    with np.errstate(under="ignore", over="ignore"):
        w = np.exp((L.min() - L) / scale)
    return np.asarray(w / w.sum(), dtype=np.float64)


def soft_minimum(L: Array, scale: float) -> float:
    """Return -scale log sum_i exp(-L_i/scale), with min L subtracted to avoid overflow."""
    leader = int(np.argmin(L))
    with np.errstate(under="ignore", over="ignore"):
        others = np.exp((L[leader] - np.delete(L, leader)) / scale).sum()
    return float(L[leader] - scale * np.log1p(others))


class Potential:
    """Smoothing at a scale: the smoothed minimum of n losses, whose gradient is the distribution that is played.

    `FTPL` and `FTRL` are the two kinds. `value`, `gradient`, `hessian`, `sample` and `stability` are exact to rounding
    or to the stated `accuracy`; arrays of losses are evaluated along the last axis.

    Notes
    -----
    Phi(L) is concave, and its gradient is in the simplex.

    Examples
    --------
    >>> import hannan as hn
    >>> phi = hn.FTRL(hn.Entropy(), scale=1.0)
    >>> phi.gradient([0.0, 1.0]).round(4).tolist(), round(float(phi.value([0.0, 1.0])), 4)
    ([0.7311, 0.2689], -0.3133)
    """

    scale: float

    @property
    def smoothing(self) -> Smoothing:
        """Law or regularizer of the potential."""
        raise NotImplementedError

    @property
    def accuracy(self) -> tuple[float, float]:
        """Largest relative and absolute error of `gradient`, which an audit tolerates."""
        return 1e-11, 0.0

    def value(self, L: Any) -> Any:
        """Return Phi(L) along the last axis.

        Parameters
        ----------
        L : array_like of shape (..., n)
            Cumulative losses.

        Returns
        -------
        float or numpy.ndarray
            Value of the potential per row of `L`.
        """
        L = validation.losses(L)
        return np.array([self._value(row) for row in _rows(L)]).reshape(L.shape[:-1])[()]

    def gradient(self, L: Any) -> Array:
        """Return p(L) = grad Phi(L), the distribution that is played, along the last axis.

        Parameters
        ----------
        L : array_like of shape (..., n)
            Cumulative losses.

        Returns
        -------
        numpy.ndarray of shape (..., n)
            Distribution over the arms.
        """
        L = validation.losses(L)
        out = np.empty(L.shape)
        for row, p in zip(_rows(L), out.reshape(-1, L.shape[-1]), strict=True):
            p[:] = self._gradient(row)
        return out

    def many_gradients(self) -> Callable[[Any], Array]:
        """Return a function like `gradient` for many calls: a user-defined law is tabulated first.

        Returns
        -------
        callable
            Function of L that returns the distribution.
        """
        return self.gradient

    def hessian(self, L: Any) -> Array:
        """Return Hess Phi(L), n x n per row of L: off-diagonals d p_i/d L_j >= 0, rows that sum to zero.

        Parameters
        ----------
        L : array_like of shape (..., n)
            Cumulative losses.

        Returns
        -------
        numpy.ndarray of shape (..., n, n)
            Matrix of second derivatives.
        """
        L = validation.losses(L)
        n = L.shape[-1]
        matrices = np.array([self._off_diagonal(row) for row in _rows(L)]).reshape(*L.shape, n)
        # The diagonal is minus the sum of the other entries, because p_i (1 - p_i) would cancel.
        for matrix in matrices.reshape(-1, n, n):
            np.fill_diagonal(matrix, 0.0)
            np.fill_diagonal(matrix, -matrix.sum(axis=1))
        return matrices

    def sample(self, L: Any, rng: np.random.Generator, size: Any = None) -> Any:
        """Return draws of the action at one L: an integer, or an array of shape `size`.

        Parameters
        ----------
        L : array_like of shape (n,)
            Cumulative losses.
        rng : numpy.random.Generator
            Source of random numbers.
        size : int or tuple of int, optional
            Shape of the result. Default: one draw.

        Returns
        -------
        int or numpy.ndarray
            Actions.
        """
        p = self.gradient(_one(L))
        edges = np.cumsum(p)
        draws = np.searchsorted(edges, rng.random(size) * edges[-1], side="right")
        draws = np.minimum(draws, np.flatnonzero(p)[-1])  # The product may round up to the last edge.
        return int(draws) if size is None else draws

    def stability(self, n: int, gamma: float | None = None, delta: float | None = None) -> Stability:
        """Return the claimed one-step stability with n arms and losses in [0,1]^n.

        Parameters
        ----------
        n : int
            Number of arms.
        gamma : float, optional
            Divergence D_inf,gamma. Default: `gamma` of the smoothing.
        delta : float, optional
            Divergence D_inf^delta, in [0, 1).

        Returns
        -------
        Stability
            Level, rate and their proof.
        """
        n = validation.count(n, "n")
        delta = 0.0 if delta is None else validation.between(delta, 0.0, 1.0, "delta", "[)")
        if delta > 0.0 and gamma not in (None, 1.0):
            raise ValueError(
                f"gamma and delta do not go together (D_inf,gamma or D_inf^delta); got gamma={gamma!r}, delta={delta!r}"
            )
        if gamma is None:
            gamma = 1.0 if delta > 0.0 else self.smoothing.gamma
        said = self.smoothing.rate_assumption()
        claim = stability(self.smoothing, self.scale, n, validation.positive(gamma, "gamma"), delta)
        return replace(claim, source=f"{claim.source}; {said}") if said else claim

    def consistency(self, L: Any, gamma: float | None = None) -> float:
        """Return max_i -Hess_ii Phi(L) / p_i(L)^gamma, the differential consistency at L.

        Parameters
        ----------
        L : array_like of shape (n,)
            Cumulative losses.
        gamma : float, optional
            Exponent, in [1, 2]. Default: that of the smoothing.

        Returns
        -------
        float
            Largest ratio over the arms.
        """
        L = _one(L)
        gamma = self.smoothing.gamma if gamma is None else validation.positive(gamma, "gamma")
        p, curvature = self.gradient(L), -np.diagonal(self.hessian(L))
        seen = p > 0.0
        # In logarithms, because p^gamma may underflow if the ratio does not.
        with np.errstate(divide="ignore", over="ignore"):
            return float(np.exp(np.log(curvature[seen]) - gamma * np.log(p[seen])).max())

    def is_pod(self, L: Any) -> bool:
        """Return True if Hess Phi(L) is positive off the diagonal (prop:POD, corrected: Hess, not -Hess).

        Parameters
        ----------
        L : array_like of shape (n,)
            Cumulative losses.

        Returns
        -------
        bool
            True if all entries off the diagonal are positive.
        """
        H = self.hessian(_one(L))
        off = ~np.eye(H.shape[0], dtype=bool)
        return bool((H[off] >= 0.0).all() and (np.diagonal(H) <= 0.0).all())

    def _value(self, L: Array) -> float:
        raise NotImplementedError

    def _gradient(self, L: Array) -> Array:
        raise NotImplementedError

    def _off_diagonal(self, L: Array) -> Array:
        raise NotImplementedError


@frozen
class FTPL(Potential):
    """Perturbed leader: play the arm with the smallest perturbed loss.

    Parameters
    ----------
    law : Law
        Distribution of one perturbation, such as `Exponential()`.
    scale : float
        Number > 0 that multiplies the perturbations. A larger scale changes the play more slowly.

    Notes
    -----
    Phi(L) = E min_i (L_i - scale Z_i), with independent draws Z_i of `law`.

    Examples
    --------
    >>> from hannan.mathematics.laws.light import Gumbel
    >>> phi = FTPL(Gumbel(), 2.0)
    >>> round(float(phi.gradient([0.0, 1.0])[1]), 12) == round(1 / (1 + math.exp(0.5)), 12)
    True
    """

    law: Law
    scale: float

    def __init__(self, law: Law, scale: float) -> None:
        if not isinstance(law, Law):
            raise ValueError(f"law must be a hannan Law such as Exponential(); got {law!r}")
        law.check_compiled("law")
        object.__setattr__(self, "law", law)
        object.__setattr__(self, "scale", validation.positive(scale, "scale"))

    @property
    def smoothing(self) -> Law:
        return self.law

    @property
    def accuracy(self) -> tuple[float, float]:
        return super().accuracy if self.law.kernel else (0.0, ACCURACY)

    def sample(self, L: Any, rng: np.random.Generator, size: Any = None) -> Any:
        """Return draws of argmin_i L_i - scale Z_i, from perturbations.

        Parameters
        ----------
        L : array_like of shape (n,)
            Cumulative losses.
        rng : numpy.random.Generator
            Source of random numbers.
        size : int or tuple of int, optional
            Shape of the result. Default: one draw.

        Returns
        -------
        int or numpy.ndarray
            Actions.
        """
        L = _one(L)
        gaps = (L - L.min()) / self.scale  # L - scale Z with large losses would round small draws to ties.
        count = 1 if size is None else int(np.prod(size))
        rows = max(1, 1_000_000 // L.size)
        draws = np.empty(count, dtype=np.int64)
        for start in range(0, count, rows):
            part = draws[start : start + rows]
            part[:] = np.argmax(np.asarray(self.law.sample(rng, (part.size, L.size))) - gaps, axis=-1)
        return int(draws[0]) if size is None else draws.reshape(size)

    def _value(self, L: Array) -> float:
        least, n = float(L.min()), L.size
        if not self.law.kernel:
            return least - self.scale * self._general(L).mean_of_leader()
        if n == 1 or math.isinf(self.law.mean):
            return least - self.scale * self.law.mean
        if self.law.hedge:
            return soft_minimum(L, self.scale) - self.scale * self.law.mean
        return least - self.scale * _sound(self._leaders(L)[1], self)

    def _gradient(self, L: Array) -> Array:
        if self.law.hedge:
            return softmax(L, self.scale)
        if L.size == 1:
            return np.ones(1)
        if not self.law.kernel:
            return self.law.leader(L, self.scale)
        return self._leaders(L)[0]

    def many_gradients(self) -> Callable[[Any], Array]:
        found = None if self.law.kernel else self.law.tabulated()
        if found is None:
            return self.gradient

        def by_table(L: Any) -> Array:
            L = _one(L)
            p, total, _, fine = found.table.leaders(L, self.scale)
            # If the table is not accurate at L, the integral is computed; it raises if it does not converge.
            return np.asarray(p / total) if fine and abs(total - 1.0) <= ACCURACY else self.gradient(L)

        return by_table

    def _general(self, L: Array) -> GeneralRule:
        return GeneralRule(self.law, (L - L.min()) / self.scale)

    def _kernel(self) -> tuple[Any, list[float]]:
        from hannan import _engine

        return getattr(_engine.Smoothing, self.law.kernel), [float(x) for x in self.law.kernel_parameters]

    def _leaders(self, L: Array) -> tuple[Array, float]:
        from hannan._engine import perturbed_leaders

        p, mean, converged = perturbed_leaders(*self._kernel(), L, self.scale)
        _sound(0.0 if converged else math.nan, self)
        return p, mean

    def _off_diagonal(self, L: Array) -> Array:
        n, gaps = L.size, (L - L.min()) / self.scale
        if n == 1:
            return np.zeros((1, 1))
        if self.law.hedge:
            p = softmax(L, self.scale)
            return np.outer(p, p) / self.scale
        if not self.law.kernel:
            return self._general(L).off_diagonal() / self.scale
        from hannan._engine import perturbed_nodes, perturbed_ratios

        tied = gaps == 0.0
        # If tied arms have infinite densities at 0, the integral diverges for these arms only.
        diverges = tied.sum() > 1 and self.law.unbounded_origin * tied.sum() <= 1.0
        used, nodes, weights = perturbed_nodes(*self._kernel(), L, self.scale, 1 << 14)
        _sound(0.0 if 0 <= used <= nodes.size else math.nan, self)
        ratios = perturbed_ratios(*self._kernel(), gaps, nodes[:used])
        np.nan_to_num(ratios, copy=False, posinf=0.0)
        weighted: Array = (ratios * weights[:used, None]).T @ ratios / self.scale
        if diverges:
            weighted[np.ix_(tied, tied)] = math.inf
        return weighted


@frozen
class FTRL(Potential):
    """Regularized leader: play the distribution with the smallest sum of loss and regularizer.

    Parameters
    ----------
    regularizer : Regularizer
        `Entropy()`, `Tsallis(alpha)`, `LogBarrier()` or a user-defined regularizer.
    scale : float
        Number > 0 that multiplies the regularizer. A larger scale changes the play more slowly.

    Notes
    -----
    Phi(L) = min_p <L, p> + scale F(p).

    Examples
    --------
    >>> from hannan.mathematics.regularizers import LogBarrier
    >>> FTRL(LogBarrier(), 1.0).gradient([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """

    regularizer: Regularizer
    scale: float

    def __init__(self, regularizer: Regularizer, scale: float) -> None:
        if not isinstance(regularizer, Regularizer):
            raise ValueError(f"regularizer must be a hannan Regularizer such as Entropy(); got {regularizer!r}")
        regularizer.check_compiled("regularizer")
        regularizer.assumptions()  # Raises ValueError if its members contradict each other.
        object.__setattr__(self, "regularizer", regularizer)
        object.__setattr__(self, "scale", validation.positive(scale, "scale"))

    @property
    def smoothing(self) -> Regularizer:
        return self.regularizer

    def _value(self, L: Array) -> float:
        if self.regularizer.hedge:
            return soft_minimum(L, self.scale)
        if not self.regularizer.kernel:
            p = self._gradient(L)
            return float(p @ L + self.scale * self.regularizer.value(p))
        from hannan._engine import regularized_value

        return float(regularized_value(L, self._gradient(L), self.scale, self._alpha()))

    def _gradient(self, L: Array) -> Array:
        if self.regularizer.hedge:
            return softmax(L, self.scale)
        if not self.regularizer.kernel:
            return self.regularizer.leader(L, self.scale)
        from hannan._engine import regularized_leaders

        w, total, converged = regularized_leaders(L, self.scale, self._alpha())
        _sound(0.0 if converged else math.nan, self)
        return np.asarray(w / total)

    def _alpha(self) -> float:
        """Return the power that selects the compiled solver."""
        alpha = self.regularizer.tsallis_alpha
        assert alpha is not None
        return alpha

    def _off_diagonal(self, L: Array) -> Array:
        w = self.regularizer.curvature(self._gradient(L))
        # Compute w_i (w_j / sum w), because the product w_i w_j could underflow.
        matrix: Array = w[:, None] * (w / w.sum())[None, :] / self.scale
        return matrix


def potential(smoothing: Smoothing, scale: float) -> Potential:
    """Return `FTPL` for a law, `FTRL` for a regularizer."""
    if isinstance(smoothing, Law):
        return FTPL(smoothing, scale)
    assert isinstance(smoothing, Regularizer)
    return FTRL(smoothing, scale)


def by_gradient(smoothing: Smoothing) -> Callable[[Array, float, bool], tuple[Array, float]]:
    """Return the function that the engine calls for a smoothing in Python: (L, scale, valued) -> (p, Phi(L) if
    `valued`).
    """

    def weigh(losses: Array, scale: float, valued: bool) -> tuple[Array, float]:
        phi = potential(smoothing, scale)
        p = np.maximum(phi.gradient(losses), 0.0)
        return np.ascontiguousarray(p), float(phi.value(losses)) if valued else 0.0

    return weigh


def weigher(smoothing: Smoothing, gamma: float) -> Any:
    """Return a smoothing without a compiled kernel as the engine plays it: from a table, or by calling Python."""
    from hannan import _engine

    found = smoothing.tabulated()
    if found is not None:
        return _engine.Weigher(_engine.Smoothing.table, gamma=gamma, table=found.table)
    return _engine.Weigher(_engine.Smoothing.foreign, gamma=gamma, call=by_gradient(smoothing))


def _rows(L: Array) -> Array:
    return np.ascontiguousarray(L).reshape(-1, L.shape[-1])


def _one(L: Any) -> Array:
    array = validation.losses(L)
    if array.ndim != 1:
        raise ValueError(f"losses must be one vector here; got shape {array.shape}")
    return array


def _sound(number: float, phi: Potential) -> float:
    if math.isnan(number):
        raise ArithmeticError(f"the quadrature of {phi!r} did not converge; please report the losses that did this")
    return number
