"""Regularizers of FTRL: convex F on the simplex, separable, F(p) = scale * sum_i f(p_i).

The play is p(L) = argmin <L, p> + F(p). A new regularizer needs a solver in the engine and a proof of its
differential consistency (see CONTRIBUTING); a user-defined subclass can be evaluated but not played.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from hannan import validation
from hannan.saving import frozen
from hannan.validation import Array

#: Members that every regularizer defines.
NEEDED = ("gamma", "value", "curvature")
POSSIBLE = (
    "A user-defined regularizer can be evaluated, but not played yet: learners and hn.FTRL take Entropy, Tsallis or "
    "LogBarrier. A user-defined perturbation distribution, a subclass of hn.Law with density and cdf, can be played."
)


@frozen
class Regularizer:
    """A convex function on the simplex, which a regularized leader adds to the losses so that it does not jump.

    F(p) = sum_i f(p_i), f strictly convex with f'(0+) = -inf, at scale 1.

    A subclass defines `gamma`, `value` and `curvature`; without one of them its construction raises TypeError. The
    engine has solvers for `Entropy`, `Tsallis` and `LogBarrier`, so learners and `hn.FTRL` reject other regularizers.

    >>> import hannan as hn
    >>> hn.FTRL(hn.Tsallis(0.5), scale=1.0).gradient([0.0, 1.0]).round(3).tolist()
    [0.78, 0.22]
    """

    kernel: ClassVar[str] = ""

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        """Reject an incomplete subclass."""
        validation.complete(cls, Regularizer, NEEDED, POSSIBLE)
        return super().__new__(cls)

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        """What the compiled kernel needs to know of the regularizer."""
        return ()

    @property
    def gamma(self) -> float:
        """The gamma of its differential consistency: -Hess_ii <= constant/scale * p_i^gamma."""
        raise NotImplementedError

    def value(self, p: Any) -> Any:
        """F(p) at scale 1, along the last axis."""
        raise NotImplementedError

    def curvature(self, p: Array) -> Array:
        """w_i = 1/f''(p_i) at scale 1; -Hess Phi = (diag(w) - w w'/sum w)/scale."""
        raise NotImplementedError


@frozen
class Entropy(Regularizer):
    """The negative entropy: the regularizer with which the leader is Hedge, exponential weights.

    F(p) = sum_i p_i log p_i: the play is Hedge's, p_i proportional to exp(-L_i/scale).

    >>> round(float(Entropy().value([0.5, 0.5])), 12)
    -0.69314718056
    """

    kernel: ClassVar[str] = "entropy"
    gamma: ClassVar[float] = 1.0

    def value(self, p: Any) -> Any:
        p = np.asarray(p, dtype=np.float64)
        return (p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1)

    def curvature(self, p: Array) -> Array:
        return p


@frozen
class Tsallis(Regularizer):
    """The negative Tsallis entropy: the regularizer of the bandits whose regret has no logarithm in it.

    F(p) = (1 - sum_i p_i^alpha)/(1 - alpha). alpha -> 1 is the entropy; alpha -> 0 at scale 1/alpha is the log-barrier.

    `alpha`: strictly between 0 and 1.

    >>> float(Tsallis(0.5).value([0.25] * 4))
    -2.0
    """

    alpha: float = 0.5
    kernel: ClassVar[str] = "tsallis"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", validation.between(self.alpha, 0.0, 1.0, "Tsallis alpha", "()"))

    @property
    def kernel_parameters(self) -> tuple[float, ...]:
        return (self.alpha,)

    @property
    def gamma(self) -> float:
        return 2.0 - self.alpha

    def value(self, p: Any) -> Any:
        p = np.asarray(p, dtype=np.float64)
        # (1 - sum p^a)/(1-a) = -sum p expm1((a-1) log p)/(1-a): no cancellation near alpha = 1.
        logs = np.log(np.where(p > 0.0, p, 1.0))
        return -(p * np.expm1((self.alpha - 1.0) * logs)).sum(axis=-1) / (1.0 - self.alpha)

    def curvature(self, p: Array) -> Array:
        return p ** (2.0 - self.alpha) / self.alpha


@frozen
class LogBarrier(Regularizer):
    """The logarithmic barrier: the regularizer of bandits whose regret follows the loss of the best arm.

    F(p) = -sum_i log p_i.

    >>> round(float(LogBarrier().value([0.5, 0.5])), 12)
    1.38629436112
    """

    kernel: ClassVar[str] = "log_barrier"
    gamma: ClassVar[float] = 2.0

    def value(self, p: Any) -> Any:
        with np.errstate(divide="ignore"):
            return -np.log(np.asarray(p, dtype=np.float64)).sum(axis=-1)

    def curvature(self, p: Array) -> Array:
        return p**2


def check_playable(regularizer: Regularizer, name: str) -> None:
    """Raise ValueError if the engine has no solver for a regularizer; `name` is the parameter that it was passed as."""
    own = validation.user_defined(regularizer, ("kernel", "kernel_parameters", *NEEDED))
    if own:
        raise ValueError(
            f"{name} must have a solver in the engine; got {regularizer!r}, with user-defined {', '.join(own)}. "
            f"{POSSIBLE}"
        )
