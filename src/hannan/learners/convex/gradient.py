"""Deterministic learners on convex domains: online gradient descent and exponentiated gradient; base class `Descent`.

The regret of gradient descent does not depend on the dimension; that of exponentiated gradient is proportional to the
square root of the logarithm of the dimension. The paper asks after cor:olo whether a perturbed leader can match
gradient descent. On a ball it can, for linear losses with Gaussian or Gamma noise (`Convex` with `Horizon` or
`Anytime`; docs/proofs/convex.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from hannan import saving, validation
from hannan.learners.convex.learner import check_lipschitz
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms
from hannan.mathematics.convex.domains import Domain, Simplex
from hannan.mathematics.convex.losses import Loss, check_user_defined
from hannan.mathematics.potentials import softmax
from hannan.players.convex import DescentPlayer
from hannan.validation import Array


@dataclass(frozen=True)
class Descent(saving.Described):
    """Deterministic learner that computes x_{t+1} from the gradient of l_t at x_t, for losses of any sign."""

    domain: Domain
    lipschitz: float

    setting: ClassVar[str] = "descent"
    #: Moves are deterministic, so that bounds hold for every sequence of moves and losses.
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lipschitz", validation.positive(self.lipschitz, "lipschitz"))

    @property
    def kept(self) -> int:
        """Number of further numbers that a player keeps, at first 0."""
        return 0

    def next(self, x: Array, total: Array, gradient: Array, t: int, kept: Array) -> Array:
        """Return the move after round t, from x and its gradient.

        `total` is the sum of the gradients so far; `kept` are the further numbers, which the method updates in place.
        """
        raise NotImplementedError

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Return a bound on the regret, even against an adaptive adversary."""
        raise NotImplementedError

    def observed(self, rounds: int, best_loss: float, kept: Array) -> Bound:
        """Return the bound for what a player observed: the best loss and the further numbers that it keeps."""
        return self.bound(rounds, against="any")

    def _stated(self, terms: Terms, source: str, rounds: int, condition: str = "") -> Bound:
        """Return a bound for every sequence of moves, at most rounds * range."""
        value, most = bounds.rounded_up(math.fsum(terms.values())), 2.0 * self.domain.radius * self.lipschitz * rounds
        if value >= most:
            return bounds.trivial(most)
        return Bound(value, terms, source, sense="moves", against="any", condition=condition)

    def admit(self, losses: Any) -> Loss:
        """Return losses after validation of their Lipschitz constant."""
        if not isinstance(losses, Loss):
            raise ValueError(f"losses must be losses of hannan, such as hn.Linear(z); got {losses!r}")
        check_user_defined(losses, self.domain)
        check_lipschitz(losses, self.domain, self.lipschitz)
        return losses

    def start(self, seed: int | None = None, name: str | None = None) -> DescentPlayer:
        """Return a live player. Its moves are deterministic, so the seed has no effect."""
        return DescentPlayer(self, seed, name)


@dataclass(frozen=True)
class OnlineGradientDescent(Descent):
    """Online gradient descent on a convex set: no noise, any convex losses.

    Parameters
    ----------
    domain : Domain
        Convex set, in a ball of radius r.
    lipschitz : float
        Lipschitz constant of the losses, beta.

    Notes
    -----
    x_{t+1} = projection of x_t - (2r/(beta sqrt(t))) grad l_t(x_t), and R <= 3 r beta sqrt(T).

    References
    ----------
    Zinkevich, Online convex programming and generalized infinitesimal gradient ascent, ICML 2003.

    Examples
    --------
    >>> from hannan.mathematics.convex.domains import Ball
    >>> OnlineGradientDescent(Ball(5, 2.0), lipschitz=1.0).bound(rounds=100).value
    60.0
    """

    def next(self, x: Array, total: Array, gradient: Array, t: int, kept: Array) -> Array:
        return self.domain.project(x - 2.0 * self.domain.radius / (self.lipschitz * math.sqrt(t)) * gradient)

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        if rounds is None:
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        value = 3.0 * self.domain.radius * self.lipschitz * math.sqrt(rounds)
        source = "Zinkevich 2003: diameter 2r, step diameter/(beta sqrt(t))"
        bound = Bound(value, {"3 r beta sqrt(T)": value}, source, sense="moves", against="any")
        return bound.asked(against)


@dataclass(frozen=True)
class ExponentiatedGradient(Descent):
    """Exponentiated gradient on the simplex: its regret grows with sqrt(log d) only.

    Parameters
    ----------
    domain : Simplex
        The simplex of dimension d.
    lipschitz : float
        Lipschitz constant of the losses in the Euclidean norm, beta.

    Notes
    -----
    x_{t+1,i} is proportional to exp(-sum_{s<=t} g_{s,i}/scale_{t+1}): Hedge on the gradients g. The range of a gradient
    is at most s = sqrt(2) beta, and scale_t = (s/2) sqrt(t/ln d) gives R <= s sqrt(T ln d), even if the losses are
    chosen after the move.

    Examples
    --------
    >>> import hannan as hn
    >>> round(ExponentiatedGradient(hn.Simplex(100), lipschitz=1.0).bound(rounds=1000).value, 1)
    96.0
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.domain, Simplex):
            raise ValueError(f"domain must be a Simplex for exponentiated gradient; got {self.domain!r}")

    @property
    def span(self) -> float:
        """Largest range max g - min g of a gradient."""
        return math.sqrt(2.0) * self.lipschitz

    def next(self, x: Array, total: Array, gradient: Array, t: int, kept: Array) -> Array:
        if self.domain.d == 1:
            return x
        return softmax(total, 0.5 * self.span * math.sqrt((t + 1) / math.log(self.domain.d)))

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        if rounds is None:
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        value = self.span * math.sqrt(rounds * math.log(self.domain.d))
        terms = {"s sqrt(T ln d)": value}
        source = "Hedge on the gradients, Anytime"
        return Bound(bounds.rounded_up(value), terms, source, sense="moves", against="any").asked(against)
