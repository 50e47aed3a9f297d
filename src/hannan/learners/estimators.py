"""Estimators: rules that turn one observed loss into a loss vector, lhat = loss * weight * e_action.

The weight replaces 1/p and is computed when the move is drawn, so that late feedback is weighted with the probability
of its own ticket. The engine implements the same rules under the name `kernel`; `weight` is the reference
implementation for the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from hannan import validation
from hannan.mathematics.bounds import Terms, resampling_bias
from hannan.saving import frozen
from hannan.validation import Array


class Drawn(NamedTuple):
    """Drawn action, with the distribution, the estimated cumulative losses and the scale that it was drawn with."""

    action: int
    distribution: Array
    losses: Array
    scale: float

    @property
    def probability(self) -> float:
        """Probability of the drawn action."""
        return float(self.distribution[self.action])


#: Members that determine an estimate; every estimator defines the first one.
MEMBERS = ("weight", "baselines", "draws", "kernel", "parameter", "weights", "exploration", "bias")
POSSIBLE = "A user-defined estimator derives from hn.Estimator and defines `weight`, and `baselines` if it has any."
#: Facts that only a proof in this package may state.
PROVED = ("weights", "exploration", "bias", "parameter", "estimate")


@frozen
class Estimator:
    """Rule that turns one observed loss into a loss vector, lhat = loss * weight * e_action.

    A subclass defines `weight`, `baselines` if every arm is charged something, and `draws = True` if the weight is
    random. `hn.Bandit` plays it in `hn.play` and live; no bound is proved for it, and fleets and stores reject it.

    Raises
    ------
    TypeError
        If `weight` is missing.
    ValueError
        If a weight is not a finite number >= 0, or if baselines are not one finite number per arm. This is checked
        when a `hn.Bandit` is built and in every round.

    Examples
    --------
    >>> import hannan as hn
    >>> @frozen
    ... class Shifted(hn.Estimator):
    ...     shift: float = 0.01
    ...     def weight(self, drawn, uniform): return 1.0 / (drawn.probability + self.shift)
    >>> record = hn.play(hn.Bandit(3, hn.Entropy(), hn.Fixed(20.0), Shifted()), np.eye(3)[[0] * 50], seed=0)
    >>> record.rounds
    50
    """

    #: Name of the rule in the engine.
    kernel: ClassVar[str] = ""
    #: "exact" if the weight is 1/p and there are no baselines, "resampled" if it is a capped number of trials.
    weights: ClassVar[Literal["exact", "resampled", "other"]] = "other"
    #: True if the weight is random, so that past moves do not determine the estimates.
    draws: ClassVar[bool] = False

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        """Reject an incomplete subclass."""
        validation.complete(cls, Estimator, MEMBERS[:1], POSSIBLE)
        return super().__new__(cls)

    @property
    def parameter(self) -> float:
        """Number that the compiled rule needs: the value of the only field, or 0."""
        return next((float(getattr(self, field.name)) for field in fields(self)), 0.0)

    def weight(self, drawn: Drawn, uniform: Callable[[], float]) -> float:
        """Return the weight that replaces 1/p of the drawn action; `uniform()` returns numbers in [0, 1).

        Parameters
        ----------
        drawn : Drawn
            The move that was drawn, with its distribution and loss.
        uniform : callable
            Function without arguments that draws a number in [0, 1).
        """
        raise NotImplementedError

    def baselines(self, drawn: Drawn) -> Array | None:
        """Return B with lhat = B + (loss - B_action) * weight * e_action; None if B is 0.

        Parameters
        ----------
        drawn : Drawn
            The move that was drawn, with its distribution and loss.
        """
        return None

    def estimate(self) -> Any:
        """Return the part of the engine's setup: the compiled rule, or the callback of a user-defined one.

        Returns
        -------
        object
            Setup of the engine.
        """
        from hannan import _engine

        if not self.kernel:
            return _engine.Estimate(_engine.Estimator.foreign, call=by_rule(self))
        return _engine.Estimate(getattr(_engine.Estimator, self.kernel), self.parameter)

    @property
    def exploration(self) -> float:
        """Parameter gamma of implicit exploration, weight = 1/(p + gamma); 0 for other rules."""
        return 0.0

    def bias(self, n: int, rounds: int) -> Terms:
        """Return the terms that the bias of the estimates adds to a bound on the regret.

        Parameters
        ----------
        n : int
            Number of arms.
        rounds : int
            Number of rounds.

        Returns
        -------
        dict of str to float
            Terms by name.
        """
        return {}


@frozen
class ImportanceWeighted(Estimator):
    """Importance-weighted estimate: the observed loss divided by the probability of the drawn action.

    Notes
    -----
    weight = 1/p. The estimate is unbiased.

    Examples
    --------
    >>> import numpy as np
    >>> ImportanceWeighted().weight(Drawn(1, np.array([0.75, 0.25]), np.zeros(2), 1.0), lambda: 0.5)
    4.0
    """

    kernel: ClassVar[str] = "importance_weighted"
    weights: ClassVar[Literal["exact", "resampled", "other"]] = "exact"

    def weight(self, drawn: Drawn, uniform: Callable[[], float]) -> float:
        return 1.0 / drawn.probability


@frozen
class Resampling(Estimator):
    """Estimate whose weight is a number of trials, at most `cap`."""

    cap: int
    weights: ClassVar[Literal["exact", "resampled", "other"]] = "resampled"
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "cap", validation.count(self.cap, "cap"))


@frozen
class GeometricResampling(Resampling):
    """Estimate for learners that can draw moves but not compute their probabilities: draw again and count.

    Parameters
    ----------
    cap : int
        Largest number of draws that is counted.

    Notes
    -----
    weight = min(K, cap), where K is the number of fresh draws until the action is drawn again. K is geometric with
    success probability p, and is generated from one uniform. E weight = (1 - (1-p)^cap)/p is below 1/p, at a cost of at
    most N/(e cap) per round.

    References
    ----------
    Neu and Bartok, An efficient algorithm for learning with semi-bandit feedback, ALT 2013.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = Drawn(1, np.array([0.75, 0.25]), np.zeros(2), 1.0)
    >>> [GeometricResampling(cap).weight(drawn, lambda: 0.9) for cap in (100, 5)]
    [9.0, 5.0]
    """

    kernel: ClassVar[str] = "geometric"

    def weight(self, drawn: Drawn, uniform: Callable[[], float]) -> float:
        return capped_geometric(uniform(), drawn.probability, self.cap)

    def bias(self, n: int, rounds: int) -> Terms:
        return resampling_bias(n, self.cap, rounds)


@frozen
class ConditionalResampling(Resampling):
    """Resampling with fewer draws: the perturbation of the action is drawn given that the action can be the leader.

    Parameters
    ----------
    cap : int
        Largest number of draws that is counted.

    Notes
    -----
    weight = sigma min(K, cap), sigma = #{j: Lhat_j <= Lhat_action}. To be the leader, the action needs the largest of
    these sigma perturbations, which has probability 1/sigma. So the action receives the largest of them, and then is
    the leader with probability sigma p. K counts the trials: at most H_N per round in expectation, instead of N. E
    weight = (1 - (1 - sigma p)^cap)/p, at a cost of at most H_N/(e cap) per round.

    References
    ----------
    Chen, Lee and Honda, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = Drawn(1, np.array([0.75, 0.25]), np.array([0.0, 1.0]), 1.0)
    >>> ConditionalResampling(100).weight(drawn, lambda: 0.9)
    8.0
    """

    kernel: ClassVar[str] = "conditional"

    def weight(self, drawn: Drawn, uniform: Callable[[], float]) -> float:
        sigma = int((drawn.losses <= drawn.losses[drawn.action]).sum())
        return sigma * capped_geometric(uniform(), sigma * drawn.probability, self.cap)

    def bias(self, n: int, rounds: int) -> Terms:
        return resampling_bias(math.fsum(1.0 / i for i in range(1, n + 1)), self.cap, rounds)


@frozen
class ImplicitExploration(Estimator):
    """Implicit exploration: an estimate with a small negative bias that is never large, for bounds on one run.

    Parameters
    ----------
    gamma : float, optional
        Number > 0 that is added to the probability. Default: the learner computes it from its number of rounds;
        `SlateBandit` does so.

    Notes
    -----
    weight = 1/(p + gamma) <= 1/gamma. E lhat_i = l_i p_i/(p_i + gamma) <= l_i, and own loss - <p, lhat> = gamma sum_i
    lhat_i, so the expected regret is larger by at most gamma n per round.

    References
    ----------
    Neu, Explore no more: improved high-probability regret bounds for non-stochastic bandits, NeurIPS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> ImplicitExploration(0.25).weight(Drawn(1, np.array([0.75, 0.25]), np.zeros(2), 1.0), lambda: 0.5)
    2.0
    """

    gamma: float | None = None
    kernel: ClassVar[str] = "implicit"

    def __post_init__(self) -> None:
        if self.gamma is not None:
            object.__setattr__(self, "gamma", validation.positive(self.gamma, "gamma"))

    def weight(self, drawn: Drawn, uniform: Callable[[], float]) -> float:
        return 1.0 / (drawn.probability + self.exploration)

    @property
    def exploration(self) -> float:
        if self.gamma is None:
            raise ValueError("gamma is required for this learner; pass hn.ImplicitExploration(gamma); got gamma=None")
        return self.gamma


@frozen
class ReducedVariance(Estimator):
    """Estimate with a baseline of 1/2 for likely arms, which has a quarter of the variance; the default of `Bandit`.

    With Tsallis(1/2) a bound is proved for Horizon, for Fixed(scale) with scale > 1 and for Anytime(1/2). For other
    smoothings no bound is proved.

    Notes
    -----
    lhat_i = 1{i = action} (loss - B_i)/p_i + B_i, where B_i = 1/2 if p_i >= 4/scale^2, else 0. The estimate is
    unbiased. For a likely arm only the distance of the loss to 1/2 is divided by p_i.

    References
    ----------
    Zimmert and Seldin, Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits, JMLR 2021.

    Examples
    --------
    >>> import numpy as np
    >>> ReducedVariance().baselines(Drawn(0, np.array([0.75, 0.25]), np.zeros(2), 3.0)).tolist()
    [0.5, 0.0]
    """

    kernel: ClassVar[str] = "reduced_variance"

    def weight(self, drawn: Drawn, uniform: Callable[[], float]) -> float:
        return 1.0 / drawn.probability

    def baselines(self, drawn: Drawn) -> Array | None:
        return np.where(drawn.distribution >= 4.0 / drawn.scale**2, 0.5, 0.0)


Uniform = Callable[[], float]
#: Signature for the engine: (action, distribution, losses, scale, uniform) -> (weight, baselines or None).
Rule = Callable[[int, Array, Array, float, Uniform], tuple[float, Array | None]]


def _no_uniform() -> float:
    raise ValueError("weight() must not call uniform() unless the class states draws = True")


def by_rule(estimator: Estimator) -> Rule:
    """Return a user-defined estimator as the engine calls it, with its answers checked."""
    name = type(estimator).__name__

    def rule(
        action: int, distribution: Array, losses: Array, scale: float, uniform: Uniform
    ) -> tuple[float, Array | None]:
        drawn = Drawn(action, distribution, losses, scale)
        weight = estimator.weight(drawn, uniform if estimator.draws else _no_uniform)
        if not 0.0 <= validation.real(weight, f"weight() of {name}") < math.inf:
            raise ValueError(f"weight() of {name} must return a finite number >= 0; got {weight!r}")
        baselines = estimator.baselines(drawn)
        if baselines is None:
            return float(weight), None
        charged = np.ascontiguousarray(baselines, dtype=np.float64)
        if charged.shape != distribution.shape or not np.isfinite(charged).all():
            raise ValueError(
                f"baselines() of {name} must return None or {distribution.size} finite numbers; got {baselines!r}"
            )
        return float(weight), charged

    return rule


def check_playable(estimator: Any, n: int) -> None:
    """Raise ValueError if an object is not an estimator, or if a user-defined one fails on two plays of n arms."""
    if not isinstance(estimator, Estimator):
        raise ValueError(f"estimator must be an estimator such as ImportanceWeighted(); got {estimator!r}")
    own = validation.user_defined(estimator, MEMBERS if estimator.kernel else PROVED)
    if own:
        kind = "members of a compiled estimator" if estimator.kernel else "facts that bounds use"
        raise ValueError(
            f"estimator must not override {kind}; got {estimator!r}, with user-defined {', '.join(own)}. {POSSIBLE}"
        )
    if isinstance(estimator, ImplicitExploration):
        _ = estimator.exploration  # raises if gamma was omitted
    if not estimator.kernel:
        rule = by_rule(estimator)
        for distribution in (np.full(n, 1.0 / n), np.linspace(1.0, 2.0, n) / np.linspace(1.0, 2.0, n).sum()):
            rule(n - 1, distribution, np.zeros(n), 2.0, lambda: 0.5)


def capped_geometric(u: float, p: float, cap: int) -> float:
    """Return min(cap, K) with P(K > k) = (1-p)^k, by inversion of one uniform.

    >>> capped_geometric(0.5, 0.25, 10), capped_geometric(0.999, 0.25, 10)
    (3.0, 10.0)
    """
    if p >= 1.0:
        return 1.0
    return min(float(cap), 1.0 + math.floor(math.log1p(-u) / math.log1p(-p)))
