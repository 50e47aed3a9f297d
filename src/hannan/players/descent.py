"""A descent at play: points out, losses in; nothing is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import refusals
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.hindsight import best_in_hindsight
from hannan.mathematics.convex.leader import Leader
from hannan.mathematics.convex.loss import Loss
from hannan.mathematics.convex.own_phi import on_your_word, refuse_at
from hannan.players.certificate import Certificate
from hannan.players.descriptions import Descending
from hannan.players.points import Point, PointPlayer
from hannan.refusals import Array
from hannan.saving import fields


class Walk:
    """Where a descent is, and the gradients so far; the learner has the step."""

    def __init__(self, learner: Descending) -> None:
        self.learner, self.rounds = learner, 0
        self.x, self.total = np.array(learner.domain.center), np.zeros(learner.domain.d)

    def step(self, gradient: Array) -> None:
        """Move along a gradient."""
        self.total, self.rounds = self.total + gradient, self.rounds + 1
        self.x = self.learner.next(self.x, self.total, gradient, self.rounds)


class DescentPlayer(PointPlayer):
    """`act()` says where it is; `observe(move, loss)` steps along the gradient at that move, whenever the loss comes.

    Nothing is drawn, so a seed changes nothing and nobody has to be kept from knowing it. Not thread-safe.

    >>> from hannan.learners.convex.gradient import OnlineGradientDescent
    >>> from hannan.mathematics.convex.domains import Ball
    >>> from hannan.mathematics.convex.losses import Linear
    >>> player = OnlineGradientDescent(Ball(2), lipschitz=1.0).start()
    >>> player.observe(player.act(), Linear([0.5, 0.0]))
    >>> player.act().action
    (-1.0, 0.0)
    """

    learner: Descending

    def __init__(self, learner: Descending, seed: int | None, name: str | None = None) -> None:
        super().__init__()
        self.learner = learner
        self._take_name(seed, name)
        self._walk, self._leader = Walk(learner), Leader(learner.domain)
        self._own = 0.0

    def act(self) -> Point:
        """The move: the point where it is."""
        move: Point = self._issue(tuple(self._walk.x.tolist()), 0.0, None)
        return move

    def observe(self, move: Point, loss: Loss) -> None:
        """Settle a move with its loss function. A bad loss or ticket is refused and changes nothing."""
        number, loss, x = self._admitted(move, loss)
        refuse_at(loss, x, self.learner.lipschitz, None)
        gradient, paid = np.asarray(loss.gradient(x)), float(loss.value(x))
        self._leader.absorb(loss)
        self._remember(loss)
        self._walk.step(gradient)
        self._own += paid
        self._close(number)

    # Certificates

    def certificate(self, delta: float | None = None) -> Certificate:
        """What the player may say of itself now: its moves are not random, so that its regret is its regret."""
        delta = None if delta is None else refusals.between(delta, 0.0, 1.0, "delta", "()")
        best = best_in_hindsight(self._leader, self._seen)
        bound, withheld = self._bound(self._own - best)
        return Certificate(
            **self._standing() | {"seeded": False, "resumed": False},
            bound=bound,
            withheld=withheld,
            own_loss=self._own,
            best_loss=best,
            regret=self._own - best,
            identity={},
            estimated_regret=None,
            gamma=1.0,
            realised_level=None,
            claimed_rate=None,
            kind="realized",
            delta=delta,
            on_this_run_says="" if delta is None else "nothing is drawn: the regret below is that of every run",
        )

    def _bound(self, regret: float) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            bound: Bound = self.learner.bound(self._settled, against="any")
        except ValueError as reason:
            return None, str(reason)
        if wrong := refuted(regret, bound):
            return None, wrong
        return on_your_word(bound, bool(self._seen)), ""

    # Saving

    def content(self) -> dict[str, Any]:
        self._refuse_own_losses()
        return super().content()

    def _saved(self) -> dict[str, Any]:
        walk = self._walk
        return {
            **super()._saved(),
            "own": self._own, "x": walk.x, "total": walk.total, "leader": self._leader.content(),
        }  # fmt: skip

    def _renew(self) -> None:
        """Nothing is random."""

    def _restore(self, state: dict[str, Any]) -> None:
        d = self.learner.domain.d
        own = fields.number(state["own"], "own loss", -fields.LARGE, fields.LARGE)
        for name in ("x", "total"):
            if np.shape(state[name]) != (d,):
                raise ValueError(f"its {name} must be {d} numbers; got {refusals.brief(state[name])}")
            fields.within(state[name], name)
        if not self.learner.domain.contains(state["x"]):
            raise ValueError("its x must be in the domain; it is not")
        super()._restore(state)
        self._leader.resume(state["leader"])
        walk = self._walk
        walk.x, walk.total, walk.rounds, self._own = state["x"].copy(), state["total"].copy(), self._settled, own


def refuted(regret: float, bound: Bound) -> str:
    """Why a regret contradicts a bound that is one of every sequence; empty where it does not."""
    if regret <= bound.value * (1.0 + 1e-9):
        return ""
    return (
        f"the regret {regret:.6g} is above {bound.value:.6g}, which no convex losses allow: "
        "a loss is not convex, or its derivative not its own"
    )
