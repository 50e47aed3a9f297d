"""Optimistic mirror descent: gradient steps along a prediction of the next loss (Rakhlin and Sridharan 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hannan import validation
from hannan.learners.convex.gradient import Descent
from hannan.mathematics.bounds import Bound
from hannan.validation import Array

_SOURCE = "optimistic mirror descent, after Rakhlin and Sridharan 2013, proved in docs/proofs/convex.md"


@dataclass(frozen=True)
class OptimisticDescent(Descent):
    """Gradient descent with a prediction of the next gradient: small regret if gradients change slowly.

    Parameters
    ----------
    domain : Domain
        Convex set, in a ball of radius r.
    lipschitz : float
        Lipschitz constant of the losses, beta.
    prediction : {"last", "mean"}, default "last"
        Prediction of the next gradient: the last gradient, or the mean of all gradients so far.

    Notes
    -----
    y_t = projection of y_{t-1} - eta_t g_t, and the move x_{t+1} = projection of y_t - eta_{t+1} m_{t+1}, where g_t is
    the gradient at x_t and m the prediction, at first 0. With Q_t = sum_{s<=t} ||g_s - m_s||^2,

        eta_t = sqrt(2) r/sqrt(Q_{t-1} + 4 beta^2),  R_T <= 2 sqrt(2) r sqrt(Q_T + 4 beta^2),

    so that the regret follows the path length of the gradients ("last") or their variance ("mean"). In the worst case
    Q_T is at most 4 beta^2 T. The reference leaves the mirror map, the prediction and the steps open; here the mirror
    map is half of the squared Euclidean norm, and the steps need no number in advance.

    References
    ----------
    Rakhlin and Sridharan, Online learning with predictable sequences, COLT 2013.

    Examples
    --------
    >>> from hannan.mathematics.convex.domains import Ball
    >>> learner = OptimisticDescent(Ball(5), lipschitz=1.0)
    >>> round(learner.bound(rounds=100).value, 1), round(learner.bound(rounds=100, variation=1.0).value, 1)
    (56.9, 6.3)
    """

    prediction: Literal["last", "mean"] = "last"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prediction not in ("last", "mean"):
            raise ValueError(f'prediction must be "last" or "mean"; got {self.prediction!r}')

    @property
    def kept(self) -> int:
        """Number of further numbers: y - center, the prediction, and Q."""
        return 2 * self.domain.d + 1

    def next(self, x: Array, total: Array, gradient: Array, t: int, kept: Array) -> Array:
        d, domain = self.domain.d, self.domain
        y, guess = domain.center + kept[:d], kept[d : 2 * d].copy()
        y = domain.project(y - self._step(kept[-1]) * gradient)
        off = gradient - guess
        kept[-1] += off @ off
        kept[:d] = y - domain.center
        kept[d : 2 * d] = gradient if self.prediction == "last" else total / t
        return np.asarray(domain.project(y - self._step(kept[-1]) * kept[d : 2 * d]))

    def _step(self, spent: float) -> float:
        return math.sqrt(2.0) * self.domain.radius / math.sqrt(spent + 4.0 * self.lipschitz**2)

    def bound(
        self,
        rounds: int | None = None,
        best_loss: float | None = None,
        *,
        variation: float | None = None,
        against: str | None = None,
    ) -> Bound:
        """Return a bound on the regret, which holds even if a loss depends on the move of its round.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        best_loss : float, optional
            Not used.
        variation : float, optional
            Upper bound on Q, the sum of ||g_t - m_t||^2. Default: 4 beta^2 rounds.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary that the bound must hold against.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.
        """
        if rounds is None:
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        rounds = validation.count(rounds, "rounds", least=0)
        most = 4.0 * self.lipschitz**2 * rounds
        spent = most if variation is None else min(validation.real(variation, "variation"), most)
        if spent < 0.0:
            raise ValueError(f"variation must be >= 0; got {variation!r}")
        value = 2.0 * math.sqrt(2.0) * self.domain.radius * math.sqrt(spent + 4.0 * self.lipschitz**2)
        said = "" if variation is None else f"if the sum of squared errors of the predictions is at most {spent:.6g}"
        terms = {"2 sqrt(2) r sqrt(Q + 4 beta^2)": value}
        return self._stated(terms, _SOURCE, rounds, said).asked(against)

    def observed(self, rounds: int, best_loss: float, kept: Array) -> Bound:
        return replace(self.bound(rounds, variation=float(kept[-1]), against="any"), condition="")
