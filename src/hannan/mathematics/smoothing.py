"""Base class of the smoothings, perturbation distributions (`Law`) and regularizers (`Regularizer`), and its stability.

A smoothing has the constants that the theorems use. `stability`, `bounds` and `printed` contain the theorems; they use
these constants and never name a class.

One-step differential stability (def:OSDS, def:OSDSnorm) has two different numbers. The *rate* is sup of
-d log p_i along a loss in [0,1]^n; every regret bound uses it. The *level* is the largest divergence between the
distributions before and after one whole loss; an audit measures it. A level can be smaller than the rate.

For a law, a change of one coordinate by c changes p_i by a factor of at most sup_y S(y)/S(y + c/scale). The worst loss
in [0,1]^n for arm i is e_i, because a constant added to all losses has no effect and losses of other arms increase p_i.
So the rate is hazard/scale, and the level follows from the survival function.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hannan import validation
from hannan.saving import frozen
from hannan.saving.formatting import figure
from hannan.saving.result import Result, Shown
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.mathematics.laws.law import Law


class Level(NamedTuple):
    """Largest divergence between the distributions before and after one loss. `value` is the divergence, `exact` is
    True if it is the supremum and not only an upper bound, and `source` names the proof.
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
    #: Members that determine the distributions of a compiled smoothing and its constants.
    compiled_members: ClassVar[tuple[str, ...]] = ("kernel", "kernel_parameters")
    #: True if the distribution is that of Hedge, p_i proportional to exp(-L_i/scale).
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
        """Law whose perturbed leader has the same distribution of moves; None if none is known."""
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

        The default is h/2: a rate holds in both directions, because a constant added to all losses does not change the
        distribution, and the changes of the probabilities sum to zero.

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
        """Return the loss of a comparator that must keep a positive probability on every arm.

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
        """Return the level in D_inf^delta for n arms; None if nothing better than the level for delta = 0 is known.

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

    def check_compiled(self, name: str) -> None:
        """Raise ValueError if a subclass of a compiled smoothing overrides a member.

        Learners would play the compiled code of its parent.

        Parameters
        ----------
        name : str
            Name of the parameter that the smoothing was passed as, for the message.
        """
        own = validation.user_defined(self, self.compiled_members) if self.kernel else []
        if own:
            kind = next(c.__name__ for c in type(self).__mro__ if "compiled_members" in vars(c))
            raise ValueError(
                f"{name} must not override members of a compiled {kind.lower()}; got {self!r}, with user-defined "
                f"{', '.join(own)}. Derive from hn.{kind} instead: such a class defines its own play, and its facts "
                "are checked"
            )

    def rate_assumption(self) -> str:
        """Return the part of `assumptions` that concerns the rate.

        Returns
        -------
        str
            The assumptions as a phrase.
        """
        return ""

    def tabulated(self) -> Any:
        """Return the table from which the engine computes the distribution; None if there is none."""
        return None

    def leader(self, L: Array, scale: float) -> Array:
        """Return the distribution at cumulative losses L, for smoothings without a compiled kernel.

        Parameters
        ----------
        L : array_like of shape (..., n)
            Cumulative losses.
        scale : float
            Scale, the inverse learning rate.
        """
        raise NotImplementedError(f"{type(self).__name__} must define leader(L, scale)")


@frozen
class Stability(Result):
    """Claim on how much one loss can change the distribution of the next move, which `hannan.audit` measures.

    Attributes
    ----------
    level : float
        Largest divergence between the distributions before and after one loss.
    rate : float
        Largest change of the same divergence per unit of loss, which bounds use; inf if there is none.
    gamma, delta : float
        Divergence D: D_inf,gamma or, if delta > 0, D_inf^delta.
    source : str
        Proof of the claim.
    exact : bool
        True if the level is the supremum itself; otherwise it is a proved upper bound.

    Notes
    -----
    D(p(L), p(L + l)) <= level for every L and every l in [0,1]^n: DiffStable of the paper.

    Examples
    --------
    >>> import hannan as hn
    >>> claim = hn.FTPL(hn.Exponential(), scale=2.0).stability(n=3)
    >>> claim.level, claim.rate, claim.exact
    (0.5, 0.5, True)
    """

    level: float
    rate: float
    gamma: float
    delta: float
    source: str
    exact: bool

    @property
    def divergence(self) -> str:
        """Name of the divergence."""
        return divergence_name(self.gamma, self.delta)

    def shown(self) -> Shown:
        """Level, rate, and their proof.

        Returns
        -------
        Shown
            Lines that `print` writes.
        """
        sense = "the supremum itself" if self.exact else "a proved upper bound"
        rows = [
            ("level", f"{figure(self.level)}, {sense}"),
            ("rate", figure(self.rate) if math.isfinite(self.rate) else "none exists"),
            ("divergence", self.divergence),
            ("source", self.source),
        ]
        return Shown(f"one-step stability: level {figure(self.level)}", rows)


def divergence_name(gamma: float, delta: float = 0.0) -> str:
    """Return the name of a divergence.

    >>> divergence_name(1.0), divergence_name(0.5), divergence_name(1.0, 1e-6)
    ('D_inf', 'D_inf,0.5', 'D_inf^1e-06')
    """
    return ("D_inf" if gamma == 1.0 else f"D_inf,{gamma:g}") + (f"^{delta:g}" if delta > 0.0 else "")


def stability(smoothing: Smoothing, scale: float, n: int, gamma: float, delta: float) -> Stability:
    """Return the stability of a smoothing at a scale; `Potential.stability` checks the arguments."""
    if n == 1:
        return Stability(0.0, 0.0, gamma, delta, "one arm: the distribution never changes", True)
    approximate = smoothing.approximate_level(n, scale, delta) if delta > 0.0 else None
    if approximate is not None:
        return Stability(approximate.value, math.inf, 1.0, delta, approximate.source, approximate.exact)
    own = smoothing.gamma
    if gamma > own:
        # A tail like z^-a gives p_i ~ d^-a, whose divergence stays bounded up to gamma = 1 + 1/a: not proved here.
        unbounded = smoothing.largest_gamma
        source = f"p_i -> 0 makes D_inf,gamma unbounded for gamma > {own:g}"
        source = source if unbounded else f"no level is proved in D_inf,gamma for gamma > {own:g}"
        return Stability(math.inf, math.inf, gamma, delta, source, unbounded)
    if gamma < own and gamma <= 1.0 and smoothing.rate_source:
        rate = smoothing.rate / scale
        return Stability(rate, rate, gamma, delta, smoothing.rate_source, False)
    level = smoothing.step_level(1.0 / scale)
    source = level.source if gamma == own else f"{level.source}; D_inf,gamma grows with gamma (lem:increasing)"
    exact = level.exact and gamma == own and delta == 0.0
    return Stability(level.value, smoothing.own_rate / scale, gamma, delta, source, exact)
