"""Regularizers of FTRL: convex F on the simplex, separable, F(p) = scale * sum_i f(p_i).

The play is p(L) = argmin <L, p> + F(p). The regularizers of the package have compiled solvers; a user-defined
subclass can be evaluated but not played.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from hannan import validation
from hannan.mathematics.laws.law import Law
from hannan.mathematics.quadrature import least_between
from hannan.mathematics.smoothing import Level, Smoothing
from hannan.saving import frozen
from hannan.validation import Array

#: Members that every regularizer defines.
NEEDED = ("gamma", "value", "curvature")
#: Members that determine the play of a compiled regularizer and its constants.
MEMBERS = ("kernel", "kernel_parameters", *NEEDED)
POSSIBLE = (
    "A user-defined regularizer can be evaluated, but not played yet: learners and hn.FTRL take Entropy, Tsallis or "
    "LogBarrier. A user-defined perturbation distribution, a subclass of hn.Law with density and cdf, can be played."
)


@frozen
class Regularizer(Smoothing):
    """Convex function on the simplex that is added to the losses, so that the leader does not jump.

    A subclass defines `gamma`, `value` and `curvature`; without one of them its construction raises TypeError. The
    engine has solvers for `Entropy`, `Tsallis` and `LogBarrier`, so learners and `hn.FTRL` reject other regularizers.

    Notes
    -----
    F(p) = sum_i f(p_i) at scale 1, f strictly convex with f'(0+) = -inf. `slope` is f' and `curvature` is 1/f'',
    elementwise.

    Examples
    --------
    >>> import hannan as hn
    >>> hn.FTRL(hn.Tsallis(0.5), scale=1.0).gradient([0.0, 1.0]).round(3).tolist()
    [0.78, 0.22]
    """

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        """Reject an incomplete subclass."""
        validation.complete(cls, Regularizer, NEEDED, POSSIBLE)
        return super().__new__(cls)

    @property
    def gamma(self) -> float:
        """gamma of its differential consistency: -Hess_ii <= own_rate/scale * p_i^gamma."""
        raise NotImplementedError

    @property
    def rate_source(self) -> str:
        return f"the rate that {type(self).__name__} states"

    def value(self, p: Any) -> Any:
        """Return F(p) at scale 1, along the last axis."""
        raise NotImplementedError

    def slope(self, p: Array) -> Array:
        """Return f'(p_i) at scale 1, elementwise."""
        raise NotImplementedError

    def curvature(self, p: Array) -> Array:
        """Return w_i = 1/f''(p_i) at scale 1, elementwise.

        -Hess Phi = (diag(w) - w w'/sum w)/scale.
        """
        raise NotImplementedError

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return F at a vertex minus F at the uniform distribution, its largest difference on the simplex."""
        if n == 1:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = float(self.value(np.eye(n)[0])) - float(self.value(np.full(n, 1.0 / n)))
        return math.inf if math.isnan(spread) else spread

    def bandit_variance_constant(self, n: int, resampled: bool = False) -> float:
        """Return the smaller of n * rate and own_rate * n^(2 - gamma), which holds for 1 <= gamma <= 2.

        E D_t <= own_rate/(2 scale) sum_i p_i^(gamma - 1), because p_i only falls along a loss of arm i.
        """
        common = super().bandit_variance_constant(n, resampled)
        if resampled or not 1.0 <= self.gamma <= 2.0:
            return common
        return float(min(common, self.own_rate * n ** (2.0 - self.gamma)))

    def step_level(self, step: float) -> Level:
        h = self.own_rate
        if math.isinf(h):
            return Level(math.inf, False, f"no rate in D_inf,{self.gamma:g} is stated")
        return Level(h * step, False, f"level <= rate, which {type(self).__name__} states")


@frozen
class Entropy(Regularizer):
    """Negative entropy: the regularizer with which the leader is Hedge, exponential weights.

    Notes
    -----
    F(p) = sum_i p_i log p_i: the play is p_i proportional to exp(-L_i/scale).

    Examples
    --------
    >>> round(float(Entropy().value([0.5, 0.5])), 12)
    -0.69314718056
    """

    kernel: ClassVar[str] = "entropy"
    hedge: ClassVar[bool] = True
    largest_gamma: ClassVar[bool] = True
    tsallis_alpha: ClassVar[float | None] = 1.0
    gamma: ClassVar[float] = 1.0
    rate: ClassVar[float] = 1.0
    own_rate: ClassVar[float] = 1.0
    rate_source: ClassVar[str] = "prop:dc_to_dp in D_inf, corrected: kappa_a/(a scale)"

    @property
    def perturbation(self) -> Law:
        from hannan.mathematics.laws.light import Gumbel

        return Gumbel()

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return log n."""
        return math.log(n)

    def variance_constant(self, n: int) -> float:
        """Return 1/4 (Hoeffding)."""
        return 0.25

    def step_level(self, step: float) -> Level:
        return Level(step, True, "Hedge: p_i(L)/p_i(L + l) < e^(1/scale), a supremum")

    def value(self, p: Any) -> Any:
        p = np.asarray(p, dtype=np.float64)
        return (p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1)

    def slope(self, p: Array) -> Array:
        return np.asarray(np.log(p) + 1.0)

    def curvature(self, p: Array) -> Array:
        return p


