"""Deterministic comparators on the same domains: online gradient descent and exponentiated gradient.

The regret of gradient descent does not grow with the dimension, that of exponentiated gradient as the root of its
logarithm. The paper asks after cor:olo whether a perturbed leader can do the first: on a ball it does, with linear
losses and Gaussian or Gamma noise (`Convex` with `Horizon` or `Anytime`; docs/proofs/convex.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from hannan import saving, validation
from hannan.learners.convex.learner import refuse_steeper
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.domains import Domain, Simplex
from hannan.mathematics.convex.losses import Loss, refuse_unlike
from hannan.mathematics.potentials import softmax
from hannan.players.convex import DescentPlayer
from hannan.validation import Array


@dataclass(frozen=True)
class Descent(saving.Described):
    """x_{t+1} from the gradient of l_t at x_t; losses of any sign."""

    domain: Domain
    lipschitz: float

    setting: ClassVar[str] = "descent"
    #: Its moves are not random: they are known, and its bound is one of known moves.
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lipschitz", validation.positive(self.lipschitz, "lipschitz"))

    def next(self, x: Array, total: Array, gradient: Array, t: int) -> Array:
        """The move after round t, at x with this gradient; `total` is the sum of the gradients so far."""
        raise NotImplementedError

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """A bound on the regret, whatever the losses."""
        raise NotImplementedError

    def admit(self, losses: Any) -> Loss:
        """Losses that it can meet: not steeper than `lipschitz`."""
        if not isinstance(losses, Loss):
            raise ValueError(f"losses must be of the package, such as Linear(l); got {losses!r}")
        refuse_unlike(losses, self.domain)
        refuse_steeper(losses, self.domain, self.lipschitz)
        return losses

    def start(self, seed: int | None = None, name: str | None = None) -> DescentPlayer:
        """A live player. Nothing is drawn: whatever the seed, it makes the same moves."""
        return DescentPlayer(self, seed, name)


@dataclass(frozen=True)
class OnlineGradientDescent(Descent):
    """Choose a point of a convex set by steps against the gradients: no noise, any convex losses.

    x_{t+1} = projection of x_t - (2r/(beta sqrt(t))) grad l_t(x_t): R <= 3 r beta sqrt(T) (Zinkevich 2003).

    `domain`: the set, in a ball of radius r. `lipschitz`: beta, the steepest that a loss may be.

    >>> from hannan.mathematics.convex.domains import Ball
    >>> OnlineGradientDescent(Ball(5, 2.0), lipschitz=1.0).bound(rounds=100).value
    60.0
    """

    def next(self, x: Array, total: Array, gradient: Array, t: int) -> Array:
        return self.domain.project(x - 2.0 * self.domain.radius / (self.lipschitz * math.sqrt(t)) * gradient)

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        if rounds is None:
            raise ValueError("rounds must be given: the bound grows with them")
        value = 3.0 * self.domain.radius * self.lipschitz * math.sqrt(rounds)
        source = "Zinkevich 2003: diameter 2r, step diameter/(beta sqrt(t))"
        bound = Bound(value, {"3 r beta sqrt(T)": value}, source, sense="moves", against="any")
        return bound.asked(against)


@dataclass(frozen=True)
class ExponentiatedGradient(Descent):
    """Choose a mixture of d things by exponential weights on the gradients: the regret grows with sqrt(log d) only.

    x_{t+1,i} proportional to exp(-sum_{s<=t} g_{s,i}/scale_{t+1}), on the simplex: Hedge on the gradients.

    A gradient of norm beta has span at most s = sqrt(2) beta, and scale_t = (s/2) sqrt(t/ln d) gives
    R <= s sqrt(T ln d), also if the losses are chosen after the move.

    `domain`: a `Simplex`. `lipschitz`: beta, the steepest that a loss may be, in the Euclidean norm.

    >>> import hannan as hn
    >>> round(ExponentiatedGradient(hn.Simplex(100), lipschitz=1.0).bound(rounds=1000).value, 1)
    96.0
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.domain, Simplex):
            raise ValueError(f"exponentiated gradient plays on a Simplex; got {self.domain!r}")

    @property
    def span(self) -> float:
        """The largest max g - min g of a gradient."""
        return math.sqrt(2.0) * self.lipschitz

    def next(self, x: Array, total: Array, gradient: Array, t: int) -> Array:
        if self.domain.d == 1:
            return x
        return softmax(total, 0.5 * self.span * math.sqrt((t + 1) / math.log(self.domain.d)))

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        if rounds is None:
            raise ValueError("rounds must be given: the bound grows with them")
        value = self.span * math.sqrt(rounds * math.log(self.domain.d))
        terms = {"s sqrt(T ln d)": value}
        source = "Hedge on the gradients, Anytime"
        return Bound(bounds.rounded_up(value), terms, source, sense="moves", against="any").asked(against)
