"""Deterministic comparators on the same domains: online gradient descent and exponentiated gradient.

The regret of gradient descent does not grow with the dimension, that of exponentiated gradient as the root of its
logarithm. The paper asks after cor:olo whether a perturbed leader can do the first: on a ball it does, with linear
losses and Gaussian or Gamma noise (`Convex` with `Horizon` or `Anytime`; docs/proofs/convex.md).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hannan import refusals
from hannan.games.checkpoints import spread
from hannan.games.convex import hindsight
from hannan.games.convex_table import PointTable
from hannan.games.play import ended
from hannan.games.record import Record
from hannan.learners.convex.learner import refuse_steeper
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Withheld
from hannan.mathematics.convex.domain import Domain
from hannan.mathematics.convex.domains import Simplex
from hannan.mathematics.convex.loss import Loss, RankOne
from hannan.mathematics.convex.own_phi import ON_YOUR_WORD, refuse_at, refuse_unlike
from hannan.refusals import Array


@dataclass(frozen=True)
class _Descent:
    """x_{t+1} from the gradient of l_t at x_t; losses of any sign."""

    domain: Domain
    lipschitz: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "lipschitz", refusals.positive(self.lipschitz, "lipschitz"))

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

    def table(self) -> PointTable:
        """What a game against an adversary asks for."""
        return WalkTable(self, self.domain)

    def play(
        self,
        losses: Any,
        runs: int = 1,
        seed: int = 0,
        *,
        threads: int | None = None,
        keep: str = "checkpoints",
        rounds: int | None = None,
    ) -> Record:
        """One game; there is nothing random in it, so all runs on the same losses are equal."""
        if not isinstance(losses, Loss) or not losses.is_sequence:
            raise ValueError(f"losses must be a sequence such as Linear(l), l of shape (T, d); got {losses!r}")
        losses, asked = self.admit(losses[:rounds]), rounds
        runs, rounds = refusals.count(runs, "runs"), len(losses)
        began = time.perf_counter()
        own, moves, walk = np.zeros(rounds), np.zeros((rounds, self.domain.d)), Walk(self)
        for t, loss in enumerate(losses):
            refuse_at(loss, walk.x, self.lipschitz, None)
            moves[t], own[t] = walk.x, loss.value(walk.x)
            walk.observe(walk.x, loss)
        marks = spread(rounds, keep == "all")
        best = hindsight(self.domain, losses, marks)
        regret = np.cumsum(own)[marks - 1] - best
        return Record(
            learner=repr(self),
            setting="convex",
            rounds=rounds,
            runs=runs,
            seed=seed,
            checkpoints=marks,
            regret=np.tile(regret, (runs, 1)),
            best_loss=float(best[-1]),
            counts=np.zeros((runs, 0), dtype=np.int64),
            seconds=time.perf_counter() - began,
            threads=1,
            actions=np.tile(moves, (runs, 1, 1)) if keep == "all" else None,
            loss=np.tile(regret + best, (runs, 1)),
            note=ended(rounds, asked),
            source=Walked(self, losses, float(regret[-1])),
        )


@dataclass(frozen=True)
class Walked:
    """A descent with the game that it played: its bound is one of every sequence, so a regret above it refutes."""

    learner: _Descent
    losses: Loss
    regret: float

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """The learner's bound, unless the game contradicts it."""
        bound = self.learner.bound(rounds, best_loss, against=against)
        if rounds == len(self.losses) and self.regret > bound.value * (1.0 + 1e-9):
            raise Withheld(
                f"the regret {self.regret:.6g} is above {bound.value:.6g}, which no convex losses allow: "
                "a loss is not convex, or its derivative not its own"
            )
        return replace(bound, condition=ON_YOUR_WORD) if isinstance(self.losses, RankOne) else bound


class Walk:
    """A descent at play: where it is, and the gradients so far."""

    def __init__(self, learner: _Descent) -> None:
        self.learner, self.rounds = learner, 0
        self.x, self.total = np.array(learner.domain.center), np.zeros(learner.domain.d)

    def act(self) -> Array:
        """The move: nothing is drawn."""
        return self.x

    def observe(self, move: Array, loss: Loss) -> None:
        """A step along the gradient at the move."""
        gradient = loss.gradient(move)
        self.total, self.rounds = self.total + gradient, self.rounds + 1
        self.x = self.learner.next(move, self.total, gradient, self.rounds)


class WalkTable(PointTable):
    """The table of a descent: it needs no seed."""

    def start(self, seed: int, run: int) -> Walk:
        return Walk(self.learner)


@dataclass(frozen=True)
class OnlineGradientDescent(_Descent):
    """x_{t+1} = projection of x_t - (2r/(beta sqrt(t))) grad l_t(x_t): R <= 3 r beta sqrt(T) (Zinkevich 2003).

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
class ExponentiatedGradient(_Descent):
    """x_{t+1,i} proportional to exp(-sum_{s<=t} g_{s,i}/scale_{t+1}), on the simplex: Hedge on the gradients.

    A gradient of norm beta has span at most s = sqrt(2) beta, and scale_t = (s/2) sqrt(t/ln d) gives
    R <= s sqrt(T ln d), also if the losses are chosen after the move.
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
        weights = np.exp(-(total - total.min()) * 2.0 * math.sqrt(math.log(self.domain.d) / (t + 1)) / self.span)
        return np.asarray(weights / weights.sum())

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        if rounds is None:
            raise ValueError("rounds must be given: the bound grows with them")
        value = self.span * math.sqrt(rounds * math.log(self.domain.d))
        terms = {"s sqrt(T ln d)": value}
        source = "Hedge on the gradients, Anytime"
        return Bound(bounds.rounded_up(value), terms, source, sense="moves", against="any").asked(against)