@frozen
class Tsallis(Regularizer):
    """Negative Tsallis entropy: the regularizer of bandits whose regret has no logarithmic factor.

    Parameters
    ----------
    alpha : float, default 0.5
        Power, strictly between 0 and 1. Near 1 it is the entropy; near 0, at scale 1/alpha, the log-barrier.

    Notes
    -----
    F(p) = (1 - sum_i p_i^alpha)/(1 - alpha).

    Examples
    --------
    >>> float(Tsallis(0.5).value([0.25] * 4))
    -2.0
    """

    alpha: float = 0.5
    kernel: ClassVar[str] = "tsallis"
    largest_gamma: ClassVar[bool] = True
    rate_source: ClassVar[str] = "prop:dc_to_dp in D_inf, corrected: kappa_a/(a scale)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", validation.between(self.alpha, 0.0, 1.0, "Tsallis alpha", "()"))

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        return (self.alpha,)

    @property
    def tsallis_alpha(self) -> float:  # type: ignore[override]
        return self.alpha

    @property
    def gamma(self) -> float:
        return 2.0 - self.alpha

    @property
    def rate(self) -> float:
        """kappa_a/a."""
        return kappa(self.alpha) / self.alpha

    @property
    def own_rate(self) -> float:
        """1/a."""
        return 1.0 / self.alpha

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return (n^(1-a) - 1)/(1 - a)."""
        return math.expm1((1.0 - self.alpha) * math.log(n)) / (1.0 - self.alpha)

    def variance_constant(self, n: int) -> float:
        """Return 2^(a-3)/a, the variance of a loss under the curvatures, rounded up."""
        return float(2.0 ** (self.alpha - 3.0) / self.alpha * (1.0 + 4e-16))

    def bandit_variance_constant(self, n: int, resampled: bool = False) -> float:
        """Return n^a/a."""
        return float(n**self.alpha / self.alpha)

    def step_level(self, step: float) -> Level:
        return Level(step / self.alpha, True, "prop:dc_to_dp corrected: (2-alpha, 1/(alpha scale)) consistency")

    def value(self, p: Any) -> Any:
        p = np.asarray(p, dtype=np.float64)
        # (1 - sum p^a)/(1-a) = -sum p expm1((a-1) log p)/(1-a): no cancellation near alpha = 1.
        logs = np.log(np.where(p > 0.0, p, 1.0))
        return -(p * np.expm1((self.alpha - 1.0) * logs)).sum(axis=-1) / (1.0 - self.alpha)

    def slope(self, p: Array) -> Array:
        # The derivative of value's form is (1 - alpha p^(alpha-1))/(1 - alpha), on the simplex up to a constant.
        return np.asarray((1.0 - self.alpha * p ** (self.alpha - 1.0)) / (1.0 - self.alpha))

    def curvature(self, p: Array) -> Array:
        return p ** (2.0 - self.alpha) / self.alpha


@frozen
class LogBarrier(Regularizer):
    """Logarithmic barrier: the regularizer of bandits whose regret follows the loss of the best arm.

    Notes
    -----
    F(p) = -sum_i log p_i. Its range is unbounded: a bound compares with a distribution that keeps tau = 1/(n rounds) on
    every arm, so it needs the number of rounds.

    Examples
    --------
    >>> round(float(LogBarrier().value([0.5, 0.5])), 12)
    1.38629436112
    """

    kernel: ClassVar[str] = "log_barrier"
    needs_rounds: ClassVar[bool] = True
    first_order: ClassVar[bool] = True
    largest_gamma: ClassVar[bool] = True
    tsallis_alpha: ClassVar[float | None] = 0.0
    gamma: ClassVar[float] = 2.0
    own_rate: ClassVar[float] = 1.0
    rate_source: ClassVar[str] = "prop:dc_to_dp in D_inf, corrected: kappa_a/(a scale)"

    @property
    def rate(self) -> float:
        """kappa_0."""
        return kappa(0.0)

    def range_constant(self, n: int, rounds: int | None = None) -> float:
        """Return A = (n-1) log(1/tau) - log(1 - (n-1) tau) - n log n at tau = 1/(n rounds)."""
        if rounds is None:
            raise ValueError("the range of the log-barrier depends on the number of rounds; got rounds=None")
        if n == 1:
            return 0.0
        tau = 1.0 / (n * rounds)
        return (n - 1) * math.log(1.0 / tau) - math.log1p(-(n - 1) * tau) - n * math.log(n)

    def variance_constant(self, n: int) -> float:
        """Return 1/8, the variance of a loss under the curvatures."""
        return 0.125

    def comparator_cost(self, n: int) -> float:
        """Return (n - 1) tau rounds = (n - 1)/n."""
        return (n - 1) / n

    def step_level(self, step: float) -> Level:
        return Level(step, True, "lem:logdc and prop:dc_to_dp corrected: (2, 1/scale) consistency")

    def value(self, p: Any) -> Any:
        with np.errstate(divide="ignore"):
            return -np.log(np.asarray(p, dtype=np.float64)).sum(axis=-1)

    def slope(self, p: Array) -> Array:
        return np.asarray(-1.0 / p)

    def curvature(self, p: Array) -> Array:
        return p**2


@lru_cache(maxsize=256)
def kappa(alpha: float) -> float:
    """kappa_a = max_p p^(1-a) (1-p)^(2-a) / (p^(2-a) + (1-p)^(2-a)), 0 <= a < 1.

    The D_inf rate of Tsallis(a) is kappa_a/(a scale), of the log-barrier kappa_0/scale.

    >>> [round(kappa(a), 6) for a in (0.0, 0.25, 0.5, 0.75)]
    [0.276953, 0.340424, 0.427916, 0.568456]
    """

    def objective(p: float) -> float:
        a, b = p ** (2.0 - alpha), (1.0 - p) ** (2.0 - alpha)
        return float(p ** (1.0 - alpha) * b / (a + b))

    # The maximum is flat: the value is right to rounding although p is only to 1e-8. Rounded up.
    return objective(least_between(lambda p: -objective(p), 0.0, 1.0, 120)) * (1.0 + 4e-16)


def check_playable(regularizer: Regularizer, name: str) -> None:
    """Raise ValueError if the engine has no solver for a regularizer; `name` is the parameter that it was passed as."""
    own = validation.user_defined(regularizer, MEMBERS)
    if own:
        raise ValueError(
            f"{name} must have a solver in the engine; got {regularizer!r}, with user-defined {', '.join(own)}. "
            f"{POSSIBLE}"
        )
