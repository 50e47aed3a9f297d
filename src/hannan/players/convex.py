"""Players of convex learners: their moves are points, and their losses are functions."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan import validation
from hannan.mathematics.bounds import Bound, at_observed
from hannan.mathematics.convex.leader import Leader, NotConverged, best_in_hindsight
from hannan.mathematics.convex.losses import ASSUMED_CONVEX, Loss, RankOne, assuming_convex, check_at, steepest_at
from hannan.mathematics.convex.noise import SHAPES, GammaNoise, Shape, standard
from hannan.players import identity
from hannan.players.certificate import NOT_RANDOM, THIS_RUN_ONLY, Certificate
from hannan.players.load import resumed
from hannan.players.tickets import Descending, Perturbed, Point, PointPlayer
from hannan.saving import fields
from hannan.saving.formatting import figure
from hannan.validation import Array

#: Assumption of the privacy that a copy has spent: another copy may have played on the same losses.
OF_THIS_COPY = (
    "counts the moves of this copy only; it was saved, loaded or copied, and the moves of other copies spend more"
)
#: Why a player states no privacy.
NOT_PRIVATE = {
    "seed": "none: a seed was given, so the moves are a fixed function of the losses",
    "failed": "none: the solver failed to compute a move, and that depends on the losses",
    "kept": "none: one draw of noise is used in many rounds and hides no single loss",
}


@dataclass(frozen=True)
class ConvexCertificate(Certificate):
    """Certificate of a convex learner: as `Certificate`, with the cost of the solver and the privacy of the moves.

    Parameters
    ----------
    farthest : float, optional
        Largest distance of a move from the exact minimizer.
    solver_cost : float, optional
        (ridge/2) r^2 + lipschitz * (sum of the distances); the bound includes it.
    privacy : str, optional
        Privacy of one move, or the reason why none is stated.
    spent : str, optional
        Privacy of all moves so far together.
    word : str, optional
        What could not be verified about the losses.
    private_if : str, optional
        Assumptions of the privacy statement.
    private_by : str, optional
        Theorems of the privacy statements.

    Examples
    --------
    >>> import hannan as hn
    >>> player = hn.Convex(hn.Ball(2), lipschitz=1.0, loss_bound=2.0).start(seed=0)
    >>> player.observe(player.act(), hn.Logistic([0.6, 0.8], 1))
    >>> certificate = player.certificate()
    >>> certificate.rounds, certificate.kind
    (1, 'realized')
    """

    farthest: float = 0.0
    solver_cost: float = 0.0
    privacy: str = ""
    spent: str = ""
    word: str = ""
    private_if: str = ""
    private_by: str = ""

    def _rows(self) -> list[tuple[str, str]]:
        rows = [row for row in super()._rows() if row[0] != "stability" or self.claimed_rate is not None]
        stated = "; ".join(filter(None, (self.spent, self.privacy)))
        return [*rows, *([("privacy", stated)] if stated else [])]

    def _assumptions(self) -> list[tuple[str, str]]:
        more = (("private if", self.private_if), ("not verified", self.word))
        return [*super()._assumptions(), *(row for row in more if row[1])]

    def _details(self) -> list[tuple[str, str]]:
        rows = super()._details()
        if self.private_by:
            rows.insert(-2, ("private by", self.private_by))
        if self.solver_cost > 0.0:
            cost = f"costs {figure(self.solver_cost)}, included in the bound"
            rows.insert(-2, ("solver", f"{cost}; every move within {figure(self.farthest)} of the exact minimizer"))
        return rows


class ConvexPlayer(PointPlayer):
    """Player of a perturbed leader: `act` draws noise and computes a point, `observe` adds a loss function.

    Not thread-safe: guard it with a lock.

    Examples
    --------
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
        # Private moves use noise of the operating system, unless a seed was given for an experiment.
        self._secret = learner.guarantee == "privacy" and seed is None
        drawn = standard if self._secret else None
        self._leader = Leader(learner.domain, learner.rules(), entropy, output=learner.output_scale(), drawn=drawn)
        self._level = 0.0
        self._refused = False
        self._shape: Shape = "linear"
        self._copied = False

    def distribution(self) -> Array:
        """Raise: a move is a point of a continuous set, so there is no list of probabilities."""
        raise ValueError("a convex player has no distribution over finitely many actions; use hn.audit_convex")

    def act(self) -> Point:
        """Draw noise and return the perturbed leader.

        Returns
        -------
        Point
            The move.
        """
        try:
            x, distance = self._leader.act()
        except NotConverged:
            self._refused = True
            raise
        move: Point = self._issue(tuple(x.tolist()), distance, None)
        return move

    def observe(self, move: Point, loss: Loss) -> None:
        """Settle a pending move with its loss function.

        Parameters
        ----------
        move : Point
            The object returned by `act`.
        loss : Loss
            The loss function of the round.

        Raises
        ------
        ValueError
            If the loss is invalid, or the move is not pending. The player is then unchanged.
        """
        number, loss, x = self._admitted(move, loss)
        check_at(loss, x, None, self.learner.loss_bound)
        # phi was checked at some margins only; check its slope where it is played, too.
        steepest = max(float(loss.lipschitz(self.learner.domain)), steepest_at(loss, x))
        self._leader.observe(x, loss)
        if isinstance(self.learner.noise, GammaNoise):
            self._level = max(self._level, steepest / self.learner.schedule().scale(1, 0.0))
        self._shape = wider(self._shape, loss.shape)
        self._remember(loss)
        self._close(number)

    def through(self, losses: Loss) -> Array:
        """Play a sequence of losses in compiled code.

        Parameters
        ----------
        losses : Loss
            A sequence of losses of this package.

        Returns
        -------
        numpy.ndarray
            The moves, shape (T, d).

        Raises
        ------
        ValueError
            If the losses are user-defined or not a sequence, or a move is pending.
        """
        losses = self.learner.admit(losses)
        if self._open_count or isinstance(losses, RankOne) or not losses.is_sequence:
            raise ValueError(
                "through needs a sequence of losses of this package, such as hn.Linear(array), and no pending move"
            )
        moves = self._leader.play(losses)
        if isinstance(self.learner.noise, GammaNoise):
            steepest = float(np.max(losses.lipschitz(self.learner.domain), initial=0.0))
            self._level = max(self._level, steepest / self.learner.schedule().scale(1, 0.0))
        self._shape = wider(self._shape, losses.shape)
        self._count_settled(len(losses))
        return moves

    def solver_cost(self) -> float:
        """Return the cost so far of the ridge and of the numerical solver, which the bound includes.

        Returns
        -------
        float
            The cost, in the units of the losses.
        """
        run = self._leader.run
        return float(self.learner.solver_cost(run.ridge, run.distance))

    def leader(self) -> Array:
        """Return the best point for the losses so far, without noise; no privacy statement covers it.

        Returns
        -------
        numpy.ndarray
            The point.
        """
        return self._leader.minimise(np.zeros(self.learner.domain.d), *self._leader.hindsight_ridge())[0]

    # Certificates

    def certificate(self, delta: float | None = None) -> ConvexCertificate:
        """Return the certificate so far: bound, realized regret, and privacy.

        Parameters
        ----------
        delta : float, optional
            Also state whether a bound on the regret of this run is proved, with probability 1 - delta.

        Returns
        -------
        ConvexCertificate
            The certificate; docs/certificate.md explains every line of it.
        """
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        learner, run = self.learner, self._leader.run
        own, best = run.own, best_in_hindsight(self._leader, self._seen)
        cost = self.solver_cost()
        bound, withheld = self._bound(own, best, cost)
        gamma = isinstance(learner.noise, GammaNoise)
        return ConvexCertificate(
            # Noise of the operating system is not saved, so that copies draw different moves.
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
            **self._private(),
            word=ASSUMED_CONVEX if self._seen else "",
            kind="realized",
            delta=delta,
            on_this_run_says="" if delta is None else THIS_RUN_ONLY,
        )

    def _bound(self, own: float, best: float, cost: float) -> tuple[Bound | None, str]:
        if not self.learner.fresh:
            return (
                None,
                "the same noise is used in all rounds: past moves reveal it, and adaptive losses break the bound",
            )
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
        """Return what contradicts the conditions of the bound; an empty string if nothing does."""
        learner = self.learner
        claim = learner.lipschitz / learner.schedule().scale(1, 0.0)
        if self._level > claim * (1.0 + 1e-8):
            return (
                f"the measured stability {self._level:.6g} exceeds the claimed {claim:.6g}: a loss was steeper at a "
                "move than at the ends of its range, so its phi is not convex"
            )
        most = self._settled * (learner.loss_bound or np.inf)
        if own - best > most * (1.0 + 1e-8):
            return f"the regret {own - best:.6g} exceeds rounds x loss_bound = {most:.6g}: a loss exceeds loss_bound"
        return ""

    def _stated(self) -> tuple[Any, str]:
        """Return (privacy of one move or None, reason if None)."""
        if self.learner.guarantee != "privacy":
            return None, ""
        if not self._secret:
            return None, NOT_PRIVATE["seed"]
        if self._refused:
            return None, NOT_PRIVATE["failed"]
        if not self.learner.fresh and self.round > 1:
            return None, NOT_PRIVATE["kept"]
        try:
            return self.learner.privacy(), ""
        except ValueError as reason:
            return None, f"none: {reason}"

    def _private(self) -> dict[str, Any]:
        """Return the fields of a certificate about privacy: of one move, and of all moves so far together."""
        one, why_not = self._stated()
        if one is None:
            return {"privacy": why_not}
        fields = {"privacy": one.says, "private_if": f"{one.between}; {one.condition}", "private_by": one.source}
        if self.round:
            try:
                both = self.learner.privacy(self.round)
            except ValueError:
                epsilon, delta = self.round * one.epsilon, min(1.0, self.round * one.delta)
                both = dataclasses.replace(
                    one, epsilon=epsilon, delta=delta, rounds=self.round, source="basic composition"
                )
            fields["spent"] = both.says
            fields["private_by"] += f"; all moves: {both.source}"
            if self._copied:
                fields["private_if"] += f"; {OF_THIS_COPY}"
        return fields

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the player to one file, atomically; `hannan.load(path)` resumes it.

        The noise of a private player is not saved: a loaded player draws new noise.

        Parameters
        ----------
        path : str or os.PathLike
            The file.
        """
        self._refuse_own_losses()
        super().save(path)

    def __reduce__(self) -> Any:
        # A copy is the content of a saved file; scikit-learn copies estimators between processes.
        if self._seen:
            raise TypeError(
                "a player that observed user-defined losses cannot be copied: a file cannot contain functions"
            )
        return resumed, (json.loads(json.dumps(self.content())),)

    def _saved(self) -> dict[str, Any]:
        # The copy that is made from this state can play on the same losses.
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
            raise ValueError(f"corrupt file: expected a shape in {SHAPES}; found {validation.brief(state['shape'])}")
        if not isinstance(state["refused"], bool):
            raise ValueError(
                f"corrupt file: expected true or false for refused; found {validation.brief(state['refused'])}"
            )
        super()._restore(state)
        self._leader.resume(state["leader"])
        self._level, self._shape, self._refused = level, state["shape"], state["refused"]
        self._copied = True


def wider(first: Shape, second: Shape) -> Shape:
    """Return the shape that covers both.

    >>> wider("linear", "one-signed")
    'one-signed'
    """
    return max(first, second, key=SHAPES.index)


class Walk:
    """State of a gradient method: its point and the sum of its gradients."""

    def __init__(self, learner: Descending) -> None:
        self.learner, self.rounds = learner, 0
        self.x, self.total = np.array(learner.domain.center), np.zeros(learner.domain.d)
        self.kept = np.zeros(learner.kept)

    def step(self, gradient: Array) -> None:
        """Take a step for one gradient."""
        self.total, self.rounds = self.total + gradient, self.rounds + 1
        self.x = self.learner.next(self.x, self.total, gradient, self.rounds, self.kept)


class DescentPlayer(PointPlayer):
    """Player of a gradient method: `act` returns its point, `observe` takes a step for the gradient at a move.

    The player uses no randomness, so a seed has no effect. Not thread-safe: guard it with a lock.

    Examples
    --------
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
        """Return the current point.

        Returns
        -------
        Point
            The move.
        """
        move: Point = self._issue(tuple(self._walk.x.tolist()), 0.0, None)
        return move

    def observe(self, move: Point, loss: Loss) -> None:
        """Settle a pending move with its loss function.

        Parameters
        ----------
        move : Point
            The object returned by `act`.
        loss : Loss
            The loss function of the round.

        Raises
        ------
        ValueError
            If the loss is invalid, or the move is not pending. The player is then unchanged.
        """
        number, loss, x = self._admitted(move, loss)
        check_at(loss, x, self.learner.lipschitz, None)
        gradient, paid = np.asarray(loss.gradient(x)), float(loss.value(x))
        self._leader.absorb(loss)
        self._remember(loss)
        self._walk.step(gradient)
        self._own += paid
        self._close(number)

    # Certificates

    def certificate(self, delta: float | None = None) -> Certificate:
        """Return the certificate so far; the moves are not random, so the regret is exact.

        Parameters
        ----------
        delta : float, optional
            Also state whether a bound on the regret of this run is proved, with probability 1 - delta.

        Returns
        -------
        Certificate
            The certificate; docs/certificate.md explains every line of it.
        """
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        best = best_in_hindsight(self._leader, self._seen)
        bound, withheld = self._bound(self._own - best, best)
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
            on_this_run_says="" if delta is None else NOT_RANDOM,
        )

    def _bound(self, regret: float, best: float) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            bound: Bound = self.learner.observed(self._settled, best, self._walk.kept)
        except ValueError as reason:
            return None, str(reason)
        if wrong := refuted(regret, bound):
            return None, wrong
        return assuming_convex(bound, bool(self._seen)), ""

    # Saving

    def content(self) -> dict[str, Any]:
        self._refuse_own_losses()
        return super().content()

    def _saved(self) -> dict[str, Any]:
        walk = self._walk
        return {
            **super()._saved(),
            "own": self._own, "x": walk.x, "total": walk.total, "leader": self._leader.content(),
            **({"kept": walk.kept} if len(walk.kept) else {}),
        }  # fmt: skip

    def _renew(self) -> None:
        """Do nothing: the player uses no randomness."""

    def _restore(self, state: dict[str, Any]) -> None:
        d, more = self.learner.domain.d, self.learner.kept
        own = fields.number(state["own"], "own loss", -fields.LARGE, fields.LARGE)
        for name, size in (("x", d), ("total", d), *((("kept", more),) if more else ())):
            if np.shape(state[name]) != (size,):
                raise ValueError(
                    f"corrupt file: expected {size} numbers for {name}; found {validation.brief(state[name])}"
                )
            fields.within(state[name], name)
        if not self.learner.domain.contains(state["x"]):
            raise ValueError(f"corrupt file: x must be in the domain; found {validation.brief(state['x'])}")
        super()._restore(state)
        self._leader.resume(state["leader"])
        walk = self._walk
        walk.x, walk.total, walk.rounds, self._own = state["x"].copy(), state["total"].copy(), self._settled, own
        if more:
            walk.kept = state["kept"].copy()


def refuted(regret: float, bound: Bound) -> str:
    """Return why a regret contradicts a bound that holds on every sequence; an empty string if it does not."""
    if regret <= bound.value * (1.0 + 1e-9):
        return ""
    return (
        f"the regret {regret:.6g} exceeds {bound.value:.6g}, which is impossible for convex losses: a loss is not "
        "convex, or its gradient is wrong"
    )
