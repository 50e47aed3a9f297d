"""Base class of the smoothings: perturbation distributions (`Law`) and regularizers (`Regularizer`).

A smoothing owns the facts that the theorems use. `stability`, `bounds` and `printed` contain the theorems; they read
these facts and never name a class.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hannan.saving import frozen
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.mathematics.laws.law import Law


class Level(NamedTuple):
    """Largest divergence between the plays before and after one loss.

    `value` is the divergence, `exact` is True if it is the supremum itself instead of an upper bound, and `source`
    names the proof.
    """

    value: float
    exact: bool
    source: str


@frozen
class Smoothing:
    """Perturbation distribution or regularizer, with the facts that bounds and stability need.

    Do not derive from this class: a user-defined smoothing derives from `Law` or from `Regularizer`.

    Notes
    -----
    At a scale, a smoothing has the rate h/scale and the range G * scale. `rate` is h in D_inf, `own_rate` is h in
    D_inf,gamma for the smoothing's own `gamma`, and `range_constant` is G.

    Examples
    --------
    >>> import hannan as hn
    >>> smoothing = hn.Tsallis(0.5)
    >>> isinstance(smoothing, hn.Smoothing), smoothing.gamma, smoothing.own_rate
    (True, 1.5, 2.0)
    >>> smoothing.range_constant(9), smoothing.bandit_variance_constant(9)
    (4.0, 6.0)
    """

    #: Name of the compiled kernel. If it is empty, the engine calls `leader`.
    kernel: ClassVar[str] = ""
    #: True if the play is that of Hedge, p_i proportional to exp(-L_i/scale).
    hedge: ClassVar[bool] = False
    #: True if the range depends on the number of rounds.
    needs_rounds: ClassVar[bool] = False
    #: True if the drift of a bandit's round is at most the learner's loss / scale, as for gamma = 2.
    first_order: ClassVar[bool] = False
    #: True if D_inf,gamma' of one step is proved to be unbounded for every gamma' above `gamma`.
    largest_gamma: ClassVar[bool] = False
    #: alpha of the negative Tsallis entropy that equals this smoothing; 0 is the log-barrier, 1 the entropy.
    tsallis_alpha: ClassVar[float | None] = None

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        """Parameters of the compiled kernel."""
        return ()

    @property
    def gamma(self) -> float:
        """Order gamma of the divergence D_inf,gamma in which the smoothing is stable."""
        return 1.0

    @property
    def rate(self) -> float:
        """Constant h of the rate h/scale in D_inf; inf if the smoothing has no rate."""
        raise ValueError(f"{type(self).__name__} must state its rate, the supremum of -d log p_i at scale 1")

    @property
    def rate_source(self) -> str:
        """Proof that the rate is a level in D_inf,gamma for gamma <= 1; empty if `step_level` is used there."""
        return ""

    @property
    def own_rate(self) -> float:
        """Constant h of the rate h/scale in D_inf,gamma, for the gamma of the smoothing.

        A rate in D_inf implies none in D_inf,gamma, so the default is inf unless gamma is 1.
        """
        return self.rate if self.gamma == 1.0 else math.inf

    @property
    def perturbation(self) -> Law | None:
        """Perturbation distribution whose perturbed leader makes the same play; None if none is known."""
        return None

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return G with range G * scale: the cost of a comparator that is fixed in advance, for n arms.

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int, optional
            Number of rounds.
        """
        raise NotImplementedError(f"{type(self).__name__} must define range_constant(n, rounds)")

    def variance_constant(self, n: int) -> float:
        """Return v with D_t <= v/(2 scale) for every L and every loss in [0, 1]^n, for the tunings.

        The default is h/2: a rate is two-sided because the play ignores constants, and the moves of the play sum to
        zero.

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            The constant v.
        """
        return self.rate / 2.0

    def proved_variance_constant(self, n: int) -> float:
        """Return an upper bound on `variance_constant` without numerical error, for the bounds.

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            Upper bound on v.
        """
        return self.variance_constant(n)

    def bandit_variance_constant(self, n: int, resampled: bool = False) -> float:
        """Return v with E D_t <= v/(2 scale) for a bandit with n arms.

        `resampled` is True if the estimator replaces 1/p by a number of trials, whose second moment is larger.

        Parameters
        ----------
        n : int
            Number of arms.
        resampled : bool, default False
            True if the estimator replaces 1/p by a number of trials, whose second moment is larger.

        Returns
        -------
        float
            The constant v.
        """
        return self.rate * (2 * n - 1 if resampled else n)

    def comparator_cost(self, n: int) -> float:
        """Return what the comparator loses because it must keep a positive probability on every arm.

        Parameters
        ----------
        n : int
            Number of arms.

        Returns
        -------
        float
            Cost in units of the loss; 0 by default.
        """
        return 0.0

    def step_level(self, step: float) -> Level:
        """Return the level of one loss in the smoothing's own divergence; `step` is 1/scale.

        Parameters
        ----------
        step : float
            Step size 1/scale.

        Returns
        -------
        Level
            Value of the level, and its proof.
        """
        h = self.own_rate
        if math.isinf(h):
            return Level(math.inf, False, f"no rate is stated in D_inf,{self.gamma:g}")
        return Level(h * step, False, "level <= rate")

    def approximate_level(self, n: int, scale: float, delta: float) -> Level | None:
        """Return the level in D_inf^delta for n arms; None if nothing better than the pure level is known.

        Parameters
        ----------
        n : int
            Number of arms.
        scale : float
            Scale, the inverse learning rate.
        delta : float
            Slack of the divergence D_inf^delta, in (0, 1).
        """
        return None

    def assumptions(self) -> str:
        """Return the stated facts that bounds rest on and that are assumed, not verified; empty if there are none.

        Raises ValueError if a stated fact contradicts the definition of the smoothing.

        Returns
        -------
        str
            The assumptions as a phrase.
        """
        return ""

    def rate_assumption(self) -> str:
        """Return the part of `assumptions` that concerns the rate.

        Returns
        -------
        str
            The assumptions as a phrase.
        """
        return ""

    def tabulated(self) -> Any:
        """Return the table from which the engine computes the play; None if there is none."""
        return None

    def leader(self, L: Array, scale: float) -> Array:
        """Return the play at cumulative losses L, for smoothings without a compiled kernel.

        Parameters
        ----------
        L : array_like of shape (..., n)
            Cumulative losses.
        scale : float
            Scale, the inverse learning rate.
        """
        raise NotImplementedError(f"{type(self).__name__} must define leader(L, scale)")
