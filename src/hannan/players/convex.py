"""A convex learner at play: points out, losses in."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan import validation
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.leader import Leader, NotConverged, best_in_hindsight
from hannan.mathematics.convex.losses import ON_YOUR_WORD, Loss, RankOne, on_your_word, refuse_at, steepest_at
from hannan.mathematics.convex.noise import SHAPES, GammaNoise, Shape, standard
from hannan.players import identity
from hannan.players.certificate import Certificate, at_observed
from hannan.players.load import resumed
from hannan.players.tickets import Descending, Perturbed, Point, PointPlayer
from hannan.saving import fields
from hannan.saving.formatting import figure
from hannan.validation import Array


@dataclass(frozen=True)
class ConvexCertificate(Certificate):
    """A certificate whose moves were solved for: `solver_cost` = (ridge/2) r^2 + lipschitz * sum of distances.

    It is in the bound. `farthest` is the largest distance of a move from its exact argmin; `word` what
    could not be checked of the losses.
    """

    farthest: float = 0.0
    solver_cost: float = 0.0
    privacy: str = ""
    #: What of a budget all moves so far have spent together.
    spent: str = ""
    word: str = ""

    def rows(self) -> list[tuple[str, str]]:
        kept = [row for row in super().rows() if row[0] != "stability" or self.claimed_rate is not None]
        if self.solver_cost > 0.0:
            kept.append(
                ("solver", f"costs {figure(self.solver_cost)}, in the bound; moves within {figure(self.farthest)}")
            )
        said = (("privacy", self.privacy), ("privacy spent", self.spent), ("not checked", self.word))
        return [*kept, *(row for row in said if row[1])]


#: A copy knows of no other: nobody adds up what they tell of the same observations.
OF_THIS_COPY = "by the moves of this copy alone: it was saved, loaded or copied, and what others play is spent besides"


class ConvexPlayer(PointPlayer):
    """`act()` draws noise and moves; `observe(move, loss)` adds the loss function, whenever it comes.

    Not thread-safe: guard it with a lock of your own.

    >>> from hannan.mathematics.convex.domains import Ball
    >>> from hannan import Convex
    >>> from hannan.mathematics.convex.losses import Logistic
    >>> player = Convex(Ball(2), lipschitz=1.0, loss_bound=2.0).start(seed=0)
    >>> player.observe(player.act(), Logistic([0.6, 0.8], 1))
    >>> move = player.act()
    >>> len(move.action), move.distance < 1e-7
    (2, True)
    """

    learner: Perturbed

    def __init__(self, learner: Perturbed, seed: int | None, name: str | None = None) -> None:
        super().__init__()
        self.learner = learner
        entropy = self._take_name(seed, name)
        # Private moves are of the operating system's noise, unless a seed was given for an experiment.
        self._secret = learner.guarantee == "privacy" and seed is None
        drawn = standard if self._secret else None
        self._leader = Leader(learner.domain, learner.rules(), entropy, output=learner.output_scale(), drawn=drawn)
        self._level = 0.0
        self._refused = False
        self._shape: Shape = "linear"
        self._copied = False

    def distribution(self) -> Array:
        """Not offered: the move has a density, or atoms where the domain is flat, and no list of probabilities."""
        raise ValueError("a convex player has no distribution over finitely many actions; audit measures its law")

    def act(self) -> Point:
        """Draw the round's noise and move to the perturbed leader."""
        try:
            x, distance = self._leader.act()
        except NotConverged:
            self._refused = True
            raise
        move: Point = self._issue(tuple(x.tolist()), distance, None)
        return move

    def observe(self, move: Point, loss: Loss) -> None:
        """Settle a move with its loss function. A bad loss or ticket is refused and changes nothing."""
        number, loss, x = self._admitted(move, loss)
        refuse_at(loss, x, None, self.learner.loss_bound)
        # Between the margins that were tried at the door phi is on the user's word: look where it is played.
        steepest = max(float(loss.lipschitz(self.learner.domain)), steepest_at(loss, x))
        self._leader.observe(x, loss)
        if isinstance(self.learner.noise, GammaNoise):
            self._level = max(self._level, steepest / self.learner.schedule().scale(1, 0.0))
        self._shape = wider(self._shape, loss.shape)
        self._remember(loss)
        self._close(number)

    def through(self, losses: Loss) -> Array:
        """Act and observe through a sequence of losses, in compiled code: the moves, shape (T, d)."""
        losses = self.learner.admit(losses)
        if self._open_count or isinstance(losses, RankOne) or not losses.is_sequence:
            raise ValueError("through takes a sequence of the package's losses, and no move may be open")
        moves = self._leader.play(losses)
        if isinstance(self.learner.noise, GammaNoise):
            steepest = float(np.max(losses.lipschitz(self.learner.domain), initial=0.0))
            self._level = max(self._level, steepest / self.learner.schedule().scale(1, 0.0))
        self._shape = wider(self._shape, losses.shape)
        self._count_settled(len(losses))
        return moves

    def solver_cost(self) -> float:
        """What the ridge, and solving for the moves, have cost so far; it is in the bound."""
        run = self._leader.run
        return float(self.learner.solver_cost(run.ridge, run.distance))

    def leader(self) -> Array:
        """The leader without noise: the best point for the losses so far. No privacy is stated of it."""
        return self._leader.minimise(np.zeros(self.learner.domain.d), *self._leader.hindsight_ridge())[0]

    # Certificates

    def certificate(self, delta: float | None = None) -> ConvexCertificate:
        """What the player may say of itself now; of one run with probability 1 - `delta` nothing is proved."""
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        learner, run = self.learner, self._leader.run
        own, best = run.own, best_in_hindsight(self._leader, self._seen)
        cost = self.solver_cost()
        bound, withheld = self._bound(own, best, cost)
        gamma = isinstance(learner.noise, GammaNoise)
        return ConvexCertificate(
            # Noise of the operating system is in no file: its copies are no twins.
            **self._standing() | {"resumed": self.resumed and not self._secret},
            bound=bound,
            withheld=withheld,
            own_loss=own,
            best_loss=best,
            regret=own - best,
            identity={},
            estimated_regret=None,
            gamma=1.0,
            realised_level=self._level,
            claimed_rate=learner.lipschitz / learner.schedule().scale(1, 0.0) if gamma else None,
            farthest=run.farthest,
            solver_cost=cost,
            privacy=self._private(),
            spent=self._spent(),
            word=ON_YOUR_WORD if self._seen else "",
            kind="realized",
            delta=delta,
            on_this_run_says=""
            if delta is None
            else "the regret below is that of this run; of others nothing is proved",
        )

    def _bound(self, own: float, best: float, cost: float) -> tuple[Bound | None, str]:
        if not self.learner.fresh:
            return None, "noise that is kept shows in past moves, and losses that follow them break the bound"
        wrong = self._contradiction(own, best)
        if wrong:
            return None, wrong
        if withheld := self._lost() or self._late():
            return None, withheld
        shape = wider(self._shape, "linear")
        try:
            bound = self.learner.bounded(self._settled, max(best, 0.0), bias=cost, shape=shape)
            return at_observed(self.learner, bound, best), ""
        except ValueError as reason:
            return None, str(reason)

    def _contradiction(self, own: float, best: float) -> str:
        """What went wrong, if what was seen cannot be under the conditions of the bound."""
        learner = self.learner
        claim = learner.lipschitz / learner.schedule().scale(1, 0.0)
        if self._level > claim * (1.0 + 1e-8):
            return (
                f"the realised level {self._level:.6g} is above the {claim:.6g} claimed: a loss was steeper at a move "
                "than at the ends of its range, so its phi is not convex"
            )
        most = self._settled * (learner.loss_bound or np.inf)
        if own - best > most * (1.0 + 1e-8):
            return f"the regret {own - best:.6g} is above rounds x loss_bound = {most:.6g}: losses were not as stated"
        return ""

    def _stated(self) -> tuple[Any, str]:
        """The privacy of one move, or None and why nothing is stated of it."""
        if self.learner.guarantee != "privacy":
            return None, ""
        if not self._secret:
            return None, "none: of a given seed, so that the moves are a fixed function of the losses"
        if self._refused:
            return None, "none: a move was refused, and that tells of the losses"
        if not self.learner.fresh and self.round > 1:
            return None, "none: one draw of noise used in many rounds hides no single loss"
        try:
            return self.learner.privacy(), ""
        except ValueError as reason:
            return None, f"withheld: {reason}"

    def _private(self) -> str:
        """What a move tells of one observation; nothing is stated where a condition fails."""
        said, why_not = self._stated()
        return why_not or (f"{said.says} and one observation ({said.source}; {said.condition})" if said else "")

    def _spent(self) -> str:
        """What all moves so far tell of one observation: the budget that is spent; "" where nothing is stated."""
        one, _ = self._stated()
        if not self.round or one is None:
            return ""
        try:
            said = self.learner.privacy(self.round)
        except ValueError:
            said = dataclasses.replace(one, epsilon=self.round * one.epsilon, delta=min(1.0, self.round * one.delta),
                                       rounds=self.round, source="basic composition")  # fmt: skip
        return f"{said.says}  ({said.source})" + (f"; {OF_THIS_COPY}" if self._copied else "")

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the player to one file, whole or not at all; `hannan.load(path)` goes on from it.

        The noise of a private player is not in the file: a loaded one draws its own.
        """
        self._refuse_own_losses()
        super().save(path)

    def __reduce__(self) -> Any:
        # A copy is what a file would hold: scikit-learn's estimators are copied from process to process.
        if self._seen:
            raise TypeError("a player with losses of your own cannot be copied: their slopes are functions")
        return resumed, (json.loads(json.dumps(self.content())),)

    def _saved(self) -> dict[str, Any]:
        # Whatever is made of it may go on beside this player.
        self._copied = True
        return {
            **super()._saved(),
            "level": self._level, "shape": self._shape, "refused": self._refused, "leader": self._leader.content(),
        }  # fmt: skip

    def _renew(self) -> None:
        run = self._leader.run
        run.words = identity.renewed(run.words)

    def _restore(self, state: dict[str, Any]) -> None:
        level = fields.number(state["level"], "level", 0.0, fields.LARGE)
        if state["shape"] not in SHAPES:
            raise ValueError(f"its shape must be one of {SHAPES}; got {validation.brief(state['shape'])}")
        if not isinstance(state["refused"], bool):
            raise ValueError(f"its refused must be true or false; got {validation.brief(state['refused'])}")
        super()._restore(state)
        self._leader.resume(state["leader"])
        self._level, self._shape, self._refused = level, state["shape"], state["refused"]
        self._copied = True


def wider(first: Shape, second: Shape) -> Shape:
    """The shape that covers both.

    >>> wider("linear", "one-signed")
    'one-signed'
    """
    return max(first, second, key=SHAPES.index)


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
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
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
                raise ValueError(f"its {name} must be {d} numbers; got {validation.brief(state[name])}")
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
