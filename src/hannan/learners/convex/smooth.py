"""Gradient methods whose regret follows the best loss: smooth losses, and exp-concave losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan import validation
from hannan.learners.convex.gradient import Descent
from hannan.mathematics.bounds import Bound, Terms
from hannan.mathematics.convex.domains import Domain
from hannan.mathematics.convex.leader import Leader
from hannan.mathematics.convex.losses import Huber, Logistic, Loss, SmoothedHinge, Squared
from hannan.validation import Array

_SMOOTH = "smooth losses, after Srebro, Sridharan and Tewari 2010, proved in docs/proofs/convex.md"
_NEWTON = "exp-concave losses, after Orabona, Cesa-Bianchi and Gentile 2012, proved in docs/proofs/convex.md"
#: Accuracy of a move of `OnlineNewton`, as a share of the radius.
_ACCURACY = 1e-9


def check_smooth(losses: Loss, smooth: float, kinds: tuple[type[Loss], ...]) -> None:
    """Raise ValueError if losses are not nonnegative on R^d and smooth, which ||grad l||^2 <= 2 smooth l needs."""
    if not isinstance(losses, kinds):
        names = ", ".join(f"hn.{kind.__name__}" for kind in kinds)
        raise ValueError(f"losses must be one of {names}; got {validation.brief(losses)}")
    most = float(np.max(losses.smooth, initial=0.0))
    if most > smooth * (1.0 + 1e-9):
        raise ValueError(f"losses must have smoothness constants of at most smooth = {smooth:g}; got {most:g}")


def least_loss(best_loss: Any, rounds: int) -> float:
    """Return a cumulative loss of the best point after validation; a solver finds it up to rounding errors."""
    best = validation.real(best_loss, "best_loss")
    if best < -1e-6 * (1.0 + rounds):
        raise ValueError(f"best_loss must be >= 0, because losses are; got {best_loss!r}")
    return max(best, 0.0)


@dataclass(frozen=True)
class SmoothDescent(Descent):
    """Gradient descent for smooth losses >= 0, whose regret follows the loss of the best point.

    Parameters
    ----------
    domain : Domain
        Convex set, in a ball of radius r.
    lipschitz : float
        Lipschitz constant of the losses on the domain, beta.
    smooth : float
        Smoothness constant of the losses, H: the gradient is H-Lipschitz. It affects the bound, and the step if
        `best_loss` is given.
    best_loss : float, optional
        Cumulative loss of the best point, or an upper bound on it, for which a constant step is tuned. Default: steps
        that need no number in advance.

    Notes
    -----
    x_{t+1} = projection of x_t - eta_t g_t. A loss >= 0 that is H-smooth on R^d has ||g||^2 <= 2 H l. With `best_loss`
    the step is constant, eta = a/H, a = c/(c + sqrt(c^2 + c L)), c = H r^2/2, and

        R <= H r^2 + sqrt(H^2 r^4 + 2 H r^2 L).

    Without it, eta_t = sqrt(2) r/sqrt(sum_{s<=t} ||g_s||^2), and

        R <= 8 H r^2 + sqrt(64 H^2 r^4 + 16 H r^2 L*),  R <= 2 sqrt(2) r beta sqrt(T).

    The reference tunes a constant step for L*; the other steps were chosen here.

    References
    ----------
    Srebro, Sridharan and Tewari, Smoothness, low noise and fast rates, NIPS 2010.

    Examples
    --------
    >>> from hannan.mathematics.convex.domains import Ball
    >>> learner = SmoothDescent(Ball(3), lipschitz=2.0, smooth=1.0)
    >>> round(learner.bound(10_000).value, 1), round(learner.bound(10_000, best_loss=10).value, 1)
    (565.7, 23.0)
    >>> round(SmoothDescent(Ball(3), lipschitz=2.0, smooth=1.0, best_loss=10).bound(10_000).value, 1)
    5.6
    """

    smooth: float
    best_loss: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "smooth", validation.positive(self.smooth, "smooth"))
        if self.best_loss is not None:
            object.__setattr__(self, "best_loss", validation.positive(self.best_loss, "best_loss"))

    def admit(self, losses: Any) -> Loss:
        """Return losses after validation: >= 0 everywhere, smooth and Lipschitz.

        Parameters
        ----------
        losses : Loss
            A loss, or a sequence of losses.

        Returns
        -------
        Loss
            The validated loss.
        """
        check_smooth(losses, self.smooth, (Squared, Logistic, Huber, SmoothedHinge))
        return super().admit(losses)

    @property
    def kept(self) -> int:
        """Number of further numbers: the sum of the squared lengths of the gradients."""
        return 1

    @property
    def _share(self) -> float:
        """Constant step, as a multiple of 1/H."""
        c = 0.5 * self.smooth * self.domain.radius**2
        return c / (c + math.sqrt(c * c + c * (self.best_loss or 0.0)))

    def next(self, x: Array, total: Array, gradient: Array, t: int, kept: Array) -> Array:
        kept[0] += gradient @ gradient
        if self.best_loss is not None:
            step = self._share / self.smooth
        elif kept[0] == 0.0:
            return x
        else:
            step = math.sqrt(2.0) * self.domain.radius / math.sqrt(kept[0])
        return np.asarray(self.domain.project(x - step * gradient))

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Return a bound on the regret, which holds even if a loss depends on the move of its round.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best point in hindsight, or an upper bound on it. Default: that of the learner; if
            there is none, the bound does not use it.
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
        best = self.best_loss if best_loss is None else least_loss(best_loss, rounds)
        terms, uses = self._least(rounds, best)
        bound = self._stated(terms, _SMOOTH, rounds)
        uses = uses and bound.sense != "run"
        return (bound.supposing(float(best or 0.0)) if uses else bound).asked(against)

    def _least(self, rounds: int, best: float | None) -> tuple[Terms, bool]:
        """Return the terms of the smallest bound, and whether it supposes the best loss."""
        r, h, beta = self.domain.radius, self.smooth, self.lipschitz
        if self.best_loss is not None:
            step = self._share / h
            worst: Terms = {"r^2/(2 eta)": r * r / (2.0 * step), "eta beta^2 T/2": 0.5 * step * beta**2 * rounds}
        else:
            worst = {"2 sqrt(2) r beta sqrt(T)": 2.0 * math.sqrt(2.0) * r * beta * math.sqrt(rounds)}
        if best is None:
            return worst, False
        if self.best_loss is not None:
            share = self._share
            small = {"first order": (best + h * r * r / (2.0 * share)) / (1.0 - share) - best}
        else:
            small = {"8 H r^2": 8.0 * h * r * r, "root": math.sqrt(64.0 * h * h * r**4 + 16.0 * h * r * r * best)}
        uses = math.fsum(small.values()) < math.fsum(worst.values())
        return (small, True) if uses else (worst, False)

    def observed(self, rounds: int, best_loss: float, kept: Array) -> Bound:
        return self.bound(rounds, best_loss, against="any").observed()


@dataclass(frozen=True)
class OnlineNewton(Descent):
    """Follow the leader of quadratic lower bounds: regret of order d log L* for exp-concave losses.

    Parameters
    ----------
    domain : Domain
        Convex set, in a ball of radius r.
    lipschitz : float
        Lipschitz constant of the losses on the domain, beta.
    exp_concave : float
        Number a > 0 such that e^(-a l) is concave on the domain for every loss: for `Squared` 1 over the largest
        squared error, for `Logistic` e^(-largest margin). Losses are checked.
    smooth : float
        Smoothness constant of the losses, H.

    Notes
    -----
    x_{t+1} = argmin sum_{s<=t} (<g_s, x> + (c/2) <g_s, x - x_s>^2) + (e/2) ||x - center||^2, with e = d/(c r^2) and
    c = 2a (z - ln(1 + z))/z^2, z = 2 a r beta, so that every summand is below the loss. With G = sum ||g_t||^2, which
    is at most beta^2 T and at most 2 H (L* + R),

        R <= (d/(2c)) (1 + ln(1 + c^2 r^2 G/d^2)).

    The reference leaves the weight e of the ridge open. The bound is solved for R, which is then of order d log L*.

    References
    ----------
    Orabona, Cesa-Bianchi and Gentile, Beyond logarithmic bounds in online learning, AISTATS 2012.

    Examples
    --------
    >>> from hannan.mathematics.convex.domains import Ball
    >>> learner = OnlineNewton(Ball(3), lipschitz=2.0, exp_concave=0.25, smooth=1.0)
    >>> round(learner.bound(10_000).value, 1), round(learner.bound(10_000, best_loss=10).value, 1)
    (55.3, 10.8)
    """

    exp_concave: float
    smooth: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("exp_concave", "smooth"):
            object.__setattr__(self, name, validation.positive(getattr(self, name), name))

    def admit(self, losses: Any) -> Loss:
        """Return losses after validation: smooth, Lipschitz and exp-concave on the domain.

        Parameters
        ----------
        losses : Loss
            A loss, or a sequence of losses.

        Returns
        -------
        Loss
            The validated loss.
        """
        check_smooth(losses, self.smooth, (Squared, Logistic))
        admitted = super().admit(losses)
        found = exp_concavity(losses, self.domain)
        if found < self.exp_concave * (1.0 - 1e-9):
            raise ValueError(f"losses must be exp-concave with exp_concave = {self.exp_concave:g}; got {found:g}")
        return admitted

    @property
    def curvature(self) -> float:
        """Coefficient c of the quadratic lower bounds."""
        z = 2.0 * self.exp_concave * self.domain.radius * self.lipschitz
        # (z - ln(1 + z))/z^2, without cancellation for small z.
        share = 0.5 - z / 3.0 if z < 1e-5 else (z - math.log1p(z)) / (z * z)
        return 2.0 * self.exp_concave * share

    @property
    def ridge(self) -> float:
        """Weight e of the ridge."""
        return self.domain.d / (self.curvature * self.domain.radius**2)

    @property
    def kept(self) -> int:
        """Number of further numbers: sum of g g^T, and sum of g (c <g, x> - 1)."""
        return self.domain.d * (self.domain.d + 1)

    def next(self, x: Array, total: Array, gradient: Array, t: int, kept: Array) -> Array:
        d, c = self.domain.d, self.curvature
        quadratic, linear = kept[: d * d].reshape(d, d), kept[d * d :]
        quadratic += np.outer(gradient, gradient)
        linear += gradient * (c * float(gradient @ x) - 1.0)
        # The sum is the squared losses of the columns of a root of c sum g g^T, plus a linear part.
        values, vectors = np.linalg.eigh(quadratic)
        rows = np.sqrt(c * np.maximum(values, 0.0))[:, None] * vectors.T
        leader = Leader(self.domain)
        leader.absorb(Squared(rows, np.zeros(d)))
        tolerance = _ACCURACY * self.ridge * self.domain.radius
        found, _ = leader.surely(-linear, self.ridge, tolerance, x)
        return np.asarray(found)

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Return a bound on the regret, which holds even if a loss depends on the move of its round.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best point in hindsight, or an upper bound on it. Default: the bound does not use it.
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
        worst = self._at(self.lipschitz**2 * rounds)
        regret, uses = worst, False
        if best_loss is not None:
            best = least_loss(best_loss, rounds)
            # R <= f(2 H (L* + R)) with f increasing and concave: every iterate from above remains a bound.
            for _ in range(200):
                regret = min(regret, self._at(2.0 * self.smooth * (best + regret)))
            uses = regret < worst * (1.0 - 1e-12)
        d, c = self.domain.d, self.curvature
        slack = 4.0 * _ACCURACY * self.lipschitz * self.domain.radius * rounds
        terms = {"d/(2c)": 0.5 * d / c, "logarithm": regret - 0.5 * d / c, "solver": slack}
        bound = self._stated(terms, _NEWTON, rounds)
        uses = uses and bound.sense != "run"
        return (bound.supposing(float(best_loss or 0.0)) if uses else bound).asked(against)

    def _at(self, spent: float) -> float:
        """Return the bound for a sum of squared lengths of the gradients."""
        d, c, r = self.domain.d, self.curvature, self.domain.radius
        return 0.5 * d / c * (1.0 + math.log1p(c * c * r * r * spent / (d * d)))

    def observed(self, rounds: int, best_loss: float, kept: Array) -> Bound:
        return self.bound(rounds, best_loss, against="any").observed()


def exp_concavity(losses: Loss, domain: Domain) -> float:
    """Return the largest a such that e^(-a l) is concave on the domain, for squared and logistic losses.

    >>> from hannan.mathematics.convex.domains import Ball
    >>> exp_concavity(Squared([1.0, 0.0], 1.0), Ball(2))
    0.25
    """
    low, high = losses.margins(domain)
    if isinstance(losses, Logistic):
        # phi''/phi'^2 = e^(y u).
        return float(np.exp(np.min(np.minimum(losses.y * low, losses.y * high))))
    error = np.maximum(np.abs(low - losses.y), np.abs(high - losses.y))  # type: ignore[attr-defined]
    most = float(np.max(error))
    return math.inf if most == 0.0 else 1.0 / most**2
